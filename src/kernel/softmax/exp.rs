//! Vectorised `exp(x - m)` over slices and rows, and its sums.

use crate::kernel::fast::Fast;
use crate::kernel::interrupt;
use crate::kernel::num::{Analytic, Field, Real};
use crate::kernel::pointwise::unary;
use crate::kernel::reduce::extreme::largest;
use crate::kernel::rows::{each, total};
use crate::kernel::simd;

/// Runs `rows::<T, FAST>` on its arguments, compiled for this processor's vectors. A macro, because only a closure
/// that is inlined here is compiled for them.
macro_rules! vectors {
    ($rows:ident, $T:ident, $args:expr) => {
        $crate::kernel::simd::multiversion_with(
            $args,
            #[inline(always)]
            |args| $rows::<$T, false>(args),
            #[inline(always)]
            |args| $rows::<$T, true>(args),
        )
    };
}
pub(super) use vectors;

/// `exp(x - m)` for each element. `FAST` is only for callers compiled for vectors.
#[inline(always)]
pub(super) fn exp_less<T: Real, const FAST: bool>(x: &[T], m: T, out: &mut [T])
where
    Fast<T>: Real,
{
    assert_eq!(x.len(), out.len());
    let (n, x, out) = (x.len(), x.as_ptr().cast(), out.as_mut_ptr().cast());
    // SAFETY: both slices have `n` elements.
    unsafe {
        if FAST {
            unary::map_fast_inline(
                #[inline(always)]
                |v: T| v.sub(m).exp(),
                #[inline(always)]
                |v: Fast<T>| v.sub(Fast(m)).exp(),
                n,
                x,
                out,
            );
        } else {
            unary::map(
                #[inline(always)]
                |v: T| v.sub(m).exp(),
                n,
                x,
                out,
            );
        }
    }
}

/// Rows of at most this many elements are taken several at a time, which fills the vectors.
const SHORT: usize = simd::BLOCK / 2;

/// Short rows, each minus a number `m` of its own.
struct Less<T> {
    elements: [T; simd::BLOCK],
    m: [T; simd::BLOCK],
}

impl<T: Real> Less<T> {
    fn new() -> Less<T> {
        Less { elements: [T::ZERO; simd::BLOCK], m: [T::ZERO; simd::BLOCK] }
    }

    #[inline(always)]
    fn set(&mut self, n: usize, rows: &[T], m_of: impl Fn(usize, &[T]) -> T) {
        for (r, (row, less)) in each(rows, n).zip(self.elements.chunks_exact_mut(n)).enumerate() {
            let m = m_of(r, row);
            self.m[r] = m;
            less.iter_mut().zip(row).for_each(|(less, &v)| *less = v.sub(m));
        }
    }
}

/// `exp(x - m)` for each element of rows of `n` elements, where `m_of` says `m` from the number of a row and the row. Calls
/// `then` with the number of each row, `m` and the results.
#[inline(always)]
pub(super) fn exp_of_rows<T: Real, const FAST: bool>(
    n: usize,
    x: &[T],
    out: &mut [T],
    m_of: impl Fn(usize, &[T]) -> T,
    mut then: impl FnMut(usize, T, &mut [T]),
) where
    Fast<T>: Real,
{
    if n > SHORT || n == 0 {
        for (b, (row, out)) in each(x, n).zip(out.chunks_exact_mut(n.max(1))).enumerate() {
            let m = m_of(b, row);
            for part in interrupt::parts(0..n, 1) {
                exp_less::<T, FAST>(&row[part.clone()], m, &mut out[part]);
            }
            then(b, m, out);
        }
        return;
    }
    let (most, mut less, mut done) = (simd::BLOCK / n, Less::new(), 0);
    for (k, (rows, out)) in x.chunks(most * n).zip(out.chunks_mut(most * n)).enumerate() {
        interrupt::count(&mut done, rows.len());
        less.set(n, rows, |r, row| m_of(k * most + r, row));
        exp_less::<T, FAST>(&less.elements[..rows.len()], T::ZERO, out);
        for (r, out) in out.chunks_exact_mut(n).enumerate() {
            then(k * most + r, less.m[r], out);
        }
    }
}

/// Calls `then` with the number of each row of `n` elements, its largest element `m`, and the log-sum-exp of the row minus
/// `m`, which is 0 where `m` is not finite.
#[inline(always)]
pub(super) fn log_sum_exp_of_rows<T: Real, const FAST: bool>(
    n: usize,
    x: &[T],
    mut then: impl FnMut(usize, T, T),
) where
    Fast<T>: Real,
{
    if n > SHORT || n == 0 {
        for (b, row) in each(x, n).enumerate() {
            let (m, rest) = log_sum_exp::<T, FAST>(row);
            then(b, m, rest);
        }
        return;
    }
    let (most, mut less, mut done) = (simd::BLOCK / n, Less::new(), 0);
    let (mut exps, mut sums) = ([T::ZERO; simd::BLOCK], [T::ZERO; simd::BLOCK]);
    let mut logs = [T::ZERO; simd::BLOCK];
    for (k, rows) in x.chunks(most * n).enumerate() {
        interrupt::count(&mut done, rows.len());
        let (count, exps) = (rows.len() / n, &mut exps[..rows.len()]);
        less.set(n, rows, |_, row| largest(row));
        exp_less::<T, FAST>(&less.elements[..rows.len()], T::ZERO, exps);
        sums.iter_mut().zip(each(exps, n)).for_each(|(sum, row)| *sum = total(row));
        logarithms::<T, FAST>(&sums[..count], &mut logs[..count]);
        for (r, (&m, &log)) in less.m.iter().zip(&logs[..count]).enumerate() {
            then(k * most + r, m, if m.is_finite() { log } else { T::ZERO });
        }
    }
}

/// The largest element `m` of a row, and the log-sum-exp of the row minus `m`.
#[inline(always)]
fn log_sum_exp<T: Real, const FAST: bool>(row: &[T]) -> (T, T)
where
    Fast<T>: Real,
{
    let m = largest(row);
    if !m.is_finite() {
        return (m, T::ZERO);
    }
    let mut exps = [T::ZERO; simd::BLOCK];
    let (mut sum, mut done) = ([T::ZERO], 0);
    for block in row.chunks(simd::BLOCK) {
        interrupt::count(&mut done, block.len());
        let exps = &mut exps[..block.len()];
        exp_less::<T, FAST>(block, m, exps);
        sum[0] = sum[0].add(total(exps));
    }
    let mut log = [T::ZERO];
    logarithms::<T, FAST>(&sum, &mut log);
    (m, log[0])
}

/// The logarithm of each element.
#[inline(always)]
fn logarithms<T: Real, const FAST: bool>(x: &[T], out: &mut [T])
where
    Fast<T>: Real,
{
    assert_eq!(x.len(), out.len());
    let (n, x, out) = (x.len(), x.as_ptr().cast(), out.as_mut_ptr().cast());
    // SAFETY: both slices have `n` elements.
    unsafe {
        if FAST {
            unary::map_fast_inline(
                #[inline(always)]
                |v: T| v.ln(),
                #[inline(always)]
                |v: Fast<T>| v.ln(),
                n,
                x,
                out,
            );
        } else {
            unary::map(
                #[inline(always)]
                |v: T| v.ln(),
                n,
                x,
                out,
            );
        }
    }
}
