//! Whether two tensors are equal up to a tolerance.

use super::arithmetic::{add_same, multiply_same, subtract_same};
use super::compare::{and_same, equal_same, less_equal_same, not_equal_same, or_same};
use super::elementary::{abs, isfinite};
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::ops::check::all_hold;
use crate::ops::entry::{Operand, op};
use crate::ops::movement::cast;
use crate::ops::promote::{Class, promoted};

/// Whether |x - y| <= atol + rtol * |y|, element by element. Infinities are close to themselves only, NaN to nothing,
/// or to NaN with `equal_nan`.
///
/// ```python
/// >>> fg.isclose(fg.tensor([1.0]), 1.000001).tolist()
/// [True]
/// ```
#[op(method, torch(LaidByElements))]
pub fn isclose(
    x: &Tensor,
    y: Operand<'_>,
    #[default(1e-5)] rtol: f64,
    #[default(1e-8)] atol: f64,
    #[default(false)] equal_nan: bool,
) -> Result<Tensor> {
    for (name, tolerance) in [("rtol", rtol), ("atol", atol)] {
        if tolerance.is_nan() || tolerance < 0.0 {
            bail!(Argument, "isclose", "{name} must be greater than or equal to zero, but got {tolerance}");
        }
    }
    let (x, y) = promoted(Class::Num, x.into(), y)?;
    let wide = |t: &Tensor| {
        if t.dtype().is_differentiable() { Ok(t.detach()) } else { cast(&t.detach(), DType::F64) }
    };
    let (x, y) = (wide(&x)?, wide(&y)?);
    let number = |v| Tensor::scalar_of(x.dtype().real(), v);
    let bound = add_same(&multiply_same(&abs(&y)?, &number(rtol))?, &number(atol))?;
    let within = less_equal_same(&abs(&subtract_same(&x, &y)?)?, &bound)?;
    // An infinite tolerance accepts everything, so infinities need a test of their own.
    let near = or_same(&and_same(&within, &isfinite(&y)?)?, &equal_same(&x, &y)?)?;
    if !equal_nan {
        return Ok(near);
    }
    or_same(&near, &and_same(&not_equal_same(&x, &x)?, &not_equal_same(&y, &y)?)?)
}

/// Whether `isclose` holds for every element, as a Python bool.
///
/// ```python
/// >>> fg.allclose(fg.tensor([1.0]), 1.000001)
/// True
/// ```
#[op(method)]
pub fn allclose(
    x: &Tensor,
    y: Operand<'_>,
    #[default(1e-5)] rtol: f64,
    #[default(1e-8)] atol: f64,
    #[default(false)] equal_nan: bool,
) -> Result<bool> {
    let close = isclose(x, y, rtol, atol, equal_nan)?;
    if !close.levels.is_empty() {
        bail!(
            Argument,
            "allclose",
            "inside vmap each element of the batch has its own answer: take isclose(...) and all()"
        );
    }
    all_hold(&close)
}
