//! The weight of a convolution from image and result: inner products of their rows, summed over parts of the batch in
//! a fixed order.

use super::geometry::{Batched, ConvArray, Geometry, index};
use super::plan::{BufferLayout, ShiftPlan};
use super::threads::{self, run_pieces_with_scratch};
use super::tiles::{ACROSS, ConvElement, DOWN, Microkernels};
use crate::array::Array;
use crate::error::Result;
use crate::kernel::interrupt;
use crate::kernel::output;
use crate::kernel::par::SendPtr;
use crate::kernel::reduce::non_finite;

/// The most partial sums over the batch. Their number depends on sizes only.
pub const PARTS: usize = 8;

/// If all partial sums together have more elements than this, filters are split instead, or there is one.
pub const SUMS: usize = 1 << 21;

/// How the work is split.
pub struct WeightSplit<'a> {
    plan: &'a ShiftPlan,
    layout: BufferLayout,
    batch_size: usize,
    /// All units of work: bundles of images times bands. Each part has `share` of them.
    units: usize,
    share: usize,
    parts: usize,
    /// The ranges that the filters of a group are split into.
    ranges: usize,
}

impl<'a> WeightSplit<'a> {
    /// `plan` is that of the result from the image.
    pub fn new<T: ConvElement>(g: &Geometry, plan: &'a ShiftPlan, batch_size: usize) -> WeightSplit<'a> {
        let planes = g.channels / g.groups;
        let each = batch_size * g.batch * g.groups;
        let split =
            plan.products().saturating_mul(g.filters * planes).saturating_mul(each) >= threads::PARALLEL;
        // Loops read to the end of a register.
        let even = |bands, end: usize| bands == 1 && end.is_multiple_of(T::microkernels().lanes);
        let layout = BufferLayout::new(plan, planes, g.batch, each, split, T::microkernels().width, &even);
        let units = g.batch.div_ceil(layout.images) * layout.bands;
        let sums = g.filters.saturating_mul(planes).saturating_mul(g.window.iter().product()).max(1);
        let others = (batch_size * g.groups).max(1);
        let parts = if split { PARTS.div_ceil(others).min(units).min(SUMS / sums).max(1) } else { 1 };
        let ranges =
            if split { PARTS.div_ceil(others * parts).min(g.filters / g.groups / 16).max(1) } else { 1 };
        let share = units.div_ceil(parts);
        WeightSplit { plan, layout, batch_size, units, share, parts, ranges }
    }

    /// The weight of every batch item: its partial sums, added in order.
    pub fn run<T: ConvElement>(
        &self,
        op: &'static str,
        g: &Geometry,
        image: &Batched<'_, T>,
        result: &Batched<'_, T>,
        dims: &[usize],
    ) -> Result<Array> {
        let mut done = Ok(());
        let n = g.dims(ConvArray::Weight).iter().product::<usize>();
        if self.parts == 1 {
            let all = Array::build::<T>(op, dims, |out| done = self.sums(op, g, image, result, out))?;
            return done.and(Ok(all));
        }
        let parts = &[self.batch_size, self.parts, n];
        let parts = Array::build::<T>(op, parts, |out| done = self.sums(op, g, image, result, out))?;
        done?;
        output::sum_of_parts::<T>(op, &parts, dims)
    }

    /// Writes the partial sums: `[batch_size, parts, filters, channels / groups, window]`.
    fn sums<T: ConvElement>(
        &self,
        op: &'static str,
        g: &Geometry,
        image: &Batched<'_, T>,
        result: &Batched<'_, T>,
        out: &mut [T],
    ) -> Result<()> {
        let (micro, layout, pass) = (T::microkernels(), &self.layout, &self.plan.passes[0]);
        let (planes, filters) = (g.channels / g.groups, g.filters / g.groups);
        let spots: usize = g.places.iter().product();
        let taps = pass.taps.len();
        let offsets: Vec<usize> = (0..planes)
            .flat_map(|c| pass.taps.iter().map(move |t| c * layout.plane() + layout.offset(t)))
            .collect();
        let depth = planes * taps;
        let most = layout.end(layout.images, layout.count(pass, 0)).next_multiple_of(micro.lanes);
        let height = filters.div_ceil(self.ranges);
        let plain = layout.bare && most == spots;
        let sizes = [layout.buffer(planes), if plain { 0 } else { height * most }, most];
        let work = self.plan.products().saturating_mul(depth / taps.max(1)).saturating_mul(height);
        let work = work.saturating_mul(layout.images * self.share) / layout.bands;
        let out = SendPtr(out.as_mut_ptr().cast());
        let pieces = self.batch_size * self.parts * g.groups * self.ranges;
        let scratch = sizes.iter().fold(0, |n: usize, &size| n.saturating_add(size));
        run_pieces_with_scratch(op, pieces, work, scratch, |piece, scratch: &mut [T]| {
            let (rest, range) = (piece / self.ranges, piece % self.ranges);
            let (rest, group) = (rest / g.groups, rest % g.groups);
            let (item, part) = (rest / self.parts, rest % self.parts);
            let first = (range * height).min(filters);
            let height = height.min(filters - first);
            // SAFETY: each piece has its own part, group and range of filters.
            let sums = unsafe {
                let at = (rest * g.groups + group) * filters + first;
                std::slice::from_raw_parts_mut(out.get().cast::<T>().add(at * depth), height * depth)
            };
            sums.fill(T::ZERO);
            let (buffer, scratch) = scratch.split_at_mut(sizes[0]);
            let (results, mask) = scratch.split_at_mut(sizes[1]);
            let (mut masked, mut work) = (None, 0);
            for unit in (part * self.share..(part + 1) * self.share).take_while(|&u| u < self.units) {
                let (start, band) = (unit / layout.bands * layout.images, unit % layout.bands);
                let images = layout.images.min(g.batch - start);
                let parts = || (start..start + images).map(|b| (b * g.groups + group, g.batch * g.groups));
                let count = layout.count(pass, band);
                let n = layout.end(images, count).next_multiple_of(micro.lanes);
                if masked != Some((images, count)) {
                    masked = Some((images, count));
                    mask.fill(T::ZERO);
                    results.fill(T::ZERO);
                    layout.each_row(images, count, |at, _, _| mask[at..at + count[2]].fill(T::KEPT));
                }
                let image = layout.lay(self.plan, image, item, parts(), band, &mut *buffer);
                let (rows, apart): (&[T], usize) = if plain {
                    let (part, parts) = parts().next().expect("an image");
                    (&result.part(item, part, parts)[first * spots..], spots)
                } else {
                    for (slot, (part, parts)) in parts().enumerate() {
                        let from = result.part(item, part, parts);
                        layout.each_row(1, count, |at, _, mut place| {
                            place[layout.axis] += band * layout.rows;
                            let at = at + slot * layout.steps[0];
                            let place = index(place, g.places);
                            for f in 0..height {
                                results[f * most + at..][..count[2]]
                                    .copy_from_slice(&from[(first + f) * spots + place..][..count[2]]);
                            }
                        });
                    }
                    (results, most)
                };
                // Non-finite numbers between the rows of places must be masked; finite ones are multiplied with
                // zeros.
                let mask = non_finite::has_non_finite(image).then_some(&*mask);
                // SAFETY: the rows have `n` elements, and the image has `n` from each offset on, with the slack.
                unsafe { dots(micro, (rows, apart, height), (image, &offsets), mask, n, sums, &mut work) };
            }
        })
    }
}

/// Adds the inner products of all rows with the image from each offset on, masked if there is a mask.
///
/// # Safety
/// Rows, image and mask have `n` elements from there on.
unsafe fn dots<T: ConvElement>(
    micro: &Microkernels<T>,
    (rows, apart, height): (&[T], usize, usize),
    (image, offsets): (&[T], &[usize]),
    mask: Option<&[T]>,
    n: usize,
    sums: &mut [T],
    work: &mut usize,
) {
    let (mut first, depth) = (0, sums.len() / height.max(1));
    let kept = mask.map_or(std::ptr::null(), <[T]>::as_ptr);
    while first < height {
        let (block, products) = micro.dots(height - first, mask.is_some());
        let block = block.min(height - first);
        let at: [usize; DOWN] = std::array::from_fn(|i| (first + i.min(block - 1)) * apart);
        for (c, offsets) in offsets.chunks(ACROSS).enumerate() {
            let columns: [usize; ACROSS] = std::array::from_fn(|j| offsets[j.min(offsets.len() - 1)]);
            let mut out = [[T::ZERO; ACROSS]; DOWN];
            interrupt::count(work, n * block * ACROSS);
            // SAFETY: as the function's `# Safety` section requires.
            unsafe { products(rows.as_ptr(), &at, image.as_ptr(), &columns, kept, n, &mut out) };
            for (i, out) in out.iter().enumerate().take(block) {
                let to = &mut sums[(first + i) * depth..][c * ACROSS..][..offsets.len()];
                to.iter_mut().zip(out).for_each(|(o, &v)| *o = o.add(v));
            }
        }
        first += block;
    }
}
