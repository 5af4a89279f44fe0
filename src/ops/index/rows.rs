//! Reading at positions and adding at positions. Each is the gradient of the other.

use smallvec::{SmallVec, smallvec};

use crate::array::{Array, Layout};
use crate::error::Result;
use crate::graph::{Cotangents, Grads, NeedsGrad, Op, Outputs, Saved, Saves, Tangents, Tensor, apply, only};
use crate::kernel::index::{self, IndexedAxes};
use crate::shape::Dims;

/// The values of input 0 at the positions of input 1.
struct GatherAt {
    name: &'static str,
    rows: IndexedAxes,
}

impl Op for GatherAt {
    fn name(&self) -> &'static str {
        self.name
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        Ok([index::gather(self.name, ins[0], self.rows, ins[1], batch_ndim)?].into())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(2)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![Some(add_at(self.name, s.dims(0), self.rows, &s.input(1), only(g))?), None])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![Some(gather_at(self.name, only(t), self.rows, &s.input(1))?)])
    }
}

/// The values of a tensor at positions on the merged axes that `rows` names.
pub(in crate::ops) fn gather_at(
    name: &'static str,
    x: &Tensor,
    rows: IndexedAxes,
    positions: &Tensor,
) -> Result<Tensor> {
    apply(GatherAt { name, rows }, &[x, positions])
}

/// Zeros, or input 2 if there is one, with the values of input 0 added at the positions of input 1.
struct AddAt {
    name: &'static str,
    rows: IndexedAxes,
    dims: Dims,
}

impl Op for AddAt {
    fn name(&self) -> &'static str {
        self.name
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let onto = (self.dims.as_slice(), ins.get(2).copied());
        Ok([index::scatter_add(self.name, onto, self.rows, ins[1], ins[0], batch_ndim)?].into())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(2)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let values = g[0].as_ref().filter(|_| s.needs(0));
        let values = values.map(|g| gather_at(self.name, g, self.rows, &s.input(1))).transpose()?;
        let all: [_; 3] = [values, None, g[0].clone()];
        Ok(all.into_iter().take(s.inputs()).collect())
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let onto = t.get(2).and_then(Option::as_ref);
        Ok(smallvec![match (&t[0], onto) {
            (Some(values), Some(x)) => Some(add_onto(self.name, x, self.rows, &s.input(1), values)?),
            (Some(values), None) => Some(add_at(self.name, &self.dims, self.rows, &s.input(1), values)?),
            (None, x) => x.cloned(),
        }])
    }
}

/// Zeros of a shape with values added at positions. Values with the same position are added in order.
pub(in crate::ops) fn add_at(
    name: &'static str,
    dims: &[usize],
    rows: IndexedAxes,
    positions: &Tensor,
    values: &Tensor,
) -> Result<Tensor> {
    apply(AddAt { name, rows, dims: dims.into() }, &[values, positions])
}

/// A tensor with values of its dtype added at positions, in order.
pub(in crate::ops) fn add_onto(
    name: &'static str,
    x: &Tensor,
    rows: IndexedAxes,
    positions: &Tensor,
    values: &Tensor,
) -> Result<Tensor> {
    apply(AddAt { name, rows, dims: x.dims().into() }, &[values, positions, x])
}

/// `n` zeros with values added at the elements of a layout. Values for the same element add up.
pub(in crate::ops) fn add_at_places(
    name: &'static str,
    n: usize,
    layout: &Layout,
    values: &Tensor,
) -> Result<Tensor> {
    let places = Array::build::<i64>(name, &layout.dims, |out| {
        for (i, place) in out.iter_mut().enumerate() {
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
struct Join {
    name: &'static str,
    sizes: SmallVec<[usize; 4]>,
    /// The axis of each, for errors.
    axes: SmallVec<[usize; 4]>,
}

impl Op for Join {
    fn name(&self) -> &'static str {
        self.name
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        Ok([index::ravel_indices(self.name, ins, &self.sizes, &self.axes, batch_ndim)?].into())
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
/// and negative ones counted from the end. `axes` are their numbers, for errors.
pub(in crate::ops) fn join(
    name: &'static str,
    indices: &[&Tensor],
    sizes: SmallVec<[usize; 4]>,
    axes: SmallVec<[usize; 4]>,
) -> Result<Tensor> {
    apply(Join { name, sizes, axes }, indices)
}
