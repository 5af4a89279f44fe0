//! New arrays written chunk by chunk, in parallel if they are large.

use std::ops::Range;

use crate::array::Array;
use crate::dtype::{DType, Element};
use crate::error::Result;
use crate::kernel::par::{self, SendPtr};
use crate::shape;

/// A shape seen from one of its axes: blocks of `n` rows of `inner` elements.
#[derive(Clone, Copy)]
pub struct AxisBlocks {
    pub n: usize,
    pub inner: usize,
}

impl AxisBlocks {
    pub fn of(dims: &[usize], axis: usize) -> AxisBlocks {
        AxisBlocks { n: dims[axis], inner: dims[axis + 1..].iter().product() }
    }

    /// Elements of one block.
    pub fn len(self) -> usize {
        self.n * self.inner
    }
}

/// A new array in chunks of `size` elements. `work(first, chunks)` writes consecutive chunks, starting with chunk
/// `first`.
pub fn build<T: Element>(
    op: &'static str,
    dims: &[usize],
    size: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) -> Result<Array> {
    build_from(op, dims, size, size, work)
}

/// [`build`] for chunks that are computed from `from` input elements each.
pub fn build_from<T: Element>(
    op: &'static str,
    dims: &[usize],
    size: usize,
    from: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) -> Result<Array> {
    Ok(build_pair::<T, u8>(op, (dims, size), (&[0], 0), from, |first, out, _| work(first, out))?.0)
}

/// [`build_from`] for work that depends on the size of elements, not on their dtype: `T` is any type of that size.
pub fn build_sized<T: Copy>(
    op: &'static str,
    dtype: DType,
    dims: &[usize],
    size: usize,
    from: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) -> Result<Array> {
    assert_eq!(dtype.size(), size_of::<T>(), "{op}: elements of another size");
    let n = shape::len(dims);
    Array::build_raw(op, dtype, dims, |out| {
        let out = SendPtr(out);
        let (size, count) = (size.max(1), n.checked_div(size).unwrap_or(0));
        let some = |r: Range<usize>| {
            // SAFETY: the new array has `count` chunks of `size` elements, and each piece has its own chunks.
            let part = unsafe {
                std::slice::from_raw_parts_mut(out.get().cast::<T>().add(r.start * size), r.len() * size)
            };
            work(r.start, part);
        };
        if count * size.max(from) * size_of::<T>() < par::MIN_BYTES {
            some(0..count);
        } else {
            par::pieces(count, par::PIECE.div_ceil(size.max(from)), &some);
        }
    })
}

/// [`build_from`] for two arrays with the same number of chunks.
pub fn build_pair<A: Element, B: Element>(
    op: &'static str,
    (dims_a, size_a): (&[usize], usize),
    (dims_b, size_b): (&[usize], usize),
    from: usize,
    work: impl Fn(usize, &mut [A], &mut [B]) + Sync,
) -> Result<(Array, Array)> {
    allocate_pair::<A, B>(op, dims_a, dims_b, |a, b| {
        let size = size_a.max(size_b).max(from);
        let count = a.len().checked_div(size_a).or_else(|| b.len().checked_div(size_b)).unwrap_or(0);
        assert!(count * size_a == a.len() && count * size_b == b.len(), "{op}: chunks of unequal number");
        if count * size * size_of::<A>() < par::MIN_BYTES {
            return work(0, a, b);
        }
        let (a, b) = (SendPtr(a.as_mut_ptr().cast()), SendPtr(b.as_mut_ptr().cast()));
        par::pieces(count, par::PIECE.div_ceil(size), &|r| {
            let (a, b) = (a.get().cast::<A>(), b.get().cast::<B>());
            // SAFETY: `count` chunks fit exactly into both arrays (asserted above), and each piece has its own
            // chunks.
            let (a, b) = unsafe {
                (
                    std::slice::from_raw_parts_mut(a.add(r.start * size_a), r.len() * size_a),
                    std::slice::from_raw_parts_mut(b.add(r.start * size_b), r.len() * size_b),
                )
            };
            work(r.start, a, b);
        });
    })
}

/// Two new arrays, whose elements the threads of `work` write through pointers.
pub fn build_pair_raw<T: Element>(
    op: &'static str,
    dims_a: &[usize],
    dims_b: &[usize],
    work: impl FnOnce(SendPtr, SendPtr),
) -> Result<(Array, Array)> {
    allocate_pair::<T, T>(op, dims_a, dims_b, |a, b| {
        work(SendPtr(a.as_mut_ptr().cast()), SendPtr(b.as_mut_ptr().cast()));
    })
}

/// Allocates two arrays and lets `work` write them.
fn allocate_pair<A: Element, B: Element>(
    op: &'static str,
    dims_a: &[usize],
    dims_b: &[usize],
    work: impl FnOnce(&mut [A], &mut [B]),
) -> Result<(Array, Array)> {
    let mut second = None;
    let first = Array::build::<A>(op, dims_a, |a| {
        second = Some(Array::build::<B>(op, dims_b, |b| work(a, b)));
    })?;
    Ok((first, second.expect("built with the first")?))
}
