//! Softmax and its relatives.

use std::f64::consts::{LN_2, LOG2_E};

use smallvec::smallvec;

use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Loops, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply,
    only,
};
use crate::kernel::broadcast::broadcast_batch_pair;
use crate::kernel::softmax::{self, Formula, Softmax};
use crate::ops::entry::{Axes, Operand, op};
use crate::ops::movement::{permute_dims, real, reshape_to};
use crate::ops::pointwise::arithmetic::{add, subtract};
use crate::ops::pointwise::binary::binary_rows;
use crate::ops::pointwise::compare::{and_same, equal_same, less_same};
use crate::ops::pointwise::elementary::{exp, isfinite, isinf, log, log1p};
use crate::ops::pointwise::select::{part, select};
use crate::ops::promote::{Class, promoted, promoted_float, promoted_inexact};
use crate::ops::reduce::{Folded, extreme, sum};
use crate::ops::terms::add_terms;
use crate::shape;
use crate::stored::Stored;

/// The sum over the last axis, which stays.
pub(in crate::ops) fn sum_rows(x: &Tensor) -> Result<Tensor> {
    sum(x, Some(&[-1]), true, None)
}

/// A softmax over the last axis.
#[derive(Stored)]
#[stored(op)]
struct SoftmaxOp(Softmax);

impl Op for SoftmaxOp {
    fn name(&self) -> &'static str {
        if self.0 == Softmax::Log { "log_softmax" } else { "softmax" }
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([softmax::softmax(self.name(), ins[0], self.0)?].into())
    }

    fn lower(&self, _: &Operands<'_>) -> Option<Loops> {
        Some(Loops::Rows(Formula::Softmax(self.0)))
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::outputs(1)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        Ok(smallvec![Some(apply(SoftmaxGrad { log: self.0 == Softmax::Log }, &[g, &s.output(0)])?)])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let t = only(t);
        let z = s.output(0);
        Ok(smallvec![Some(match self.0 {
            Softmax::Log => centred(t, &z, true)?,
            _ => softmax_gradient(t, &z)?,
        })])
    }
}

/// The gradient of a softmax from `g` and its result `z`: `z (g - sum(g z))`, of its logarithm `g - exp(z) sum(g)`.
#[derive(Clone, Copy, Stored)]
#[stored(op)]
struct SoftmaxGrad {
    log: bool,
}

impl Op for SoftmaxGrad {
    fn name(&self) -> &'static str {
        if self.log { "log_softmax_gradient" } else { "softmax_gradient" }
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let (g, z) = broadcast_batch_pair(ins[0], ins[1], batch_ndim);
        Ok([softmax::softmax_gradient(self.name(), &g, &z, self.log)?].into())
    }

    fn lower(&self, _: &Operands<'_>) -> Option<Loops> {
        Some(Loops::Rows(Formula::Gradient { log: self.log }))
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        Saves::inputs(2).and(Saves::inputs(1).when(needs.has(1)))
    }

    fn vjp(&self, c: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let c = only(c);
        let z = s.input(1);
        let by_g = || if self.log { centred(c, &z, true) } else { softmax_gradient(c, &z) };
        let by_z = || -> Result<Tensor> {
            let g = s.input(0);
            Ok(if self.log {
                -(c * exp(&z)? * sum_rows(&g)?)
            } else {
                c * centred(&g, &z, false)? - &g * sum_rows(&(c * &z))?
            })
        };
        Ok(smallvec![s.needs(0).then(by_g).transpose()?, s.needs(1).then(by_z).transpose()?])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let z = s.input(1);
        let by_g = |t: &Tensor| apply(*self, &[t, &z]);
        let by_z = |t: &Tensor| -> Result<Tensor> {
            let g = s.input(0);
            Ok(if self.log {
                -(t * exp(&z)? * sum_rows(&g)?)
            } else {
                t * centred(&g, &z, false)? - &z * sum_rows(&(&g * t))?
            })
        };
        let (g, z) = (t[0].as_ref().map(by_g).transpose()?, t[1].as_ref().map(by_z).transpose()?);
        Ok(smallvec![add_terms([g, z])])
    }
}

/// `g - sum(g z)` over the last axis for shares `z` of 1, or for their logarithms.
#[derive(Clone, Copy, Stored)]
#[stored(op)]
struct Centred {
    log: bool,
}

fn centred(g: &Tensor, z: &Tensor, log: bool) -> Result<Tensor> {
    apply(Centred { log }, &[g, z])
}

impl Centred {
    /// The shares.
    fn shares(&self, z: &Tensor) -> Result<Tensor> {
        if self.log { exp(z) } else { Ok(z.clone()) }
    }
}

impl Op for Centred {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let (g, z) = broadcast_batch_pair(ins[0], ins[1], batch_ndim);
        Ok([softmax::centred(self.name(), &g, &z, self.log)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        ins.like::<2>(1, DType::is_float)
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        Saves::inputs(2).and(Saves::inputs(1).when(needs.has(1)))
    }

    fn vjp(&self, c: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let (c, z) = (only(c), s.input(1));
        let by_g = || {
            if self.log { apply(SoftmaxGrad { log: true }, &[c, &z]) } else { Ok(c - &z * sum_rows(c)?) }
        };
        let by_z = || -> Result<Tensor> {
            let slope = if self.log { self.shares(&z)? * s.input(0) } else { s.input(0) };
            Ok(-(slope * sum_rows(c)?))
        };
        Ok(smallvec![s.needs(0).then(by_g).transpose()?, s.needs(1).then(by_z).transpose()?])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let z = s.input(1);
        let by_g = |t: &Tensor| apply(*self, &[t, &z]);
        let by_z = |t: &Tensor| -> Result<Tensor> {
            let slope = if self.log { self.shares(&z)? * t } else { t.clone() };
            Ok(-sum_rows(&(slope * s.input(0)))?)
        };
        let (g, z) = (t[0].as_ref().map(by_g).transpose()?, t[1].as_ref().map(by_z).transpose()?);
        // A tangent of the shares alone is one number for each row.
        Ok(smallvec![match (g, z) {
            (None, Some(z)) => Some(z + s.input(0) * 0.0),
            (g, z) => add_terms([g, z]),
        }])
    }
}

/// `z (g - sum(g z))` over the last axis: the Jacobian of the softmax, which is symmetric, applied to `g`.
pub(in crate::ops) fn softmax_gradient(g: &Tensor, z: &Tensor) -> Result<Tensor> {
    apply(SoftmaxGrad { log: false }, &[g, z])
}

/// Applies `f` to the tensor with an axis moved to the end, and moves it back.
fn on_last(
    op: &'static str,
    x: &Tensor,
    axis: i64,
    f: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let axis = shape::axis(op, axis, x.rank())?;
    let last = x.rank() - 1;
    let order: Vec<i64> = (0..=last).filter(|&a| a != axis).chain([axis]).map(|a| a as i64).collect();
    let mut back: Vec<i64> = (0..last as i64).collect();
    back.insert(axis, last as i64);
    permute_dims(&f(&permute_dims(x, &order)?)?, &back)
}

/// exp(x) over its sum along an axis, computed without overflow. NaN for a row of -inf.
///
/// ```python
/// >>> fg.softmax(fg.tensor([0., 0.])).tolist()
/// [0.5, 0.5]
/// ```
#[op(in_place, torch(LaidInCOrder))]
pub fn softmax(x: &Tensor, #[default(-1)] axis: i64) -> Result<Tensor> {
    on_last("softmax", &*promoted_float(x)?, axis, |x| apply(SoftmaxOp(Softmax::Plain), &[x]))
}

/// The logarithm of the softmax along an axis, x - log(sum(exp(x))), computed without overflow.
///
/// ```python
/// >>> fg.log_softmax(fg.tensor([0., -1000.])).tolist()
/// [0.0, -1000.0]
/// ```
#[op(in_place, torch(LaidInCOrder))]
pub fn log_softmax(x: &Tensor, #[default(-1)] axis: i64) -> Result<Tensor> {
    on_last("log_softmax", &*promoted_float(x)?, axis, |x| apply(SoftmaxOp(Softmax::Log), &[x]))
}

/// The logarithm of the sum of the exponentials of the last axis, which stays.
#[derive(Stored)]
#[stored(op)]
struct LogSumExp;

impl Op for LogSumExp {
    fn name(&self) -> &'static str {
        "logsumexp"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([softmax::cross_entropy("logsumexp", ins[0], None)?.0].into())
    }

    fn lower(&self, _: &Operands<'_>) -> Option<Loops> {
        Some(Loops::Rows(Formula::LogSumExp))
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(1)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        Ok(smallvec![Some(g * apply(SoftmaxOp(Softmax::Weights), &[&s.input(0)])?)])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let t = only(t);
        Ok(smallvec![Some(sum_rows(&(t * apply(SoftmaxOp(Softmax::Weights), &[&s.input(0)])?))?)])
    }
}

/// log(sum(exp(x))) over axes (all by default), computed without overflow; -inf of none. Its gradient is the
/// softmax, and 0 where every element is -inf.
///
/// ```python
/// >>> fg.logsumexp(fg.tensor([1000., -1000.])).item()
/// 1000.0
/// ```
#[op(method, paddle(AllAxes), torch(NeedsAxes))]
pub fn logsumexp(
    x: &Tensor,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
) -> Result<Tensor> {
    let folded = Folded::new("logsumexp", axis, keepdims, x.rank())?;
    let x = promoted_inexact(x)?;
    if x.dtype().is_complex() {
        // What the largest real part is taken from does not matter to the result.
        let rows = folded.rows(&x)?;
        if rows.dims().last() == Some(&0) {
            return reshape_to(&log(&sum(&rows, Some(&[-1]), false, None)?)?, &folded.dims(x.dims()));
        }
        let largest = extreme::max(&real(&rows.detach())?, Some(&[-1]), true)?;
        let largest = part(&isfinite(&largest)?, true, &largest)?;
        let shifted = subtract((&rows).into(), (&largest).into())?;
        let sum = add((&log(&sum(&exp(&shifted)?, Some(&[-1]), true, None)?)?).into(), (&largest).into())?;
        return reshape_to(&sum, &folded.dims(x.dims()));
    }
    reshape_to(&apply(LogSumExp, &[&folded.rows(&x)?])?, &folded.dims(x.dims()))
}

binary_rows! {
    /// `max(x, y) + ln(1 + e^-|x - y|)`; the one that is infinite.
    LogAddExp log_add_exp "logaddexp",
        wide64 x, y => {
            let most = x.max(y);
            let rest = x.sub(y).abs().neg().exp().ln_1p();
            if most.is_finite() { most.add(rest) } else { most }
        };
        [x, y] g => g * exp_share(x, y)?; [x, y] g => g * exp_share(y, x)?;
    /// `e^x / (e^x + e^y)`; 0 where both exponentials are.
    ExpShare exp_share "logaddexp",
        real x, y => if x == T::INFINITY.neg() { T::ZERO } else { x.sub(y).sigmoid() };
        [x, y] g => g * (exp_share(x, y)? * exp_share(y, x)?); [x, y] g => -(g * (exp_share(x, y)? * exp_share(y, x)?));
}

/// `logaddexp` of complex numbers: the one with the larger real part, and the logarithm of 1 and the exponential of the
/// difference.
fn complex_log_add_exp(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let (a, b) = (real(&x.detach())?, real(&y.detach())?);
    let less = less_same(&a, &b)?;
    let (small, large) = (select(&less, x, y)?, select(&less, y, x)?);
    // Infinities of one sign have no difference.
    let both = and_same(&equal_same(&a, &b)?, &isinf(&a)?)?;
    let apart = select(&both, &Tensor::scalar_of(x.dtype(), f64::NEG_INFINITY), &(small - &large))?;
    Ok(large + log1p(&exp(&apart)?)?)
}

/// The logarithm of the sum of the exponentials of two tensors, whose shapes broadcast, without overflow.
///
/// ```python
/// >>> fg.logaddexp(fg.tensor([0.0]), fg.tensor([0.0])).tolist()
/// [0.6931471824645996]
/// ```
#[op(in_place)]
pub fn logaddexp(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    let (x, y) = promoted(Class::Real, x, y)?;
    if x.dtype().is_complex() { complex_log_add_exp(&x, &y) } else { log_add_exp(&x, &y) }
}

/// The logarithm to base 2 of the sum of the powers of 2, 2^x + 2^y, without overflow. The shapes broadcast.
///
/// ```python
/// >>> fg.logaddexp2(fg.tensor([3.0]), fg.tensor([3.0])).tolist()
/// [4.0]
/// ```
#[op(in_place)]
pub fn logaddexp2(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    let (x, y) = promoted(Class::Float, x, y)?;
    Ok(log_add_exp(&(&*x * LN_2), &(&*y * LN_2))? * LOG2_E)
}
