//! Whole rows (the last axis) at a time: softmax and its relatives, and the standardised row.

use super::fast::Fast;
use super::num::{Num, Real};
use super::reduce::pairwise;
use super::{chunks, map, simd};
use crate::array::Array;
use crate::dtype::{DType, dispatch};
use crate::error::{Result, bail};
use crate::shape::Dims;

/// What is computed of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Softmax {
    /// `exp(x) / sum(exp(x))`.
    Plain,
    /// The same as weights of a log-sum-exp: 0 for a row of -inf, equal parts for all inf.
    Weights,
    /// Its logarithm.
    Log,
}

fn largest<T: Real>(x: &[T]) -> T {
    pairwise(T::lit(f64::NEG_INFINITY), |v| v, |a, b| a.max(b), x)
}

fn total<T: Real>(x: &[T]) -> T {
    pairwise(T::ZERO, |v| v, |a, b| a.add(b), x)
}

/// `exp(x - m)`, element by element.
fn exp_less<T: Real>(x: &[T], m: T, out: &mut [T])
where
    Fast<T>: Real,
{
    assert_eq!(x.len(), out.len());
    // SAFETY: both slices have so many elements.
    unsafe {
        map::run_float(
            #[inline(always)]
            move |v: T| v.sub(m).exp(),
            #[inline(always)]
            move |v: Fast<T>| v.sub(Fast(m)).exp(),
            x.len(),
            x.as_ptr().cast(),
            out.as_mut_ptr().cast(),
        );
    }
}

/// The largest element of a row, and log(sum(exp(row))) less that.
fn log_sum_exp<T: Real>(row: &[T]) -> (T, T)
where
    Fast<T>: Real,
{
    let m = largest(row);
    if !m.is_finite() {
        return (m, T::ZERO);
    }
    let mut exps = [T::ZERO; simd::BLOCK];
    let mut sum = T::ZERO;
    for block in row.chunks(simd::BLOCK) {
        let exps = &mut exps[..block.len()];
        exp_less(block, m, exps);
        sum = sum.add(total(exps));
    }
    (m, sum.ln())
}

/// The softmax of every row.
pub fn softmax(op: &'static str, x: &Array, which: Softmax) -> Result<Array> {
    fn row<T: Real>(which: Softmax, x: &[T], out: &mut [T])
    where
        Fast<T>: Real,
    {
        let m = largest(x);
        if which == Softmax::Weights && !m.is_finite() && !m.nan() {
            let hits = x.iter().filter(|&&v| v == T::INFINITY).count();
            let share = T::ONE.div(T::lit(hits as f64));
            out.iter_mut().zip(x).for_each(|(o, &v)| *o = if v == T::INFINITY { share } else { T::ZERO });
            return;
        }
        if which == Softmax::Log {
            let rest = if m.is_finite() { log_sum_exp(x).1 } else { T::lit(f64::NAN) };
            out.iter_mut().zip(x).for_each(|(o, &v)| *o = v.sub(m).sub(rest));
            return;
        }
        exp_less(x, m, out);
        let sum = total(out);
        out.iter_mut().for_each(|o| *o = o.div(sum));
    }
    let x = x.contiguous()?;
    let n = last(&x);
    dispatch!(x.dtype(), float T => {
        let all = x.as_slice::<T>().expect("contiguous");
        chunks::build::<T>(op, x.dims(), n, |first, out| {
            for (b, out) in (first..).zip(out.chunks_exact_mut(n.max(1))) {
                row(which, &all[b * n..][..n], out);
            }
        })
    }, else not_defined(op, x.dtype()))
}

/// The gradient of the softmax: `z * (g - sum(g * z))` by row, for the logarithm `g - exp(z) * sum(g)`.
pub fn softmax_gradient(op: &'static str, g: &Array, z: &Array, log: bool) -> Result<Array> {
    fn row<T: Real>(log: bool, g: &[T], z: &[T], out: &mut [T])
    where
        Fast<T>: Real,
    {
        if log {
            let sum = total(g);
            exp_less(z, T::ZERO, out);
            out.iter_mut().zip(g).for_each(|(o, &g)| *o = g.sub(o.mul(sum)));
            return;
        }
        out.iter_mut().zip(g.iter().zip(z)).for_each(|(o, (&g, &z))| *o = g.mul(z));
        let sum = total(out);
        out.iter_mut().zip(g.iter().zip(z)).for_each(|(o, (&g, &z))| *o = z.mul(g.sub(sum)));
    }
    let (g, z) = (g.contiguous()?, z.contiguous()?);
    let n = last(&z);
    dispatch!(z.dtype(), float T => {
        let (all_g, all_z) = (g.as_slice::<T>().expect("contiguous"), z.as_slice::<T>().expect("contiguous"));
        chunks::build::<T>(op, z.dims(), n, |first, out| {
            for (b, out) in (first..).zip(out.chunks_exact_mut(n.max(1))) {
                row(log, &all_g[b * n..][..n], &all_z[b * n..][..n], out);
            }
        })
    }, else not_defined(op, z.dtype()))
}

/// log(sum(exp(x))) of every row; the last axis stays with size 1.
pub fn logsumexp(op: &'static str, x: &Array) -> Result<Array> {
    fn go<T: Real>(op: &'static str, x: &Array) -> Result<Array>
    where
        Fast<T>: Real,
    {
        let (n, all) = (last(x), x.as_slice::<T>().expect("contiguous"));
        chunks::build::<T>(op, &column(x), 1, |first, out| {
            for (b, out) in (first..).zip(out) {
                let (m, rest) = log_sum_exp(&all[b * n..][..n]);
                *out = m.add(rest);
            }
        })
    }
    let x = x.contiguous()?;
    dispatch!(x.dtype(), float T => go::<T>(op, &x), else not_defined(op, x.dtype()))
}

/// The cross entropy of every row with the class named for it (none: 0), and the row's log-sum-exp. The last axis
/// stays with size 1.
///
/// # Panics
/// When a class is outside the row.
pub fn cross_entropy(op: &'static str, x: &Array, classes: &Array) -> Result<(Array, Array)> {
    fn go<T: Real>(op: &'static str, x: &Array, classes: &[i64]) -> Result<(Array, Array)>
    where
        Fast<T>: Real,
    {
        let (n, dims, all) = (last(x), column(x), x.as_slice::<T>().expect("contiguous"));
        chunks::build_two::<T, T>(op, (&dims, 1), (&dims, 1), |first, loss, lse| {
            for (b, (loss, lse)) in (first..).zip(loss.iter_mut().zip(lse)) {
                let row = &all[b * n..][..n];
                let (m, rest) = log_sum_exp(row);
                *lse = m.add(rest);
                let class = usize::try_from(classes[b]).ok();
                *loss = class.map_or(T::ZERO, |class| m.sub(row[class]).add(rest));
            }
        })
    }
    let (x, classes) = (x.contiguous()?, classes.contiguous()?);
    let classes = classes.as_slice::<i64>().expect("contiguous");
    dispatch!(x.dtype(), float T => go::<T>(op, &x, classes), else not_defined(op, x.dtype()))
}

/// The gradient of [`cross_entropy`]: `g * (exp(x - lse) - [the class])`, zeros for a row without class.
pub fn cross_entropy_gradient(op: &'static str, [g, x, lse, classes]: [&Array; 4]) -> Result<Array> {
    fn go<T: Real>(op: &'static str, [g, x, lse]: [&Array; 3], classes: &[i64]) -> Result<Array>
    where
        Fast<T>: Real,
    {
        let (n, all) = (last(x), x.as_slice::<T>().expect("contiguous"));
        let (g, lse) = (g.as_slice::<T>().expect("contiguous"), lse.as_slice::<T>().expect("contiguous"));
        chunks::build::<T>(op, x.dims(), n, |first, out| {
            for (b, out) in (first..).zip(out.chunks_exact_mut(n.max(1))) {
                let row = &all[b * n..][..n];
                if classes[b] < 0 {
                    out.fill(T::ZERO);
                    continue;
                }
                exp_less(row, lse[b], out);
                out.iter_mut().for_each(|o| *o = g[b].mul(*o));
                let hit = &mut out[classes[b] as usize];
                *hit = (*hit).sub(g[b]);
            }
        })
    }
    let (g, x, lse, classes) = (g.contiguous()?, x.contiguous()?, lse.contiguous()?, classes.contiguous()?);
    let classes = classes.as_slice::<i64>().expect("contiguous");
    dispatch!(x.dtype(), float T => go::<T>(op, [&g, &x, &lse], classes), else not_defined(op, x.dtype()))
}

/// Every row less its mean, over the root of its mean square plus `eps`; and one over that root, with the last axis of
/// size 1.
pub fn standardize(op: &'static str, x: &Array, eps: f64) -> Result<(Array, Array)> {
    fn go<T: Real>(op: &'static str, x: &Array, eps: f64) -> Result<(Array, Array)> {
        let (n, all) = (last(x), x.as_slice::<T>().expect("contiguous"));
        let count = T::lit(n as f64);
        chunks::build_two::<T, T>(op, (x.dims(), n), (&column(x), 1), |first, out, scale| {
            for (b, (out, scale)) in (first..).zip(out.chunks_exact_mut(n.max(1)).zip(scale)) {
                let row = &all[b * n..][..n];
                let mean = total(row).div(count);
                out.iter_mut().zip(row).for_each(|(o, &v)| *o = v.sub(mean));
                let square = pairwise(T::ZERO, |v: T| v.mul(v), |a, b| a.add(b), out).div(count);
                *scale = T::ONE.div(square.add(T::lit(eps)).sqrt());
                out.iter_mut().for_each(|o| *o = o.mul(*scale));
            }
        })
    }
    let x = x.contiguous()?;
    dispatch!(x.dtype(), float T => go::<T>(op, &x, eps), else not_defined(op, x.dtype()))
}

/// The size of the last axis.
fn last(x: &Array) -> usize {
    *x.dims().last().expect("rows have an axis")
}

/// The shape with the last axis of size 1.
fn column(x: &Array) -> Dims {
    let mut dims = Dims::from_slice(x.dims());
    *dims.last_mut().expect("rows have an axis") = 1;
    dims
}

fn not_defined<T>(op: &'static str, dtype: DType) -> Result<T> {
    bail!(Dtype, op, "not defined for {dtype}")
}
