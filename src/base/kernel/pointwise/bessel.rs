//! Loops of Bessel functions of f32, with vectors for the orders 0 and 1. The order is the first scalar.

use crate::kernel::fast::{Fast, bessel};
use crate::kernel::pointwise::unary::{self, Scalars, UnaryLoop};
use crate::kernel::{simd, special};

/// A function of an order and a number.
type Exact = fn(f64, f64) -> f64;

/// Two vector functions and the exact one.
///
/// # Safety
/// As [`unary::map`] for f32.
#[inline(always)]
unsafe fn run(
    exact: Exact,
    zero: impl Fn(f64) -> f64 + Copy,
    one: impl Fn(f64) -> f64 + Copy,
    (n, x, out, p): (usize, *const u8, *mut u8, &Scalars),
) {
    let order = p[0];
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        if order == 0.0 {
            vectors(exact, order, zero, n, x, out);
        } else if order == 1.0 {
            vectors(exact, order, one, n, x, out);
        } else {
            unary::map(|x: f32| exact(order, f64::from(x)) as f32, n, x, out);
        }
    }
}

/// The vector function, and the exact one where it is NaN.
///
/// # Safety
/// As [`run`].
#[inline(always)]
unsafe fn vectors<F: Fn(f64) -> f64 + Copy>(
    exact: Exact,
    order: f64,
    fast: F,
    n: usize,
    x: *const u8,
    out: *mut u8,
) {
    let row = move |x: f32| exact(order, f64::from(x)) as f32;
    simd::multiversion_if_wide_for::<false, F, ()>(
        // SAFETY: as the function's `# Safety` section requires.
        move || unsafe { unary::map(row, n, x, out) },
        #[inline(always)]
        move || {
            // SAFETY: as above.
            unsafe {
                unary::map_fast_inline(
                    row,
                    #[inline(always)]
                    |x: Fast<f32>| Fast(fast(f64::from(x.0)) as f32),
                    n,
                    x,
                    out,
                );
            }
        },
    );
}

macro_rules! loops {
    ($($(#[$doc:meta])* $NAME:ident: $exact:ident $zero:ident $one:ident;)*) => { $(
        $(#[$doc])*
        pub const $NAME: UnaryLoop = |n, x, out, p| {
            // SAFETY: `apply` passes arrays of f32.
            unsafe {
                run(
                    special::$exact,
                    #[inline(always)]
                    |x| bessel::$zero(x),
                    #[inline(always)]
                    |x| bessel::$one(x),
                    (n, x, out, p),
                );
            }
        };
    )* };
}
loops! {
    /// Of the first kind.
    J: bessel_j j0 j1;
    /// Of the second kind.
    Y: bessel_y y0 y1;
    /// Modified, of the first kind.
    I: bessel_i i0 i1;
    /// Those, scaled.
    IE: bessel_ie i0e i1e;
    /// Spherical, of the first kind.
    SPHERICAL_J: spherical_bessel_j spherical0 spherical1;
}
