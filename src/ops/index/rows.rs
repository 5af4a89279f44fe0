//! Reading and adding at positions on several axes.

use std::cell::Cell;

use smallvec::{SmallVec, smallvec};

use crate::array::{Array, Layout};
use crate::dtype::{DType, DTypeKind};
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Loops, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply,
};
use crate::kernel::index::{self, Indexed, IndexedAxes};
use crate::kernel::output;
use crate::ops::gather::{self, Gather, Positions, ScatterAdd};
use crate::ops::switch;
use crate::shape::Dims;
use crate::stored::Stored;

/// Positions on merged axes, in C order.
#[derive(Clone, Stored)]
#[stored(in Gather)]
#[stored(in ScatterAdd)]
struct OnAxes {
    name: &'static str,
    rows: IndexedAxes,
}

impl Positions for OnAxes {
    fn name(&self) -> &'static str {
        self.name
    }

    fn gather(&self, x: &Array, at: &Array, batch_ndim: usize) -> Result<Array> {
        index::gather(self.name, x, self.rows, at, batch_ndim)
    }

    fn scatter_add(
        &self,
        x: Option<&Array>,
        dims: &[usize],
        at: &Array,
        values: &Array,
        batch_ndim: usize,
    ) -> Result<Array> {
        index::scatter_add(self.name, (dims, x), self.rows, at, values, batch_ndim)
    }

    fn values(&self, whole: &[usize], at: &[usize]) -> Option<Dims> {
        self.rows.values(whole, at)
    }

    fn indexed(&self) -> Indexed {
        Indexed::Merged(self.rows)
    }
}

/// The values of a tensor at positions on the merged axes that `rows` names.
pub(super) fn gather_at(
    name: &'static str,
    x: &Tensor,
    rows: IndexedAxes,
    positions: &Tensor,
) -> Result<Tensor> {
    gather::gather_at(OnAxes { name, rows }, x, positions)
}

/// Zeros of a shape with values added at positions. Values with the same position are added in order.
pub(super) fn add_at(
    name: &'static str,
    dims: &[usize],
    rows: IndexedAxes,
    positions: &Tensor,
    values: &Tensor,
) -> Result<Tensor> {
    gather::scatter_add_at(OnAxes { name, rows }, dims, positions, values)
}

/// A tensor with values of its dtype added at positions, in order.
pub(super) fn add_onto(
    name: &'static str,
    x: &Tensor,
    rows: IndexedAxes,
    positions: &Tensor,
    values: &Tensor,
) -> Result<Tensor> {
    gather::scatter_add_onto_at(OnAxes { name, rows }, x, positions, values)
}

/// `n` zeros with values added at the elements of a layout. Values for the same element add up.
pub(in crate::ops) fn add_at_places(
    name: &'static str,
    n: usize,
    layout: &Layout,
    values: &Tensor,
) -> Result<Tensor> {
    let places = output::build::<i64>(name, &layout.dims, 1, |first, out| {
        for (i, place) in (first..).zip(out) {
            let (mut left, mut at) = (i, layout.offset);
            for (&d, &s) in layout.dims.iter().zip(&layout.strides).rev() {
                at += (left % d) as isize * s;
                left /= d;
            }
            *place = at as i64;
        }
    })?;
    add_at(name, &[n], IndexedAxes { outer: 0, merged: 1 }, &Tensor::constant(places), values)
}

/// Indices of axes of these sizes as positions on all of them.
#[derive(Stored)]
#[stored(op)]
struct Join {
    name: &'static str,
    sizes: SmallVec<[usize; 4]>,
    /// The axis of each, for errors.
    axes: SmallVec<[usize; 4]>,
    /// Whether a negative index is out of bounds.
    from_zero: bool,
}

impl Op for Join {
    fn name(&self) -> &'static str {
        self.name
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let places =
            index::ravel_indices(self.name, ins, &self.sizes, &self.axes, self.from_zero, batch_ndim)?;
        Ok([places].into())
    }

    fn lower(&self, _: &Operands<'_>) -> Option<Loops> {
        let Join { name, from_zero, .. } = *self;
        let (sizes, axes) = (self.sizes.clone(), self.axes.clone());
        Some(Loops::Kernel(Box::new(move |ins| index::join_kernel(name, ins, &sizes, &axes, from_zero))))
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let are_ints = ins.dtypes.iter().all(|dtype| dtype.kind() == DTypeKind::Int);
        let fits = are_ints && ins.dims.len() == self.sizes.len() && self.axes.len() == self.sizes.len();
        if fits { Some(Made::from_elem((DType::I64, ins.broadcast(0)?), 1)) } else { None }
    }

    fn is_flat(&self) -> bool {
        true
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(self.sizes.iter().map(|_| None).collect())
    }

    fn jvp(&self, _: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![None])
    }
}

/// Indices of axes of these sizes, broadcast against each other, as positions on all of them in C order: checked,
/// and negative ones counted from the end, unless the caller is inside of [`from_zero`]. `axes` are their numbers, for
/// errors.
pub(in crate::ops) fn join(
    name: &'static str,
    indices: &[&Tensor],
    sizes: SmallVec<[usize; 4]>,
    axes: SmallVec<[usize; 4]>,
) -> Result<Tensor> {
    apply(Join { name, sizes, axes, from_zero: FROM_ZERO.get() }, indices)
}

thread_local! {
    /// Whether this thread is inside of [`from_zero`].
    static FROM_ZERO: Cell<bool> = const { Cell::new(false) };
}

/// Calls `f`, in which a negative index is out of bounds instead of counting from the end.
pub fn from_zero<R>(f: impl FnOnce() -> R) -> R {
    switch::on(&FROM_ZERO, f)
}
