//! Variance and standard deviation.

use super::fold::Folded;
use super::norm::euclidean;
use super::sum::mean;
use crate::error::Result;
use crate::graph::Tensor;
use crate::ops::entry::{Axes, op};
use crate::ops::movement::{conj, real};
use crate::ops::promote::promoted_inexact;

/// The deviations from the mean, the reduced axes, and the divisor.
fn deviations(
    op: &'static str,
    x: &Tensor,
    axis: Axes<'_>,
    correction: f64,
    keepdims: bool,
) -> Result<(Tensor, Folded, f64)> {
    let folded = Folded::new(op, axis, keepdims, x.rank())?;
    let x = promoted_inexact(x)?;
    let count = (folded.count(x.dims()) as f64 - correction).max(0.0);
    Ok((&*x - mean(&x, axis, true, None)?, folded, count))
}

/// The variance over axes (all by default): the sum of the squared deviations from the mean, divided by their
/// number less `correction`. Integers are taken as floats. Of complex numbers the squares are those of absolute values.
///
/// ```python
/// >>> fg.var(fg.tensor([1., 2., 3., 4.])).item()
/// 1.25
/// ```
#[op(rust)]
pub fn var(x: &Tensor, axis: Axes<'_>, correction: f64, keepdims: bool) -> Result<Tensor> {
    let (d, folded, count) = deviations("var", x, axis, correction, keepdims)?;
    Ok(folded.sum(&real(&(&d * conj(&d)?))?)? / count)
}

/// The standard deviation over axes (all by default): the root of the variance. Its derivative at equal
/// elements is 0.
///
/// ```python
/// >>> fg.std(fg.tensor([1., 1., 3., 3.])).item()
/// 1.0
/// ```
#[op(rust)]
pub fn std(x: &Tensor, axis: Axes<'_>, correction: f64, keepdims: bool) -> Result<Tensor> {
    let (d, folded, count) = deviations("std", x, axis, correction, keepdims)?;
    Ok(euclidean(&d, folded)? / count.sqrt())
}
