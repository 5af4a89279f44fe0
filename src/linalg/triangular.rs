//! The Cholesky factorisation, and triangular systems.

use faer::dyn_stack::MemStack;
use faer::linalg::cholesky::llt::factor::{self, LltError};
use faer::linalg::triangular_solve as triangle;
use faer::{Mat, Par};

use super::batch::{Batch, BatchOutput, Columns, Parts, Scalar, cube, on_matrices, real_diagonal, scratch};
use super::small;
use crate::array::Array;
use crate::error::Result;
use crate::kernel::num::{Field, Inexact};
use crate::memory::NoMemory;

/// The lower triangle `l` with `l @ lᴴ = x`. Only the lower triangle of `x` is read, and the real part of its
/// diagonal. A matrix that is not positive definite is an error if `strict`, else its factor is NaN.
pub fn cholesky(op: &'static str, x: &Array, strict: bool) -> Result<Array> {
    on_matrices!(op, [x], T => {
        let (x, n) = (Batch::of(x), x.dims()[x.rank() - 1]);
        let out = BatchOutput::<T>::new(op, &x, &[n, n])?;
        if n == 0 {
            return Ok(out.array);
        }
        let failed = if small::suits::<T>(&x) {
            small::cholesky(op, &x, &out)?
        } else {
            x.each(op, cube(n), |i| cholesky_one::<T>(&x, i, &out))?
        };
        x.blame(op, failed.filter(|_| strict), NOT_POSITIVE)?;
        Ok(out.array)
    })
}

/// What is wrong with a matrix that has no factor.
pub(super) const NOT_POSITIVE: &str = "is not positive definite";

/// Writes the factor of matrix `i`. Returns whether there is one, or the matrix is not finite.
pub(super) fn cholesky_one<T: Scalar>(x: &Batch<'_>, i: usize, out: &Parts<T>) -> Result<bool, NoMemory> {
    if x.rows <= SMALL {
        return by_columns(x, i, out);
    }
    let Some(mut l) = x.part_of::<T>(i, |r, c| r >= c)? else {
        out.put(i, None);
        return Ok(true);
    };
    let done = factorise(&mut l)?;
    l.as_mut().col_iter_mut().enumerate().for_each(|(c, column)| column.subrows_mut(0, c).fill(T::ZERO));
    out.put(i, Some(l.as_ref()).filter(|_| done.is_ok()));
    Ok(done.is_ok())
}

/// Matrices up to this size are factorised column by column.
const SMALL: usize = 4;

/// Writes the factor of a small matrix, where `faer`'s preparations would take longer. Returns whether there is one.
fn by_columns<T: Scalar>(x: &Batch<'_>, i: usize, out: &Parts<T>) -> Result<bool, NoMemory> {
    let (mut l, n) = (Columns::<T>::new(), x.rows);
    x.copy_columns(i, &mut l)?;
    let mut finite = true;
    for (c, column) in l.iter_mut().enumerate() {
        column[..c].fill(T::ZERO);
        column[c] = T::of_real(T::real_part_impl(&column[c]));
        finite = column.iter().fold(finite, |all, &v| all & Inexact::is_finite(v));
    }
    let mut done = finite;
    for k in 0..n {
        let (first, rest) = l.split_at_mut(k + 1);
        let column = &mut first[k * n..];
        let pivot = T::real_part_impl(&column[k]);
        // Also false for NaN.
        if !(done && pivot > Field::ZERO) {
            done = false;
            break;
        }
        let root = T::of_real(Inexact::sqrt(pivot));
        column[k..].iter_mut().for_each(|v| *v = Inexact::div(*v, root));
        for (j, later) in (k + 1..n).zip(rest.chunks_exact_mut(n)) {
            let by = column[j].conjugate();
            later[j..]
                .iter_mut()
                .zip(&column[j..])
                .for_each(|(v, &u)| *v = Field::sub(*v, Field::mul(u, by)));
            later[j] = T::of_real(T::real_part_impl(&later[j]));
        }
    }
    out.put(i, Some(l.as_ref()).filter(|_| done));
    Ok(done || !finite)
}

/// Overwrites a lower triangle with its factor. The inner error says which pivot is not positive.
fn factorise<T: Scalar>(l: &mut Mat<T>) -> Result<Result<(), LltError>, NoMemory> {
    real_diagonal(l);
    let mut memory =
        scratch(factor::cholesky_in_place_scratch::<T>(l.nrows(), Par::Seq, Default::default()))?;
    let stack = MemStack::new(&mut memory);
    let done = factor::cholesky_in_place(l.as_mut(), Default::default(), Par::Seq, stack, Default::default());
    Ok(done.map(|_| ()))
}

/// The order (int32) of the first leading minor that is not positive, in matrices whose [`cholesky`] factor is NaN; 0 for
/// the others.
pub fn first_failing_minor(op: &'static str, x: &Array, l: &Array) -> Result<Array> {
    on_matrices!(op, [x, l], T => {
        let (x, l, n) = (Batch::of(x), Batch::of(l), x.dims()[x.rank() - 1]);
        let out = BatchOutput::<i32>::new(op, &x, &[])?;
        x.each(op, cube(n), |i| {
            let order = if n == 0 || l.matrix::<T>(i)?.is_some() {
                0
            } else {
                let all = x.columnwise::<T>(i)?;
                let is_finite = |r: usize| (0..=r).all(|c| Inexact::is_finite(all[(r, c)]));
                let rows = (0..n).position(|r| !is_finite(r)).unwrap_or(n);
                // A row that is not finite is replaced by zeros, so its minor is not positive.
                match x.part_of::<T>(i, |r, c| r >= c && r < rows)? {
                    Some(mut l) => match factorise(&mut l)? {
                        // Which was lost by rounding in the other order of operations.
                        Ok(()) => n as i32,
                        Err(LltError::NonPositivePivot { index }) => index as i32 + 1,
                    },
                    None => 1,
                }
            };
            out.part(i)[0] = order;
            Ok(true)
        })?;
        Ok(out.array)
    })
}

/// Which triangle of a matrix equations have, and whether its diagonal is taken as ones.
#[derive(Clone, Copy)]
pub struct Triangle {
    pub upper: bool,
    pub unit: bool,
}

/// The solution of `a @ x = b` for a triangle `a`; its other half is not read. With `unit` the diagonal is taken as
/// ones and not read either. Both have the same leading axes. A zero on the diagonal is an error if `strict`, else
/// the solution is NaN.
pub fn triangular_solve(
    op: &'static str,
    a: &Array,
    b: &Array,
    triangle: Triangle,
    strict: bool,
) -> Result<Array> {
    on_matrices!(op, [a, b], T => {
        let (a, b) = (Batch::of(a), Batch::of(b));
        a.check_equations(op, &b)?;
        let out = BatchOutput::<T>::new(op, &b, &[b.rows, b.columns])?;
        if a.rows == 0 {
            return Ok(out.array);
        }
        let work = a.rows.saturating_mul(a.rows).saturating_mul(b.columns);
        let failed = a.each(op, work, |i| solve_triangle::<T>(triangle, &a, &b, i, &out))?;
        a.blame(op, failed.filter(|_| strict), ZERO_ON_DIAGONAL)?;
        Ok(out.array)
    })
}

/// What is wrong with a triangle that has no inverse.
pub(super) const ZERO_ON_DIAGONAL: &str = "has a zero on its diagonal";

/// Writes the solution for triangle `i`. Returns whether it has an inverse, or is not finite.
pub(super) fn solve_triangle<T: Scalar>(
    Triangle { upper, unit }: Triangle,
    a: &Batch<'_>,
    b: &Batch<'_>,
    i: usize,
    out: &Parts<T>,
) -> Result<bool, NoMemory> {
    let used = |r: usize, c: usize| (if upper { r < c } else { r > c }) || (r == c && !unit);
    let of = a.part_of::<T>(i, used)?;
    let singular = !unit && of.as_ref().is_some_and(|t| (0..a.rows).any(|k| t[(k, k)] == T::ZERO));
    let mut x = b.matrix::<T>(i)?.filter(|_| of.is_some() && !singular);
    if let (Some(x), Some(a)) = (&mut x, &of) {
        let (a, x) = (a.as_ref(), x.as_mut());
        match (upper, unit) {
            (false, false) => triangle::solve_lower_triangular_in_place(a, x, Par::Seq),
            (false, true) => triangle::solve_unit_lower_triangular_in_place(a, x, Par::Seq),
            (true, false) => triangle::solve_upper_triangular_in_place(a, x, Par::Seq),
            (true, true) => triangle::solve_unit_upper_triangular_in_place(a, x, Par::Seq),
        }
    }
    out.put(i, x.as_ref().map(|x| x.as_ref()));
    Ok(!singular)
}
