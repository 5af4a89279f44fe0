//! Batches of small real matrices. Many are worked on at once, each in its lane of a list of numbers, so that the loops
//! over lanes are vectors. Their results have the same bits in every lane.

use super::batch::{Batch, BatchOutput, LANES, Lanes, Scalar, cube};
use crate::error::Result;
use crate::kernel::num::{Field, Inexact};
use crate::kernel::simd;

/// Matrices up to this size, and from this number on, are worked on in lanes.
pub(super) const SIZE: usize = 16;
pub(super) const COUNT: usize = 8;

/// Whether a batch is worked on in lanes.
pub(super) fn suits<T: Scalar>(x: &Batch<'_>) -> bool {
    T::IS_REAL && (1..=SIZE).contains(&x.rows.max(x.columns)) && x.count() >= COUNT
}

// The loops over lanes are functions of their own, so that each is compiled once for a kind of vectors and type.

/// `y - factor · x` for rows `x` and `y`.
#[inline(never)]
fn subtract<T: Scalar>(factor: &Lanes<T>, x: &[Lanes<T>], y: &mut [Lanes<T>]) {
    simd::autovectorize(
        #[inline(always)]
        || {
            for (x, y) in x.iter().zip(y) {
                for l in 0..LANES {
                    y[l] = Field::sub(y[l], Field::mul(factor[l], x[l]));
                }
            }
        },
    );
}

/// Divides a row.
#[inline(never)]
fn divide<T: Scalar>(row: &mut [Lanes<T>], by: &Lanes<T>) {
    simd::autovectorize(
        #[inline(always)]
        || {
            for v in row {
                for l in 0..LANES {
                    v[l] = Inexact::div(v[l], by[l]);
                }
            }
        },
    );
}

/// Multiplies an element.
#[inline(never)]
fn multiply<T: Scalar>(v: &mut Lanes<T>, by: &Lanes<T>) {
    simd::autovectorize(
        #[inline(always)]
        || {
            for l in 0..LANES {
                v[l] = Field::mul(v[l], by[l]);
            }
        },
    );
}

/// `sum + x · y`
#[inline(never)]
fn accumulate<T: Scalar>(sum: &mut Lanes<T>, x: &Lanes<T>, y: &Lanes<T>) {
    simd::autovectorize(
        #[inline(always)]
        || {
            for l in 0..LANES {
                sum[l] = Field::add(sum[l], Field::mul(x[l], y[l]));
            }
        },
    );
}

/// Where the size of an element is above `most`, makes it `most`, and its row the `place`.
#[inline(never)]
fn compare<T: Scalar>(v: &Lanes<T>, row: T, most: &mut Lanes<T>, place: &mut Lanes<T>) {
    simd::autovectorize(
        #[inline(always)]
        || {
            for l in 0..LANES {
                let size = T::of_real(v[l].size());
                let is_larger = T::real_part_impl(&size) > T::real_part_impl(&most[l]);
                most[l] = if is_larger { size } else { most[l] };
                place[l] = if is_larger { row } else { place[l] };
            }
        },
    );
}

/// Exchanges two rows in the lanes where `place` is `row`.
#[inline(never)]
fn exchange<T: Scalar>(place: &Lanes<T>, row: T, x: &mut [Lanes<T>], y: &mut [Lanes<T>]) {
    simd::autovectorize(
        #[inline(always)]
        || {
            for (x, y) in x.iter_mut().zip(y) {
                for l in 0..LANES {
                    let (a, b) = (x[l], y[l]);
                    x[l] = if place[l] == row { b } else { a };
                    y[l] = if place[l] == row { a } else { b };
                }
            }
        },
    );
}

/// Eliminates the columns of matrices of `n` rows, with the largest pivots, and does the same to the `columns` columns of
/// `sides`, both in row order. A pivot that is zero is left alone. Returns the signs of the permutations.
fn eliminate<T: Scalar>(n: usize, x: &mut [Lanes<T>], sides: &mut [Lanes<T>], columns: usize) -> Lanes<T> {
    let number = |r: usize| T::lit(r as f64);
    let mut parity = [T::ONE; LANES];
    for k in 0..n {
        let (mut most, mut place) = ([T::ZERO; LANES], [number(k); LANES]);
        (k..n).for_each(|r| compare(&x[r * n + k], number(r), &mut most, &mut place));
        for r in k + 1..n {
            if !place.iter().fold(false, |any, &p| any | (p == number(r))) {
                continue;
            }
            let (first, rest) = x.split_at_mut(r * n);
            exchange(&place, number(r), &mut first[k * n..][k..n], &mut rest[k..n]);
            let (first, rest) = sides.split_at_mut(r * columns);
            exchange(&place, number(r), &mut first[k * columns..][..columns], &mut rest[..columns]);
        }
        let mut pivot = x[k * n + k];
        for l in 0..LANES {
            parity[l] = if place[l] == number(k) { parity[l] } else { Field::neg(parity[l]) };
            pivot[l] = if pivot[l] == T::ZERO { T::ONE } else { pivot[l] };
        }
        for r in k + 1..n {
            let (first, rest) = x.split_at_mut(r * n);
            divide(&mut rest[k..][..1], &pivot);
            let factor = rest[k];
            subtract(&factor, &first[k * n..][k + 1..n], &mut rest[k + 1..n]);
            let (first, rest) = sides.split_at_mut(r * columns);
            subtract(&factor, &first[k * columns..][..columns], &mut rest[..columns]);
        }
    }
    parity
}

/// Overwrites `sides` with the solutions for eliminated matrices.
fn substitute<T: Scalar>(n: usize, x: &[Lanes<T>], sides: &mut [Lanes<T>], columns: usize) {
    for k in (0..n).rev() {
        let (first, rest) = sides.split_at_mut(k * columns);
        let row = &mut rest[..columns];
        divide(row, &x[k * n + k]);
        for r in 0..k {
            subtract(&x[r * n + k], row, &mut first[r * columns..][..columns]);
        }
    }
}

/// Writes the solutions for right sides, or the inverses. Returns the first singular matrix.
pub(super) fn solve<T: Scalar>(
    op: &'static str,
    a: &Batch<'_>,
    b: Option<&Batch<'_>>,
    out: &BatchOutput<T>,
) -> Result<Option<usize>> {
    let (n, columns) = (a.rows, b.map_or(a.rows, |b| b.columns));
    let work = cube(n) + n * n * columns;
    a.in_lanes(op, work, n * (n + columns), &|range, room| {
        let (x, sides) = room.split_at_mut(n * n);
        let is_finite = a.read_lanes(range.clone(), x);
        let solves = match b {
            Some(b) => b.read_lanes(range.clone(), sides),
            None => {
                sides
                    .iter_mut()
                    .enumerate()
                    .for_each(|(i, v)| v.fill(if i % (n + 1) == 0 { T::ONE } else { T::ZERO }));
                [true; LANES]
            }
        };
        eliminate(n, x, sides, columns);
        substitute(n, x, sides, columns);
        let is_regular = |l: usize| !is_finite[l] || (0..n).all(|k| x[k * (n + 1)][l] != T::ZERO);
        out.put_lanes(range, sides, |l| is_finite[l] && solves[l] && is_regular(l));
        std::array::from_fn(is_regular)
    })
}

/// Takes the number of a matrix, and the sign of its permutation and its pivots if it is finite.
pub(super) type EachPivots<'a, T> = dyn Fn(usize, Option<(T, &[T])>) + Sync + 'a;

/// Calls `f` with each matrix.
pub(super) fn pivots<T: Scalar>(op: &'static str, x: &Batch<'_>, f: &EachPivots<'_, T>) -> Result<()> {
    let n = x.rows;
    x.in_lanes(op, cube(n), n * n, &|range, room| {
        let is_finite = x.read_lanes(range.clone(), room);
        let parity = eliminate(n, room, &mut [], 0);
        for (l, i) in range.enumerate() {
            let mut diagonal = [T::ZERO; SIZE];
            diagonal.iter_mut().zip(room.iter().step_by(n + 1)).for_each(|(to, from)| *to = from[l]);
            f(i, is_finite[l].then_some((parity[l], &diagonal[..n])));
        }
        [true; LANES]
    })?;
    Ok(())
}

/// Writes the lower factors of positive definite matrices, of which the lower triangles are read. Returns the first one that is
/// not positive definite.
pub(super) fn cholesky<T: Scalar>(
    op: &'static str,
    x: &Batch<'_>,
    out: &BatchOutput<T>,
) -> Result<Option<usize>> {
    let n = x.rows;
    x.in_lanes(op, cube(n), n * n, &|range, room| {
        x.read_lanes(range.clone(), room);
        let mut is_finite = [true; LANES];
        for (_, v) in room.iter().enumerate().filter(|(i, _)| i % n <= i / n) {
            is_finite.iter_mut().zip(v).for_each(|(all, v)| *all &= Inexact::is_finite(*v));
        }
        let least = factorise(n, room);
        clear(n, room, |r, c| c > r);
        let is_positive = |l: usize| least[l] == T::ONE;
        out.put_lanes(range, room, |l| is_finite[l] && is_positive(l));
        std::array::from_fn(|l| !is_finite[l] || is_positive(l))
    })
}

/// Makes some elements of matrices with `n` columns zero.
fn clear<T: Scalar>(n: usize, x: &mut [Lanes<T>], which: impl Fn(usize, usize) -> bool) {
    x.iter_mut().enumerate().filter(|(i, _)| which(i / n, i % n)).for_each(|(_, v)| v.fill(T::ZERO));
}

/// Overwrites lower triangles with their factors, and the upper ones with other numbers. Returns 1 in the lanes where all pivots are positive.
fn factorise<T: Scalar>(n: usize, x: &mut [Lanes<T>]) -> Lanes<T> {
    let mut all = [T::ONE; LANES];
    for k in 0..n {
        let mut root = x[k * n + k];
        for (v, all) in root.iter_mut().zip(&mut all) {
            // Also false for NaN.
            let is_positive = T::real_part_impl(v) > T::real_part_impl(&T::ZERO);
            *all = if is_positive { *all } else { T::ZERO };
            *v = Inexact::sqrt(if is_positive { *v } else { T::ONE });
        }
        for r in k..n {
            divide(&mut x[r * n + k..][..1], &root);
            if r > k {
                // The column is kept as a row of the other triangle, too.
                let factor = x[r * n + k];
                x[k * n + r] = factor;
                let (first, row) = x.split_at_mut(r * n);
                subtract(&factor, &first[k * n..][k + 1..=r], &mut row[k + 1..=r]);
            }
        }
    }
    all
}

/// Writes the reduced QR factors. Returns the first matrix whose squares leave the range of normal numbers, and which are
/// then not written.
pub(super) fn qr<T: Scalar>(
    op: &'static str,
    x: &Batch<'_>,
    q: &BatchOutput<T>,
    r: &BatchOutput<T>,
) -> Result<Option<usize>> {
    let (m, n) = (x.rows, x.columns);
    let k = m.min(n);
    x.in_lanes(op, m * n * k * 2, m * n + m * k, &|range, room| {
        let (both, basis) = room.split_at_mut(m * n);
        let is_finite = x.read_lanes(range.clone(), both);
        basis
            .iter_mut()
            .enumerate()
            .for_each(|(i, v)| v.fill(if i < k * k && i % (k + 1) == 0 { T::ONE } else { T::ZERO }));
        let is_safe = reflect(m, n, both, basis);
        q.put_lanes(range.clone(), basis, |l| is_finite[l]);
        clear(n, &mut both[..k * n], |r, c| c < r);
        r.put_lanes(range, &both[..k * n], |l| is_finite[l]);
        std::array::from_fn(|l| !is_finite[l] || is_safe[l] == T::ONE)
    })
}

/// Makes `x` upper triangles by Householder's reflections with LAPACK's signs, and applies them to the first columns of the
/// identity. Returns 1 in the lanes whose squares are all in range.
fn reflect<T: Scalar>(m: usize, n: usize, x: &mut [Lanes<T>], basis: &mut [Lanes<T>]) -> Lanes<T> {
    let part = |v: T| T::real_part_impl(&v);
    let (low, high) = if size_of::<T>() == 4 { (1e-24, 1e30) } else { (1e-240, 1e300) };
    let (low, high) = (part(T::lit(low)), part(T::lit(high)));
    let k = m.min(n);
    let mut is_safe = [T::ONE; LANES];
    let mut factors = [[T::ZERO; LANES]; SIZE];
    for c in 0..k {
        let (mut squares, mut is_reflected) = ([T::ZERO; LANES], [false; LANES]);
        for r in c + 1..m {
            let v = &x[r * n + c];
            accumulate(&mut squares, v, v);
            is_reflected.iter_mut().zip(v).for_each(|(some, v)| *some |= *v != T::ZERO);
        }
        let (head, mut inverse) = (&mut x[c * n + c], [T::ZERO; LANES]);
        // A column with zeros below its head is not reflected: its factor is 0.
        for l in (0..LANES).filter(|&l| is_reflected[l]) {
            let all = Field::add(squares[l], Field::mul(head[l], head[l]));
            if !(low..=high).contains(&part(all)) {
                is_safe[l] = T::ZERO;
            }
            let length = Inexact::sqrt(all);
            let kept = if part(head[l]) < part(T::ZERO) { length } else { Field::neg(length) };
            inverse[l] = Inexact::div(T::ONE, Field::sub(head[l], kept));
            factors[c][l] = Inexact::div(Field::sub(kept, head[l]), kept);
            head[l] = kept;
        }
        (c + 1..m).for_each(|r| multiply(&mut x[r * n + c], &inverse));
        for j in c + 1..n {
            let mut sum = x[c * n + j];
            (c + 1..m).for_each(|r| accumulate(&mut sum, &x[r * n + c], &x[r * n + j]));
            multiply(&mut sum, &factors[c]);
            subtract(&sum, &[[T::ONE; LANES]], &mut x[c * n + j..][..1]);
            for r in c + 1..m {
                let v = x[r * n + c];
                subtract(&sum, &[v], &mut x[r * n + j..][..1]);
            }
        }
    }
    // The reflections of the identity, from the last to the first.
    for c in (0..k).rev() {
        for j in c..k {
            let mut sum = basis[c * k + j];
            (c + 1..m).for_each(|r| accumulate(&mut sum, &x[r * n + c], &basis[r * k + j]));
            multiply(&mut sum, &factors[c]);
            subtract(&sum, &[[T::ONE; LANES]], &mut basis[c * k + j..][..1]);
            for r in c + 1..m {
                subtract(&sum, &x[r * n + c..][..1], &mut basis[r * k + j..][..1]);
            }
        }
    }
    is_safe
}
