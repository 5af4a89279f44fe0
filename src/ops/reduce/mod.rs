//! Axes folded into one number: what all folds share, sums and means.

pub(crate) mod extreme;
pub(crate) mod logic;
pub(crate) mod moments;
pub(crate) mod nan;
pub(crate) mod norm;
pub(crate) mod product;

use smallvec::SmallVec;

use super::arithmetic::divide_same;
use super::entry::{Axes, op};
use super::movement::{Linear, LinearOp, broadcast_to, cast, permute_dims, reshape_to};
use super::promote::promoted_float;
use crate::array::Array;
use crate::dtype::{DType, DTypeKind};
use crate::error::Result;
use crate::graph::{Saved, Tensor, apply};
use crate::kernel::reduce::{self, ReduceLoops, reduce_loops};
use crate::shape::{self, Dims};

pub use extreme::{argmax, argmin, max, max_with_index, median, median_with_index, min, min_with_index};
pub use logic::{all, any, count_nonzero};
pub use moments::{std, var};
pub use norm::norm;
pub use product::prod;

pub(super) const SUM: &ReduceLoops = reduce_loops!(num T::ZERO; acc, x => acc.add(x));

/// Which axes are folded, counted back from the last one (so that hidden axes before them do not matter).
#[derive(Clone)]
pub(super) struct Folded {
    back: SmallVec<[usize; 4]>,
    keepdims: bool,
}

impl Folded {
    pub(super) fn new(op: &'static str, axis: Axes<'_>, keepdims: bool, rank: usize) -> Result<Folded> {
        let axes = match axis {
            None => (0..rank).collect(),
            Some(list) => shape::axes(op, list, rank)?,
        };
        Ok(Folded { back: axes.iter().map(|a| rank - a).collect(), keepdims })
    }

    /// The axes of an array of this rank.
    pub(super) fn axes(&self, rank: usize) -> SmallVec<[usize; 4]> {
        self.back.iter().map(|b| rank - b).collect()
    }

    /// The number of elements that become one.
    pub(super) fn count(&self, dims: &[usize]) -> usize {
        self.axes(dims.len()).iter().map(|&a| dims[a]).product()
    }

    /// The fold of an array, with the folded axes back as size 1 if they are to stay.
    pub(super) fn fold(&self, x: &Array, f: impl FnOnce(&[usize]) -> Result<Array>) -> Result<Array> {
        let axes = self.axes(x.rank());
        let out = f(&axes)?;
        if self.keepdims { out.reshape(&ones(x.dims(), &axes)) } else { Ok(out) }
    }

    /// A tensor of the folded shape with the folded axes as size 1: it broadcasts against the unfolded one.
    pub(super) fn unfold(&self, g: &Tensor, dims: &[usize]) -> Result<Tensor> {
        reshape_to(g, &ones(dims, &self.axes(dims.len())))
    }

    /// The axes in an order that has the folded ones last.
    fn order(&self, rank: usize) -> Vec<i64> {
        let axes = self.axes(rank);
        (0..rank).filter(|a| !axes.contains(a)).chain(axes.iter().copied()).map(|a| a as i64).collect()
    }

    /// The tensor with the folded axes as one, the last.
    pub(super) fn rows(&self, x: &Tensor) -> Result<Tensor> {
        let moved = permute_dims(x, &self.order(x.rank()))?;
        let kept = x.rank() - self.back.len();
        let dims: Dims = moved.dims()[..kept].iter().copied().chain([self.count(x.dims())]).collect();
        reshape_to(&moved, &dims)
    }

    /// The inverse of [`Folded::rows`], given the shape before.
    pub(super) fn unrows(&self, rows: &Tensor, dims: &[usize]) -> Result<Tensor> {
        let order = self.order(dims.len());
        let moved: Dims = order.iter().map(|&a| dims[a as usize]).collect();
        let mut back = order.clone();
        for (i, &a) in order.iter().enumerate() {
            back[a as usize] = i as i64;
        }
        permute_dims(&reshape_to(rows, &moved)?, &back)
    }

    /// The shape of the fold.
    pub(super) fn dims(&self, dims: &[usize]) -> Dims {
        let axes = self.axes(dims.len());
        if self.keepdims {
            return ones(dims, &axes);
        }
        dims.iter().enumerate().filter(|(i, _)| !axes.contains(i)).map(|(_, &d)| d).collect()
    }

    /// The sum over these axes.
    pub(super) fn sum(&self, x: &Tensor) -> Result<Tensor> {
        apply(LinearOp(Sum(self.clone())), &[x])
    }
}

/// A shape with some axes of size 1.
fn ones(dims: &[usize], axes: &[usize]) -> Dims {
    dims.iter().enumerate().map(|(i, &d)| if axes.contains(&i) { 1 } else { d }).collect()
}

/// The dtype of sums and products: that asked for, else that of a float, else 64 bits.
pub(super) fn wide(dtype: Option<DType>, of: DType) -> DType {
    match (dtype, of.kind()) {
        (Some(d), _) => d,
        (None, DTypeKind::Float) => of,
        (None, _) if of.is_unsigned() => DType::U64,
        (None, _) => DType::I64,
    }
}

#[derive(Clone)]
struct Sum(Folded);

impl Linear for Sum {
    const NAME: &'static str = "sum";

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        self.0.fold(x, |axes| reduce::apply("sum", SUM, x, axes))
    }

    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        broadcast_to(&self.0.unfold(g, s.dims(0))?, s.dims(0))
    }
}

/// The sum over axes (all of them if none are named). Truth values and integers are summed in 64 bits.
///
/// ```python
/// >>> fg.sum(fg.tensor([[1., 2.], [3., 4.]]), axis=0).tolist()
/// [4.0, 6.0]
/// ```
#[op(method)]
pub fn sum(
    x: &Tensor,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
    #[default(None)] dtype: Option<DType>,
) -> Result<Tensor> {
    let folded = Folded::new("sum", axis, keepdims, x.rank())?;
    folded.sum(&cast(x, wide(dtype, x.dtype()))?)
}

/// The mean over axes (all of them if none are named), a float. NaN where there is nothing to take it of.
///
/// ```python
/// >>> fg.mean(fg.tensor([[1., 2.], [3., 4.]]), axis=1).tolist()
/// [1.5, 3.5]
/// ```
#[op(method)]
pub fn mean(
    x: &Tensor,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
    #[default(None)] dtype: Option<DType>,
) -> Result<Tensor> {
    let folded = Folded::new("mean", axis, keepdims, x.rank())?;
    let x = dtype.map_or_else(|| Ok(x.clone()), |d| cast(x, d))?;
    let x = promoted_float(&x)?;
    divide_same(&folded.sum(&x)?, &Tensor::scalar_of(x.dtype(), folded.count(x.dims()) as f64))
}

#[derive(Clone)]
struct SumTo(Dims);

impl Linear for SumTo {
    const NAME: &'static str = "sum_to";

    fn array(&self, x: &Array, lanes: usize) -> Result<Array> {
        let extra = x.rank() - lanes - self.0.len();
        let folded = |&i: &usize| i < lanes + extra || (self.0[i - lanes - extra] == 1 && x.dims()[i] != 1);
        let axes: Dims = (lanes..x.rank()).filter(folded).collect();
        let dims: Dims = x.dims()[..lanes].iter().chain(&self.0).copied().collect();
        reduce::apply("sum_to", SUM, x, &axes)?.reshape(&dims)
    }

    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        broadcast_to(g, s.dims(0))
    }
}

/// The sum down to a shape that broadcasts to the tensor's: broadcasting undone.
pub fn sum_to(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    if x.dims() == dims { Ok(x.clone()) } else { apply(LinearOp(SumTo(Dims::from_slice(dims))), &[x]) }
}
