//! The largest pixel of each window of an image.

use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::{Result, bail};
use crate::kernel::num::Num;
use crate::shape::Dims;

/// The windows of a pooling.
#[derive(Clone, Debug)]
pub struct Windows {
    pub image: [usize; 2],
    pub window: [usize; 2],
    pub places: [usize; 2],
    pub stride: [usize; 2],
    pub dilation: [usize; 2],
    pub before: [usize; 2],
}

impl Windows {
    /// The pixels along one axis that the window at a place covers.
    fn covered(&self, axis: usize, place: usize) -> impl Iterator<Item = usize> + Clone + use<> {
        let (start, step, before) = (place * self.stride[axis], self.dilation[axis], self.before[axis]);
        let first = before.saturating_sub(start).div_ceil(step);
        let past = (before + self.image[axis]).saturating_sub(start).div_ceil(step).min(self.window[axis]);
        (first..past).map(move |k| start + k * step - before)
    }

    /// Writes where the largest pixel of each window is, the first of equal ones; a NaN is larger than any number.
    /// False if a window covers no pixel.
    fn largest<T: Num>(&self, image: &[T], out: &mut [i64]) -> bool {
        let mut out = out.iter_mut();
        for (y, x) in (0..self.places[0]).flat_map(|y| (0..self.places[1]).map(move |x| (y, x))) {
            let columns = self.covered(1, x);
            let pixels = self.covered(0, y).flat_map(|i| columns.clone().map(move |j| i * self.image[1] + j));
            let better = |best: usize, at: usize| {
                let (b, v) = (image[best], image[at]);
                if v > b || (v.nan() && !b.nan()) { at } else { best }
            };
            let Some(at) = pixels.reduce(better) else { return false };
            // A position in an array fits into 63 bits.
            *out.next().expect("one a window") = at as i64;
        }
        true
    }
}

/// The largest pixels of the windows of images whose pixels are the last axis, and their positions in it.
pub fn max(op: &'static str, w: &Windows, x: &Array) -> Result<(Array, Array)> {
    let x = x.contiguous()?;
    let (&pixels, lead) = x.dims().split_last().expect("pixels");
    let spots = w.places[0].saturating_mul(w.places[1]);
    let dims: Dims = lead.iter().copied().chain([spots]).collect();
    dispatch!(x.dtype(), num T => {
        let images = x.as_slice::<T>().expect("contiguous").chunks_exact(pixels.max(1));
        let mut whole = true;
        let at = Array::build::<i64>(op, &dims, |out| {
            let mut pairs = out.chunks_exact_mut(spots.max(1)).zip(images.clone());
            whole = pairs.all(|(out, image)| w.largest(image, out));
        })?;
        if !whole {
            bail!(Shape, op, "a window of {:?} with dilation {:?} meets no pixel of {:?}", w.window, w.dilation, w.image);
        }
        let positions = at.as_slice::<i64>().expect("just built").chunks_exact(spots.max(1));
        let values = Array::build::<T>(op, &dims, |out| {
            for ((out, image), at) in out.chunks_exact_mut(spots.max(1)).zip(images).zip(positions) {
                out.iter_mut().zip(at).for_each(|(o, &at)| *o = image[at as usize]);
            }
        })?;
        Ok((values, at))
    }, else bail!(Dtype, op, "not defined for {}", x.dtype()))
}
