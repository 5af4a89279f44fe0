//! Pooling: maxima and sums of windows, and the transpose of the sums.

use std::ops::Range;

use super::geometry::Axes;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::error::{Result, bail};
use crate::kernel::num::Num;
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
    fn largest<T: Num>(&self, image: &[T], values: &mut [T], at: &mut [i64]) {
        // -1 is no position yet.
        at.fill(-1);
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
                        most[i] = if take { (first + p) as i64 } else { most[i] };
                    },
                );
            },
            #[inline(always)]
            |(values, at), place, first, n| {
                for p in (0..n).map(|p| first + p * dilation) {
                    if better(image[p], values[place], at[place]) {
                        (values[place], at[place]) = (image[p], p as i64);
                    }
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

/// Whether `v` replaces the best number: a larger one, the first NaN, or any number if there is none yet.
#[inline(always)]
fn better<T: Num>(v: T, best: T, at: i64) -> bool {
    (v > best) | (v.nan() & !best.nan()) | (at < 0)
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
            for i in 0..n {
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

/// The largest pixels of the windows of images flattened to the last axis, and their positions in it.
pub fn max(op: &'static str, w: &Windows, x: &Array) -> Result<(Array, Array)> {
    let x = x.contiguous()?;
    let (pixels, spots) = (w.pixels(), w.spots());
    let dims: Dims = x.dims()[..x.rank() - 1].iter().copied().chain([spots]).collect();
    if w.spans.iter().flatten().any(Range::is_empty) {
        bail!(Shape, op, "a window with dilation {:?} meets no pixel of {:?}", w.dilation, w.image);
    }
    dispatch!(x.dtype(), num T => {
        let images = x.as_slice::<T>().expect("contiguous");
        output::build_pair::<T, i64>(op, (&dims, spots), (&dims, spots), pixels, |first, values, at| {
            let outs = values.chunks_exact_mut(spots.max(1)).zip(at.chunks_exact_mut(spots.max(1)));
            for (i, (values, at)) in outs.enumerate() {
                let image = &images[(first + i) * pixels..][..pixels];
                if T::DTYPE.is_float() {
                    simd::autovectorize(#[inline(always)] || w.largest(image, values, at));
                } else {
                    w.largest(image, values, at);
                }
            }
        })
    }, else bail!(Dtype, op, "not defined for {}", x.dtype()))
}

/// The operations of [`window_op`].
#[derive(Clone, Copy, Debug, PartialEq, Stored)]
pub enum WindowOp {
    /// The sum of each window.
    Sums,
    /// The transpose of the sums: each window's number is added to its pixels.
    Scatter,
}

/// Applies a [`WindowOp`] to arrays whose last `axes` axes are those of images or of places.
pub fn window_op(op: &'static str, way: WindowOp, w: &Windows, axes: usize, x: &Array) -> Result<Array> {
    let x = x.contiguous()?;
    let (from, to) = if way == WindowOp::Sums { (w.image, w.places()) } else { (w.places(), w.image) };
    let dims: Dims = x.dims()[..x.rank() - axes].iter().chain(&to[3 - axes..]).copied().collect();
    let (from, to) = (shape::len(&from), shape::len(&to));
    dispatch!(x.dtype(), float T => {
        let all = x.as_slice::<T>().expect("contiguous");
        output::build_from::<T>(op, &dims, to, from, |first, out| {
            for (i, out) in out.chunks_exact_mut(to.max(1)).enumerate() {
                let from = &all[(first + i) * from..][..from];
                if way == WindowOp::Sums { w.sums(from, out) } else { w.scatter(from, out) }
            }
        })
    }, else bail!(Dtype, op, "not defined for {}", x.dtype()))
}
