//! Elements read and written along one axis by arrays of indices.

use smallvec::{SmallVec, smallvec};

use super::groups::reduced;
use super::places::{
    all, at_least_vector, broadcast_others, covers, line, positions, same_rank, to_write, within,
};
use super::rows::{add_onto, gather_at, join};
use super::slices::narrow;
use super::write::{index_put, put};
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::kernel::index::IndexedAxes;
use crate::ops::entry::{Operand, op};
use crate::ops::movement::region::{AxisPart, Region, view};
use crate::ops::movement::{broadcast_to, cast, reshape_to};
use crate::ops::{self, Index};
use crate::shape::{self, Dims};

/// The slices of an axis at `n` indices known here.
pub(in crate::ops) fn take_along(
    op: &'static str,
    x: &Tensor,
    at: usize,
    n: usize,
    indices: impl Iterator<Item = i64>,
) -> Result<Tensor> {
    take_at(op, x, at, &line(op, n, indices)?)
}

/// The slices of an axis at indices; the axes of the indices replace the axis.
fn take_at(op: &'static str, x: &Tensor, at: usize, indices: &Tensor) -> Result<Tensor> {
    let positions = join(op, &[indices], smallvec![x.dims()[at]], smallvec![at])?;
    gather_at(op, x, IndexedAxes { outer: at, merged: 1 }, &positions)
}

/// The slices of an axis at indices; the axes of the indices replace the axis; without `axis`, the elements of the
/// flattened tensor. Negative indices count from the end.
///
/// Raises IndexOutOfRange.
///
/// ```python
/// >>> fg.take(fg.tensor([[1, 2], [3, 4]]), fg.tensor([1, 0, 1]), axis=1).numpy()
/// array([[2, 1, 2],
///        [4, 3, 4]])
/// ```
#[op(method, half, reads_lent)]
pub fn take(x: &Tensor, indices: &Tensor, #[default(None)] axis: Option<i64>) -> Result<Tensor> {
    match axis {
        Some(axis) => take_at("take", x, shape::axis("take", axis, x.rank())?, indices),
        None => take_at("take", &reshape_to(x, &[shape::len(x.dims())])?, 0, indices),
    }
}

/// The slices of an axis at the indices of a vector.
///
/// ```python
/// >>> fg.index_select(fg.tensor([1, 2, 3]), 0, fg.tensor([2, 0])).numpy()
/// array([3, 1])
/// ```
#[op(method, half, reads_lent, torch(FromZero))]
pub fn index_select(x: &Tensor, axis: i64, index: &Tensor) -> Result<Tensor> {
    if index.rank() > 1 {
        bail!(Shape, "index_select", "the indices have one axis, not the shape {:?}", index.dims());
    }
    let index = if index.rank() == 0 { reshape_to(index, &[1])? } else { index.clone() };
    take_at("index_select", x, shape::axis("index_select", axis, x.rank())?, &index)
}

/// The elements along an axis at indices: for axis 1, `out[i, j] = x[i, index[i, j]]`. The indices have as
/// many axes as `x` and are no larger on the others.
///
/// ```python
/// >>> fg.gather(fg.tensor([[1, 2], [3, 4]]), 1, fg.tensor([[1, 1], [0, 0]])).numpy()
/// array([[2, 2],
///        [3, 3]])
/// ```
#[op(method, half, reads_lent, torch(FromZero))]
pub fn gather(x: &Tensor, axis: i64, index: &Tensor) -> Result<Tensor> {
    const OP: &str = "gather";
    if x.rank() == 0 || index.rank() == 0 {
        return reshape_to(&gather(&at_least_vector(x)?, axis, &at_least_vector(index)?)?, index.dims());
    }
    // Indices of none take elements of none, whatever their axes.
    if shape::len(index.dims()) == 0 && index.rank() != x.rank() {
        return reshape_to(&narrow(&reshape_to(x, &[shape::len(x.dims())])?, 0, 0, 0)?, index.dims());
    }
    let at = same_rank(OP, x, index, axis)?;
    within(OP, x, at, index)?;
    if covers(x, at, index) {
        return beside(OP, x, at, index);
    }
    gather_at(OP, x, all(x.rank()), &positions(OP, x.dims(), at, index)?)
}

/// The elements along an axis, for indices of the full size on the other axes.
fn beside(op: &'static str, x: &Tensor, at: usize, index: &Tensor) -> Result<Tensor> {
    let places = join(op, &[index], smallvec![x.dims()[at]], smallvec![at])?;
    ops::gather::gather(op, x, &places, x.rank() - at)
}

/// The elements along an axis at indices, such as `argsort` gives; the other axes broadcast. With axis None,
/// of the flattened tensor.
///
/// ```python
/// >>> fg.take_along_axis(fg.tensor([[1, 2], [3, 4]]), fg.tensor([[1], [0]]), 1).numpy()
/// array([[2],
///        [3]])
/// ```
#[op(method, half, reads_lent)]
pub fn take_along_axis(x: &Tensor, indices: &Tensor, #[default(-1)] axis: Option<i64>) -> Result<Tensor> {
    const OP: &str = "take_along_axis";
    let Some(axis) = axis else {
        return take_along_axis(&reshape_to(x, &[shape::len(x.dims())])?, indices, Some(0));
    };
    let at = same_rank(OP, x, indices, axis)?;
    let (wide, indices) = broadcast_others(OP, x, at, indices)?;
    if covers(x, at, &indices) {
        return beside(OP, x, at, &indices);
    }
    gather_at(OP, &wide, all(x.rank()), &positions(OP, wide.dims(), at, &indices)?)
}

/// `x` with values written (`reduce` 'assign') at indices along an axis, or reduced with each other and, with
/// `include_self`, the element of `x`: 'add', 'mul', 'mean', 'amax' or 'amin'. Indices and values broadcast
/// to `x` on the other axes. If a position is written twice, the last value stays.
///
/// ```python
/// >>> fg.put_along_axis(fg.zeros((2, 2)), fg.tensor([[1], [0]]), 5., 1).numpy()
/// array([[0., 5.],
///        [5., 0.]], dtype=float32)
/// ```
#[op(in_place, torch(LaidInCOrder))]
pub fn put_along_axis(
    x: &Tensor,
    indices: &Tensor,
    values: Operand<'_>,
    #[default(-1)] axis: Option<i64>,
    #[default("assign")] reduce: &str,
    #[default(true)] include_self: bool,
) -> Result<Tensor> {
    const OP: &str = "put_along_axis";
    let Some(axis) = axis else {
        let flat = reshape_to(x, &[shape::len(x.dims())])?;
        return reshape_to(&put_along_axis(&flat, indices, values, Some(0), reduce, include_self)?, x.dims());
    };
    let at = same_rank(OP, x, indices, axis)?;
    let mut dims: Dims = x.dims().into();
    dims[at] = indices.dims()[at];
    let values = to_write(OP, values, x.dtype())?;
    written(OP, x, at, &broadcast_to(indices, &dims)?, &broadcast_to(&values, &dims)?, reduce, include_self)
}

fn reduce_is_sum(reduce: &str) -> bool {
    matches!(reduce, "add" | "sum")
}

/// Values written at indices along an axis, or reduced with each other and the elements of `x`. Both have one shape.
fn written(
    op: &'static str,
    x: &Tensor,
    at: usize,
    index: &Tensor,
    values: &Tensor,
    reduce: &str,
    include_self: bool,
) -> Result<Tensor> {
    if x.dtype() == DType::Bool && (reduce_is_sum(reduce) || matches!(reduce, "mul" | "multiply" | "prod")) {
        // Any and all of truth values are sums and products of integers.
        let (x, values) = (cast(x, DType::I64)?, cast(values, DType::I64)?);
        return cast(&written(op, &x, at, index, &values, reduce, include_self)?, DType::Bool);
    }
    if covers(x, at, index) {
        let (back, n) = (x.rank() - at, x.dims()[at]);
        let places = || join(op, &[index], smallvec![n], smallvec![at]);
        if reduce_is_sum(reduce) && include_self {
            return ops::gather::scatter_add_onto(op, x, &places()?, values, back);
        }
        if reduce == "assign"
            && let Some(whole) = ops::gather::scatter(op, x, &places()?, values, back)
        {
            return whole;
        }
    }
    let positions = positions(op, x.dims(), at, index)?;
    match reduce {
        "assign" => {
            let flat = reshape_to(x, &[shape::len(x.dims())])?;
            reshape_to(&put(&flat, &[Index::Tensor(positions)], Operand::Tensor(values))?, x.dims())
        }
        _ if reduce_is_sum(reduce) && include_self => add_onto(op, x, all(x.rank()), &positions, values),
        _ => reduced(op, x, &positions, values, reduce, include_self),
    }
}

/// The leading part of the values, of the shape of the indices.
fn cut(op: &'static str, src: Operand<'_>, x: &Tensor, index: &Tensor) -> Result<Tensor> {
    let src = to_write(op, src, x.dtype())?;
    if src.rank() == 0 {
        return broadcast_to(&src, index.dims());
    }
    if src.rank() != index.rank() || src.dims().iter().zip(index.dims()).any(|(s, i)| s < i) {
        bail!(
            Shape,
            op,
            "values of shape {:?} do not cover the indices of shape {:?}",
            src.dims(),
            index.dims()
        );
    }
    let part = |&count: &usize| AxisPart::Span { start: 0, step: 1, count };
    view(op, &src, Region::Box(index.dims().iter().map(part).collect()))
}

/// `x` with the elements of `src` written at indices along an axis: for axis 1, `out[i, index[i, j]] = src[i,
/// j]`. If a position is written twice, the last value stays.
///
/// ```python
/// >>> fg.scatter(fg.zeros((1, 3)), 1, fg.tensor([[2, 0]]), fg.tensor([[1., 2.]])).numpy()
/// array([[2., 0., 1.]], dtype=float32)
/// ```
#[op(in_place, torch(FromZero, LaidInCOrder))]
pub fn scatter(x: &Tensor, axis: i64, index: &Tensor, src: Operand<'_>) -> Result<Tensor> {
    scattered("scatter", x, axis, index, src, "assign", true)
}

/// `x` with the elements of `src` added at indices along an axis: for axis 1, `out[i, index[i, j]] += src[i,
/// j]`.
///
/// ```python
/// >>> fg.scatter_add(fg.zeros((1, 2)), 1, fg.tensor([[1, 1]]), fg.tensor([[1., 2.]])).numpy()
/// array([[0., 3.]], dtype=float32)
/// ```
#[op(in_place, torch(FromZero, LaidInCOrder))]
pub fn scatter_add(x: &Tensor, axis: i64, index: &Tensor, src: Operand<'_>) -> Result<Tensor> {
    scattered("scatter_add", x, axis, index, src, "add", true)
}

/// `x` with the elements of `src` reduced by position: for axis 1, all `src[i, j]` with one `index[i, j]`
/// become one element, by `reduce`: 'sum', 'prod', 'mean', 'amax' or 'amin'. With `include_self` the element
/// of `x` counts too. Equal extreme elements share the gradient.
///
/// ```python
/// >>> fg.scatter_reduce(fg.zeros((2,)), 0, fg.tensor([1, 1]), fg.tensor([3., 2.]), 'amax').numpy()
/// array([0., 3.], dtype=float32)
/// ```
#[op(in_place, torch(FromZero, LaidInCOrder))]
pub fn scatter_reduce(
    x: &Tensor,
    axis: i64,
    index: &Tensor,
    src: Operand<'_>,
    reduce: &str,
    #[default(true)] include_self: bool,
) -> Result<Tensor> {
    scattered("scatter_reduce", x, axis, index, src, reduction("scatter_reduce", reduce)?, include_self)
}

/// The reduction's name; refuses 'assign'.
fn reduction<'a>(op: &'static str, reduce: &'a str) -> Result<&'a str> {
    if reduce == "assign" {
        bail!(Argument, op, "reduce is 'sum', 'prod', 'mean', 'amax' or 'amin', not '{reduce}'");
    }
    Ok(reduce)
}

fn scattered(
    op: &'static str,
    x: &Tensor,
    axis: i64,
    index: &Tensor,
    src: Operand<'_>,
    reduce: &str,
    include_self: bool,
) -> Result<Tensor> {
    if x.rank() == 0 || index.rank() == 0 {
        let (own, index) = (at_least_vector(x)?, at_least_vector(index)?);
        return reshape_to(&scattered(op, &own, axis, &index, src, reduce, include_self)?, x.dims());
    }
    let at = same_rank(op, x, index, axis)?;
    within(op, x, at, index)?;
    written(op, x, at, index, &cut(op, src, x, index)?, reduce, include_self)
}

/// The parts of an index expression for indices of one axis.
fn along(op: &'static str, x: &Tensor, axis: i64, index: &Tensor) -> Result<SmallVec<[Index; 4]>> {
    let at = shape::axis(op, axis, x.rank())?;
    let whole = Index::Slice { start: None, stop: None, step: None };
    Ok((0..at).map(|_| whole.clone()).chain([Index::Tensor(index.clone())]).collect())
}

/// `x` with the slices of `source` added at the indices of a vector along an axis.
///
/// ```python
/// >>> fg.index_add(fg.zeros((2,)), 0, fg.tensor([1, 1]), fg.tensor([1., 2.])).numpy()
/// array([0., 3.], dtype=float32)
/// ```
#[op(in_place, torch(FromZero, LaidInCOrder))]
pub fn index_add(x: &Tensor, axis: i64, index: &Tensor, source: &Tensor) -> Result<Tensor> {
    index_put(x, &along("index_add", x, axis, index)?, Operand::Tensor(source), true)
}

/// `x` with the slices of `source` at the same index of a vector reduced to one, as in `scatter_reduce`.
///
/// ```python
/// >>> fg.index_reduce(fg.ones((2,)), 0, fg.tensor([1, 1]), fg.tensor([3., 2.]), 'prod').numpy()
/// array([1., 6.], dtype=float32)
/// ```
#[op(in_place, torch(FromZero, LaidInCOrder))]
pub fn index_reduce(
    x: &Tensor,
    axis: i64,
    index: &Tensor,
    source: &Tensor,
    reduce: &str,
    #[default(true)] include_self: bool,
) -> Result<Tensor> {
    const OP: &str = "index_reduce";
    if x.rank() == 0 && source.rank() == 0 {
        let (x, source) = (at_least_vector(x)?, at_least_vector(source)?);
        return reshape_to(&index_reduce(&x, axis, index, &source, reduce, include_self)?, &[]);
    }
    let at = shape::axis(OP, axis, x.rank())?;
    let mut dims: Dims = x.dims().into();
    dims[at] = shape::len(index.dims());
    if index.rank() > 1 || source.dims() != dims.as_slice() {
        bail!(
            Shape,
            OP,
            "indices of shape {:?} on axis {at} of {:?} want a source of shape {dims:?}, not {:?}",
            index.dims(),
            x.dims(),
            source.dims()
        );
    }
    let mut own: Dims = smallvec![1; x.rank()];
    own[at] = dims[at];
    let index = broadcast_to(&reshape_to(index, &own)?, &dims)?;
    let source = to_write(OP, source.into(), x.dtype())?;
    written(OP, x, at, &index, &source, reduction(OP, reduce)?, include_self)
}

/// `x` with the slices of `source` written at the indices of a vector along an axis.
///
/// ```python
/// >>> fg.index_copy(fg.zeros((3,)), 0, fg.tensor([2, 0]), fg.tensor([1., 2.])).numpy()
/// array([2., 0., 1.], dtype=float32)
/// ```
#[op(in_place, torch(FromZero, LaidInCOrder))]
pub fn index_copy(x: &Tensor, axis: i64, index: &Tensor, source: &Tensor) -> Result<Tensor> {
    index_put(x, &along("index_copy", x, axis, index)?, Operand::Tensor(source), false)
}

/// `x` with a number written over the slices at the indices of a vector along an axis.
///
/// ```python
/// >>> fg.index_fill(fg.zeros((3,)), 0, fg.tensor([0, 2]), 7).numpy()
/// array([7., 0., 7.], dtype=float32)
/// ```
#[op(in_place, torch(LaidInCOrder, WrapsNegative))]
pub fn index_fill(x: &Tensor, axis: i64, index: &Tensor, value: Operand<'_>) -> Result<Tensor> {
    put(x, &along("index_fill", x, axis, index)?, value)
}
