//! The same elements in C order under another shape.

use crate::array::Array;
use crate::error::{Result, bail};
use crate::graph::{Loops, Operands, Saved, Tensor, apply};
use crate::kernel::copy::IndexMap;
use crate::ops::copy;
use crate::ops::entry::{Axes, op};
use crate::ops::linear::{Linear, LinearOp, with_hidden};
use crate::shape::{self, Dims};
use crate::stored::Stored;

#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct Reshape(Dims);

impl Linear for Reshape {
    const NAME: &'static str = "reshape";
    const TAKES_HALF: bool = true;
    const IS_VIEW: bool = true;

    fn array(&self, x: &Array, batch_ndim: usize) -> Result<Array> {
        x.reshape(&with_hidden(x.dims(), batch_ndim, &self.0))
    }

    fn lower(&self, x: &Operands<'_>) -> Option<Loops> {
        let [own] = x.dims else { return None };
        let dims = with_hidden(own, x.batch_ndim, &self.0);
        let elements = shape::checked_len(own)?;
        let fits = shape::checked_len(&dims)? == elements;
        fits.then(|| Loops::Moves(IndexMap::reshaped(elements, dims)))
    }

    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        reshape_to(g, s.dims(0))
    }
}

/// The elements in C order under another shape with as many elements.
pub fn reshape_to(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    if x.dims() == dims {
        return Ok(x.clone());
    }
    if shape::checked_len(dims) != Some(shape::len(x.dims())) {
        bail!(
            Shape,
            "reshape",
            "shape '{dims:?}' is invalid for input of size {}, which has the shape {:?}",
            shape::len(x.dims()),
            x.dims()
        );
    }
    apply(LinearOp(Reshape(shape::dims(dims))), &[x])
}

/// A shape for `n` elements as Python writes it: one size may be -1 and is computed from the others.
fn filled(op: &'static str, n: usize, shape: &[i64]) -> Result<Dims> {
    let known =
        shape.iter().filter(|&&d| d != -1).try_fold(1usize, |p, &d| p.checked_mul(usize::try_from(d).ok()?));
    let Some(known) = known else { bail!(Shape, op, "{shape:?} is not a shape of {n} elements") };
    let free = shape.iter().filter(|&&d| d == -1).count();
    if free > 1 {
        bail!(Shape, op, "{shape:?} leaves more than one size open");
    }
    let fits = if free == 1 { known != 0 && n.is_multiple_of(known) } else { known == n };
    if !fits {
        bail!(Shape, op, "shape '{shape:?}' is invalid for input of size {n}");
    }
    Ok(shape.iter().map(|&d| usize::try_from(d).unwrap_or_else(|_| n / known)).collect())
}

/// The elements in C order under another shape; one size may be -1 and is computed from the others. Shares
/// memory where strides allow it; with `copy` never, and without (`copy=False`) always.
///
/// Raises ShapeError where the number of elements differs, and ArgumentError where strides allow no sharing that `copy`
/// asks for.
///
/// ```python
/// >>> fg.reshape(fg.tensor([1, 2, 3, 4]), (2, -1)).numpy()
/// array([[1, 2],
///        [3, 4]])
/// ```
#[op(reshaping, names("reshape", "view"))]
pub fn reshape(x: &Tensor, shape: &[i64], #[default(None)] copy: Option<bool>) -> Result<Tensor> {
    let y = reshape_to(x, &filled("reshape", shape::len(x.dims()), shape)?)?;
    match copy {
        Some(true) => copy::copy(&y),
        Some(false) if !x.array.is_contiguous() && y.array.ptr() != x.array.ptr() => {
            bail!(
                Argument,
                "reshape",
                "the elements of {:?} cannot be seen as {shape:?} without a copy",
                x.dims()
            )
        }
        _ => Ok(y),
    }
}

/// The elements of `x` in C order under the shape of `y`.
///
/// ```python
/// >>> fg.reshape_as(fg.ones((4,)), fg.ones((2, 2))).shape
/// (2, 2)
/// ```
#[op(view, names("reshape_as", "view_as"))]
pub fn reshape_as(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    reshape_to(x, y.dims())
}

/// The axes from `start_axis` to `stop_axis`, both among them, joined into one; a 0-d tensor gets one axis.
///
/// ```python
/// >>> fg.flatten(fg.ones((2, 3, 4)), 1).shape
/// (2, 12)
/// ```
#[op(reshaping, torch(GivesBack))]
pub fn flatten(x: &Tensor, #[default(0)] start_axis: i64, #[default(-1)] stop_axis: i64) -> Result<Tensor> {
    let dims = x.dims();
    if dims.is_empty() {
        shape::axis("flatten", start_axis, 1)?;
        shape::axis("flatten", stop_axis, 1)?;
        return reshape_to(x, &[1]);
    }
    let start = shape::axis("flatten", start_axis, dims.len())?;
    let stop = shape::axis("flatten", stop_axis, dims.len())?;
    if start > stop {
        bail!(Argument, "flatten", "the first axis ({start_axis}) lies after the last one ({stop_axis})");
    }
    let mut joined: Dims = dims[..start].into();
    joined.push(shape::len(&dims[start..=stop]));
    joined.extend_from_slice(&dims[stop + 1..]);
    reshape_to(x, &joined)
}

/// All elements in C order, in one axis.
///
/// ```python
/// >>> fg.ravel(fg.ones((2, 3))).shape
/// (6,)
/// ```
#[op(view)]
pub fn ravel(x: &Tensor) -> Result<Tensor> {
    reshape_to(x, &[shape::len(x.dims())])
}

/// One axis cut into axes of these sizes, one of which may be -1.
///
/// ```python
/// >>> fg.unflatten(fg.ones((2, 6)), 1, (3, -1)).shape
/// (2, 3, 2)
/// ```
#[op(view)]
pub fn unflatten(x: &Tensor, axis: i64, shape: &[i64]) -> Result<Tensor> {
    let at = shape::axis("unflatten", axis, x.rank())?;
    let inner = filled("unflatten", x.dims()[at], shape)?;
    let mut dims: Dims = x.dims()[..at].into();
    dims.extend_from_slice(&inner);
    dims.extend_from_slice(&x.dims()[at + 1..]);
    reshape_to(x, &dims)
}

/// Axes of size 1 taken away: all of them, or those named, which must have size 1 (else ShapeError).
///
/// ```python
/// >>> fg.squeeze(fg.ones((1, 3, 1)), 0).shape
/// (3, 1)
/// ```
#[op(reshaping)]
pub fn squeeze(x: &Tensor, #[default(None)] axis: Axes<'_>) -> Result<Tensor> {
    let gone = match axis {
        None => (0..x.rank()).filter(|&a| x.dims()[a] == 1).collect(),
        Some(list) => shape::axes("squeeze", list, x.rank())?,
    };
    if let Some(a) = gone.iter().find(|&&a| x.dims()[a] != 1) {
        bail!(Shape, "squeeze", "axis {a} of {:?} has size {}, not 1", x.dims(), x.dims()[*a]);
    }
    let kept = (0..x.rank()).filter(|a| !gone.contains(a));
    reshape_to(x, &kept.map(|a| x.dims()[a]).collect::<Dims>())
}

/// New axes of size 1, at these places of the result's shape.
///
/// ```python
/// >>> fg.expand_dims(fg.ones((3,)), (0, -1)).shape
/// (1, 3, 1)
/// ```
#[op(reshaping, names("expand_dims", "unsqueeze"))]
pub fn expand_dims(x: &Tensor, #[default([0])] axis: &[i64]) -> Result<Tensor> {
    let rank = x.rank() + axis.len();
    let new = shape::axes("expand_dims", axis, rank)?;
    let mut old = x.dims().iter().copied();
    reshape_to(
        x,
        &(0..rank).map(|a| if new.contains(&a) { 1 } else { old.next().unwrap_or(1) }).collect::<Dims>(),
    )
}

/// Adds leading axes of size 1 up to this rank.
pub(in crate::ops) fn at_least(x: &Tensor, rank: usize) -> Result<Tensor> {
    let missing = rank.saturating_sub(x.rank());
    reshape_to(x, &std::iter::repeat_n(1, missing).chain(x.dims().iter().copied()).collect::<Dims>())
}
