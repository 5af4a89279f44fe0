//! The element-wise part of a step of an LSTM, and its gradients. A row of gates has four parts as long as a row of the
//! cell: input, forget, cell and output.

use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::{Result, bail};
use crate::kernel::fast::Fast;
use crate::kernel::num::Real;
use crate::kernel::{output, simd};
use crate::shape::Dims;

/// Which gradient is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum By {
    Gates,
    Cell,
}

/// The output and the next cell.
#[inline(always)]
fn step<T: Real>([i, f, g, o]: [T; 4], c: T) -> [T; 2] {
    let next = f.sigmoid().mul(c).add(i.sigmoid().mul(g.tanh()));
    [o.sigmoid().mul(next.tanh()), next]
}

/// The gradients by the four gates and by the cell, from those of the output and the next cell.
#[inline(always)]
fn step_back<T: Real>([i, f, g, o]: [T; 4], [c, next, by_h, by_next]: [T; 4]) -> [T; 5] {
    let (i, f, g, o, t) = (i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid(), next.tanh());
    let slope = |s: T| s.mul(T::ONE.sub(s));
    let by_next = by_next.add(by_h.mul(o).mul(T::ONE.sub(t.mul(t))));
    [
        by_next.mul(g).mul(slope(i)),
        by_next.mul(c).mul(slope(f)),
        by_next.mul(i).mul(T::ONE.sub(g.mul(g))),
        by_h.mul(t).mul(slope(o)),
        by_next.mul(f),
    ]
}

/// The four parts of a row of gates.
#[inline(always)]
fn parts<T>(gates: &[T], n: usize) -> [&[T]; 4] {
    let (front, back) = gates.split_at(2 * n);
    let ((i, f), (g, o)) = (front.split_at(n), back.split_at(n));
    [i, f, &g[..n], &o[..n]]
}

/// Rows of gates and of the cell; the rows of the output and of the next cell are written. `FAST` is only for callers that
/// are compiled for vectors.
#[inline(always)]
fn forward<T: Real, const FAST: bool>(n: usize, gates: &[T], c: &[T], h: &mut [T], next: &mut [T])
where
    Fast<T>: Real,
{
    let rows = gates.chunks_exact(4 * n).zip(c.chunks_exact(n));
    for ((gates, c), (h, next)) in rows.zip(h.chunks_exact_mut(n).zip(next.chunks_exact_mut(n))) {
        let [i, f, g, o] = parts(gates, n);
        let mut sure = FAST;
        if FAST {
            for j in 0..n {
                let gates = [Fast(i[j]), Fast(f[j]), Fast(g[j]), Fast(o[j])];
                let [y, d] = step(gates, Fast(c[j]));
                (h[j], next[j]) = (y.0, d.0);
                sure &= !(y.0.nan() | d.0.nan());
            }
        }
        if !sure {
            for j in 0..n {
                if !FAST || h[j].nan() || next[j].nan() {
                    [h[j], next[j]] = step([i[j], f[j], g[j], o[j]], c[j]);
                }
            }
        }
    }
}

/// The output and the next cell.
pub fn lstm(op: &'static str, gates: &Array, c: &Array) -> Result<(Array, Array)> {
    let (gates, c) = (gates.contiguous()?, c.contiguous()?);
    let n = c.dims()[c.rank() - 1];
    dispatch!(c.dtype(), float T => {
        let (gates, all) = (gates.as_slice::<T>().expect("contiguous"), c.as_slice::<T>().expect("contiguous"));
        output::build_pair::<T, T>(op, (c.dims(), n), (c.dims(), n), 16 * n, |first, h, next| {
            if n == 0 {
                return;
            }
            let (gates, c) = (&gates[4 * first * n..][..4 * h.len()], &all[first * n..][..h.len()]);
            simd::multiversion_with(
                (h, next),
                #[inline(always)]
                |(h, next)| forward::<T, false>(n, gates, c, h, next),
                #[inline(always)]
                |(h, next)| forward::<T, true>(n, gates, c, h, next),
            );
        })
    }, else bail!(Dtype, op, "not defined for {}", c.dtype()))
}

/// A gradient by [`lstm`]'s gates or cell from both, the next cell, and the gradients of the output and the next cell.
pub fn lstm_gradient(op: &'static str, by: By, ins: [&Array; 5]) -> Result<Array> {
    let [gates, c, next, by_h, by_next] = ins;
    let (gates, c, next) = (gates.contiguous()?, c.contiguous()?, next.contiguous()?);
    let (by_h, by_next) = (by_h.contiguous()?, by_next.contiguous()?);
    let n = c.dims()[c.rank() - 1];
    let size = if by == By::Gates { 4 * n } else { n };
    let mut dims: Dims = c.dims().into();
    *dims.last_mut().expect("rows have an axis") = size;
    dispatch!(c.dtype(), float T => {
        let gates = gates.as_slice::<T>().expect("contiguous");
        let rest = [&c, &next, &by_h, &by_next].map(|a| a.as_slice::<T>().expect("contiguous"));
        output::build_from::<T>(op, &dims, size, 24 * n, |first, out| {
            if n == 0 {
                return;
            }
            simd::multiversion_with(
                out,
                #[inline(always)]
                |out| backward::<T, false>(by, n, first, gates, rest, out),
                #[inline(always)]
                |out| backward::<T, true>(by, n, first, gates, rest, out),
            );
        })
    }, else bail!(Dtype, op, "not defined for {}", c.dtype()))
}

/// As [`forward`], for the gradients of rows from the first one on.
#[inline(always)]
fn backward<T: Real, const FAST: bool>(
    by: By,
    n: usize,
    first: usize,
    gates: &[T],
    rest: [&[T]; 4],
    out: &mut [T],
) where
    Fast<T>: Real,
{
    let size = if by == By::Gates { 4 * n } else { n };
    for (row, out) in (first..).zip(out.chunks_exact_mut(size)) {
        let [i, f, g, o] = parts(&gates[4 * row * n..][..4 * n], n);
        let [c, next, by_h, by_next] = rest.map(
            #[inline(always)]
            |all| &all[row * n..][..n],
        );
        for j in 0..n {
            let (gates, rest) = ([i[j], f[j], g[j], o[j]], [c[j], next[j], by_h[j], by_next[j]]);
            let found = if FAST {
                step_back(gates.map(Fast), rest.map(Fast)).map(|v| v.0)
            } else {
                step_back(gates, rest)
            };
            if by == By::Gates {
                for (part, &v) in found[..4].iter().enumerate() {
                    out[part * n + j] = v;
                }
            } else {
                out[j] = found[4];
            }
        }
        let unsure = |out: &[T]| FAST && out.iter().any(|v| v.nan());
        if unsure(out) {
            for j in 0..n {
                let exact = step_back([i[j], f[j], g[j], o[j]], [c[j], next[j], by_h[j], by_next[j]]);
                let exact = if by == By::Gates { &exact[..4] } else { &exact[4..] };
                for (part, &v) in exact.iter().enumerate() {
                    let out = &mut out[part * n + j];
                    if out.nan() {
                        *out = v;
                    }
                }
            }
        }
    }
}
