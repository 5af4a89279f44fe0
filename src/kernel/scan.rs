//! Running sums and linear recurrences along an axis.

use super::chunks::{self, Blocks};
use super::num::Num;
use crate::array::Array;
use crate::dtype::{DType, dispatch};
use crate::error::{Result, bail};

/// Along which axis a scan runs, and whether from the last row to the first.
#[derive(Clone, Copy)]
pub struct Way {
    pub axis: usize,
    pub reverse: bool,
}

impl Way {
    /// Calls `step` with each row's offset in a block and that of the row before it on the way (none at the start).
    #[inline(always)]
    fn walk(self, Blocks { n, inner }: Blocks, mut step: impl FnMut(usize, Option<usize>)) {
        for k in 0..n {
            let row = |k: usize| inner * if self.reverse { n - 1 - k } else { k };
            step(row(k), k.checked_sub(1).map(row));
        }
    }
}

/// A scan of one block: `first(i)` where nothing came before, then `next(i, j, before)` with the result `before` at the
/// place `j` before `i`.
#[inline(always)]
fn scan<T: Copy>(
    way: Way,
    blocks: Blocks,
    out: &mut [T],
    first: impl Fn(usize) -> T,
    next: impl Fn(usize, usize, T) -> T,
) {
    if blocks.inner != 1 {
        return way.walk(blocks, |at, before| match before {
            Some(before) => {
                (0..blocks.inner).for_each(|i| out[at + i] = next(at + i, before + i, out[before + i]))
            }
            None => (0..blocks.inner).for_each(|i| out[at + i] = first(at + i)),
        });
    }
    // Along a row the last result stays in a register.
    let n = out.len();
    if way.reverse {
        let Some(mut last) = n.checked_sub(1).map(&first) else { return };
        out[n - 1] = last;
        for i in (0..n - 1).rev() {
            last = next(i, i + 1, last);
            out[i] = last;
        }
    } else if n > 0 {
        let mut last = first(0);
        out[0] = last;
        for (i, out) in out.iter_mut().enumerate().skip(1) {
            last = next(i, i - 1, last);
            *out = last;
        }
    }
}

/// `out[k] = x[k] + out[k-1]` along the way.
pub fn sum(op: &'static str, x: &Array, way: Way) -> Result<Array> {
    fn go<T: Num>(op: &'static str, x: &Array, way: Way) -> Result<Array> {
        let x = x.contiguous()?;
        let blocks = Blocks::of(x.dims(), way.axis);
        let len = blocks.len();
        let all = x.as_slice::<T>().expect("contiguous");
        chunks::build::<T>(op, x.dims(), len, |start, out| {
            for (b, out) in (start..).zip(out.chunks_exact_mut(len.max(1))) {
                let x = &all[b * len..][..len];
                scan(way, blocks, out, |i| x[i], |i, _, last| last.add(x[i]));
            }
        })
    }
    dispatch!(x.dtype(), num T => go::<T>(op, x, way), else not_defined(op, x.dtype()))
}

/// `out[k] = b[k] + c * out[k-1]` along the way, where `c` is `a[k]` if `own`, else `a[k-1]`. Both arrays have one
/// shape. The coefficient that has no row before it is not read, whatever it is.
pub fn recur(op: &'static str, a: &Array, b: &Array, way: Way, own: bool) -> Result<Array> {
    fn go<T: Num>(op: &'static str, a: &Array, b: &Array, way: Way, own: bool) -> Result<Array> {
        let (a, b) = (a.contiguous()?, b.contiguous()?);
        let blocks = Blocks::of(b.dims(), way.axis);
        let len = blocks.len();
        let (all_a, all_b) = (a.as_slice::<T>().expect("contiguous"), b.as_slice::<T>().expect("contiguous"));
        chunks::build::<T>(op, b.dims(), len, |start, out| {
            for (block, out) in (start..).zip(out.chunks_exact_mut(len.max(1))) {
                let (a, b) = (&all_a[block * len..][..len], &all_b[block * len..][..len]);
                let next = |i: usize, j: usize, last: T| b[i].add(a[if own { i } else { j }].mul(last));
                scan(way, blocks, out, |i| b[i], next);
            }
        })
    }
    assert_eq!((a.dims(), a.dtype()), (b.dims(), b.dtype()), "{op}: coefficients of another shape or dtype");
    dispatch!(b.dtype(), num T => go::<T>(op, a, b, way, own), else not_defined(op, b.dtype()))
}

/// `out[k] = x[k-1]` along the way, and 0 at its start.
pub fn shift(op: &'static str, x: &Array, way: Way) -> Result<Array> {
    let x = x.contiguous()?;
    let blocks = Blocks::of(x.dims(), way.axis);
    let (len, inner) = (blocks.len(), blocks.inner);
    dispatch!(x.dtype(), all T => {
        let all = x.as_slice::<T>().expect("contiguous");
        chunks::build::<T>(op, x.dims(), len, |first, out| {
            out.fill(T::default());
            for (b, out) in (first..).zip(out.chunks_exact_mut(len.max(1))) {
                way.walk(blocks, |at, before| {
                    if let Some(before) = before {
                        out[at..at + inner].copy_from_slice(&all[b * len + before..][..inner]);
                    }
                });
            }
        })
    })
}

fn not_defined(op: &'static str, dtype: DType) -> Result<Array> {
    bail!(Dtype, op, "not defined for {dtype}")
}
