//! What rules read: saved values, cotangents and tangents.

use super::levels::Level;
use super::modes;
use super::record::{Edge, Saved, Tensor};
use crate::dtype::DType;

/// The cotangent in the list of an op with one output, or the tangent in that of an op with one input that can have
/// one. Rules are not called without it.
#[inline]
pub fn only(list: &[Option<Tensor>]) -> &Tensor {
    list[0].as_ref().expect("a rule is called with at least one cotangent or tangent")
}

impl Saved<'_> {
    /// Input `i`, which `saves` named. It has its edge if the rule is recorded.
    #[inline]
    pub fn input(&self, i: usize) -> Tensor {
        let edge = if self.record { self.edges[i].clone() } else { None };
        self.tensor(i, edge)
    }

    /// Output `i`, which `saves` named. It has its edge if the rule is recorded.
    pub fn output(&self, i: usize) -> Tensor {
        let edge = (self.record && self.node.outs[i].dtype.is_differentiable())
            .then(|| Edge { node: self.node.clone(), out: i as u32 });
        self.tensor(self.node.inputs.len() + i, edge)
    }

    #[inline(always)]
    fn tensor(&self, slot: usize, edge: Option<Edge>) -> Tensor {
        let saved = self.arrays.get(slot).and_then(Option::as_ref);
        let saved = saved.unwrap_or_else(|| {
            panic!("{}: its rule reads slot {slot}, which `saves` does not name", self.node.name())
        });
        Tensor::of_saved(saved, edge)
    }

    /// Whether the gradient of input `i` is wanted.
    #[inline]
    pub fn needs(&self, i: usize) -> bool {
        self.node.inputs[i].is_some()
    }

    /// Whether the gradient of input `i`, which is wanted, is summed over the batch of a level: the input does not have it,
    /// and its call has ended.
    pub fn is_summed(&self, i: usize, level: Level) -> bool {
        let lacks = |edge: &Edge| !edge.meta().levels.contains(level);
        self.node.inputs[i].as_ref().is_some_and(lacks) && !modes::live_levels().contains(level)
    }

    /// The shape of input `i`, whose gradient is wanted.
    pub fn dims(&self, i: usize) -> &[usize] {
        &self.edge(i, "shape").meta().dims
    }

    /// The dtype of input `i`, whose gradient is wanted.
    pub fn dtype(&self, i: usize) -> DType {
        self.edge(i, "dtype").meta().dtype
    }

    fn edge(&self, i: usize, what: &str) -> &Edge {
        self.node.inputs[i].as_ref().unwrap_or_else(|| {
            panic!("{}: its rule asks for the {what} of an input without gradient", self.node.name())
        })
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
