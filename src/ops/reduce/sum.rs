//! Sums and means.

use super::fold::{Folded, wide};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Tensor;
use crate::ops::entry::{Axes, op};
use crate::ops::movement::cast;
use crate::ops::pointwise::arithmetic::divide_same;
use crate::ops::promote::promoted_inexact;

/// The sum over axes, or over all of them. Truth values and integers are summed in 64 bits.
///
/// ```python
/// >>> fg.sum(fg.tensor([[1., 2.], [3., 4.]]), axis=0).tolist()
/// [4.0, 6.0]
/// ```
#[op(method)]
pub fn sum(
    x: &Tensor,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
    #[default(None)] dtype: Option<DType>,
) -> Result<Tensor> {
    let folded = Folded::new("sum", axis, keepdims, x.rank())?;
    folded.sum(&cast(x, wide(dtype, x.dtype()))?)
}

/// The mean over axes (all by default), a float or a complex number. NaN where there is nothing to take it of.
///
/// ```python
/// >>> fg.mean(fg.tensor([[1., 2.], [3., 4.]]), axis=1).tolist()
/// [1.5, 3.5]
/// ```
#[op(method)]
pub fn mean(
    x: &Tensor,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
    #[default(None)] dtype: Option<DType>,
) -> Result<Tensor> {
    let folded = Folded::new("mean", axis, keepdims, x.rank())?;
    let x = dtype.map_or_else(|| Ok(x.clone()), |d| cast(x, d))?;
    let x = promoted_inexact(&x)?;
    divide_same(&folded.sum(&x)?, &Tensor::scalar_of(x.dtype(), folded.count(x.dims()) as f64))
}
