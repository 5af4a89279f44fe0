//! Standardised rows (the last axis) and their gradient.

use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::Result;
use crate::kernel::num::{Field, Inexact, Real};
use crate::kernel::reduce::pairwise::{SumOf, pairwise};
use crate::kernel::rows::{at, column, each, each_mut, last, not_defined, parts, total};
use crate::kernel::{interrupt, output, simd};

/// Each row minus its mean, divided by the root of its variance plus `eps`; and the inverse of that root, with the
/// last axis of size 1.
pub fn standardize(op: &'static str, x: &Array, eps: f64) -> Result<(Array, Array)> {
    let x = x.contiguous()?;
    let n = last(&x);
    dispatch!(x.dtype(), float T => {
        let all = x.as_slice::<T>().expect("contiguous");
        output::build_pair::<T, T>(op, (x.dims(), n), (&column(&x), 1), n, |first, out, scale| simd::autovectorize(
            #[inline(always)]
            || {
                let rows = each(&all[first * n..], n).zip(each_mut(out, n));
                for ((row, out), scale) in rows.zip(scale) {
                    let mean;
                    (mean, *scale) = moments(row, T::lit(eps));
                    for part in interrupt::parts(0..n, 1) {
                        let pairs = out[part.clone()].iter_mut().zip(&row[part]);
                        pairs.for_each(|(o, &v)| *o = v.sub(mean).mul(*scale));
                    }
                }
            },
        ))
    }, else not_defined(op, x.dtype()))
}

/// The mean of a row, and its inverse standard deviation `1 / sqrt(variance + eps)`.
#[inline(always)]
pub fn moments<T: Real>(row: &[T], eps: T) -> (T, T) {
    let count = T::lit(row.len() as f64);
    let mean = total(row).div(count);
    let square = move |v: T| v.sub(mean).mul(v.sub(mean));
    let square = pairwise(SumOf(square), row).div(count);
    (mean, over_root(square, eps))
}

#[inline(always)]
pub fn over_root<T: Real>(square: T, eps: T) -> T {
    T::ONE.div(square.add(eps).sqrt())
}

/// Sums that are made at the same time.
const LANES: usize = 16;

/// Elements in a partial sum.
const PART: usize = 2048;

/// The sums of both results of `f` over the elements of some rows.
#[inline(always)]
pub fn sums<T: Real, const N: usize>(rows: [&[T]; N], f: impl Fn([T; N]) -> (T, T)) -> (T, T) {
    let (mut all, n) = ((T::ZERO, T::ZERO), rows[0].len());
    for start in (0..n).step_by(PART) {
        let part = parts(rows, start, PART.min(n - start));
        let (mut a, mut b) = ([T::ZERO; LANES], [T::ZERO; LANES]);
        let whole = part[0].len() / LANES * LANES;
        for first in (0..whole).step_by(LANES) {
            let mut lanes = [[T::ZERO; LANES]; N];
            for k in 0..N {
                lanes[k].copy_from_slice(&part[k][first..][..LANES]);
            }
            for l in 0..LANES {
                let (p, q) = f(at(&lanes, l));
                (a[l], b[l]) = (a[l].add(p), b[l].add(q));
            }
        }
        for l in 0..part[0].len() - whole {
            let (p, q) = f(at(&part, whole + l));
            (a[l], b[l]) = (a[l].add(p), b[l].add(q));
        }
        all = (all.0.add(total(&a)), all.1.add(total(&b)));
    }
    all
}

/// The gradient of [`standardize`] from `g`, its result `y` and the inverse root `r`: `r (g - mean(g) - y mean(g
/// y))`.
pub fn standardize_gradient(op: &'static str, [g, y, r]: [&Array; 3]) -> Result<Array> {
    let (g, y, r) = (g.contiguous()?, y.contiguous()?, r.contiguous()?);
    let n = last(&y);
    dispatch!(y.dtype(), float T => {
        let [all_g, all_y, r] = [&g, &y, &r].map(|a| a.as_slice::<T>().expect("contiguous"));
        let count = T::lit(n as f64);
        output::build::<T>(op, y.dims(), n, |first, out| simd::autovectorize(
            #[inline(always)]
            || {
                let rows = each(&all_g[first * n..], n).zip(each(&all_y[first * n..], n));
                for (((g, y), out), &r) in rows.zip(each_mut(out, n)).zip(&r[first..]) {
                    let (along, middle) = sums([g, y], |[g, y]| (g.mul(y), g));
                    let (along, middle) = (along.div(count), middle.div(count));
                    let step = |g: T, y: T| r.mul(g.sub(middle).sub(y.mul(along)));
                    for part in interrupt::parts(0..n, 1) {
                        let pairs = g[part.clone()].iter().zip(&y[part.clone()]);
                        out[part].iter_mut().zip(pairs).for_each(|(o, (&g, &y))| *o = step(g, y));
                    }
                }
            },
        ))
    }, else not_defined(op, y.dtype()))
}
