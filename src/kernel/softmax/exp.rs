//! Vectorised `exp(x - m)` over slices and rows, and its sums.

use std::mem::MaybeUninit;

use crate::kernel::fast::Fast;
use crate::kernel::interrupt;
use crate::kernel::num::{Analytic, Field, Real};
use crate::kernel::pointwise::numbers::LOG;
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

/// A function of each element. `FAST` is only for callers compiled for vectors.
#[inline(always)]
fn map<T: Real, const FAST: bool>(
    row: impl Fn(T) -> T,
    fast: impl Fn(Fast<T>) -> Fast<T>,
    x: &[T],
    out: &mut [T],
) where
    Fast<T>: Real,
{
    assert_eq!(x.len(), out.len());
    let (n, x, out) = (x.len(), x.as_ptr().cast(), out.as_mut_ptr().cast());
    // SAFETY: both slices have `n` elements.
    unsafe {
        if FAST {
            unary::map_fast_inline(row, fast, n, x, out);
        } else {
            unary::map(row, n, x, out);
        }
    }
}

/// `exp(x - m)` for each element. `FAST` is only for callers compiled for vectors.
#[inline(always)]
pub(super) fn exp_less<T: Real, const FAST: bool>(x: &[T], m: T, out: &mut [T])
where
    Fast<T>: Real,
{
    map::<T, FAST>(
        #[inline(always)]
        |v: T| v.sub(m).exp(),
        #[inline(always)]
        |v: Fast<T>| v.sub(Fast(m)).exp(),
        x,
        out,
    );
}

/// Rows of at most this many elements are taken several at a time, which fills the vectors.
pub(super) const SHORT: usize = simd::BLOCK / 2;

/// Room for a block of numbers. Only what is used of it is set, since most rows are much shorter.
pub(super) struct Room<T>(MaybeUninit<[T; simd::BLOCK]>);

impl<T: Real> Room<T> {
    pub fn new() -> Room<T> {
        Room(MaybeUninit::uninit())
    }

    /// So many zeros.
    #[inline(always)]
    pub fn zeros(&mut self, n: usize) -> &mut [T] {
        assert!(n <= simd::BLOCK);
        let first = self.0.as_mut_ptr().cast::<T>();
        // SAFETY: there is room for as many numbers, and all of them are written before they are read.
        unsafe {
            for i in 0..n {
                first.add(i).write(T::ZERO);
            }
            std::slice::from_raw_parts_mut(first, n)
        }
    }
}

/// Short rows, each minus a number `m` of its own.
struct Less<T> {
    elements: Room<T>,
    m: Room<T>,
}

impl<T: Real> Less<T> {
    fn new() -> Less<T> {
        Less { elements: Room::new(), m: Room::new() }
    }

    /// The elements of these rows, what is left to subtract from them, which is all for a single long row, and `m` by row.
    #[inline(always)]
    fn set<'a>(
        &'a mut self,
        n: usize,
        rows: &'a [T],
        m_of: impl Fn(usize, &[T]) -> T,
    ) -> (&'a [T], T, &'a [T]) {
        let m = self.m.zeros(rows.len() / n);
        for ((r, row), m) in each(rows, n).enumerate().zip(&mut *m) {
            *m = m_of(r, row);
        }
        if rows.len() > simd::BLOCK {
            return (rows, m[0], m);
        }
        let elements = self.elements.zeros(rows.len());
        for ((less, row), &m) in elements.chunks_exact_mut(n).zip(each(rows, n)).zip(&*m) {
            less.iter_mut().zip(row).for_each(|(less, &v)| *less = v.sub(m));
        }
        (elements, T::ZERO, m)
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
    if n == 0 {
        return;
    }
    let (most, mut less) = (if n > SHORT { 1 } else { simd::BLOCK / n }, Less::new());
    for (k, (rows, out)) in x.chunks(most * n).zip(out.chunks_mut(most * n)).enumerate() {
        let (from, m, ms) = less.set(
            n,
            rows,
            #[inline(always)]
            |r, row| m_of(k * most + r, row),
        );
        for part in interrupt::parts(0..rows.len(), 1) {
            exp_less::<T, FAST>(&from[part.clone()], m, &mut out[part]);
        }
        for ((r, out), &m) in out.chunks_exact_mut(n).enumerate().zip(ms) {
            then(k * most + r, m, out);
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
    if n == 0 {
        return;
    }
    let (most, mut less, mut done) = (if n > SHORT { 1 } else { simd::BLOCK / n }, Less::new(), 0);
    let (mut exps, mut sums, mut logs) = (Room::<T>::new(), Room::<T>::new(), Room::<T>::new());
    for (k, rows) in x.chunks(most * n).enumerate() {
        let (from, m, ms) = less.set(
            n,
            rows,
            #[inline(always)]
            |_, row| largest(row),
        );
        let sums = sums.zeros(ms.len());
        // Short rows are one block, and a block of a long row is a part of it.
        for block in from.chunks(simd::BLOCK) {
            interrupt::count(&mut done, block.len());
            let exps = exps.zeros(block.len());
            exp_less::<T, FAST>(block, m, exps);
            for (sum, row) in sums.iter_mut().zip(each(exps, n.min(block.len()))) {
                *sum = sum.add(total(row));
            }
        }
        let logs = logs.zeros(ms.len());
        logarithms(sums, logs);
        for (r, (&m, &log)) in ms.iter().zip(&*logs).enumerate() {
            then(k * most + r, m, if m.is_finite() { log } else { T::ZERO });
        }
    }
}

/// The logarithm of each element.
pub(super) fn logarithms<T: Real>(x: &[T], out: &mut [T]) {
    assert_eq!(x.len(), out.len());
    let apply = LOG.loops[T::DTYPE as usize].expect("there are loops for floats");
    // SAFETY: both slices have as many elements, of the dtype that the loop is for.
    unsafe { apply(x.len(), x.as_ptr().cast(), out.as_mut_ptr().cast(), &[0.0; 3]) };
}
