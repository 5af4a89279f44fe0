//! Activations with bends and their smooth relatives. What lies on the far side of a bend never gets a gradient, and the
//! exponential of a large number is never taken for it.

use super::activation::{sigmoid, softplus_one};
use super::arithmetic::multiply_same;
use super::compare::{less_equal_same, less_same};
use super::entry::{Entry, entry};
use super::index::narrow;
use super::pointwise::{abs, expm1, reciprocal, square, tanh, unary};
use super::promote::promoted_float;
use super::select::{at_least, at_most, select};
use crate::error::{Result, bail};
use crate::graph::{Keeps, Saved, Tensor, apply};
use crate::shape;

unary! {
    Softsign softsign: real [x] x => x.div(x.abs().add(T::ONE)); g => g * square(&reciprocal(&(abs(x)? + 1.0))?)?;
        "x / (1 + |x|).",
        "fg.softsign(fg.tensor([1.0, -3.0])).tolist()" => "[0.5, -0.75]";
    Tanhshrink tanhshrink: real [x] x => x.sub(x.tanh()); g => g * square(&tanh(x)?)?;
        "x - tanh(x).",
        "fg.tanhshrink(fg.tensor([0.0])).tolist()" => "[0.0]";
}

fn number(x: &Tensor, value: f64) -> Tensor {
    Tensor::scalar_of(x.dtype(), value)
}

/// `x` between two bounds, of which neither has a slope.
fn ramp(x: &Tensor, min: f64, max: f64) -> Result<Tensor> {
    let (min, max) = (number(x, min), number(x, max));
    let below_max = select(&less_equal_same(&max, x)?, &max, x)?;
    select(&less_equal_same(x, &min)?, &min, &below_max)
}

/// `x` where it is positive, else `scale (e^(x / width) - 1)`.
fn exponential(x: &Tensor, scale: f64, width: f64) -> Result<Tensor> {
    let zero = number(x, 0.0);
    let positive = less_same(&zero, x)?;
    let negative = select(&positive, &zero, x)?;
    let negative = if width == 1.0 { negative } else { negative / width };
    select(&positive, x, &(expm1(&negative)? * scale))
}

/// `x` where it is positive, else `alpha (e^x - 1)`.
pub fn elu(x: &Tensor, alpha: f64) -> Result<Tensor> {
    exponential(&*promoted_float(x)?, alpha, 1.0)
}

/// `x` where it is positive, else `alpha (e^(x / alpha) - 1)`, whose slope at 0 is 1 too.
pub fn celu(x: &Tensor, alpha: f64) -> Result<Tensor> {
    if alpha == 0.0 {
        bail!(Argument, "celu", "alpha cannot be 0");
    }
    exponential(&*promoted_float(x)?, alpha, alpha)
}

/// `scale` times [`elu`].
pub fn selu(x: &Tensor, scale: f64, alpha: f64) -> Result<Tensor> {
    Ok(elu(x, alpha)? * scale)
}

/// `x` kept between two bounds, with slope 0 at both.
pub fn hardtanh(x: &Tensor, min: f64, max: f64) -> Result<Tensor> {
    if min > max {
        bail!(Argument, "hardtanh", "min {min} is above max {max}");
    }
    ramp(&*promoted_float(x)?, min, max)
}

/// `x` kept between 0 and 6.
pub fn relu6(x: &Tensor) -> Result<Tensor> {
    ramp(&*promoted_float(x)?, 0.0, 6.0)
}

/// `slope x + offset` kept between 0 and 1.
pub fn hardsigmoid(x: &Tensor, slope: f64, offset: f64) -> Result<Tensor> {
    ramp(&(&*promoted_float(x)? * slope + offset), 0.0, 1.0)
}

/// `x relu6(x + 3) / 6`.
pub fn hardswish(x: &Tensor) -> Result<Tensor> {
    let x = &*promoted_float(x)?;
    Ok(ramp(&(x + 3.0), 0.0, 6.0)? * x / 6.0)
}

/// `x tanh(ln(1 + e^x))`.
pub fn mish(x: &Tensor) -> Result<Tensor> {
    let x = &*promoted_float(x)?;
    multiply_same(x, &tanh(&softplus_one(x)?)?)
}

/// `ln(sigmoid(x))`, without underflow.
pub fn log_sigmoid(x: &Tensor) -> Result<Tensor> {
    Ok(-softplus_one(&-&*promoted_float(x)?)?)
}

/// `x` moved by `threshold` towards 0, where all that is nearer ends.
pub fn softshrink(x: &Tensor, threshold: f64) -> Result<Tensor> {
    if threshold < 0.0 {
        bail!(Argument, "softshrink", "threshold is not negative, {threshold} is");
    }
    let x = &*promoted_float(x)?;
    Ok(x - at_most(&at_least(x, &number(x, -threshold))?, &number(x, threshold))?)
}

/// `x`, and 0 where its magnitude is not above `threshold`.
pub fn hardshrink(x: &Tensor, threshold: f64) -> Result<Tensor> {
    let x = &*promoted_float(x)?;
    select(&less_equal_same(&abs(x)?, &number(x, threshold))?, &number(x, 0.0), x)
}

/// `x` where it is above `threshold`, else `value`.
pub fn thresholded_relu(x: &Tensor, threshold: f64, value: f64) -> Result<Tensor> {
    let x = &*promoted_float(x)?;
    select(&less_equal_same(x, &number(x, threshold))?, &number(x, value), x)
}

/// The first half of an axis times the sigmoid of the second.
pub fn glu(x: &Tensor, axis: i64) -> Result<Tensor> {
    let x = &*promoted_float(x)?;
    let at = shape::axis("glu", axis, x.rank())?;
    let size = x.dims()[at] as i64;
    if size % 2 != 0 {
        bail!(Shape, "glu", "axis {axis} of {:?} has size {size}, which cannot be halved", x.dims());
    }
    let half = |start| narrow(x, axis, start, size / 2);
    multiply_same(&half(0)?, &sigmoid(&half(size / 2)?)?)
}

pub(crate) const ENTRIES: &[Entry] = &[
    entry!(twin ["elu"] elu (x: &Tensor, alpha: f64 = Float(1.0))
        "The element where it is positive, else alpha * (exp(x) - 1).\n\n\
        >>> fg.elu(fg.tensor([0.0, 2.0])).tolist()\n[0.0, 2.0]"),
    entry!(twin ["celu"] celu (x: &Tensor, alpha: f64 = Float(1.0))
        "The element where it is positive, else alpha * (exp(x / alpha) - 1).\n\n\
        >>> fg.celu(fg.tensor([0.0, 2.0])).tolist()\n[0.0, 2.0]"),
    entry!(twin ["selu"] selu (x: &Tensor, scale: f64 = Float(1.0507009873554805), alpha: f64 = Float(1.6732632423543772))
        "scale * elu(x, alpha), with the constants that keep mean 0 and variance 1.\n\n\
        >>> fg.selu(fg.tensor([0.0])).tolist()\n[0.0]"),
    entry!(twin ["hardtanh"] hardtanh (x: &Tensor, min: f64 = Float(-1.0), max: f64 = Float(1.0))
        "The elements kept between two bounds. Unlike that of `clip` its derivative at the bounds is 0.\n\n\
        >>> fg.hardtanh(fg.tensor([-2.0, 0.5])).tolist()\n[-1.0, 0.5]"),
    entry!(twin ["relu6"] relu6 (x: &Tensor)
        "The elements kept between 0 and 6; the derivative at both is 0.\n\n\
        >>> fg.relu6(fg.tensor([-1.0, 2.0, 8.0])).tolist()\n[0.0, 2.0, 6.0]"),
    entry!(twin ["hardsigmoid"] hardsigmoid (x: &Tensor, slope: f64 = Float(1.0 / 6.0), offset: f64 = Float(0.5))
        "slope * x + offset, kept between 0 and 1.\n\n\
        >>> fg.hardsigmoid(fg.tensor([-4.0, 0.0])).tolist()\n[0.0, 0.5]"),
    entry!(twin ["hardswish"] hardswish (x: &Tensor)
        "x * relu6(x + 3) / 6.\n\n\
        >>> fg.hardswish(fg.tensor([0.0, 3.0])).tolist()\n[0.0, 3.0]"),
    entry!(twin ["mish"] mish (x: &Tensor)
        "x * tanh(log(1 + exp(x))).\n\n\
        >>> fg.mish(fg.tensor([0.0])).tolist()\n[0.0]"),
    entry!(twin ["log_sigmoid", "logsigmoid"] log_sigmoid (x: &Tensor)
        "log(sigmoid(x)), without underflow.\n\n\
        >>> fg.log_sigmoid(fg.tensor([-1000.0])).tolist()\n[-1000.0]"),
    entry!(twin ["softshrink"] softshrink (x: &Tensor, threshold: f64 = Float(0.5))
        "The element moved by the threshold towards 0; what lies nearer than the threshold is 0.\n\n\
        >>> fg.softshrink(fg.tensor([-2.0, 0.25])).tolist()\n[-1.5, 0.0]"),
    entry!(twin ["hardshrink"] hardshrink (x: &Tensor, threshold: f64 = Float(0.5))
        "The element, or 0 where its magnitude is not above the threshold.\n\n\
        >>> fg.hardshrink(fg.tensor([-2.0, 0.25])).tolist()\n[-2.0, 0.0]"),
    entry!(twin ["thresholded_relu", "threshold"] thresholded_relu (x: &Tensor, threshold: f64 = Float(1.0), value: f64 = Float(0.0))
        "The element where it is above the threshold, else a value.\n\n\
        >>> fg.thresholded_relu(fg.tensor([0.5, 2.0])).tolist()\n[0.0, 2.0]"),
    entry!(function ["glu"] glu (x: &Tensor, axis: i64 = Int(-1))
        "The first half of an axis, whose size is even, times the sigmoid of the second half.\n\n\
        >>> fg.glu(fg.tensor([4.0, 0.0])).tolist()\n[2.0]"),
];
