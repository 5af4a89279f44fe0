//! Pooling: each window of an image is reduced to one element.

use std::ops::Range;

use super::spatial::{Spatial, places};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result, bail};
use crate::graph::{Made, Operands, Saved, Tensor, apply};
use crate::kernel::conv::Axes;
use crate::kernel::conv::pooling::{self, WindowOp, Windows};
use crate::memory;
use crate::ops::entry::op;
use crate::ops::gather::{WithIndices, WithIndicesOp, with_indices};
use crate::ops::linear::{Linear, LinearOp};
use crate::ops::movement::{cast, reshape_to};
use crate::ops::promote::promoted_float;
use crate::ops::reduce::mean;
use crate::shape::{self, Dims};
use crate::stored::Stored;

#[derive(Stored)]
#[stored(in WithIndicesOp)]
struct MaxPool {
    name: &'static str,
    windows: Windows,
}

impl WithIndices for MaxPool {
    fn name(&self) -> &'static str {
        self.name
    }

    fn back(&self) -> usize {
        1
    }

    fn choose(&self, ins: &[&Array]) -> Result<(Array, Array)> {
        let x = ins[0];
        pooling::max(self.name, &self.windows, x)
    }

    fn chosen(&self, ins: &Operands<'_>) -> Option<Dims> {
        let (dtype, dims) = ins.alike::<1>()?;
        let [pixels, spots] = self.windows.sizes()?;
        let fits = dims.last() == Some(&pixels) && !dtype.is_complex() && dtype != DType::Bool;
        if fits { shape::resized(dims, 1, spots) } else { None }
    }
}

/// The sums of windows, or their transpose.
#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct Sums {
    windows: Windows,
    axes: usize,
    way: WindowOp,
}

impl Linear for Sums {
    const NAME: &'static str = "pool";

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        pooling::window_op(Self::NAME, self.way, &self.windows, self.axes, x)
    }

    fn makes(&self, x: &Operands<'_>) -> Option<Made> {
        let (dtype, dims) = x.alike::<1>()?;
        let (from, to) = pooling::from_to(self.way, &self.windows);
        let (lead, own) = dims.split_at_checked(dims.len().checked_sub(self.axes)?)?;
        let unused = 3usize.checked_sub(self.axes)?;
        let is_one = |sizes: &Axes| sizes[..unused].iter().all(|&d| d == 1);
        let fits = *own == from[unused..] && is_one(&from) && is_one(&to) && dtype.is_float();
        if fits { x.make(&[(dtype, &[lead, &to[unused..]])]) } else { None }
    }

    fn transpose(&self, g: &Tensor, _: &Saved<'_>) -> Result<Tensor> {
        let way = if self.way == WindowOp::Sums { WindowOp::Scatter } else { WindowOp::Sums };
        apply(LinearOp(Sums { way, ..self.clone() }), &[g])
    }
}

/// Windows as they are args for.
struct WindowArgs {
    window: Axes,
    stride: Axes,
    before: Axes,
    dilation: Axes,
    ceil_mode: bool,
}

impl WindowArgs {
    fn new(
        at: &Spatial,
        kernel_size: &[i64],
        stride: Option<&[i64]>,
        padding: &[i64],
        dilation: &[i64],
        ceil_mode: bool,
    ) -> Result<WindowArgs> {
        let window = at.each("kernel_size", kernel_size, 1, 1)?;
        let stride = match stride {
            // An empty list counts as not given.
            Some(s) if !s.is_empty() => at.each("stride", s, 1, 1)?,
            _ => window,
        };
        let (before, dilation) = (at.each("padding", padding, 0, 0)?, at.each("dilation", dilation, 1, 1)?);
        if (0..3).any(|i| before[i] > window[i] / 2) {
            bail!(
                Argument,
                at.op,
                "padding {:?} is at most half of the window {:?}",
                at.own(&before),
                at.own(&window)
            );
        }
        Ok(WindowArgs { window, stride, before, dilation, ceil_mode })
    }

    /// The number of window positions along each axis of an image.
    fn places(&self, at: &Spatial, image: Axes) -> Result<Axes> {
        let mut all = [0; 3];
        for i in 0..3 {
            let more = if self.ceil_mode { self.stride[i] - 1 } else { 0 };
            let pads = self.before[i].saturating_mul(2).saturating_add(more);
            let Some(n) = places(image[i], pads, self.window[i], self.stride[i], self.dilation[i]) else {
                bail!(
                    Shape,
                    at.op,
                    "a window of {:?} (dilation {:?}) does not fit into an image of {:?} with padding {:?}: the \
                     output size is too small",
                    at.own(&self.window),
                    at.own(&self.dilation),
                    at.own(&image),
                    at.own(&self.before)
                );
            };
            // A window that starts in the padding after the image is dropped.
            let late =
                n > 1 && (n - 1).saturating_mul(self.stride[i]) >= image[i].saturating_add(self.before[i]);
            all[i] = if late { n - 1 } else { n };
        }
        Ok(all)
    }

    fn windows(&self, at: &Spatial, image: Axes) -> Result<Windows> {
        let places = self.places(at, image)?;
        checked(at, places)?;
        let span = |a: usize, place: usize| -> Range<usize> {
            let (start, step, before) = (place * self.stride[a], self.dilation[a], self.before[a]);
            let first = before.saturating_sub(start).div_ceil(step);
            let past = (before + image[a]).saturating_sub(start).div_ceil(step).min(self.window[a]);
            if past <= first {
                return 0..0;
            }
            start + first * step - before..start + (past - 1) * step - before + 1
        };
        let spans = std::array::from_fn(|a| (0..places[a]).map(|p| span(a, p)).collect());
        Ok(Windows { image, spans, dilation: self.dilation })
    }

    /// The number of elements that each window covers along an axis, with or without the padding.
    fn counts(&self, windows: &Windows, axis: usize, pads: bool) -> Vec<usize> {
        let spans = &windows.spans[axis];
        if !pads {
            return spans.iter().map(Range::len).collect();
        }
        let past = windows.image[axis] + 2 * self.before[axis];
        let starts = (0..spans.len()).map(|p| p * self.stride[axis]);
        starts.map(|start| self.window[axis].min(past - start)).collect()
    }
}

/// The largest element of each window, and its position. The gradient goes to that element, the first of
/// equal ones.
fn largest(
    at: &Spatial,
    x: &Tensor,
    windows: impl FnOnce(Axes) -> Result<Windows>,
) -> Result<(Tensor, Tensor)> {
    let (x, had_batch) = at.batched(x)?;
    let (batch, channels, image) = at.sizes(&x)?;
    let windows = windows(image)?;
    let places = windows.places();
    let dims: Dims = [batch, channels].into_iter().chain(at.own(&places).iter().copied()).collect();
    let flat = reshape_to(&x, &[batch, channels, shape::len(&image)])?;
    let (y, positions) = with_indices(MaxPool { name: at.op, windows }, &[&flat])?;
    let shaped = |y: &Tensor| at.unbatched(reshape_to(y, &dims)?, had_batch);
    Ok((shaped(&y)?, shaped(&positions)?))
}

/// The sum of each window, divided by the product of its counts along the axes, or by one number.
fn average(
    at: &Spatial,
    x: &Tensor,
    windows: Windows,
    counts: &[Vec<usize>; 3],
    divisor: Option<f64>,
) -> Result<Tensor> {
    let places = windows.places();
    let sums = apply(LinearOp(Sums { windows, axes: at.axes, way: WindowOp::Sums }), &[x])?;
    let even = counts.iter().all(|axis| axis.windows(2).all(|w| w[0] == w[1]));
    let one = counts.iter().map(|axis| axis.first().map_or(1.0, |&n| n as f64)).product();
    if let Some(all) = divisor.or(even.then_some(one)) {
        return Ok(sums / all);
    }
    let [a, b, c] = counts;
    memory::ensure(shape::len(&places).saturating_mul(size_of::<f64>()))?;
    let all = a.iter().flat_map(|i| b.iter().flat_map(move |j| c.iter().map(move |k| (i * j * k) as f64)));
    let all = Array::from_slice(&all.collect::<Vec<f64>>(), at.own(&places))?;
    Ok(sums / cast(&Tensor::constant(all), x.dtype())?)
}

/// Refuses more window positions than lists of them, and of their sizes, have memory for.
fn checked(at: &Spatial, places: Axes) -> Result<()> {
    let all = places.iter().fold(0usize, |sum, &n| sum.saturating_add(n));
    let bytes = all.saturating_mul(size_of::<(Range<usize>, usize)>());
    memory::ensure(bytes).map_err(|_| Error::memory(at.op, at.own(&places).to_vec(), DType::F32))
}

/// The windows that share the elements of an image evenly, one for each element of the result.
fn shares(at: &Spatial, image: Axes, output_size: &[i64]) -> Result<Windows> {
    let sizes = at.each("output_size", output_size, 0, 1)?;
    if image.contains(&0) {
        bail!(Shape, at.op, "an image of {:?} has no pixels", at.own(&image));
    }
    checked(at, sizes)?;
    let share = |a: usize, i: usize| i * image[a] / sizes[a]..((i + 1) * image[a]).div_ceil(sizes[a]);
    let spans = std::array::from_fn(|a| (0..sizes[a]).map(|i| share(a, i)).collect());
    Ok(Windows { image, spans, dilation: [1; 3] })
}

/// The mean of each window.
#[expect(clippy::too_many_arguments, reason = "those of the public functions")]
fn averages(
    at: Spatial,
    x: &Tensor,
    kernel_size: &[i64],
    stride: Option<&[i64]>,
    padding: &[i64],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Option<f64>,
) -> Result<Tensor> {
    let (x, had_batch) = at.batched(&*promoted_float(x)?)?;
    if divisor_override == Some(0.0) {
        bail!(Argument, at.op, "divisor_override is not 0");
    }
    let args = WindowArgs::new(&at, kernel_size, stride, padding, &[1], ceil_mode)?;
    let windows = args.windows(&at, at.sizes(&x)?.2)?;
    let counts = std::array::from_fn(|a| args.counts(&windows, a, count_include_pad));
    at.unbatched(average(&at, &x, windows, &counts, divisor_override)?, had_batch)
}

/// The mean of each even share of the elements.
fn adaptive(at: Spatial, x: &Tensor, output_size: &[i64]) -> Result<Tensor> {
    let (x, had_batch) = at.batched(&*promoted_float(x)?)?;
    let windows = shares(&at, at.sizes(&x)?.2, output_size)?;
    if windows.places() == [1; 3] {
        let all: Vec<i64> = (1..=at.axes).map(|a| -(a as i64)).collect();
        return at.unbatched(mean(&x, Some(&all), true, None)?, had_batch);
    }
    let counts = std::array::from_fn(|a| windows.spans[a].iter().map(Range::len).collect());
    at.unbatched(average(&at, &x, windows, &counts, None)?, had_batch)
}

/// The public functions for a number of axes: what the inputs are called, the names of their axes, and sizes for the
/// examples.
macro_rules! pools {
    ($($axes:literal $inputs:literal $sizes:literal, $eight:literal => $four:literal $laid:ident:
        $max:ident $max_both:ident $avg:ident $even:ident $most:ident $most_both:ident;)*) => { $(
        #[doc = concat!("`", stringify!($max), "`, and the int64 positions of the elements in their channel, in C order.")]
        ///
        /// ```python
        #[doc = concat!(">>> fg.", stringify!($max_both), "(fg.ones((1, 3, ", $eight, ")), 8)[1].ravel().tolist()")]
        /// [0, 0, 0]
        /// ```
        #[op(function, torch(LaidAsImages))]
        pub fn $max_both(
            x: &Tensor,
            kernel_size: &[i64],
            #[default(None)] stride: Option<&[i64]>,
            #[default([0])] padding: &[i64],
            #[default([1])] dilation: &[i64],
            #[default(false)] ceil_mode: bool,
        ) -> Result<(Tensor, Tensor)> {
            let at = Spatial { op: stringify!($max), axes: $axes };
            let args = WindowArgs::new(&at, kernel_size, stride, padding, dilation, ceil_mode)?;
            largest(&at, x, |image| args.windows(&at, image))
        }

        #[doc = concat!("The largest element of each window of ", $inputs, " `[batch, channels, ", $sizes, "]`, or of one without a batch.")]
        ///
        /// One number stands for all axes. The stride is the size of the window unless it is given. Padding is never the
        /// largest element. The gradient goes to the first of equal elements, and NaN is larger than any number. With
        /// `ceil_mode` a last window may reach over the edge.
        ///
        /// ```python
        #[doc = concat!(">>> fg.", stringify!($max), "(fg.ones((1, 3, ", $eight, ")), 2).shape")]
        #[doc = concat!("(1, 3, ", $four, ")")]
        /// ```
        #[op(function, torch(LaidAsImages))]
        pub fn $max(
            x: &Tensor,
            kernel_size: &[i64],
            #[default(None)] stride: Option<&[i64]>,
            #[default([0])] padding: &[i64],
            #[default([1])] dilation: &[i64],
            #[default(false)] ceil_mode: bool,
        ) -> Result<Tensor> {
            Ok($max_both(x, kernel_size, stride, padding, dilation, ceil_mode)?.0)
        }

        #[doc = concat!("The mean of each window of ", $inputs, " `[batch, channels, ", $sizes, "]`, or of one without a batch.")]
        ///
        /// One number stands for all axes. The stride is the size of the window unless it is given. Elements of the
        /// padding are zeros, which count only with `count_include_pad`. With `ceil_mode` a last window may reach over
        /// the edge; what lies beyond the padding never counts. `divisor_override` replaces the count.
        ///
        /// ```python
        #[doc = concat!(">>> fg.", stringify!($avg), "(fg.ones((1, 3, ", $eight, ")), 2).shape")]
        #[doc = concat!("(1, 3, ", $four, ")")]
        /// ```
        #[op(function, torch($laid))]
        pub fn $avg(
            x: &Tensor,
            kernel_size: &[i64],
            #[default(None)] stride: Option<&[i64]>,
            #[default([0])] padding: &[i64],
            #[default(false)] ceil_mode: bool,
            #[default(true)] count_include_pad: bool,
            #[default(None)] divisor_override: Option<f64>,
        ) -> Result<Tensor> {
            let at = Spatial { op: stringify!($avg), axes: $axes };
            averages(at, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        }

        #[doc = concat!("The means of ", $inputs, " `[batch, channels, ", $sizes, "]` over windows that share the elements evenly.")]
        ///
        /// Along an axis with n elements and m windows, window i covers the elements from floor(i n / m) up to
        /// ceil((i + 1) n / m).
        ///
        /// ```python
        #[doc = concat!(">>> fg.", stringify!($even), "(fg.ones((1, 3, ", $eight, ")), 4).shape")]
        #[doc = concat!("(1, 3, ", $four, ")")]
        /// ```
        #[op(function, torch($laid))]
        pub fn $even(x: &Tensor, output_size: &[i64]) -> Result<Tensor> {
            adaptive(Spatial { op: stringify!($even), axes: $axes }, x, output_size)
        }

        #[doc = concat!("`", stringify!($most), "`, and the int64 positions of the elements in their channel, in C order.")]
        ///
        /// ```python
        #[doc = concat!(">>> fg.", stringify!($most_both), "(fg.ones((1, 3, ", $eight, ")), 1)[1].ravel().tolist()")]
        /// [0, 0, 0]
        /// ```
        #[op(function, torch($laid))]
        pub fn $most_both(x: &Tensor, output_size: &[i64]) -> Result<(Tensor, Tensor)> {
            let at = Spatial { op: stringify!($most), axes: $axes };
            largest(&at, x, |image| shares(&at, image, output_size))
        }

        #[doc = concat!("The largest elements of ", $inputs, " `[batch, channels, ", $sizes, "]` in the windows of `", stringify!($even), "`.")]
        ///
        /// ```python
        #[doc = concat!(">>> fg.", stringify!($most), "(fg.ones((1, 3, ", $eight, ")), 4).shape")]
        #[doc = concat!("(1, 3, ", $four, ")")]
        /// ```
        #[op(function, torch($laid))]
        pub fn $most(x: &Tensor, output_size: &[i64]) -> Result<Tensor> {
            Ok($most_both(x, output_size)?.0)
        }
    )* };
}
pools! {
    1 "sequences" "length", "8" => "4" LaidAsImages: max_pool1d max_pool1d_with_indices avg_pool1d
        adaptive_avg_pool1d adaptive_max_pool1d adaptive_max_pool1d_with_indices;
    2 "images" "height, width", "8, 8" => "4, 4" LaidAsImages: max_pool2d max_pool2d_with_indices avg_pool2d
        adaptive_avg_pool2d adaptive_max_pool2d adaptive_max_pool2d_with_indices;
    3 "volumes" "depth, height, width", "8, 8, 8" => "4, 4, 4" LaidInCOrder: max_pool3d max_pool3d_with_indices avg_pool3d
        adaptive_avg_pool3d adaptive_max_pool3d adaptive_max_pool3d_with_indices;
}
