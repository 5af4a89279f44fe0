//! Cumulative sums and products, and linear recurrences, along an axis.

use crate::array::Array;
use crate::dtype::{DType, c64, c128, dispatch};
use crate::error::{Result, bail};
use crate::kernel::interrupt;
use crate::kernel::num::{ComplexNum, Field, Inexact, Real};
use crate::kernel::output::{self, AxisBlocks};
use crate::kernel::simd;

/// The axis of a scan, and whether it runs from the last row to the first.
#[derive(Clone, Copy)]
pub struct ScanAxis {
    pub axis: usize,
    pub reverse: bool,
}

/// The number in which a running result is kept: with 32 bits its rounding errors would add up.
trait Running: Field {
    type Wide: Field;
    fn widened(self) -> Self::Wide;
    fn narrowed(wide: Self::Wide) -> Self;
    /// The wide number of which this is the rounded one, if nothing was rounded.
    fn resumed(self) -> Option<Self::Wide>;
}

macro_rules! running {
    ($($t:ty, $wide:ty, $widened:expr, $narrowed:expr, $resumed:expr);* $(;)?) => { $(
        impl Running for $t {
            type Wide = $wide;
            #[inline(always)] fn widened(self) -> $wide { $widened(self) }
            #[inline(always)] fn narrowed(wide: $wide) -> Self { $narrowed(wide) }
            #[inline(always)] fn resumed(self) -> Option<$wide> { $resumed(self) }
        }
    )* };
}
macro_rules! running_as_they_are {
    ($($t:ty)*) => { running! { $($t, $t, |x| x, |x| x, Some;)* } };
}
running_as_they_are!(u8 i8 u16 i16 u32 i32 u64 i64 f64 c128);
running! {
    f32, f64, f64::from, |x| x as f32, |_| None;
    c64, c128, |x: c64| c128::new(x.re.into(), x.im.into()), |x: c128| c64::new(x.re as f32, x.im as f32), |_| None;
}

/// How a running result goes on. Rows of elements begin at offsets of the inputs, and have some length.
trait Steps: Copy {
    /// An element of the result.
    type Out: Copy;
    /// The running result, which may have more digits.
    type Last: Copy;

    /// The results of a row without predecessor, by their place in it.
    fn first(self, at: usize, len: usize) -> impl Fn(usize) -> Self::Last;
    /// The results of a row, whose predecessor begins at `before`, by their place in it and the last results.
    fn next(self, at: usize, before: usize, len: usize) -> impl Fn(usize, Self::Last) -> Self::Last;
    fn out(last: Self::Last) -> Self::Out;
    /// The running result that this element is, if the two are the same number.
    fn resumed(out: Self::Out) -> Option<Self::Last>;
}

/// Lines that are scanned side by side within a thread, to hide the latency of the dependent operations.
const SIDE: usize = 8;
/// Columns whose running results stay in the first-level cache.
const COLUMNS: usize = 512;
/// Fewer columns are scanned as lines, whose running results stay in registers.
const FEW: usize = 16;

/// A scan of consecutive blocks, which begin at offset 0 of the inputs.
#[inline(always)]
fn scan<S: Steps>(reverse: bool, blocks: AxisBlocks, out: &mut [S::Out], steps: S) {
    if out.is_empty() {
        return;
    }
    let AxisBlocks { n, inner } = blocks;
    let count = out.len() / blocks.len();
    if inner == 1 {
        in_lines(Lines { n, step: 1, apart: n, reverse }, 0, count, out, steps);
        return;
    }
    for start in (0..count).map(|b| b * blocks.len()) {
        if inner < FEW {
            in_lines(Lines { n, step: inner, apart: 1, reverse }, start, inner, out, steps);
            continue;
        }
        for column in (0..inner).step_by(COLUMNS) {
            simd::autovectorize(
                #[inline(always)]
                || in_columns(reverse, blocks, start + column, COLUMNS.min(inner - column), out, steps),
            );
        }
    }
}

/// Scans `width` columns next to each other. The first one begins at `start`.
#[inline(always)]
fn in_columns<S: Steps>(
    reverse: bool,
    AxisBlocks { n, inner }: AxisBlocks,
    start: usize,
    width: usize,
    out: &mut [S::Out],
    steps: S,
) {
    let row = |k: usize| start + inner * if reverse { n - 1 - k } else { k };
    let first = steps.first(row(0), width);
    let mut tile = [first(0); COLUMNS];
    let kept = &mut tile[..width];
    for (i, (kept, out)) in kept.iter_mut().zip(&mut out[row(0)..][..width]).enumerate() {
        *kept = first(i);
        *out = S::out(*kept);
    }
    for part in interrupt::parts(1..n, width) {
        for k in part {
            let next = steps.next(row(k), row(k - 1), width);
            let (low, high) = out.split_at_mut(row(k).max(row(k - 1)));
            let (before, out) = if reverse {
                (&high[..width], &mut low[row(k)..][..width])
            } else {
                (&low[row(k - 1)..][..width], &mut high[..width])
            };
            for (i, ((kept, &before), out)) in kept.iter_mut().zip(before).zip(out).enumerate() {
                let last = next(i, S::resumed(before).unwrap_or(*kept));
                if S::resumed(before).is_none() {
                    *kept = last;
                }
                *out = S::out(last);
            }
        }
    }
}

/// Lines of `n` elements. `step` is the distance of two elements of a line, `apart` that of the beginnings of two lines.
#[derive(Clone, Copy)]
struct Lines {
    n: usize,
    step: usize,
    apart: usize,
    reverse: bool,
}

/// Scans `count` lines. The first one begins at `start`.
#[inline(always)]
fn in_lines<S: Steps>(lines: Lines, start: usize, count: usize, out: &mut [S::Out], steps: S) {
    let whole = count / SIDE * SIDE;
    for line in (0..whole).step_by(SIDE) {
        side_by_side::<SIDE, S>(lines, start + line * lines.apart, out, steps);
    }
    for line in whole..count {
        side_by_side::<1, S>(lines, start + line * lines.apart, out, steps);
    }
}

/// Scans `LINES` lines at once. The first one begins at `start`.
#[inline(always)]
fn side_by_side<const LINES: usize, S: Steps>(
    Lines { n, step, apart, reverse }: Lines,
    start: usize,
    out: &mut [S::Out],
    steps: S,
) {
    let out = &mut out[start..][..(LINES - 1) * apart + (n - 1) * step + 1];
    let first = if reverse { (n - 1) * step } else { 0 };
    let mut last: [S::Last; LINES] = std::array::from_fn(|l| steps.first(start + l * apart + first, 1)(0));
    last.iter().enumerate().for_each(|(l, &last)| out[l * apart + first] = S::out(last));
    if n == 1 {
        return;
    }
    // All elements of a line but the first have a predecessor.
    let (behind, ahead) = if reverse { (0, step) } else { (step, 0) };
    let next = steps.next(start + behind, start + ahead, (LINES - 1) * apart + (n - 2) * step + 1);
    for part in interrupt::parts(1..n, LINES) {
        for k in part {
            let i = step * if reverse { n - 1 - k } else { k - 1 };
            // By numbers, so that the running results stay in registers.
            for l in 0..LINES {
                last[l] = next(l * apart + i, last[l]);
                out[l * apart + i + behind] = S::out(last[l]);
            }
        }
    }
}

/// `out[k] = x[k] + out[k-1]` in scan order.
pub fn cumsum(op: &'static str, x: &Array, way: ScanAxis) -> Result<Array> {
    dispatch!(x.dtype(), field T => {
        cumulative::<T, _>(op, x, way, <T as Running>::Wide::add)
    }, else not_defined(op, x.dtype()))
}

/// `out[k] = x[k] * out[k-1]` in scan order.
pub fn cumprod(op: &'static str, x: &Array, way: ScanAxis) -> Result<Array> {
    dispatch!(x.dtype(), field T => {
        cumulative::<T, _>(op, x, way, <T as Running>::Wide::mul)
    }, else not_defined(op, x.dtype()))
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
        DType::F32 => cumulative::<f32, _>(op, x, way, sum::<f64>),
        DType::F64 => cumulative::<f64, _>(op, x, way, sum::<f64>),
        DType::C64 => cumulative::<c64, _>(op, x, way, complex_sum::<c128>),
        DType::C128 => cumulative::<c128, _>(op, x, way, complex_sum::<c128>),
        dtype => not_defined(op, dtype),
    }
}

/// The products of the elements before each one.
struct Before<'a, T>(&'a [T]);

impl<T> Copy for Before<'_, T> {}
impl<T> Clone for Before<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Field> Steps for Before<'_, T> {
    type Out = T;
    type Last = T;

    #[inline(always)]
    fn first(self, _: usize, _: usize) -> impl Fn(usize) -> T {
        |_| T::ONE
    }

    #[inline(always)]
    fn next(self, _: usize, before: usize, len: usize) -> impl Fn(usize, T) -> T {
        let x = &self.0[before..][..len];
        |i, last| last.mul(x[i])
    }

    #[inline(always)]
    fn out(last: T) -> T {
        last
    }

    #[inline(always)]
    fn resumed(out: T) -> Option<T> {
        Some(out)
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
            scan(false, blocks, out, Before(x));
            scan(true, blocks, after, Before(x));
            out.iter_mut().zip(after).for_each(|(o, &mut v)| *o = o.mul(v));
        })?;
        Ok(out)
    }, else not_defined(op, x.dtype()))
}

/// Terms `b` that are combined one after the other, with the last result and a coefficient `a`: that at the term's own place, or
/// at that of its predecessor.
struct Terms<'a, T, C> {
    a: &'a [T],
    b: &'a [T],
    own: bool,
    combine: &'a C,
}

impl<T, C> Copy for Terms<'_, T, C> {}
impl<T, C> Clone for Terms<'_, T, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Running, C: Fn(T::Wide, T, T::Wide) -> T::Wide> Steps for Terms<'_, T, C> {
    type Out = T;
    type Last = T::Wide;

    #[inline(always)]
    fn first(self, at: usize, len: usize) -> impl Fn(usize) -> T::Wide {
        let b = &self.b[at..][..len];
        |i| b[i].widened()
    }

    #[inline(always)]
    fn next(self, at: usize, before: usize, len: usize) -> impl Fn(usize, T::Wide) -> T::Wide {
        let (a, b) = (&self.a[if self.own { at } else { before }..][..len], &self.b[at..][..len]);
        move |i, last| (self.combine)(last, a[i], b[i].widened())
    }

    #[inline(always)]
    fn out(last: T::Wide) -> T {
        T::narrowed(last)
    }

    #[inline(always)]
    fn resumed(out: T) -> Option<T::Wide> {
        out.resumed()
    }
}

fn cumulative<T: Running, C: Fn(T::Wide, T::Wide) -> T::Wide + Sync>(
    op: &'static str,
    x: &Array,
    way: ScanAxis,
    combine: C,
) -> Result<Array> {
    let x = x.contiguous()?;
    let blocks = AxisBlocks::of(x.dims(), way.axis);
    let len = blocks.len();
    let all = x.as_slice::<T>().expect("contiguous");
    let combine = |last: T::Wide, _: T, x: T::Wide| combine(last, x);
    output::build::<T>(op, x.dims(), len, |start, out| {
        let x = &all[start * len..][..out.len()];
        scan(way.reverse, blocks, out, Terms { a: x, b: x, own: true, combine: &combine });
    })
}

/// `out[k] = b[k] + c * out[k-1]` in scan order, where `c` is `a[k]` if `own`, else `a[k-1]`. Both arrays have the
/// same shape, and a dtype that has a gradient. The coefficient of the first element is not read.
pub fn linear_recurrence(op: &'static str, a: &Array, b: &Array, way: ScanAxis, own: bool) -> Result<Array> {
    fn go<T: Running>(op: &'static str, a: &Array, b: &Array, way: ScanAxis, own: bool) -> Result<Array> {
        let (a, b) = (a.contiguous()?, b.contiguous()?);
        let combine = |last: T::Wide, a: T, b: T::Wide| b.add(a.widened().mul(last));
        let blocks = AxisBlocks::of(b.dims(), way.axis);
        let len = blocks.len();
        let (all_a, all_b) = (a.as_slice::<T>().expect("contiguous"), b.as_slice::<T>().expect("contiguous"));
        output::build::<T>(op, b.dims(), len, |start, out| {
            let (a, b) = (&all_a[start * len..][..out.len()], &all_b[start * len..][..out.len()]);
            scan(way.reverse, blocks, out, Terms { a, b, own, combine: &combine });
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
