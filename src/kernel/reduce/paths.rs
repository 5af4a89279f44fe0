//! Sums over paths through a row of states. In each step a path stays, moves by one state, or by two where that is
//! allowed. Scores are `[.., steps, states]`. Weights are `[.., steps, 3, states]`: those of arriving by a move of 0, 1
//! and 2 states.

use crate::array::Array;
use crate::dtype::{Bool8, dispatch};
use crate::error::{Result, bail};
use crate::kernel::num::Real;
use crate::kernel::output;
use crate::shape::Dims;

/// The logarithm of no probability. It is finite, so that differences are numbers.
const NEVER: f64 = -1e30;

/// A step of one state takes about as long as moving this many elements.
const COST: usize = 8;

/// The numbers of steps and states.
fn sizes(x: &Array) -> (usize, usize) {
    (x.dims()[x.rank() - 2], x.dims()[x.rank() - 1])
}

/// The scores of the states from which a path comes to `s` by a move of 0, 1 and 2 states.
#[inline(always)]
fn sources<T: Real>(last: &[T], skips: &[Bool8], s: usize) -> [T; 3] {
    let never = T::lit(NEVER);
    [
        last[s],
        if s > 0 { last[s - 1] } else { never },
        if s > 1 && skips[s].0 != 0 { last[s - 2] } else { never },
    ]
}

/// `out[t, s] = x[t, s] + ln Σ e^out[t-1, s']` over the states `s'` that lead to `s`, and not less than [`NEVER`]. A path
/// begins in one of the first two states.
pub fn scores(op: &'static str, skips: &Array, x: &Array) -> Result<Array> {
    fn go<T: Real>(op: &'static str, skips: &Array, x: &Array) -> Result<Array> {
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
                    for (s, now) in now.iter_mut().enumerate() {
                        let [a, b, c] = sources(last, skips, s);
                        let most = a.max(b).max(c);
                        let sum = a.sub(most).exp().add(b.sub(most).exp()).add(c.sub(most).exp());
                        *now = most.add(sum.ln()).add(x[t * states + s]).max(T::lit(NEVER));
                    }
                }
            }
        })
    }
    let (skips, x) = (skips.contiguous()?, x.contiguous()?);
    dispatch!(x.dtype(), float T => go::<T>(op, &skips, &x), else not_defined(op, &x))
}

/// The derivatives of the scores `y` of [`scores`] by those of the step before, as weights. Those of the first step are 0.
pub fn weights(op: &'static str, skips: &Array, x: &Array, y: &Array) -> Result<Array> {
    fn go<T: Real>(op: &'static str, skips: &Array, x: &Array, y: &Array) -> Result<Array> {
        let (steps, states) = sizes(x);
        let (all, skips) = (x.as_slice::<T>().expect("contiguous"), skips.as_slice().expect("contiguous"));
        let results = y.as_slice::<T>().expect("contiguous");
        let (size, never) = (steps * states, T::lit(NEVER / 2.0));
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
                    for s in 0..states {
                        for (move_, from) in sources(last, skips, s).into_iter().enumerate() {
                            let rise = x[t * states + s].sub(now[s]);
                            out[move_ * states + s] =
                                if from < never || now[s] < never { T::ZERO } else { from.add(rise).exp() };
                        }
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
