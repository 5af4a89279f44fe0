//! Checks of shapes that a caller gives.

use crate::dtype::DType;
use crate::error::{Error, Result, bail};
use crate::graph::Tensor;
use crate::shape::{self, Dims};

/// A Python shape as sizes. Refuses negative sizes, and more bytes than an address can count.
pub(in crate::ops) fn sizes(op: &'static str, shape: &[i64], dtype: DType) -> Result<Dims> {
    let Ok(dims) = shape.iter().map(|&d| usize::try_from(d)).collect::<Result<Dims, _>>() else {
        bail!(Shape, op, "{shape:?} has a negative size");
    };
    let fits = shape::checked_len(&dims)
        .and_then(|n| n.checked_mul(dtype.size()))
        .filter(|&b| b <= isize::MAX as usize);
    if fits.is_none() {
        return Err(Error::memory(op, dims.to_vec(), dtype));
    }
    Ok(dims)
}

/// The shape, if an array of it can be addressed.
pub(in crate::ops) fn held(op: &'static str, x: &Tensor, dims: Dims) -> Result<Dims> {
    let bytes = shape::checked_len(&dims).and_then(|n| n.checked_mul(x.dtype().size()));
    match bytes.filter(|&b| b <= isize::MAX as usize) {
        Some(_) => Ok(dims),
        None => Err(Error::memory(op, dims.to_vec(), x.dtype())),
    }
}
