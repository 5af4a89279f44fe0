//! Lists of positions: from indices and from truth values, back to indices, and checked for repeats.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::indexed::{flat, inside};
use crate::array::Array;
use crate::dtype::{Bool8, DType, Ordered, dispatch};
use crate::error::{Error, Result, bail};
use crate::kernel::interrupt;
use crate::kernel::pointwise::binary::{self, binary_loops};
use crate::kernel::pointwise::cast::cast;
use crate::kernel::{output, simd};
use crate::shape::{self, Dims};

/// Broadcast indices of adjacent axes of these sizes as positions on the flattened axes, as in
/// `numpy.ravel_multi_index`. Negative indices count from the end, or with `from_zero` are
/// out of bounds. `first` numbers the axes, for errors.
pub fn ravel_indices(
    op: &'static str,
    indices: &[&Array],
    sizes: &[usize],
    first: &[usize],
    from_zero: bool,
    batch_ndim: usize,
) -> Result<Array> {
    const SUM: &binary::BinaryLoops = binary_loops!(integer x, y => x.add(y));
    let mut dims = Dims::new();
    for index in indices {
        let lane_first = index.with_rank(indices.iter().map(|i| i.rank()).max().unwrap_or(0), batch_ndim);
        match shape::broadcast(op, &dims, lane_first.dims()) {
            Ok(d) => dims = d,
            Err(_) => {
                let all: Vec<&[usize]> = indices.iter().map(|i| &i.dims()[batch_ndim..]).collect();
                bail!(
                    Index,
                    op,
                    "shape mismatch: index arrays of shapes {all:?} do not broadcast against each other"
                );
            }
        }
    }
    let steps = shape::contiguous_strides(sizes);
    let mut out: Option<Array> = None;
    for (((index, &size), &axis), step) in indices.iter().zip(sizes).zip(first).zip(&steps) {
        let places = normal(op, index, size, axis, *step as i64, from_zero)?;
        out = Some(match out {
            None => places,
            Some(sum) => binary::apply(op, SUM, &sum, &places, batch_ndim)?,
        });
    }
    out.map_or_else(|| Array::zeros(op, DType::I64, &dims), Ok)
}

/// An index as a position. A negative one counts from `end`.
#[inline(always)]
pub(super) fn place<T: Ordered>(i: T, end: i64) -> i64 {
    let at = i.to_i64();
    // An unsigned index beyond the range of i64 is negative here.
    if (at < 0) & (i < T::default()) { at + end } else { at }
}

/// The error of an index outside its axis.
pub(super) fn outside(op: &'static str, index: i128, axis: usize, size: usize) -> Box<Error> {
    let what = format!("index {index} is out of bounds for axis {axis} with size {size}");
    Box::new(Error::Index { op, what })
}

/// The indices of an axis, checked and made non-negative, times `step`.
fn normal(
    op: &'static str,
    index: &Array,
    size: usize,
    axis: usize,
    step: i64,
    from_zero: bool,
) -> Result<Array> {
    let (index, n) = (index.contiguous()?, size as i64);
    let end = if from_zero { 0 } else { n };
    let as_they_are = step == 1 && index.dtype() == DType::I64;
    if as_they_are && inside(index.as_slice().expect("contiguous"), size) {
        return Ok(index);
    }
    let any = AtomicBool::new(false);
    dispatch!(index.dtype(), int T => {
        let from = index.as_slice::<T>().expect("contiguous");
        let out = output::build::<i64>(op, index.dims(), 1, |first, out| simd::autovectorize(
            #[inline(always)]
            || {
                // Local copies, because the compiler must assume that the loop may write what it reads through a
                // reference.
                let (n, end, step) = (n, end, step);
                let mut lost = false;
                for (out, &i) in out.iter_mut().zip(&from[first..]) {
                    let at = place(i, end);
                    lost |= at as u64 >= n as u64;
                    *out = at.wrapping_mul(step);
                }
                if lost { any.store(true, Relaxed); }
            },
        ))?;
        if any.into_inner() && let Some(i) = from.iter().find(|i| place(**i, end) as u64 >= n as u64) {
            return Err(outside(op, i.to_i128(), axis, size));
        }
        Ok(out)
    }, else bail!(Index, op, "indices are integers or truth values, not {}", index.dtype()))
}

/// Exact conversion to the widest integer.
trait Exact {
    fn to_i128(self) -> i128;
}
macro_rules! exact {
    ($($t:ty)*) => { $( impl Exact for $t { fn to_i128(self) -> i128 { i128::from(self) } } )* };
}
exact!(u8 i8 u16 i16 u32 i32 u64 i64);

/// The positions of the non-zero elements of the flattened array.
pub fn nonzero(x: &Array) -> Result<Array> {
    let x = cast(&x.contiguous()?, DType::Bool)?;
    let from = x.as_slice::<Bool8>().expect("contiguous");
    let parts = || interrupt::parts(0..from.len(), 1);
    let is_found = |v: &Bool8| *v != Bool8::default();
    let count = parts().map(|part| from[part].iter().filter(|v| is_found(v)).count()).sum();
    Array::build::<i64>("nonzero", &[count], |out| {
        let mut out = out.iter_mut();
        for part in parts() {
            let found = part.clone().zip(&from[part]).filter(|(_, v)| is_found(v));
            // The elements come first, since `zip` takes one more of them than there are places left.
            found.zip(&mut out).for_each(|((i, _), o)| *o = i as i64);
        }
    })
}

/// Positions on flattened axes as indices of one axis.
pub fn unravel_index(positions: &Array, dims: &[usize], axis: usize) -> Result<Array> {
    let (after, size) = (shape::len(&dims[axis + 1..]).max(1) as i64, dims[axis].max(1) as i64);
    let positions = positions.contiguous()?;
    let from = positions.as_slice::<i64>().expect("contiguous");
    output::build::<i64>("nonzero", positions.dims(), 1, |first, out| {
        out.iter_mut().zip(&from[first..]).for_each(|(o, &p)| *o = p / after % size);
    })
}

/// Which positions of each list do not occur again later in it, as truth values, and whether that is all of them.
pub fn last_occurrences(positions: &Array, batch_ndim: usize) -> Result<(Array, bool)> {
    let list = flat(positions, batch_ndim)?;
    let n = *list.dims().last().expect("one axis at least");
    let from = list.as_slice::<i64>().expect("contiguous");
    let mut all = true;
    let out = Array::build::<Bool8>("index_put", positions.dims(), |out| {
        for (out, list) in out.chunks_exact_mut(n.max(1)).zip(from.chunks_exact(n.max(1))) {
            let mut seen = rustc_hash::FxHashSet::default();
            for part in interrupt::parts(0..n, 1) {
                for at in part.map(|k| n - 1 - k) {
                    let first = seen.insert(list[at]);
                    all &= first;
                    out[at] = first.into();
                }
            }
        }
    })?;
    Ok((out, all))
}
