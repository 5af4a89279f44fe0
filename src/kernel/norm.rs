//! The standardised row (the last axis) and its gradient, alone and scaled and shifted by channels.

use super::along::all_lanes;
use super::fold::pairwise;
use super::num::{Num, Plain, Real};
use super::rows::{column, each, each_mut, last, not_defined, total};
use super::{chunks, simd};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::Result;
use crate::shape::{self, Dims};

/// Every row less its mean, over the root of its mean square plus `eps`; and one over that root, with the last axis of
/// size 1.
pub fn standardize(op: &'static str, x: &Array, eps: f64) -> Result<(Array, Array)> {
    let x = x.contiguous()?;
    let n = last(&x);
    dispatch!(x.dtype(), float T => {
        let (all, count) = (x.as_slice::<T>().expect("contiguous"), T::lit(n as f64));
        chunks::build_two::<T, T>(op, (x.dims(), n), (&column(&x), 1), n, |first, out, scale| simd::same(
            #[inline(always)]
            || {
                let rows = each(&all[first * n..], n).zip(each_mut(out, n));
                for ((row, out), scale) in rows.zip(scale) {
                    let mean = total(row).div(count);
                    out.iter_mut().zip(row).for_each(|(o, &v)| *o = v.sub(mean));
                    let square = pairwise(T::ZERO, |v: T| v.mul(v), |a, b| a.add(b), out).div(count);
                    *scale = T::ONE.div(square.add(T::lit(eps)).sqrt());
                    out.iter_mut().for_each(|o| *o = o.mul(*scale));
                }
            },
        ))
    }, else not_defined(op, x.dtype()))
}

/// The gradient of [`standardize`], from `g`, its result `y` and one over the root: `r (g - mean(g) - y mean(g y))`.
pub fn standardize_gradient(op: &'static str, [g, y, r]: [&Array; 3]) -> Result<Array> {
    let (g, y, r) = (g.contiguous()?, y.contiguous()?, r.contiguous()?);
    let n = last(&y);
    dispatch!(y.dtype(), float T => {
        let [all_g, all_y, r] = [&g, &y, &r].map(|a| a.as_slice::<T>().expect("contiguous"));
        let count = T::lit(n as f64);
        chunks::build::<T>(op, y.dims(), n, |first, out| simd::same(
            #[inline(always)]
            || {
                let rows = each(&all_g[first * n..], n).zip(each(&all_y[first * n..], n));
                for (((g, y), out), &r) in rows.zip(each_mut(out, n)).zip(&r[first..]) {
                    let mean = total(g).div(count);
                    out.iter_mut().zip(g.iter().zip(y)).for_each(|(o, (&g, &y))| *o = g.mul(y));
                    let along = total(out).div(count);
                    let step = |g: T, y: T| r.mul(g.sub(mean).sub(y.mul(along)));
                    out.iter_mut().zip(g.iter().zip(y)).for_each(|(o, (&g, &y))| *o = step(g, y));
                }
            },
        ))
    }, else not_defined(op, y.dtype()))
}

/// Which channel an element belongs to: those of row `r` to the `own` channels of group `r % groups`, `width` of them
/// that lie one after another to each.
#[derive(Clone, Copy)]
pub struct Channels {
    pub groups: usize,
    pub own: usize,
    pub width: usize,
}

/// [`Channels`] of rows of `n` elements, `rows` of them in each lane, every one of which has its own `count` channels.
struct Plan {
    channels: Channels,
    n: usize,
    rows: usize,
    count: usize,
}

impl Plan {
    fn new(channels: Channels, x: &Array, lanes: usize) -> Plan {
        let n = last(x);
        let rows = shape::len(&x.dims()[lanes..x.rank() - 1]);
        Plan { channels, n, rows, count: channels.groups * channels.own }
    }

    /// The channels of row `r` of all lanes, in a list of those of all lanes.
    #[inline(always)]
    fn of<'a, T>(&self, all: &'a [T], r: usize) -> &'a [T] {
        let own = self.channels.own;
        &all[r / self.rows * self.count + r % self.channels.groups * own..][..own]
    }
}

/// Writes `f` of each element of a row, of those of two other rows beside it, and of two numbers of its channel.
#[inline(always)]
fn by_channel<T: Copy>(
    width: usize,
    (w, b): (&[T], &[T]),
    (p, q): (&[T], &[T]),
    out: &mut [T],
    f: impl Fn(T, (T, T), (T, T)) -> T,
) {
    if width == 1 {
        let all = out.iter_mut().zip(w.iter().zip(b)).zip(p.iter().zip(q));
        return all.for_each(|((o, (&w, &b)), (&p, &q))| *o = f(*o, (w, b), (p, q)));
    }
    let runs = out.chunks_exact_mut(width).zip(p.chunks_exact(width).zip(q.chunks_exact(width)));
    for ((out, (p, q)), (&w, &b)) in runs.zip(w.iter().zip(b)) {
        out.iter_mut().zip(p.iter().zip(q)).for_each(|(o, (&p, &q))| *o = f(*o, (w, b), (p, q)));
    }
}

/// `y w + b` of every standardised row `y`, and its mean and one over the root, which stand side by side.
pub fn scaled(
    op: &'static str,
    [x, w, b]: [&Array; 3],
    eps: f64,
    channels: Channels,
    lanes: usize,
) -> Result<(Array, Array)> {
    let [x, w, b] = all_lanes([x, w, b], lanes);
    let (x, w, b) = (x.contiguous()?, w.contiguous()?, b.contiguous()?);
    let (n, plan) = (last(&x), Plan::new(channels, &x, lanes));
    let mut stats = column(&x);
    *stats.last_mut().expect("rows have an axis") = 2;
    dispatch!(x.dtype(), float T => {
        let [all, w, b] = [&x, &w, &b].map(|a| a.as_slice::<T>().expect("contiguous"));
        let count = T::lit(n as f64);
        chunks::build_two::<T, T>(op, (x.dims(), n), (&stats, 2), n, |first, out, stats| simd::same(
            #[inline(always)]
            || {
                let rows = each(&all[first * n..], n).zip(each_mut(out, n)).zip(each_mut(stats, 2));
                for (r, ((row, out), stats)) in (first..).zip(rows) {
                    let (w, b) = (plan.of(w, r), plan.of(b, r));
                    let mean = total(row).div(count);
                    out.iter_mut().zip(row).for_each(|(o, &v)| *o = v.sub(mean));
                    let square = pairwise(T::ZERO, |v: T| v.mul(v), |a, b| a.add(b), out).div(count);
                    let scale = T::ONE.div(square.add(T::lit(eps)).sqrt());
                    (stats[0], stats[1]) = (mean, scale);
                    by_channel(channels.width, (w, b), (row, row), out, |v, (w, b), _| v.mul(scale).mul(w).add(b));
                }
            },
        ))
    }, else not_defined(op, x.dtype()))
}

/// The gradient of [`scaled`] by `x`, from `g`, `x`, the weights and what stands beside the rows.
pub fn scaled_gradient(
    op: &'static str,
    [g, x, w, stats]: [&Array; 4],
    channels: Channels,
    lanes: usize,
) -> Result<Array> {
    let [g, x, w, stats] = all_lanes([g, x, w, stats], lanes);
    let (g, x, w, stats) = (g.contiguous()?, x.contiguous()?, w.contiguous()?, stats.contiguous()?);
    let (n, plan) = (last(&x), Plan::new(channels, &x, lanes));
    dispatch!(x.dtype(), float T => {
        let [g, all, w, stats] = [&g, &x, &w, &stats].map(|a| a.as_slice::<T>().expect("contiguous"));
        let count = T::lit(n as f64);
        chunks::build::<T>(op, x.dims(), n, |first, out| simd::same(
            #[inline(always)]
            || {
                let rows = each(&g[first * n..], n).zip(each(&all[first * n..], n)).zip(each_mut(out, n));
                for (r, ((g, x), out)) in (first..).zip(rows) {
                    let (w, mean, scale) = (plan.of(w, r), stats[2 * r], stats[2 * r + 1]);
                    let y = |x: T| x.sub(mean).mul(scale);
                    by_channel(channels.width, (w, w), (g, x), out, |_, (w, _), (g, _)| g.mul(w));
                    let middle = total(out).div(count);
                    out.iter_mut().zip(x).for_each(|(o, &x)| *o = o.mul(y(x)));
                    let along = total(out).div(count);
                    by_channel(channels.width, (w, w), (g, x), out, |_, (w, _), (g, x)| {
                        scale.mul(g.mul(w).sub(middle).sub(y(x).mul(along)))
                    });
                }
            },
        ))
    }, else not_defined(op, x.dtype()))
}

/// Channels, or elements of one, whose sums are made at once.
const PART: usize = 128;
/// Rows that are summed before their sum is added to the others.
const ROWS: usize = 64;

/// The gradients of [`scaled`] by the weights and by the shifts: the sums of `g y` and of `g` over each channel.
pub fn channel_sums(
    op: &'static str,
    [g, x, stats]: [&Array; 3],
    channels: Channels,
    lanes: usize,
) -> Result<(Array, Array)> {
    #[inline(always)]
    fn columns<T: Real>(
        plan: &Plan,
        [g, x, stats]: [&[T]; 3],
        at: (usize, usize),
        dw: &mut [T],
        db: &mut [T],
    ) {
        let ((row, column), n, width) = (at, plan.n, dw.len());
        dw.fill(T::ZERO);
        db.fill(T::ZERO);
        for block in (row..row + plan.rows).step_by(ROWS) {
            let (mut a, mut b) = ([T::ZERO; PART], [T::ZERO; PART]);
            for r in block..(block + ROWS).min(row + plan.rows) {
                let (mean, scale) = (stats[2 * r], stats[2 * r + 1]);
                let (g, x) = (&g[r * n + column..][..width], &x[r * n + column..][..width]);
                for i in 0..width {
                    a[i] = a[i].add(g[i].mul(x[i].sub(mean).mul(scale)));
                    b[i] = b[i].add(g[i]);
                }
            }
            dw.iter_mut().zip(&a).for_each(|(s, &v)| *s = s.add(v));
            db.iter_mut().zip(&b).for_each(|(s, &v)| *s = s.add(v));
        }
    }
    #[inline(always)]
    fn runs<T: Real>(
        plan: &Plan,
        [g, x, stats]: [&[T]; 3],
        rows: impl Iterator<Item = usize>,
        column: usize,
    ) -> (T, T) {
        let (mut dw, mut db) = (T::ZERO, T::ZERO);
        for r in rows {
            let (mean, scale) = (stats[2 * r], stats[2 * r + 1]);
            let start = r * plan.n + column;
            let (g, x) = (&g[start..][..plan.channels.width], &x[start..][..plan.channels.width]);
            let mut products = [T::ZERO; PART];
            let (mut a, mut b) = (T::ZERO, T::ZERO);
            for (g, x) in g.chunks(PART).zip(x.chunks(PART)) {
                let products = &mut products[..g.len()];
                products
                    .iter_mut()
                    .zip(g.iter().zip(x))
                    .for_each(|(p, (&g, &x))| *p = g.mul(x.sub(mean).mul(scale)));
                (a, b) = (a.add(total(products)), b.add(total(g)));
            }
            (dw, db) = (dw.add(a), db.add(b));
        }
        (dw, db)
    }
    let [g, x, stats] = all_lanes([g, x, stats], lanes);
    let (g, x, stats) = (g.contiguous()?, x.contiguous()?, stats.contiguous()?);
    let plan = Plan::new(channels, &x, lanes);
    let dims: Dims = x.dims()[..lanes].iter().copied().chain([plan.count]).collect();
    let weight = (plan.rows * plan.n).checked_div(plan.count).unwrap_or(0) / 8;
    dispatch!(x.dtype(), float T => {
        let ins = [&g, &x, &stats].map(|a| a.as_slice::<T>().expect("contiguous"));
        chunks::build_two::<T, T>(op, (&dims, 1), (&dims, 1), weight, |first, dw, db| simd::same(
            #[inline(always)]
            || {
                let mut done = 0;
                while done < dw.len() {
                    let (lane, channel) = ((first + done) / plan.count, (first + done) % plan.count);
                    let row = lane * plan.rows;
                    if channels.width == 1 && channels.groups == 1 {
                        let end = dw.len().min(done + PART.min(plan.count - channel));
                        columns(&plan, ins, (row, channel), &mut dw[done..end], &mut db[done..end]);
                        done = end;
                        continue;
                    }
                    let own = channels.own;
                    let rows = (row + channel / own..row + plan.rows).step_by(channels.groups);
                    (dw[done], db[done]) = runs(&plan, ins, rows, channel % own * channels.width);
                    done += 1;
                }
            },
        ))
    }, else not_defined(op, x.dtype()))
}
