//! ReLU and its relatives. No gradient flows to the branch that was not taken, and that branch never
//! evaluates the exponential of a large number.

use super::activation::{sigmoid, softplus_one};
use super::arithmetic::{divide, multiply_same};
use super::compare::{less_equal_same, less_same};
use super::elementary::{abs, exp, reciprocal, square, tanh};
use super::parametrised::{parametrised, parametrised_rows};
use super::select::select;
use super::unary::unary_ops;
use crate::error::{Result, bail};
use crate::graph::{Saved, Saves, Tensor, apply};
use crate::ops::entry::op;
use crate::ops::index::narrow;
use crate::ops::promote::promoted_float;
use crate::shape;

unary_ops! {
    LogSigmoid log_sigmoid(logsigmoid) {torch(LaidInCOrder)}: real [x] x => x.neg().softplus().neg();
        g => g * sigmoid(&-x)?,
        pass real g, x => g.mul(x.neg().sigmoid());
        "log(sigmoid(x)), without underflow.",
        "fg.log_sigmoid(fg.tensor([-1000.0])).tolist()" => "[-1000.0]";
    Softsign softsign: plain [x] x => x.div(x.abs().add(T::ONE));
        g => g * square(&reciprocal(&(abs(x)? + 1.0))?)?,
        pass plain g, x => { let y = T::ONE.div(x.abs().add(T::ONE)); g.mul(y.mul(y)) },
        complex x => divide(x.into(), (&(abs(x)? + 1.0)).into());
        "x / (1 + |x|).",
        "fg.softsign(fg.tensor([1.0, -3.0])).tolist()" => "[0.5, -0.75]";
    Tanhshrink tanhshrink: analytic [x] x => x.tanhshrink();
        g => g * square(&tanh(x)?)?,
        pass real g, x => g.mul(x.tanh().mul(x.tanh()));
        "x - tanh(x).",
        "fg.tanhshrink(fg.tensor([0.0])).tolist()" => "[0.0]";
}

parametrised_rows! {
    /// Clipped to `p[0]` and `p[1]`, with slope 0 at both.
    Ramp "hardtanh": plain x; p => if x <= p[0] { p[0] } else if p[1] <= x { p[1] } else { x };
        pass g, x; p => if x <= p[0] || p[1] <= x { T::ZERO } else { g };
        g => zero_where(&[less_equal_same(x, &number(x, p[0]))?, less_equal_same(&number(x, p[1]), x)?], g)?;
    /// `p[0] x + p[1]`, clipped to 0 and 1.
    HardSigmoid "hardsigmoid": plain x; p => x.mul(p[0]).add(p[1]).max(T::ZERO).min(T::ONE);
        pass g, x; p => {
            let y = x.mul(p[0]).add(p[1]);
            if y <= T::ZERO || T::ONE <= y { T::ZERO } else { g.mul(p[0]) }
        };
        g => {
            let y = x * p[0] + p[1];
            let flat = [less_equal_same(&y, &number(x, 0.0))?, less_equal_same(&number(x, 1.0), &y)?];
            zero_where(&flat, &(g * p[0]))?
        };
    /// `x relu6(x + 3) / 6`.
    HardSwish "hardswish": plain x; p => {
            let y = x.add(T::lit(3.0)).max(T::ZERO).min(T::lit(6.0));
            y.mul(x).div(T::lit(6.0))
        };
        pass g, x; p => {
            let y = x.add(T::lit(3.0));
            let middle = g.mul(x.add(y)).div(T::lit(6.0));
            if y <= T::ZERO { T::ZERO } else if T::lit(6.0) <= y { g } else { middle }
        };
        g => {
            let y = x + 3.0;
            let middle = g * (x + &y) / 6.0;
            let right = select(&less_equal_same(&number(x, 6.0), &y)?, g, &middle)?;
            zero_where(&[less_equal_same(&y, &number(x, 0.0))?], &right)?
        };
    /// `p[2] x` where it is positive, else `p[0] (e^(x / p[1]) - 1)`.
    Exponential "elu": real x; p => {
            let negative = x.div(p[1]).exp_m1().mul(p[0]);
            if x > T::ZERO { x.mul(p[2]) } else { negative }
        };
        pass g, x; p => {
            let negative = g.mul(x.div(p[1]).exp().mul(p[0].div(p[1])));
            if x > T::ZERO { g.mul(p[2]) } else { negative }
        };
        g => {
            let zero = number(x, 0.0);
            let positive = less_same(&zero, x)?;
            // The exponential of a large number is never evaluated, nor are its derivatives.
            let slope = exp(&(select(&positive, &zero, x)? / p[1]))? * (p[0] / p[1]);
            select(&positive, &(g * p[2]), &(g * slope))?
        };
    /// `x` moved by `p[0]` towards 0.
    SoftShrink "softshrink": plain x; p => x.sub(if x < p[0].neg() { p[0].neg() } else if x > p[0] { p[0] } else { x });
        pass g, x; p => if x < p[0].neg() || x > p[0] { g } else { T::ZERO };
        g => zero_where(&[less_equal_same(&abs(x)?, &number(x, p[0]))?], g)?;
    /// `x`, or 0 up to a magnitude of `p[0]`.
    HardShrink "hardshrink": plain x; p => if x.abs() <= p[0] { T::ZERO } else { x };
        pass g, x; p => if x.abs() <= p[0] { T::ZERO } else { g };
        g => zero_where(&[less_equal_same(&abs(x)?, &number(x, p[0]))?], g)?;
    /// `x` above `p[0]`, else `p[1]`.
    Threshold "threshold": plain x; p => if x <= p[0] { p[1] } else { x };
        pass g, x; p => if x <= p[0] { T::ZERO } else { g };
        g => zero_where(&[less_equal_same(x, &number(x, p[0]))?], g)?;
}

fn number(x: &Tensor, value: f64) -> Tensor {
    Tensor::scalar_of(x.dtype(), value)
}

/// `g`, and 0 where one of the conditions holds.
fn zero_where(conditions: &[Tensor], g: &Tensor) -> Result<Tensor> {
    conditions.iter().try_fold(g.clone(), |g, c| select(c, &number(&g, 0.0), &g))
}

/// The element where it is positive, else alpha * (exp(x) - 1).
///
/// ```python
/// >>> fg.elu(fg.tensor([0.0, 2.0])).tolist()
/// [0.0, 2.0]
/// ```
#[op(in_place)]
pub fn elu(x: &Tensor, #[default(1.0)] alpha: f64) -> Result<Tensor> {
    parametrised::<Exponential>(&*promoted_float(x)?, [alpha, 1.0, 1.0])
}

/// The element where it is positive, else alpha * (exp(x / alpha) - 1).
///
/// ```python
/// >>> fg.celu(fg.tensor([0.0, 2.0])).tolist()
/// [0.0, 2.0]
/// ```
#[op(in_place)]
pub fn celu(x: &Tensor, #[default(1.0)] alpha: f64) -> Result<Tensor> {
    if alpha == 0.0 {
        bail!(Argument, "celu", "alpha cannot be 0");
    }
    parametrised::<Exponential>(&*promoted_float(x)?, [alpha, alpha, 1.0])
}

/// scale * elu(x, alpha), with the constants that keep mean 0 and variance 1.
///
/// ```python
/// >>> fg.selu(fg.tensor([0.0])).tolist()
/// [0.0]
/// ```
#[op(in_place)]
pub fn selu(
    x: &Tensor,
    #[default(1.0507009873554805)] scale: f64,
    #[default(1.6732632423543772)] alpha: f64,
) -> Result<Tensor> {
    parametrised::<Exponential>(&*promoted_float(x)?, [scale * alpha, 1.0, scale])
}

/// The elements kept between two bounds. Unlike that of `clip` its derivative at the bounds is 0.
///
/// ```python
/// >>> fg.hardtanh(fg.tensor([-2.0, 0.5])).tolist()
/// [-1.0, 0.5]
/// ```
#[op(in_place, light)]
pub fn hardtanh(x: &Tensor, #[default(-1.0)] min: f64, #[default(1.0)] max: f64) -> Result<Tensor> {
    if min > max {
        bail!(Argument, "hardtanh", "min_val cannot be greater than max_val, as {min} is than {max}");
    }
    parametrised::<Ramp>(&*promoted_float(x)?, [min, max, 0.0])
}

/// The elements kept between 0 and 6; the derivative at both is 0.
///
/// ```python
/// >>> fg.relu6(fg.tensor([-1.0, 2.0, 8.0])).tolist()
/// [0.0, 2.0, 6.0]
/// ```
#[op(in_place, light)]
pub fn relu6(x: &Tensor) -> Result<Tensor> {
    parametrised::<Ramp>(&*promoted_float(x)?, [0.0, 6.0, 0.0])
}

/// slope * x + offset, kept between 0 and 1.
///
/// ```python
/// >>> fg.hardsigmoid(fg.tensor([-4.0, 0.0])).tolist()
/// [0.0, 0.5]
/// ```
#[op(in_place, light)]
pub fn hardsigmoid(
    x: &Tensor,
    #[default(1.0 / 6.0)] slope: f64,
    #[default(0.5)] offset: f64,
) -> Result<Tensor> {
    parametrised::<HardSigmoid>(&*promoted_float(x)?, [slope, offset, 0.0])
}

/// x * relu6(x + 3) / 6.
///
/// ```python
/// >>> fg.hardswish(fg.tensor([0.0, 3.0])).tolist()
/// [0.0, 3.0]
/// ```
#[op(in_place, light)]
pub fn hardswish(x: &Tensor) -> Result<Tensor> {
    parametrised::<HardSwish>(&*promoted_float(x)?, [0.0; 3])
}

/// x * tanh(log(1 + exp(x))).
///
/// ```python
/// >>> fg.mish(fg.tensor([0.0])).tolist()
/// [0.0]
/// ```
#[op(in_place)]
pub fn mish(x: &Tensor) -> Result<Tensor> {
    let x = &*promoted_float(x)?;
    multiply_same(x, &tanh(&softplus_one(x)?)?)
}

/// The element moved by the threshold towards 0; what lies nearer than the threshold is 0.
///
/// ```python
/// >>> fg.softshrink(fg.tensor([-2.0, 0.25])).tolist()
/// [-1.5, 0.0]
/// ```
#[op(in_place, light)]
pub fn softshrink(x: &Tensor, #[default(0.5)] threshold: f64) -> Result<Tensor> {
    if threshold < 0.0 {
        bail!(Argument, "softshrink", "lambda must be greater or equal to 0, but found to be {threshold:?}");
    }
    parametrised::<SoftShrink>(&*promoted_float(x)?, [threshold, 0.0, 0.0])
}

/// The element, or 0 where its magnitude is not above the threshold.
///
/// ```python
/// >>> fg.hardshrink(fg.tensor([-2.0, 0.25])).tolist()
/// [-2.0, 0.0]
/// ```
#[op(in_place, light)]
pub fn hardshrink(x: &Tensor, #[default(0.5)] threshold: f64) -> Result<Tensor> {
    parametrised::<HardShrink>(&*promoted_float(x)?, [threshold, 0.0, 0.0])
}

/// The element where it is above the threshold, else a value.
///
/// ```python
/// >>> fg.thresholded_relu(fg.tensor([0.5, 2.0])).tolist()
/// [0.0, 2.0]
/// ```
#[op(in_place, names("thresholded_relu", "threshold"), light)]
pub fn thresholded_relu(
    x: &Tensor,
    #[default(1.0)] threshold: f64,
    #[default(0.0)] value: f64,
) -> Result<Tensor> {
    parametrised::<Threshold>(&*promoted_float(x)?, [threshold, value, 0.0])
}

/// The first half of an axis, whose size is even, times the sigmoid of the second half.
///
/// ```python
/// >>> fg.glu(fg.tensor([4.0, 0.0])).tolist()
/// [2.0]
/// ```
#[op(function, torch(LaidAsImages))]
pub fn glu(x: &Tensor, #[default(-1)] axis: i64) -> Result<Tensor> {
    let x = &*promoted_float(x)?;
    let at = shape::axis("glu", axis, x.rank())?;
    let size = x.dims()[at] as i64;
    if size % 2 != 0 {
        bail!(Shape, "glu", "axis {axis} of {:?} has size {size}, which cannot be halved", x.dims());
    }
    let half = |start| narrow(x, axis, start, size / 2);
    multiply_same(&half(0)?, &sigmoid(&half(size / 2)?)?)
}
