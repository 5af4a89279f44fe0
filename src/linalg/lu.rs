//! LU factors: solves, inverses and determinants.

use faer::Par;
use faer::dyn_stack::MemStack;
use faer::linalg::lu::partial_pivoting;
use smallvec::SmallVec;

use super::batch::{Batch, BatchOutput, Columns, Part, Parts, Scalar, cube, on_matrices, scratch};
use super::small;
use crate::array::Array;
use crate::dtype::Ordered;
use crate::error::{Result, bail};
use crate::kernel::num::{Field, Inexact, Num, Plain};
use crate::memory::{NoMemory, TryPush};
use crate::shape::Dims;

/// Matrices up to this size are eliminated column by column.
const SMALL: usize = 16;

/// The LU factors of a matrix with partial pivoting: a permutation, a unit lower and an upper triangle.
struct Lu<T> {
    both: Columns<T>,
    forward: SmallVec<[usize; SMALL]>,
    backward: SmallVec<[usize; SMALL]>,
    /// Whether the permutation is odd.
    odd: bool,
}

impl<T: Scalar> Lu<T> {
    /// Room for factors.
    fn new() -> Lu<T> {
        Lu { both: Columns::new(), forward: SmallVec::new(), backward: SmallVec::new(), odd: false }
    }

    /// Makes these the factors of matrix `i`. Returns false if it has a NaN or an infinity.
    fn factorise(&mut self, x: &Batch<'_>, i: usize) -> Result<bool, NoMemory> {
        if !x.copy_columns(i, &mut self.both)? {
            return Ok(false);
        }
        let (m, n) = self.both.shape();
        number(&mut self.forward, m)?;
        number(&mut self.backward, m)?;
        if m.max(n) <= SMALL {
            self.by_columns();
            return Ok(true);
        }
        let mut memory = scratch(partial_pivoting::factor::lu_in_place_scratch::<usize, T>(
            m,
            n,
            Par::Seq,
            Default::default(),
        ))?;
        let (info, _) = partial_pivoting::factor::lu_in_place(
            self.both.as_mut(),
            &mut self.forward,
            &mut self.backward,
            Par::Seq,
            MemStack::new(&mut memory),
            Default::default(),
        );
        self.odd = info.transposition_count % 2 == 1;
        Ok(true)
    }

    /// The same by elimination of one column after the other, where `faer`'s preparations would take longer, and for singular
    /// matrices: their columns without a pivot stay as they are, as in LAPACK, where `faer`'s factors divide by zero.
    fn by_columns(&mut self) {
        let both = &mut self.both;
        let (m, n) = both.shape();
        self.odd = false;
        for k in 0..m.min(n) {
            let column = &both.column(k)[k..];
            // The first one of the largest.
            let (mut pivot, mut most) = (k, column[0].size());
            for (r, v) in column.iter().enumerate().skip(1) {
                let size = v.size();
                if size > most {
                    (pivot, most) = (k + r, size);
                }
            }
            if pivot != k {
                both.iter_mut().for_each(|column| column.swap(k, pivot));
                self.forward.swap(k, pivot);
                self.odd = !self.odd;
            }
            let by = both.at(k, k);
            if by == T::ZERO {
                continue;
            }
            let (first, rest) = both.split_at_mut(k + 1);
            let below = &mut first[k * m + k + 1..];
            below.iter_mut().for_each(|v| *v = Inexact::div(*v, by));
            for column in rest.chunks_exact_mut(m) {
                let times = column[k];
                subtract(below, times, &mut column[k + 1..]);
            }
        }
        self.forward.iter().enumerate().for_each(|(i, &r)| self.backward[r] = i);
    }

    /// The determinant of the permutation.
    fn parity(&self) -> T {
        if self.odd { Field::neg(T::ONE) } else { T::ONE }
    }

    fn pivots(&self) -> impl Iterator<Item = T> {
        let (m, n) = self.both.shape();
        (0..m.min(n)).map(|i| self.both.at(i, i))
    }

    /// Whether a pivot is zero. The factors after the first such pivot may be meaningless.
    fn singular(&self) -> bool {
        self.pivots().any(|p| p == T::ZERO)
    }

    /// Overwrites the right sides of equations with their solutions.
    fn solve(&self, b: &mut Columns<T>) -> Result<(), NoMemory> {
        let (n, _) = self.both.shape();
        if n > SMALL {
            let rows = faer::perm::PermRef::new_checked(&self.forward, &self.backward, n);
            let columns = b.shape().1;
            let mut memory =
                scratch(partial_pivoting::solve::solve_in_place_scratch::<usize, T>(n, columns, Par::Seq))?;
            let (both, stack) = (self.both.as_ref(), MemStack::new(&mut memory));
            partial_pivoting::solve::solve_in_place(both, both, rows, b.as_mut(), Par::Seq, stack);
            return Ok(());
        }
        for column in b.iter_mut() {
            let mut x = [T::ZERO; SMALL];
            let x = &mut x[..n];
            x.iter_mut().zip(&self.forward).for_each(|(x, &r)| *x = column[r]);
            for k in 0..n {
                let known = x[k];
                subtract(&self.both.column(k)[k + 1..], known, &mut x[k + 1..]);
            }
            for k in (0..n).rev() {
                let factors = self.both.column(k);
                x[k] = Inexact::div(x[k], factors[k]);
                let known = x[k];
                subtract(&factors[..k], known, &mut x[..k]);
            }
            column.copy_from_slice(x);
        }
        Ok(())
    }
}

/// Subtracts a multiple of a column.
pub(super) fn subtract<T: Scalar>(column: &[T], times: T, from: &mut [T]) {
    from.iter_mut().zip(column).for_each(|(v, &by)| *v = Field::sub(*v, Field::mul(by, times)));
}

/// Writes the numbers of rows into a list.
fn number(list: &mut SmallVec<[usize; SMALL]>, rows: usize) -> Result<(), NoMemory> {
    list.clear();
    list.try_reserve(rows).map_err(|_| NoMemory)?;
    list.extend(0..rows);
    Ok(())
}

/// The factors of any matrices with partial pivoting, `l` and `u` in one matrix, and three lists of indices (int64):
/// the row of `x` that each row of `l @ u` is, the inverse of that, and the rows that the factorisation exchanged one
/// after another, counted from 1 as in LAPACK.
pub fn factors(op: &'static str, x: &Array) -> Result<[Array; 4]> {
    on_matrices!(op, [x], T => {
        let x = Batch::of(x);
        let (m, k) = (x.rows, x.rows.min(x.columns));
        let both = BatchOutput::<T>::new(op, &x, &[m, x.columns])?;
        let forward = BatchOutput::<i64>::new(op, &x, &[m])?;
        let backward = BatchOutput::<i64>::new(op, &x, &[m])?;
        let exchanged = BatchOutput::<i64>::new(op, &x, &[k])?;
        // Matrices without rows have no factors to write.
        if m == 0 {
            return Ok([both.array, forward.array, backward.array, exchanged.array]);
        }
        x.each(op, cube(m.max(x.columns)), |i| {
            let mut factors = Lu::<T>::new();
            let is_finite = k > 0 && factors.factorise(&x, i)?;
            if is_finite && factors.singular() {
                x.copy_columns(i, &mut factors.both)?;
                number(&mut factors.forward, m)?;
                factors.by_columns();
            }
            let factors = is_finite.then_some(&factors);
            let (to, from, places) = (forward.part(i), backward.part(i), exchanged.part(i));
            match factors {
                Some(f) => {
                    to.iter_mut().zip(&f.forward).for_each(|(o, &r)| *o = r as i64);
                    from.iter_mut().zip(&f.backward).for_each(|(o, &r)| *o = r as i64);
                }
                None => [to, from].into_iter().for_each(|list| (0..m).for_each(|r| list[r] = r as i64)),
            }
            both.put(i, factors.map(|f| f.both.as_ref()));
            exchanges(places, factors.map(|f| &f.forward[..]))
                .map(|()| true)
        })?;
        Ok([both.array, forward.array, backward.array, exchanged.array])
    })
}

/// The exchanges of rows, each with a row that is not above it, of which a permutation is made.
fn exchanges(out: &mut [i64], rows: Option<&[usize]>) -> Result<(), NoMemory> {
    let Some(rows) = rows else {
        out.iter_mut().enumerate().for_each(|(i, o)| *o = (i + 1) as i64);
        return Ok(());
    };
    // The row that is at each place so far, and the place of each row.
    let (mut row_at, mut place_of) = (Vec::new(), Vec::new());
    for list in [&mut row_at, &mut place_of] {
        list.try_room(rows.len())?;
        list.extend(0..rows.len());
    }
    for (i, o) in out.iter_mut().enumerate() {
        let j = place_of[rows[i]];
        *o = (j + 1) as i64;
        row_at.swap(i, j);
        (place_of[row_at[i]], place_of[row_at[j]]) = (i, j);
    }
    Ok(())
}

/// The rows that exchanges lead to, for lists of them (int64, from 1): row `i` of the result is row `out[i]` of `m`.
///
/// # Errors
/// IndexOutOfRange for an exchange with a row that is not there.
pub fn permuted_rows(op: &'static str, exchanges: &Array, m: usize) -> Result<Array> {
    let exchanges = exchanges.contiguous()?;
    let (&k, lead) = exchanges.dims().split_last().expect("lists");
    let lists = exchanges.as_slice::<i64>().expect("contiguous");
    let inside = |v: &i64| (1..=m as i64).contains(v);
    if k > m || !lists.iter().all(inside) {
        bail!(Index, op, "the pivots are not numbers of {m} rows");
    }
    let dims: Dims = lead.iter().copied().chain([m]).collect();
    Array::build::<i64>(op, &dims, |out| {
        for (b, rows) in out.chunks_exact_mut(m.max(1)).enumerate() {
            rows.iter_mut().enumerate().for_each(|(i, r)| *r = i as i64);
            for (i, &j) in lists[b * k..][..k].iter().enumerate() {
                rows.swap(i, j as usize - 1);
            }
        }
    })
}

/// What is wrong with a matrix that has no inverse.
pub(super) const SINGULAR: &str = "is singular";

/// Writes the solution for matrix `i`. Returns whether it has an inverse, or is not finite.
pub(super) fn solve_one<T: Scalar>(
    a: &Batch<'_>,
    b: &Batch<'_>,
    i: usize,
    out: &Parts<T>,
) -> Result<bool, NoMemory> {
    let (mut factors, mut x) = (Lu::<T>::new(), Columns::new());
    if !factors.factorise(a, i)? {
        out.put(i, None);
        return Ok(true);
    }
    let singular = factors.singular();
    let solves = !singular && b.copy_columns(i, &mut x)?;
    if solves {
        factors.solve(&mut x)?;
    }
    out.put(i, solves.then(|| x.as_ref()));
    Ok(!singular)
}

/// The solution of `a @ x = b` for square `a`, with the same leading axes. A singular matrix is an error if `strict`,
/// else its solution is NaN.
pub fn solve(op: &'static str, a: &Array, b: &Array, strict: bool) -> Result<Array> {
    on_matrices!(op, [a, b], T => {
        let (a, b) = (Batch::of(a), Batch::of(b));
        a.check_equations(op, &b)?;
        let out = BatchOutput::<T>::new(op, &b, &[b.rows, b.columns])?;
        let work = cube(a.rows).saturating_add(a.rows.saturating_mul(a.rows).saturating_mul(b.columns));
        if a.rows == 0 {
            return Ok(out.array);
        }
        let failed = if small::suits::<T>(&a) {
            small::solve(op, &a, Some(&b), &out)?
        } else {
            a.each(op, work, |i| solve_one::<T>(&a, &b, i, &out))?
        };
        a.blame(op, failed.filter(|_| strict), SINGULAR)?;
        Ok(out.array)
    })
}

/// Writes the inverse of matrix `i`. Returns whether it has one, or is not finite.
pub(super) fn invert_one<T: Scalar>(x: &Batch<'_>, i: usize, out: &Parts<T>) -> Result<bool, NoMemory> {
    let (mut factors, mut inverse) = (Lu::<T>::new(), Columns::new());
    let is_finite = factors.factorise(x, i)?;
    let singular = is_finite && factors.singular();
    let inverts = is_finite && !singular;
    if inverts {
        inverse.resize(x.rows, x.rows)?;
        inverse.fill(T::ZERO);
        inverse.iter_mut().enumerate().for_each(|(k, column)| column[k] = T::ONE);
        factors.solve(&mut inverse)?;
    }
    out.put(i, inverts.then(|| inverse.as_ref()));
    Ok(!singular)
}

/// The inverse of square matrices. A singular matrix is an error if `strict`, else its inverse is NaN.
pub fn inverse(op: &'static str, x: &Array, strict: bool) -> Result<Array> {
    on_matrices!(op, [x], T => {
        let x = Batch::of(x);
        let out = BatchOutput::<T>::new(op, &x, &[x.rows, x.rows])?;
        if x.rows == 0 {
            return Ok(out.array);
        }
        let failed = if small::suits::<T>(&x) {
            small::solve(op, &x, None, &out)?
        } else {
            x.each(op, cube(x.rows).saturating_mul(3), |i| invert_one::<T>(&x, i, &out))?
        };
        x.blame(op, failed.filter(|_| strict), SINGULAR)?;
        Ok(out.array)
    })
}

/// Which pivot of square matrices is the first one that is zero, counted from 1 (int32). 0 where none is, where a matrix is
/// not finite, and where the result that was made with it, of the same leading axes, is finite.
pub fn first_zero_pivot(op: &'static str, x: &Array, result: &Array) -> Result<Array> {
    on_matrices!(op, [x, result], T => {
        let (x, result) = (Batch::of(x), Batch::of(result));
        let out = BatchOutput::<i32>::new(op, &x, &[])?;
        x.each(op, cube(x.rows), |i| {
            let mut factors = Lu::<T>::new();
            let failed = x.rows > 0 && !result.copy_columns(i, &mut factors.both)? && factors.factorise(&x, i)?;
            let place = if failed { factors.pivots().position(|p| p == T::ZERO) } else { None };
            out.part(i)[0] = place.map_or(0, |k| k as i32 + 1);
            Ok(true)
        })?;
        Ok(out.array)
    })
}

/// Calls `f` with each matrix.
fn each_pivots<T: Scalar>(op: &'static str, x: &Batch<'_>, f: &small::EachPivots<'_, T>) -> Result<()> {
    if small::suits::<T>(x) {
        return small::pivots(op, x, f);
    }
    x.each(op, cube(x.rows), |i| pivots_of(x, i, f).map(|()| true))?;
    Ok(())
}

/// Calls `f` with matrix `i`.
fn pivots_of<T: Scalar>(x: &Batch<'_>, i: usize, f: &small::EachPivots<'_, T>) -> Result<(), NoMemory> {
    let mut factors = Lu::<T>::new();
    let is_finite = factors.factorise(x, i)?;
    let mut pivots: SmallVec<[T; SMALL]> = SmallVec::new();
    pivots.try_reserve(x.rows).map_err(|_| NoMemory)?;
    pivots.extend(factors.pivots());
    f(i, is_finite.then_some((factors.parity(), &pivots)));
    Ok(())
}

/// The determinants of square matrices divided by their absolute values, and the logarithms of these; 0 and -inf for a
/// singular matrix.
pub fn slogdet(op: &'static str, x: &Array) -> Result<[Array; 2]> {
    on_matrices!(op, [x], T => {
        let x = Batch::of(x);
        let (sign, log) = (BatchOutput::<T>::new(op, &x, &[])?, BatchOutput::<Part<T>>::new(op, &x, &[])?);
        each_pivots::<T>(op, &x, &|i, factors| {
            let (s, l) = match factors {
                None => (T::NAN, Part::<T>::NAN),
                Some((_, pivots)) if pivots.contains(&T::ZERO) => (T::ZERO, Field::neg(Part::<T>::INFINITY)),
                Some((parity, pivots)) => pivots.iter().fold((parity, Part::<T>::ZERO), |(s, l), p| {
                    (p.direction().mul(s), l.add(Part::<T>::lit(p.modulus().to_f64().ln())))
                }),
            };
            sign.part(i)[0] = s;
            log.part(i)[0] = l;
        })?;
        Ok([sign.array, log.array])
    })
}

/// The determinant of a matrix, and the ratio of its smallest to its largest pivot, by absolute value, from the sign of its
/// permutation and its pivots. NaN for a matrix that is not finite.
fn det_of_pivots<T: Scalar>(factors: Option<(T, &[T])>) -> (T, Part<T>) {
    match factors {
        None => (T::NAN, Part::<T>::NAN),
        Some((_, pivots)) if pivots.contains(&T::ZERO) => (T::ZERO, Part::<T>::ZERO),
        Some((parity, pivots)) => {
            let sizes = || pivots.iter().map(|p| p.modulus());
            let least = sizes().fold(Part::<T>::INFINITY, Num::min);
            let most = sizes().fold(Part::<T>::ZERO, Num::max);
            (pivots.iter().fold(parity, |product, &p| Field::mul(product, p)), least.div(most))
        }
    }
}

/// Writes the determinant of matrix `i`.
pub(super) fn det_one<T: Scalar>(x: &Batch<'_>, i: usize, out: &Parts<T>) -> Result<bool, NoMemory> {
    pivots_of::<T>(x, i, &|i, factors| out.part(i)[0] = det_of_pivots(factors).0).map(|()| true)
}

/// The determinants of square matrices, and the ratio of the smallest to the largest pivot, by absolute value.
pub fn det(op: &'static str, x: &Array) -> Result<[Array; 2]> {
    on_matrices!(op, [x], T => {
        let x = Batch::of(x);
        let (out, ratio) = (BatchOutput::<T>::new(op, &x, &[])?, BatchOutput::<Part<T>>::new(op, &x, &[])?);
        each_pivots::<T>(op, &x, &|i, factors| {
            (out.part(i)[0], ratio.part(i)[0]) = det_of_pivots(factors);
        })?;
        Ok([out.array, ratio.array])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::triangular::{Triangle, triangular_solve};

    #[test]
    fn equations_have_one_dtype_and_as_many_rows() {
        let n = 64;
        let twice = |out: &mut [f64]| {
            out.fill(0.0);
            (0..n).for_each(|i| out[i * n + i] = 2.0);
        };
        let eye = Array::build::<f64>("t", &[n, n], twice).unwrap();
        let narrow = Array::full(&[n, n], 1.0f32).contiguous().unwrap();
        let lower = Triangle { upper: false, unit: false };
        assert!(solve("t", &eye, &narrow, false).is_err());
        assert!(solve("t", &narrow, &eye, false).is_err());
        assert!(triangular_solve("t", &eye, &narrow, lower, false).is_err());
        let none = Array::full(&[0, n], 1.0f64).contiguous().unwrap();
        assert!(
            solve("t", &none, &eye, false).is_err()
                && triangular_solve("t", &none, &eye, lower, false).is_err()
        );
        let short = Array::full(&[n / 2, n], 1.0f64).contiguous().unwrap();
        for of in [solve, |op: &'static str, a: &Array, b: &Array, strict| {
            triangular_solve(op, a, b, Triangle { upper: false, unit: false }, strict)
        }] {
            let done =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| of("t", &eye, &short, false)));
            assert!(!done.is_ok_and(|done| done.is_ok()));
        }
    }
}
