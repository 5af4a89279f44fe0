//! `Tensor`: an immutable value with the edge it came by.

use super::{DetachReason, Edge, Levels, Node, Owner};
use crate::array::Array;
use crate::dtype::{DType, Element};

/// An immutable value: an array, the edge to the node that made it (if its gradient is wanted), and the levels of
/// batching whose hidden axes lead the array's axes.
#[derive(Clone)]
pub struct Tensor {
    pub array: Array,
    pub edge: Option<Edge>,
    pub levels: Levels,
    /// Of an untracked value: what cut it off from what it was computed from, as far as that is known.
    pub detach_reason: DetachReason,
}

impl Tensor {
    /// A constant: no edge, no levels.
    #[inline]
    pub fn constant(array: Array) -> Tensor {
        Tensor::made(array, None, Levels::default())
    }

    /// A value with its edge.
    #[inline]
    pub fn made(array: Array, edge: Option<Edge>, levels: Levels) -> Tensor {
        Tensor { array, edge, levels, detach_reason: DetachReason::default() }
    }

    /// A constant 0-d tensor.
    pub fn scalar<T: Element>(value: T) -> Tensor {
        Tensor::constant(Array::scalar(value))
    }

    /// A constant 0-d tensor of a dtype given at run time.
    pub fn scalar_of(dtype: DType, value: f64) -> Tensor {
        Tensor::constant(Array::full_of(dtype, &[], value))
    }

    /// The same value as the start of a new graph: gradients stop here and can be asked for.
    pub fn leaf(&self) -> Tensor {
        self.leaf_of(None)
    }

    /// [`Tensor::leaf`] whose node remembers, weakly, who holds it, if somebody does.
    pub fn leaf_of(&self, owner: Option<Owner>) -> Tensor {
        Tensor { edge: Some(Edge { node: Node::leaf(self, owner), out: 0 }), ..self.clone() }
    }

    /// The same value without its edge.
    pub fn detach(&self) -> Tensor {
        Tensor { edge: None, ..self.clone() }
    }

    /// The shape as an op sees it: without the hidden axes of the levels.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        &self.array.dims()[self.levels.len()..]
    }

    #[inline]
    pub fn rank(&self) -> usize {
        self.dims().len()
    }

    #[inline]
    pub fn dtype(&self) -> DType {
        self.array.dtype()
    }

    /// Whether a gradient can flow into this tensor.
    #[inline]
    pub fn is_tracked(&self) -> bool {
        self.edge.is_some()
    }
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}{}", self.array, if self.is_tracked() { ", tracked" } else { "" })
    }
}
