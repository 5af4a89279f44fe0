//! Functions that ignore NaN. No gradient flows to an ignored element.

use super::sum::sum;
use crate::array::Array;
use crate::dtype::{DType, bf16, f16};
use crate::error::Result;
use crate::graph::Tensor;
use crate::ops::entry::{Axes, op};
use crate::ops::movement::parts::{from_parts, imag, real};
use crate::ops::pointwise::arithmetic::divide_same;
use crate::ops::pointwise::elementary::{isfinite, isnan};
use crate::ops::pointwise::parametrised::{parametrised, parametrised_rows};
use crate::ops::pointwise::select::{part, select};
use crate::ops::promote::promoted_inexact;

/// The elements, with a number in the place of those where a condition holds.
fn replaced(x: &Tensor, condition: &Tensor, by: f64) -> Result<Tensor> {
    select(condition, &Tensor::scalar_of(x.dtype(), by), x)
}

/// The sum over axes (all by default) of the elements that are not NaN.
///
/// ```python
/// >>> fg.nansum(fg.tensor([1.0, fg.nan, 2.0])).item()
/// 3.0
/// ```
#[op(method, paddle(AllAxes, SignedSums, TracksIntegers), torch(AllAxes, SignedSums))]
pub fn nansum(
    x: &Tensor,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
    #[default(None)] dtype: Option<DType>,
) -> Result<Tensor> {
    sum(
        &if x.dtype().is_differentiable() { replaced(x, &isnan(x)?, 0.0)? } else { x.clone() },
        axis,
        keepdims,
        dtype,
    )
}

/// The mean over axes (all by default) of the elements that are not NaN; NaN where all are.
///
/// ```python
/// >>> fg.nanmean(fg.tensor([1.0, fg.nan, 2.0])).item()
/// 1.5
/// ```
#[op(method, paddle(AllAxes), torch(AllAxes))]
pub fn nanmean(
    x: &Tensor,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
) -> Result<Tensor> {
    let x = promoted_inexact(x)?;
    let missing = isnan(&x)?;
    let ones = Tensor::constant(Array::full_of(x.dtype(), x.dims(), 1.0));
    let count = sum(&replaced(&ones, &missing, 0.0)?, axis, keepdims, None)?;
    divide_same(&sum(&replaced(&x, &missing, 0.0)?, axis, keepdims, None)?, &count)
}

/// The elements, with NaN and infinities replaced by numbers: `nan`, `posinf` and `neginf`, or 0 and for the
/// infinities the largest and the smallest number of the dtype. The gradient of a replaced element is 0.
///
/// ```python
/// >>> fg.nan_to_num(fg.tensor([1.0, fg.nan, fg.inf]), posinf=9.0).tolist()
/// [1.0, 0.0, 9.0]
/// ```
#[op(in_place, half)]
pub fn nan_to_num(
    x: &Tensor,
    #[default(None)] nan: Option<f64>,
    #[default(None)] posinf: Option<f64>,
    #[default(None)] neginf: Option<f64>,
) -> Result<Tensor> {
    if x.dtype().is_complex() {
        let part = |part: Tensor| nan_to_num(&part, nan, posinf, neginf);
        return from_parts(&part(real(x)?)?, &part(imag(x)?)?);
    }
    if !x.dtype().is_float() {
        return Ok(x.clone());
    }
    let largest = match x.dtype() {
        DType::F16 => f16::MAX.to_f64(),
        DType::BF16 => bf16::MAX.to_f64(),
        DType::F32 => f64::from(f32::MAX),
        _ => f64::MAX,
    };
    parametrised::<Numbered>(x, [nan.unwrap_or(0.0), posinf.unwrap_or(largest), neginf.unwrap_or(-largest)])
}

parametrised_rows! {
    /// `p[0]` for NaN, and the others for the infinities.
    Numbered "nan_to_num": plain x; p => {
            let y = if x.nan() { p[0] } else { x };
            let y = if x == T::INFINITY { p[1] } else { y };
            if x == T::INFINITY.neg() { p[2] } else { y }
        };
        pass g, x; p => if x.is_finite() { g } else { T::ZERO };
        g => part(&isfinite(x)?, true, g)?;
}
