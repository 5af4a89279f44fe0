//! The result and the image of a convolution where channels are last in memory: each pixel is a row of channels, which are the
//! columns of a tile. The terms of a sum are added in the order of [`ConvJob::run`], so the bits are the same.

use std::ops::Range;

use super::direct;
use super::geometry::{Axes, Batched, ConvArray, Geometry, index};
use super::pixels::{PixelDepth, PixelTiles};
use super::plan::{PIECES, Pass, ShiftPlan, Tap, grid};
use super::shifted::ConvJob;
use super::threads::{PARALLEL, run_pieces};
use super::tiles::ConvElement;
use crate::array::Array;
use crate::error::{Error, Result};
use crate::kernel::interrupt;
use crate::kernel::output;
use crate::kernel::par::SendPtr;
use crate::kernel::reduce::non_finite::NonFinite;
use crate::shape::Dims;

/// Images whose channels are last in memory, with the channels as their last axis: their axis of channels is the one before the
/// last `axes`. None if they have one channel, or lie in another order.
pub fn with_channels_last(x: &Array, axes: usize) -> Option<Array> {
    let at = x.rank().checked_sub(axes + 1)?;
    if x.dims()[at] < 2 || x.is_contiguous() {
        return None;
    }
    Some(x.permute(&last_order(x.rank(), at))).filter(Array::is_contiguous)
}

/// The inverse of [`with_channels_last`].
pub fn with_channels_first(x: &Array, axes: usize) -> Array {
    let (at, last) = (x.rank() - axes - 1, x.rank() - 1);
    x.permute(&(0..at).chain([last]).chain(at..last).collect::<Dims>())
}

/// The order of axes that makes axis `at` the last one.
fn last_order(rank: usize, at: usize) -> Dims {
    (0..at).chain(at + 1..rank).chain([at]).collect()
}

/// The array `out` of a convolution, with its channels last, if its source or its weight has them so and tiles fit.
///
/// # Errors
/// Memory ends.
pub fn convolve<T: ConvElement>(
    op: &'static str,
    g: &Geometry,
    out: ConvArray,
    [a, b]: [&Array; 2],
) -> Result<Option<Array>> {
    let (source, weight) = if out == ConvArray::Result { (a, b) } else { (b, a) };
    let own = with_channels_last(source, g.axes);
    if own.is_none() && with_channels_last(weight, g.axes).is_none() {
        return Ok(None);
    }
    let Some((job, plan)) = ConvJob::of(g, out, 1) else { return Ok(None) };
    if direct::pays(&plan, job.planes, job.rows) || plan.must_not_pad(weight, NonFinite::Any) {
        return Ok(None);
    }
    let fits = |tiles: &&PixelTiles<T>| job.rows.is_multiple_of(tiles.columns);
    let Some(tiles) = T::microkernels_for(job.products(&plan)).pixels.iter().find(fits) else {
        return Ok(None);
    };
    let source = match own {
        Some(source) => source,
        None => source.permute(&last_order(source.rank(), 1)).contiguous()?,
    };
    let dims = g.dims(out);
    let dims: Dims = last_order(dims.len(), 1).iter().map(|&a| dims[a]).collect();
    let weight = weight.contiguous()?;
    let all = job.run_with_channels_last(op, tiles, &plan, &Batched::of(&weight, &[]), &source, &dims)?;
    Ok(Some(with_channels_first(&all, g.axes)))
}

/// The size of a source with zeros around it, so that taps read nothing else.
struct Padded {
    before: Axes,
    size: Axes,
}

impl Padded {
    fn new(plan: &ShiftPlan) -> Padded {
        let taps = || plan.passes.iter().flat_map(|pass| pass.taps.iter().map(move |tap| (pass, tap)));
        let before = std::array::from_fn(|a| {
            taps().map(|(_, tap)| tap.at[a].min(0).unsigned_abs()).max().unwrap_or(0)
        });
        let end = |a: usize, pass: &Pass, at: isize| {
            (pass.count[a].saturating_sub(1) * plan.step[a]).saturating_add_signed(at) + 1
        };
        let size = std::array::from_fn(|a| {
            let most = taps().map(|(pass, tap)| end(a, pass, tap.at[a])).max().unwrap_or(0);
            before[a] + most.max(plan.source[a])
        });
        Padded { before, size }
    }

    /// The pixels of this number of channels, among zeros.
    fn copy<T: ConvElement>(
        &self,
        op: &'static str,
        source: &Array,
        from: Axes,
        channels: usize,
    ) -> Result<Array> {
        let [each, padded] = [from, self.size].map(|size| size.iter().product::<usize>() * channels);
        let all = source.as_slice::<T>().expect("contiguous");
        output::build::<T>(op, &[all.len() / each.max(1), padded], padded, |first, out| {
            out.fill(T::ZERO);
            for (image, out) in (first..).zip(out.chunks_exact_mut(padded.max(1))) {
                let image = &all[image * each..][..each];
                let row = from[2] * channels;
                for (k, [i, j, _]) in grid([from[0], from[1], 1]).enumerate() {
                    let [before, above, left] = self.before;
                    let at = index([i + before, j + above, left], self.size) * channels;
                    out[at..][..row].copy_from_slice(&image[k * row..][..row]);
                }
            }
        })
    }

    /// How far a tap reads from where the pixel of a place would be without the zeros before.
    fn offset(&self, at: [isize; 3], channels: usize) -> usize {
        let at: Axes = std::array::from_fn(|a| self.before[a].saturating_add_signed(at[a]));
        index(at, self.size) * channels
    }
}

impl ConvJob {
    /// [`ConvJob::run`] for a contiguous source and a result with the channels as their last axis.
    fn run_with_channels_last<T: ConvElement>(
        &self,
        op: &'static str,
        tiles: &PixelTiles<T>,
        plan: &ShiftPlan,
        weight: &Batched<'_, T>,
        source: &Array,
        dims: &[usize],
    ) -> Result<Array> {
        let channels = self.planes * self.groups;
        let padded = Padded::new(plan);
        let is_bare = padded.size == plan.source;
        let own =
            if is_bare { source.clone() } else { padded.copy::<T>(op, source, plan.source, channels)? };
        let all = own.as_slice::<T>().expect("contiguous");
        let image = padded.size.iter().product::<usize>() * channels;
        let packed = self.packed_in_columns(tiles, plan, weight);
        let pixels: usize = self.size.iter().product();
        let axis = (0..3).find(|&a| self.size[a] > 1).unwrap_or(2);
        let bands = PIECES.div_ceil(self.batch).min(self.size[axis]);
        let work = self.products(plan) / (self.batch * bands).max(1);
        Array::build::<T>(op, dims, |out| {
            if plan.gaps {
                out.fill(T::ZERO);
            }
            let out = SendPtr(out.as_mut_ptr().cast());
            run_pieces(self.batch * bands, work, PARALLEL / 4, &|range| {
                for (item, band) in range.map(|piece| (piece / bands, piece % bands)) {
                    let band = |n: usize| n * band / bands..n * (band + 1) / bands;
                    let from = &all[item * image..][..image];
                    // SAFETY: the output has this many pixels for each image, and no other piece writes those of this band.
                    unsafe {
                        let to = out.get().cast::<T>().add(item * pixels * self.rows * self.groups);
                        self.band_of_pixels(tiles, plan, &padded, &packed, from, (axis, &band), to);
                    }
                }
            });
        })
    }

    /// Computes a band of an image: of each pass the pixels whose places along the axis are in the band.
    ///
    /// # Safety
    /// `out` is the image's first pixel, and nobody else uses the pixels of this band. `from` is padded.
    #[expect(
        clippy::too_many_arguments,
        reason = "one place of call; the loops are worth their own function"
    )]
    unsafe fn band_of_pixels<T: ConvElement>(
        &self,
        tiles: &PixelTiles<T>,
        plan: &ShiftPlan,
        padded: &Padded,
        packed: &[T],
        from: &[T],
        (axis, band): (usize, &dyn Fn(usize) -> Range<usize>),
        out: *mut T,
    ) {
        let (channels, width) = (self.planes * self.groups, self.rows * self.groups);
        let (mut done, mut panels) = (0, packed);
        for group in 0..self.groups {
            for pass in &plan.passes {
                let offset = |tap: &Tap| padded.offset(tap.at, channels) + group * self.planes;
                let offsets: Vec<usize> = pass.taps.iter().map(offset).collect();
                let depth = PixelDepth { planes: self.planes, offsets: &offsets };
                let (mut count, numbers) = (pass.count, band(pass.count[axis]));
                count[axis] = numbers.len();
                for block in (0..self.rows).step_by(tiles.columns) {
                    let (weights, rest) = panels.split_at(tiles.columns * self.planes * offsets.len());
                    panels = rest;
                    for [i, j, _] in grid([count[0], count[1], count[2].min(1)]) {
                        interrupt::count(&mut done, count[2] * self.planes * offsets.len());
                        let mut place = [i, j, 0];
                        place[axis] += numbers.start;
                        let at = index(std::array::from_fn(|a| place[a] * plan.step[a]), padded.size);
                        let to: Axes = std::array::from_fn(|a| pass.first[a] + place[a] * pass.step[a]);
                        let to = index(to, self.size) * width + group * self.rows + block;
                        let steps = (plan.step[2] * channels, pass.step[2] * width);
                        // SAFETY: as the function's `# Safety` section requires; the padded image has what taps read for
                        // all places, and the panel has the weights of this block.
                        unsafe {
                            let a = from.as_ptr().add(at * channels);
                            tiles.row(a, weights.as_ptr(), &depth, out.add(to), steps, count[2]);
                        }
                    }
                }
            }
        }
    }

    /// The weight of each group and pass: for each block of columns, the elements of a plane and a tap side by side.
    fn packed_in_columns<T: ConvElement>(
        &self,
        tiles: &PixelTiles<T>,
        plan: &ShiftPlan,
        weight: &Batched<'_, T>,
    ) -> Vec<T> {
        let taps: usize = plan.passes.iter().map(|pass| pass.taps.len()).sum();
        let count = self.groups * self.rows * self.planes * taps;
        Error::ensure_memory(count * size_of::<T>());
        let mut all = Vec::with_capacity(count);
        for group in 0..self.groups {
            let from = weight.part(0, group, self.groups);
            for pass in &plan.passes {
                for block in (0..self.rows).step_by(tiles.columns) {
                    for plane in 0..self.planes {
                        for tap in &pass.taps {
                            let row = |q: usize| (block + q) * self.steps[0];
                            let at = plane * self.steps[1] + tap.window;
                            all.extend((0..tiles.columns).map(|q| from[row(q) + at]));
                        }
                    }
                }
            }
        }
        all
    }
}
