//! Elements repeated.

use smallvec::{SmallVec, smallvec};

use super::shapes::{at_least, expand_dims, flatten, ravel, reshape_to};
use super::{Linear, LinearOp, with_hidden};
use crate::array::Array;
use crate::error::{Error, Result, bail};
use crate::graph::{Saved, Tensor, apply};
use crate::ops::create::sizes;
use crate::ops::entry::op;
use crate::ops::index::take_along;
use crate::ops::reduce::sum_to;
use crate::shape::{self, Dims};

#[derive(Clone)]
struct Expand(Dims);

impl Linear for Expand {
    const NAME: &'static str = "expand";

    fn array(&self, x: &Array, lanes: usize) -> Result<Array> {
        Ok(x.expand(&with_hidden(x, lanes, &self.0), lanes))
    }

    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        sum_to(g, s.dims(0))
    }
}

/// The tensor repeated, without a copy, to a shape that it broadcasts to.
pub fn broadcast_to(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    if x.dims() == dims {
        return Ok(x.clone());
    }
    if shape::broadcast("broadcast_to", x.dims(), dims)?.as_slice() != dims {
        bail!(Shape, "broadcast_to", "{:?} does not broadcast to {dims:?}", x.dims());
    }
    apply(LinearOp(Expand(Dims::from_slice(dims))), &[x])
}

/// The tensor repeated, without a copy, to a shape that it broadcasts to; -1 keeps the size of an axis.
///
/// Raises ShapeError where the shapes do not go together.
///
/// ```python
/// >>> fg.broadcast_to(fg.ones((3, 1)), (2, -1, 4)).shape
/// (2, 3, 4)
/// ```
#[op(view, names("expand", "broadcast_to"))]
pub fn expand(x: &Tensor, shape: &[i64]) -> Result<Tensor> {
    let new = shape.len().checked_sub(x.rank());
    let Some(new) = new else {
        bail!(Shape, "broadcast_to", "{:?} has more axes than {shape:?}", x.dims());
    };
    let kept = |i: usize, d: i64| match i.checked_sub(new) {
        Some(own) if d == -1 => x.dims()[own] as i64,
        _ => d,
    };
    let shape: SmallVec<[i64; 4]> = shape.iter().enumerate().map(|(i, &d)| kept(i, d)).collect();
    broadcast_to(x, &sizes("broadcast_to", &shape, x.dtype())?)
}

/// `x` broadcast, without a copy, to the shape of `y`.
///
/// ```python
/// >>> fg.expand_as(fg.ones((1,)), fg.ones((2, 3))).shape
/// (2, 3)
/// ```
#[op(view)]
pub fn expand_as(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    broadcast_to(x, y.dims())
}

/// Tensors broadcast against each other, without copies.
///
/// ```python
/// >>> [t.shape for t in fg.broadcast_tensors(fg.ones((2, 1)), fg.ones((3,)))]
/// [(2, 3), (2, 3)]
/// ```
#[op(function, names("broadcast_tensors", "broadcast_arrays"))]
pub fn broadcast_tensors(tensors: &[Tensor]) -> Result<Vec<Tensor>> {
    let dims =
        tensors.iter().try_fold(Dims::new(), |d, t| shape::broadcast("broadcast_tensors", &d, t.dims()))?;
    tensors.iter().map(|t| broadcast_to(t, &dims)).collect()
}

/// The tensor laid side by side with itself so many times along each axis, as NumPy's `tile`.
///
/// ```python
/// >>> fg.tile(fg.tensor([1, 2]), (2, 2)).numpy()
/// array([[1, 2, 1, 2],
///        [1, 2, 1, 2]])
/// ```
#[op(method, names("tile", "repeat"))]
pub fn tile(x: &Tensor, repeats: &[i64]) -> Result<Tensor> {
    let rank = x.rank().max(repeats.len());
    let x = at_least(x, rank)?;
    let mut times: SmallVec<[i64; 4]> = smallvec![1; rank - repeats.len()];
    times.extend_from_slice(repeats);
    let times = sizes("tile", &times, x.dtype())?;
    // Each axis becomes a pair: how often, and what.
    let pairs =
        |n: &dyn Fn(usize) -> usize| -> Dims { (0..rank).flat_map(|a| [n(a), x.dims()[a]]).collect() };
    let tiled: Option<Dims> = (0..rank).map(|a| times[a].checked_mul(x.dims()[a])).collect();
    let tiled = held("tile", &x, tiled.unwrap_or_else(|| smallvec![usize::MAX]))?;
    reshape_to(&broadcast_to(&reshape_to(&x, &pairs(&|_| 1))?, &pairs(&|a| times[a]))?, &tiled)
}

/// A shape that memory can hold.
fn held(op: &'static str, x: &Tensor, dims: Dims) -> Result<Dims> {
    let bytes = shape::checked_len(&dims).and_then(|n| n.checked_mul(x.dtype().size()));
    match bytes.filter(|&b| b <= isize::MAX as usize) {
        Some(_) => Ok(dims),
        None => Err(Error::memory(op, dims.to_vec(), x.dtype())),
    }
}

/// Each element repeated where it stands, as NumPy's `repeat`: all equally often, or each slice of the axis
/// as often as its number says. Without `axis` the tensor is flattened first.
///
/// ```python
/// >>> fg.repeat_interleave(fg.tensor([1, 2]), (2, 1), 0).numpy()
/// array([1, 1, 2])
/// ```
#[op(method)]
pub fn repeat_interleave(x: &Tensor, repeats: &[i64], #[default(None)] axis: Option<i64>) -> Result<Tensor> {
    let Some(axis) = axis else { return repeat_interleave(&ravel(x)?, repeats, Some(0)) };
    let at = shape::axis("repeat_interleave", axis, x.rank())?;
    let n = x.dims()[at];
    if let [times] = *repeats {
        let times = sizes("repeat_interleave", &[times], x.dtype())?[0];
        let mut dims: Dims = x.dims().into();
        dims[at] = n.saturating_mul(times);
        let flat = held("repeat_interleave", x, dims)?;
        let mut dims: Dims = x.dims().into();
        dims.insert(at + 1, times);
        return reshape_to(&broadcast_to(&expand_dims(x, &[at as i64 + 1])?, &dims)?, &flat);
    }
    if repeats.len() != n {
        bail!(Shape, "repeat_interleave", "{} repeats do not fit axis {axis} of size {n}", repeats.len());
    }
    let repeats = sizes("repeat_interleave", repeats, x.dtype())?;
    let total = repeats.iter().fold(0usize, |a, &b| a.saturating_add(b));
    let mut whole: Dims = x.dims().into();
    whole[at] = total;
    held("repeat_interleave", x, whole)?;
    let indices = repeats.iter().enumerate().flat_map(|(i, &d)| std::iter::repeat_n(i as i64, d));
    take_along("repeat_interleave", x, at, total, indices)
}

/// The coordinates of a grid, one tensor for each axis, as views. `indexing` is 'xy' (the first two axes
/// swapped, as on a plot) or 'ij'.
///
/// ```python
/// >>> [t.shape for t in fg.meshgrid(fg.ones((2,)), fg.ones((3,)), indexing='ij')]
/// [(2, 3), (2, 3)]
/// ```
#[op(function)]
pub fn meshgrid(tensors: &[Tensor], #[default("xy")] indexing: &str) -> Result<Vec<Tensor>> {
    let swap = match indexing {
        "xy" => tensors.len() > 1,
        "ij" => false,
        _ => bail!(Argument, "meshgrid", "indexing is 'xy' or 'ij', not '{indexing}'"),
    };
    let place = |i: usize| if swap && i < 2 { 1 - i } else { i };
    let mut dims: Dims = smallvec![1; tensors.len()];
    let mut lines = Vec::with_capacity(tensors.len());
    for (i, t) in tensors.iter().enumerate() {
        if t.rank() > 1 {
            bail!(Shape, "meshgrid", "coordinates have one axis, not the shape {:?}", t.dims());
        }
        let line = if t.rank() == 0 { flatten(t, 0, -1)? } else { t.clone() };
        let mut own: Dims = smallvec![1; tensors.len()];
        own[place(i)] = line.dims()[0];
        dims[place(i)] = line.dims()[0];
        lines.push(reshape_to(&line, &own)?);
    }
    lines.iter().map(|t| broadcast_to(t, &held("meshgrid", t, dims.clone())?)).collect()
}
