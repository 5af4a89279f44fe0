//! Axes in another order.

use smallvec::SmallVec;

use crate::array::{Array, Layout};
use crate::error::{Result, bail};
use crate::graph::{Loops, Operands, Saved, Tensor, apply};
use crate::kernel::copy::IndexMap;
use crate::ops::entry::{Axes, op};
use crate::ops::linear::{Linear, LinearOp};
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// A permutation of the visible axes. Hidden axes before them stay where they are.
#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct Permute(SmallVec<[usize; 4]>);

impl Permute {
    /// The order of all axes.
    fn order(&self, batch_ndim: usize) -> Dims {
        (0..batch_ndim).chain(self.0.iter().map(|&a| a.saturating_add(batch_ndim))).collect()
    }
}

impl Linear for Permute {
    const NAME: &'static str = "transpose";
    const TAKES_HALF: bool = true;
    const IS_VIEW: bool = true;

    fn array(&self, x: &Array, batch_ndim: usize) -> Result<Array> {
        Ok(x.permute(&self.order(batch_ndim)))
    }

    fn lower(&self, x: &Operands<'_>) -> Option<Loops> {
        let (whole, order) = (Layout::contiguous(x.dims.first()?), self.order(x.batch_ndim));
        let is_order = shape::is_order(&order, whole.dims.len());
        is_order.then(|| Loops::Moves(IndexMap::of(whole.permute(&order))))
    }

    fn transpose(&self, g: &Tensor, _: &Saved<'_>) -> Result<Tensor> {
        let mut inverse = self.0.clone();
        for (i, &a) in self.0.iter().enumerate() {
            inverse[a] = i;
        }
        apply(LinearOp(Permute(inverse)), &[g])
    }
}

/// The axes in another order, which names each once. Shares memory.
///
/// ```python
/// >>> fg.permute_dims(fg.ones((2, 3, 4)), (2, 0, 1)).shape
/// (4, 2, 3)
/// ```
#[op(view, names("permute_dims", "permute"))]
pub fn permute_dims(x: &Tensor, axes: &[i64]) -> Result<Tensor> {
    let order = axes
        .iter()
        .map(|&a| shape::axis("permute_dims", a, x.rank()))
        .collect::<Result<SmallVec<[usize; 4]>>>()?;
    if shape::axes("permute_dims", axes, x.rank())?.len() != x.rank() {
        bail!(Argument, "permute_dims", "{axes:?} does not name each of the {} axes once", x.rank());
    }
    permuted(x, order)
}

/// The last two axes swapped. Shares memory.
///
/// ```python
/// >>> fg.matrix_transpose(fg.ones((2, 3, 4))).shape
/// (2, 4, 3)
/// ```
#[op(view)]
pub fn matrix_transpose(x: &Tensor) -> Result<Tensor> {
    let n = x.rank();
    if n < 2 {
        bail!(Shape, "matrix_transpose", "a matrix has two axes, {:?} has {n}", x.dims());
    }
    let order = (0..n - 2).chain([n - 1, n - 2]).collect();
    apply(LinearOp(Permute(order)), &[x])
}

/// The axes in another order, or without `axes` in the reverse one. Shares memory.
///
/// ```python
/// >>> fg.transpose(fg.ones((2, 3, 4))).shape
/// (4, 3, 2)
/// ```
#[op(reshaping)]
pub fn transpose(x: &Tensor, #[default(None)] axes: Axes<'_>) -> Result<Tensor> {
    match axes {
        Some(axes) => permute_dims(x, axes),
        None => permuted(x, (0..x.rank()).rev()),
    }
}

/// The axes in another order, which names each axis once. No op is recorded if the order is unchanged.
pub(in crate::ops) fn permuted(x: &Tensor, order: impl IntoIterator<Item = usize>) -> Result<Tensor> {
    let order: SmallVec<[usize; 4]> = order.into_iter().collect();
    if order.iter().copied().eq(0..x.rank()) { Ok(x.clone()) } else { apply(LinearOp(Permute(order)), &[x]) }
}

/// Two axes swapped. Shares memory.
///
/// ```python
/// >>> fg.swapaxes(fg.ones((2, 3, 4)), 0, 2).shape
/// (4, 3, 2)
/// ```
#[op(reshaping, names("swapaxes", "swapdims"))]
pub fn swapaxes(x: &Tensor, axis1: i64, axis2: i64) -> Result<Tensor> {
    let (a, b) = (shape::axis("swapaxes", axis1, x.rank())?, shape::axis("swapaxes", axis2, x.rank())?);
    let mut order: SmallVec<[usize; 4]> = (0..x.rank()).collect();
    order.swap(a, b);
    permuted(x, order)
}

/// The axes of `source` moved to the places of `destination`; the others keep their order. Shares memory.
///
/// ```python
/// >>> fg.moveaxis(fg.ones((2, 3, 4)), 0, -1).shape
/// (3, 4, 2)
/// ```
#[op(view, names("moveaxis", "movedim"))]
pub fn moveaxis(x: &Tensor, source: &[i64], destination: &[i64]) -> Result<Tensor> {
    if source.len() != destination.len() {
        bail!(
            Argument,
            "moveaxis",
            "Invalid source or destination dims: source ({source:?} dims) should contain the same number of dims as \
             destination ({destination:?} dims)"
        );
    }
    shape::axes("moveaxis", source, x.rank())?;
    shape::axes("moveaxis", destination, x.rank())?;
    let mut to: SmallVec<[(usize, usize); 4]> = SmallVec::new();
    for (&s, &d) in source.iter().zip(destination) {
        to.push((shape::axis("moveaxis", d, x.rank())?, shape::axis("moveaxis", s, x.rank())?));
    }
    shape::sort_by_key(&mut to, |&pair| pair);
    let mut order: SmallVec<[usize; 4]> = (0..x.rank()).filter(|a| to.iter().all(|t| t.1 != *a)).collect();
    to.iter().for_each(|&(d, s)| order.insert(d, s));
    permuted(x, order)
}
