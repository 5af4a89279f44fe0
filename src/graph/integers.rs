//! Integers and truth values with a history, as the dialect of Paddle has them.

use smallvec::SmallVec;

use super::apply::results;
use super::levels::Levels;
use super::modes::Flags;
use super::record::{Cotangents, Grads, Op, Outputs, Saved, Tensor};
use super::saves::{NeedsGrad, Saves};
use crate::array::Array;
use crate::dtype::DTypeKind;
use crate::error::{Result, bail};

/// Whether a tensor is of integers or truth values with a history.
#[inline]
pub(super) fn is_tracked_integer(t: &&Tensor) -> bool {
    t.edge.is_some() && !t.dtype().is_differentiable()
}

/// The results of an op with tracked integers among the operands. An op whose rule holds for integers carries their
/// histories on. To every other op they are constants, unless it makes other integers of them and is no step: then its rule
/// of integers is recorded.
#[cold]
pub(super) fn with_integers(
    op: Box<dyn Op>,
    ins: &[&Tensor],
    outs: Outputs,
    levels: Levels,
    modes: Flags,
) -> Result<SmallVec<[Tensor; 1]>> {
    let carried = op.carries_integers();
    let stays = |i: usize, t: &Tensor| t.dtype().is_differentiable() || carried >> i.min(63) & 1 == 1;
    let kept: SmallVec<[Tensor; 4]> =
        ins.iter().enumerate().map(|(i, t)| if stays(i, t) { (*t).clone() } else { t.detach() }).collect();
    let kept: SmallVec<[&Tensor; 4]> = kept.iter().collect();
    if kept.iter().any(is_tracked_integer) {
        return results(Some(op), &kept, outs, levels, modes, |_, _| true);
    }
    if kept.iter().any(|t| t.edge.is_some()) {
        return results(Some(op), &kept, outs, levels, modes, |_, dtype| dtype.is_differentiable());
    }
    if op.is_flat() {
        return results(None, &kept, outs, levels, modes, |_, _| false);
    }
    let op = Box::new(OfIntegers(op));
    results(Some(op), ins, outs, levels, modes, |i, dtype| i == 0 && dtype.kind() == DTypeKind::Int)
}

/// An op of integers that another rule differentiates than that of floats.
struct OfIntegers(Box<dyn Op>);

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

/// The error of an op without a rule for integers, where a gradient goes through it.
///
/// # Errors
/// Always.
#[doc(hidden)]
pub fn no_rule_of_integers<T>(name: &'static str) -> Result<T> {
    bail!(Dtype, name, "it has no gradient for integers: cast them to float32 before, or write x.detach()")
}
