//! Images whose channels are last in memory, as arrays whose last axis they are.

use crate::array::Array;
use crate::error::Result;
use crate::shape::Dims;

/// Images whose channels are last in memory, with the channels as their last axis: their axis of channels is the one before the
/// last `axes`. None if they have one channel, or lie in another order.
pub fn with_channels_last(x: &Array, axes: usize) -> Option<Array> {
    let at = x.rank().checked_sub(axes + 1)?;
    if x.dims()[at] < 2 || x.is_contiguous() {
        return None;
    }
    Some(x.permute(&last_order(x.rank(), at))).filter(Array::is_contiguous)
}

/// Images, contiguous with the channels as their last axis: as they lie, or a copy.
///
/// # Errors
/// Memory ends.
pub fn laid_channels_last(x: &Array, axes: usize) -> Result<Array> {
    match with_channels_last(x, axes) {
        Some(x) => Ok(x),
        None => x.permute(&last_order(x.rank(), x.rank() - axes - 1)).contiguous(),
    }
}

/// The inverse of [`with_channels_last`].
pub fn with_channels_first(x: &Array, axes: usize) -> Array {
    let (at, last) = (x.rank() - axes - 1, x.rank() - 1);
    x.permute(&(0..at).chain([last]).chain(at..last).collect::<Dims>())
}

/// The order of axes that makes axis `at` the last one.
pub fn last_order(rank: usize, at: usize) -> Dims {
    (0..at).chain(at + 1..rank).chain([at]).collect()
}
