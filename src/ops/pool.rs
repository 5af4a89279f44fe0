//! Windows of images, each reduced to one pixel.

use std::ops::Range;

use super::along::{Chosen, choose};
use super::entry::entries;
use super::movement::{Linear, LinearOp, cast, reshape_to};
use super::promote::promoted_float;
use super::reduce::mean;
use super::spatial::{Spatial, places};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result, bail};
use crate::graph::{Saved, Tensor, apply};
use crate::kernel::conv::Axes;
use crate::kernel::conv::pooling::{self, Way, Windows};
use crate::shape::{self, Dims};

struct MaxPool {
    name: &'static str,
    windows: Windows,
}

impl Chosen for MaxPool {
    fn name(&self) -> &'static str {
        self.name
    }

    fn back(&self) -> usize {
        1
    }

    fn choose(&self, x: &Array) -> Result<(Array, Array)> {
        pooling::max(self.name, &self.windows, x)
    }
}

/// The sums of windows, or their transpose.
#[derive(Clone)]
struct Sums {
    windows: Windows,
    axes: usize,
    way: Way,
}

impl Linear for Sums {
    const NAME: &'static str = "pool";

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        pooling::linear(Self::NAME, self.way, &self.windows, self.axes, x)
    }

    fn transpose(&self, g: &Tensor, _: &Saved<'_>) -> Result<Tensor> {
        let way = if self.way == Way::Sums { Way::Spread } else { Way::Sums };
        apply(LinearOp(Sums { way, ..self.clone() }), &[g])
    }
}

/// Windows as they are asked for.
struct Asked {
    window: Axes,
    stride: Axes,
    before: Axes,
    dilation: Axes,
    ceil_mode: bool,
}

impl Asked {
    fn new(
        at: &Spatial,
        kernel_size: &[i64],
        stride: Option<&[i64]>,
        padding: &[i64],
        dilation: &[i64],
        ceil_mode: bool,
    ) -> Result<Asked> {
        let window = at.each("kernel_size", kernel_size, 1, 1)?;
        let stride = match stride {
            // An empty list is none.
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
        Ok(Asked { window, stride, before, dilation, ceil_mode })
    }

    /// How many places there are along each axis of an image.
    fn places(&self, at: &Spatial, image: Axes) -> Result<Axes> {
        let mut all = [0; 3];
        for i in 0..3 {
            let more = if self.ceil_mode { self.stride[i] - 1 } else { 0 };
            let pads = self.before[i].saturating_mul(2).saturating_add(more);
            let Some(n) = places(image[i], pads, self.window[i], self.stride[i], self.dilation[i]) else {
                bail!(
                    Shape,
                    at.op,
                    "a window of {:?} (dilation {:?}) does not fit into an image of {:?} with padding {:?}",
                    at.own(&self.window),
                    at.own(&self.dilation),
                    at.own(&image),
                    at.own(&self.before)
                );
            };
            // A window that starts in the padding after the image is left out.
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

    /// How many pixels of an image and its padding the windows cover along an axis; without the padding if that does not
    /// count.
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

/// The largest pixel of each window; its gradient goes to that pixel, the first of equal ones. With the positions.
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
    let (y, positions) = choose(MaxPool { name: at.op, windows }, &flat)?;
    let shaped = |y: &Tensor| at.unbatched(reshape_to(y, &dims)?, had_batch);
    Ok((shaped(&y)?, shaped(&positions)?))
}

/// The sum of each window divided by numbers for each place of each axis, or by one number.
fn average(
    at: &Spatial,
    x: &Tensor,
    windows: Windows,
    counts: &[Vec<usize>; 3],
    divisor: Option<f64>,
) -> Result<Tensor> {
    let places = windows.places();
    let sums = apply(LinearOp(Sums { windows, axes: at.axes, way: Way::Sums }), &[x])?;
    let even = counts.iter().all(|axis| axis.windows(2).all(|w| w[0] == w[1]));
    let one = counts.iter().map(|axis| axis.first().map_or(1.0, |&n| n as f64)).product();
    if let Some(all) = divisor.or(even.then_some(one)) {
        return Ok(sums / all);
    }
    let [a, b, c] = counts;
    let all = a.iter().flat_map(|i| b.iter().flat_map(move |j| c.iter().map(move |k| (i * j * k) as f64)));
    let all = Array::from_slice(&all.collect::<Vec<f64>>(), at.own(&places))?;
    Ok(sums / cast(&Tensor::constant(all), x.dtype())?)
}

/// Refuses numbers of places for which no list of windows has room.
fn checked(at: &Spatial, places: Axes) -> Result<()> {
    match places.iter().find(|&&n| n > 1 << 28) {
        None => Ok(()),
        Some(_) => Err(Error::memory(at.op, at.own(&places).to_vec(), DType::F32)),
    }
}

/// The windows that share the pixels of an image evenly: one for each pixel of the result.
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
    let asked = Asked::new(&at, kernel_size, stride, padding, &[1], ceil_mode)?;
    let windows = asked.windows(&at, at.sizes(&x)?.2)?;
    let counts = std::array::from_fn(|a| asked.counts(&windows, a, count_include_pad));
    at.unbatched(average(&at, &x, windows, &counts, divisor_override)?, had_batch)
}

/// The mean of each of so many even shares of the pixels.
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

/// The public functions, by the number of axes.
macro_rules! pools {
    ($($axes:literal $max:ident $both:ident $avg:ident $even:ident $most:ident $most_both:ident;)*) => { $(
        pub fn $both(
            x: &Tensor,
            kernel_size: &[i64],
            stride: Option<&[i64]>,
            padding: &[i64],
            dilation: &[i64],
            ceil_mode: bool,
        ) -> Result<(Tensor, Tensor)> {
            let at = Spatial { op: stringify!($max), axes: $axes };
            let asked = Asked::new(&at, kernel_size, stride, padding, dilation, ceil_mode)?;
            largest(&at, x, |image| asked.windows(&at, image))
        }

        pub fn $max(
            x: &Tensor,
            kernel_size: &[i64],
            stride: Option<&[i64]>,
            padding: &[i64],
            dilation: &[i64],
            ceil_mode: bool,
        ) -> Result<Tensor> {
            Ok($both(x, kernel_size, stride, padding, dilation, ceil_mode)?.0)
        }

        pub fn $avg(
            x: &Tensor,
            kernel_size: &[i64],
            stride: Option<&[i64]>,
            padding: &[i64],
            ceil_mode: bool,
            count_include_pad: bool,
            divisor_override: Option<f64>,
        ) -> Result<Tensor> {
            let at = Spatial { op: stringify!($avg), axes: $axes };
            averages(at, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        }

        pub fn $even(x: &Tensor, output_size: &[i64]) -> Result<Tensor> {
            adaptive(Spatial { op: stringify!($even), axes: $axes }, x, output_size)
        }

        pub fn $most_both(x: &Tensor, output_size: &[i64]) -> Result<(Tensor, Tensor)> {
            let at = Spatial { op: stringify!($most), axes: $axes };
            largest(&at, x, |image| shares(&at, image, output_size))
        }

        pub fn $most(x: &Tensor, output_size: &[i64]) -> Result<Tensor> {
            Ok($most_both(x, output_size)?.0)
        }
    )* };
}
pools! {
    1 max_pool1d max_pool1d_with_indices avg_pool1d adaptive_avg_pool1d adaptive_max_pool1d adaptive_max_pool1d_with_indices;
    2 max_pool2d max_pool2d_with_indices avg_pool2d adaptive_avg_pool2d adaptive_max_pool2d adaptive_max_pool2d_with_indices;
    3 max_pool3d max_pool3d_with_indices avg_pool3d adaptive_avg_pool3d adaptive_max_pool3d adaptive_max_pool3d_with_indices;
}

entries! {
    function max_pool2d (x: &Tensor, kernel_size: &[i64], stride: Option<&[i64]> = None, padding: &[i64] = Ints(&[0]), dilation: &[i64] = Ints(&[1]), ceil_mode: bool = False)
        "The largest pixel of each window of images [batch, channels, height, width] (or of one).\n\n\
        Numbers are one for all axes, or one for each; the stride is that of the window if none is given. Padding is never\n\
        the largest. The gradient goes to the first of equal pixels, and a NaN is larger than any number. With ceil_mode a\n\
        last window may reach over the edge.\n\n\
        >>> fg.max_pool2d(fg.ones((1, 3, 8, 8)), 2).shape\n(1, 3, 4, 4)";
    function max_pool2d_with_indices (x: &Tensor, kernel_size: &[i64], stride: Option<&[i64]> = None, padding: &[i64] = Ints(&[0]), dilation: &[i64] = Ints(&[1]), ceil_mode: bool = False)
        "max_pool2d, and where the pixels are: their int64 positions in the image of their channel, in C order.\n\n\
        >>> fg.max_pool2d_with_indices(fg.ones((1, 3, 8, 8)), 8)[1].ravel().tolist()\n[0, 0, 0]";
    function avg_pool2d (x: &Tensor, kernel_size: &[i64], stride: Option<&[i64]> = None, padding: &[i64] = Ints(&[0]), ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Option<f64> = None)
        "The mean of each window of images [batch, channels, height, width] (or of one).\n\n\
        Numbers are one for all axes, or one for each; the stride is that of the window if none is given. Pixels of the\n\
        padding are zeros, which without count_include_pad do not count. With ceil_mode a last window may reach over the\n\
        edge; what lies beyond the padding never counts. divisor_override divides the sums in place of the count.\n\n\
        >>> fg.avg_pool2d(fg.ones((1, 3, 8, 8)), 2).shape\n(1, 3, 4, 4)";
    function adaptive_avg_pool2d (x: &Tensor, output_size: &[i64])
        "The means of images [batch, channels, height, width] over windows that share the pixels evenly:\n\n\
        along an axis of n pixels, of m places, place i has those from floor(i n / m) to ceil((i + 1) n / m).\n\n\
        >>> fg.adaptive_avg_pool2d(fg.ones((1, 3, 8, 8)), 4).shape\n(1, 3, 4, 4)";
    function adaptive_max_pool2d (x: &Tensor, output_size: &[i64])
        "The largest pixels of images [batch, channels, height, width] in the windows of adaptive_avg_pool2d.\n\n\
        >>> fg.adaptive_max_pool2d(fg.ones((1, 3, 8, 8)), 4).shape\n(1, 3, 4, 4)";
    function adaptive_max_pool2d_with_indices (x: &Tensor, output_size: &[i64])
        "adaptive_max_pool2d, and the positions of the pixels as of max_pool2d_with_indices.\n\n\
        >>> fg.adaptive_max_pool2d_with_indices(fg.ones((1, 3, 8, 8)), 1)[1].ravel().tolist()\n[0, 0, 0]";
    function max_pool1d (x: &Tensor, kernel_size: &[i64], stride: Option<&[i64]> = None, padding: &[i64] = Ints(&[0]), dilation: &[i64] = Ints(&[1]), ceil_mode: bool = False)
        "The largest pixel of each window of sequences [batch, channels, length] (or of one).\n\n\
        The other arguments are those of max_pool2d.\n\n\
        >>> fg.max_pool1d(fg.ones((1, 3, 8)), 2).shape\n(1, 3, 4)";
    function max_pool1d_with_indices (x: &Tensor, kernel_size: &[i64], stride: Option<&[i64]> = None, padding: &[i64] = Ints(&[0]), dilation: &[i64] = Ints(&[1]), ceil_mode: bool = False)
        "max_pool1d, and where the pixels are: their int64 positions in the image of their channel, in C order.\n\n\
        >>> fg.max_pool1d_with_indices(fg.ones((1, 3, 8)), 8)[1].ravel().tolist()\n[0, 0, 0]";
    function avg_pool1d (x: &Tensor, kernel_size: &[i64], stride: Option<&[i64]> = None, padding: &[i64] = Ints(&[0]), ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Option<f64> = None)
        "The mean of each window of sequences [batch, channels, length] (or of one).\n\n\
        The other arguments are those of avg_pool2d.\n\n\
        >>> fg.avg_pool1d(fg.ones((1, 3, 8)), 2).shape\n(1, 3, 4)";
    function adaptive_avg_pool1d (x: &Tensor, output_size: &[i64])
        "The means of sequences [batch, channels, length] over windows that share the pixels evenly:\n\n\
        along an axis of n pixels, of m places, place i has those from floor(i n / m) to ceil((i + 1) n / m).\n\n\
        >>> fg.adaptive_avg_pool1d(fg.ones((1, 3, 8)), 4).shape\n(1, 3, 4)";
    function adaptive_max_pool1d (x: &Tensor, output_size: &[i64])
        "The largest pixels of sequences [batch, channels, length] in the windows of adaptive_avg_pool1d.\n\n\
        >>> fg.adaptive_max_pool1d(fg.ones((1, 3, 8)), 4).shape\n(1, 3, 4)";
    function adaptive_max_pool1d_with_indices (x: &Tensor, output_size: &[i64])
        "adaptive_max_pool1d, and the positions of the pixels as of max_pool1d_with_indices.\n\n\
        >>> fg.adaptive_max_pool1d_with_indices(fg.ones((1, 3, 8)), 1)[1].ravel().tolist()\n[0, 0, 0]";
    function max_pool3d (x: &Tensor, kernel_size: &[i64], stride: Option<&[i64]> = None, padding: &[i64] = Ints(&[0]), dilation: &[i64] = Ints(&[1]), ceil_mode: bool = False)
        "The largest pixel of each window of volumes [batch, channels, depth, height, width] (or of one).\n\n\
        The other arguments are those of max_pool2d.\n\n\
        >>> fg.max_pool3d(fg.ones((1, 3, 8, 8, 8)), 2).shape\n(1, 3, 4, 4, 4)";
    function max_pool3d_with_indices (x: &Tensor, kernel_size: &[i64], stride: Option<&[i64]> = None, padding: &[i64] = Ints(&[0]), dilation: &[i64] = Ints(&[1]), ceil_mode: bool = False)
        "max_pool3d, and where the pixels are: their int64 positions in the image of their channel, in C order.\n\n\
        >>> fg.max_pool3d_with_indices(fg.ones((1, 3, 8, 8, 8)), 8)[1].ravel().tolist()\n[0, 0, 0]";
    function avg_pool3d (x: &Tensor, kernel_size: &[i64], stride: Option<&[i64]> = None, padding: &[i64] = Ints(&[0]), ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Option<f64> = None)
        "The mean of each window of volumes [batch, channels, depth, height, width] (or of one).\n\n\
        The other arguments are those of avg_pool2d.\n\n\
        >>> fg.avg_pool3d(fg.ones((1, 3, 8, 8, 8)), 2).shape\n(1, 3, 4, 4, 4)";
    function adaptive_avg_pool3d (x: &Tensor, output_size: &[i64])
        "The means of volumes [batch, channels, depth, height, width] over windows that share the pixels evenly:\n\n\
        along an axis of n pixels, of m places, place i has those from floor(i n / m) to ceil((i + 1) n / m).\n\n\
        >>> fg.adaptive_avg_pool3d(fg.ones((1, 3, 8, 8, 8)), 4).shape\n(1, 3, 4, 4, 4)";
    function adaptive_max_pool3d (x: &Tensor, output_size: &[i64])
        "The largest pixels of volumes [batch, channels, depth, height, width] in the windows of adaptive_avg_pool3d.\n\n\
        >>> fg.adaptive_max_pool3d(fg.ones((1, 3, 8, 8, 8)), 4).shape\n(1, 3, 4, 4, 4)";
    function adaptive_max_pool3d_with_indices (x: &Tensor, output_size: &[i64])
        "adaptive_max_pool3d, and the positions of the pixels as of max_pool3d_with_indices.\n\n\
        >>> fg.adaptive_max_pool3d_with_indices(fg.ones((1, 3, 8, 8, 8)), 1)[1].ravel().tolist()\n[0, 0, 0]";
}
