//! The factors `L D Lᵀ` of symmetric matrices and `L D Lᴴ` of Hermitian ones: J. Bunch, L. Kaufman, "Some stable methods for
//! calculating inertia and solving symmetric linear systems" (1977). Factors and pivots are stored as by LAPACK's `sytrf` and
//! `hetrf`, which read the lower triangle.

use super::batch::{Batch, BatchOutput, Columns, Part, Scalar, cube, on_matrices};
use super::lu::subtract;
use crate::array::Array;
use crate::dtype::Bool8;
use crate::error::{Result, bail};
use crate::kernel::num::{Field, Inexact};
use crate::shape::Dims;

/// A pivot of one row is at least so large beside the others in its column, (1 + √17) / 8. It keeps the growth of elements
/// smallest.
const ALPHA: f64 = 0.640_388_203_202_207_6;

/// The place of the first one of the largest elements, and its size. 0 where there is none.
fn largest<T: Scalar>(elements: impl Iterator<Item = T>) -> (usize, Part<T>) {
    elements.enumerate().fold((0, Part::<T>::ZERO), |(place, most), (i, v)| {
        let size = v.size();
        if size > most { (i, size) } else { (place, most) }
    })
}

/// A square matrix in column order, whose columns are replaced one after another by those of its factors.
struct Elimination<'a, T> {
    x: &'a mut [T],
    n: usize,
    hermitian: bool,
}

impl<T: Scalar> Elimination<'_, T> {
    fn at(&mut self, row: usize, column: usize) -> &mut T {
        &mut self.x[column * self.n + row]
    }

    /// The element on the other side of the diagonal.
    fn turned(&self, v: T) -> T {
        if self.hermitian { v.conjugate() } else { v }
    }

    /// The row that is exchanged for the pivot in column `k`, and the number of the pivot's rows. `None` if the column has
    /// no pivot, because it is zero, or begins with NaN.
    fn pivot(&self, k: usize) -> Option<(usize, usize)> {
        let (x, n, alpha) = (&*self.x, self.n, Part::<T>::lit(ALPHA));
        let column = &x[k * n..][k..n];
        let own = column[0].size();
        let (place, most) = largest(column[1..].iter().copied());
        if !(own > Part::<T>::ZERO || own == Part::<T>::ZERO && most > Part::<T>::ZERO) {
            return None;
        }
        if own >= alpha.mul(most) {
            return Some((k, 1));
        }
        let row = k + 1 + place;
        let left = largest((k..row).map(|c| x[c * n + row])).1;
        let below = largest(x[row * n..][row + 1..n].iter().copied()).1;
        let beside = if left > below { left } else { below };
        if own >= alpha.mul(most).mul(most.div(beside)) {
            Some((k, 1))
        } else if x[row * n + row].size() >= alpha.mul(beside) {
            Some((row, 1))
        } else {
            Some((row, 2))
        }
    }

    /// Exchanges a row and a column, of those from `k` on, with a later one in the lower triangle.
    fn exchange(&mut self, k: usize, first: usize, later: usize) {
        let n = self.n;
        for i in later + 1..n {
            self.x.swap(first * n + i, later * n + i);
        }
        for i in first + 1..later {
            let (a, b) = (*self.at(i, first), *self.at(later, i));
            (*self.at(i, first), *self.at(later, i)) = (self.turned(b), self.turned(a));
        }
        let corner = *self.at(later, first);
        *self.at(later, first) = self.turned(corner);
        self.x.swap(first * n + first, later * n + later);
        // A pivot of two rows has a column before that of the row that is exchanged.
        if first > k {
            self.x.swap(k * n + first, k * n + later);
        }
    }

    /// Eliminates column `k`, and makes it that of the factor.
    fn one(&mut self, k: usize) {
        let (n, hermitian) = (self.n, self.hermitian);
        let (first, rest) = self.x.split_at_mut((k + 1) * n);
        let (pivot, below) = first[k * n + k..].split_first_mut().expect("a diagonal element");
        for (j, column) in rest.chunks_exact_mut(n).enumerate() {
            let v = below[j];
            let times = Inexact::div(if hermitian { v.conjugate() } else { v }, *pivot);
            subtract(&below[j..], times, &mut column[k + 1 + j..]);
        }
        below.iter_mut().for_each(|v| *v = Inexact::div(*v, *pivot));
    }

    /// Eliminates columns `k` and `k + 1`, and makes them those of the factor. The block of the pivot is divided by its
    /// element below the diagonal, the largest of it, so that no product overflows.
    fn two(&mut self, k: usize) {
        let (n, hermitian) = (self.n, self.hermitian);
        let turned = |v: T| if hermitian { v.conjugate() } else { v };
        let (first, rest) = self.x.split_at_mut((k + 2) * n);
        let (x, y) = first[k * n..].split_at_mut(n);
        let (x, y) = (&mut x[k..], &mut y[k..]);
        let (low, high) = (x[1], turned(x[1]));
        let (a, d) = (Inexact::div(x[0], high), Inexact::div(y[1], low));
        let t = Inexact::div(T::ONE, Field::sub(Field::mul(a, d), T::ONE));
        let (by_high, by_low) = (Inexact::div(t, high), Inexact::div(t, low));
        let (x, y) = (&mut x[2..], &mut y[2..]);
        for (j, column) in rest.chunks_exact_mut(n).enumerate() {
            let p = Field::mul(by_high, Field::sub(Field::mul(d, x[j]), y[j]));
            let q = Field::mul(by_low, Field::sub(Field::mul(a, y[j]), x[j]));
            let column = &mut column[k + 2 + j..];
            subtract(&x[j..], turned(p), column);
            subtract(&y[j..], turned(q), column);
            (x[j], y[j]) = (p, q);
        }
    }

    /// Makes the matrix its factors, with zeros above the diagonal, and writes the pivots. Returns the first place on the
    /// diagonal of `D` that is zero, counted from 1, or 0.
    fn run(&mut self, pivots: &mut [i32]) -> i32 {
        let (n, mut k, mut info) = (self.n, 0, 0);
        while k < n {
            let found = self.pivot(k);
            let (row, count) = found.unwrap_or((k, 1));
            let end = k + count;
            if row >= end {
                self.exchange(k, end - 1, row);
            }
            let place = row as i32 + 1;
            pivots[k..end].fill(if count == 1 { place } else { -place });
            match (found, count) {
                (None, _) if info == 0 => info = k as i32 + 1,
                (None, _) => {}
                (_, 1) => self.one(k),
                _ => self.two(k),
            }
            if self.hermitian {
                (k..n).for_each(|i| *self.at(i, i) = T::of_real(T::real_part_impl(self.at(i, i))));
            }
            k = end;
        }
        (1..n).for_each(|c| self.x[c * n..][..c].fill(T::ZERO));
        info
    }
}

/// The factors of square matrices, of which the lower triangles are read: `D` and what is below its blocks of `L` in one
/// matrix; the pivots (int32); and for each matrix 0, or the first place on the diagonal of `D` that is zero (int32).
pub fn symmetric_factors(op: &'static str, x: &Array, hermitian: bool) -> Result<[Array; 3]> {
    on_matrices!(op, [x], T => {
        let x = Batch::of(x);
        let n = x.rows;
        let both = BatchOutput::<T>::new(op, &x, &[n, n])?;
        let pivots = BatchOutput::<i32>::new(op, &x, &[n])?;
        let info = BatchOutput::<i32>::new(op, &x, &[])?;
        x.each(op, cube(n), |i| {
            let mut own = Columns::<T>::new();
            x.copy_columns(i, &mut own)?;
            let mut elimination = Elimination { x: own.split_at_mut(0).1, n, hermitian };
            info.part(i)[0] = elimination.run(pivots.part(i));
            both.put(i, Some(own.as_ref()));
            Ok(true)
        })?;
        Ok([both.array, pivots.array, info.array])
    })
}

/// Calls `f` with the first and the last row of each pivot, and the row that the last one was exchanged with. Returns whether
/// a factorisation can have these pivots.
fn each_pivot(pivots: &[i64], f: &mut dyn FnMut(usize, usize, usize)) -> bool {
    let mut k = 0;
    while let Some(&pivot) = pivots.get(k) {
        let last = k + usize::from(pivot < 0);
        let row = pivot.unsigned_abs().wrapping_sub(1) as usize;
        if row < last || row >= pivots.len() || pivots[last] != pivot {
            return false;
        }
        f(k, last, row);
        k = last + 1;
    }
    true
}

/// What lists of pivots (int64) say of matrices with these factors: the order of their rows; for each place of `L` the row of
/// the stored factors with its element (both int64); and whether the place is in a block of `D` (bool).
///
/// # Errors
/// Argument if they are no pivots of a factorisation.
pub fn places_of_pivots(op: &'static str, pivots: &Array) -> Result<[Array; 3]> {
    let pivots = pivots.contiguous()?;
    let n = *pivots.dims().last().expect("lists");
    let lists = || pivots.as_slice::<i64>().expect("contiguous").chunks_exact(n.max(1));
    if let Some(wrong) = lists().find(|list| !each_pivot(list, &mut |_, _, _| {})) {
        bail!(Argument, op, "{wrong:?} are no pivots of a factorization");
    }
    let square: Dims = pivots.dims().iter().copied().chain([n]).collect();
    let order = Array::build::<i64>(op, pivots.dims(), |out| {
        for (rows, list) in out.chunks_exact_mut(n.max(1)).zip(lists()) {
            rows.iter_mut().enumerate().for_each(|(i, r)| *r = i as i64);
            each_pivot(list, &mut |_, last, row| rows.swap(last, row));
        }
    })?;
    let sources = Array::build::<i64>(op, &square, |out| {
        for (rows, list) in out.chunks_exact_mut((n * n).max(1)).zip(lists()) {
            rows.iter_mut().enumerate().for_each(|(i, r)| *r = (i / n) as i64);
            each_pivot(list, &mut |first, last, row| {
                (0..first).for_each(|c| rows.swap(last * n + c, row * n + c));
            });
        }
    })?;
    let blocks = Array::build::<Bool8>(op, &square, |out| {
        for (places, list) in out.chunks_exact_mut((n * n).max(1)).zip(lists()) {
            places.fill(Bool8::from(false));
            each_pivot(list, &mut |first, last, _| {
                (first..=last).for_each(|r| places[r * n..][first..=last].fill(Bool8::from(true)));
            });
        }
    })?;
    Ok([order, sources, blocks])
}
