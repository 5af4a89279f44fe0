//! Sums over paths through a row of states. In each step a path stays, moves by one state, or by two where that is
//! allowed. Scores are `[.., steps, states]`. Weights are `[.., steps, 3, states]`: those of arriving by a move of 0, 1
//! and 2 states.

use std::cell::Cell;

use crate::array::Array;
use crate::dtype::{Bool8, dispatch};
use crate::error::{Result, bail};
use crate::kernel::fast::Fast;
use crate::kernel::num::{Analytic, Real};
use crate::kernel::{output, simd};
use crate::shape::Dims;

/// The logarithm of no probability. It is finite, so that differences are numbers.
const NEVER: f64 = -1e30;

/// A step of one state takes about as long as moving this many elements.
const COST: usize = 8;

/// The numbers of steps and states.
fn sizes(x: &Array) -> (usize, usize) {
    (x.dims()[x.rank() - 2], x.dims()[x.rank() - 1])
}

/// The score of a state from those of its sources.
#[inline(always)]
fn joined<T: Real>(a: T, b: T, c: T, x: T, never: T) -> T {
    let most = a.max(b).max(c);
    let sum = a.sub(most).exp().add(b.sub(most).exp()).add(c.sub(most).exp());
    most.add(sum.ln()).add(x).max(never)
}

/// [`joined`] for all states but the first two, of which `last` alone has the scores.
#[inline(never)]
fn join<T: Real>(last: &[T], skips: &[Bool8], x: &[T], now: &mut [T])
where
    Fast<T>: Real,
{
    #[inline(always)]
    fn go<T: Real, R: Real>(
        of: impl Fn(T) -> R,
        back: impl Fn(R) -> T,
        last: &[T],
        skips: &[Bool8],
        x: &[T],
        now: &mut [T],
    ) {
        let n = now.len();
        let (a, b, c, skips, x) = (&last[2..][..n], &last[1..][..n], &last[..n], &skips[..n], &x[..n]);
        for s in 0..n {
            let c = if skips[s].0 != 0 { c[s] } else { T::lit(NEVER) };
            now[s] = back(joined(of(a[s]), of(b[s]), of(c), of(x[s]), R::lit(NEVER)));
        }
    }
    if now.is_empty() {
        return;
    }
    let now = Cell::new(now);
    simd::multiversion_if_wide_for::<false, Fast<T>, ()>(
        #[inline(always)]
        || go(|v| v, |v| v, last, skips, x, now.take()),
        #[inline(always)]
        || go(Fast, |v: Fast<T>| v.0, last, skips, x, now.take()),
    );
}

/// `out[t, s] = x[t, s] + ln Σ e^out[t-1, s']` over the states `s'` that lead to `s`, and not less than [`NEVER`]. A path
/// begins in one of the first two states.
pub fn scores(op: &'static str, skips: &Array, x: &Array) -> Result<Array> {
    fn go<T: Real>(op: &'static str, skips: &Array, x: &Array) -> Result<Array>
    where
        Fast<T>: Real,
    {
        let (steps, states) = sizes(x);
        let size = steps * states;
        let (all, skips) = (x.as_slice::<T>().expect("contiguous"), skips.as_slice().expect("contiguous"));
        output::build_from::<T>(op, x.dims(), size, size * COST, |first, out| {
            for (row, out) in (first..).zip(out.chunks_exact_mut(size.max(1))) {
                let (x, skips) = (&all[row * size..][..size], &skips[row * states..][..states]);
                for s in 0..states {
                    out[s] = if s < 2 { x[s].max(T::lit(NEVER)) } else { T::lit(NEVER) };
                }
                for t in 1..steps {
                    let (last, now) = out[(t - 1) * states..][..2 * states].split_at_mut(states);
                    let x = &x[t * states..][..states];
                    let first = states.min(2);
                    let never = T::lit(NEVER);
                    let start = [never, never, last[0], last[first - 1]];
                    join(&start, &skips[..first], &x[..first], &mut now[..first]);
                    join(last, &skips[first..], &x[first..], &mut now[first..]);
                }
            }
        })
    }
    let (skips, x) = (skips.contiguous()?, x.contiguous()?);
    dispatch!(x.dtype(), float T => go::<T>(op, &skips, &x), else not_defined(op, &x))
}

/// The weights of arriving at states with the scores `now` from others, one by one, or none where a skip is not allowed.
#[inline(never)]
fn arrive<T: Real>(last: &[T], skips: Option<&[Bool8]>, x: &[T], now: &[T], out: &mut [T])
where
    Fast<T>: Real,
{
    #[inline(always)]
    fn go<T: Real>(exp: impl Fn(T) -> T, last: &[T], x: &[T], now: &[T], out: &mut [T]) {
        let (n, never) = (out.len(), T::lit(NEVER / 2.0));
        let (last, x, now) = (&last[..n], &x[..n], &now[..n]);
        for s in 0..n {
            let weight = exp(last[s].add(x[s].sub(now[s])));
            out[s] = if last[s] < never || now[s] < never { T::ZERO } else { weight };
        }
    }
    let all = Cell::new(&mut *out);
    simd::multiversion_if_wide_for::<false, Fast<T>, ()>(
        #[inline(always)]
        || go(|v: T| v.exp(), last, x, now, all.take()),
        #[inline(always)]
        || go(|v| Fast(v).exp().0, last, x, now, all.take()),
    );
    for (out, skips) in out.iter_mut().zip(skips.unwrap_or_default()) {
        *out = if skips.0 != 0 { *out } else { T::ZERO };
    }
}

/// The derivatives of the scores `y` of [`scores`] by those of the step before, as weights. Those of the first step are 0.
pub fn weights(op: &'static str, skips: &Array, x: &Array, y: &Array) -> Result<Array> {
    fn go<T: Real>(op: &'static str, skips: &Array, x: &Array, y: &Array) -> Result<Array>
    where
        Fast<T>: Real,
    {
        let (steps, states) = sizes(x);
        let (all, skips) = (x.as_slice::<T>().expect("contiguous"), skips.as_slice().expect("contiguous"));
        let results = y.as_slice::<T>().expect("contiguous");
        let size = steps * states;
        let mut dims = Dims::from_slice(x.dims());
        dims.insert(x.rank() - 1, 3);
        output::build_from::<T>(op, &dims, 3 * size, size * COST, |first, out| {
            for (row, out) in (first..).zip(out.chunks_exact_mut((3 * size).max(1))) {
                let (x, skips) = (&all[row * size..][..size], &skips[row * states..][..states]);
                let y = &results[row * size..][..size];
                out[..3 * states.min(size)].fill(T::ZERO);
                for t in 1..steps {
                    let (last, now) = y[(t - 1) * states..][..2 * states].split_at(states);
                    let out = &mut out[3 * t * states..][..3 * states];
                    let x = &x[t * states..][..states];
                    for (move_, out) in out.chunks_exact_mut(states.max(1)).enumerate() {
                        let first = states.min(move_);
                        out[..first].fill(T::ZERO);
                        let skips = (move_ == 2).then_some(&skips[first..]);
                        arrive(last, skips, &x[first..], &now[first..], &mut out[first..]);
                    }
                }
            }
        })
    }
    let (skips, x, y) = (skips.contiguous()?, x.contiguous()?, y.contiguous()?);
    dispatch!(x.dtype(), float T => go::<T>(op, &skips, &x, &y), else not_defined(op, &x))
}

/// `out[t, s] = x[t, s] + Σ w[t, d, s] out[t-1, s-d]` over the moves `d`, or the transposed: from the last step on, with
/// `w[t+1, d, s+d] out[t+1, s+d]`.
pub fn flow(op: &'static str, w: &Array, x: &Array, transposed: bool) -> Result<Array> {
    fn go<T: Real>(op: &'static str, w: &Array, x: &Array, transposed: bool) -> Result<Array> {
        let (steps, states) = sizes(x);
        let size = steps * states;
        let (weights, all) = (w.as_slice::<T>().expect("contiguous"), x.as_slice::<T>().expect("contiguous"));
        output::build_from::<T>(op, x.dims(), size, size * COST, |first, out| {
            for (row, out) in (first..).zip(out.chunks_exact_mut(size.max(1))) {
                let w = &weights[3 * row * size..][..3 * size];
                out.copy_from_slice(&all[row * size..][..size]);
                for step in 1..steps {
                    // Step `t` is reached from the one before it.
                    let t = if transposed { steps - step } else { step };
                    let (before, after) = out[(t - 1) * states..][..2 * states].split_at_mut(states);
                    for d in 0..3.min(states) {
                        let w = &w[(3 * t + d) * states + d..][..states - d];
                        let (before, after) = (&mut before[..states - d], &mut after[d..]);
                        let (to, from) = if transposed { (before, after) } else { (after, before) };
                        for ((to, &w), &from) in to.iter_mut().zip(w).zip(&*from) {
                            *to = to.add(w.mul(from));
                        }
                    }
                }
            }
        })
    }
    let (w, x) = (w.contiguous()?, x.contiguous()?);
    dispatch!(x.dtype(), float T => go::<T>(op, &w, &x, transposed), else not_defined(op, &x))
}

fn not_defined(op: &'static str, x: &Array) -> Result<Array> {
    bail!(Dtype, op, "not defined for {}", x.dtype())
}
