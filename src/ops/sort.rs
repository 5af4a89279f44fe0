//! Elements in order along an axis. NaN is greater than every number.

use super::entry::op;
use super::gather::{WithIndices, WithIndicesOp, one_with_index, with_indices};
use crate::array::Array;
use crate::error::{Result, bail};
use crate::graph::{Operands, Tensor};
use crate::kernel::sort::{self, Ranks};
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// The first `k` elements in sorted order.
#[derive(Stored)]
#[stored(in WithIndicesOp)]
struct Sorted {
    op: &'static str,
    back: usize,
    descending: bool,
    k: usize,
}

impl WithIndices for Sorted {
    fn name(&self) -> &'static str {
        self.op
    }

    fn back(&self) -> usize {
        self.back
    }

    fn choose(&self, ins: &[&Array]) -> Result<(Array, Array)> {
        let x = ins[0];
        sort::sort(self.op, x, x.rank() - self.back, self.descending, Ranks::First(self.k))
    }

    fn chosen(&self, ins: &Operands<'_>) -> Option<Dims> {
        let (dtype, dims) = ins.alike::<1>()?;
        let n = *dims.get(dims.len().checked_sub(self.back)?)?;
        if dtype.is_complex() { None } else { shape::resized(dims, self.back, self.k.min(n)) }
    }
}

pub(in crate::ops) fn sorted(
    op: &'static str,
    x: &Tensor,
    axis: i64,
    descending: bool,
) -> Result<(Tensor, Tensor)> {
    let axis = shape::axis(op, axis, x.rank())?;
    with_indices(Sorted { op, back: x.rank() - axis, descending, k: x.dims()[axis] }, &[x])
}

/// The elements in order along an axis, equal ones as they came. NaN is greater than every number.
///
/// ```python
/// >>> fg.sort(fg.tensor([3., 1., 2.])).tolist()
/// [1.0, 2.0, 3.0]
/// ```
#[op(method, heavy, torch(LaidByElements))]
pub fn sort(
    x: &Tensor,
    #[default(-1)] axis: i64,
    #[default(false)] descending: bool,
    #[default(true)] _stable: bool,
) -> Result<Tensor> {
    Ok(sorted("sort", x, axis, descending)?.0)
}

/// Where the elements in order along an axis come from (int64), equal ones as they came.
///
/// ```python
/// >>> fg.argsort(fg.tensor([3., 1., 2.])).tolist()
/// [1, 2, 0]
/// ```
#[op(method, heavy, torch(LaidByElements))]
pub fn argsort(
    x: &Tensor,
    #[default(-1)] axis: i64,
    #[default(false)] descending: bool,
    #[default(true)] _stable: bool,
) -> Result<Tensor> {
    Ok(sorted("argsort", &x.detach(), axis, descending)?.1)
}

/// The elements in order along an axis and (int64) where they come from: `sort` and `argsort` in one.
///
/// ```python
/// >>> values, indices = fg.sort_with_index(fg.tensor([3., 1., 2.]))
/// >>> values.tolist(), indices.tolist()
/// ([1.0, 2.0, 3.0], [1, 2, 0])
/// ```
#[op(method, heavy, torch(LaidByElements))]
pub fn sort_with_index(
    x: &Tensor,
    #[default(-1)] axis: i64,
    #[default(false)] descending: bool,
    #[default(true)] _stable: bool,
) -> Result<(Tensor, Tensor)> {
    sorted("sort_with_index", x, axis, descending)
}

/// The `k` largest (or smallest) elements along an axis, in order, and (int64) where they are: the first of
/// equal ones. The gradient goes there. Raises ArgumentError for a `k` that is negative or greater than the
/// axis.
///
/// ```python
/// >>> values, indices = fg.topk(fg.tensor([3., 1., 2.]), 2)
/// >>> values.tolist(), indices.tolist()
/// ([3.0, 2.0], [0, 2])
/// ```
#[op(method, heavy)]
pub fn topk(
    x: &Tensor,
    k: i64,
    #[default(-1)] axis: i64,
    #[default(true)] largest: bool,
    #[default(true)] _sorted: bool,
) -> Result<(Tensor, Tensor)> {
    let axis = shape::axis("topk", axis, x.rank())?;
    let n = x.dims()[axis];
    let Some(k) = usize::try_from(k).ok().filter(|&k| k <= n) else {
        bail!(
            Argument,
            "topk",
            "selected index k out of range: {k} of the {n} elements on axis {axis} of {:?}",
            x.dims()
        );
    };
    with_indices(Sorted { op: "topk", back: x.rank() - axis, descending: largest, k }, &[x])
}

/// The elements in order along the first axis.
///
/// ```python
/// >>> fg.msort(fg.tensor([3., 1., 2.])).tolist()
/// [1.0, 2.0, 3.0]
/// ```
#[op(method, heavy)]
pub fn msort(x: &Tensor) -> Result<Tensor> {
    if x.rank() == 0 { Ok(x.clone()) } else { Ok(sorted("msort", x, 0, false)?.0) }
}

/// One element along an axis.
#[derive(Stored)]
#[stored(in WithIndicesOp)]
struct One {
    op: &'static str,
    back: usize,
    which: Which,
}

#[derive(Stored)]
enum Which {
    /// The one with so many before it in sorted order.
    Nth(usize),
    Mode,
}

impl WithIndices for One {
    fn name(&self) -> &'static str {
        self.op
    }

    fn back(&self) -> usize {
        self.back
    }

    fn choose(&self, ins: &[&Array]) -> Result<(Array, Array)> {
        let x = ins[0];
        let axis = x.rank() - self.back;
        match self.which {
            Which::Nth(k) => sort::sort(self.op, x, axis, false, Ranks::Nth(k)),
            Which::Mode => sort::mode(self.op, x, axis),
        }
    }

    fn chosen(&self, ins: &Operands<'_>) -> Option<Dims> {
        let (dtype, dims) = ins.alike::<1>()?;
        if dtype.is_complex() { None } else { shape::resized(dims, self.back, 1) }
    }
}

/// The `k`-th smallest element along an axis, counted from 1, and (int64) where it is; the gradient goes there. Raises
/// ArgumentError for a `k` that is below 1 or greater than the axis.
///
/// ```python
/// >>> values, indices = fg.kthvalue(fg.tensor([3., 1., 2.]), 2)
/// >>> values.item(), indices.item()
/// (2.0, 2)
/// ```
#[op(method, heavy)]
pub fn kthvalue(
    x: &Tensor,
    k: i64,
    #[default(-1)] axis: i64,
    #[default(false)] keepdims: bool,
) -> Result<(Tensor, Tensor)> {
    const OP: &str = "kthvalue";
    let axis = shape::axis(OP, axis, x.rank())?;
    let n = x.dims()[axis];
    let Some(k) = usize::try_from(k).ok().filter(|k| (1..=n).contains(k)) else {
        bail!(Argument, OP, "selected number k out of range for dimension {axis}: {k} of {n}");
    };
    one_with_index(One { op: OP, back: x.rank() - axis, which: Which::Nth(k - 1) }, x, keepdims)
}

/// The most frequent element along an axis, the smallest of several, and (int64) the last index where it is; the gradient
/// goes there. Raises ArgumentError where there are no elements.
///
/// ```python
/// >>> values, indices = fg.mode(fg.tensor([3., 1., 3., 2.]))
/// >>> values.item(), indices.item()
/// (3.0, 2)
/// ```
#[op(method, heavy)]
pub fn mode(
    x: &Tensor,
    #[default(-1)] axis: i64,
    #[default(false)] keepdims: bool,
) -> Result<(Tensor, Tensor)> {
    const OP: &str = "mode";
    let axis = shape::axis(OP, axis, x.rank())?;
    if x.dims()[axis] == 0 {
        bail!(Argument, OP, "the axis has no elements");
    }
    one_with_index(One { op: OP, back: x.rank() - axis, which: Which::Mode }, x, keepdims)
}
