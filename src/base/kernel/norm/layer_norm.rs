//! Layer, group and instance normalisation: standardised rows, scaled and shifted by channel; and the three gradients
//! in one pass.

use std::ops::Range;

use super::standardize::{moments, sums};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::Result;
use crate::kernel::broadcast::broadcast_batch;
use crate::kernel::num::{Field, Inexact, Real};
use crate::kernel::rows::{column, each, each_mut, last, not_defined};
use crate::kernel::{interrupt, output, par, simd};
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// The channel of an element: row `r` has the `own` channels of group `r % groups`, each with `width` adjacent
/// elements.
#[derive(Clone, Copy, Stored)]
pub struct Channels {
    pub groups: usize,
    pub own: usize,
    pub width: usize,
}

/// [`Channels`] of batch items with `rows` rows and `count` channels each.
struct RowChannels {
    channels: Channels,
    rows: usize,
    count: usize,
}

impl RowChannels {
    fn new(channels: Channels, x: &Array, batch_ndim: usize) -> RowChannels {
        let rows = shape::len(&x.dims()[batch_ndim..x.rank() - 1]);
        RowChannels { channels, rows, count: channels.groups * channels.own }
    }

    /// The values for the channels of row `r`, from a list for all channels of all batch items.
    #[inline(always)]
    fn of<'a, T>(&self, all: &'a [T], r: usize) -> &'a [T] {
        let own = self.channels.own;
        &all[r / self.rows * self.count + r % self.channels.groups * own..][..own]
    }
}

/// Writes `f` of the elements of two rows and of two numbers of their channel.
#[inline(always)]
fn by_channel<T: Copy>(
    width: usize,
    (w, b): (&[T], &[T]),
    (p, q): (&[T], &[T]),
    out: &mut [T],
    f: impl Fn((T, T), (T, T)) -> T,
) {
    if width == 1 {
        for part in interrupt::parts(0..out.len(), 1) {
            let [w, b, p, q] = [w, b, p, q].map(|list| &list[part.clone()]);
            let all = out[part].iter_mut().zip(w.iter().zip(b)).zip(p.iter().zip(q));
            all.for_each(|((o, (&w, &b)), (&p, &q))| *o = f((w, b), (p, q)));
        }
        return;
    }
    let runs = out.chunks_exact_mut(width).zip(p.chunks_exact(width).zip(q.chunks_exact(width)));
    let mut done = 0;
    for ((out, (p, q)), (&w, &b)) in runs.zip(w.iter().zip(b)) {
        interrupt::count(&mut done, width);
        out.iter_mut().zip(p.iter().zip(q)).for_each(|(o, (&p, &q))| *o = f((w, b), (p, q)));
    }
}

/// `y w + b` with `y` the standardised rows; and for each row a pair of its mean and its inverse standard deviation.
pub fn layer_norm(
    op: &'static str,
    [x, w, b]: [&Array; 3],
    eps: f64,
    channels: Channels,
    batch_ndim: usize,
) -> Result<(Array, Array)> {
    let [x, w, b] = broadcast_batch([x, w, b], batch_ndim);
    let (x, w, b) = (x.contiguous()?, w.contiguous()?, b.contiguous()?);
    let (n, plan) = (last(&x), RowChannels::new(channels, &x, batch_ndim));
    let mut stats = column(&x);
    *stats.last_mut().expect("rows have an axis") = 2;
    dispatch!(x.dtype(), float T => {
        let [all, w, b] = [&x, &w, &b].map(|a| a.as_slice::<T>().expect("contiguous"));
        output::build_pair::<T, T>(op, (x.dims(), n), (&stats, 2), n, |first, out, stats| simd::autovectorize(
            #[inline(always)]
            || {
                let rows = each(&all[first * n..], n).zip(each_mut(out, n)).zip(each_mut(stats, 2));
                for (r, ((row, out), stats)) in (first..).zip(rows) {
                    let (w, b) = (plan.of(w, r), plan.of(b, r));
                    let (mean, scale) = moments(row, T::lit(eps));
                    (stats[0], stats[1]) = (mean, scale);
                    let y = |v: T| v.sub(mean).mul(scale);
                    by_channel(channels.width, (w, b), (row, row), out, |(w, b), (v, _)| y(v).mul(w).add(b));
                }
            },
        ))
    }, else not_defined(op, x.dtype()))
}

/// Rows of single-element channels whose sums are made together.
const ROWS: usize = 64;

/// The gradients of [`layer_norm`] with respect to `x`, the weights and the shifts, from `g`, `x`, the weights and
/// the rows' statistics: `r (h - mean(h) - y mean(h y))` with `h = g w`, and the sums of `g y` and of `g` over each
/// channel.
pub fn layer_norm_gradients(
    op: &'static str,
    [g, x, w, stats]: [&Array; 4],
    channels: Channels,
    batch_ndim: usize,
) -> Result<[Array; 3]> {
    let [g, x, w, stats] = broadcast_batch([g, x, w, stats], batch_ndim);
    let (g, x, w, stats) = (g.contiguous()?, x.contiguous()?, w.contiguous()?, stats.contiguous()?);
    let (n, plan) = (last(&x), RowChannels::new(channels, &x, batch_ndim));
    let Channels { groups, own, width } = channels;
    // Partial sums over rows with the same channels. Their order does not depend on threads.
    let height = if groups == 1 { (ROWS / width.max(1)).max(1) } else { 1 };
    let blocks = plan.rows.div_ceil(height);
    let all_blocks = shape::len(&x.dims()[..batch_ndim]) * blocks;
    let dims: Dims = x.dims()[..batch_ndim].iter().copied().chain([plan.count]).collect();
    dispatch!(x.dtype(), float T => {
        let [g, all, w, stats] = [&g, &x, &w, &stats].map(|a| a.as_slice::<T>().expect("contiguous"));
        let sizes = [all_blocks, 2, own];
        let (dx, sums) = output::build_pair_raw::<T>(op, x.dims(), &sizes, |dx, sums| {
            // A trait object, so that the two calls have one copy of it.
            let some: &(dyn Fn(Range<usize>) + Sync) = &|range: Range<usize>| simd::autovectorize(
                #[inline(always)]
                || {
                    for i in range {
                        let first = i / blocks * plan.rows + i % blocks * height;
                        let height = height.min(plan.rows - i % blocks * height);
                        // SAFETY: no other block has these rows and sums.
                        let (dx, sums) = unsafe {
                            (
                                std::slice::from_raw_parts_mut(dx.get().cast::<T>().add(first * n), height * n),
                                std::slice::from_raw_parts_mut(sums.get().cast::<T>().add(i * 2 * own), 2 * own),
                            )
                        };
                        sums.fill(T::ZERO);
                        let (dw, db) = sums.split_at_mut(own);
                        let rows = each(&g[first * n..], n).zip(each(&all[first * n..], n)).zip(each_mut(dx, n));
                        for (r, ((g, x), dx)) in (first..).zip(rows) {
                            row(width, [g, x, plan.of(w, r)], (stats[2 * r], stats[2 * r + 1]), dx, (dw, db));
                        }
                    }
                },
            );
            if size_of_val(all) < par::MIN_BYTES {
                some(0..all_blocks);
            } else {
                par::pieces(all_blocks, par::PIECE.div_ceil((height * n).max(1)), some);
            }
        })?;
        let sums = sums.as_slice::<T>().expect("just built");
        let of = |which: usize| Array::build::<T>(op, &dims, |out| {
            out.fill(T::ZERO);
            for i in 0..all_blocks {
                let to = &mut out[i / blocks * plan.count + i % groups * own..][..own];
                to.iter_mut().zip(&sums[(2 * i + which) * own..]).for_each(|(o, &v)| *o = o.add(v));
            }
        });
        Ok([dx, of(0)?, of(1)?])
    }, else not_defined(op, x.dtype()))
}

/// The gradient of one row, and its addition to the sums of its channels.
#[inline(always)]
fn row<T: Real>(
    width: usize,
    [g, x, w]: [&[T]; 3],
    (mean, scale): (T, T),
    out: &mut [T],
    (dw, db): (&mut [T], &mut [T]),
) {
    let count = T::lit(x.len() as f64);
    let y = |v: T| v.sub(mean).mul(scale);
    let (along, middle) = if width == 1 {
        let parts = dw.iter_mut().zip(db).zip(g.iter().zip(x));
        parts.for_each(|((dw, db), (&g, &x))| (*dw, *db) = (dw.add(g.mul(y(x))), db.add(g)));
        sums([g, x, w], |[g, x, w]| (g.mul(w).mul(y(x)), g.mul(w)))
    } else {
        let (mut along, mut middle) = (T::ZERO, T::ZERO);
        let runs = g.chunks_exact(width).zip(x.chunks_exact(width));
        for (((g, x), &w), (dw, db)) in runs.zip(w).zip(dw.iter_mut().zip(db)) {
            let (a, b) = sums([g, x], |[g, x]| (g.mul(y(x)), g));
            (*dw, *db) = (dw.add(a), db.add(b));
            (along, middle) = (along.add(w.mul(a)), middle.add(w.mul(b)));
        }
        (along, middle)
    };
    let (along, middle) = (along.div(count), middle.div(count));
    by_channel(width, (w, w), (g, x), out, |(w, _), (g, x)| {
        scale.mul(g.mul(w).sub(middle).sub(y(x).mul(along)))
    });
}
