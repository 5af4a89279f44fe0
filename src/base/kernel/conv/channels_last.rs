//! Convolutions where channels are last in memory: each pixel is a row of channels. Those of a result or an image are the columns
//! of a tile, and the terms of a sum are added in the order of [`ConvJob::run`], so the bits are the same.

use std::ops::Range;

use super::depthwise;
use super::direct;
use super::geometry::{Axes, Batched, ConvArray, Geometry, index};
use super::padded::Padded;
use super::pixel_weight;
use super::pixels::{PixelDepth, PixelTiles};
use super::plan::{PIECES, Pass, ShiftPlan, Tap, grid};
use super::shifted::ConvJob;
use super::threads::{PARALLEL, run_pieces};
use super::tiles::ConvElement;
use crate::array::Array;
use crate::error::{Error, Result};
use crate::kernel::channels::{laid_channels_last, last_order, with_channels_first, with_channels_last};
use crate::kernel::interrupt;
use crate::kernel::par::SendPtr;
use crate::kernel::reduce::non_finite::NonFinite;
use crate::shape::Dims;

/// The array `out` of a convolution, with its channels last, if one that it is computed from has them so and loops fit.
///
/// # Errors
/// Memory ends.
pub fn convolve<T: ConvElement>(
    op: &'static str,
    g: &Geometry,
    out: ConvArray,
    [a, b]: [&Array; 2],
) -> Result<Option<Array>> {
    if [a, b].iter().all(|x| with_channels_last(x, g.axes).is_none()) {
        return Ok(None);
    }
    let Some((job, plan)) = ConvJob::of(g, out, 1) else {
        return pixel_weight::weight::<T>(op, g, [a, b]);
    };
    let (source, weight) = if out == ConvArray::Result { (a, b) } else { (b, a) };
    if plan.must_not_pad(weight, NonFinite::Any) {
        return Ok(None);
    }
    let weight = weight.contiguous()?;
    let (weight, dims) = (Batched::of(&weight, &[]), channels_last_dims(g, out));
    let all = if depthwise::fits::<T>(g) {
        job.depthwise::<T>(op, &plan, &weight, &laid_channels_last(source, g.axes)?, &dims)?
    } else {
        let fits = |tiles: &&PixelTiles<T>| job.rows.is_multiple_of(tiles.columns);
        let tiles = T::microkernels_for(job.products(&plan)).pixels.iter().find(fits);
        let Some(tiles) = tiles.filter(|_| !direct::pays(&plan, job.planes, job.rows)) else {
            return Ok(None);
        };
        job.run_with_channels_last(op, tiles, &plan, &weight, &laid_channels_last(source, g.axes)?, &dims)?
    };
    Ok(Some(with_channels_first(&all, g.axes)))
}

/// The shape of an array with the channels as its last axis.
fn channels_last_dims(g: &Geometry, out: ConvArray) -> Dims {
    let dims = g.dims(out);
    last_order(dims.len(), 1).iter().map(|&a| dims[a]).collect()
}

/// An axis, and the part of its places that a piece of work computes.
pub struct Band<'a> {
    axis: usize,
    part: &'a dyn Fn(usize) -> Range<usize>,
}

impl ConvJob {
    /// The result, with the channels as its last axis. `f` computes a band of an image. It gets the image among its zeros, the band,
    /// and the first pixel of the image's result. Nobody else uses the pixels of the band meanwhile.
    pub fn each_band<T: ConvElement>(
        &self,
        op: &'static str,
        plan: &ShiftPlan,
        (source, image): (&Array, usize),
        dims: &[usize],
        f: impl Fn(&[T], &Band<'_>, *mut T) + Sync,
    ) -> Result<Array> {
        let all = source.as_slice::<T>().expect("contiguous");
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
                    let part = |n: usize| n * band / bands..n * (band + 1) / bands;
                    // SAFETY: the output has this many pixels for each image.
                    let to = unsafe { out.get().cast::<T>().add(item * pixels * self.rows * self.groups) };
                    f(&all[item * image..][..image], &Band { axis, part: &part }, to);
                }
            });
        })
    }

    /// Calls `f` with each row of the places of a pass that are in a band: the pixel of the padded source from which taps are
    /// counted, the first pixel of the result, and the number of places.
    pub fn each_row(
        &self,
        plan: &ShiftPlan,
        padded: &Padded,
        pass: &Pass,
        band: &Band<'_>,
        mut f: impl FnMut(usize, usize, usize),
    ) {
        let (mut count, numbers) = (pass.count, (band.part)(pass.count[band.axis]));
        count[band.axis] = numbers.len();
        for [i, j, _] in grid([count[0], count[1], count[2].min(1)]) {
            let mut place = [i, j, 0];
            place[band.axis] += numbers.start;
            let at = index(std::array::from_fn(|a| place[a] * plan.step[a]), padded.size);
            let to: Axes = std::array::from_fn(|a| pass.first[a] + place[a] * pass.step[a]);
            f(at, index(to, self.size), count[2]);
        }
    }

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
        let (channels, width) = (self.planes * self.groups, self.rows * self.groups);
        let padded = Padded::new(plan);
        let source = padded.source::<T>(op, plan, source, channels)?;
        let packed = self.packed_in_columns(tiles, plan, weight);
        let passes = || (0..self.groups).flat_map(|group| plan.passes.iter().map(move |pass| (group, pass)));
        self.each_band::<T>(op, plan, (&source, padded.elements(channels)), dims, |from, band, out| {
            let (mut done, mut panels) = (0, &packed[..]);
            for (group, pass) in passes() {
                let offset = |tap: &Tap| padded.offset(tap.at, channels) + group * self.planes;
                let offsets: Vec<usize> = pass.taps.iter().map(offset).collect();
                let depth = PixelDepth { planes: self.planes, offsets: &offsets, apart: tiles.columns };
                let steps = (plan.step[2] * channels, pass.step[2] * width);
                for block in (0..self.rows).step_by(tiles.columns) {
                    let (weights, rest) = panels.split_at(tiles.columns * self.planes * offsets.len());
                    panels = rest;
                    self.each_row(plan, &padded, pass, band, |at, to, n| {
                        interrupt::count(&mut done, n * self.planes * offsets.len());
                        // SAFETY: the padded image has what taps read for all places, the panel has the weights of this block,
                        // and nobody else uses these pixels of the result.
                        unsafe {
                            let out = out.add(to * width + group * self.rows + block);
                            let a = from.as_ptr().add(at * channels);
                            tiles.row(a, weights.as_ptr(), &depth, out, steps, n);
                        }
                    });
                }
            }
        })
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
