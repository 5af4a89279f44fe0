//! Which share of a row is so large that what it leaves for the others is read off the others.

use crate::kernel::num::Real;

/// From this share on, what is left for the others is not 1 minus the share, which is rounded.
const LARGE: f64 = 0.75;

/// From which number on a result of a softmax, or of its logarithm, is a large share.
#[inline(always)]
pub fn large<T: Real>(log: bool) -> T {
    T::lit(if log { LARGE.ln() } else { LARGE })
}

/// Whether a number is a large share. All numbers are compared, without branches, so the loop fills vectors.
#[inline(always)]
pub fn has_large<T: Real>(log: bool, numbers: &[T]) -> bool {
    numbers.iter().fold(0u32, |any, &z| any | u32::from(z > large(log))) > 0
}
