//! Tensors made from nothing.

use super::arithmetic::default_float;
use super::entry::entries;
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result, bail};
use crate::graph::Tensor;
use crate::shape::{self, Dims};

/// A Python shape as sizes.
fn sizes(op: &'static str, shape: &[i64], dtype: DType) -> Result<Dims> {
    let Ok(dims) = shape.iter().map(|&d| usize::try_from(d)).collect::<Result<Dims, _>>() else {
        bail!(Shape, op, "{shape:?} has a negative size");
    };
    let fits = shape::checked_len(&dims)
        .and_then(|n| n.checked_mul(dtype.size()))
        .filter(|&b| b <= isize::MAX as usize);
    if fits.is_none() {
        return Err(Error::Memory { op, dims: dims.to_vec(), dtype });
    }
    Ok(dims)
}

/// Zeros of a shape.
pub fn zeros(shape: &[i64], dtype: Option<DType>) -> Result<Tensor> {
    let dtype = dtype.unwrap_or_else(default_float);
    Ok(Tensor::constant(Array::full_of(dtype, &sizes("zeros", shape, dtype)?, 0.0).contiguous()?))
}

/// Ones of a shape.
pub fn ones(shape: &[i64], dtype: Option<DType>) -> Result<Tensor> {
    let dtype = dtype.unwrap_or_else(default_float);
    Ok(Tensor::constant(Array::full_of(dtype, &sizes("ones", shape, dtype)?, 1.0).contiguous()?))
}

entries! {
    function zeros (shape: &[i64], dtype: Option<DType> = None) "Zeros of a shape.";
    function ones (shape: &[i64], dtype: Option<DType> = None) "Ones of a shape.";
}
