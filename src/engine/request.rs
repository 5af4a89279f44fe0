//! What a caller asks of the engine: the union of what all dialects can say.

use std::sync::Arc;

use crate::error::Result;
use crate::graph::{Edge, GradOwner, Meta, Node, NodeKind, Tensor};
use crate::ops::movement::{broadcast_to, cast};

/// One call of `grad` or `backward`.
#[derive(Default)]
pub struct Request<'a> {
    /// What is differentiated, and the cotangent it starts from.
    pub roots: Vec<(Edge, Tensor)>,
    /// Where gradients are returned.
    pub wanted: Vec<Edge>,
    /// Whether the gradients of all other leaves are wanted too.
    pub leaves: bool,
    /// Whether the gradients of `wanted` are to be added to what their tensors have. Only hooks ask.
    pub accumulates: bool,
    /// Values whose edges are cut: nothing flows into them.
    pub blocked: Vec<Edge>,
    pub retain_graph: bool,
    pub create_graph: bool,
    /// What nodes are called in errors, if not as their ops.
    pub names: Option<&'a (dyn Fn(&Node) -> String + Sync)>,
    /// Called every few milliseconds on the calling thread; an error ends the run.
    pub tick: Option<&'a (dyn Fn() -> Result<()> + Sync)>,
}

/// How a value was reached from the roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    Never,
    /// Through functions of the caller's alone, which gave no gradient.
    Unanswered,
    /// It has a gradient, zeros where none arrived.
    Used,
}

/// What the engine found.
#[derive(Default)]
pub struct Answer {
    /// By `wanted`: none where no gradient arrived.
    pub wanted: Vec<Option<Tensor>>,
    /// By `wanted`: whether and how the value was reached from a root.
    pub reached: Vec<Reached>,
    /// The leaves (other than the wanted ones) and their gradients, if they were asked for.
    pub leaves: Vec<(Arc<Node>, Tensor)>,
    /// What hooks laid aside for the end.
    pub aside: Vec<(GradOwner, Tensor)>,
    /// How many threads ran nodes.
    pub threads: usize,
}

impl Request<'_> {
    /// Runs it.
    ///
    /// # Errors
    /// What the rules report; [`crate::Error::Freed`] where an earlier call has freed the graph.
    pub fn run(self) -> Result<Answer> {
        super::run::run(&self)
    }
}

/// A seed of ones for a tensor.
pub fn ones(t: &Tensor) -> Result<Tensor> {
    broadcast_to(&Tensor::scalar_of(t.dtype(), 1.0), t.dims())
}

/// The gradient of a value that was used in ways whose derivatives are all zero.
pub fn zeros(meta: &Meta) -> Result<Tensor> {
    broadcast_to(&Tensor::scalar_of(meta.dtype, 0.0), &meta.dims)
}

/// The sums of the gradients of `outputs` with respect to each of `inputs`: none where an input was not used.
/// With `create_graph` the results can be differentiated again.
///
/// ```
/// use ferrograd::{Tensor, grad};
/// let x = Tensor::scalar(3.0).leaf();
/// let y = &x * &x * &x;
/// let dy = grad(&[&y], &[&x], true)?[0].clone().unwrap();
/// let ddy = grad(&[&dy], &[&x], false)?[0].clone().unwrap();
/// assert_eq!((dy.array.item().to_f64(), ddy.array.item().to_f64()), (27.0, 18.0));
/// # Ok::<(), Box<ferrograd::Error>>(())
/// ```
///
/// # Errors
/// As [`Request::run`].
pub fn grad(outputs: &[&Tensor], inputs: &[&Tensor], create_graph: bool) -> Result<Vec<Option<Tensor>>> {
    let mut request = Request { create_graph, retain_graph: create_graph, ..Request::default() };
    for t in outputs {
        if let Some(edge) = &t.edge {
            request.roots.push((edge.clone(), ones(t)?));
        }
    }
    // An input without an edge cannot be reached; a fresh leaf stands in for it.
    request.wanted = inputs.iter().filter_map(|t| t.edge.clone().or_else(|| t.leaf().edge)).collect();
    Ok(request.run()?.wanted)
}

/// The gradients of all leaves below `outputs`.
///
/// # Errors
/// As [`Request::run`].
pub fn backward(outputs: &[&Tensor]) -> Result<Vec<(Arc<Node>, Tensor)>> {
    let mut request = Request { leaves: true, ..Request::default() };
    for t in outputs {
        if let Some(edge) = &t.edge {
            request.roots.push((edge.clone(), ones(t)?));
        }
    }
    Ok(request.run()?.leaves)
}

/// A cotangent in the dtype of the value it belongs to, unless what made that value takes any.
pub fn seed(edge: &Edge, g: &Tensor) -> Result<Tensor> {
    if takes_any_dtype(&edge.node) { Ok(g.clone()) } else { cast(g, edge.meta().dtype) }
}

/// Whether the cotangents of a node's values may have other dtypes than they.
pub(super) fn takes_any_dtype(node: &Node) -> bool {
    matches!(&node.kind, NodeKind::Op(op) if op.takes_any_dtype())
}
