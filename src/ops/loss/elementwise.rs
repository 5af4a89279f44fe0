//! Losses computed element by element and then reduced.

use super::reduction::Reduction;
use crate::error::{Result, bail};
use crate::graph::{Saved, Saves, Tensor, apply, stored_pass, unrecorded_pass};
use crate::kernel::num::Plain;
use crate::kernel::pointwise::binary::{self, binary_loops};
use crate::kernel::pointwise::row::Pass;
use crate::kernel::pointwise::unary::Scalars;
use crate::ops::check::{self, Test};
use crate::ops::entry::{Operand, op};
use crate::ops::pointwise::activation::{sigmoid_slope, softplus_one};
use crate::ops::pointwise::arithmetic::{add, difference, multiply, multiply_same, subtract};
use crate::ops::pointwise::binary::binary_rows;
use crate::ops::pointwise::compare::{equal, less_same, logical_and};
use crate::ops::pointwise::elementary::{abs, exp, isinf, log, square};
use crate::ops::pointwise::parametrised::{parametrised, parametrised_rows};
use crate::ops::pointwise::safe::log_or_zero;
use crate::ops::pointwise::select::{at_least, at_most, select};
use crate::ops::pointwise::unary::in_one_pass;
use crate::ops::promote::{Class, common, promoted, promoted_float};
use crate::ops::reduce::sum;

/// The difference of predictions and targets, as floats.
fn float_difference(x: &Tensor, target: Operand<'_>) -> Result<Tensor> {
    let d = difference(Operand::Tensor(x), target)?;
    Ok(promoted_float(&d)?.into_owned())
}

/// Refuses predictions of integers beside targets of floats, which are each other's arguments.
fn check_order(op: &'static str, x: &Tensor, target: &Tensor) -> Result<()> {
    if !x.dtype().is_differentiable() && target.dtype().is_float() {
        bail!(
            Dtype,
            op,
            "the first argument, the predictions, is of {}, and the second, the targets, of {}: are the arguments \
             swapped?",
            x.dtype(),
            target.dtype()
        );
    }
    Ok(())
}

/// `row` of the difference; if neither is recorded, `table` computes the same in one pass.
fn of_difference(
    op: &'static str,
    x: &Tensor,
    target: Operand<'_>,
    (table, p): (&'static binary::BinaryLoops, Scalars),
    row: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    if let Operand::Tensor(t) = target
        && t.dtype() == x.dtype()
        && x.dtype().is_float()
        && let Some(loss) = unrecorded_pass(op, &[x, t], Pass::Binary(table, p))
    {
        return loss;
    }
    row(&float_difference(x, target)?)
}

/// The losses times the weights of the elements, if given.
fn weighted(loss: Tensor, weight: Option<&Tensor>) -> Result<Tensor> {
    weight.map_or(Ok(loss.clone()), |w| multiply((&loss).into(), w.into()))
}

/// The squared difference of predictions and targets; `reduction` is 'mean', 'sum' or 'none'.
///
/// ```python
/// >>> fg.mse_loss(fg.tensor([1., 2.]), fg.tensor([1., 4.])).item()
/// 2.0
/// ```
#[op(function, torch(LaidByElements))]
pub fn mse_loss(x: &Tensor, target: Operand<'_>, #[default("mean")] reduction: &str) -> Result<Tensor> {
    let reduction = Reduction::parse("mse_loss", reduction)?;
    const TABLE: &binary::BinaryLoops = binary_loops!(plain x, y => x.sub(y).mul(x.sub(y)));
    stored_pass!(Binary "mse_loss" => TABLE);
    reduction.of(&of_difference("mse_loss", x, target, (TABLE, [0.0; 3]), square)?, None)
}

/// The absolute difference of predictions and targets; `reduction` is 'mean', 'sum' or 'none'.
///
/// ```python
/// >>> fg.l1_loss(fg.tensor([1., 2.]), fg.tensor([1., 4.])).item()
/// 1.0
/// ```
#[op(function, torch(LaidByElements))]
pub fn l1_loss(x: &Tensor, target: Operand<'_>, #[default("mean")] reduction: &str) -> Result<Tensor> {
    let reduction = Reduction::parse("l1_loss", reduction)?;
    if common(x.into(), target).is_complex() {
        return reduction.of(&abs(&subtract(x.into(), target)?)?, None);
    }
    const TABLE: &binary::BinaryLoops = binary_loops!(plain x, y => x.sub(y).abs());
    stored_pass!(Binary "l1_loss" => TABLE);
    reduction.of(&of_difference("l1_loss", x, target, (TABLE, [0.0; 3]), abs)?, None)
}

parametrised_rows! {
    /// `x² / 2` up to `p[0]`, and `p[0] (|x| - p[0] / 2)` beyond; divided by `p[1]`.
    Huber "huber": plain x; p => huber_number(x, p);
        pass g, x; p => g.mul(x.max(p[0].neg()).min(p[0]).div(p[1]));
        g => {
            let bound = |v| Tensor::scalar_of(x.dtype(), v);
            g * (at_most(&at_least(x, &bound(-p[0]))?, &bound(p[0]))? / p[1])
        };
}

#[inline(always)]
fn huber_number<T: Plain>(x: T, p: [T; 3]) -> T {
    let inner = x.max(p[0].neg()).min(p[0]);
    inner.mul(x.sub(inner.mul(T::lit(0.5)))).div(p[1])
}

/// The row of [`Huber`] with its numbers, of the difference.
fn huber(op: &'static str, x: &Tensor, target: Operand<'_>, p: Scalars) -> Result<Tensor> {
    const TABLE: &binary::BinaryLoops = binary_loops!(plain x, y; p => huber_number(x.sub(y), p));
    stored_pass!(Binary "huber_loss" => TABLE);
    stored_pass!(Binary "smooth_l1_loss" => TABLE);
    of_difference(op, x, target, (TABLE, p), |d| parametrised::<Huber>(d, p))
}

/// With d = x - target: d² / 2 where |d| is at most delta, beyond delta * (|d| - delta / 2).
///
/// ```python
/// >>> fg.huber_loss(fg.tensor([1., 2.]), fg.tensor([1., 4.])).item()
/// 0.75
/// ```
#[op(function, torch(LaidByElements))]
pub fn huber_loss(
    x: &Tensor,
    target: Operand<'_>,
    #[default("mean")] reduction: &str,
    #[default(1.0)] delta: f64,
) -> Result<Tensor> {
    let reduction = Reduction::parse("huber_loss", reduction)?;
    if delta.is_nan() || delta <= 0.0 {
        bail!(Argument, "huber_loss", "delta is positive, {delta} is not");
    }
    reduction.of(&huber("huber_loss", x, target, [delta, 1.0, 0.0])?, None)
}

/// With d = x - target: d² / (2 * beta) where |d| is at most beta, beyond |d| - beta / 2.
///
/// ```python
/// >>> fg.smooth_l1_loss(fg.tensor([1., 2.]), fg.tensor([1., 4.])).item()
/// 0.75
/// ```
#[op(function, torch(LaidByElements))]
pub fn smooth_l1_loss(
    x: &Tensor,
    target: Operand<'_>,
    #[default("mean")] reduction: &str,
    #[default(1.0)] beta: f64,
) -> Result<Tensor> {
    if beta == 0.0 {
        return l1_loss(x, target, reduction);
    }
    let reduction = Reduction::parse("smooth_l1_loss", reduction)?;
    if beta.is_nan() || beta < 0.0 {
        bail!(Argument, "smooth_l1_loss", "beta is not negative, {beta} is");
    }
    reduction.of(&huber("smooth_l1_loss", x, target, [beta, beta, 0.0])?, None)
}

/// The logarithm of a probability, which is -100 and flat from `e^-100` down.
fn bounded_log(p: &Tensor) -> Result<Tensor> {
    let number = |v| Tensor::scalar_of(p.dtype(), v);
    let lost = less_same(p, &number((-100.0f64).exp()))?;
    select(&lost, &number(-100.0), &log(&select(&lost, &number(1.0), p)?)?)
}

/// -(target * log(x) + (1 - target) * log(1 - x)) of probabilities, times the weight of each element.
/// Logarithms are at least -100, and flat there. The shapes broadcast.
///
/// ```python
/// >>> fg.binary_cross_entropy(fg.tensor([0.5]), fg.tensor([1.0])).item()
/// 0.6931471824645996
/// ```
#[op(function, torch(LaidByElements))]
pub fn binary_cross_entropy(
    x: &Tensor,
    target: &Tensor,
    #[default(None)] weight: Option<&Tensor>,
    #[default("mean")] reduction: &str,
) -> Result<Tensor> {
    let reduction = Reduction::parse("binary_cross_entropy", reduction)?;
    check_order("binary_cross_entropy", x, target)?;
    let (p, t) = promoted(Class::Float, x.into(), target.into())?;
    const REFUSAL: &str = "all elements of input should be between 0 and 1";
    check::all("binary_cross_entropy", &p, Test::Unit, REFUSAL)?;
    let no = 1.0 - &*t;
    let loss = -(multiply_same(&t, &bounded_log(&p)?)? + multiply_same(&no, &bounded_log(&(1.0 - &*p))?)?);
    reduction.of(&weighted(loss, weight)?, None)
}

binary_rows! {
    /// `y ln(1 + e^-x) + (1 - y) ln(1 + e^x)`: the larger one of `x` and 0 less `x y`, which is a share of `|x|`, and a
    /// tail. A share of 0 is 0, even of infinity.
    Logistic logistic "binary_cross_entropy_with_logits", real x, y => {
            let share = if x > T::ZERO { T::ONE.sub(y) } else { y };
            let tail = x.abs().neg().softplus();
            if share == T::ZERO { tail } else { share.mul(x.abs()).add(tail) }
        };
        [x, y] g => g * logistic_slope(x, y)?; [x] g => negated(g, x)?;
    /// Its derivative by `x`, `sigmoid(x) - y`, where nothing is taken from a sigmoid near 1.
    LogisticSlope logistic_slope "logistic_slope", real x, y => {
            let tail = x.abs().neg().sigmoid();
            if x > T::ZERO { T::ONE.sub(y).sub(tail) } else { tail.sub(y) }
        };
        [x] g => g * sigmoid_slope(x)?; [] g => -g;
}

/// `-(x * y)`.
fn negated(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    const TABLE: &binary::BinaryLoops = binary_loops!(plain x, y => x.mul(y).neg());
    stored_pass!(Binary "multiply" => TABLE);
    Ok(in_one_pass(("multiply", "multiply"), TABLE, x, y, [0.0; 3])?.unwrap_or_else(|| -(x * y)))
}

/// `binary_cross_entropy` of `sigmoid(x)`, accurate for large logits too; `pos_weight` multiplies the loss of
/// positive targets.
///
/// ```python
/// >>> fg.binary_cross_entropy_with_logits(fg.tensor([-1000.0]), fg.tensor([1.0])).item()
/// 1000.0
/// ```
#[op(function, torch(LaidByLastElements))]
pub fn binary_cross_entropy_with_logits(
    x: &Tensor,
    target: &Tensor,
    #[default(None)] weight: Option<&Tensor>,
    #[default("mean")] reduction: &str,
    #[default(None)] pos_weight: Option<&Tensor>,
) -> Result<Tensor> {
    let reduction = Reduction::parse("binary_cross_entropy_with_logits", reduction)?;
    check_order("binary_cross_entropy_with_logits", x, target)?;
    let (x, t) = promoted(Class::Float, x.into(), target.into())?;
    let Some(w) = pos_weight else {
        return reduction.of(&weighted(logistic(&x, &t)?, weight)?, None);
    };
    // Both terms are positive, so neither loses its digits to the other.
    let share = multiply(Operand::Tensor(&*promoted_float(w)?), Operand::Tensor(&t))?;
    let yes = multiply(Operand::Tensor(&share), Operand::Tensor(&softplus_one(&-&*x)?))?;
    let no = multiply_same(&(1.0 - &*t), &softplus_one(&x)?)?;
    let loss = add(Operand::Tensor(&no), Operand::Tensor(&yes))?;
    reduction.of(&weighted(loss, weight)?, None)
}

/// target * (log(target) - x) of log-probabilities x, 0 where the target is 0; with `log_target` the targets
/// are logarithms too. `reduction` is 'mean', 'sum', 'none' or 'batchmean' (the sum by the size of the first
/// axis).
///
/// ```python
/// >>> fg.kl_div(fg.tensor([0.0]), fg.tensor([1.0])).item()
/// 0.0
/// ```
#[op(function, torch(LaidByLastElements))]
pub fn kl_div(
    x: &Tensor,
    target: &Tensor,
    #[default("mean")] reduction: &str,
    #[default(false)] log_target: bool,
) -> Result<Tensor> {
    check_order("kl_div", x, target)?;
    let (x, t) = promoted(Class::Float, x.into(), target.into())?;
    let loss = if log_target {
        multiply_same(&exp(&t)?, &(&*t - &*x))?
    } else {
        // An outcome of probability zero costs nothing, also where x has none for it.
        let zero = Tensor::scalar_of(x.dtype(), 0.0);
        let none = logical_and((&equal((&*t).into(), (&zero).into())?).into(), (&isinf(&x)?).into())?;
        multiply_same(&t, &log_or_zero(&t)?)? - multiply_same(&t, &select(&none, &zero, &x)?)?
    };
    if reduction == "batchmean" {
        let batch = x.dims().first().copied().unwrap_or(1);
        return Ok(sum(&loss, None, false, None)? / batch as f64);
    }
    Reduction::parse("kl_div", reduction)?.of(&loss, None)
}
