//! Batch normalisation: each channel is standardised over the batch, then scaled and shifted; and its three
//! gradients.

use std::ops::Range;

use super::batch_norm_pixels;
use super::formulas::{self, each_laid};
use super::standardize::over_root;
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::Result;
use crate::kernel::broadcast::broadcast_batch;
use crate::kernel::channels::{laid_channels_last, with_channels_first, with_channels_last};
use crate::kernel::num::{Field, Inexact, Real};
use crate::kernel::rows::{at, not_defined, parts, total};
use crate::kernel::{interrupt, output, par, simd};
use crate::shape::{self, Dims};

/// Adjacent elements of a batch member that are handled together: those of some channels, or a part of one channel.
const COLUMNS: usize = 512;

/// Members in a partial sum.
const ROWS: usize = 64;

/// The sizes of `[batch.., members, channels, width]`.
struct BatchSizes {
    batch_size: usize,
    members: usize,
    channels: usize,
    width: usize,
}

/// Some channels of one batch item: the offset of the first member's elements, and the channels' indices.
struct ChannelBlock {
    at: usize,
    channels: Range<usize>,
}

impl BatchSizes {
    fn new(x: &Array, batch_ndim: usize) -> BatchSizes {
        let [members, channels, width] = x.dims()[batch_ndim..] else { unreachable!("three axes") };
        BatchSizes { batch_size: shape::len(&x.dims()[..batch_ndim]), members, channels, width }
    }

    fn step(&self) -> usize {
        self.channels * self.width
    }

    /// Calls `f` with all blocks of channels, in parallel if there is enough work.
    fn each_block<T>(&self, f: &(dyn Fn(ChannelBlock) + Sync)) {
        let most = (COLUMNS / self.width.max(1)).max(1);
        let blocks = self.channels.div_ceil(most);
        let elements = self.members * self.step();
        let some = |range: Range<usize>| {
            for i in range {
                let (item, first) = (i / blocks, i % blocks * most);
                let channels = first..self.channels.min(first + most);
                let at = item * elements + first * self.width;
                let own = item * self.channels;
                f(ChannelBlock { at, channels: own + channels.start..own + channels.end });
            }
        };
        if self.batch_size * elements * size_of::<T>() < par::MIN_BYTES {
            some(0..self.batch_size * blocks);
        } else {
            par::pieces(
                self.batch_size * blocks,
                par::PIECE.div_ceil((elements / blocks.max(1)).max(1)),
                &some,
            );
        }
    }

    /// Calls `f` with parts of a block: the first column, and the number of columns.
    #[inline(always)]
    fn each_part(&self, block: &ChannelBlock, mut f: impl FnMut(usize, usize)) {
        let columns = if self.members == 0 { 0 } else { block.channels.len() * self.width };
        for start in (0..columns).step_by(COLUMNS) {
            f(start, COLUMNS.min(columns - start));
        }
    }

    /// Sums of `f` over the batch and over each channel of a block. `numbers` are values for each channel.
    #[inline(always)]
    fn sums<T: Real, const N: usize, const M: usize, const K: usize>(
        &self,
        block: &ChannelBlock,
        rows: [&[T]; N],
        numbers: [&[T]; M],
        f: impl Fn([T; N], [T; M]) -> [T; K],
    ) -> [[T; COLUMNS]; K] {
        let mut all = [[T::ZERO; COLUMNS]; K];
        let (count, mut done) = (block.channels.len(), 0);
        self.each_part(
            block,
            #[inline(always)]
            |start, len| {
                let laid = each_laid(numbers, |numbers| self.laid(numbers));
                let mut sums = [[T::ZERO; COLUMNS]; K];
                for first in (0..self.members).step_by(ROWS) {
                    interrupt::count(&mut done, ROWS * len);
                    let mut part = [[T::ZERO; COLUMNS]; K];
                    for m in first..self.members.min(first + ROWS) {
                        let rows = parts(rows, block.at + start + m * self.step(), len);
                        for i in 0..len {
                            let new = f(at(&rows, i), at(&laid, i));
                            for k in 0..K {
                                part[k][i] = part[k][i].add(new[k]);
                            }
                        }
                    }
                    for k in 0..K {
                        for i in 0..COLUMNS {
                            sums[k][i] = sums[k][i].add(part[k][i]);
                        }
                    }
                }
                for (all, sums) in all.iter_mut().zip(&sums) {
                    let runs = sums[..len].chunks(self.width.min(len));
                    all[..count].iter_mut().zip(runs).for_each(|(all, run)| *all = all.add(total(run)));
                }
            },
        );
        all
    }

    /// Writes `f` of the elements of a block and the numbers of their channels.
    ///
    /// # Safety
    /// The output has the sizes of the rows, and no other thread writes the elements of this block.
    #[inline(always)]
    unsafe fn write<T: Real, const N: usize, const M: usize>(
        &self,
        block: &ChannelBlock,
        rows: [&[T]; N],
        numbers: [&[T]; M],
        out: *mut T,
        f: impl Fn([T; N], [T; M]) -> T,
    ) {
        let mut done = 0;
        self.each_part(
            block,
            #[inline(always)]
            |start, len| {
                let laid = each_laid(numbers, |numbers| self.laid(numbers));
                for m in 0..self.members {
                    interrupt::count(&mut done, len);
                    let first = block.at + start + m * self.step();
                    let rows = parts(rows, first, len);
                    // SAFETY: as the function's `# Safety` section requires.
                    let out = unsafe { std::slice::from_raw_parts_mut(out.add(first), len) };
                    for (i, out) in out.iter_mut().enumerate() {
                        *out = f(at(&rows, i), at(&laid, i));
                    }
                }
            },
        );
    }

    /// The numbers of a block's channels, repeated for each column.
    #[inline(always)]
    fn laid<T: Real>(&self, numbers: &[T]) -> [T; COLUMNS] {
        if let [one] = *numbers {
            return [one; COLUMNS];
        }
        let mut laid = [T::ZERO; COLUMNS];
        laid.chunks_mut(self.width).zip(numbers).for_each(|(run, &v)| run.fill(v));
        laid
    }
}

/// `y w + b` with `y` the array `[members, channels, width]` standardised by channel; and `[channels, 2]`, the mean
/// and variance of each channel.
pub fn batch_norm(
    op: &'static str,
    [x, w, b]: [&Array; 3],
    eps: f64,
    batch_ndim: usize,
) -> Result<(Array, Array)> {
    if batch_ndim == 0
        && let Some(pixels) = pixels_of(x)
    {
        let (y, stats) = dispatch!(x.dtype(), float T => batch_norm_pixels::batch_norm::<T>(op, [&pixels, w, b], eps)?, else return not_defined(op, x.dtype()));
        return Ok((images_of(&y, x), stats));
    }
    let [x, w, b] = broadcast_batch([x, w, b], batch_ndim);
    let (x, w, b) = (x.contiguous()?, w.contiguous()?, b.contiguous()?);
    let plan = BatchSizes::new(&x, batch_ndim);
    dispatch!(x.dtype(), float T => {
        let [all, w_all, b] = [&x, &w, &b].map(|a| a.as_slice::<T>().expect("contiguous"));
        let count = T::lit((plan.members * plan.width) as f64);
        output::build_pair_raw::<T>(op, x.dims(), &pairs(&w), |y, stats| plan.each_block::<T>(&|block| simd::autovectorize(
            #[inline(always)]
            || {
                let (own, n) = (block.channels.clone(), block.channels.len());
                let [mut mean] = plan.sums(&block, [all], [], |[x], []| [x]);
                mean.iter_mut().for_each(|m| *m = m.div(count));
                let [mut variance] = plan.sums(&block, [all], [&mean[..n]], formulas::square);
                variance.iter_mut().for_each(|v| *v = v.div(count));
                let root = variance.map(|v| over_root(v, T::lit(eps)));
                let numbers = [&mean[..n], &root[..n], &w_all[own.clone()], &b[own.clone()]];
                // SAFETY: no other block has these channels, in either array.
                unsafe {
                    write_pairs(stats.get().cast(), own, &mean, &variance);
                    plan.write(&block, [all], numbers, y.get().cast(), formulas::scaled);
                }
            },
        )))
    }, else not_defined(op, x.dtype()))
}

/// The gradients of [`batch_norm`] with respect to `x`, the weights and the shifts, from `g`, `x`, the weights, and
/// the mean and variance of each channel.
pub fn batch_norm_gradients(
    op: &'static str,
    [g, x, w, stats]: [&Array; 4],
    eps: f64,
    batch_ndim: usize,
) -> Result<[Array; 3]> {
    if batch_ndim == 0
        && let Some(pixels) = pixels_of(x)
    {
        let g = laid_channels_last(g, 1)?;
        let g = g.restride(pixels.dims(), &pixels.strides(), 0);
        let [dx, dw, db] = dispatch!(x.dtype(), float T => batch_norm_pixels::batch_norm_gradients::<T>(op, [&g, &pixels, w, stats], eps)?, else return not_defined(op, x.dtype()));
        return Ok([images_of(&dx, x), dw, db]);
    }
    let [g, x, w, stats] = broadcast_batch([g, x, w, stats], batch_ndim);
    let (g, x, w, stats) = (g.contiguous()?, x.contiguous()?, w.contiguous()?, stats.contiguous()?);
    let plan = BatchSizes::new(&x, batch_ndim);
    dispatch!(x.dtype(), float T => {
        let [g, all, w_all, stats] = [&g, &x, &w, &stats].map(|a| a.as_slice::<T>().expect("contiguous"));
        let count = T::lit((plan.members * plan.width) as f64);
        let (dx, sums) = output::build_pair_raw::<T>(op, x.dims(), &pairs(&w), |dx, sums| plan.each_block::<T>(&|block| simd::autovectorize(
            #[inline(always)]
            || {
                let (own, n) = (block.channels.clone(), block.channels.len());
                let (mut mean, mut root, mut factor) = ([T::ZERO; COLUMNS], [T::ZERO; COLUMNS], [T::ZERO; COLUMNS]);
                for (i, c) in own.clone().enumerate() {
                    (mean[i], root[i]) = (stats[2 * c], over_root(stats[2 * c + 1], T::lit(eps)));
                    factor[i] = root[i].mul(w_all[c]);
                }
                let [dw, db] = plan.sums(&block, [g, all], [&mean[..n], &root[..n]], formulas::products);
                let (along, middle) = (dw.map(|s| s.div(count)), db.map(|s| s.div(count)));
                let numbers = [&mean, &root, &factor, &along, &middle].map(|of| &of[..n]);
                // SAFETY: no other block has these channels, in either array.
                unsafe {
                    write_pairs(sums.get().cast(), own, &dw, &db);
                    plan.write(&block, [g, all], numbers, dx.get().cast(), formulas::gradient);
                }
            },
        )))?;
        let sums = sums.as_slice::<T>().expect("just built").as_chunks::<2>().0;
        let of = |which: usize| Array::build::<T>(op, w.dims(), |out| {
            out.iter_mut().zip(sums).for_each(|(o, pair)| *o = pair[which]);
        });
        Ok([dx, of(0)?, of(1)?])
    }, else not_defined(op, x.dtype()))
}

/// `[members, channels, width]` with the channels last in memory, as `[members · width, channels]`.
fn pixels_of(x: &Array) -> Option<Array> {
    let pixels = with_channels_last(x, 1)?;
    let [members, width, channels] = *pixels.dims() else { unreachable!("three axes") };
    pixels.reshaped(&[members * width, channels])
}

/// The inverse of [`pixels_of`], with the shape of `like`.
fn images_of(pixels: &Array, like: &Array) -> Array {
    let [members, channels, width] = *like.dims() else { unreachable!("three axes") };
    let strides = [width * channels, channels, 1].map(|step| step as isize);
    with_channels_first(&pixels.restride(&[members, width, channels], &strides, 0), 1)
}

/// The shape of a pair of numbers for each channel.
fn pairs(w: &Array) -> Dims {
    w.dims().iter().copied().chain([2]).collect()
}

/// # Safety
/// `to` has a pair for each of these channels, which no other thread writes.
unsafe fn write_pairs<T: Copy>(to: *mut T, channels: Range<usize>, a: &[T], b: &[T]) {
    for (c, (&a, &b)) in channels.zip(a.iter().zip(b)) {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            *to.add(2 * c) = a;
            *to.add(2 * c + 1) = b;
        }
    }
}
