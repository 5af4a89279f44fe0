//! The weight of a convolution where channels are last in memory: sums over pixels of products of their channels. Parts of the
//! pixels are summed apart, and the parts are added in a fixed order, which is another one than that of C order.

use std::ops::Range;

use super::depthwise;
use super::geometry::{Axes, Geometry, index};
use super::padded::Padded;
use super::pixels::{PixelDepth, PixelTiles};
use super::plan::ShiftPlan;
use super::threads::{PARALLEL, run_pieces};
use super::tiles::ConvElement;
use super::weight::{PARTS, SUMS};
use crate::array::Array;
use crate::error::Result;
use crate::kernel::channels::laid_channels_last;
use crate::kernel::interrupt;
use crate::kernel::output;
use crate::kernel::par::SendPtr;
use crate::kernel::reduce::non_finite::NonFinite;
use crate::shape::Dims;

/// Pixels whose products are summed in registers, before the sum is added to the others.
const RUN: usize = 256;
/// The most elements of a tile.
const TILE: usize = 6 * 64;

/// The weight of a convolution, from an image and a result. One of them has its channels last. None if no loop fits.
///
/// # Errors
/// Memory ends.
pub fn weight<T: ConvElement>(
    op: &'static str,
    g: &Geometry,
    [image, result]: [&Array; 2],
) -> Result<Option<Array>> {
    let plan = ShiftPlan::forward(g);
    let products = plan.products().saturating_mul(g.channels / g.groups * g.filters).saturating_mul(g.batch);
    let fits = |tiles: &&PixelTiles<T>| g.groups == 1 && g.filters.is_multiple_of(tiles.columns);
    let tiles = T::microkernels_for(products).pixels.iter().find(fits);
    if tiles.is_none() && !depthwise::fits::<T>(g) {
        return Ok(None);
    }
    let padded = Padded::new(&plan);
    let image = padded.source::<T>(op, &plan, &laid_channels_last(image, g.axes)?, g.channels)?;
    let result = laid_channels_last(result, g.axes)?;
    let [image, result] = [&image, &result].map(|x| x.as_slice::<T>().expect("contiguous"));
    let sums = PixelSums { g, plan: &plan, padded: &padded, image, result };
    let all = match tiles {
        Some(tiles) => {
            let runs = sums.runs();
            let piece = |run: usize, pixels: Range<usize>, out: &mut [T]| {
                sums.dense(tiles, runs[run].clone(), pixels, out);
            };
            let sizes: Vec<usize> = runs.iter().map(|run| run.len() * g.filters).collect();
            sums.in_parts(op, products, &sizes, &piece)?
        }
        None => {
            let taps = sums.taps();
            let piece = |_: usize, pixels: Range<usize>, out: &mut [T]| sums.depthwise(&taps, pixels, out);
            sums.in_parts(op, products, &[taps.len() * g.channels], &piece)?
        }
    };
    Ok(Some(all).filter(|all| !plan.must_not_pad(all, NonFinite::Nan)))
}

/// Adds sums over some pixels to the list that has this number.
type Piece<'a, T> = dyn Fn(usize, Range<usize>, &mut [T]) + Sync + 'a;

/// The factors of the sums: a padded image and a result, both contiguous with the channels last.
struct PixelSums<'a, T> {
    g: &'a Geometry,
    plan: &'a ShiftPlan,
    padded: &'a Padded,
    image: &'a [T],
    result: &'a [T],
}

impl<T: ConvElement> PixelSums<'_, T> {
    /// Where the taps read the image for the first place.
    fn taps(&self) -> Vec<usize> {
        let taps = &self.plan.passes[0].taps;
        taps.iter().map(|tap| self.padded.offset(tap.at, self.g.channels)).collect()
    }

    /// The channels of all taps. Those of taps side by side are one range.
    fn runs(&self) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = vec![];
        for tap in self.taps() {
            match runs.last_mut() {
                Some(run) if run.end == tap => run.end += self.g.channels,
                _ => runs.push(tap..tap + self.g.channels),
            }
        }
        runs
    }

    /// The weight from the sums of `f` over the pixels of each part, which are written one after the other in lists of these
    /// sizes: `[window, channels of a group, filters]` in all.
    fn in_parts(
        &self,
        op: &'static str,
        products: usize,
        sizes: &[usize],
        f: &Piece<'_, T>,
    ) -> Result<Array> {
        let (g, n) = (self.g, sizes.iter().sum::<usize>());
        let pixels = g.batch * g.places.iter().product::<usize>();
        let chunks = pixels.div_ceil(RUN);
        let parts = if products < PARALLEL { 1 } else { PARTS.min(SUMS / n.max(1)).clamp(1, chunks) };
        let starts: Vec<usize> = (0..sizes.len()).map(|i| sizes[..i].iter().sum()).collect();
        let all = Array::build::<T>(op, &[1, parts, n], |out| {
            out.fill(T::ZERO);
            let out = SendPtr(out.as_mut_ptr().cast());
            let pieces = parts * sizes.len();
            run_pieces(pieces, products / pieces.max(1), PARALLEL / 4, &|range| {
                let mut done = 0;
                for (part, which) in range.map(|piece| (piece / sizes.len(), piece % sizes.len())) {
                    // SAFETY: each piece has its own list of its part.
                    let out = unsafe {
                        let first = out.get().cast::<T>().add(part * n + starts[which]);
                        std::slice::from_raw_parts_mut(first, sizes[which])
                    };
                    for chunk in chunks * part / parts..chunks * (part + 1) / parts {
                        interrupt::count(&mut done, RUN * sizes[which]);
                        f(which, chunk * RUN..pixels.min((chunk + 1) * RUN), out);
                    }
                }
            });
        })?;
        let axes = 3 - g.axes;
        let dims: Dims = g.window[axes..].iter().copied().chain([g.channels / g.groups, g.filters]).collect();
        let sum = output::sum_of_parts::<T>(op, &all, &dims)?;
        let order: Dims = [g.axes + 1, g.axes].into_iter().chain(0..g.axes).collect();
        Ok(sum.permute(&order))
    }

    /// Where the pixels of some places, counted over all images, begin in the padded images.
    fn offsets(&self, pixels: Range<usize>) -> Vec<usize> {
        let ([_, rows, columns], channels) = (self.g.places, self.g.channels);
        let (each, image) = (self.g.places.iter().product::<usize>(), self.padded.elements(channels));
        let offset = |pixel: usize| {
            let (item, at) = (pixel / each, pixel % each);
            let at = [at / (rows * columns), at / columns % rows, at % columns];
            let place: Axes = std::array::from_fn(|a| at[a] * self.plan.step[a]);
            item * image + index(place, self.padded.size) * channels
        };
        let mut all = Vec::with_capacity(pixels.len());
        let mut next = pixels.start;
        while next < pixels.end {
            let (first, n) = (offset(next), (columns - next % columns).min(pixels.end - next));
            all.extend((0..n).map(|k| first + k * self.plan.step[2] * channels));
            next += n;
        }
        all
    }

    /// Adds the products of a range of the channels of taps with all filters, over some pixels: `[range, filters]`.
    fn dense(&self, tiles: &PixelTiles<T>, run: Range<usize>, pixels: Range<usize>, out: &mut [T]) {
        let filters = self.g.filters;
        let offsets = self.offsets(pixels.clone());
        let depth = PixelDepth { planes: 1, offsets: &offsets, apart: filters };
        let mut sums = [T::ZERO; TILE];
        for block in (0..filters).step_by(tiles.columns) {
            let mut row = 0;
            for &(m, tile) in &tiles.tiles {
                while row + m <= run.len() {
                    // SAFETY: the image has these channels of all taps for all pixels, and the result has all filters.
                    unsafe {
                        let a = self.image.as_ptr().add(run.start + row);
                        let b = self.result.as_ptr().add(pixels.start * filters + block);
                        tile(a, 1, b, &depth, sums.as_mut_ptr(), tiles.columns);
                    }
                    for (i, sums) in sums.chunks_exact(tiles.columns).take(m).enumerate() {
                        let out = &mut out[(row + i) * filters + block..][..tiles.columns];
                        out.iter_mut().zip(sums).for_each(|(o, &v)| *o = o.add(v));
                    }
                    row += m;
                }
            }
        }
    }

    /// Adds the products of each channel with its own filter, over some pixels: `[taps, channels]`.
    fn depthwise(&self, taps: &[usize], pixels: Range<usize>, out: &mut [T]) {
        let channels = self.g.channels;
        let offsets = self.offsets(pixels.clone());
        let products = T::microkernels().channel_products;
        // SAFETY: the image has what taps read for all pixels, and `out` has all channels of all taps.
        unsafe {
            let (a, b) = (self.image.as_ptr(), self.result.as_ptr().add(pixels.start * channels));
            products(a, b, &offsets, taps, channels, out.as_mut_ptr());
        }
    }
}
