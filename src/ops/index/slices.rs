//! Slices of an axis as views.

use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::ops::entry::op;
use crate::ops::movement::region::{Region, view};
use crate::shape;

/// The slice of an axis at one index; the axis is removed. Shares memory.
///
/// ```python
/// >>> fg.select(fg.tensor([[1, 2], [3, 4]]), 1, 0).numpy()
/// array([1, 3])
/// ```
#[op(view)]
pub fn select(x: &Tensor, axis: i64, index: i64) -> Result<Tensor> {
    view("select", x, one("select", x, axis, index)?)
}

/// One element of an axis, which is removed.
pub(in crate::ops) fn one(op: &'static str, x: &Tensor, axis: i64, index: i64) -> Result<Region> {
    let at = shape::axis(op, axis, x.rank())?;
    let n = x.dims()[at] as i64;
    if index < -n || index >= n {
        bail!(Index, op, "index {index} is out of bounds for axis {at} with size {n}");
    }
    Ok(Region::at(x.dims(), at, if index < 0 { index + n } else { index } as usize))
}

/// `length` slices of an axis from `start` on. Shares memory.
///
/// ```python
/// >>> fg.narrow(fg.tensor([1, 2, 3, 4]), 0, 1, 2).numpy()
/// array([2, 3])
/// ```
#[op(view)]
pub fn narrow(x: &Tensor, axis: i64, start: i64, length: i64) -> Result<Tensor> {
    let at = shape::axis("narrow", axis, x.rank())?;
    let n = x.dims()[at] as i64;
    let first = if start < 0 { start.saturating_add(n) } else { start };
    if first < 0 || length < 0 || first > n || length > n - first {
        bail!(Index, "narrow", "{length} elements from {start} on are not in axis {at} of size {n}");
    }
    view("narrow", x, Region::span(x.dims(), at, first as usize, length as usize))
}
