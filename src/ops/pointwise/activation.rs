//! Element-wise activation functions. Each has its own derivative, which stays accurate for large arguments
//! where the textbook formula cancels or overflows.

use super::arithmetic::{divide_same, multiply_same};
use super::binary::binary_rows;
use super::compare::less_same;
use super::elementary::tanh;
use super::parametrised::{parametrised, parametrised_rows};
use super::select::{at_least, at_most, select};
use super::unary::{Unary, unary_ops, unary_rows, zero};
use crate::error::{Result, bail};
use crate::graph::{Saved, Saves, Tensor, apply};
use crate::kernel::num::Real;
use crate::kernel::pointwise::unary::UnaryLoops;
use crate::ops::entry::{Choice, op};
use crate::ops::movement::reshape_to;
use crate::ops::promote::{Class, promoted, promoted_float};
use crate::shape;

unary_ops! {
    Sigmoid sigmoid(expit): analytic [x] x => x.sigmoid();
        g => g * sigmoid_slope(x)?,
        pass real g, x => g.mul(x.sigmoid_slope());
        "The logistic function, 1 / (1 + exp(-x)).",
        "fg.sigmoid(fg.tensor([0.0])).tolist()" => "[0.5]";
    Relu relu: num [y] x => x.max(T::ZERO); g => gate(g, y)?;
        "The element where it is positive, else 0. Its derivative at 0 is 0.",
        "fg.relu(fg.tensor([-1.0, 2.0])).tolist()" => "[0.0, 2.0]";
    Silu silu(swish): real [x] x => x.mul(x.sigmoid());
        g => g * silu_slope(x)?,
        pass real g, x => g.mul(x.silu_slope());
        "x * sigmoid(x).",
        "fg.silu(fg.tensor([0.0])).tolist()" => "[0.0]";
}

/// The loops of the sigmoid.
pub(in crate::ops) const SIGMOID: &UnaryLoops = <sigmoid::Sigmoid as Unary>::TABLE;

unary_rows! {
    /// The derivative of the sigmoid.
    SigmoidSlope sigmoid_slope: analytic [x, y] x => x.sigmoid_slope(); g => -(g * (y * tanh(&(x * 0.5))?));
    /// The derivative of silu.
    SiluSlope silu_slope: real [x] x => x.silu_slope();
        g => g * (sigmoid_slope(x)? * (2.0 - x * tanh(&(x * 0.5))?));
    /// `ln(1 + e^x)`.
    Softplus softplus_one: real [x] x => x.softplus();
        g => g * sigmoid(x)?,
        pass real g, x => g.mul(x.sigmoid());
    /// The element times the standard normal distribution function.
    Gelu gelu_exact: real [x] x => x.gelu();
        g => g * gelu_slope(x)?,
        pass real g, x => g.mul(x.normal_cdf().add(x.mul(x.normal_density())));
    /// The derivative of gelu.
    GeluSlope gelu_slope: real [x] x => x.normal_cdf().add(x.mul(x.normal_density())); g => g * gelu_curve(x)?;
    /// The second derivative of gelu.
    GeluCurve gelu_curve: real [x] x => { let x = near(x); x.normal_density().mul(T::lit(2.0).sub(x.mul(x))) };
        g => { let x = &near_zero(x)?; -(g * (normal_density(x)? * x * (4.0 - x * x))) };
    /// The density of the standard normal distribution.
    NormalDensity normal_density: real [x, y] x => x.normal_density(); g => -(g * (x * y));
    /// The element times the sigmoid of `inside`, which equals `(1 + tanh u) / 2` and does not cancel for
    /// negative elements.
    GeluTanh gelu_tanh: real [x] x => x.mul(inside(x).sigmoid());
        g => g * gelu_tanh_slope(x)?,
        pass real g, x => {
            let x = near(x);
            g.mul(inside(x).sigmoid().add(x.mul(inside(x).sigmoid_slope()).mul(inside_slope(x))))
        };
    /// The derivative of [`gelu_tanh`].
    GeluTanhSlope gelu_tanh_slope: real [x] x => {
            let x = near(x);
            inside(x).sigmoid().add(x.mul(inside(x).sigmoid_slope()).mul(inside_slope(x)))
        };
        g => g * gelu_tanh_curve(x)?;
}

/// `sqrt(8 / pi)` and its product with the cubic term of the approximation of the distribution function by tanh.
const ROOT: f64 = 1.595_769_121_605_730_7;
const CUBIC: f64 = 0.044_715 * ROOT;

/// Beyond this number the derivatives of both kinds of gelu are 1 or 0 and do not change.
const FLAT: f64 = 40.0;

/// The number, or the nearest one up to [`FLAT`], whose powers do not overflow.
#[inline(always)]
fn near<T: Real>(x: T) -> T {
    x.max(T::lit(-FLAT)).min(T::lit(FLAT))
}

/// [`near`] of a tensor.
fn near_zero(x: &Tensor) -> Result<Tensor> {
    let number = |v| Tensor::scalar_of(x.dtype(), v);
    at_most(&at_least(x, &number(-FLAT))?, &number(FLAT))
}

/// The argument of the sigmoid, `sqrt(8 / pi) (x + 0.044715 x³)`, and its derivative.
#[inline(always)]
fn inside<T: Real>(x: T) -> T {
    x.mul(x.mul(x).mul(T::lit(CUBIC)).add(T::lit(ROOT)))
}

#[inline(always)]
fn inside_slope<T: Real>(x: T) -> T {
    x.mul(x).mul(T::lit(3.0 * CUBIC)).add(T::lit(ROOT))
}

/// The second derivative of [`gelu_tanh`]: `s (2 u' + x u'' - x u'² tanh(u / 2))` with the slope `s` of the sigmoid at `u`.
fn gelu_tanh_curve(x: &Tensor) -> Result<Tensor> {
    let x = &near_zero(x)?;
    let square = x * x;
    let (u, slope) = (x * (&square * CUBIC + ROOT), &square * (3.0 * CUBIC) + ROOT);
    let bend = 2.0 * &slope + &square * (6.0 * CUBIC) - x * &slope * &slope * tanh(&(&u * 0.5))?;
    Ok(sigmoid_slope(&u)? * bend)
}

binary_rows! {
    /// The first where the second is positive, else 0.
    Gate gate "gate", num x, y => if y > T::ZERO { x } else { T::ZERO };
        [y] g => gate(g, y)?; [] _g => zero();
    /// The first where it is positive, else its product with the second.
    LeakyRelu leaky_relu_same "leaky_relu", plain x, y => if x > T::ZERO { x } else { x.mul(y) };
        [x, y] g => select(&is_positive(x)?, g, &(g * y))?;
        [x] g => select(&is_positive(x)?, &Tensor::scalar_of(g.dtype(), 0.0), &(g * x))?;
}

parametrised_rows! {
    /// `x` where it is positive, else its product with `p[0]`.
    Leaky "leaky_relu": plain x; p => if x > T::ZERO { x } else { x.mul(p[0]) };
        pass g, x; p => if x > T::ZERO { g } else { g.mul(p[0]) };
        g => select(&is_positive(x)?, g, &(g * p[0]))?;
}

fn is_positive(x: &Tensor) -> Result<Tensor> {
    less_same(&Tensor::scalar_of(x.dtype(), 0.0), x)
}

/// The element where it is positive, else `negative_slope` times it (at 0 too).
///
/// ```python
/// >>> fg.leaky_relu(fg.tensor([-100.0, 2.0])).tolist()
/// [-1.0, 2.0]
/// ```
#[op(in_place, light)]
pub fn leaky_relu(x: &Tensor, #[default(0.01)] negative_slope: f64) -> Result<Tensor> {
    parametrised::<Leaky>(&*promoted_float(x)?, [negative_slope, 0.0, 0.0])
}

/// The element where it is positive, else `weight` times it. A weight of one axis has one number for each
/// channel (axis 1); any other broadcasts.
///
/// ```python
/// >>> fg.prelu(fg.tensor([-1.0, 2.0]), fg.tensor(0.5)).tolist()
/// [-0.5, 2.0]
/// ```
#[op(in_place, light)]
pub fn prelu(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let (x, weight) = promoted(Class::Real, x.into(), weight.into())?;
    if x.rank() == 0 && weight.dims() == [1] {
        return leaky_relu_same(&x, &reshape_to(&weight, &[])?);
    }
    if weight.rank() != 1 || x.rank() < 2 {
        return leaky_relu_same(&x, &weight);
    }
    let mut dims = shape::dims(weight.dims());
    dims.resize(x.rank() - 1, 1);
    leaky_relu_same(&x, &reshape_to(&weight, &dims)?)
}

/// log(1 + exp(beta * x)) / beta, without overflow. Where beta * x is above a threshold below 20 the result
/// is x itself; from 20 on the two agree to float32 precision and the formula is kept.
///
/// ```python
/// >>> fg.softplus(fg.tensor([-1000.0, 1000.0])).tolist()
/// [0.0, 1000.0]
/// ```
#[op(in_place)]
pub fn softplus(x: &Tensor, #[default(1.0)] beta: f64, #[default(20.0)] threshold: f64) -> Result<Tensor> {
    let x = promoted_float(x)?;
    let number = |v| Tensor::scalar_of(x.dtype(), v);
    if beta == 1.0 && threshold >= EXACT {
        return softplus_one(&x);
    }
    let scaled = multiply_same(&x, &number(beta))?;
    let soft = divide_same(&softplus_one(&scaled)?, &number(beta))?;
    if threshold >= EXACT {
        return Ok(soft);
    }
    select(&less_same(&number(threshold), &scaled)?, &x, &soft)
}

/// From this threshold on `softplus` uses the exact formula, which differs from `x` by less than a float32
/// can show.
const EXACT: f64 = 20.0;

/// x times the standard normal distribution function of x. With approximate='tanh' (or True) the distribution
/// function is approximated: 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x³))).
///
/// ```python
/// >>> fg.gelu(fg.tensor([0.0])).tolist()
/// [0.0]
/// ```
#[op(in_place)]
pub fn gelu(x: &Tensor, #[default("none")] approximate: Choice<'_>) -> Result<Tensor> {
    let x = promoted_float(x)?;
    match approximate {
        Choice::Bool(false) | Choice::Name("none") => gelu_exact(&x),
        Choice::Bool(true) | Choice::Name("tanh") => gelu_tanh(&x),
        Choice::Name(other) => {
            bail!(Argument, "gelu", "approximate argument must be either none or tanh, not '{other}'")
        }
    }
}
