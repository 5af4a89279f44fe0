//! Windows of images, each reduced to one pixel.

use super::along::{Chosen, choose};
use super::conv::{batched, pair, places};
use super::entry::entries;
use super::movement::reshape_to;
use crate::array::Array;
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
    if (0..2).any(|i| before[i] > window[i] / 2) {
        bail!(Argument, OP, "padding {before:?} is at most half of the window {window:?}");
    }
    let along = |i: usize| -> Result<usize> {
        let more = if ceil_mode { stride[i] - 1 } else { 0 };
        let pads = before[i].saturating_mul(2).saturating_add(more);
        let Some(n) = places(image[i], pads, window[i], stride[i], dilation[i]) else {
            bail!(
                Shape,
                OP,
                "a window of {window:?} (dilation {dilation:?}) does not fit into an image of {image:?} with padding {before:?}"
            );
        };
        // A window that starts in the padding after the image is left out.
        Ok(if n > 1 && (n - 1) * stride[i] >= image[i] + before[i] { n - 1 } else { n })
    };
    let places = [along(0)?, along(1)?];
    let windows = Windows { image, window, places, stride, dilation, before };
    let (y, _) = choose(MaxPool(windows), &reshape_to(&x, &[batch, channels, h * w])?)?;
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
}
