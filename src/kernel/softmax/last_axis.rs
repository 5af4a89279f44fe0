//! Softmax and cross entropy along the last axis, with their gradients.

use super::exp::{exp_less, exp_of_rows, log_sum_exp_of_rows, vectors};
use super::strided_axis::{self, StridedAxis};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::Result;
use crate::kernel::fast::Fast;
use crate::kernel::num::Real;
use crate::kernel::reduce::extreme::largest;
use crate::kernel::rows::{column, each, each_mut, last, not_defined, total};
use crate::kernel::{interrupt, output};
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

/// The softmax of every row.
pub fn softmax(op: &'static str, x: &Array, which: Softmax) -> Result<Array> {
    #[inline(always)]
    fn rows<T: Real, const FAST: bool>((which, n, x, out): (Softmax, usize, &[T], &mut [T]))
    where
        Fast<T>: Real,
    {
        if which == Softmax::Log {
            return log_sum_exp_of_rows::<T, FAST>(n, x, |b, m, rest| {
                let rest = if m.is_finite() { rest } else { T::lit(f64::NAN) };
                for part in interrupt::parts(b * n..(b + 1) * n, 1) {
                    out[part.clone()].iter_mut().zip(&x[part]).for_each(|(o, &v)| *o = v.sub(m).sub(rest));
                }
            });
        }
        exp_of_rows::<T, FAST>(
            n,
            x,
            out,
            |_, row| largest(row),
            |b, m, out| {
                if !m.is_finite() && !m.nan() {
                    if which == Softmax::Plain {
                        out.fill(T::lit(f64::NAN));
                        return;
                    }
                    let x = &x[b * n..][..n];
                    let hits = x.iter().filter(|&&v| v == T::INFINITY).count();
                    let share = T::ONE.div(T::lit(hits as f64));
                    let part = |&v: &T| if v == T::INFINITY { share } else { T::ZERO };
                    out.iter_mut().zip(x).for_each(|(o, v)| *o = part(v));
                    return;
                }
                let share = T::ONE.div(total(out));
                for part in interrupt::parts(0..n, 1) {
                    out[part].iter_mut().for_each(|o| *o = o.mul(share));
                }
            },
        );
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
        if n == 0 {
            lse.fill(T::lit(f64::NEG_INFINITY));
        }
        log_sum_exp_of_rows::<T, FAST>(n, x, |b, m, rest| {
            lse[b] = m.add(rest);
            if let Some(loss) = loss.get_mut(b) {
                let class = usize::try_from(classes[b]).ok();
                *loss = class.map_or(T::ZERO, |class| m.sub(x[b * n + class]).add(rest));
            }
        });
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
        exp_of_rows::<T, FAST>(
            n,
            x,
            out,
            |b, _| lse[b],
            |b, _, out| {
                let Ok(class) = usize::try_from(classes[b]) else {
                    out.fill(T::ZERO);
                    return;
                };
                out.iter_mut().for_each(|o| *o = g[b].mul(*o));
                out[class] = out[class].sub(g[b]);
            },
        );
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
