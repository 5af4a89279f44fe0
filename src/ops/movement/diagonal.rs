//! Diagonals and triangles.

use super::axes::moveaxis;
use super::region::{Region, place, view};
use super::shapes::reshape_to;
use crate::array::Array;
use crate::error::{Error, Result, bail};
use crate::graph::{Made, Operands, Saved, Tensor, apply};
use crate::kernel;
use crate::ops::entry::op;
use crate::ops::linear::{Linear, LinearOp};
use crate::ops::reduce::sum;
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// A diagonal of two axes, which are removed; it becomes the last axis. `offset` counts to the right of the
/// main diagonal. Shares memory.
///
/// ```python
/// >>> fg.diagonal(fg.tensor([[1, 2], [3, 4]])).numpy()
/// array([1, 4])
/// ```
#[op(view)]
pub fn diagonal(
    x: &Tensor,
    #[default(0)] offset: i64,
    #[default(0)] axis1: i64,
    #[default(1)] axis2: i64,
) -> Result<Tensor> {
    view("diagonal", x, region("diagonal", x.rank(), offset, axis1, axis2)?)
}

pub(in crate::ops) fn region(
    op: &'static str,
    rank: usize,
    offset: i64,
    axis1: i64,
    axis2: i64,
) -> Result<Region> {
    let axes = (shape::axis(op, axis1, rank)?, shape::axis(op, axis2, rank)?);
    if axes.0 == axes.1 {
        bail!(Argument, op, "diagonal dimensions cannot be identical {axis1}, {axis2}");
    }
    Ok(Region::Diagonal { axes, offset })
}

/// The elements `x[…, i, i]` of matrices.
pub(in crate::ops) fn diagonal_of(x: &Tensor) -> Result<Tensor> {
    diagonal(x, 0, -2, -1)
}

/// Matrices with the last axis on their diagonal.
pub(in crate::ops) fn on_diagonal(x: &Tensor) -> Result<Tensor> {
    diag_embed(x, 0, -2, -1)
}

/// The sum of a diagonal of two axes, which are removed. `offset` counts to the right of the main diagonal.
///
/// ```python
/// >>> fg.trace(fg.tensor([[1, 2], [3, 4]])).item()
/// 5
/// ```
#[op(method)]
pub fn trace(
    x: &Tensor,
    #[default(0)] offset: i64,
    #[default(0)] axis1: i64,
    #[default(1)] axis2: i64,
) -> Result<Tensor> {
    sum(&diagonal(x, offset, axis1, axis2)?, Some(&[-1]), false, None)
}

/// The last axis as a diagonal of two new axes at these positions; zero elsewhere.
///
/// ```python
/// >>> fg.diag_embed(fg.ones((5, 2)), offset=1).shape
/// (5, 3, 3)
/// ```
#[op(method)]
pub fn diag_embed(
    x: &Tensor,
    #[default(0)] offset: i64,
    #[default(-2)] axis1: i64,
    #[default(-1)] axis2: i64,
) -> Result<Tensor> {
    let Some((&n, lead)) = x.dims().split_last() else {
        bail!(Shape, "diag_embed", "a 0-d tensor has no axis to lay on a diagonal");
    };
    let size = usize::try_from(offset.unsigned_abs()).ok().and_then(|o| n.checked_add(o));
    let Some(size) = size else {
        return Err(Error::memory("diag_embed", vec![usize::MAX; 2], x.dtype()));
    };
    region("diag_embed", lead.len() + 2, offset, axis1, axis2)?;
    let mut dims: Dims = lead.into();
    dims.extend([size, size]);
    if shape::checked_len(&dims).is_none() {
        return Err(Error::memory("diag_embed", dims.to_vec(), x.dtype()));
    }
    let laid = Region::Diagonal { axes: (lead.len(), lead.len() + 1), offset };
    moveaxis(&place("diag_embed", &dims, &[x], [laid], None)?, &[-2, -1], &[axis1, axis2])
}

/// The k-th diagonal of a matrix, or the matrix with a vector on its k-th diagonal.
///
/// ```python
/// >>> fg.diag(fg.tensor([1, 2])).numpy()
/// array([[1, 0],
///        [0, 2]])
/// ```
#[op(method)]
pub fn diag(x: &Tensor, #[default(0)] k: i64) -> Result<Tensor> {
    match x.rank() {
        1 => diag_embed(x, k, 0, 1),
        2 => diagonal(x, k, 0, 1),
        _ => bail!(Shape, "diag", "a vector or a matrix (1D or 2D) is needed, not the shape {:?}", x.dims()),
    }
}

/// The matrix with all elements of `x`, in C order, on its k-th diagonal.
///
/// ```python
/// >>> fg.diagflat(fg.ones((2, 2))).shape
/// (4, 4)
/// ```
#[op(method)]
pub fn diagflat(x: &Tensor, #[default(0)] k: i64) -> Result<Tensor> {
    diag_embed(&reshape_to(x, &[shape::len(x.dims())])?, k, 0, 1)
}

/// The elements of matrices on one side of a diagonal; zero on the other. It is its own transpose.
#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct Triangle {
    upper: bool,
    k: i64,
}

impl Linear for Triangle {
    const NAME: &'static str = "triangle";
    const TAKES_HALF: bool = true;

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        kernel::index::triangle(x, self.upper, self.k)
    }

    fn makes(&self, x: &Operands<'_>) -> Option<Made> {
        x.like::<1>(2, |_| true)
    }

    fn transpose(&self, g: &Tensor, _: &Saved<'_>) -> Result<Tensor> {
        apply(LinearOp(self.clone()), &[g])
    }
}

fn triangle(op: &'static str, x: &Tensor, upper: bool, k: i64) -> Result<Tensor> {
    if x.rank() < 2 {
        bail!(Shape, op, "input tensor must have at least 2 dimensions, {:?} has {}", x.dims(), x.rank());
    }
    apply(LinearOp(Triangle { upper, k }), &[x])
}

/// The elements of matrices (the last two axes) on and below the k-th diagonal; zero above.
///
/// ```python
/// >>> fg.tril(fg.tensor([[1, 2], [3, 4]])).numpy()
/// array([[1, 0],
///        [3, 4]])
/// ```
#[op(in_place, half, light, torch(LaidInCOrder))]
pub fn tril(x: &Tensor, #[default(0)] k: i64) -> Result<Tensor> {
    triangle("tril", x, false, k)
}

/// The elements of matrices (the last two axes) on and above the k-th diagonal; zero below.
///
/// ```python
/// >>> fg.triu(fg.tensor([[1, 2], [3, 4]])).numpy()
/// array([[1, 2],
///        [0, 4]])
/// ```
#[op(in_place, half, torch(LaidInCOrder))]
pub fn triu(x: &Tensor, #[default(0)] k: i64) -> Result<Tensor> {
    triangle("triu", x, true, k)
}
