//! Gather and scatter-add along one axis. Both are linear in the elements; selections and losses are made of
//! them.

use smallvec::smallvec;

use crate::array::Array;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, NeedsGrad, Op, Outputs, Saved, Saves, Tangents, Tensor, apply, only, unrecorded,
};
use crate::kernel::broadcast;
use crate::kernel::index::along_axis;

/// The elements of input 0 at the positions of input 1 (int64, of the same rank; -1 gives 0). The axis is
/// counted from the end.
struct Gather {
    name: &'static str,
    back: usize,
}

/// The transpose of [`Gather`]: elements added to zeros of size `n` along the axis, or to input 2 if there is
/// one.
struct ScatterAdd {
    name: &'static str,
    back: usize,
    n: usize,
}

impl Op for Gather {
    fn name(&self) -> &'static str {
        self.name
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let (x, at) = broadcast::broadcast_batch_pair(ins[0], ins[1], batch_ndim);
        Ok([along_axis::gather(self.name, &x, &at, x.rank() - self.back)?].into())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(2)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let n = s.dims(0)[s.dims(0).len() - self.back];
        Ok(smallvec![Some(scatter_add(self.name, only(g), &s.input(1), self.back, n)?), None])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![t[0].as_ref().map(|t| gather(self.name, t, &s.input(1), self.back)).transpose()?])
    }
}

impl Op for ScatterAdd {
    fn name(&self) -> &'static str {
        self.name
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let axis = ins[0].rank() - self.back;
        Ok([if let [g, at, x] = *ins {
            let [g, at, x] = broadcast::broadcast_batch([g, at, x], batch_ndim);
            along_axis::scatter_add(self.name, x, &at, &g, axis)?
        } else {
            let (g, at) = broadcast::broadcast_batch_pair(ins[0], ins[1], batch_ndim);
            along_axis::scatter_add_to_zeros(self.name, &g, &at, axis, self.n)?
        }]
        .into())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(2)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let values = g[0].as_ref().filter(|_| s.needs(0));
        let values = values.map(|g| gather(self.name, g, &s.input(1), self.back)).transpose()?;
        let all: [_; 3] = [values, None, g[0].clone()];
        Ok(all.into_iter().take(s.inputs()).collect())
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let onto = t.get(2).and_then(Option::as_ref);
        Ok(smallvec![match (&t[0], onto) {
            (Some(values), Some(x)) => Some(scatter_add_onto(self.name, x, &s.input(1), values, self.back)?),
            (Some(values), None) => Some(scatter_add(self.name, values, &s.input(1), self.back, self.n)?),
            (None, x) => x.cloned(),
        }])
    }
}

/// `out[.., j, ..] = x[.., at[.., j, ..], ..]` along the axis that is `back` from the end; all positions are inside.
pub(in crate::ops) fn gather(name: &'static str, x: &Tensor, at: &Tensor, back: usize) -> Result<Tensor> {
    apply(Gather { name, back }, &[x, at])
}

/// The transpose of [`gather`] from an axis of size `n`.
pub(in crate::ops) fn scatter_add(
    name: &'static str,
    g: &Tensor,
    at: &Tensor,
    back: usize,
    n: usize,
) -> Result<Tensor> {
    apply(ScatterAdd { name, back, n }, &[g, at])
}

/// `x` with values of its dtype added at positions along an axis, in order.
pub(in crate::ops) fn scatter_add_onto(
    name: &'static str,
    x: &Tensor,
    at: &Tensor,
    values: &Tensor,
    back: usize,
) -> Result<Tensor> {
    apply(ScatterAdd { name, back, n: x.dims()[x.rank() - back] }, &[values, at, x])
}

/// `x` with values written at positions along an axis; the last value stays where a position occurs twice.
/// None if an input is recorded.
pub(in crate::ops) fn scatter(
    name: &'static str,
    x: &Tensor,
    at: &Tensor,
    values: &Tensor,
    back: usize,
) -> Option<Result<Tensor>> {
    unrecorded(name, &[x, at, values], move |ins, batch_ndim| {
        let [x, at, values] = broadcast::broadcast_batch([ins[0], ins[1], ins[2]], batch_ndim);
        along_axis::scatter(name, &x, &at, &values, x.rank() - back)
    })
}

/// An op of one tensor whose outputs are some of its elements along an axis, and their indices.
pub(in crate::ops) trait WithIndices: Send + Sync + 'static {
    fn name(&self) -> &'static str;
    /// The axis, counted from the end.
    fn back(&self) -> usize;
    fn choose(&self, x: &Array) -> Result<(Array, Array)>;
}

pub(in crate::ops) struct WithIndicesOp<C>(pub C);

impl<C: WithIndices> Op for WithIndicesOp<C> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        let (values, indices) = self.0.choose(ins[0])?;
        Ok([values, indices].into())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::outputs(2)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let (back, dims) = (self.0.back(), s.dims(0));
        let n = dims[dims.len() - back];
        Ok(smallvec![g[0].as_ref().map(|g| scatter_add("put", g, &s.output(1), back, n)).transpose()?])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![Some(gather("pick", only(t), &s.output(1), self.0.back())?), None])
    }
}

/// Applies such an op.
pub(in crate::ops) fn with_indices(choice: impl WithIndices, x: &Tensor) -> Result<(Tensor, Tensor)> {
    let mut outs = crate::graph::apply_all(WithIndicesOp(choice), &[x])?;
    let indices = outs.pop().expect("positions");
    Ok((outs.pop().expect("elements"), indices))
}
