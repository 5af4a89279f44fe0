//! The result and the image of a convolution as sums of shifted planes, tile by tile.

use std::ops::Range;

use super::geometry::{Axes, Batched, ConvArray, Geometry, index};
use super::plan::{BufferLayout, Pass, ShiftPlan};
use super::threads::{self, run_pieces_with_scratch};
use super::tiles::{ConvElement, Microkernels, TileDepth};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::kernel::interrupt;
use crate::kernel::par::{self, SendPtr};

/// The sizes of a convolution: `batch · groups` times `rows` planes of this size, each from `planes` planes of the
/// source.
pub struct ConvJob {
    pub batch_size: usize,
    pub batch: usize,
    pub groups: usize,
    pub planes: usize,
    pub rows: usize,
    pub size: Axes,
    /// The steps between rows and between planes of the weight.
    pub steps: [usize; 2],
}

/// Products that are added to a tile at once, so that the source elements of all its rows stay in the first-level
/// cache.
const DEPTH: usize = 160;

/// A part of a tile that goes to adjacent results: its position, its length and its destination.
struct Segment {
    at: usize,
    len: usize,
    to: usize,
}

impl ConvJob {
    /// The result or the image of a convolution, and its plan. None for the weight.
    pub fn of(g: &Geometry, out: ConvArray, batch_size: usize) -> Option<(ConvJob, ShiftPlan)> {
        let (planes, filters, taps) = (g.channels / g.groups, g.filters / g.groups, g.taps());
        let (plan, planes, rows, size, steps) = match out {
            ConvArray::Result => (ShiftPlan::forward(g), planes, filters, g.places, [planes * taps, taps]),
            ConvArray::Image => (ShiftPlan::backward(g), filters, planes, g.image, [taps, planes * taps]),
            ConvArray::Weight => return None,
        };
        Some((ConvJob { batch_size, batch: g.batch, groups: g.groups, planes, rows, size, steps }, plan))
    }

    /// The multiplications of all planes.
    pub fn products(&self, plan: &ShiftPlan) -> usize {
        let work = plan.products().saturating_mul(self.planes).saturating_mul(self.rows);
        work.saturating_mul(self.batch_size * self.batch * self.groups)
    }

    /// The sums of a plan. All batch items share one weight, or each has its own.
    pub fn run<T: ConvElement>(
        &self,
        op: &'static str,
        micro: &Microkernels<T>,
        plan: &ShiftPlan,
        weight: &Batched<'_, T>,
        source: &Batched<'_, T>,
        dims: &[usize],
    ) -> Result<Array> {
        let work = plan.products().saturating_mul(self.planes).saturating_mul(self.rows);
        let each = self.batch_size * self.batch * self.groups;
        let split = self.products(plan) >= threads::PARALLEL;
        let layout = BufferLayout::new(plan, self.planes, self.batch, each, split, micro.width, &|_, end| {
            end >= micro.width
        });
        let weights = if weight.is_common() { 1 } else { self.batch_size };
        let packed = self.packed(micro, plan, weight, weights);
        let panel = packed.len() / (weights * self.groups).max(1);
        let bundles = self.batch.div_ceil(layout.images);
        let spots: usize = self.size.iter().product();
        let buffer = layout.buffer(self.planes);
        let pieces = self.batch_size * bundles * self.groups * layout.bands;
        let work = work.saturating_mul(layout.images) / layout.bands;
        let tile = self.rows * micro.width;
        let scratch = buffer.saturating_add(tile);
        let mut done = Ok(());
        let all = Array::build::<T>(op, dims, |out| {
            if plan.gaps {
                out.fill(T::ZERO);
            }
            let out = SendPtr(out.as_mut_ptr().cast());
            done = run_pieces_with_scratch(op, pieces, work, scratch, |piece, scratch: &mut [T]| {
                let (rest, band) = (piece / layout.bands, piece % layout.bands);
                let (rest, group) = (rest / self.groups, rest % self.groups);
                let (item, first) = (rest / bundles, rest % bundles * layout.images);
                let images = layout.images.min(self.batch - first);
                let (tile, buffer) = scratch.split_at_mut(tile);
                let parts =
                    (first..first + images).map(|b| (b * self.groups + group, self.batch * self.groups));
                let planes = layout.lay(plan, source, item, parts, band, buffer);
                let mut panel =
                    &packed[((if weights == 1 { 0 } else { item }) * self.groups + group) * panel..];
                // SAFETY: the rows of this group in the first of these images are inside the output.
                let to = unsafe {
                    let image = (item * self.batch + first) * self.groups + group;
                    out.get().cast::<T>().add(image * self.rows * spots)
                };
                for pass in &plan.passes {
                    // SAFETY: no other piece has this band, group and these images of the output.
                    unsafe { self.pass(micro, &layout, pass, (images, band), panel, planes, tile, to) };
                    panel = &panel[self.rows * self.planes * pass.taps.len()..];
                }
            });
        });
        done.and(all)
    }

    /// The planes in parts of which each is added to a tile at once, for windows of `taps` elements. At least one
    /// part.
    fn parts(&self, taps: usize) -> impl Iterator<Item = Range<usize>> {
        let count = (self.planes * taps).div_ceil(DEPTH).max(1);
        let size = self.planes.div_ceil(count).max(1);
        (0..self.planes.max(1)).step_by(size).map(move |first| first..(first + size).min(self.planes))
    }

    /// The weight of each batch item, group and pass, packed in the order in which the tiles read it.
    fn packed<T: ConvElement>(
        &self,
        micro: &Microkernels<T>,
        plan: &ShiftPlan,
        weight: &Batched<'_, T>,
        weights: usize,
    ) -> Vec<T> {
        let blocks = micro.blocks(self.rows);
        let taps: usize = plan.passes.iter().map(|p| p.taps.len()).sum();
        let panel = self.rows * self.planes * taps;
        Error::ensure_memory(weights * self.groups * panel * size_of::<T>());
        let mut all = vec![T::ZERO; weights * self.groups * panel];
        let shared = SendPtr(all.as_mut_ptr().cast());
        par::pieces(weights * self.groups, (1_usize << 16).div_ceil(panel.max(1)), &|range| {
            for i in range {
                let from = weight.part(i / self.groups, i % self.groups, self.groups);
                // SAFETY: each index has its own panel.
                let to =
                    unsafe { std::slice::from_raw_parts_mut(shared.get().cast::<T>().add(i * panel), panel) };
                let mut to = to.iter_mut();
                for pass in &plan.passes {
                    for planes in self.parts(pass.taps.len()) {
                        for &(row, block, _) in &blocks {
                            for plane in planes.clone() {
                                for tap in &pass.taps {
                                    for (r, to) in (row..row + block).zip(&mut to) {
                                        *to = from[r * self.steps[0] + plane * self.steps[1] + tap.window];
                                    }
                                }
                            }
                        }
                    }
                }
            }
        });
        all
    }

    /// One pass over a band of some images.
    ///
    /// # Safety
    /// `out` is the first plane of the output for these images and this group, and no other thread writes its places
    /// in this band. `planes` has the given layout.
    #[expect(
        clippy::too_many_arguments,
        reason = "one place of call; the loop over tiles is worth its own function"
    )]
    unsafe fn pass<T: ConvElement>(
        &self,
        micro: &Microkernels<T>,
        layout: &BufferLayout,
        pass: &Pass,
        (images, band): (usize, usize),
        panel: &[T],
        planes: &[T],
        tile: &mut [T],
        out: *mut T,
    ) {
        let count = layout.count(pass, band);
        let end = layout.end(images, count);
        let offsets: Vec<usize> = pass.taps.iter().map(|t| layout.offset(t)).collect();
        let spots: usize = self.size.iter().product();
        let mut rows = Vec::new();
        layout.each_row(images, count, |start, image, mut at| {
            at[layout.axis] += band * layout.rows;
            let at: Axes = std::array::from_fn(|a| pass.first[a] + at[a] * pass.step[a]);
            let to = index(at, self.size);
            rows.push((start, image * self.groups * self.rows * spots + to));
        });
        let blocks = micro.blocks(self.rows);
        let depth = |planes| TileDepth { planes, apart: layout.plane(), offsets: &offsets };
        let depths: Vec<TileDepth<'_>> = self.parts(offsets.len()).map(depth).collect();
        let (mut runs, mut next, mut done, mut work) = (Vec::new(), 0, 0, 0);
        while next < rows.len() {
            // A tile begins at the first remaining place, but must not read beyond the end.
            let start = (rows[next].0 + done).min(end.saturating_sub(micro.width));
            runs.clear();
            while let Some(&(row, to)) = rows.get(next) {
                let at = row + done - start;
                if at >= micro.width {
                    break;
                }
                let len = (count[2] - done).min(micro.width - at);
                runs.push(Segment { at, len, to: to + done * pass.step[2] });
                done += len;
                if done < count[2] {
                    break;
                }
                (next, done) = (next + 1, 0);
            }
            let straight = runs.len() == 1 && runs[0].len == micro.width && pass.step[2] == 1;
            // SAFETY: the panel has the weights of these planes and rows, a tile from `start` ends inside the planes
            // or their slack, and the caller guarantees the output.
            unsafe {
                let b = planes.as_ptr().add(start);
                let (to, run) =
                    if straight { (out.add(runs[0].to), spots) } else { (tile.as_mut_ptr(), micro.width) };
                let mut a = panel.as_ptr();
                for depth in &depths {
                    let products = depth.planes.len() * offsets.len() * self.rows;
                    interrupt::count(&mut work, products.saturating_mul(micro.width));
                    for &(row, block, sums) in &blocks {
                        sums(a, b, depth, to.add(row * run), run);
                        a = a.add(block * depth.planes.len() * offsets.len());
                    }
                }
                if straight {
                    continue;
                }
                for (row, tile) in tile.chunks_exact(micro.width).enumerate() {
                    for run in &runs {
                        let from = tile.as_ptr().add(run.at);
                        let to = out.add(row * spots + run.to);
                        if pass.step[2] == 1 {
                            copy_few(from, to, run.len);
                        } else {
                            (0..run.len).for_each(|x| *to.add(x * pass.step[2]) = *from.add(x));
                        }
                    }
                }
            }
        }
    }
}

/// Copies elements that are too few for a call of `memcpy`.
///
/// # Safety
/// Both have `n` elements.
#[inline(always)]
unsafe fn copy_few<T: Copy>(from: *const T, to: *mut T, n: usize) {
    const PART: usize = 8;
    // SAFETY: as the function's `# Safety` section requires. The last part may repeat elements of the one before.
    unsafe {
        if n < PART {
            return (0..n).for_each(|i| *to.add(i) = *from.add(i));
        }
        for i in (0..n).step_by(PART) {
            let i = i.min(n - PART);
            to.add(i).cast::<[T; PART]>().write_unaligned(from.add(i).cast::<[T; PART]>().read_unaligned());
        }
    }
}
