//! Softmax and cross entropy along the last axis, with their gradients.

use super::exp::{exp_less, vectors};
use super::strided_axis::{self, StridedAxis};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::Result;
use crate::kernel::fast::Fast;
use crate::kernel::num::Real;
use crate::kernel::reduce::extreme::largest;
use crate::kernel::rows::{column, each, each_mut, last, not_defined, total};
use crate::kernel::{interrupt, output, simd};
use crate::stored::Stored;

/// The variants of the softmax.
#[derive(Clone, Copy, PartialEq, Eq, Stored)]
pub enum Softmax {
    /// `exp(x) / sum(exp(x))`.
    Plain,
    /// The softmax as weights of a log-sum-exp: 0 for a row of -inf, equal weights for elements that are inf.
    Weights,
    /// The logarithm of the softmax.
    Log,
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
    let mut sum = T::ZERO;
    let mut done = 0;
    for block in row.chunks(simd::BLOCK) {
        interrupt::count(&mut done, block.len());
        let exps = &mut exps[..block.len()];
        exp_less::<T, FAST>(block, m, exps);
        sum = sum.add(total(exps));
    }
    (m, sum.ln())
}

/// The softmax of every row.
pub fn softmax(op: &'static str, x: &Array, which: Softmax) -> Result<Array> {
    #[inline(always)]
    fn rows<T: Real, const FAST: bool>((which, n, x, out): (Softmax, usize, &[T], &mut [T]))
    where
        Fast<T>: Real,
    {
        for (x, out) in each(x, n).zip(each_mut(out, n)) {
            if which == Softmax::Log {
                let (m, rest) = log_sum_exp::<T, FAST>(x);
                let rest = if m.is_finite() { rest } else { T::lit(f64::NAN) };
                for part in interrupt::parts(0..n, 1) {
                    out[part.clone()].iter_mut().zip(&x[part]).for_each(|(o, &v)| *o = v.sub(m).sub(rest));
                }
                continue;
            }
            let m = largest(x);
            if which == Softmax::Weights && !m.is_finite() && !m.nan() {
                let hits = x.iter().filter(|&&v| v == T::INFINITY).count();
                let share = T::ONE.div(T::lit(hits as f64));
                let part = |&v: &T| if v == T::INFINITY { share } else { T::ZERO };
                out.iter_mut().zip(x).for_each(|(o, v)| *o = part(v));
                continue;
            }
            for part in interrupt::parts(0..n, 1) {
                exp_less::<T, FAST>(&x[part.clone()], m, &mut out[part]);
            }
            let share = T::ONE.div(total(out));
            for part in interrupt::parts(0..n, 1) {
                out[part].iter_mut().for_each(|o| *o = o.mul(share));
            }
        }
    }
    if let (Softmax::Plain | Softmax::Log, Some(layout)) = (which, StridedAxis::of(x)) {
        return strided_axis::softmax(op, &layout, x, which == Softmax::Log);
    }
    let x = x.contiguous()?;
    let n = last(&x);
    dispatch!(x.dtype(), float T => {
        let all = x.as_slice::<T>().expect("contiguous");
        output::build::<T>(op, x.dims(), n, |first, out| {
            let args = (which, n, &all[first * n..][..out.len()], out);
            vectors!(rows, T, args);
        })
    }, else not_defined(op, x.dtype()))
}

/// The gradient of the softmax from its result `z`: `z (g - Σ g z)` by row, or `g - exp(z) Σ g` for the logarithm.
pub fn softmax_gradient(op: &'static str, g: &Array, z: &Array, log: bool) -> Result<Array> {
    #[inline(always)]
    fn rows<T: Real, const FAST: bool>((log, n, g, z, out): (bool, usize, &[T], &[T], &mut [T]))
    where
        Fast<T>: Real,
    {
        for ((g, z), out) in each(g, n).zip(each(z, n)).zip(each_mut(out, n)) {
            if log {
                let sum = total(g);
                for part in interrupt::parts(0..n, 1) {
                    let out = &mut out[part.clone()];
                    exp_less::<T, FAST>(&z[part.clone()], T::ZERO, out);
                    out.iter_mut().zip(&g[part]).for_each(|(o, &g)| *o = g.sub(o.mul(sum)));
                }
                continue;
            }
            for part in interrupt::parts(0..n, 1) {
                let pairs = g[part.clone()].iter().zip(&z[part.clone()]);
                out[part].iter_mut().zip(pairs).for_each(|(o, (&g, &z))| *o = g.mul(z));
            }
            let sum = total(out);
            for part in interrupt::parts(0..n, 1) {
                let pairs = g[part.clone()].iter().zip(&z[part.clone()]);
                out[part].iter_mut().zip(pairs).for_each(|(o, (&g, &z))| *o = z.mul(g.sub(sum)));
            }
        }
    }
    if let Some(layout) = StridedAxis::of(z) {
        return strided_axis::gradient(op, &layout, g, z, log);
    }
    let (g, z) = (g.contiguous()?, z.contiguous()?);
    let n = last(&z);
    dispatch!(z.dtype(), float T => {
        let (all_g, all_z) = (g.as_slice::<T>().expect("contiguous"), z.as_slice::<T>().expect("contiguous"));
        output::build::<T>(op, z.dims(), n, |first, out| {
            let part = first * n..first * n + out.len();
            let args = (log, n, &all_g[part.clone()], &all_z[part], out);
            vectors!(rows, T, args);
        })
    }, else not_defined(op, z.dtype()))
}

/// The log-sum-exp of every row and, if classes are given, the cross entropy of each row (0 for a negative class).
/// The last axis keeps size 1.
///
/// # Panics
/// If a class is outside the row.
pub fn cross_entropy(op: &'static str, x: &Array, classes: Option<&Array>) -> Result<(Array, Array)> {
    #[inline(always)]
    fn rows<T: Real, const FAST: bool>((n, x, classes, lse, loss): (usize, &[T], &[i64], &mut [T], &mut [T]))
    where
        Fast<T>: Real,
    {
        for (b, lse) in lse.iter_mut().enumerate() {
            let row = &x[b * n..][..n];
            let (m, rest) = log_sum_exp::<T, FAST>(row);
            *lse = m.add(rest);
            if let Some(loss) = loss.get_mut(b) {
                let class = usize::try_from(classes[b]).ok();
                *loss = class.map_or(T::ZERO, |class| m.sub(row[class]).add(rest));
            }
        }
    }
    let (x, classes) = (x.contiguous()?, classes.map(Array::contiguous).transpose()?);
    let classes = classes.as_ref().map(|c| c.as_slice::<i64>().expect("contiguous"));
    let (n, dims) = (last(&x), column(&x));
    let of_loss = if classes.is_some() { (&dims[..], 1) } else { (&[0usize][..], 0) };
    dispatch!(x.dtype(), float T => {
        let all = x.as_slice::<T>().expect("contiguous");
        output::build_pair::<T, T>(op, (&dims, 1), of_loss, n, |first, lse, loss| {
            let part = first..first + lse.len();
            let classes = classes.map_or(&[][..], |c| &c[part.clone()]);
            let args = (n, &all[part.start * n..part.end * n], classes, lse, loss);
            vectors!(rows, T, args);
        })
    }, else not_defined(op, x.dtype()))
}

/// The gradient of [`cross_entropy`]: `g (exp(x - lse) - onehot(class))`, and zeros for a row with a negative class.
pub fn cross_entropy_gradient(op: &'static str, [g, x, lse, classes]: [&Array; 4]) -> Result<Array> {
    #[inline(always)]
    fn rows<T: Real, const FAST: bool>((n, [g, x, lse], classes, out): (usize, [&[T]; 3], &[i64], &mut [T]))
    where
        Fast<T>: Real,
    {
        for (b, (x, out)) in each(x, n).zip(each_mut(out, n)).enumerate() {
            let Ok(class) = usize::try_from(classes[b]) else {
                out.fill(T::ZERO);
                continue;
            };
            for part in interrupt::parts(0..n, 1) {
                let out = &mut out[part.clone()];
                exp_less::<T, FAST>(&x[part], lse[b], out);
                out.iter_mut().for_each(|o| *o = g[b].mul(*o));
            }
            out[class] = out[class].sub(g[b]);
        }
    }
    let (g, x, lse, classes) = (g.contiguous()?, x.contiguous()?, lse.contiguous()?, classes.contiguous()?);
    let (n, classes) = (last(&x), classes.as_slice::<i64>().expect("contiguous"));
    dispatch!(x.dtype(), float T => {
        let [g, all, lse] = [&g, &x, &lse].map(|a| a.as_slice::<T>().expect("contiguous"));
        output::build::<T>(op, x.dims(), n, |first, out| {
            let rows_of = [&g[first..], &all[first * n..][..out.len()], &lse[first..]];
            vectors!(rows, T, (n, rows_of, &classes[first..], out));
        })
    }, else not_defined(op, x.dtype()))
}
