//! The outputs of an op on arrays.

use smallvec::SmallVec;

use super::levels::Levels;
use super::lower::{Loops, Operands};
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
    if ins.iter().any(|x| x.dtype().is_half()) && !op.takes_half() {
        return in_float32(op, ins, batch_ndim);
    }
    forward(op, ins, batch_ndim)
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
    let floats = ins.iter().map(|x| x.dtype()).filter(|d| d.is_differentiable());
    let rounded = floats.reduce(DType::promote).filter(|d| d.is_half());
    let dtypes: SmallVec<[DType; 4]> =
        ins.iter().map(|x| if x.dtype().is_half() { DType::F32 } else { x.dtype() }).collect();
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
