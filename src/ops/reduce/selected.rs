//! Reductions of the elements that a condition selects. Without one they are the functions of the same name.

use super::fold::Folded;
use super::logic::{all, any};
use super::moments::{std, var};
use super::norm::euclidean;
use super::product::prod;
use super::sum::{mean, sum};
use crate::array::Item;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::ops::entry::{Axes, Operand, op};
use crate::ops::movement::{broadcast_to, cast, conj, real};
use crate::ops::pointwise::arithmetic::divide_same;
use crate::ops::pointwise::elementary::sqrt;
use crate::ops::pointwise::select::{at_least, where_};
use crate::ops::promote::promoted_inexact;
use crate::shape;

/// The elements of `x` that `selected` selects, and `neutral` in the place of the others; `x` itself without a condition.
fn kept(op: &'static str, x: &Tensor, selected: Option<&Tensor>, neutral: i128) -> Result<Tensor> {
    let Some(selected) = selected else { return Ok(x.clone()) };
    check_condition(op, selected)?;
    match x.dtype() {
        DType::Bool => where_(selected, x.into(), Operand::Number(Item::Bool(neutral != 0))),
        _ => where_(selected, x.into(), Operand::Number(Item::Int(neutral))),
    }
}

fn check_condition(op: &'static str, selected: &Tensor) -> Result<()> {
    match selected.dtype() {
        DType::Bool => Ok(()),
        other => bail!(Dtype, op, "where is a tensor of truth values (bool), not of {other}"),
    }
}

/// The sum over axes, or over all of them. Truth values and integers are summed in 64 bits. With `where`, a tensor of truth
/// values, it is the sum of the elements that it selects; 0 of none.
///
/// ```python
/// >>> fg.sum(fg.tensor([[1., 2.], [3., 4.]]), axis=0).tolist()
/// [4.0, 6.0]
/// >>> x = fg.tensor([1., 2., 4.])
/// >>> fg.sum(x, where=x > 1).item()
/// 6.0
/// ```
#[op(
    method,
    names("sum"),
    reads_lent,
    light,
    row,
    paddle(AllAxes, SignedSums, TracksIntegers),
    torch(AllAxes, SignedSums)
)]
pub fn sum_where(
    x: &Tensor,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
    #[default(None)] dtype: Option<DType>,
    #[default(None)] r#where: Option<&Tensor>,
) -> Result<Tensor> {
    match r#where {
        None => sum(x, axis, keepdims, dtype),
        _ => sum(&kept("sum", x, r#where, 0)?, axis, keepdims, dtype),
    }
}

/// The product over axes (all by default); 1 of none. Truth values and integers are multiplied in 64 bits.
/// The gradient is the product of the other elements, exact with zeros. `where`, a tensor of truth values, selects
/// elements.
///
/// ```python
/// >>> fg.prod(fg.tensor([2., 3., 4.])).item()
/// 24.0
/// ```
#[op(method, names("prod"), light, paddle(AllAxes, SignedSums, TracksIntegers), torch(NeedsAxes, SignedSums))]
pub fn prod_where(
    x: &Tensor,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
    #[default(None)] dtype: Option<DType>,
    #[default(None)] r#where: Option<&Tensor>,
) -> Result<Tensor> {
    prod(&kept("prod", x, r#where, 1)?, axis, keepdims, dtype)
}

/// Whether any element over axes (all by default) is not zero; False of none. `where`, a tensor of truth values, selects
/// elements.
///
/// ```python
/// >>> fg.any(fg.tensor([0., 2.])).item()
/// True
/// ```
#[op(method, names("any"), light, paddle(AllAxes), torch(ByteTest))]
pub fn any_where(
    x: &Tensor,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
    #[default(None)] r#where: Option<&Tensor>,
) -> Result<Tensor> {
    any(&kept("any", x, r#where, 0)?, axis, keepdims)
}

/// Whether every element over axes (all by default) is not zero; True of none. `where`, a tensor of truth values,
/// selects elements.
///
/// ```python
/// >>> fg.all(fg.tensor([0., 2.])).item()
/// False
/// ```
#[op(method, names("all"), light, paddle(AllAxes), torch(ByteTest))]
pub fn all_where(
    x: &Tensor,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
    #[default(None)] r#where: Option<&Tensor>,
) -> Result<Tensor> {
    all(&kept("all", x, r#where, 1)?, axis, keepdims)
}

/// The mean over axes (all by default), a float or a complex number, computed in `dtype` if it is given. NaN where there
/// is nothing to take it of. `where`, a tensor of truth values, selects elements.
///
/// Raises DtypeError where `dtype` is neither float nor complex.
///
/// ```python
/// >>> fg.mean(fg.tensor([[1., 2.], [3., 4.]]), axis=1).tolist()
/// [1.5, 3.5]
/// ```
#[op(method, names("mean"), reads_lent, light, paddle(AllAxes, WholeMean), torch(AllAxes))]
pub fn mean_where(
    x: &Tensor,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
    #[default(None)] dtype: Option<DType>,
    #[default(None)] r#where: Option<&Tensor>,
) -> Result<Tensor> {
    let Some(selected) = r#where else { return mean(x, axis, keepdims, dtype) };
    // This refuses a dtype of integers.
    let of_none = || mean(&Tensor::scalar_of(x.dtype(), 0.0), None, false, dtype);
    let x = cast(x, of_none()?.dtype())?;
    selected_mean("mean", &x, selected, axis, keepdims)
}

fn selected_mean(
    op: &'static str,
    x: &Tensor,
    selected: &Tensor,
    axis: Axes<'_>,
    keepdims: bool,
) -> Result<Tensor> {
    let x = kept(op, x, Some(selected), 0)?;
    let total = sum(&x, axis, keepdims, None)?;
    divide_same(&total, &count(&x, selected, axis, keepdims, x.dtype())?)
}

/// How many elements of `x` the condition selects over axes, in a dtype.
fn count(x: &Tensor, selected: &Tensor, axis: Axes<'_>, keepdims: bool, dtype: DType) -> Result<Tensor> {
    cast(&sum(&broadcast_to(selected, x.dims())?, axis, keepdims, None)?, dtype)
}

/// The deviations of the selected elements from their mean, which are 0 elsewhere, and the divisor.
fn deviations(
    op: &'static str,
    x: &Tensor,
    selected: &Tensor,
    axis: Axes<'_>,
    correction: f64,
    keepdims: bool,
) -> Result<(Tensor, Tensor)> {
    check_condition(op, selected)?;
    let x = promoted_inexact(x)?;
    let dims = shape::broadcast(op, x.dims(), selected.dims())?;
    let x = broadcast_to(&x, &dims)?;
    let d = kept(op, &(&x - selected_mean(op, &x, selected, axis, true)?), Some(selected), 0)?;
    let number = x.dtype().real();
    let left = count(&x, selected, axis, keepdims, number)? - correction;
    Ok((d, at_least(&left, &Tensor::scalar_of(number, 0.0))?))
}

/// The variance over axes (all by default): the sum of the squared deviations from the mean, divided by their
/// number less `correction` (NumPy's `ddof`, which is taken too). Integers are taken as floats. Of complex numbers the
/// squares are those of absolute values. `where`, a tensor of truth values, selects elements.
///
/// ```python
/// >>> fg.var(fg.tensor([1., 2., 3., 4.])).item()
/// 1.25
/// ```
#[op(method, names("var"))]
pub fn var_where(
    x: &Tensor,
    #[default(None)] axis: Axes<'_>,
    #[default(0.0)] correction: f64,
    #[default(false)] keepdims: bool,
    #[default(None)] r#where: Option<&Tensor>,
) -> Result<Tensor> {
    let Some(selected) = r#where else { return var(x, axis, correction, keepdims) };
    let (d, left) = deviations("var", x, selected, axis, correction, keepdims)?;
    divide_same(&sum(&real(&(&d * conj(&d)?))?, axis, keepdims, None)?, &left)
}

/// The standard deviation over axes (all by default): the root of the variance. Its derivative at equal
/// elements is 0. `correction` (NumPy's `ddof`, which is taken too) is subtracted from the number of elements. `where`,
/// a tensor of truth values, selects elements.
///
/// ```python
/// >>> fg.std(fg.tensor([1., 1., 3., 3.])).item()
/// 1.0
/// ```
#[op(method, names("std"))]
pub fn std_where(
    x: &Tensor,
    #[default(None)] axis: Axes<'_>,
    #[default(0.0)] correction: f64,
    #[default(false)] keepdims: bool,
    #[default(None)] r#where: Option<&Tensor>,
) -> Result<Tensor> {
    let Some(selected) = r#where else { return std(x, axis, correction, keepdims) };
    let (d, left) = deviations("std", x, selected, axis, correction, keepdims)?;
    let folded = Folded::new("std", axis, keepdims, d.rank())?;
    divide_same(&euclidean(&d, folded)?, &sqrt(&left)?)
}
