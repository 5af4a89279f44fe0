//! Pooling: maxima and sums of windows, and the transpose of the sums.

use std::ops::Range;

use super::geometry::Axes;
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::{Result, bail};
use crate::kernel::channels::{with_channels_first, with_channels_last};
use crate::kernel::num::{Field, Num};
use crate::kernel::{interrupt, output, simd};
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// The windows of a pooling. Along each axis, a window has every `dilation`-th pixel of its span.
#[derive(Clone, Debug, Stored)]
pub struct Windows {
    pub image: Axes,
    pub spans: [Vec<Range<usize>>; 3],
    pub dilation: Axes,
}

impl Windows {
    pub fn places(&self) -> Axes {
        std::array::from_fn(|a| self.spans[a].len())
    }

    /// The numbers of pixels and of places. None if there are more than any array has.
    pub fn sizes(&self) -> Option<[usize; 2]> {
        Some([shape::checked_len(&self.image)?, shape::checked_len(&self.places())?])
    }

    fn spots(&self) -> usize {
        self.places().iter().product()
    }

    fn pixels(&self) -> usize {
        self.image.iter().product()
    }

    /// The places along the last axis whose windows have the full size and are equally far apart, and their step.
    /// Empty if windows are long enough for a loop of their own.
    fn even(&self) -> (Range<usize>, usize) {
        const LONG: usize = 16;
        let spans = &self.spans[2];
        let most = spans.iter().map(Range::len).max().unwrap_or(0);
        let first = spans.iter().position(|s| s.len() == most).unwrap_or(0);
        if most.div_ceil(self.dilation[2]) > LONG || most == 0 || first + 1 >= spans.len() {
            return (0..0, 1);
        }
        // If there are more places than pixels, several windows begin at the same pixel. A window may even begin before the
        // last one, whose first pixels are padding.
        let step = spans[first + 1].start.saturating_sub(spans[first].start);
        if step == 0 {
            return (0..0, 1);
        }
        let like =
            |p: &usize| spans[*p].len() == most && spans[*p].start == spans[first].start + (p - first) * step;
        (first..first + (first..spans.len()).take_while(like).count(), step)
    }

    /// Calls `even` with each row of the places of [`Windows::even`] and the position of the first place's pixel, for
    /// every pixel of the window. Calls `one` with each other place, the first pixel of each row of its window, and
    /// the pixels in the row.
    #[inline(always)]
    fn each<S>(
        &self,
        state: &mut S,
        mut even: impl FnMut(&mut S, Range<usize>, usize, usize),
        mut one: impl FnMut(&mut S, usize, usize, usize),
    ) {
        let ([_, height, width], [first, second, third]) = (self.image, &self.spans);
        let (inner, step) = self.even();
        let (mut row, mut done) = (0, 0);
        for i in first {
            for j in second {
                let lines = || {
                    let across = move |a: usize| {
                        j.clone().step_by(self.dilation[1]).map(move |b| (a * height + b) * width)
                    };
                    i.clone().step_by(self.dilation[0]).flat_map(across)
                };
                for line in lines() {
                    for p in inner
                        .clone()
                        .next()
                        .into_iter()
                        .flat_map(|p| third[p].clone().step_by(self.dilation[2]))
                    {
                        interrupt::count(&mut done, inner.len());
                        even(state, row + inner.start..row + inner.end, line + p, step);
                    }
                    for (k, span) in third.iter().enumerate().filter(|(k, _)| !inner.contains(k)) {
                        let pixels = span.len().div_ceil(self.dilation[2]);
                        interrupt::count(&mut done, pixels);
                        one(state, row + k, line + span.start, pixels);
                    }
                }
                row += third.len();
            }
        }
    }

    /// Writes the largest pixel of each window and the position of its first occurrence. NaN is larger than any
    /// number.
    #[inline(always)]
    fn largest<T: Num, P: Position>(&self, image: &[T], values: &mut [T], at: &mut [P]) {
        at.fill(P::NONE);
        let dilation = self.dilation[2];
        self.each(
            &mut (values, at),
            #[inline(always)]
            |(values, at), places, first, step| {
                let n = places.len();
                let (best, most) = (&mut values[places.clone()][..n], &mut at[places][..n]);
                apart(
                    &image[first..],
                    step,
                    n,
                    #[inline(always)]
                    |i, v, p| {
                        let take = better(v, best[i], most[i]);
                        best[i] = if take { v } else { best[i] };
                        most[i] = if take { P::of(first + p) } else { most[i] };
                    },
                );
            },
            #[inline(always)]
            |(values, at), place, first, n| {
                for p in (0..n).map(|p| first + p * dilation) {
                    if better(image[p], values[place], at[place]) {
                        (values[place], at[place]) = (image[p], P::of(p));
                    }
                }
            },
        );
    }

    /// Calls `f` with each place, whether it is among [`Windows::even`], and for each row of its window the first pixel, and how
    /// many pixels it has.
    #[inline(always)]
    fn each_place(&self, mut f: impl FnMut(usize, bool, usize, usize)) {
        let ([_, height, width], [first, second, third]) = (self.image, &self.spans);
        let (even, _) = self.even();
        let (mut place, mut done) = (0, 0);
        for i in first {
            for j in second {
                for (k, span) in third.iter().enumerate() {
                    let pixels = span.len().div_ceil(self.dilation[2]);
                    for a in i.clone().step_by(self.dilation[0]) {
                        for b in j.clone().step_by(self.dilation[1]) {
                            interrupt::count(&mut done, pixels);
                            f(place, even.contains(&k), (a * height + b) * width + span.start, pixels);
                        }
                    }
                    place += 1;
                }
            }
        }
    }

    /// [`Windows::largest`] of images with several numbers for each pixel.
    #[inline(always)]
    fn largest_of_channels<T: Num, P: Position>(
        &self,
        image: &[T],
        channels: usize,
        values: &mut [T],
        at: &mut [P],
    ) {
        at.fill(P::NONE);
        let dilation = self.dilation[2];
        self.each_place(
            #[inline(always)]
            |place, _, first, n| {
                let values = &mut values[place * channels..][..channels];
                let at = &mut at[place * channels..][..channels];
                for p in (0..n).map(|p| first + p * dilation) {
                    let numbers = &image[p * channels..][..channels];
                    for c in 0..channels {
                        let take = better(numbers[c], values[c], at[c]);
                        values[c] = if take { numbers[c] } else { values[c] };
                        at[c] = if take { P::of(p) } else { at[c] };
                    }
                }
            },
        );
    }

    /// [`Windows::sums`] of images with several numbers for each pixel, in the same order. `row` has room for a pixel.
    #[inline(always)]
    fn sums_of_channels<T: Num>(&self, image: &[T], row: &mut [T], out: &mut [T]) {
        let (channels, dilation) = (row.len(), self.dilation[2]);
        out.fill(T::ZERO);
        self.each_place(
            #[inline(always)]
            |place, is_even, first, n| {
                let out = &mut out[place * channels..][..channels];
                let pixels = (0..n).map(|p| &image[(first + p * dilation) * channels..][..channels]);
                if is_even {
                    pixels.for_each(|pixel| add_each(out, pixel));
                } else {
                    row.fill(T::ZERO);
                    pixels.for_each(|pixel| add_each(row, pixel));
                    add_each(out, row);
                }
            },
        );
    }

    fn sums<T: Num>(&self, image: &[T], out: &mut [T]) {
        let dilation = self.dilation[2];
        out.fill(T::ZERO);
        self.each(
            &mut &mut *out,
            |out, places, first, step| {
                let n = places.len();
                let sums = &mut out[places][..n];
                apart(
                    &image[first..],
                    step,
                    n,
                    #[inline(always)]
                    |i, v, _| sums[i] = sums[i].add(v),
                );
            },
            |out, place, first, n| {
                let row = (0..n).fold(T::ZERO, |s, p| s.add(image[first + p * dilation]));
                out[place] = out[place].add(row);
            },
        );
    }

    /// Adds the number of each window to its pixels.
    fn scatter<T: Num>(&self, numbers: &[T], image: &mut [T]) {
        let dilation = self.dilation[2];
        image.fill(T::ZERO);
        self.each(
            &mut &mut *image,
            |image, places, first, step| {
                let to = image[first..].iter_mut().step_by(step);
                to.zip(&numbers[places]).for_each(|(to, &v)| *to = to.add(v));
            },
            |image, place, first, n| {
                for p in 0..n {
                    let to = &mut image[first + p * dilation];
                    *to = to.add(numbers[place]);
                }
            },
        );
    }
}

/// A position in an image. Loops over it fill vectors if it is as wide as the numbers.
trait Position: Copy + Default {
    /// Before the first pixel.
    const NONE: Self;
    fn of(pixel: usize) -> Self;
    fn is_none(self) -> bool;
    fn number(self) -> i64;
}

macro_rules! position {
    ($($t:ident)*) => { $(
        impl Position for $t {
            const NONE: $t = -1;
            #[inline(always)] fn of(pixel: usize) -> $t { pixel as $t }
            #[inline(always)] fn is_none(self) -> bool { self < 0 }
            #[inline(always)] fn number(self) -> i64 { self.into() }
        }
    )* };
}
position!(i32 i64);

#[inline(always)]
fn add_each<T: Num>(to: &mut [T], from: &[T]) {
    to.iter_mut().zip(from).for_each(|(to, &v)| *to = to.add(v));
}

/// Whether `v` replaces the best number: a larger one, the first NaN, or any number if there is none yet.
#[inline(always)]
fn better<T: Num>(v: T, best: T, at: impl Position) -> bool {
    (v > best) | (v.nan() & !best.nan()) | at.is_none()
}

/// Calls `f` with the number of each of `n` outputs, the element for it, and that element's position; elements are `step`
/// apart. Common steps are compiled separately.
#[inline(always)]
fn apart<T: Copy>(from: &[T], step: usize, n: usize, mut f: impl FnMut(usize, T, usize)) {
    match step {
        1 => {
            let from = &from[..n];
            for i in 0..n {
                f(i, from[i], i);
            }
        }
        2 => {
            // The last element may be the last one of all.
            let pairs = &from.as_chunks::<2>().0;
            let whole = pairs.len().min(n);
            for i in 0..whole {
                f(i, pairs[i][0], 2 * i);
            }
            for i in whole..n {
                f(i, from[2 * i], 2 * i);
            }
        }
        _ => {
            for i in 0..n {
                f(i, from[i * step], i * step);
            }
        }
    }
}

/// Fewer channels are no vector: then it takes less time to copy them apart.
const CHANNELS: usize = 4;

/// Contiguous images. Where channels are last in memory, and there are enough, they are the last axis: so many.
///
/// # Errors
/// Memory ends.
fn pixels_of(x: &Array, axes: usize) -> Result<(Array, Option<usize>)> {
    if let Some(x) = with_channels_last(x, axes) {
        let channels = x.dims()[x.rank() - 1];
        if channels >= CHANNELS {
            return Ok((x, Some(channels)));
        }
    }
    Ok((x.contiguous()?, None))
}

/// The largest pixels of the windows of images flattened to the last axis, and their positions in it.
pub fn max(op: &'static str, w: &Windows, x: &Array) -> Result<(Array, Array)> {
    if w.spans.iter().flatten().any(Range::is_empty) {
        bail!(Shape, op, "a window with dilation {:?} meets no pixel of {:?}", w.dilation, w.image);
    }
    let (x, channels) = pixels_of(x, 1)?;
    let (values, at) = dispatch!(x.dtype(), num T => maxima::<T>(op, w, &x, channels), else bail!(Dtype, op, "not defined for {}", x.dtype()))?;
    let first = |y: Array| if channels.is_some() { with_channels_first(&y, 1) } else { y };
    Ok((first(values), first(at)))
}

/// [`max`] of what [`pixels_of`] gives, in its order.
fn maxima<T: Num>(
    op: &'static str,
    w: &Windows,
    x: &Array,
    channels: Option<usize>,
) -> Result<(Array, Array)> {
    if size_of::<T>() <= 4 && i32::try_from(w.pixels()).is_ok() {
        maxima_at::<T, i32>(op, w, x, channels)
    } else {
        maxima_at::<T, i64>(op, w, x, channels)
    }
}

fn maxima_at<T: Num, P: Position>(
    op: &'static str,
    w: &Windows,
    x: &Array,
    channels: Option<usize>,
) -> Result<(Array, Array)> {
    let mut dims = Dims::from_slice(x.dims());
    let axis = x.rank() - 1 - usize::from(channels.is_some());
    dims[axis] = w.spots();
    let images = x.as_slice::<T>().expect("contiguous");
    let [from, to] = [w.pixels(), w.spots()].map(|n| n.saturating_mul(channels.unwrap_or(1)));
    output::build_pair::<T, i64>(op, (&dims, to), (&dims, to), from, |first, values, at| {
        let mut found = vec![P::default(); to];
        let outs = values.chunks_exact_mut(to.max(1)).zip(at.chunks_exact_mut(to.max(1)));
        for (i, (values, at)) in outs.enumerate() {
            let image = &images[(first + i) * from..][..from];
            simd::autovectorize(
                #[inline(always)]
                || {
                    match channels {
                        None => w.largest(image, values, &mut found),
                        Some(n) => w.largest_of_channels(image, n, values, &mut found),
                    }
                    at.iter_mut().zip(&found).for_each(|(at, found)| *at = found.number());
                },
            );
        }
    })
}

/// The operations of [`window_op`].
#[derive(Clone, Copy, Debug, PartialEq, Stored)]
pub enum WindowOp {
    /// The sum of each window.
    Sums,
    /// The transpose of the sums: each window's number is added to its pixels.
    Scatter,
}

/// The sizes of what a [`WindowOp`] is applied to, and of what it makes.
pub fn from_to(way: WindowOp, w: &Windows) -> (Axes, Axes) {
    if way == WindowOp::Sums { (w.image, w.places()) } else { (w.places(), w.image) }
}

/// Applies a [`WindowOp`] to arrays whose last `axes` axes are those of images or of places.
pub fn window_op(op: &'static str, way: WindowOp, w: &Windows, axes: usize, x: &Array) -> Result<Array> {
    let (from, to) = from_to(way, w);
    let (x, channels) = if way == WindowOp::Sums { pixels_of(x, axes)? } else { (x.contiguous()?, None) };
    let first = x.rank() - axes - usize::from(channels.is_some());
    let dims: Dims = x.dims()[..first].iter().chain(&to[3 - axes..]).copied().chain(channels).collect();
    let numbers = channels.unwrap_or(1);
    let (from, to) = (shape::len(&from).saturating_mul(numbers), shape::len(&to).saturating_mul(numbers));
    let made = dispatch!(x.dtype(), float T => {
        let all = x.as_slice::<T>().expect("contiguous");
        output::build_from::<T>(op, &dims, to, from, |first, out| {
            let mut row = vec![T::ZERO; numbers];
            for (i, out) in out.chunks_exact_mut(to.max(1)).enumerate() {
                let from = &all[(first + i) * from..][..from];
                match (way, channels) {
                    (WindowOp::Sums, None) => w.sums(from, out),
                    (WindowOp::Sums, Some(_)) => {
                        simd::autovectorize(#[inline(always)] || w.sums_of_channels(from, &mut row, out));
                    }
                    (WindowOp::Scatter, _) => w.scatter(from, out),
                }
            }
        })
    }, else bail!(Dtype, op, "not defined for {}", x.dtype()))?;
    Ok(if channels.is_some() { with_channels_first(&made, axes) } else { made })
}
