//! Axes folded into one number.

use smallvec::SmallVec;

use super::entry::{Axes, entries};
use super::movement::{Lin, Linear, broadcast_to, cast, reshape_to};
use crate::array::Array;
use crate::dtype::{DType, Kind};
use crate::error::Result;
use crate::graph::{Saved, Tensor, apply};
use crate::kernel::reduce::{self, Table, reduce_table};
use crate::shape::{self, Dims};

pub(super) const SUM: &Table = reduce_table!(num T::ZERO; acc, x => acc.add(x));

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

    /// The fold of an array, with the folded axes back as size 1 if they are to stay.
    pub(super) fn fold(&self, x: &Array, f: impl FnOnce(&[usize]) -> Result<Array>) -> Result<Array> {
        let axes = self.axes(x.rank());
        let out = f(&axes)?;
        if self.keepdims { out.reshape(&self.ones(x.dims(), &axes)) } else { Ok(out) }
    }

    fn ones(&self, dims: &[usize], axes: &[usize]) -> Dims {
        dims.iter().enumerate().map(|(i, &d)| if axes.contains(&i) { 1 } else { d }).collect()
    }

    /// A tensor of the folded shape with the folded axes as size 1: it broadcasts against the unfolded one.
    pub(super) fn unfold(&self, g: &Tensor, dims: &[usize]) -> Result<Tensor> {
        reshape_to(g, &self.ones(dims, &self.axes(dims.len())))
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

/// The sum over axes. Truth values and integers narrower than 64 bits are summed in 64 bits.
pub fn sum(x: &Tensor, axis: Axes<'_>, keepdims: bool, dtype: Option<DType>) -> Result<Tensor> {
    let wide = match (dtype, x.dtype().kind()) {
        (Some(d), _) => d,
        (None, Kind::Float) => x.dtype(),
        (None, _) if x.dtype().is_unsigned() => DType::U64,
        (None, _) => DType::I64,
    };
    let folded = Folded::new("sum", axis, keepdims, x.rank())?;
    apply(Lin(Sum(folded)), &[&cast(x, wide)?])
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
    if x.dims() == dims { Ok(x.clone()) } else { apply(Lin(SumTo(Dims::from_slice(dims))), &[x]) }
}

entries! {
    method sum (x: &Tensor, axis: Axes<'_> = None, keepdims: bool = False, dtype: Option<DType> = None)
        "The sum over axes (all of them if none are named).";
}
