//! Checked arguments of convolutions and pools: numbers for each spatial axis, batches and sizes. There are
//! always three spatial axes; where the input has fewer, the first ones have size 1.

use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::kernel::conv::Axes;
use crate::ops::movement::reshape_to;
use crate::shape::Dims;

/// The names of the spatial axes, by their number.
const SIZES: [&str; 4] = ["", "length", "height, width", "depth, height, width"];

/// A function over `axes` spatial axes, of at most three.
pub(in crate::ops) struct Spatial {
    pub op: &'static str,
    pub axes: usize,
}

impl Spatial {
    /// One number for each axis, or one for all, each at least `least`. Missing axes get `rest`.
    pub fn each(&self, what: &str, list: &[i64], least: i64, rest: usize) -> Result<Axes> {
        let (op, axes) = (self.op, self.axes);
        if list.len() != 1 && list.len() != axes {
            bail!(Argument, op, "{what} is one number or {axes}, not {list:?}");
        }
        let mut all = [rest; 3];
        for (i, one) in all[3 - axes..].iter_mut().enumerate() {
            let given = list[if list.len() == 1 { 0 } else { i }];
            match usize::try_from(given) {
                Ok(n) if given >= least => *one = n,
                _ => {
                    // PyTorch says the first of convolutions, the other of pools.
                    let more = if what == "stride" {
                        ": a non-positive stride is not supported, stride must be greater than zero"
                    } else {
                        ""
                    };
                    bail!(Argument, op, "{what} is at least {least}, not {list:?}{more}")
                }
            }
        }
        Ok(all)
    }

    /// The numbers of the existing axes, for a message.
    pub fn own<'a>(&self, all: &'a Axes) -> &'a [usize] {
        &all[3 - self.axes..]
    }

    /// [`Spatial::own`] as `2 x 3`.
    pub fn shown(&self, all: &Axes) -> String {
        self.own(all).iter().map(ToString::to_string).collect::<Vec<_>>().join(" x ")
    }

    /// An image with its batch axis, and whether it had one.
    pub fn batched(&self, x: &Tensor) -> Result<(Tensor, bool)> {
        let dims = x.dims();
        match dims.len().checked_sub(self.axes) {
            Some(2) => Ok((x.clone(), true)),
            Some(1) => Ok((reshape_to(x, &[&[1], dims].concat())?, false)),
            _ => bail!(
                Shape,
                self.op,
                "images are [batch, channels, {}], not {dims:?}: Expected {}D (unbatched) or {}D (batched) input to {}, but \
                 got input of size: {dims:?}",
                SIZES[self.axes],
                self.axes + 1,
                self.axes + 2,
                self.op
            ),
        }
    }

    /// Batch, channels and sizes of a batch of images, or the same three axes of a weight.
    pub fn sizes(&self, x: &Tensor) -> Result<(usize, usize, Axes)> {
        let [a, b, rest @ ..] = x.dims() else {
            bail!(Shape, self.op, "a weight has {} axes, not {:?}", self.axes + 2, x.dims());
        };
        if rest.len() != self.axes {
            bail!(
                Shape,
                self.op,
                "a weight is [filters, channels, {}], not {:?}",
                SIZES[self.axes],
                x.dims()
            );
        }
        let mut sizes = [1; 3];
        sizes[3 - self.axes..].copy_from_slice(rest);
        Ok((*a, *b, sizes))
    }

    /// Removes the batch axis if the input had none.
    pub fn unbatched(&self, y: Tensor, had_batch: bool) -> Result<Tensor> {
        if had_batch { Ok(y) } else { reshape_to(&y, &Dims::from_slice(&y.dims()[1..])) }
    }
}

/// The number of positions of a window along one axis; None if the window does not fit.
pub(in crate::ops) fn places(
    image: usize,
    pads: usize,
    window: usize,
    stride: usize,
    dilation: usize,
) -> Option<usize> {
    let reach = dilation.checked_mul(window.checked_sub(1)?)?.checked_add(1)?;
    Some(image.checked_add(pads)?.checked_sub(reach)? / stride + 1)
}
