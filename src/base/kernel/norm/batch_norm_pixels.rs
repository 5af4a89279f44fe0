//! Batch normalisation where channels are last in memory. The pixels are summed in another order than in C order.

use std::ops::Range;

use super::formulas::{self, each_laid};
use super::standardize::over_root;
use crate::array::Array;
use crate::error::Result;
use crate::kernel::num::Real;
use crate::kernel::par::{self, SendPtr};
use crate::kernel::rows::{at, parts};
use crate::kernel::{interrupt, output, simd};

/// Adjacent elements that are handled together: the channels of some pixels, or a part of the channels of one.
const COLUMNS: usize = 512;

/// Rows in a partial sum.
const ROWS: usize = 64;

/// Elements in a part of the pixels, and the most parts. Their number depends on sizes only.
const PART: usize = 1 << 15;
const PARTS: usize = 16;

/// The sizes of an array `[pixels, channels]`.
struct Pixels {
    pixels: usize,
    channels: usize,
}

/// Some channels, and the number of pixels whose channels are a row of at most [`COLUMNS`] elements.
struct Columns {
    channels: Range<usize>,
    pixels: usize,
}

impl Columns {
    /// The numbers of the channels, repeated for each pixel of a row.
    #[inline(always)]
    fn laid<T: Real>(&self, numbers: &[T]) -> [T; COLUMNS] {
        let mut laid = [T::ZERO; COLUMNS];
        let own = &numbers[self.channels.clone()];
        laid.chunks_exact_mut(own.len()).for_each(|pixel| pixel.copy_from_slice(own));
        laid
    }
}

impl Pixels {
    fn parts(&self) -> usize {
        (self.pixels * self.channels / PART).clamp(1, PARTS)
    }

    /// Calls `f` with each part of the pixels, its number, and all columns, in parallel if there is enough work.
    fn each<T>(&self, f: &(dyn Fn(usize, Range<usize>, &Columns) + Sync)) {
        let (parts, blocks) = (self.parts(), self.channels.div_ceil(COLUMNS));
        let some = |range: Range<usize>| {
            for (part, block) in range.map(|i| (i / blocks, i % blocks)) {
                let first = block * COLUMNS;
                let channels = first..self.channels.min(first + COLUMNS);
                let columns = Columns { channels, pixels: (COLUMNS / self.channels).max(1) };
                f(part, self.pixels * part / parts..self.pixels * (part + 1) / parts, &columns);
            }
        };
        if self.pixels * self.channels * size_of::<T>() < par::MIN_BYTES {
            some(0..parts * blocks);
        } else {
            par::pieces(parts * blocks, 1, &some);
        }
    }

    /// Calls `f` with each row of some pixels: where it begins, and its length.
    #[inline(always)]
    fn each_row(&self, pixels: Range<usize>, columns: &Columns, mut f: impl FnMut(usize, usize)) {
        for pixel in pixels.clone().step_by(columns.pixels) {
            let count = columns.pixels.min(pixels.end - pixel);
            f(pixel * self.channels + columns.channels.start, count * columns.channels.len());
        }
    }

    /// Sums of `f` over all pixels: `[K, channels]`. `numbers` are values for each channel.
    fn sums<T: Real, const N: usize, const M: usize, const K: usize>(
        &self,
        op: &'static str,
        rows: [&[T]; N],
        numbers: [&[T]; M],
        f: impl Fn([T; N], [T; M]) -> [T; K] + Sync,
    ) -> Result<Array> {
        let count = self.parts();
        let all = Array::build::<T>(op, &[1, count, K * self.channels], |out| {
            let out = SendPtr(out.as_mut_ptr().cast());
            self.each::<T>(&|part, pixels, columns| {
                simd::autovectorize(
                    #[inline(always)]
                    || {
                        let sums = self.part_sums(rows, numbers, &f, pixels, columns);
                        for (k, sums) in sums.iter().enumerate() {
                            // SAFETY: each part has its own place, and each block of columns its own channels.
                            let out = unsafe {
                                let first = (part * K + k) * self.channels + columns.channels.start;
                                std::slice::from_raw_parts_mut(
                                    out.get().cast::<T>().add(first),
                                    columns.channels.len(),
                                )
                            };
                            out.fill(T::ZERO);
                            for pixel in sums.chunks_exact(out.len()).take(columns.pixels) {
                                out.iter_mut().zip(pixel).for_each(|(o, &v)| *o = o.add(v));
                            }
                        }
                    },
                );
            });
        })?;
        output::sum_of_parts::<T>(op, &all, &[K, self.channels])
    }

    /// The sums over some pixels, by column of a row.
    #[inline(always)]
    fn part_sums<T: Real, const N: usize, const M: usize, const K: usize>(
        &self,
        rows: [&[T]; N],
        numbers: [&[T]; M],
        f: &impl Fn([T; N], [T; M]) -> [T; K],
        pixels: Range<usize>,
        columns: &Columns,
    ) -> [[T; COLUMNS]; K] {
        let laid = each_laid(numbers, |numbers| columns.laid(numbers));
        let (mut sums, mut run) = ([[T::ZERO; COLUMNS]; K], [[T::ZERO; COLUMNS]; K]);
        let (mut count, mut done) = (0, 0);
        let add = |sums: &mut [[T; COLUMNS]; K], run: &mut [[T; COLUMNS]; K]| {
            for k in 0..K {
                for i in 0..COLUMNS {
                    sums[k][i] = sums[k][i].add(run[k][i]);
                }
                run[k] = [T::ZERO; COLUMNS];
            }
        };
        self.each_row(
            pixels,
            columns,
            #[inline(always)]
            |first, len| {
                let rows = parts(rows, first, len);
                for i in 0..len {
                    let new = f(at(&rows, i), at(&laid, i));
                    for k in 0..K {
                        run[k][i] = run[k][i].add(new[k]);
                    }
                }
                count += 1;
                if count % ROWS == 0 {
                    interrupt::count(&mut done, ROWS * len);
                    add(&mut sums, &mut run);
                }
            },
        );
        add(&mut sums, &mut run);
        sums
    }

    /// Writes `f` of all elements and the numbers of their channels.
    fn write<T: Real, const N: usize, const M: usize>(
        &self,
        rows: [&[T]; N],
        numbers: [&[T]; M],
        out: &mut [T],
        f: impl Fn([T; N], [T; M]) -> T + Sync,
    ) {
        let out = SendPtr(out.as_mut_ptr().cast());
        self.each::<T>(&|_, pixels, columns| {
            simd::autovectorize(
                #[inline(always)]
                || {
                    let (laid, mut done) = (each_laid(numbers, |numbers| columns.laid(numbers)), 0);
                    self.each_row(
                        pixels,
                        columns,
                        #[inline(always)]
                        |first, len| {
                            interrupt::count(&mut done, len);
                            let rows = parts(rows, first, len);
                            // SAFETY: the output has the sizes of the rows, and no other piece has these pixels and channels.
                            let out = unsafe {
                                std::slice::from_raw_parts_mut(out.get().cast::<T>().add(first), len)
                            };
                            for (i, out) in out.iter_mut().enumerate() {
                                *out = f(at(&rows, i), at(&laid, i));
                            }
                        },
                    );
                },
            );
        });
    }
}

fn sizes(x: &Array) -> Pixels {
    let [pixels, channels] = *x.dims() else { unreachable!("two axes") };
    Pixels { pixels, channels }
}

/// [`batch_norm`](super::batch_norm) of a contiguous array `[pixels, channels]`: the result of this shape, and `[channels, 2]`.
pub fn batch_norm<T: Real>(op: &'static str, [x, w, b]: [&Array; 3], eps: f64) -> Result<(Array, Array)> {
    let plan = sizes(x);
    let (w, b) = (w.contiguous()?, b.contiguous()?);
    let [all, w, b] = [x, &w, &b].map(|a| a.as_slice::<T>().expect("contiguous"));
    let count = T::lit(plan.pixels as f64);
    let mean = divided::<T>(op, &plan.sums(op, [all], [], |[x], []| [x])?, count)?;
    let mean = mean.as_slice::<T>().expect("just built");
    let variance = divided::<T>(op, &plan.sums(op, [all], [mean], formulas::square)?, count)?;
    let variance = variance.as_slice::<T>().expect("just built");
    let root = Array::build::<T>(op, &[plan.channels], |out| {
        out.iter_mut().zip(variance).for_each(|(o, &v)| *o = over_root(v, T::lit(eps)));
    })?;
    let root = root.as_slice::<T>().expect("just built");
    let y =
        Array::build::<T>(op, x.dims(), |out| plan.write([all], [mean, root, w, b], out, formulas::scaled))?;
    let stats = Array::build::<T>(op, &[plan.channels, 2], |out| {
        for (pair, (&mean, &variance)) in out.as_chunks_mut::<2>().0.iter_mut().zip(mean.iter().zip(variance))
        {
            *pair = [mean, variance];
        }
    })?;
    Ok((y, stats))
}

/// [`batch_norm_gradients`](super::batch_norm_gradients) of contiguous arrays `[pixels, channels]`.
pub fn batch_norm_gradients<T: Real>(
    op: &'static str,
    [g, x, w, stats]: [&Array; 4],
    eps: f64,
) -> Result<[Array; 3]> {
    let plan = sizes(x);
    let (w, stats) = (w.contiguous()?, stats.contiguous()?);
    let [g, all, w, stats] = [g, x, &w, &stats].map(|a| a.as_slice::<T>().expect("contiguous"));
    let stats = stats.as_chunks::<2>().0;
    let of = |f: &dyn Fn(usize) -> T| {
        Array::build::<T>(op, &[plan.channels], |out| {
            out.iter_mut().enumerate().for_each(|(c, o)| *o = f(c));
        })
    };
    let root_of = |c: usize| over_root(stats[c][1], T::lit(eps));
    let (mean, root) = (of(&|c| stats[c][0])?, of(&root_of)?);
    let factor = of(&|c| root_of(c).mul(w[c]))?;
    let [mean, root, factor] = [&mean, &root, &factor].map(|a| a.as_slice::<T>().expect("just built"));
    let sums = plan.sums(op, [g, all], [mean, root], formulas::products)?;
    let means = divided::<T>(op, &sums, T::lit(plan.pixels as f64))?;
    let (along, middle) = means.as_slice::<T>().expect("just built").split_at(plan.channels);
    let numbers = [mean, root, factor, along, middle];
    let dx = Array::build::<T>(op, x.dims(), |out| plan.write([g, all], numbers, out, formulas::gradient))?;
    let row = |k: isize| sums.restride(&[plan.channels], &[1], k * plan.channels as isize);
    Ok([dx, row(0), row(1)])
}

/// Each number divided by a count.
fn divided<T: Real>(op: &'static str, x: &Array, count: T) -> Result<Array> {
    let all = x.as_slice::<T>().expect("just built");
    Array::build::<T>(op, x.dims(), |out| out.iter_mut().zip(all).for_each(|(o, &v)| *o = v.div(count)))
}
