//! Convolutions of images as matrix products: the windows of a tile of places become the columns of a matrix.

use std::ops::Range;

use super::map::Shared;
use super::matmul::product_into;
use super::num::Num;
use super::par;
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::{Result, bail};
use crate::shape::{self, Dims};

/// The sizes of a convolution: `result[b, f, p] = Σ image[b, c, p · stride + k · dilation - before] · weight[f, c, k]`.
#[derive(Clone, Debug)]
pub struct Geometry {
    pub batch: usize,
    pub channels: usize,
    pub filters: usize,
    pub groups: usize,
    pub image: [usize; 2],
    pub window: [usize; 2],
    pub places: [usize; 2],
    pub stride: [usize; 2],
    pub dilation: [usize; 2],
    /// Rows and columns of padding before the image.
    pub before: [usize; 2],
}

/// The three arrays of a convolution, each linear in the two others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Third {
    Image,
    Weight,
    Result,
}

impl Geometry {
    pub fn dims(&self, third: Third) -> [usize; 4] {
        match third {
            Third::Image => [self.batch, self.channels, self.image[0], self.image[1]],
            Third::Weight => [self.filters, self.channels / self.groups, self.window[0], self.window[1]],
            Third::Result => [self.batch, self.filters, self.places[0], self.places[1]],
        }
    }

    /// Elements of a window over the channels of a group.
    fn depth(&self) -> usize {
        self.channels / self.groups * self.window[0] * self.window[1]
    }

    fn own_filters(&self) -> usize {
        self.filters / self.groups
    }

    fn spots(&self) -> usize {
        self.places[0] * self.places[1]
    }

    fn pixels(&self) -> usize {
        self.image[0] * self.image[1]
    }

    /// Places whose windows fit into the cache together.
    fn tile(&self) -> usize {
        ((1 << 16) / self.depth().max(1)).clamp(32, self.spots().max(32))
    }

    fn tiles(&self) -> usize {
        self.spots().div_ceil(self.tile())
    }

    fn places_of(&self, tile: usize) -> Range<usize> {
        tile * self.tile()..((tile + 1) * self.tile()).min(self.spots())
    }

    /// Whether the windows are the pixels themselves.
    fn is_plain(&self) -> bool {
        self.window == [1, 1] && self.stride == [1, 1] && self.before == [0, 0] && self.places == self.image
    }

    /// Calls `f` with each run of places in a row of windows: the row of the window matrix, the first column, their
    /// number, and where the first pixel is and how far apart they are; none for places outside of the image.
    fn runs(&self, places: &Range<usize>, mut f: impl FnMut(usize, usize, usize, Option<(usize, usize)>)) {
        let [kh, kw] = self.window;
        let [height, width] = self.image;
        let across = self.places[1];
        for row in 0..self.depth() {
            let (c, y, x) = (row / (kh * kw), row / kw % kh, row % kw);
            let mut at = places.start;
            while at < places.end {
                let (py, px) = (at / across, at % across);
                let n = (across - px).min(places.end - at);
                let column = at - places.start;
                at += n;
                let iy = (py * self.stride[0] + y * self.dilation[0]).wrapping_sub(self.before[0]);
                if iy >= height {
                    f(row, column, n, None);
                    continue;
                }
                // The places of this run whose pixel lies inside, by the first and the last of them.
                let shift = x * self.dilation[1];
                let inside = |p: usize| (p * self.stride[1] + shift).wrapping_sub(self.before[1]);
                let first = self.before[1].saturating_sub(shift).div_ceil(self.stride[1]).clamp(px, px + n);
                let past = (width + self.before[1])
                    .saturating_sub(shift)
                    .div_ceil(self.stride[1])
                    .clamp(first, px + n);
                f(row, column, first - px, None);
                if first < past {
                    let pixel = (c * height + iy) * width + inside(first);
                    f(row, column + first - px, past - first, Some((pixel, self.stride[1])));
                }
                f(row, column + past - px, px + n - past, None);
            }
        }
    }

    /// Writes the windows of these places into the columns of a matrix.
    fn gather<T: Num>(&self, image: &[T], places: &Range<usize>, columns: &mut [T]) {
        let width = places.len();
        self.runs(places, |row, column, n, pixels| {
            let to = &mut columns[row * width + column..][..n];
            match pixels {
                None => to.fill(T::ZERO),
                Some((at, 1)) => to.copy_from_slice(&image[at..at + n]),
                Some((at, step)) => {
                    to.iter_mut().zip(image[at..].iter().step_by(step)).for_each(|(o, &v)| *o = v)
                }
            }
        });
    }

    /// Adds the columns of a matrix to the windows of these places.
    fn scatter<T: Num>(&self, columns: &[T], places: &Range<usize>, image: &mut [T]) {
        let width = places.len();
        self.runs(places, |row, column, n, pixels| {
            let Some((at, step)) = pixels else { return };
            let from = &columns[row * width + column..][..n];
            image[at..].iter_mut().step_by(step).zip(from).for_each(|(o, &v)| *o = o.add(v));
        });
    }
}

/// One of the three arrays, from the two others in the order of [`Third`]. `lanes` hidden axes lead both.
pub fn third(
    op: &'static str,
    g: &Geometry,
    out: Third,
    a: &Array,
    b: &Array,
    lanes: usize,
) -> Result<Array> {
    let lead = shape::broadcast(op, &a.dims()[..lanes], &b.dims()[..lanes])?;
    let laid = |x: &Array| -> Result<Array> {
        let x = x.contiguous()?;
        let dims: Dims = lead.iter().chain(&x.dims()[lanes..]).copied().collect();
        Ok(x.expand(&dims, 0))
    };
    let (a, b) = (laid(a)?, laid(b)?);
    let dims: Dims = lead.iter().copied().chain(g.dims(out)).collect();
    dispatch!(a.dtype(), float T => {
        let (from_a, from_b) = (Lanes::<T>::of(&a, &lead), Lanes::<T>::of(&b, &lead));
        let count: usize = lead.iter().product();
        match out {
            Third::Result => Array::build::<T>(op, &dims, |o| result(g, count, &from_a, &from_b, o)),
            Third::Image => Array::build::<T>(op, &dims, |o| image(g, count, &from_a, &from_b, o)),
            Third::Weight => {
                let parts = weight_parts(g, count);
                let [f, c, h, w] = g.dims(Third::Weight);
                let partial = Array::build::<T>(op, &[count, parts, f, c, h, w], |o| weight(g, count, parts, &from_a, &from_b, o))?;
                let partial = partial.as_slice::<T>().expect("just built");
                Array::build::<T>(op, &dims, |o| {
                    o.fill(T::ZERO);
                    let n = f * c * h * w;
                    for (o, lane) in o.chunks_exact_mut(n.max(1)).zip(partial.chunks_exact((parts * n).max(1))) {
                        for part in lane.chunks_exact(n.max(1)) {
                            o.iter_mut().zip(part).for_each(|(o, &v)| *o = Num::add(*o, v));
                        }
                    }
                })
            }
        }
    }, else bail!(Dtype, op, "not defined for {}", a.dtype()))
}

/// The contiguous elements of each lane of an array.
struct Lanes<'a, T> {
    x: &'a Array,
    lead: &'a [usize],
    each: usize,
    of: std::marker::PhantomData<T>,
}

impl<'a, T: Num> Lanes<'a, T> {
    fn of(x: &'a Array, lead: &'a [usize]) -> Lanes<'a, T> {
        Lanes { x, lead, each: shape::len(&x.dims()[lead.len()..]), of: std::marker::PhantomData }
    }

    fn lane(&self, i: usize) -> &'a [T] {
        let at = shape::offset(i, self.lead, &self.x.strides());
        // SAFETY: `third` made the axes after the hidden ones contiguous, and the offset is that of a lane's first element.
        unsafe { std::slice::from_raw_parts(self.x.ptr().cast::<T>().offset(at), self.each) }
    }

    /// Part `i` of a lane's `n` equal parts.
    fn part(&self, lane: usize, i: usize, n: usize) -> &'a [T] {
        let size = self.each / n.max(1);
        &self.lane(lane)[i * size..(i + 1) * size]
    }
}

/// Runs `work` on every piece, in parallel if there is enough to do; `scratch` elements are lent to each call.
fn each_piece<T: Num>(pieces: usize, work: usize, scratch: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    let run = |r: Range<usize>| {
        let mut columns = vec![T::ZERO; scratch];
        r.for_each(|i| f(i, &mut columns));
    };
    const PARALLEL: usize = 1 << 18;
    if work.saturating_mul(pieces) < PARALLEL {
        run(0..pieces);
    } else {
        par::pieces(pieces, (PARALLEL / 4).div_ceil(work.max(1)), &run);
    }
}

fn result<T: Num>(g: &Geometry, lanes: usize, image: &Lanes<'_, T>, weight: &Lanes<'_, T>, out: &mut [T]) {
    let (depth, filters, spots) = (g.depth(), g.own_filters(), g.spots());
    let out = Shared(out.as_mut_ptr().cast());
    let pieces = lanes * g.batch * g.groups * g.tiles();
    let scratch = if g.is_plain() { 0 } else { depth * g.tile() };
    each_piece(pieces, depth.saturating_mul(filters).saturating_mul(g.tile()), scratch, |piece, columns| {
        let (rest, tile) = (piece / g.tiles(), piece % g.tiles());
        let (image_at, group) = (rest, rest % g.groups);
        let (lane, places) = (rest / g.groups / g.batch, g.places_of(tile));
        let pixels = image.part(lane, image_at % (g.batch * g.groups), g.batch * g.groups);
        let weight = weight.part(lane, group, g.groups);
        let (windows, run) = if g.is_plain() {
            (pixels[places.start.min(pixels.len())..].as_ptr(), spots)
        } else {
            g.gather(pixels, &places, columns);
            (columns.as_ptr(), places.len())
        };
        // SAFETY: `[filters, depth] @ [depth, places]`, written to the places of this piece's own part of the output.
        unsafe {
            let to = out.get().cast::<T>().add(rest * filters * spots + places.start);
            let weight = (weight.as_ptr(), depth as isize, 1);
            product_into(
                (filters, depth, places.len()),
                weight,
                (windows, run as isize, 1),
                to,
                spots,
                false,
            );
        }
    });
}

fn image<T: Num>(g: &Geometry, lanes: usize, weight: &Lanes<'_, T>, result: &Lanes<'_, T>, out: &mut [T]) {
    let (depth, filters, spots) = (g.depth(), g.own_filters(), g.spots());
    let size = g.channels / g.groups * g.pixels();
    let out = Shared(out.as_mut_ptr().cast());
    let work = depth.saturating_mul(filters).saturating_mul(spots);
    each_piece(lanes * g.batch * g.groups, work, depth * g.tile(), |piece, columns| {
        let (lane, group) = (piece / g.groups / g.batch, piece % g.groups);
        let g_part = result.part(lane, piece % (g.batch * g.groups), g.batch * g.groups);
        let weight = weight.part(lane, group, g.groups);
        // SAFETY: the pixels of this piece's group of channels.
        let pixels = unsafe { std::slice::from_raw_parts_mut(out.get().cast::<T>().add(piece * size), size) };
        pixels.fill(T::ZERO);
        for places in (0..g.tiles()).map(|t| g.places_of(t)) {
            // SAFETY: `[depth, filters] @ [filters, places]`, written to the scratch columns.
            unsafe {
                let weight = (weight.as_ptr(), 1, depth as isize);
                let from = (g_part.as_ptr().add(places.start), spots as isize, 1);
                product_into(
                    (depth, filters, places.len()),
                    weight,
                    from,
                    columns.as_mut_ptr(),
                    places.len(),
                    false,
                );
            }
            g.scatter(columns, &places, pixels);
        }
    });
}

/// Into how many sums over a part of the batch the gradient of the weight is split: by sizes alone.
fn weight_parts(g: &Geometry, lanes: usize) -> usize {
    if lanes * g.groups >= 8 { 1 } else { g.batch.clamp(1, 8) }
}

fn weight<T: Num>(
    g: &Geometry,
    lanes: usize,
    parts: usize,
    image: &Lanes<'_, T>,
    result: &Lanes<'_, T>,
    out: &mut [T],
) {
    let (depth, filters, spots) = (g.depth(), g.own_filters(), g.spots());
    let size = filters * depth;
    let out = Shared(out.as_mut_ptr().cast());
    let share = g.batch.div_ceil(parts);
    let work = depth.saturating_mul(filters).saturating_mul(spots).saturating_mul(share);
    each_piece(lanes * parts * g.groups, work, depth * g.tile(), |piece, columns| {
        let (group, part) = (piece % g.groups, piece / g.groups % parts);
        let lane = piece / g.groups / parts;
        // SAFETY: the sum of this piece, of the filters of its group.
        let to = unsafe { std::slice::from_raw_parts_mut(out.get().cast::<T>().add(piece * size), size) };
        to.fill(T::ZERO);
        for b in (part * share..(part + 1) * share).take_while(|&b| b < g.batch) {
            let pixels = image.part(lane, b * g.groups + group, g.batch * g.groups);
            let g_part = result.part(lane, b * g.groups + group, g.batch * g.groups);
            for places in (0..g.tiles()).map(|t| g.places_of(t)) {
                g.gather(pixels, &places, columns);
                // SAFETY: `[filters, places] @ [places, depth]`, added to this piece's own sum.
                unsafe {
                    let from = (g_part.as_ptr().add(places.start), spots as isize, 1);
                    let windows = (columns.as_ptr(), 1, places.len() as isize);
                    product_into((filters, places.len(), depth), from, windows, to.as_mut_ptr(), depth, true);
                }
            }
        }
    });
}
