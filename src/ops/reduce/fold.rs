//! The reduced axes of a reduction, and the sum over them.

use smallvec::SmallVec;

use crate::array::Array;
use crate::dtype::{DType, DTypeKind};
use crate::error::Result;
use crate::graph::{Loops, Made, Operands, Saved, Tensor, apply};
use crate::kernel::reduce::{self};
use crate::ops::entry::Axes;
use crate::ops::linear::{Linear, LinearOp};
use crate::ops::movement::{SUM, broadcast_to, cast, permute_dims, reshape_to};
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// The reduced axes, counted from the end, so that hidden axes do not matter.
#[derive(Clone, Stored)]
pub(in crate::ops) struct Folded {
    pub(super) back: SmallVec<[usize; 4]>,
    keepdims: bool,
}

impl Folded {
    pub(in crate::ops) fn new(
        op: &'static str,
        axis: Axes<'_>,
        keepdims: bool,
        rank: usize,
    ) -> Result<Folded> {
        let mut back = match axis {
            None => (0..rank).collect(),
            Some(list) => shape::axes(op, list, rank)?,
        };
        back.iter_mut().for_each(|axis| *axis = rank - *axis);
        Ok(Folded { back, keepdims })
    }

    /// The same axes of pairs of parts, and the axis of the pairs, of which none is kept.
    pub(super) fn with_pairs(&self) -> Folded {
        Folded { back: self.back.iter().map(|b| b + 1).chain([1]).collect(), keepdims: false }
    }

    /// The axes of an array of this rank.
    pub(in crate::ops) fn axes(&self, rank: usize) -> SmallVec<[usize; 4]> {
        self.back.iter().map(|b| rank - b).collect()
    }

    /// [`Folded::axes`], or None if an array of this rank has not all of them, or they are not in order.
    fn checked_axes(&self, rank: usize) -> Option<Dims> {
        let are_in_order = self.back.windows(2).all(|pair| pair[0] > pair[1]) && self.back.last() != Some(&0);
        self.back.iter().map(|&b| rank.checked_sub(b).filter(|_| are_in_order)).collect()
    }

    /// [`Folded::dims`] of a shape with hidden axes, or None if an array of this shape has not all of the axes.
    pub(super) fn checked_dims(&self, dims: &[usize], batch_ndim: usize) -> Option<Dims> {
        self.checked_axes(dims.len().checked_sub(batch_ndim)?)?;
        Some(self.dims(dims))
    }

    /// What a fold of one operand makes, if its results are of this dtype.
    pub(super) fn makes(&self, ins: &Operands<'_>, dtype: Option<DType>) -> Option<Made> {
        let [dims] = ins.dims else { return None };
        Some(Made::from_elem((dtype?, self.checked_dims(dims, ins.batch_ndim)?), 1))
    }

    /// The number of elements that are reduced to one.
    pub(in crate::ops) fn count(&self, dims: &[usize]) -> usize {
        self.axes(dims.len()).iter().map(|&a| dims[a]).product()
    }

    /// The reduction of an array by `f`, with the reduced axes as size 1 if they are kept.
    pub(in crate::ops) fn fold(&self, x: &Array, f: impl FnOnce(&[usize]) -> Result<Array>) -> Result<Array> {
        let axes = self.axes(x.rank());
        let out = f(&axes)?;
        if self.keepdims { out.reshape(&ones(x.dims(), &axes)) } else { Ok(out) }
    }

    /// A reduced tensor with the reduced axes as size 1, so that it broadcasts against the input.
    pub(in crate::ops) fn unfold(&self, g: &Tensor, dims: &[usize]) -> Result<Tensor> {
        reshape_to(g, &ones(dims, &self.axes(dims.len())))
    }

    /// A shape with the reduced axes as size 1.
    pub(super) fn kept(&self, dims: &[usize]) -> Dims {
        ones(dims, &self.axes(dims.len()))
    }

    /// The axes, with the reduced ones last.
    fn order(&self, rank: usize) -> Vec<i64> {
        let axes = self.axes(rank);
        (0..rank).filter(|a| !axes.contains(a)).chain(axes.iter().copied()).map(|a| a as i64).collect()
    }

    /// The tensor with the reduced axes merged into the last one.
    pub(in crate::ops) fn rows(&self, x: &Tensor) -> Result<Tensor> {
        let moved = permute_dims(x, &self.order(x.rank()))?;
        let kept = x.rank() - self.back.len();
        let dims: Dims = moved.dims()[..kept].iter().copied().chain([self.count(x.dims())]).collect();
        reshape_to(&moved, &dims)
    }

    /// The inverse of [`Folded::rows`], given the shape before.
    pub(in crate::ops) fn unrows(&self, rows: &Tensor, dims: &[usize]) -> Result<Tensor> {
        let order = self.order(dims.len());
        let moved: Dims = order.iter().map(|&a| dims[a as usize]).collect();
        let mut back = order.clone();
        for (i, &a) in order.iter().enumerate() {
            back[a as usize] = i as i64;
        }
        permute_dims(&reshape_to(rows, &moved)?, &back)
    }

    /// The reduced shape.
    pub(in crate::ops) fn dims(&self, dims: &[usize]) -> Dims {
        let axes = self.axes(dims.len());
        if self.keepdims {
            return ones(dims, &axes);
        }
        dims.iter().enumerate().filter(|(i, _)| !axes.contains(i)).map(|(_, &d)| d).collect()
    }

    /// The sum over these axes.
    pub(in crate::ops) fn sum(&self, x: &Tensor) -> Result<Tensor> {
        apply(LinearOp(Sum(self.clone())), &[x])
    }
}

/// A shape with some axes of size 1.
fn ones(dims: &[usize], axes: &[usize]) -> Dims {
    dims.iter().enumerate().map(|(i, &d)| if axes.contains(&i) { 1 } else { d }).collect()
}

/// The dtype of sums and products: the given one, else that of a float or complex number, else 64 bits.
pub(in crate::ops) fn wide(dtype: Option<DType>, of: DType) -> DType {
    match (dtype, of.kind()) {
        (Some(d), _) => d,
        (None, DTypeKind::Float | DTypeKind::Complex) => of,
        (None, _) if of.is_unsigned() => DType::U64,
        (None, _) => DType::I64,
    }
}

/// A sum or product as a truth value: whether any, or all, of the elements are not zero.
pub(in crate::ops) fn in_bool(x: &Tensor, total: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    cast(&total(&cast(x, DType::Bool)?)?, DType::Bool)
}

#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct Sum(Folded);

impl Linear for Sum {
    const NAME: &'static str = "sum";

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        self.0.fold(x, |axes| reduce::apply("sum", SUM, x, axes))
    }

    fn lower(&self, x: &Operands<'_>) -> Option<Loops> {
        let [dims] = x.dims else { return None };
        Some(Loops::Fold(SUM, self.0.checked_axes(dims.len())?, self.0.checked_dims(dims, x.batch_ndim)?))
    }

    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        broadcast_to(&self.0.unfold(g, s.dims(0))?, s.dims(0))
    }
}
