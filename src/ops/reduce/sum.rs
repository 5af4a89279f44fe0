//! Sums and means.

use super::fold::{Folded, in_bool, wide};
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::ops::entry::{Axes, op};
use crate::ops::movement::cast;
use crate::ops::pointwise::arithmetic::divide_same;
use crate::ops::promote::promoted_inexact;

impl Tensor {
    /// The sum of all elements.
    ///
    /// # Errors
    /// Those of [`Tensor::sum`].
    pub fn sum_all(&self) -> Result<Tensor> {
        sum(self, None, false, None)
    }

    /// The mean of all elements.
    ///
    /// # Errors
    /// Those of [`Tensor::mean`].
    pub fn mean_all(&self) -> Result<Tensor> {
        mean(self, None, false, None)
    }
}

/// The sum over axes, or over all of them. Truth values and integers are summed in 64 bits.
///
/// ```python
/// >>> fg.sum(fg.tensor([[1., 2.], [3., 4.]]), axis=0).tolist()
/// [4.0, 6.0]
/// ```
#[op(rust)]
pub fn sum(x: &Tensor, axis: Axes<'_>, keepdims: bool, dtype: Option<DType>) -> Result<Tensor> {
    if dtype == Some(DType::Bool) {
        return in_bool(x, |x| sum(x, axis, keepdims, None));
    }
    let folded = Folded::new("sum", axis, keepdims, x.rank())?;
    folded.sum(&cast(x, wide(dtype, x.dtype()))?)
}

/// The mean over axes (all by default), a float or a complex number, computed in `dtype` if it is given. NaN where there
/// is nothing to take it of.
///
/// Raises DtypeError where `dtype` is neither float nor complex.
///
/// ```python
/// >>> fg.mean(fg.tensor([[1., 2.], [3., 4.]]), axis=1).tolist()
/// [1.5, 3.5]
/// ```
#[op(rust)]
pub fn mean(x: &Tensor, axis: Axes<'_>, keepdims: bool, dtype: Option<DType>) -> Result<Tensor> {
    let folded = Folded::new("mean", axis, keepdims, x.rank())?;
    let x = match dtype {
        Some(dtype) if !dtype.is_differentiable() => {
            bail!(Dtype, "mean", "dtype must be a floating point or complex one, not {dtype}")
        }
        Some(dtype) => cast(x, dtype)?,
        None => x.clone(),
    };
    let x = promoted_inexact(&x)?;
    divide_same(&folded.sum(&x)?, &Tensor::scalar_of(x.dtype(), folded.count(x.dims()) as f64))
}
