//! The contract of an op: all that the library knows of it.

use std::any::Any;
use std::sync::Arc;

use smallvec::SmallVec;

use super::one_or_many::OneOrMany;
use super::{Edge, Node, SavedArray, Tensor};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;

/// The results of an op.
pub type Outputs = OneOrMany<Array>;
/// By the op's inputs: their gradients; none for zero, and where none is wanted.
pub type Grads = SmallVec<[Option<Tensor>; 2]>;
/// By the op's outputs: their cotangents; none for zero.
pub type Cotangents = [Option<Tensor>];
/// By the op's inputs: their tangents; none for zero.
pub type Tangents = [Option<Tensor>];

/// The cotangent in the list of an op with one output, or the tangent in that of an op with one input that can have
/// one. Rules are not called without it.
#[inline]
pub fn only(list: &[Option<Tensor>]) -> &Tensor {
    list[0].as_ref().expect("a rule is called with at least one cotangent or tangent")
}

/// A differentiable (or integer) function of arrays. One `impl` is the whole of an op: what it computes, what its
/// rules read, and the rules, written in functions that are ops themselves, so that they can be differentiated again.
pub trait Op: Send + Sync + 'static {
    /// The public name, as in errors and pictures of the graph.
    fn name(&self) -> &'static str;

    /// Whether the rules call the host language. They are then run by the thread that asked for the gradients, with no
    /// lock held, while other threads go on.
    fn calls_host(&self) -> bool {
        false
    }

    /// Whether its gradient takes cotangents of other dtypes than those of its outputs.
    fn takes_any_dtype(&self) -> bool {
        false
    }

    /// Shows what the op holds of the host language's, for the host's collector of cycles.
    fn held(&self, _see: &mut dyn FnMut(&dyn Any)) {}

    /// Checks and computes. Every refusal is an `Err` from here.
    ///
    /// The arrays begin with `lanes` hidden axes, each of size 1 or the number of lanes of its level, and the results
    /// do too; the op's own axes come after them. An op that counts its axes from the end need not know of them.
    fn forward(&self, ins: &[&Array], lanes: usize) -> Result<Outputs>;

    /// Whether each element of a result depends on the elements at its own place alone.
    fn is_pointwise(&self) -> bool {
        false
    }

    /// What the rules read, given which inputs have gradients.
    fn saves(&self, needs: NeedsGrad) -> Saves;

    /// The gradients of the inputs, given cotangents of the outputs. At least one cotangent is there, unless the op
    /// calls the host and a hook has removed it; an op with one output reads it with [`only`]. A gradient may have any
    /// shape that its input broadcasts to: the engine sums it.
    ///
    /// # Errors
    /// Only for want of memory, or from the host language.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads>;

    /// The tangents of the outputs, given tangents of the inputs: none for zero, and at least one is there. An op with
    /// one input reads it with [`only`].
    ///
    /// # Errors
    /// Only for want of memory, or from the host language.
    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads>;
}

/// Which inputs of an op have gradients.
#[derive(Clone, Copy, Debug)]
pub struct NeedsGrad(pub u64);

impl NeedsGrad {
    #[inline]
    pub fn has(self, i: usize) -> bool {
        self.0 >> i.min(63) & 1 == 1
    }
}

/// Which inputs and outputs of an op its rules read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Saves {
    pub inputs: u64,
    pub outputs: u64,
}

impl Saves {
    pub const NOTHING: Saves = Saves { inputs: 0, outputs: 0 };

    /// The inputs of this bit mask.
    pub const fn inputs(mask: u64) -> Saves {
        Saves { inputs: mask, outputs: 0 }
    }

    /// The outputs of this bit mask.
    pub const fn outputs(mask: u64) -> Saves {
        Saves { inputs: 0, outputs: mask }
    }

    pub const fn and(self, other: Saves) -> Saves {
        Saves { inputs: self.inputs | other.inputs, outputs: self.outputs | other.outputs }
    }

    /// This if the condition holds, else nothing.
    pub const fn when(self, condition: bool) -> Saves {
        if condition { self } else { Saves::NOTHING }
    }
}

/// What a rule can read of the application that it differentiates.
pub struct Saved<'a> {
    pub(crate) node: &'a Arc<Node>,
    pub(crate) kept: &'a [Option<SavedArray>],
    /// What the kept inputs came by: the node's own edges, unless others are kept in their place.
    pub(crate) edges: &'a [Option<Edge>],
    /// Whether the rule's own ops are to be recorded.
    pub(crate) record: bool,
}

impl Saved<'_> {
    /// Input `i`, which `saves` named: with its edge if the rule is being recorded.
    pub fn input(&self, i: usize) -> Tensor {
        let edge = if self.record { self.edges[i].clone() } else { None };
        self.tensor(i, edge)
    }

    /// Output `i`, which `saves` named: with its edge if the rule is being recorded.
    pub fn output(&self, i: usize) -> Tensor {
        let edge = (self.record && self.node.outs[i].dtype.is_float())
            .then(|| Edge { node: self.node.clone(), out: i as u32 });
        self.tensor(self.node.inputs.len() + i, edge)
    }

    fn tensor(&self, slot: usize, edge: Option<Edge>) -> Tensor {
        let keep = self.kept.get(slot).and_then(Option::as_ref);
        let keep = keep.unwrap_or_else(|| {
            panic!("{}: its rule reads slot {slot}, which `saves` does not name", self.node.name())
        });
        keep.tensor(edge)
    }

    /// Whether the gradient of input `i` is wanted.
    #[inline]
    pub fn needs(&self, i: usize) -> bool {
        self.node.inputs[i].is_some()
    }

    /// The shape of input `i`, whose gradient is wanted.
    pub fn dims(&self, i: usize) -> &[usize] {
        let edge = self.node.inputs[i].as_ref();
        &edge
            .unwrap_or_else(|| {
                panic!("{}: its rule asks for the shape of an input without gradient", self.node.name())
            })
            .meta()
            .dims
    }

    /// The dtype of input `i`, whose gradient is wanted.
    pub fn dtype(&self, i: usize) -> DType {
        let edge = self.node.inputs[i].as_ref();
        edge.unwrap_or_else(|| {
            panic!("{}: its rule asks for the dtype of an input without gradient", self.node.name())
        })
        .meta()
        .dtype
    }

    /// The shape of output `i`.
    pub fn out_dims(&self, i: usize) -> &[usize] {
        &self.node.outs[i].dims
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.node.inputs.len()
    }
}
