//! The outputs of an op on arrays.

use smallvec::SmallVec;

use super::levels::Levels;
use super::lower::{Loops, Operands};
use super::made::Made;
use super::record::{Op, Outputs, Tensor};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::host;
use crate::kernel::pointwise::half;
use crate::shape::Dims;

/// The outputs of an op.
#[inline(always)]
#[doc(hidden)]
pub fn computed(op: &dyn Op, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
    let outs = applied(op, ins, batch_ndim);
    #[cfg(debug_assertions)]
    assert_made(op, ins, batch_ndim, &outs);
    outs
}

#[inline(always)]
pub fn applied(op: &dyn Op, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
    if ins.iter().any(|x| x.dtype().is_half()) && !op.takes_half() {
        return in_float32(op, ins, batch_ndim);
    }
    forward(op, ins, batch_ndim)
}

/// What an op makes of such operands, of which some may be of half dtypes. None if it refuses them, whatever their numbers
/// are.
#[doc(hidden)]
pub fn made_by(op: &dyn Op, ins: &Operands<'_>) -> Option<Made> {
    // What hides axes is an operand.
    ins.hidden().filter(|_| ins.batch_ndim == 0 || !ins.dims.is_empty())?;
    if op.takes_half() || !ins.dtypes.iter().any(|d| d.is_half()) {
        return said(op, ins);
    }
    let dtypes = wide(ins.dtypes.iter().copied());
    let mut made = said(op, &Operands { dtypes: &dtypes, ..*ins })?;
    if let Some(dtype) = rounded(ins.dtypes.iter().copied()) {
        made.iter_mut().filter(|out| out.0 == DType::F32).for_each(|out| out.0 = dtype);
    }
    Some(made)
}

/// The dtypes in which an op that does not take half dtypes computes with operands of these.
fn wide(dtypes: impl Iterator<Item = DType>) -> SmallVec<[DType; 4]> {
    dtypes.map(|d| if d.is_half() { DType::F32 } else { d }).collect()
}

/// The half dtype to which the results of such an op are rounded, unless an operand has another float dtype.
fn rounded(dtypes: impl Iterator<Item = DType>) -> Option<DType> {
    dtypes.filter(|d| d.is_differentiable()).reduce(DType::promote).filter(|d| d.is_half())
}

/// What an op says that it makes, by its loops where it has some.
fn said(op: &dyn Op, ins: &Operands<'_>) -> Option<Made> {
    match op.lower(ins) {
        None | Some(Loops::Kernel(_)) => op.makes(ins),
        Some(loops) => loops.makes(ins),
    }
}

/// In debug builds, each application of an op that files know is compared with what the op says that it makes.
#[cfg(debug_assertions)]
fn assert_made(op: &dyn Op, ins: &[&Array], batch_ndim: usize, outs: &Result<Outputs>) {
    let Ok(outs) = outs else { return };
    if op.decides() || super::stored::write_op(op, &mut vec![]).is_none() {
        return;
    }
    let (dtypes, dims): (Vec<_>, Vec<_>) = ins.iter().map(|x| (x.dtype(), x.dims())).unzip();
    let made = made_by(op, &Operands { dtypes: &dtypes, dims: &dims, batch_ndim });
    let is_so = made.as_ref().is_some_and(|made| {
        made.iter().map(|(dtype, dims)| (*dtype, &dims[..])).eq(outs.iter().map(|x| (x.dtype(), x.dims())))
    });
    let outs: Vec<_> = outs.iter().map(|x| (x.dtype(), x.dims())).collect();
    assert!(
        is_so,
        "{} makes {outs:?} of {dtypes:?} {dims:?} with {batch_ndim} hidden axes, and says {made:?}",
        op.name()
    );
}

/// A kernel throws an error when it is interrupted or memory has run out. The border to a host language catches it; in a
/// program in Rust this function does.
#[inline(always)]
fn forward(op: &dyn Op, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
    if host::is_present() {
        return op.forward(ins, batch_ndim);
    }
    Error::catch(|| op.forward(ins, batch_ndim))
}

/// The outputs of an op on half dtypes. They are rounded to the dtype of the inputs, unless an input has another float
/// dtype.
#[cold]
fn in_float32(op: &dyn Op, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
    let of = || ins.iter().map(|x| x.dtype());
    let (rounded, dtypes) = (rounded(of()), wide(of()));
    let dims: SmallVec<[&[usize]; 4]> = ins.iter().map(|x| x.dims()).collect();
    let loops = op.lower(&Operands { dtypes: &dtypes, dims: &dims, batch_ndim });
    if let Some(Loops::Pointwise(row)) = &loops
        && let Some(out) = half::by_tiles(op.name(), row, ins, rounded)
    {
        return Ok([out?].into());
    }
    let mut outs = if let Some(Loops::Fold(..)) = loops {
        // The fold widens tiles.
        forward(op, ins, batch_ndim)?
    } else {
        let wide = ins.iter().map(|x| half::widened(x)).collect::<Result<SmallVec<[Array; 4]>>>()?;
        forward(op, &wide.iter().collect::<SmallVec<[&Array; 4]>>(), batch_ndim)?
    };
    if let Some(dtype) = rounded {
        for out in outs.iter_mut().filter(|out| out.dtype() == DType::F32) {
            *out = half::narrowed(out, dtype)?;
        }
    }
    Ok(outs)
}

/// The tensor's array with one hidden axis for each of `levels`, of size 1 where the tensor lacks it.
#[doc(hidden)]
pub fn align(t: &Tensor, levels: &Levels) -> Array {
    if t.levels == *levels {
        return t.array.clone();
    }
    let mut own = t.levels.as_slice().iter().zip(t.array.dims().iter().zip(t.array.strides())).peekable();
    let mut hidden: SmallVec<[(usize, isize); 4]> = SmallVec::new();
    for level in levels.as_slice() {
        hidden.push(match own.next_if(|(l, _)| *l == level) {
            Some((_, (&d, s))) => (d, s),
            None => (1, 0),
        });
    }
    let strides = t.array.strides();
    let visible = t.dims().iter().copied().zip(strides[t.levels.len()..].iter().copied());
    let (dims, strides): (Dims, crate::shape::Strides) = hidden.into_iter().chain(visible).unzip();
    t.array.restride(&dims, &strides, 0)
}
