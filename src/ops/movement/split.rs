//! A tensor cut into parts, which are views and outputs of one node. A part that is not used costs nothing.

use super::region::{Region, view, views};
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::memory;
use crate::ops::entry::{Count, Value, op};
use crate::shape;

/// The parts of these sizes, which fill the axis.
fn spans(
    op: &'static str,
    x: &Tensor,
    at: usize,
    sizes: impl IntoIterator<Item = usize>,
) -> Result<Vec<Tensor>> {
    let mut start = 0;
    let regions = sizes.into_iter().map(|n| {
        start += n;
        Region::span(x.dims(), at, start - n, n)
    });
    views(op, x, regions)
}

/// The sizes of `count` parts of `n` elements; the first ones are one longer if needed.
fn even(n: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |i| n / count + usize::from(i < n % count))
}

/// The sizes of the parts between cuts; cuts beyond the end, or before an earlier one, give empty parts, as slices do.
fn between(n: usize, cuts: &[i64]) -> Vec<(usize, usize)> {
    let clamp =
        |c: i64| if c < 0 { (c + n as i64).max(0) as usize } else { (c as u64).min(n as u64) as usize };
    let starts = std::iter::once(0).chain(cuts.iter().map(|&c| clamp(c)));
    let stops = cuts.iter().map(|&c| clamp(c)).chain([n]);
    starts.zip(stops).map(|(a, b)| (a, b.saturating_sub(a))).collect()
}

/// The largest number of parts: each is a tensor of its own.
const MOST: usize = 1 << 24;

/// Checks a number of parts.
fn parts(op: &'static str, count: i64) -> Result<usize> {
    match usize::try_from(count) {
        Ok(c) if c > 0 && c <= MOST => {
            held(op, c)?;
            Ok(c)
        }
        _ => bail!(Argument, op, "{count} is not a number of parts between 1 and {MOST}"),
    }
}

/// The most bytes that a part takes until it is an object of Python's.
const PART: usize = 1 << 10;

fn held(op: &'static str, count: usize) -> Result<()> {
    if count > MOST {
        bail!(Argument, op, "{count} parts are more than {MOST}");
    }
    Ok(memory::ensure(count * PART)?)
}

/// The tensor cut along an axis, as NumPy does: into a number of equal parts, or at indices. The parts are
/// views.
///
/// Raises ShapeError where the parts would not be equal.
///
/// ```python
/// >>> [t.shape for t in fg.split(fg.ones((5,)), [2, 3])]
/// [(2,), (1,), (2,)]
/// ```
#[op(view, paddle(Copies))]
pub fn split(x: &Tensor, sections: Count<'_>, #[default(0)] axis: i64) -> Result<Value> {
    let at = shape::axis("split", axis, x.rank())?;
    let n = x.dims()[at];
    if let Count::One(count) = sections {
        let count = parts("split", count)?;
        if !n.is_multiple_of(count) {
            bail!(Shape, "split", "axis {axis} of size {n} does not divide into {count} equal parts");
        }
    }
    tensor_split(x, sections, axis)
}

/// The tensor cut along an axis at indices, or into a number of parts, the first of which are one longer if
/// the size does not divide evenly.
///
/// ```python
/// >>> [t.shape for t in fg.tensor_split(fg.ones((5,)), 3)]
/// [(2,), (2,), (1,)]
/// ```
#[op(view, names("tensor_split", "array_split"), paddle(Copies))]
pub fn tensor_split(x: &Tensor, sections: Count<'_>, #[default(0)] axis: i64) -> Result<Value> {
    let at = shape::axis("tensor_split", axis, x.rank())?;
    let n = x.dims()[at];
    let list = match sections {
        Count::One(count) => spans("split", x, at, even(n, parts("tensor_split", count)?))?,
        Count::Many(cuts) => {
            held("tensor_split", cuts.len() + 1)?;
            let parts = between(n, cuts);
            let region = |&(start, n): &(usize, usize)| Region::span(x.dims(), at, start, n);
            if parts.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0) {
                views("split", x, parts.iter().map(region))?
            } else {
                // Cuts that go back make overlapping parts, which cannot be outputs of one node.
                parts.iter().map(|p| view("split", x, region(p))).collect::<Result<_>>()?
            }
        }
    };
    Ok(Value::Tuple(list))
}

/// The tensor cut along an axis into parts of these sizes, one of which may be -1.
///
/// ```python
/// >>> [t.shape for t in fg.split_sizes(fg.ones((5,)), [2, -1])]
/// [(2,), (3,)]
/// ```
#[op(view, names("split_sizes", "split_with_sizes"), paddle(Copies))]
pub fn split_sizes(x: &Tensor, sizes: &[i64], #[default(0)] axis: i64) -> Result<Value> {
    let at = shape::axis("split_sizes", axis, x.rank())?;
    let n = x.dims()[at];
    let known: Option<usize> = sizes
        .iter()
        .filter(|&&s| s != -1)
        .try_fold(0usize, |sum, &s| sum.checked_add(usize::try_from(s).ok()?));
    let free = sizes.iter().filter(|&&s| s == -1).count();
    let left = match known {
        Some(k) if (free == 0 && k == n) || (free == 1 && k <= n) => n - k,
        _ => bail!(Shape, "split_sizes", "sizes {sizes:?} do not add up to the {n} of axis {axis}"),
    };
    held("split_sizes", sizes.len())?;
    let sizes = sizes.iter().map(|&s| usize::try_from(s).unwrap_or(left));
    Ok(Value::Tuple(spans("split", x, at, sizes)?))
}

/// The tensor cut along an axis into parts of one size; the last one is the remainder.
///
/// ```python
/// >>> [t.shape for t in fg.split_every(fg.ones((5,)), 2)]
/// [(2,), (2,), (1,)]
/// ```
#[op(view)]
pub fn split_every(x: &Tensor, length: i64, #[default(0)] axis: i64) -> Result<Value> {
    let at = shape::axis("split_every", axis, x.rank())?;
    let n = x.dims()[at];
    let size = match usize::try_from(length) {
        Ok(s) if s > 0 || n == 0 => s.max(1),
        _ => bail!(Argument, "split_every", "{length} is not a size to split axis {axis} of size {n} by"),
    };
    let count = n.div_ceil(size).max(1);
    held("split_every", count)?;
    Ok(Value::Tuple(spans("split", x, at, (0..count).map(|i| size.min(n - i * size)))?))
}

/// The tensor cut along an axis into at most `chunks` parts of one size; the last one is the remainder. An axis without
/// elements gives so many parts without any.
///
/// ```python
/// >>> [t.shape for t in fg.chunk(fg.ones((5,)), 2)]
/// [(3,), (2,)]
/// ```
#[op(view, paddle(Copies))]
pub fn chunk(x: &Tensor, chunks: i64, #[default(0)] axis: i64) -> Result<Value> {
    let at = shape::axis("chunk", axis, x.rank())?;
    let n = x.dims()[at];
    let Some(chunks) = usize::try_from(chunks).ok().filter(|&c| c > 0) else {
        bail!(Argument, "chunk", "{chunks} is not a number of parts");
    };
    if n == 0 {
        held("chunk", chunks)?;
        return Ok(Value::Tuple(spans("split", x, at, std::iter::repeat_n(0, chunks))?));
    }
    split_every(x, n.div_ceil(chunks) as i64, axis)
}

/// The slices along an axis, which is removed, as views.
///
/// ```python
/// >>> [t.shape for t in fg.unbind(fg.ones((2, 3)), axis=1)]
/// [(2,), (2,), (2,)]
/// ```
#[op(view, names("unbind", "unstack"), paddle(Copies = "unstack"))]
pub fn unbind(x: &Tensor, #[default(0)] axis: i64) -> Result<Value> {
    let at = shape::axis("unbind", axis, x.rank())?;
    held("unbind", x.dims()[at])?;
    Ok(Value::Tuple(views("unbind", x, (0..x.dims()[at]).map(|i| Region::at(x.dims(), at, i)))?))
}
