//! Values written over parts of a tensor.

use std::borrow::Cow;

use smallvec::{SmallVec, smallvec};

use super::expression::{Expression, List};
use super::places::to_write;
use super::rows::{add_at, add_onto, gather_at};
use crate::array::{Array, Layout};
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Kernel, Levels, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents,
    Tensor, Unrecorded, apply, modes, only, recorded, unrecorded,
};
use crate::kernel::index::{self, IndexedAxes};
use crate::ops::Index;
use crate::ops::entry::{Operand, op};
use crate::ops::movement::axes::permuted;
use crate::ops::movement::region::{Region, hidden_size, place, view};
use crate::ops::movement::{broadcast_to, cast, expand_dims, reshape_to, strided};
use crate::ops::pointwise::arithmetic::add_same;
use crate::ops::pointwise::select::select;
use crate::ops::promote::as_tensor;
use crate::shape::{self, Dims, is_order};
use crate::stored::Stored;

/// Input 0 with input 1, broadcast, written over a region, or at the positions of input 2 in the region.
#[derive(Clone, Stored)]
#[stored(op)]
struct IndexPut {
    name: &'static str,
    region: Region,
    at: Option<(SmallVec<[usize; 4]>, IndexedAxes)>,
}

impl IndexPut {
    /// Writes in place if nobody else holds the memory of `x`, else to a copy. On an error `x` is unchanged.
    fn write(&self, x: &mut Array, ins: &[&Array], batch_ndim: usize) -> Result<()> {
        let hidden = |a: usize| {
            if x.dims()[a] == 1 { hidden_size(ins.iter().map(|y| y.dims()), a) } else { x.dims()[a] }
        };
        let sizes: Dims = (0..batch_ndim).map(hidden).chain(x.dims()[batch_ndim..].iter().copied()).collect();
        if x.dims() != sizes.as_slice() {
            *x = x.expand(&sizes, batch_ndim);
        }
        let positions = ins.get(1).map(|p| p.dims());
        let (to, dims) = self.target(x.dims(), positions, batch_ndim).expect("it is a part of the tensor");
        let values = ins[0].expand(&dims, batch_ndim);
        match &self.at {
            None => x.write(&to, &values),
            Some((_, rows)) => index::scatter(x, &to, *rows, ins[1], &values, batch_ndim),
        }
    }

    /// What is written over of a tensor of this shape, and the shape of all that is written there, from that of the positions.
    /// None if it is no part of such a tensor.
    fn target(&self, x: &[usize], positions: Option<&[usize]>, batch_ndim: usize) -> Option<(Layout, Dims)> {
        let to = self.region.of(&Layout::contiguous(x), batch_ndim)?;
        let Some((order, rows)) = &self.at else {
            let dims = to.dims.clone();
            return Some((to, dims));
        };
        let order: Dims = (0..batch_ndim).chain(order.iter().map(|a| a.saturating_add(batch_ndim))).collect();
        if !is_order(&order, to.dims.len()) {
            return None;
        }
        let to = to.permute(&order);
        let mut dims: Dims = to.dims[..batch_ndim].into();
        dims.extend(rows.values(&to.dims[batch_ndim..], &positions?[batch_ndim..])?);
        Some((to, dims))
    }

    fn apply(&self, x: &Tensor, value: &Tensor, positions: Option<&Tensor>) -> Result<Tensor> {
        let ins: SmallVec<[&Tensor; 4]> = [x, value].into_iter().chain(positions).collect();
        apply(self.clone(), &ins)
    }

    /// The elements of the region in a tensor.
    fn read(&self, x: &Tensor, positions: Option<&Tensor>) -> Result<Tensor> {
        let shown = view(self.name, x, self.region.clone())?;
        match (&self.at, positions) {
            (Some((order, rows)), Some(p)) => {
                gather_at(self.name, &permuted(&shown, order.iter().copied())?, *rows, p)
            }
            _ => Ok(shown),
        }
    }

    /// A cotangent read at positions, with zeros for values that a later position overwrites.
    fn last_written(&self, g: Tensor, positions: Option<&Tensor>) -> Result<Tensor> {
        let (Some((_, rows)), Some(p)) = (&self.at, positions) else { return Ok(g) };
        let last = if p.array.is_sealed() {
            // A later run of the program may write twice to one position.
            unrecorded(LastWritten, &[p]).expect("integers have no edge")?
        } else {
            let (last, is_all) = index::last_occurrences(&p.array, p.levels.len())?;
            if is_all {
                return Ok(g);
            }
            Tensor::made(last, None, p.levels.clone())
        };
        let inner = g.rank() - rows.outer - p.rank();
        let after: SmallVec<[i64; 4]> = (0..inner).map(|i| -1 - i as i64).collect();
        select(&expand_dims(&last, &after)?, &g, &Tensor::scalar_of(g.dtype(), 0.0))
    }
}

/// Which positions of each list do not occur again later in it.
#[derive(Stored)]
#[stored(in Unrecorded)]
struct LastWritten;

impl Kernel for LastWritten {
    fn name(&self) -> &'static str {
        "index_put"
    }

    fn compute(&self, ins: &[&Array], batch_ndim: usize) -> Result<Array> {
        Ok(index::last_occurrences(ins[0], batch_ndim)?.0)
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, dims) = ins.alike::<1>()?;
        if dtype == DType::I64 { ins.make(&[(DType::Bool, &[dims])]) } else { None }
    }
}

impl Op for IndexPut {
    fn name(&self) -> &'static str {
        self.name
    }

    fn takes_half(&self) -> bool {
        true
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let mut x = ins[0].clone();
        self.write(&mut x, &ins[1..], batch_ndim)?;
        Ok([x].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let positions = if self.at.is_some() { Some(ins.each::<3>()?[2]) } else { None };
        let (dtype, [x, value]) = ins.first(2)?.of_one_dtype()?;
        let is_known = positions.map_or(ins.dims.len() == 2, |p| p.0 == DType::I64);
        let (to, dims) = self.target(x, positions.map(|p| p.1), 0)?;
        let fits = is_known && to.fits(shape::checked_len(x)?);
        Layout::contiguous(value).broadcast(&dims, 0).filter(|_| fits)?;
        ins.make(&[(dtype, &[x])])
    }

    fn carries_integers(&self) -> u64 {
        0b11
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(4).when(self.at.is_some())
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let positions = self.at.is_some().then(|| s.input(2));
        let g = only(g);
        let zero = Tensor::scalar_of(g.dtype(), 0.0);
        let of_x = s.needs(0).then(|| self.apply(g, &zero, positions.as_ref())).transpose()?;
        let read = || self.last_written(self.read(g, positions.as_ref())?, positions.as_ref());
        let of_value = s.needs(1).then(read).transpose()?;
        let mut grads: Grads = smallvec![of_x, of_value];
        grads.extend(positions.map(|_| None));
        Ok(grads)
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let positions = self.at.is_some().then(|| s.input(2));
        let zero = |of: &Tensor| Tensor::scalar_of(of.dtype(), 0.0);
        Ok(smallvec![match (&t[0], &t[1]) {
            (Some(x), value) => {
                Some(self.apply(x, value.as_ref().unwrap_or(&zero(x)), positions.as_ref())?)
            }
            (None, Some(value)) => {
                let x = broadcast_to(&zero(value), s.out_dims(0))?;
                Some(self.apply(&x, value, positions.as_ref())?)
            }
            (None, None) => None,
        }])
    }
}

/// A value as a tensor of a dtype, of at most the rank of the elements that it is written over.
fn fitted<'a>(op: &'static str, value: Operand<'a>, dtype: DType, dims: &[usize]) -> Result<Cow<'a, Tensor>> {
    let mut value = as_tensor(value, dtype)?;
    if let Some(extra) = value.rank().checked_sub(dims.len()).filter(|&e| e > 0) {
        let rest: Dims = value.dims()[extra..].into();
        if shape::len(&value.dims()[..extra]) == 1 {
            value = Cow::Owned(reshape_to(&value, &rest)?);
        }
    }
    let fits = shape::broadcast(op, value.dims(), dims).is_ok_and(|d| d.as_slice() == dims);
    if !fits {
        bail!(
            Shape,
            op,
            "shape mismatch: a value of shape {:?} does not broadcast to the shape {dims:?} that it is written over",
            value.dims()
        );
    }
    Ok(value)
}

/// The tensor with a value, broadcast and cast to its dtype, written where `x[index]` reads. Where index arrays name a
/// position twice, the last value stays.
///
/// # Errors
/// As [`super::expression::get`]; [`crate::Error::Shape`] where the value does not broadcast.
pub fn put(x: &Tensor, index: &[Index], value: Operand<'_>) -> Result<Tensor> {
    let mut out = x.clone();
    put_at(&mut out, None, index, value)?;
    Ok(out)
}

/// [`put`] that replaces the tensor by the result, in place if nobody else holds its memory. With a layout
/// the index applies to the elements at that layout of the tensor's C order. On an error the tensor is
/// unchanged.
///
/// # Errors
/// As [`put`]; [`crate::Error::Argument`] where an element would be written twice.
pub fn put_at(x: &mut Tensor, layout: Option<&Layout>, index: &[Index], value: Operand<'_>) -> Result<()> {
    const OP: &str = "setitem";
    if let Some((mask, value)) = fill(layout.map_or(x.dims(), |l| &l.dims), index, value) {
        let value = as_tensor(value, x.dtype())?;
        let Some(layout) = layout else {
            *x = select(mask, &value, x)?;
            return Ok(());
        };
        let part = select(mask, &value, &strided(x, layout)?)?;
        return put_at(x, Some(layout), &[Index::Ellipsis], (&part).into());
    }
    let e = Expression::new(OP, layout.map_or(x.dims(), |l| &l.dims), index)?;
    let value = fitted(OP, value, x.dtype(), &e.values())?;
    let region = match layout {
        None => e.region(),
        Some(layout) => Region::At(written(&e, layout)?),
    };
    let (at, positions) = match e.list {
        Some(List { order, rows, positions }) => (Some((order, rows)), Some(positions)),
        None => (None, None),
    };
    let put = IndexPut { name: OP, region, at };
    let batched = |t: &Tensor| !t.levels.is_empty();
    let tracing = modes::flags().has(modes::Flags::TRACING);
    if tracing || batched(x) || batched(&value) || positions.as_ref().is_some_and(batched) {
        *x = put.apply(x, &value, positions.as_ref())?;
        return Ok(());
    }
    let ins: SmallVec<[&Array; 2]> =
        [&value.array].into_iter().chain(positions.as_ref().map(|p| &p.array)).collect();
    put.write(&mut x.array, &ins, 0)?;
    x.detach_reason = x.detach_reason.joined(value.detach_reason);
    if x.is_tracked() || value.is_tracked() {
        // The rules do not read the value of `x`, so it may be overwritten.
        let ins: SmallVec<[&Tensor; 4]> = [&*x, &*value].into_iter().chain(positions.as_ref()).collect();
        let out = recorded(put, &ins, [x.array.clone()].into(), Levels::default())?.remove(0);
        drop(ins);
        *x = out;
    }
    Ok(())
}

/// `x[mask] = number`: no positions are needed, so it works under vmap too.
fn fill<'a>(dims: &[usize], index: &'a [Index], value: Operand<'a>) -> Option<(&'a Tensor, Operand<'a>)> {
    let [Index::Tensor(mask)] = index else { return None };
    let scalar = match value {
        Operand::Number(_) => true,
        Operand::Tensor(t) => t.rank() == 0,
    };
    (mask.dtype() == DType::Bool && mask.dims() == dims && scalar).then_some((mask, value))
}

/// The region that an expression writes, for an index into the elements of a layout.
fn written(e: &Expression, layout: &Layout) -> Result<Layout> {
    let region = e.region().of(layout, 0).expect("the expression is of these axes");
    if region.overlaps() {
        bail!(
            Argument,
            "setitem",
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location, \
             as expand makes them. Please clone() the tensor before performing the operation"
        );
    }
    Ok(region)
}

/// The layout of the elements that an index selects from those of a layout. None if the index has arrays.
///
/// # Errors
/// As [`super::expression::get`].
pub fn region(layout: &Layout, index: &[Index]) -> Result<Option<Layout>> {
    let e = Expression::new("setitem", &layout.dims, index)?;
    Ok(if e.list.is_none() { e.region().of(layout, 0) } else { None })
}

/// A tensor written over a region of another one.
pub(in crate::ops) fn put_region(
    name: &'static str,
    x: &Tensor,
    region: Region,
    value: &Tensor,
) -> Result<Tensor> {
    let dims = region.of(&Layout::contiguous(x.dims()), 0).expect("it is a region of the tensor").dims;
    let value = fitted(name, value.into(), x.dtype(), &dims)?;
    IndexPut { name, region, at: None }.apply(x, &value, None)
}

/// `x` with `value`, broadcast and cast to the dtype of `x`, written where `x[indices]` reads; with
/// `accumulate` it is added instead, and positions named twice get both; of truth values, whether any holds. Without it
/// the last value for a position stays.
///
/// Raises DtypeError where `value` is a tensor of floats and `x` one of integers.
///
/// ```python
/// >>> i = fg.tensor([0, 2, 0])
/// >>> fg.index_put(fg.zeros((3,)), (i,), 1.0, accumulate=True).numpy()
/// array([2., 0., 1.], dtype=float32)
/// ```
#[op(in_place, torch(LaidInCOrder))]
pub fn index_put(
    x: &Tensor,
    indices: &[Index],
    value: Operand<'_>,
    #[default(false)] accumulate: bool,
) -> Result<Tensor> {
    const OP: &str = "index_put";
    let value = &*to_write(OP, value, x.dtype())?;
    if !accumulate {
        return put(x, indices, value.into());
    }
    if x.dtype() == DType::Bool {
        let value = cast(value, DType::I64)?;
        return cast(&index_put(&cast(x, DType::I64)?, indices, (&value).into(), true)?, DType::Bool);
    }
    let e = Expression::new(OP, x.dims(), indices)?;
    let value = broadcast_to(&*fitted(OP, value.into(), x.dtype(), &e.values())?, &e.values())?;
    let part = match &e.list {
        None => value,
        Some(List { order, rows, positions }) if e.is_whole(x.dims()) && order.is_sorted() => {
            return add_onto(OP, x, *rows, positions, &value);
        }
        Some(List { order, rows, positions }) => {
            let dims: Dims = order.iter().map(|&a| e.dims[a]).collect();
            let sum = add_at(OP, &dims, *rows, positions, &value)?;
            let mut back: SmallVec<[usize; 4]> = order.clone();
            order.iter().enumerate().for_each(|(i, &a)| back[a] = i);
            permuted(&sum, back)?
        }
    };
    let whole = if e.is_whole(x.dims()) { part } else { place(OP, x.dims(), &[&part], [e.region()], None)? };
    add_same(x, &whole)
}
