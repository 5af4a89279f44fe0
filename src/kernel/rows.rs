//! Helpers for kernels that work on rows, the last axis of contiguous arrays.

use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::kernel::num::Real;
use crate::kernel::reduce::pairwise::{SumOf, pairwise};
use crate::shape::Dims;

#[inline(always)]
pub fn total<T: Real>(x: &[T]) -> T {
    pairwise(SumOf(|v: T| v), x)
}

/// Iterates over rows of `n` elements.
#[inline(always)]
pub fn each<T>(x: &[T], n: usize) -> impl Iterator<Item = &[T]> {
    x.chunks_exact(n.max(1))
}

#[inline(always)]
pub fn each_mut<T>(x: &mut [T], n: usize) -> impl Iterator<Item = &mut [T]> {
    x.chunks_exact_mut(n.max(1))
}

/// The size of the last axis.
pub fn last(x: &Array) -> usize {
    *x.dims().last().expect("rows have an axis")
}

/// The shape with the last axis of size 1.
pub fn column(x: &Array) -> Dims {
    let mut dims = Dims::from_slice(x.dims());
    *dims.last_mut().expect("rows have an axis") = 1;
    dims
}

pub fn not_defined<T>(op: &'static str, dtype: DType) -> Result<T> {
    bail!(Dtype, op, "not defined for {dtype}")
}
