//! A tensor broadcast to a shape, and summed back to it.

use smallvec::{SmallVec, smallvec};

use super::cast::cast;
use super::shapes::{flatten, reshape_to};
use crate::array::{Array, Layout};
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::{Loops, Operands, Saved, Tensor, apply};
use crate::kernel::copy::IndexMap;
use crate::kernel::reduce::{self, ReduceLoops, reduce_loops};
use crate::ops::entry::{Rest, op};
use crate::ops::linear::{Linear, LinearOp, with_hidden};
use crate::ops::sizes::{held, sizes};
use crate::shape::{self, Dims};
use crate::stored::Stored;

#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct Expand(Dims);

impl Linear for Expand {
    const NAME: &'static str = "expand";
    const TAKES_HALF: bool = true;
    const IS_VIEW: bool = true;

    fn array(&self, x: &Array, batch_ndim: usize) -> Result<Array> {
        Ok(x.expand(&with_hidden(x.dims(), batch_ndim, &self.0), batch_ndim))
    }

    fn lower(&self, x: &Operands<'_>) -> Option<Loops> {
        let [own] = x.dims else { return None };
        let dims = with_hidden(own, x.batch_ndim, &self.0);
        Some(Loops::Moves(IndexMap::of(Layout::contiguous(own).broadcast(&dims, x.batch_ndim)?)))
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
    let fits = |(own, to): (&usize, &usize)| own == to || *own == 1;
    if x.rank() > dims.len() || !x.dims().iter().rev().zip(dims.iter().rev()).all(fits) {
        shape::broadcast("broadcast_to", x.dims(), dims)?;
        bail!(Shape, "broadcast_to", "{:?} does not broadcast to {dims:?}", x.dims());
    }
    apply(LinearOp(Expand(shape::dims(dims))), &[x])
}

/// The tensor repeated, without a copy, to a shape that it broadcasts to; -1 keeps the size of an axis.
///
/// Raises ShapeError where the shapes do not go together.
///
/// ```python
/// >>> fg.broadcast_to(fg.ones((3, 1)), (2, -1, 4)).shape
/// (2, 3, 4)
/// ```
#[op(view, names("expand", "broadcast_to"), paddle(Copies))]
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
#[op(view, paddle(Copies))]
pub fn expand_as(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    broadcast_to(x, y.dims())
}

/// Tensors broadcast against each other, without copies.
///
/// ```python
/// >>> [t.shape for t in fg.broadcast_tensors(fg.ones((2, 1)), fg.ones((3,)))]
/// [(2, 3), (2, 3)]
/// ```
#[op(function, names("broadcast_tensors", "broadcast_arrays"), half)]
pub fn broadcast_tensors(tensors: Rest<'_>) -> Result<Vec<Tensor>> {
    let Rest(tensors) = tensors;
    let dims =
        tensors.iter().try_fold(Dims::new(), |d, t| shape::broadcast("broadcast_tensors", &d, t.dims()))?;
    tensors.iter().map(|t| broadcast_to(t, &dims)).collect()
}

/// The coordinates of a grid, one tensor for each axis, as views. `indexing` is 'xy' (the first two axes
/// swapped, as on a plot) or 'ij'.
///
/// ```python
/// >>> [t.shape for t in fg.meshgrid(fg.ones((2,)), fg.ones((3,)), indexing='ij')]
/// [(2, 3), (2, 3)]
/// ```
#[op(function)]
pub fn meshgrid(tensors: Rest<'_>, #[default("xy")] indexing: &str) -> Result<Vec<Tensor>> {
    let Rest(tensors) = tensors;
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

const ROW: &ReduceLoops = reduce_loops!(field T::ZERO; acc, x => acc.add(x));
pub(in crate::ops) const SUM: &ReduceLoops = &ROW.of_sums(reduce::tiles::sums);

#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct SumTo(Dims);

impl Linear for SumTo {
    const NAME: &'static str = "sum_to";

    fn array(&self, x: &Array, batch_ndim: usize) -> Result<Array> {
        let dims = with_hidden(x.dims(), batch_ndim, &self.0);
        reduce::apply("sum_to", SUM, x, &self.axes(x.dims(), batch_ndim))?.reshape(&dims)
    }

    fn lower(&self, x: &Operands<'_>) -> Option<Loops> {
        let [own] = x.dims else { return None };
        let extra = own.len().checked_sub(x.batch_ndim)?.checked_sub(self.0.len())?;
        let mut kept = own[x.batch_ndim + extra..].iter().zip(&self.0);
        let fits = kept.all(|(&from, &to)| from == to || to == 1);
        let dims = || with_hidden(own, x.batch_ndim, &self.0);
        fits.then(|| Loops::Fold(SUM, self.axes(own, x.batch_ndim), dims()))
    }

    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        broadcast_to(g, s.dims(0))
    }
}

impl SumTo {
    /// The axes over which a shape is summed.
    fn axes(&self, dims: &[usize], batch_ndim: usize) -> Dims {
        let extra = dims.len() - batch_ndim - self.0.len();
        let folded =
            |&i: &usize| i < batch_ndim + extra || (self.0[i - batch_ndim - extra] == 1 && dims[i] != 1);
        (batch_ndim..dims.len()).filter(folded).collect()
    }
}

/// The sum down to a shape that broadcasts to the tensor's: broadcasting undone. Truth values are counted in int64.
pub fn sum_to(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    if x.dims() == dims {
        return Ok(x.clone());
    }
    if x.dtype() == DType::Bool {
        return sum_to(&cast(x, DType::I64)?, dims);
    }
    apply(LinearOp(SumTo(shape::dims(dims))), &[x])
}

/// The sum down to a shape that broadcasts to the tensor's. Raises ShapeError for any other.
///
/// ```python
/// >>> fg.sum_to_size(fg.ones((2, 3)), (1, 3)).tolist()
/// [[2.0, 2.0, 2.0]]
/// ```
#[op(method)]
pub fn sum_to_size(x: &Tensor, shape: &[i64]) -> Result<Tensor> {
    const OP: &str = "sum_to_size";
    let dims = sizes(OP, shape, x.dtype())?;
    let fits = dims.len() <= x.rank()
        && dims.iter().rev().zip(x.dims().iter().rev()).all(|(&to, &from)| to == from || to == 1);
    if !fits {
        bail!(Shape, OP, "size {:?} is not expandable to size {:?}", dims, x.dims());
    }
    sum_to(x, &dims)
}
