//! The pixels of each window of an image reduced to one, and their transpose.

use std::ops::Range;

use super::chunks;
use super::conv::Axes;
use super::num::Num;
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::{Result, bail};
use crate::shape::{self, Dims};

/// The windows of a pooling: along each axis, the pixels of a place are every `dilation`-th of its range.
#[derive(Clone, Debug)]
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

    /// Calls `f` with every window in order: the ranges of its pixels along the axes.
    #[inline(always)]
    fn each(&self, mut f: impl FnMut(&Range<usize>, &Range<usize>, &Range<usize>)) {
        let [a, b, c] = &self.spans;
        for i in a {
            for j in b {
                c.iter().for_each(|k| f(i, j, k));
            }
        }
    }

    /// Calls `f` with the position of the first pixel of each row of a window, and the number of steps in the row.
    #[inline(always)]
    fn rows(&self, i: &Range<usize>, j: &Range<usize>, k: &Range<usize>, mut f: impl FnMut(usize, usize)) {
        let [_, height, width] = self.image;
        let n = k.len().div_ceil(self.dilation[2]);
        let mut a = i.start;
        while a < i.end {
            let mut b = j.start;
            while b < j.end {
                f((a * height + b) * width + k.start, n);
                b += self.dilation[1];
            }
            a += self.dilation[0];
        }
    }

    /// Writes the largest pixel of each window and where it is: the first of equal ones; a NaN is larger than any number.
    fn largest<T: Num>(&self, image: &[T], values: &mut [T], at: &mut [i64]) {
        let (mut out, step) = (values.iter_mut().zip(at), self.dilation[2]);
        self.each(|i, j, k| {
            let [_, height, width] = self.image;
            let mut most = (i.start * height + j.start) * width + k.start;
            let mut best = image[most];
            self.rows(i, j, k, |first, n| {
                for p in 0..n {
                    let v = image[first + p * step];
                    let better = (v > best) | (v.nan() & !best.nan());
                    best = if better { v } else { best };
                    most = if better { first + p * step } else { most };
                }
            });
            let (value, at) = out.next().expect("one a window");
            // A position in an array fits into 63 bits.
            (*value, *at) = (best, most as i64);
        });
    }

    fn sums<T: Num>(&self, image: &[T], out: &mut [T]) {
        let (mut out, step) = (out.iter_mut(), self.dilation[2]);
        self.each(|i, j, k| {
            let mut all = T::ZERO;
            self.rows(i, j, k, |first, n| {
                let row = (0..n).fold(T::ZERO, |s, p| s.add(image[first + p * step]));
                all = all.add(row);
            });
            *out.next().expect("one a window") = all;
        });
    }

    /// Adds the number of each window to its pixels.
    fn spread<T: Num>(&self, numbers: &[T], image: &mut [T]) {
        let (mut numbers, step) = (numbers.iter(), self.dilation[2]);
        image.fill(T::ZERO);
        self.each(|i, j, k| {
            let &v = numbers.next().expect("one a window");
            self.rows(i, j, k, |first, n| {
                for p in 0..n {
                    let to = &mut image[first + p * step];
                    *to = to.add(v);
                }
            });
        });
    }
}

/// The largest pixels of the windows of images whose pixels are the last axis, and their positions in it.
pub fn max(op: &'static str, w: &Windows, x: &Array) -> Result<(Array, Array)> {
    let x = x.contiguous()?;
    let (pixels, spots) = (w.pixels(), w.spots());
    let dims: Dims = x.dims()[..x.rank() - 1].iter().copied().chain([spots]).collect();
    if w.spans.iter().flatten().any(Range::is_empty) {
        bail!(Shape, op, "a window with dilation {:?} meets no pixel of {:?}", w.dilation, w.image);
    }
    dispatch!(x.dtype(), num T => {
        let images = x.as_slice::<T>().expect("contiguous");
        chunks::build_two::<T, i64>(op, (&dims, spots), (&dims, spots), pixels, |first, values, at| {
            let outs = values.chunks_exact_mut(spots.max(1)).zip(at.chunks_exact_mut(spots.max(1)));
            for (i, (values, at)) in outs.enumerate() {
                w.largest(&images[(first + i) * pixels..][..pixels], values, at);
            }
        })
    }, else bail!(Dtype, op, "not defined for {}", x.dtype()))
}

/// Which way [`linear`] goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// The sums of the windows of images.
    Sums,
    /// Their transpose: images with the number of each window added to its pixels.
    Spread,
}

/// Sums of windows or their transpose, of arrays that end in the last `axes` axes of images or of places.
pub fn linear(op: &'static str, way: Way, w: &Windows, axes: usize, x: &Array) -> Result<Array> {
    let x = x.contiguous()?;
    let (from, to) = if way == Way::Sums { (w.image, w.places()) } else { (w.places(), w.image) };
    let dims: Dims = x.dims()[..x.rank() - axes].iter().chain(&to[3 - axes..]).copied().collect();
    let (from, to) = (shape::len(&from), shape::len(&to));
    dispatch!(x.dtype(), float T => {
        let all = x.as_slice::<T>().expect("contiguous");
        chunks::folded::<T>(op, &dims, to, from, |first, out| {
            for (i, out) in out.chunks_exact_mut(to.max(1)).enumerate() {
                let from = &all[(first + i) * from..][..from];
                if way == Way::Sums { w.sums(from, out) } else { w.spread(from, out) }
            }
        })
    }, else bail!(Dtype, op, "not defined for {}", x.dtype()))
}
