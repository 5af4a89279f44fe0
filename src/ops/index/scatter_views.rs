//! Tensors written over a view of another one.

use super::slices::one;
use super::write::{put, put_region};
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::ops::Index;
use crate::ops::entry::{Operand, op};
use crate::ops::movement::diagonal;
use crate::ops::movement::region::Region;
use crate::ops::movement::strided;
use crate::shape;

/// `x` with `y` written over the slice of an axis at one index.
///
/// ```python
/// >>> fg.select_scatter(fg.zeros((2, 2)), fg.ones((2,)), 0, 1).numpy()
/// array([[0., 0.],
///        [1., 1.]], dtype=float32)
/// ```
#[op(method, half)]
pub fn select_scatter(x: &Tensor, y: &Tensor, axis: i64, index: i64) -> Result<Tensor> {
    super::write::put_region("select_scatter", x, one("select_scatter", x, axis, index)?, y)
}

/// `x` with `y` written over a slice of an axis.
///
/// ```python
/// >>> fg.slice_scatter(fg.zeros((4,)), fg.ones((2,)), 0, 1, 3).numpy()
/// array([0., 1., 1., 0.], dtype=float32)
/// ```
#[op(method, half)]
pub fn slice_scatter(
    x: &Tensor,
    y: &Tensor,
    #[default(0)] axis: i64,
    #[default(None)] start: Option<i64>,
    #[default(None)] stop: Option<i64>,
    #[default(1)] step: i64,
) -> Result<Tensor> {
    let at = shape::axis("slice_scatter", axis, x.rank())?;
    let whole = Index::Slice { start: None, stop: None, step: None };
    let index: Vec<Index> =
        (0..at).map(|_| whole.clone()).chain([Index::Slice { start, stop, step: Some(step) }]).collect();
    put(x, &index, Operand::Tensor(y))
}

/// `x` with `y` written over one of its diagonals.
///
/// ```python
/// >>> fg.diagonal_scatter(fg.zeros((2, 2)), fg.ones((2,))).numpy()
/// array([[1., 0.],
///        [0., 1.]], dtype=float32)
/// ```
#[op(method, half)]
pub fn diagonal_scatter(
    x: &Tensor,
    y: &Tensor,
    #[default(0)] offset: i64,
    #[default(0)] axis1: i64,
    #[default(1)] axis2: i64,
) -> Result<Tensor> {
    let region = diagonal::region("diagonal_scatter", x.rank(), offset, axis1, axis2)?;
    super::write::put_region("diagonal_scatter", x, region, y)
}

/// `x` with `y` written over the elements that `as_strided` reads. These may not overlap.
///
/// ```python
/// >>> fg.as_strided_scatter(fg.zeros((2, 2)), fg.ones((2,)), (2,), (3,)).numpy()
/// array([[1., 0.],
///        [0., 1.]], dtype=float32)
/// ```
#[op(method, half)]
pub fn as_strided_scatter(
    x: &Tensor,
    y: &Tensor,
    shape: &[i64],
    strides: &[i64],
    #[default(0)] offset: i64,
) -> Result<Tensor> {
    const OP: &str = "as_strided_scatter";
    let layout = strided::layout(OP, x, shape, strides, offset)?;
    if layout.overlaps() {
        bail!(Argument, OP, "{shape:?} with strides {strides:?} names elements more than once");
    }
    put_region(OP, x, Region::At(layout), y)
}
