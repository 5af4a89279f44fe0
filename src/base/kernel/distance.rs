//! Euclidean distances of all pairs of rows, and the sums that their gradients are.

use crate::array::Array;
use crate::dtype::{DType, dispatch};
use crate::error::{Error, Result};
use crate::kernel::num::{Inexact, Real};
use crate::kernel::output;
use crate::kernel::rows::not_defined;
use crate::kernel::simd;
use crate::memory::TryPush;
use crate::shape::Dims;

/// Distances that are computed at once. The compiler makes vectors of loops of this length.
const TILE: usize = 32;
/// Squares that are added one after another, before their sum is added to the others.
const RUN: usize = 64;

/// The distance of each row of `x` from each row of `y`. Both have the same axes before the rows.
pub fn euclidean(op: &'static str, x: &Array, y: &Array) -> Result<Array> {
    let at = x.rank() - 2;
    let (m, n, k) = (x.dims()[at], y.dims()[at], x.dims()[at + 1]);
    let (x, y) = (x.contiguous()?, y.contiguous()?);
    let dims: Dims = x.dims()[..=at].iter().copied().chain([n]).collect();
    let count = n.div_ceil(TILE);
    dispatch!(x.dtype(), float T => {
        let (rows, others) = (x.as_slice::<T>().expect("contiguous"), y.as_slice::<T>().expect("contiguous"));
        let tiled = tiles::<T>(op, others, (n, k))?;
        let exact = exact_sum([rows, others]);
        output::build_from::<T>(op, &dims, n, n.saturating_mul(k), |first, out| {
            for (i, out) in (first..).zip(out.chunks_exact_mut(n.max(1))) {
                let others = &tiled[i / m * count * k..][..count * k];
                from_row(&rows[i * k..][..k], others, exact, out);
            }
        })
    }, else not_defined(op, x.dtype()))
}

/// Matrices of `n` rows of `k` elements in tiles of rows: the elements of a tile's rows side by side, and zeros in the place of
/// missing rows.
fn tiles<T: Inexact>(op: &'static str, all: &[T], (n, k): (usize, usize)) -> Result<Vec<[T; TILE]>> {
    let mut tiled: Vec<[T; TILE]> = Vec::new();
    let count = (all.len() / (n * k).max(1)).saturating_mul(n.div_ceil(TILE)).saturating_mul(k);
    tiled.try_room(count).map_err(|_| Error::memory(op, vec![count, TILE], T::DTYPE))?;
    for tile in all.chunks_exact((n * k).max(1)).flat_map(|matrix| matrix.chunks(TILE * k)) {
        for j in 0..k {
            tiled.push(std::array::from_fn(|i| tile.get(i * k + j).copied().unwrap_or(T::ZERO)));
        }
    }
    Ok(tiled)
}

/// The sum over the rows of `y` of their differences from each row of `x`, times weights: `Σⱼ w[i, j] (x[i, k] - y[j, k])`. All
/// have the same axes before the matrices.
pub fn pulls(op: &'static str, w: &Array, x: &Array, y: &Array) -> Result<Array> {
    let at = x.rank() - 2;
    let (m, n, k) = (x.dims()[at], y.dims()[at], x.dims()[at + 1]);
    let (w, x, y) = (w.contiguous()?, x.contiguous()?, y.contiguous()?);
    let count = m.div_ceil(TILE);
    dispatch!(x.dtype(), float T => {
        let weights = tiles::<T>(op, w.as_slice::<T>().expect("contiguous"), (m, n))?;
        let rows = tiles::<T>(op, x.as_slice::<T>().expect("contiguous"), (m, k))?;
        let others = y.as_slice::<T>().expect("contiguous");
        output::build_from::<T>(op, x.dims(), m * k, m.saturating_mul(n).saturating_mul(k), |first, out| {
            for (b, out) in (first..).zip(out.chunks_exact_mut((m * k).max(1))) {
                let others = &others[b * n * k..][..n * k];
                for (t, out) in out.chunks_mut(TILE * k).enumerate() {
                    let (weights, rows) = (&weights[(b * count + t) * n..][..n], &rows[(b * count + t) * k..][..k]);
                    pull(weights, rows, others, out);
                }
            }
        })
    }, else not_defined(op, x.dtype()))
}

/// [`pulls`] for a tile of rows.
#[inline(never)]
fn pull<T: Inexact>(weights: &[[T; TILE]], rows: &[[T; TILE]], others: &[T], out: &mut [T]) {
    let k = rows.len();
    simd::autovectorize(
        #[inline(always)]
        || {
            for (c, row) in rows.iter().enumerate() {
                let mut total = [T::ZERO; TILE];
                for (weights, others) in weights.chunks(RUN).zip(others.chunks(RUN * k)) {
                    let mut sum = [T::ZERO; TILE];
                    for (j, weights) in weights.iter().enumerate() {
                        let other = others[j * k + c];
                        for i in 0..TILE {
                            sum[i] = sum[i].add(weights[i].mul(row[i].sub(other)));
                        }
                    }
                    for i in 0..TILE {
                        total[i] = total[i].add(sum[i]);
                    }
                }
                out.iter_mut().skip(c).step_by(k).zip(total).for_each(|(out, total)| *out = total);
            }
        },
    );
}

/// The sum of squared differences that is right though it is small: zero, if no number but zero itself is so near to zero that the
/// square of a difference vanishes. Else none, which is -1.
fn exact_sum<T: Real>(all: [&[T]; 2]) -> T {
    let least = T::lit(if T::DTYPE == DType::F32 { 2f64.powi(-40) } else { 2f64.powi(-400) });
    let is_far = |x: &T| !(x.abs() < least && *x != T::ZERO);
    let are_far = simd::autovectorize(
        #[inline(always)]
        || {
            all.iter()
                .flat_map(|all| all.chunks(TILE))
                .all(|some| some.iter().fold(true, |all, x| all & is_far(x)))
        },
    );
    if are_far { T::ZERO } else { T::ONE.neg() }
}

/// The distances of a row from all others. A sum of squares that is `exact` is right though it is small.
#[inline(never)]
fn from_row<T: Real>(row: &[T], others: &[[T; TILE]], exact: T, out: &mut [T]) {
    let [least, most] = range_of_squares(T::DTYPE).map(T::lit);
    simd::autovectorize(
        #[inline(always)]
        || {
            for (t, out) in out.chunks_mut(TILE).enumerate() {
                let tile = &others[t * row.len()..][..row.len()];
                let mut total = [T::ZERO; TILE];
                for (row, tile) in row.chunks(RUN).zip(tile.chunks(RUN)) {
                    let mut sum = [T::ZERO; TILE];
                    for (&x, others) in row.iter().zip(tile) {
                        for i in 0..TILE {
                            let difference = x.sub(others[i]);
                            sum[i] = sum[i].add(difference.mul(difference));
                        }
                    }
                    for i in 0..TILE {
                        total[i] = total[i].add(sum[i]);
                    }
                }
                let (mut distances, mut any_left) = (total, 0);
                // All are compared, without branches, so the loop fills vectors.
                for i in 0..TILE {
                    any_left |= u32::from(total[i] < least) & u32::from(total[i] != exact)
                        | u32::from(total[i] > most);
                    distances[i] = total[i].sqrt();
                }
                if any_left != 0 {
                    for i in 0..out.len() {
                        if total[i] < least || total[i] > most {
                            distances[i] = scaled_distance(row, tile, i);
                        }
                    }
                }
                out.iter_mut().zip(distances).for_each(|(out, distance)| *out = distance);
            }
        },
    );
}

/// The least and the largest sum of squares, or of other powers, that has all its digits.
pub fn range_of_squares(dtype: DType) -> [f64; 2] {
    if dtype == DType::F32 { [2f64.powi(-80), f32::MAX.into()] } else { [2f64.powi(-900), f64::MAX] }
}

/// A distance from the differences divided by the largest of them.
#[cold]
fn scaled_distance<T: Real>(row: &[T], others: &[[T; TILE]], i: usize) -> T {
    let differences = || row.iter().zip(others).map(|(&x, other)| x.sub(other[i]));
    let largest = differences().map(T::abs).fold(T::ZERO, |most, d| if d > most { d } else { most });
    if largest == T::ZERO || !largest.is_finite() {
        return largest;
    }
    let squares = differences().map(|d| d.div(largest)).fold(T::ZERO, |sum, d| sum.add(d.mul(d)));
    largest.mul(squares.sqrt())
}
