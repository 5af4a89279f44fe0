//! Vectorised `exp(x - m)` over slices.

use crate::kernel::fast::Fast;
use crate::kernel::num::{Analytic, Field, Real};
use crate::kernel::pointwise::unary;

/// Runs `rows::<T, FAST>` on its arguments, compiled for this processor's vectors. A macro, because only a closure
/// that is inlined here is compiled for them.
macro_rules! vectors {
    ($rows:ident, $T:ident, $args:expr) => {
        $crate::kernel::simd::multiversion_with(
            $args,
            #[inline(always)]
            |args| $rows::<$T, false>(args),
            #[inline(always)]
            |args| $rows::<$T, true>(args),
        )
    };
}
pub(super) use vectors;

/// `exp(x - m)` for each element. `FAST` is only for callers compiled for vectors.
#[inline(always)]
pub(super) fn exp_less<T: Real, const FAST: bool>(x: &[T], m: T, out: &mut [T])
where
    Fast<T>: Real,
{
    assert_eq!(x.len(), out.len());
    let (n, x, out) = (x.len(), x.as_ptr().cast(), out.as_mut_ptr().cast());
    // SAFETY: both slices have `n` elements.
    unsafe {
        if FAST {
            unary::map_fast_inline(
                #[inline(always)]
                |v: T| v.sub(m).exp(),
                #[inline(always)]
                |v: Fast<T>| v.sub(Fast(m)).exp(),
                n,
                x,
                out,
            );
        } else {
            unary::map(
                #[inline(always)]
                |v: T| v.sub(m).exp(),
                n,
                x,
                out,
            );
        }
    }
}
