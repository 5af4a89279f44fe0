//! Cumulative sums and products, and linear recurrences, along an axis.

use crate::array::Array;
use crate::dtype::{DType, c64, c128, dispatch};
use crate::error::{Result, bail};
use crate::kernel::interrupt;
use crate::kernel::num::{ComplexNum, Field, Inexact, Real};
use crate::kernel::output::{self, AxisBlocks};

/// The axis of a scan, and whether it runs from the last row to the first.
#[derive(Clone, Copy)]
pub struct ScanAxis {
    pub axis: usize,
    pub reverse: bool,
}

impl ScanAxis {
    /// Calls `step` with the offset of each row in a block, and that of the row before it in scan order (`None` for
    /// the first).
    #[inline(always)]
    fn walk(self, AxisBlocks { n, inner }: AxisBlocks, mut step: impl FnMut(usize, Option<usize>)) {
        let row = |k: usize| inner * if self.reverse { n - 1 - k } else { k };
        for part in interrupt::parts(0..n, inner) {
            for k in part {
                step(row(k), k.checked_sub(1).map(row));
            }
        }
    }
}

/// Rows that are scanned in parallel within a thread, to hide the latency of the dependent operations.
const SIDE: usize = 8;

/// A scan of consecutive blocks: `first(i)` for an element without predecessor, else `next(i, j, before)` with the
/// result `before` of its predecessor `j`.
#[inline(always)]
fn scan<T: Copy>(
    way: ScanAxis,
    blocks: AxisBlocks,
    out: &mut [T],
    first: impl Fn(usize) -> T,
    next: impl Fn(usize, usize, T) -> T,
) {
    if out.is_empty() {
        return;
    }
    if blocks.inner != 1 {
        for (b, out) in out.chunks_exact_mut(blocks.len()).enumerate() {
            let start = b * blocks.len();
            way.walk(blocks, |at, before| {
                let Some(before) = before else {
                    return (0..blocks.inner).for_each(|i| out[at + i] = first(start + at + i));
                };
                for i in 0..blocks.inner {
                    out[at + i] = next(start + at + i, start + before + i, out[before + i]);
                }
            });
        }
        return;
    }
    // Along the last axis the running result stays in a register.
    let n = blocks.n;
    let (whole, rest) = out.split_at_mut(out.len() / (SIDE * n) * (SIDE * n));
    for (s, out) in whole.chunks_exact_mut(SIDE * n).enumerate() {
        side_by_side::<SIDE, T>(way.reverse, n, s * SIDE * n, out, &first, &next);
    }
    for (r, out) in rest.chunks_exact_mut(n).enumerate() {
        side_by_side::<1, T>(way.reverse, n, whole.len() + r * n, out, &first, &next);
    }
}

/// [`scan`] of `ROWS` rows of `n` elements, the first of which is element `start`.
#[inline(always)]
fn side_by_side<const ROWS: usize, T: Copy>(
    reverse: bool,
    n: usize,
    start: usize,
    out: &mut [T],
    first: &impl Fn(usize) -> T,
    next: &impl Fn(usize, usize, T) -> T,
) {
    let at = |k: usize| if reverse { n - 1 - k } else { k };
    let mut last: [T; ROWS] = std::array::from_fn(|r| first(start + r * n + at(0)));
    last.iter().enumerate().for_each(|(r, &last)| out[r * n + at(0)] = last);
    for part in interrupt::parts(1..n, ROWS) {
        for k in part {
            let (i, j) = (at(k), at(k - 1));
            for (r, last) in last.iter_mut().enumerate() {
                *last = next(start + r * n + i, start + r * n + j, *last);
                out[r * n + i] = *last;
            }
        }
    }
}

/// `out[k] = x[k] + out[k-1]` in scan order.
pub fn cumsum(op: &'static str, x: &Array, way: ScanAxis) -> Result<Array> {
    dispatch!(x.dtype(), field T => cumulative::<T>(op, x, way, T::add), else not_defined(op, x.dtype()))
}

/// `out[k] = x[k] * out[k-1]` in scan order.
pub fn cumprod(op: &'static str, x: &Array, way: ScanAxis) -> Result<Array> {
    dispatch!(x.dtype(), field T => cumulative::<T>(op, x, way, T::mul), else not_defined(op, x.dtype()))
}

/// `out[k] = ln(e^x[k] + e^out[k-1])` in scan order, without overflow.
pub fn logcumsumexp(op: &'static str, x: &Array, way: ScanAxis) -> Result<Array> {
    fn sum<T: Real>(a: T, b: T) -> T {
        let (small, large) = if a < b { (a, b) } else { (b, a) };
        // Equal infinities have no difference; a NaN stays.
        if small == large && !Inexact::is_finite(large) {
            large
        } else {
            large.add(small.sub(large).exp().ln_1p())
        }
    }
    /// The same for complex numbers; the one with the larger real part is taken out of the sum.
    fn complex_sum<T: ComplexNum>(a: T, b: T) -> T {
        let ((a_re, _), (b_re, _)) = (a.parts(), b.parts());
        let (small, large) = if a_re < b_re { (a, b) } else { (b, a) };
        if a_re == b_re && a_re.is_infinite() { large } else { large.add(small.sub(large).exp().ln_1p()) }
    }
    match x.dtype() {
        DType::C64 => cumulative::<c64>(op, x, way, complex_sum),
        DType::C128 => cumulative::<c128>(op, x, way, complex_sum),
        dtype => {
            dispatch!(dtype, float T => cumulative::<T>(op, x, way, sum::<T>), else not_defined(op, dtype))
        }
    }
}

/// For each element the product of all others along an axis: the exclusive product before it times that after it. The
/// dtype has a gradient.
pub fn product_of_others(op: &'static str, x: &Array, axis: usize) -> Result<Array> {
    let x = x.contiguous()?;
    let (dims, blocks) = (x.dims(), AxisBlocks::of(x.dims(), axis));
    let len = blocks.len();
    dispatch!(x.dtype(), inexact T => {
        let all = x.as_slice::<T>().expect("contiguous");
        let (out, _) = output::build_pair::<T, T>(op, (dims, len), (dims, len), len, |start, out, after| {
            let x = &all[start * len..][..out.len()];
            for (reverse, out) in [(false, &mut *out), (true, &mut *after)] {
                scan(ScanAxis { axis, reverse }, blocks, out, |_| T::ONE, |_, j, last| last.mul(x[j]));
            }
            out.iter_mut().zip(after).for_each(|(o, &mut v)| *o = o.mul(v));
        })?;
        Ok(out)
    }, else not_defined(op, x.dtype()))
}

fn cumulative<T: Field>(
    op: &'static str,
    x: &Array,
    way: ScanAxis,
    combine: impl Fn(T, T) -> T + Sync,
) -> Result<Array> {
    let x = x.contiguous()?;
    let blocks = AxisBlocks::of(x.dims(), way.axis);
    let len = blocks.len();
    let all = x.as_slice::<T>().expect("contiguous");
    output::build::<T>(op, x.dims(), len, |start, out| {
        let x = &all[start * len..][..out.len()];
        scan(way, blocks, out, |i| x[i], |i, _, last| combine(last, x[i]));
    })
}

/// `out[k] = b[k] + c * out[k-1]` in scan order, where `c` is `a[k]` if `own`, else `a[k-1]`. Both arrays have the
/// same shape, and a dtype that has a gradient. The coefficient of the first element is not read.
pub fn linear_recurrence(op: &'static str, a: &Array, b: &Array, way: ScanAxis, own: bool) -> Result<Array> {
    fn go<T: Field>(op: &'static str, a: &Array, b: &Array, way: ScanAxis, own: bool) -> Result<Array> {
        let (a, b) = (a.contiguous()?, b.contiguous()?);
        let blocks = AxisBlocks::of(b.dims(), way.axis);
        let len = blocks.len();
        let (all_a, all_b) = (a.as_slice::<T>().expect("contiguous"), b.as_slice::<T>().expect("contiguous"));
        output::build::<T>(op, b.dims(), len, |start, out| {
            let (a, b) = (&all_a[start * len..][..out.len()], &all_b[start * len..][..out.len()]);
            let next = |i: usize, j: usize, last: T| b[i].add(a[if own { i } else { j }].mul(last));
            scan(way, blocks, out, |i| b[i], next);
        })
    }
    assert_eq!((a.dims(), a.dtype()), (b.dims(), b.dtype()), "{op}: coefficients of another shape or dtype");
    dispatch!(b.dtype(), inexact T => go::<T>(op, a, b, way, own), else not_defined(op, b.dtype()))
}

/// `out[k] = x[k-1]` in scan order, with 0 first.
pub fn shift(op: &'static str, x: &Array, way: ScanAxis) -> Result<Array> {
    let x = x.contiguous()?;
    let blocks = AxisBlocks::of(x.dims(), way.axis);
    let (len, inner) = (blocks.len(), blocks.inner);
    // Rows are moved as bytes, so one loop serves all dtypes.
    let (len, one) = (len * x.dtype().size(), inner.min(len) * x.dtype().size());
    let bytes = x.len() * x.dtype().size();
    Array::build_raw(op, x.dtype(), x.dims(), |out| {
        // SAFETY: both arrays are contiguous and have this many bytes, and the new one is unshared.
        let (all, out) = unsafe {
            (std::slice::from_raw_parts(x.ptr(), bytes), std::slice::from_raw_parts_mut(out, bytes))
        };
        for (x, out) in all.chunks_exact(len.max(1)).zip(out.chunks_exact_mut(len.max(1))) {
            if way.reverse {
                out[..len - one].copy_from_slice(&x[one..]);
                out[len - one..].fill(0);
            } else {
                out[one..].copy_from_slice(&x[..len - one]);
                out[..one].fill(0);
            }
        }
    })
}

fn not_defined(op: &'static str, dtype: DType) -> Result<Array> {
    bail!(Dtype, op, "not defined for {dtype}")
}
