//! The types of the graph, which refer to each other: a tensor has an edge, the edge leads to a node, the node holds an
//! op and hooks, and those compute with tensors. Their methods are in the files of their names.

use std::any::{Any, TypeId};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use once_cell::race::OnceBox;
use smallvec::SmallVec;

use super::detach_reason::{DetachReason, Why};
use super::levels::Levels;
use super::lower::{Loops, Operands};
use super::made::Made;
use super::meta::Metas;
use super::one_or_many::OneOrMany;
use super::saved::{SavedArray, SavedState};
use super::saves::{NeedsGrad, Saves};
use crate::array::Array;
use crate::error::{Result, bail};
use crate::fork::Lock;

/// An immutable value with the edge to the node that computed it.
#[derive(Clone)]
pub struct Tensor {
    /// The vmap levels that the tensor has a hidden axis for. They are cloned first, because that alone may fail: nothing
    /// has to be dropped then.
    #[doc(hidden)]
    pub levels: Levels,
    /// The value. Its first axes are the hidden ones of `levels`.
    #[doc(hidden)]
    pub array: Array,
    /// None where no gradient flows into the tensor.
    #[doc(hidden)]
    pub edge: Option<Edge>,
    /// Why an untracked tensor is untracked although it was computed from tracked ones, as far as that is known.
    #[doc(hidden)]
    pub detach_reason: DetachReason,
}

/// Output `out` of a node.
#[derive(Clone)]
pub struct Edge {
    pub node: Arc<Node>,
    pub out: u32,
}

/// One application of an op, or a leaf.
pub struct Node {
    pub kind: NodeKind,
    /// By input of the op: the edge it came by, or none where no gradient is wanted.
    pub inputs: Inputs,
    pub outs: Metas,
    pub(super) saved: Lock<SavedState>,
    /// Boxed twice, so that a node without hooks has one word for them.
    pub(super) hooks: OnceBox<Box<dyn Hooks>>,
    pub(super) marks: Marks,
    /// Why an untracked input is untracked.
    pub(super) why_untracked: Why,
}

pub(super) type Inputs = SmallVec<[Option<Edge>; 2]>;

/// A node's call site and two flags, in one number.
pub(super) struct Marks(pub(super) AtomicU32);

pub enum NodeKind {
    /// The start of a graph, and its owner if it has one.
    Leaf(Option<Box<Owner>>),
    Op(Box<dyn Op>),
}

/// The owner of a leaf, which the leaf does not keep alive.
pub type Owner = Weak<dyn Any + Send + Sync>;

/// The results of an op.
pub type Outputs = OneOrMany<Array>;
/// By input of the op: its gradient. None is zero, or a gradient that is not wanted.
pub type Grads = SmallVec<[Option<Tensor>; 2]>;
/// By output of the op: its cotangent. None is zero.
pub type Cotangents = [Option<Tensor>];
/// By input of the op: its tangent. None is zero.
pub type Tangents = [Option<Tensor>];

/// A function of arrays. One `impl` is all that the library knows of an op: what it computes, what its rules read, and
/// the rules. The rules call functions that are ops themselves, so they can be differentiated again.
pub trait Op: Any + Send + Sync {
    /// The public name, for errors and for pictures of the graph.
    fn name(&self) -> &'static str;

    /// Whether the rules call the host language. They are then run by the thread that asked for the gradients, with no
    /// lock held.
    fn calls_host(&self) -> bool {
        false
    }

    /// Whether `vjp` takes cotangents of other dtypes than those of the outputs.
    fn takes_any_dtype(&self) -> bool {
        false
    }

    /// Whether `forward` takes float16 and bfloat16 as they are, because it moves elements without computing. Any other
    /// op gets them in float32, and its results are rounded back.
    fn takes_half(&self) -> bool {
        false
    }

    /// Shows the host's objects in the op to the host's garbage collector.
    fn visit_host_objects(&self, _visit: &mut dyn FnMut(&dyn Any)) {}

    /// Checks the inputs and computes the outputs.
    ///
    /// Each array begins with `batch_ndim` hidden axes, of size 1 or of the batch size of their level, and so does each
    /// output. The op's own axes follow: an op that counts axes from the end need not look at `batch_ndim`.
    ///
    /// # Errors
    /// Everything that the op refuses: the rules refuse nothing.
    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs>;

    /// Whether each element of an output depends only on the elements at the same place of the inputs.
    fn is_pointwise(&self) -> bool {
        false
    }

    /// Whether the derivatives are zero wherever there are some, as those of a step.
    fn is_flat(&self) -> bool {
        false
    }

    /// The inputs, as bits, whose integers may have a history that the outputs go on with, because the rule holds for
    /// integers too. Only the dialect of Paddle gives integers a history.
    fn carries_integers(&self) -> u64 {
        0
    }

    /// Whether integers that it makes of floats with a history have one too.
    fn gives_integers_history(&self) -> bool {
        false
    }

    /// The gradients of integers that the op does not carry: see [`vjp`](Op::vjp).
    ///
    /// # Errors
    /// [`crate::Error::Dtype`] where the op has no such rule.
    fn vjp_of_integers(&self, _g: &Cotangents, _s: &Saved<'_>) -> Result<Grads> {
        no_rule_of_integers(self.name())
    }

    /// The type of the op.
    fn kind(&self) -> TypeId {
        TypeId::of::<Self>()
    }

    /// Whether `forward` returns its input in another layout, which depends on shapes alone.
    fn is_view(&self) -> bool {
        false
    }

    /// Whether the shape of the one output decides by which ops the caller goes on. A program computes it also where no op
    /// reads it, and does not go on where the shape is another one.
    fn decides(&self) -> bool {
        false
    }

    /// What `forward` computes as its one output, as loops. None where it does more, or something else.
    fn lower(&self, _ins: &Operands<'_>) -> Option<Loops> {
        None
    }

    /// The dtypes and shapes of what `forward` makes of such operands. None if it refuses them, or if numbers decide that
    /// ([`decides`](Op::decides)). It is asked where [`lower`](Op::lower) does not tell it.
    fn makes(&self, _ins: &Operands<'_>) -> Option<Made> {
        None
    }

    /// The inputs and outputs that the rules read, given which inputs need gradients.
    fn saves(&self, needs: NeedsGrad) -> Saves;

    /// The gradients of the inputs, given the cotangents of the outputs. At least one cotangent is there, unless the op
    /// calls the host and a hook has removed it; an op with one output reads it with [`only`](super::only). A gradient
    /// may have any shape that its input broadcasts to: the engine sums it.
    ///
    /// # Errors
    /// For want of memory, or from the host.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads>;

    /// Whether the tangents of the outputs depend on that of input `i`.
    fn reads_tangent(&self, _i: usize) -> bool {
        true
    }

    /// The tangents of the outputs, given the tangents of the inputs. At least one is there; an op with one input reads
    /// it with [`only`](super::only). Reads only what `vjp` reads.
    ///
    /// An op without this rule gets it from the engine, which transposes `vjp`. That takes about three times as long as
    /// a rule.
    ///
    /// # Errors
    /// For want of memory, or from the host.
    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let transposed = s.transposed.expect("the engine gives it to every jvp");
        transposed(t, s)
    }
}

/// The error of an op without a rule for integers, where a gradient goes through it.
///
/// # Errors
/// Always.
#[doc(hidden)]
pub fn no_rule_of_integers<T>(name: &'static str) -> Result<T> {
    bail!(Dtype, name, "it has no gradient for integers: cast them to float32 before, or write x.detach()")
}

/// What a rule can read of the application that it differentiates.
pub struct Saved<'a> {
    #[doc(hidden)]
    pub node: &'a Arc<Node>,
    /// By slot: first the inputs, then the outputs.
    #[doc(hidden)]
    pub arrays: &'a [Option<SavedArray>],
    /// The edges of the saved inputs: those of the node, unless the engine puts others in their place.
    #[doc(hidden)]
    pub edges: &'a [Option<Edge>],
    /// Whether the ops of the rule are recorded.
    #[doc(hidden)]
    pub record: bool,
    /// The tangents of the node's outputs by its `vjp`; none for a `vjp` itself.
    #[doc(hidden)]
    pub transposed: Option<fn(&Tangents, &Saved<'_>) -> Result<Grads>>,
    /// In forward mode: whether anything reads the tangent of an output.
    #[doc(hidden)]
    pub is_read: Option<&'a dyn Fn(usize) -> bool>,
    /// The gradient of a value by another one, from a cotangent of the first; none where it depends on nothing. It frees
    /// nothing and is not recorded.
    #[doc(hidden)]
    pub pull: fn(&Edge, &Tensor, &Edge) -> Result<Option<Tensor>>,
}

/// Functions of the caller that see the gradients at one node and may change them. They are called on the thread that
/// asked for the gradients, with no lock held and outside kernels, so they may record, differentiate, and change the
/// hooks of any node. Each gradient that they leave in a list keeps its shape and dtype.
pub trait Hooks: Any + Send + Sync {
    /// Whether there is no hook to call.
    fn is_empty(&self) -> bool;

    /// Shows the host's objects in the hooks to the host's garbage collector.
    fn visit_host_objects(&self, _visit: &mut dyn FnMut(&dyn Any)) {}

    /// Sees the complete gradients of the node's outputs. None: no gradient arrives.
    ///
    /// # Errors
    /// From the host.
    fn tensor_hooks(&self, at: &HookContext<'_>, g: &mut [Option<Tensor>]) -> Result<()>;

    /// Sees the same gradients right before the node's rule reads them, or before a leaf accumulates its gradient.
    ///
    /// # Errors
    /// From the host.
    fn pre_hooks(&self, at: &HookContext<'_>, g: &mut [Option<Tensor>]) -> Result<()>;

    /// Sees the gradients of the node's inputs, which its rule made of `g`.
    ///
    /// # Errors
    /// From the host.
    fn post_hooks(&self, at: &HookContext<'_>, grads: &mut [Option<Tensor>], g: &Cotangents) -> Result<()>;

    /// Called before a leaf's gradient is accumulated. Returns the gradient to be accumulated at the end of the pass,
    /// or none if the hook has done that.
    ///
    /// # Errors
    /// From the host.
    fn accumulate_grad(&self, at: &HookContext<'_>, g: Tensor) -> Result<Option<Tensor>>;
}

/// The node at which hooks are called, and the pass that calls them.
pub struct HookContext<'a> {
    pub node: &'a Arc<Node>,
    /// Whether ops that the hooks compute are recorded.
    pub create_graph: bool,
    /// Whether the pass accumulates gradients in tensors. Otherwise it only returns them.
    pub accumulates: bool,
    #[doc(hidden)]
    pub pass: &'a HookState,
    #[doc(hidden)]
    pub reaches: &'a dyn Fn(&Edge) -> bool,
}

/// What the hooks of one pass share.
#[derive(Default)]
#[doc(hidden)]
pub struct HookState {
    pub(super) token: OnceLock<Arc<()>>,
    /// Gradients to be accumulated at the end of the pass.
    #[doc(hidden)]
    pub deferred: Mutex<Vec<(GradOwner, Tensor)>>,
}

/// Where a deferred gradient is accumulated.
pub type GradOwner = Arc<dyn Any + Send + Sync>;
