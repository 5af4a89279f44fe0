//! Vectorised `exp(x - m)` over slices and rows, and its sums.

use std::mem::MaybeUninit;

use crate::kernel::fast::Fast;
use crate::kernel::interrupt;
use crate::kernel::num::{Analytic, Field, Real};
use crate::kernel::pointwise::expressions::LOG;
use crate::kernel::pointwise::unary;
use crate::kernel::reduce::extreme::{larger, largest};
use crate::kernel::reduce::pairwise::ROWS;
use crate::kernel::rows::{each, each_mut, total};
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

/// Short rows, each minus a number of its own.
struct Less<T>(Room<T>);

impl<T: Real> Less<T> {
    /// The elements of rows of `n` elements, which are short, minus `most` by row; a long row stays, and its `most` is left.
    #[inline(always)]
    fn of<'a>(&'a mut self, n: usize, rows: &'a [T], most: &[T]) -> (&'a [T], T) {
        if rows.len() > simd::BLOCK {
            return (rows, most[0]);
        }
        let less = self.0.zeros(rows.len());
        for ((less, row), &m) in each_mut(less, n).zip(each(rows, n)).zip(most) {
            less.iter_mut().zip(row).for_each(|(less, &v)| *less = v.sub(m));
        }
        (less, T::ZERO)
    }
}

/// How many rows of `n` elements are computed at a time.
#[inline(always)]
fn at_once(n: usize) -> usize {
    if n > SHORT { 1 } else { simd::BLOCK / n }
}

/// What the exponentials of a row are multiplied by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Factors {
    /// The inverse of their sum.
    Shares,
    /// A number that the caller gives, like the number that is subtracted.
    Given,
}

/// Columns of this many elements fill the vectors.
const MANY: usize = 16;

/// [`exp_of_rows`], or [`exp_sums`] without `factors`, of at least [`MANY`] rows of less than [`ROWS`] elements. They are taken as
/// columns, which fill the vectors: the elements that have the same place in their rows are adjacent.
#[inline(never)]
fn of_short_rows<T: Real>(factors: Option<Factors>, n: usize, x: &[T], out: &mut [T], by_row: [&mut [T]; 2])
where
    Fast<T>: Real,
{
    vectors!(columns, T, (factors, n, x, out, by_row));
}

type ShortRows<'a, T> = (Option<Factors>, usize, &'a [T], &'a mut [T], [&'a mut [T]; 2]);

#[inline(always)]
fn columns<T: Real, const FAST: bool>((factors, n, x, out, [most, sums]): ShortRows<'_, T>)
where
    Fast<T>: Real,
{
    let (mut less, mut exps, at_once) = (Room::new(), Room::new(), at_once(n));
    let by_row = most.chunks_mut(at_once).zip(sums.chunks_mut(at_once));
    for (k, (x, (most, sums))) in x.chunks(at_once * n).zip(by_row).enumerate() {
        let count = most.len();
        let (less, exps) = (less.zeros(x.len()), exps.zeros(x.len()));
        for (c, column) in each_mut(less, count).enumerate() {
            for (v, row) in column.iter_mut().zip(each(x, n)) {
                *v = row[c];
            }
        }
        if factors != Some(Factors::Given) {
            most.fill(T::INFINITY.neg());
            for column in each(less, count) {
                for (m, &v) in most.iter_mut().zip(column) {
                    *m = larger(*m, v);
                }
            }
        }
        for column in each_mut(less, count) {
            for (v, &m) in column.iter_mut().zip(&*most) {
                *v = v.sub(m);
            }
        }
        exp_less::<T, FAST>(less, T::ZERO, exps);
        if factors != Some(Factors::Given) {
            sums.fill(T::ZERO);
            for column in each(exps, count) {
                for (sum, &v) in sums.iter_mut().zip(column) {
                    *sum = sum.add(v);
                }
            }
        }
        let Some(factors) = factors else { continue };
        let by = &mut less[..count];
        for (by, &sum) in by.iter_mut().zip(&*sums) {
            *by = if factors == Factors::Shares { T::ONE.div(sum) } else { sum };
        }
        let out = &mut out[k * at_once * n..][..x.len()];
        for (c, column) in each_mut(exps, count).enumerate() {
            for (v, &by) in column.iter_mut().zip(&*by) {
                *v = by.mul(*v);
            }
            for (row, &v) in each_mut(out, n).zip(&*column) {
                row[c] = v;
            }
        }
    }
}

/// Writes `exp(x - most) * factor` for the elements of rows of `n` elements. By row there are two numbers: where factors are
/// shares, the function writes the largest element, which is `most`, and the sum of the exponentials; else the caller gives `most`
/// and the factor.
#[inline(never)]
pub(super) fn exp_of_rows<T: Real>(factors: Factors, n: usize, x: &[T], out: &mut [T], by_row: [&mut [T]; 2])
where
    Fast<T>: Real,
{
    #[inline(always)]
    fn compute<T: Real, const FAST: bool>(
        (factors, n, x, out, [most, sums]): (Factors, usize, &[T], &mut [T], [&mut [T]; 2]),
    ) where
        Fast<T>: Real,
    {
        let (mut less, at_once) = (Less(Room::new()), at_once(n));
        let results = out.chunks_mut(at_once * n).zip(most.chunks_mut(at_once).zip(sums.chunks_mut(at_once)));
        for (rows, (out, (most, sums))) in x.chunks(at_once * n).zip(results) {
            if factors == Factors::Shares {
                for (m, row) in most.iter_mut().zip(each(rows, n)) {
                    *m = largest(row);
                }
            }
            let (from, m) = less.of(n, rows, most);
            for part in interrupt::parts(0..rows.len(), 1) {
                exp_less::<T, FAST>(&from[part.clone()], m, &mut out[part]);
            }
            if factors == Factors::Shares {
                for (sum, row) in sums.iter_mut().zip(each(out, n)) {
                    *sum = total(row);
                }
            }
            for (row, &sum) in each_mut(out, n).zip(&*sums) {
                let factor = if factors == Factors::Shares { T::ONE.div(sum) } else { sum };
                if n <= SHORT {
                    for o in row {
                        *o = factor.mul(*o);
                    }
                    continue;
                }
                for part in interrupt::parts(0..n, 1) {
                    row[part].iter_mut().for_each(|o| *o = factor.mul(*o));
                }
            }
        }
    }
    match n {
        0 => {}
        1..ROWS if x.len() >= MANY * n => of_short_rows(Some(factors), n, x, out, by_row),
        _ => vectors!(compute, T, (factors, n, x, out, by_row)),
    }
}

/// Writes the largest element of each row of `n` elements, and the sum of the exponentials of what the elements are less.
#[inline(never)]
pub(super) fn exp_sums<T: Real>(n: usize, x: &[T], most: &mut [T], sums: &mut [T])
where
    Fast<T>: Real,
{
    #[inline(always)]
    fn compute<T: Real, const FAST: bool>((n, x, most, sums): (usize, &[T], &mut [T], &mut [T]))
    where
        Fast<T>: Real,
    {
        let (mut less, mut exps, at_once, mut done) = (Less(Room::new()), Room::new(), at_once(n), 0);
        let results = most.chunks_mut(at_once).zip(sums.chunks_mut(at_once));
        for (rows, (most, sums)) in x.chunks(at_once * n).zip(results) {
            for (m, row) in most.iter_mut().zip(each(rows, n)) {
                *m = largest(row);
            }
            let (from, m) = less.of(n, rows, most);
            sums.fill(T::ZERO);
            // Short rows are one block, and a block of a long row is a part of it.
            for block in from.chunks(simd::BLOCK) {
                interrupt::count(&mut done, block.len());
                let exps = exps.zeros(block.len());
                exp_less::<T, FAST>(block, m, exps);
                for (sum, row) in sums.iter_mut().zip(each(exps, n.min(block.len()))) {
                    *sum = sum.add(total(row));
                }
            }
        }
    }
    match n {
        0 => {}
        1..ROWS if x.len() >= MANY * n => of_short_rows(None, n, x, &mut [], [most, sums]),
        _ => vectors!(compute, T, (n, x, most, sums)),
    }
}

/// The logarithm of each element.
pub(super) fn logarithms<T: Real>(x: &[T], out: &mut [T]) {
    assert_eq!(x.len(), out.len());
    let apply = LOG.loops[T::DTYPE as usize].expect("there are loops for floats");
    // SAFETY: both slices have as many elements, of the dtype that the loop is for.
    unsafe { apply(x.len(), x.as_ptr().cast(), out.as_mut_ptr().cast(), &[0.0; 3]) };
}
