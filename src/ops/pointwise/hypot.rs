//! The derivative of `hypot`.

use smallvec::smallvec;

use super::safe::reciprocal_or_zero;
use crate::array::Array;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Loops, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply, only,
};
use crate::kernel::pointwise::ternary::{self, TernaryLoops, ternary_loops};
use crate::ops::terms::add_terms;
use crate::stored::Stored;

/// `x / z` for `z = hypot(x, y)`, and 0 where `z` is 0. Its derivatives by `x` and `y`, of which `z` is a function, are products:
/// with `v = y / z`, `v² / z` and `-v x / z²`. Those of the quotient are differences that cancel where `y` is small.
#[derive(Stored)]
#[stored(op)]
struct Share;

const TABLE: &TernaryLoops = ternary_loops!(x, y, z; p => if z == T::ZERO { z } else { x.div(z) });

/// That share of the length.
pub(super) fn share(x: &Tensor, y: &Tensor, z: &Tensor) -> Result<Tensor> {
    apply(Share, &[x, y, z])
}

/// The derivatives by `x` and by `y`.
fn slopes(s: &Saved<'_>) -> Result<[Tensor; 2]> {
    let z = &s.input(2);
    let other = &share(&s.input(1), &s.input(0), z)?;
    // The division comes before the second product, which could underflow.
    let turn = other * reciprocal_or_zero(z)?;
    Ok([other * &turn, -(s.output(0) * turn)])
}

impl Op for Share {
    fn name(&self) -> &'static str {
        "hypot"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        Ok([ternary::apply(self.name(), TABLE, [ins[0], ins[1], ins[2]], batch_ndim, &[0.0; 3])?].into())
    }

    fn is_pointwise(&self) -> bool {
        true
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        TABLE.row(*ins.dtypes.first()?, [0.0; 3]).map(Loops::Pointwise)
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(7).and(Saves::outputs(1))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        let [by_x, by_y] = slopes(s)?;
        Ok(smallvec![s.needs(0).then(|| g * by_x), s.needs(1).then(|| g * by_y), None])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let [by_x, by_y] = slopes(s)?;
        Ok(smallvec![add_terms([t[0].as_ref().map(|t| t * by_x), t[1].as_ref().map(|t| t * by_y)])])
    }
}
