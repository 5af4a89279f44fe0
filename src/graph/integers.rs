//! Integers and truth values with a history, as the dialect of Paddle has them.

use super::record::{Cotangents, Grads, Op, Outputs, Saved, Tensor};
use super::saves::{NeedsGrad, Saves};
use crate::array::Array;
use crate::error::Result;

/// Whether a tensor is of integers or truth values with a history.
#[inline]
pub(super) fn is_tracked_integer(t: &&Tensor) -> bool {
    t.edge.is_some() && !t.dtype().is_differentiable()
}

/// An op of integers that another rule differentiates than that of floats.
pub(super) struct OfIntegers(pub Box<dyn Op>);

impl Op for OfIntegers {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        self.0.forward(ins, batch_ndim)
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        self.0.saves(needs)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        self.0.vjp_of_integers(g, s)
    }
}
