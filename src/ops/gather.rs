//! Gather and scatter-add, which are each other's transpose. Selections, losses and indexing are made of them.

use smallvec::smallvec;

use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Kernel, Loops, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor,
    Unrecorded, apply, only, unrecorded,
};
use crate::kernel::broadcast;
use crate::kernel::index::{self, Indexed, along_axis};
use crate::ops::movement::reshape_to;
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// The meaning of positions in a tensor, for [`Gather`] and [`ScatterAdd`].
pub(in crate::ops) trait Positions: Clone + Send + Sync + 'static {
    /// The name of the op.
    fn name(&self) -> &'static str;
    /// The elements of `x` at positions.
    fn gather(&self, x: &Array, at: &Array, batch_ndim: usize) -> Result<Array>;
    /// Values added at positions to `x`, or to zeros whose visible axes have the sizes `dims`.
    fn scatter_add(
        &self,
        x: Option<&Array>,
        dims: &[usize],
        at: &Array,
        values: &Array,
        batch_ndim: usize,
    ) -> Result<Array>;
    /// The shape of the elements at positions, without hidden axes. None if they are not for such a tensor.
    fn values(&self, whole: &[usize], at: &[usize]) -> Option<Dims>;
    /// Which axes of a whole tensor the positions index.
    fn indexed(&self) -> Indexed;
}

/// The elements of input 0 at the positions of input 1.
#[derive(Stored)]
pub(in crate::ops) struct Gather<P>(P);

/// The transpose of [`Gather`]: the values of input 0 added at the positions of input 1 to zeros of these sizes, or to
/// input 2 if there is one.
#[derive(Stored)]
pub(in crate::ops) struct ScatterAdd<P> {
    positions: P,
    dims: Dims,
}

impl<P: Positions> Op for Gather<P> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn takes_half(&self) -> bool {
        true
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        Ok([self.0.gather(ins[0], ins[1], batch_ndim)?].into())
    }

    fn lower(&self, &Operands { batch_ndim, .. }: &Operands<'_>) -> Option<Loops> {
        let indexed = self.0.indexed();
        Some(Loops::Kernel(Box::new(move |ins| index::gather_kernel(indexed, ins, batch_ndim))))
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let [(dtype, x), (DType::I64, at)] = ins.each()? else { return None };
        ins.make(&[(dtype, &[&self.0.values(x, at)?])])
    }

    fn carries_integers(&self) -> u64 {
        1
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(2)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![Some(scatter_add_at(self.0.clone(), s.dims(0), &s.input(1), only(g))?), None])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![Some(gather_at(self.0.clone(), only(t), &s.input(1))?)])
    }
}

impl<P: Positions> Op for ScatterAdd<P> {
    fn name(&self) -> &'static str {
        self.positions.name()
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let onto = ins.get(2).copied();
        Ok([self.positions.scatter_add(onto, &self.dims, ins[1], ins[0], batch_ndim)?].into())
    }

    fn lower(&self, &Operands { batch_ndim, .. }: &Operands<'_>) -> Option<Loops> {
        let (indexed, dims) = (self.positions.indexed(), self.dims.clone());
        Some(Loops::Kernel(Box::new(move |ins| index::scatter_add_kernel(indexed, &dims, ins, batch_ndim))))
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let [(dtype, values), (DType::I64, at)] = ins.first(2)?.each()? else { return None };
        let onto = if ins.dims.len() > 2 { Some(ins.each::<3>()?[2]) } else { None };
        let fits = dtype != DType::Bool && onto.is_none_or(|x| x == (dtype, &self.dims[..]));
        self.positions.values(&self.dims, at).filter(|own| fits && **own == *values)?;
        ins.make(&[(dtype, &[&self.dims])])
    }

    fn carries_integers(&self) -> u64 {
        0b101
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(2)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let values = g[0].as_ref().filter(|_| s.needs(0));
        let values = values.map(|g| gather_at(self.positions.clone(), g, &s.input(1))).transpose()?;
        let all: [_; 3] = [values, None, g[0].clone()];
        Ok(all.into_iter().take(s.inputs()).collect())
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let (positions, onto) = (self.positions.clone(), t.get(2).and_then(Option::as_ref));
        Ok(smallvec![match (&t[0], onto) {
            (Some(values), Some(x)) => Some(scatter_add_onto_at(positions, x, &s.input(1), values)?),
            (Some(values), None) => Some(scatter_add_at(positions, &self.dims, &s.input(1), values)?),
            (None, x) => x.cloned(),
        }])
    }
}

/// The elements of a tensor at positions.
pub(in crate::ops) fn gather_at(positions: impl Positions, x: &Tensor, at: &Tensor) -> Result<Tensor> {
    apply(Gather(positions), &[x, at])
}

/// Zeros of a shape with values added at positions. Values with the same position are added in order.
pub(in crate::ops) fn scatter_add_at(
    positions: impl Positions,
    dims: &[usize],
    at: &Tensor,
    values: &Tensor,
) -> Result<Tensor> {
    apply(ScatterAdd { positions, dims: dims.into() }, &[values, at])
}

/// A tensor with values of its dtype added at positions, in order.
pub(in crate::ops) fn scatter_add_onto_at(
    positions: impl Positions,
    x: &Tensor,
    at: &Tensor,
    values: &Tensor,
) -> Result<Tensor> {
    apply(ScatterAdd { positions, dims: x.dims().into() }, &[values, at, x])
}

/// Positions along one axis, counted from the end: int64, of the rank of the tensor, and of its sizes on the other axes.
/// -1 reads 0 and adds nothing.
#[derive(Clone, Stored)]
#[stored(in Gather)]
#[stored(in ScatterAdd)]
struct AlongAxis {
    name: &'static str,
    back: usize,
}

impl Positions for AlongAxis {
    fn name(&self) -> &'static str {
        self.name
    }

    fn gather(&self, x: &Array, at: &Array, batch_ndim: usize) -> Result<Array> {
        let (x, at) = broadcast::broadcast_batch_pair(x, at, batch_ndim);
        along_axis::gather(self.name, &x, &at, x.rank() - self.back)
    }

    fn scatter_add(
        &self,
        x: Option<&Array>,
        dims: &[usize],
        at: &Array,
        values: &Array,
        batch_ndim: usize,
    ) -> Result<Array> {
        let axis = values.rank() - self.back;
        if let Some(x) = x {
            let [values, at, x] = broadcast::broadcast_batch([values, at, x], batch_ndim);
            return along_axis::scatter_add(self.name, x, &at, &values, axis);
        }
        let (values, at) = broadcast::broadcast_batch_pair(values, at, batch_ndim);
        along_axis::scatter_add_to_zeros(self.name, &values, &at, axis, dims[dims.len() - self.back])
    }

    fn values(&self, whole: &[usize], at: &[usize]) -> Option<Dims> {
        let axis = whole.len().checked_sub(self.back)?;
        let fits = *shape::resized(whole, self.back, *at.get(axis)?)? == *at;
        fits.then(|| at.into())
    }

    fn indexed(&self) -> Indexed {
        Indexed::Along(self.back)
    }
}

/// `out[.., j, ..] = x[.., at[.., j, ..], ..]` along the axis that is `back` from the end.
pub(in crate::ops) fn gather(name: &'static str, x: &Tensor, at: &Tensor, back: usize) -> Result<Tensor> {
    gather_at(AlongAxis { name, back }, x, at)
}

/// `x` with values of its dtype added at positions along an axis, in order.
pub(in crate::ops) fn scatter_add_onto(
    name: &'static str,
    x: &Tensor,
    at: &Tensor,
    values: &Tensor,
    back: usize,
) -> Result<Tensor> {
    scatter_add_onto_at(AlongAxis { name, back }, x, at, values)
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
    unrecorded(Scatter(AlongAxis { name, back }), &[x, at, values])
}

/// Input 0 with the values of input 2 written at the positions of input 1.
#[derive(Stored)]
#[stored(in Unrecorded)]
struct Scatter(AlongAxis);

impl Kernel for Scatter {
    fn name(&self) -> &'static str {
        self.0.name
    }

    fn compute(&self, ins: &[&Array], batch_ndim: usize) -> Result<Array> {
        let [x, at, values] = broadcast::broadcast_batch([ins[0], ins[1], ins[2]], batch_ndim);
        along_axis::scatter(self.0.name, &x, &at, &values, x.rank() - self.0.back)
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let [(dtype, x), (DType::I64, at), (same, values)] = ins.each()? else { return None };
        self.0.values(x, at).filter(|own| same == dtype && **own == *values)?;
        ins.make(&[(dtype, &[x])])
    }
}

/// An op whose outputs are some elements of a tensor along an axis, and their indices. The tensor is input 0; another input
/// may say which elements, and has no gradient.
pub(in crate::ops) trait WithIndices: Send + Sync + 'static {
    fn name(&self) -> &'static str;
    /// The axis, counted from the end.
    fn back(&self) -> usize;
    fn choose(&self, ins: &[&Array]) -> Result<(Array, Array)>;
    /// The shape of the outputs after the hidden axes. None if there are none for such operands.
    fn chosen(&self, ins: &Operands<'_>) -> Option<Dims>;
}

#[derive(Stored)]
pub(in crate::ops) struct WithIndicesOp<C>(pub C);

impl<C: WithIndices> Op for WithIndicesOp<C> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        let (values, indices) = self.0.choose(ins)?;
        Ok([values, indices].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, dims) = (*ins.dtypes.first()?, self.0.chosen(ins)?);
        ins.make(&[(dtype, &[&dims]), (DType::I64, &[&dims])])
    }

    fn carries_integers(&self) -> u64 {
        1
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::outputs(2)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let along = AlongAxis { name: "scatter_add", back: self.0.back() };
        let add = |g: &Tensor| scatter_add_at(along, s.dims(0), &s.output(1), g);
        Ok([g[0].as_ref().map(add).transpose()?, None].into_iter().take(s.inputs()).collect())
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let chosen = |t: &Tensor| gather("gather", t, &s.output(1), self.0.back());
        Ok(smallvec![t[0].as_ref().map(chosen).transpose()?, None])
    }
}

/// Applies such an op.
pub(in crate::ops) fn with_indices(choice: impl WithIndices, ins: &[&Tensor]) -> Result<(Tensor, Tensor)> {
    Ok(crate::graph::apply_each::<_, 2>(WithIndicesOp(choice), ins)?.into())
}

/// [`with_indices`] for a choice of one element; without `keepdims` the axis is left out.
pub(in crate::ops) fn one_with_index(
    choice: impl WithIndices,
    x: &Tensor,
    keepdims: bool,
) -> Result<(Tensor, Tensor)> {
    let axis = x.rank() - choice.back();
    let (values, indices) = with_indices(choice, &[x])?;
    if keepdims {
        return Ok((values, indices));
    }
    let mut dims: Dims = x.dims().into();
    dims.remove(axis);
    Ok((reshape_to(&values, &dims)?, reshape_to(&indices, &dims)?))
}
