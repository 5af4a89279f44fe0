//! New arrays written chunk by chunk, in parallel if they are large.

use std::ops::Range;

use crate::array::Array;
use crate::dtype::{DType, Element};
use crate::error::Result;
use crate::kernel::num::Field;
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

/// Partial sums `[items, parts, elements]`, of which those of each item are added in order: `dims` has the elements of all items.
pub fn sum_of_parts<T: Field>(op: &'static str, parts: &Array, dims: &[usize]) -> Result<Array> {
    let [_, count, n] = *parts.dims() else { unreachable!("three axes") };
    let all = parts.as_slice::<T>().expect("contiguous");
    Array::build::<T>(op, dims, |out| {
        for (out, item) in out.chunks_exact_mut(n.max(1)).zip(all.chunks_exact((count * n).max(1))) {
            let (first, rest) = item.split_at(n);
            out.copy_from_slice(first);
            for part in rest.chunks_exact(n) {
                out.iter_mut().zip(part).for_each(|(o, &v)| *o = o.add(v));
            }
        }
    })
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
    build_sized::<T>(op, T::DTYPE, dims, size, from, work)
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
    let (size, len) = (size.max(1), shape::checked_len(dims).unwrap_or(0));
    let count = len / size;
    assert_eq!(count * size, len, "{op}: a part of a chunk");
    Array::build_raw(op, dtype, dims, |out| {
        let out = SendPtr(out);
        in_pieces(count, size.max(from), size_of::<T>(), &|r| {
            // SAFETY: the new array has `count` chunks of `size` elements, and each piece has its own chunks.
            work(r.start, unsafe { chunks(&out, &r, size) });
        });
    })
}

/// Runs `work` on `count` chunks, in parallel if they are large. A chunk costs as much as `size` elements of `bytes` bytes.
fn in_pieces(count: usize, size: usize, bytes: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
    if count * size * bytes < par::MIN_BYTES {
        work(0..count);
    } else {
        par::pieces(count, par::PIECE.div_ceil(size), work);
    }
}

/// Some chunks of `size` elements of an array.
///
/// # Safety
/// The array has these chunks, and nobody else uses them.
unsafe fn chunks<'a, T>(out: &SendPtr, r: &Range<usize>, size: usize) -> &'a mut [T] {
    // SAFETY: the caller promises it.
    unsafe { std::slice::from_raw_parts_mut(out.get().cast::<T>().add(r.start * size), r.len() * size) }
}

/// [`build_from`] for two arrays with the same number of chunks.
pub fn build_pair<A: Element, B: Element>(
    op: &'static str,
    (dims_a, size_a): (&[usize], usize),
    (dims_b, size_b): (&[usize], usize),
    from: usize,
    work: impl Fn(usize, &mut [A], &mut [B]) + Sync,
) -> Result<(Array, Array)> {
    let size = size_a.max(size_b).max(from);
    let lens = [dims_a, dims_b].map(|dims| shape::checked_len(dims).unwrap_or(0));
    let count = lens[0].checked_div(size_a).or_else(|| lens[1].checked_div(size_b)).unwrap_or(0);
    allocate_pair(op, (A::DTYPE, dims_a), (B::DTYPE, dims_b), &mut |a, b| {
        assert!(lens == [count * size_a, count * size_b], "{op}: chunks of unequal number");
        in_pieces(count, size, size_of::<A>(), &|r| {
            // SAFETY: `count` chunks fit exactly into both arrays (asserted above), and each piece has its own chunks.
            let (a, b) = unsafe { (chunks(&a, &r, size_a), chunks(&b, &r, size_b)) };
            work(r.start, a, b);
        });
    })
}

/// Two new arrays, whose elements the threads of `work` write through pointers.
pub fn build_pair_raw<T: Element>(
    op: &'static str,
    dims_a: &[usize],
    dims_b: &[usize],
    mut work: impl FnMut(SendPtr, SendPtr),
) -> Result<(Array, Array)> {
    allocate_pair(op, (T::DTYPE, dims_a), (T::DTYPE, dims_b), &mut work)
}

/// Allocates two arrays and lets `work` write them.
fn allocate_pair(
    op: &'static str,
    (dtype_a, dims_a): (DType, &[usize]),
    (dtype_b, dims_b): (DType, &[usize]),
    work: &mut dyn FnMut(SendPtr, SendPtr),
) -> Result<(Array, Array)> {
    let (mut a, mut b) = (Array::unwritten(op, dtype_a, dims_a)?, Array::unwritten(op, dtype_b, dims_b)?);
    work(SendPtr(a.ptr()), SendPtr(b.ptr()));
    Ok((a.written(), b.written()))
}
