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

/// `len` elements of each row. This and the next function are loops, because a build may not inline what the standard library
/// has for it.
#[inline(always)]
pub fn parts<T, const N: usize>(rows: [&[T]; N], first: usize, len: usize) -> [&[T]; N] {
    let mut parts = rows;
    for part in &mut parts {
        *part = &part[first..][..len];
    }
    parts
}

/// Element `i` of each row.
#[inline(always)]
pub fn at<T: Real, R: AsRef<[T]>, const N: usize>(rows: &[R; N], i: usize) -> [T; N] {
    let mut elements = [T::ZERO; N];
    for k in 0..N {
        elements[k] = rows[k].as_ref()[i];
    }
    elements
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
