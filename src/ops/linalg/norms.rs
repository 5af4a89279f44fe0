//! Norms of vectors and of matrices.

use super::svd::svdvals;
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::ops::entry::{Axes, Order, op};
use crate::ops::movement::{expand_dims, moveaxis};
use crate::ops::promote::promoted_inexact;
use crate::ops::reduce::norm as reduce;
use crate::ops::reduce::{extreme, sum};

/// The norm of the vectors on the axes, of all elements if none are named: as `norm`.
///
/// ```python
/// >>> fg.linalg.vector_norm(fg.tensor([[3., 4.]])).item()
/// 5.0
/// ```
#[op(function, in linalg, paddle(AllAxes), torch(AllAxes))]
pub fn vector_norm(
    x: &Tensor,
    #[default(2.0)] ord: Order<'_>,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
) -> Result<Tensor> {
    reduce::norm(x, ord, axis, keepdims)
}

/// The norm of the matrices on two axes: 'fro' (square root of the sum of squares), 'nuc' (sum of the
/// singular values), 1 or inf (largest sum of |x| over a column or row), 2 (largest singular value); -1,
/// -inf, -2 the smallest. Where there are no sums or values, the largest is 0 and the smallest an error.
///
/// ```python
/// >>> fg.linalg.matrix_norm(fg.tensor([[3., 0.], [4., 0.]]), 'nuc').item()
/// 5.0
/// ```
#[op(function, in linalg)]
pub fn matrix_norm(
    x: &Tensor,
    #[default("fro")] ord: Order<'_>,
    #[default([-2, -1])] axis: &[i64],
    #[default(false)] keepdims: bool,
) -> Result<Tensor> {
    let op = "linalg.matrix_norm";
    let &[_, _] = axis else {
        bail!(Argument, op, "a matrix lies on two axes, not on {axis:?}");
    };
    if x.rank() < 2 {
        bail!(
            Shape,
            op,
            "{:?} is not the shape of a matrix or of a batch of them: the input must have at least 2 dimensions",
            x.dims()
        );
    }
    let x = moveaxis(&*promoted_inexact(x)?, axis, &[-2, -1])?;
    let sums = |over: i64| reduce::norm(&x, Order::Number(1.0), Some(&[over]), false);
    // Of no numbers the largest is 0: they are sizes.
    let largest = |sizes: Tensor| match sizes.dims().last() {
        Some(0) => sum(&sizes, Some(&[-1]), false, None),
        _ => extreme::max(&sizes, Some(&[-1]), false),
    };
    let smallest = |sizes: Tensor| extreme::min(&sizes, Some(&[-1]), false);
    let norm = match ord {
        Order::Name("fro") => reduce::norm(&x, Order::Number(2.0), Some(&[-2, -1]), false),
        Order::Name("nuc") => sum(&svdvals(&x)?, Some(&[-1]), false, None),
        Order::Number(1.0) => largest(sums(-2)?),
        Order::Number(-1.0) => smallest(sums(-2)?),
        Order::Number(2.0) => largest(svdvals(&x)?),
        Order::Number(-2.0) => smallest(svdvals(&x)?),
        Order::Number(f64::INFINITY) | Order::Name("inf") => largest(sums(-1)?),
        Order::Number(f64::NEG_INFINITY) | Order::Name("-inf") => smallest(sums(-1)?),
        Order::Number(p) => {
            bail!(Argument, op, "a matrix has the norms 1, -1, 2, -2, inf, -inf, 'fro' and 'nuc', not {p}")
        }
        Order::Name(name) => bail!(Argument, op, "no norm of matrices is called '{name}'"),
    }?;
    if !keepdims {
        return Ok(norm);
    }
    moveaxis(&expand_dims(&norm, &[-2, -1])?, &[-2, -1], axis)
}

/// A norm of matrices where an order is given with two axes or for a matrix, else of vectors; without an
/// order the square root of the sum of squares.
///
/// ```python
/// >>> x = fg.tensor([[3., 0.], [4., 0.]])
/// >>> fg.linalg.norm(x).item(), fg.linalg.norm(x, 1).item()
/// (5.0, 7.0)
/// ```
#[op(function, in linalg)]
pub fn norm(
    x: &Tensor,
    #[default(None)] ord: Option<Order<'_>>,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
) -> Result<Tensor> {
    match (ord, axis) {
        (None, axis) => reduce::norm(x, Order::Number(2.0), axis, keepdims),
        (Some(ord), Some(axis @ [_, _])) => matrix_norm(x, ord, axis, keepdims),
        (Some(ord), None) if x.rank() == 2 => matrix_norm(x, ord, &[-2, -1], keepdims),
        (Some(ord), axis) => reduce::norm(x, ord, axis, keepdims),
    }
}
