//! Windows of images, each reduced to one pixel.

use super::along::{Chosen, choose};
use super::conv::{batched, conv2d, pair, places};
use super::entry::{IntsOrStr, Operand, entries};
use super::movement::{pad, reshape_to};
use super::promote::promoted_float;
use crate::array::{Array, Item};
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::kernel::pool::{self, Windows};
use crate::shape::Dims;

struct MaxPool(Windows);

impl Chosen for MaxPool {
    fn name(&self) -> &'static str {
        "max_pool2d"
    }

    fn back(&self) -> usize {
        1
    }

    fn choose(&self, x: &Array) -> Result<(Array, Array)> {
        pool::max(self.name(), &self.0, x)
    }
}

/// The numbers of places of a window along both axes.
fn grid(
    op: &'static str,
    image: [usize; 2],
    window: [usize; 2],
    stride: [usize; 2],
    before: [usize; 2],
    dilation: [usize; 2],
    ceil_mode: bool,
) -> Result<[usize; 2]> {
    if (0..2).any(|i| before[i] > window[i] / 2) {
        bail!(Argument, op, "padding {before:?} is at most half of the window {window:?}");
    }
    let along = |i: usize| -> Result<usize> {
        let more = if ceil_mode { stride[i] - 1 } else { 0 };
        let pads = before[i].saturating_mul(2).saturating_add(more);
        let Some(n) = places(image[i], pads, window[i], stride[i], dilation[i]) else {
            bail!(
                Shape,
                op,
                "a window of {window:?} (dilation {dilation:?}) does not fit into an image of {image:?} with padding {before:?}"
            );
        };
        // A window that starts in the padding after the image is left out.
        Ok(if n > 1 && (n - 1) * stride[i] >= image[i] + before[i] { n - 1 } else { n })
    };
    Ok([along(0)?, along(1)?])
}

/// The largest pixel of each window; its gradient goes to that pixel, the first of equal ones.
pub fn max_pool2d(
    x: &Tensor,
    kernel_size: &[i64],
    stride: Option<&[i64]>,
    padding: &[i64],
    dilation: &[i64],
    ceil_mode: bool,
) -> Result<Tensor> {
    const OP: &str = "max_pool2d";
    let (x, had_batch) = batched(OP, x)?;
    let &[batch, channels, h, w] = x.dims() else { unreachable!("an image") };
    let (image, window) = ([h, w], pair(OP, "kernel_size", kernel_size, 1)?);
    let stride = stride.map_or(Ok(window), |s| pair(OP, "stride", s, 1))?;
    let (before, dilation) = (pair(OP, "padding", padding, 0)?, pair(OP, "dilation", dilation, 1)?);
    let places = grid(OP, image, window, stride, before, dilation, ceil_mode)?;
    let windows = Windows { image, window, places, stride, dilation, before };
    let (y, _) = choose(MaxPool(windows), &reshape_to(&x, &[batch, channels, h * w])?)?;
    let lead = if had_batch { &[batch, channels][..] } else { &[channels] };
    reshape_to(&y, &lead.iter().copied().chain(places).collect::<Dims>())
}

/// The mean of each window. What lies in the padding counts as 0, or not at all.
pub fn avg_pool2d(
    x: &Tensor,
    kernel_size: &[i64],
    stride: Option<&[i64]>,
    padding: &[i64],
    ceil_mode: bool,
    count_include_pad: bool,
) -> Result<Tensor> {
    const OP: &str = "avg_pool2d";
    let (x, had_batch) = batched(OP, &*promoted_float(x)?)?;
    let &[batch, channels, h, w] = x.dims() else { unreachable!("an image") };
    let (image, window) = ([h, w], pair(OP, "kernel_size", kernel_size, 1)?);
    let stride = stride.map_or(Ok(window), |s| pair(OP, "stride", s, 1))?;
    let before = pair(OP, "padding", padding, 0)?;
    let places = grid(OP, image, window, stride, before, [1, 1], ceil_mode)?;
    // How far the last window reaches beyond the image, of which `before` at most is padding.
    let beyond =
        |i: usize| (places[i].saturating_sub(1) * stride[i] + window[i]).saturating_sub(before[i] + image[i]);
    let widths = |limit: [usize; 2], rest: bool| -> [(i64, i64); 4] {
        let of = |i: usize| {
            let known = beyond(i).min(limit[i]);
            if rest { (0, (beyond(i) - known) as i64) } else { (limit[i] as i64, known as i64) }
        };
        [(0, 0), (0, 0), of(0), of(1)]
    };
    let zero = Operand::Number(Item::Int(0));
    let ones = |dims: &[usize]| Tensor::constant(Array::full_of(x.dtype(), dims, 1.0));
    let sums = |x: &Tensor| {
        let stride = stride.map(|s| s as i64);
        let weight = ones(&[1, 1, window[0], window[1]]);
        conv2d(x, &weight, None, &stride, IntsOrStr::Ints(&[0]), &[1], 1)
    };
    let all = |x: &Tensor| {
        sums(&pad(
            &pad(x, &widths(before, false), "constant", zero)?,
            &widths(before, true),
            "constant",
            zero,
        )?)
    };
    let counts = if count_include_pad {
        let inner =
            pad(&ones(&[1, 1, h, w]), &widths(before, false), "constant", Operand::Number(Item::Int(1)))?;
        sums(&pad(&inner, &widths(before, true), "constant", zero)?)?
    } else {
        all(&ones(&[1, 1, h, w]))?
    };
    let y = all(&reshape_to(&x, &[batch * channels, 1, h, w])?)? / counts;
    let lead = if had_batch { &[batch, channels][..] } else { &[channels] };
    reshape_to(&y, &lead.iter().copied().chain(places).collect::<Dims>())
}

entries! {
    function max_pool2d (x: &Tensor, kernel_size: &[i64], stride: Option<&[i64]> = None, padding: &[i64] = Ints(&[0]), dilation: &[i64] = Ints(&[1]), ceil_mode: bool = False)
        "The largest pixel of each window of images [batch, channels, height, width] (or of one).\n\n\
        Numbers are one for both axes, or two; the stride is that of the window if none is given. Padding is never the\n\
        largest. The gradient goes to the first of equal pixels, and a NaN is larger than any number. With ceil_mode a\n\
        last window may reach over the edge.\n\n\
        >>> fg.max_pool2d(fg.ones((1, 3, 8, 8)), 2).shape\n(1, 3, 4, 4)";
    function avg_pool2d (x: &Tensor, kernel_size: &[i64], stride: Option<&[i64]> = None, padding: &[i64] = Ints(&[0]), ceil_mode: bool = False, count_include_pad: bool = True)
        "The mean of each window of images [batch, channels, height, width] (or of one).\n\n\
        Numbers are one for both axes, or two; the stride is that of the window if none is given. Pixels of the padding\n\
        are zeros, which without count_include_pad do not count. With ceil_mode a last window may reach over the edge;\n\
        what lies beyond the padding never counts.\n\n\
        >>> fg.avg_pool2d(fg.ones((1, 3, 8, 8)), 2).shape\n(1, 3, 4, 4)";
}
