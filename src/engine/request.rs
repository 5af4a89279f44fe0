//! What a caller asks of a backward pass, and the answer.

use std::sync::Arc;

use crate::error::Result;
use crate::graph::{Edge, GradOwner, Node, NodeKind, Tensor};
use crate::ops::movement::{conj, tracked_cast};

/// One call of `grad` or `backward`, with the options of all dialects. [`Request::run`] answers it.
#[derive(Default)]
pub struct Request<'a> {
    /// What is differentiated, and the cotangent that it starts from.
    pub roots: Vec<(Edge, Tensor)>,
    /// The values whose gradients are returned.
    pub wanted: Vec<Edge>,
    /// Whether the gradients of all other leaves are returned too.
    pub leaves: bool,
    /// Whether the caller accumulates the gradients of `wanted` in their tensors. Decides which hooks are called.
    pub accumulates: bool,
    /// Values that no gradient flows into.
    pub blocked: Vec<Edge>,
    /// Whether no gradient flows through a wanted value to what it was computed from. Its hooks are left to whoever goes on
    /// from there.
    pub stops: bool,
    /// Whether the nodes keep what they save.
    pub retain_graph: bool,
    /// Whether the pass is recorded, so that the gradients can be differentiated.
    pub create_graph: bool,
    /// The names of nodes in errors, if not those of their ops.
    pub names: Option<&'a (dyn Fn(&Node) -> String + Sync)>,
    /// Called every 50 ms on the calling thread. An error ends the pass.
    pub interrupt: Option<&'a (dyn Fn() -> Result<()> + Sync)>,
}

/// How a value was reached from the roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    Never,
    /// Only through functions of the caller's that gave no gradient.
    Unanswered,
    /// The value has a gradient: zeros where none arrived.
    Used,
}

/// The gradients that a backward pass found.
#[derive(Default)]
pub struct Answer {
    /// By `wanted`: the gradient, or none where none arrived.
    pub wanted: Vec<Option<Tensor>>,
    /// By `wanted`: how the value was reached.
    pub reached: Vec<Reached>,
    /// The leaves other than the wanted ones with their gradients, if they were asked for.
    pub leaves: Vec<(Arc<Node>, Tensor)>,
    /// Gradients that hooks deferred to the end of the pass.
    pub deferred: Vec<(GradOwner, Tensor)>,
    /// How many threads ran nodes.
    pub threads: usize,
}

/// A cotangent in the dtype of the value at `edge`, unless that value's node takes any dtype.
///
/// # Errors
/// For want of memory.
pub fn seed(edge: &Edge, g: &Tensor) -> Result<Tensor> {
    if takes_any_dtype(&edge.node) { Ok(g.clone()) } else { tracked_cast(g, edge.meta().dtype) }
}

/// A cotangent of a pass as the gradient that users see, and the reverse. The rules of ops are plain transposes: they
/// compute `g f'(x)`, as in JAX. Users see the conjugate, which is the direction of steepest ascent of a real function,
/// as in PyTorch and Paddle.
///
/// # Errors
/// For want of memory.
#[inline]
pub fn conjugated(g: Tensor) -> Result<Tensor> {
    if g.dtype().is_complex() { conj(&g) } else { Ok(g) }
}

/// Whether cotangents of a node's outputs may have other dtypes than the outputs.
pub(super) fn takes_any_dtype(node: &Node) -> bool {
    matches!(&node.kind, NodeKind::Op(op) if op.takes_any_dtype())
}
