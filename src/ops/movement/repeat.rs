//! `tile` and `repeat_interleave`.

use smallvec::{SmallVec, smallvec};

use super::broadcast::broadcast_to;
use super::shapes::{at_least, expand_dims, ravel, reshape_to};
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::ops::entry::op;
use crate::ops::index::take_along;
use crate::ops::sizes::{held, sizes};
use crate::shape::{self, Dims};

/// The tensor repeated along each axis as often as `repeats` says, as NumPy's `tile`.
///
/// ```python
/// >>> fg.tile(fg.tensor([1, 2]), (2, 2)).numpy()
/// array([[1, 2, 1, 2],
///        [1, 2, 1, 2]])
/// ```
#[op(method, half)]
pub fn tile(x: &Tensor, repeats: &[i64]) -> Result<Tensor> {
    let rank = x.rank().max(repeats.len());
    let x = at_least(x, rank)?;
    let mut times: SmallVec<[i64; 4]> = smallvec![1; rank - repeats.len()];
    times.extend_from_slice(repeats);
    let times = sizes("tile", &times, x.dtype())?;
    // Each axis becomes two: the repeats and the elements.
    let pairs =
        |n: &dyn Fn(usize) -> usize| -> Dims { (0..rank).flat_map(|a| [n(a), x.dims()[a]]).collect() };
    let tiled: Option<Dims> = (0..rank).map(|a| times[a].checked_mul(x.dims()[a])).collect();
    let tiled = held("tile", &x, tiled.unwrap_or_else(|| smallvec![usize::MAX]))?;
    reshape_to(&broadcast_to(&reshape_to(&x, &pairs(&|_| 1))?, &pairs(&|a| times[a]))?, &tiled)
}

/// Each element repeated in place, as NumPy's `repeat`: all equally often, or each slice of the axis as often
/// as its own number says. Without `axis` the tensor is flattened first.
///
/// ```python
/// >>> fg.repeat_interleave(fg.tensor([1, 2]), (2, 1), 0).numpy()
/// array([1, 1, 2])
/// ```
#[op(method, names("repeat_interleave", "repeat"), half)]
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
    let count = |&times: &i64| Ok(sizes("repeat_interleave", &[times], x.dtype())?[0]);
    let repeats = repeats.iter().map(count).collect::<Result<Vec<usize>>>()?;
    let total = repeats.iter().fold(0usize, |a, &b| a.saturating_add(b));
    let mut whole: Dims = x.dims().into();
    whole[at] = total;
    held("repeat_interleave", x, whole)?;
    let indices = repeats.iter().enumerate().flat_map(|(i, &d)| std::iter::repeat_n(i as i64, d));
    take_along("repeat_interleave", x, at, total, indices)
}
