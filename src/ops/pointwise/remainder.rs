//! What functions have left when their leading terms are taken off. Densities and divergences of distributions are made
//! of these, so that no large numbers cancel in them.

use super::arithmetic::x_over_y;
use super::binary::{binary_ops, binary_rows};
use super::parametrised::{parametrised, parametrised_rows};
use crate::error::{Result, bail};
use crate::graph::{Saved, Saves, Tensor, apply};
use crate::kernel::remainder;
use crate::ops::entry::{Operand, op};
use crate::ops::promote::{Class, alike, converted, promoted_float};

/// Families of functions by the order of a derivative: `Row function "name"`.
macro_rules! derivatives {
    ($($(#[$doc:meta])* $Row:ident $f:ident $name:literal;)*) => {
        parametrised_rows! { $(
            $(#[$doc])*
            $Row $name: special x; p => remainder::$f(p[0], x);
                pass g, x; p => g * remainder::$f(p[0] + 1.0, x);
                g => g * parametrised::<$Row>(x, [p[0] + 1.0, 0.0, 0.0])?;
        )* }
    };
}

derivatives! {
    /// `(ln(1 + x) - x) / x²`.
    Log1pRest log1p_rest "log1p_rest";
    /// `ln((e^x - 1) / x)`.
    LogExprel log_exprel "log_exprel";
    /// Binet's function.
    Binet binet "binet";
}

/// The order of a derivative as a number, if there is one.
fn order_of(name: &'static str, n: i64) -> Result<[f64; 3]> {
    if !(0..=100).contains(&n) {
        bail!(Argument, name, "the order n is between 0 and 100, not {n}");
    }
    Ok([n as f64, 0.0, 0.0])
}

/// (log(1 + x) - x) / x², which is -1/2 at 0, or its nth derivative. NaN below -1. Raises ArgumentError for an n below 0
/// or above 100.
///
/// ```python
/// >>> fg.log1p_rest(fg.tensor([0.0])).tolist()
/// [-0.5]
/// ```
#[op(function)]
pub fn log1p_rest(x: &Tensor, #[default(0)] n: i64) -> Result<Tensor> {
    parametrised::<Log1pRest>(&*promoted_float(x)?, order_of("log1p_rest", n)?)
}

/// log((exp(x) - 1) / x), which is 0 at 0, or its nth derivative. It does not overflow. Raises ArgumentError for an n
/// below 0 or above 100.
///
/// ```python
/// >>> fg.log_exprel(fg.tensor([0.0])).tolist()
/// [0.0]
/// ```
#[op(function)]
pub fn log_exprel(x: &Tensor, #[default(0)] n: i64) -> Result<Tensor> {
    parametrised::<LogExprel>(&*promoted_float(x)?, order_of("log_exprel", n)?)
}

/// Binet's function, lgamma(x) - ((x - 1/2) log(x) - x + log(2 pi) / 2), or its nth derivative. NaN below 0. Raises
/// ArgumentError for an n below 0 or above 100.
///
/// ```python
/// >>> round(fg.binet(fg.tensor([1.0])).item(), 6)
/// 0.081061
/// ```
#[op(function)]
pub fn binet(x: &Tensor, #[default(0)] n: i64) -> Result<Tensor> {
    parametrised::<Binet>(&*promoted_float(x)?, order_of("binet", n)?)
}

binary_ops! {
    Deviance deviance, deviance_same: special x, y => remainder::deviance(x, y);
        [x, y] g => g * log_ratio(x, y)?; [x, y] g => g * deviance_slope(x, y)?;
        "x log(x / y) - x + y of numbers that are not negative: y where x is 0, 0 where both are equal, and inf where only \
        y is 0.",
        "fg.deviance(fg.tensor([0.0, 1.0]), fg.tensor([2.0, 1.0])).tolist()" => "[2.0, 0.0]";
}

binary_rows! {
    /// The derivative of the deviance by `x`, `ln(x / y)`.
    LogRatio log_ratio "log_ratio", special x, y => remainder::log_ratio(x, y);
        [x] g => g / x; [y] g => -(g / y);
    /// The derivative of the deviance by `y`, `1 - x / y`, which is 1 where `x` is 0.
    DevianceSlope deviance_slope "deviance_slope",
        plain x, y => if x == T::ZERO { T::ONE } else { y.sub(x).div(y) };
        [y] g => -(g / y); [x, y] g => g * x_over_y(&x_over_y(x, y)?, y)?;
}
