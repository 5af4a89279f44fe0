//! The sums over paths of connectionist temporal classification: A. Graves et al. (2006).
//!
//! The derivative of the scores is a linear recurrence, whose derivatives are such recurrences too, so they have any order.

use smallvec::smallvec;

use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply, only,
};
use crate::kernel::broadcast::{broadcast_batch, broadcast_batch_pair};
use crate::kernel::reduce::paths;
use crate::ops::entry::op;
use crate::ops::index::select;
use crate::ops::movement::{cast, stack};
use crate::ops::promote::promoted_float;
use crate::ops::scan::shift_axis;
use crate::stored::Stored;

const NAME: &str = "ctc_alpha";

/// Inputs: which states are reached by a move of two, and what each step and state adds.
#[derive(Stored)]
#[stored(op)]
struct Scores;

impl Op for Scores {
    fn name(&self) -> &'static str {
        NAME
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let (skips, x) = broadcast_batch_pair(ins[0], ins[1], batch_ndim);
        Ok([paths::scores(NAME, &skips, &x)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let [(DType::Bool, skips), (dtype, x @ &[ref lead @ .., _, states])] = ins.each()? else {
            return None;
        };
        let fits = dtype.is_float() && *skips == *[lead, &[states]].concat();
        if fits { ins.make(&[(dtype, &[x])]) } else { None }
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(0b11).and(Saves::outputs(1))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let weights = apply(Weights, &[&s.input(0), &s.input(1), &s.output(0)])?;
        Ok(smallvec![None, Some(apply(Flow { transposed: true }, &[&weights, only(g)])?)])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(t) = &t[1] else { return Ok(smallvec![None]) };
        let weights = apply(Weights, &[&s.input(0), &s.input(1), &s.output(0)])?;
        Ok(smallvec![Some(apply(Flow { transposed: false }, &[&weights, t])?)])
    }
}

/// The derivatives of scores by those of the step before: inputs are those of [`Scores`] and its output.
#[derive(Stored)]
#[stored(op)]
struct Weights;

impl Op for Weights {
    fn name(&self) -> &'static str {
        "ctc_weights"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let [skips, x, y] = broadcast_batch([ins[0], ins[1], ins[2]], batch_ndim);
        Ok([paths::weights("ctc_weights", &skips, &x, &y)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let [(DType::Bool, skips), (dtype, x), y] = ins.each()? else { return None };
        let &[ref lead @ .., steps, states] = x else { return None };
        let fits = dtype.is_float() && *skips == *[lead, &[states]].concat() && y == (dtype, x);
        if fits { ins.make(&[(dtype, &[lead, &[steps, 3, states]])]) } else { None }
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::outputs(1)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        // A weight is the exponential of the score before, plus x, minus the score after.
        let g = only(g) * s.output(0);
        let by = |d: i64| select(&g, -2, d);
        let after = (by(0)? + by(1)?) + by(2)?;
        let before = by(0)? + shift_axis(&(by(1)? + shift_axis(&by(2)?, 1, true)?), 1, true)?;
        let scores = shift_axis(&before, 2, true)? - &after;
        Ok(smallvec![None, Some(after), Some(scores)])
    }
}

/// The recurrence `y[t, s] = x[t, s] + Σ w[t, d, s] y[t-1, s-d]` of `w` and `x`, or the transposed one.
#[derive(Stored)]
#[stored(op)]
struct Flow {
    transposed: bool,
}

impl Op for Flow {
    fn name(&self) -> &'static str {
        "ctc_flow"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let (w, x) = broadcast_batch_pair(ins[0], ins[1], batch_ndim);
        Ok([paths::flow("ctc_flow", &w, &x, self.transposed)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, [w, x @ &[ref lead @ .., steps, states]]) = ins.of_one_dtype()? else { return None };
        let fits = dtype.is_float() && *w == *[lead, &[steps, 3, states]].concat();
        if fits { ins.make(&[(dtype, &[x])]) } else { None }
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        Saves::inputs(1).and(Saves::outputs(1).when(needs.has(0)))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let flow = apply(Flow { transposed: !self.transposed }, &[&s.input(0), only(g)])?;
        let by_weights = || -> Result<Tensor> {
            let y = s.output(0);
            let (ahead, back) = if self.transposed { (&flow, &y) } else { (&y, &flow) };
            // What arrives by each move, times what flows back there.
            let stay = shift_axis(ahead, 2, false)?;
            let one = shift_axis(&stay, 1, false)?;
            let two = shift_axis(&one, 1, false)?;
            stack(&[stay * back, one * back, two * back], -2)
        };
        let w = s.needs(0).then(by_weights).transpose()?;
        Ok(smallvec![w, Some(flow)])
    }
}

/// The forward variables of connectionist temporal classification: the logarithms of the sums over all paths to a state.
///
/// x is [batch, steps, states], what a path adds in each step and state. It begins in one of the first two states, and each
/// step leads to the same state, to the next, or to the one after that where skips [batch, states] is True. A state that no
/// path reaches has -1e30.
///
/// ```python
/// >>> fg.ctc_alpha(fg.zeros((1, 2, 2)), fg.tensor([[False, False]])).exp().round().tolist()
/// [[[1.0, 1.0], [1.0, 2.0]]]
/// ```
#[op(function, heavy)]
pub fn ctc_alpha(x: &Tensor, skips: &Tensor) -> Result<Tensor> {
    let fits = x.rank() == 3 && skips.rank() == 2;
    if !fits || (skips.dims()[0], skips.dims()[1]) != (x.dims()[0], x.dims()[2]) {
        bail!(
            Shape,
            NAME,
            "x is [batch, steps, states] and skips [batch, states], not {:?} and {:?}",
            x.dims(),
            skips.dims()
        );
    }
    let x = promoted_float(x)?;
    apply(Scores, &[&cast(skips, DType::Bool)?, &x])
}
