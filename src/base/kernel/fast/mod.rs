//! `Fast`: a float with vectorised elementary functions, for the same formulas as the float itself. Where a function
//! cannot guarantee its result it returns NaN, and the loop recomputes that element with the exact formula.

pub mod bessel;
mod double;
mod poly;
mod single;
mod wide;

pub use poly::{ROUND64, mantissa64, power_sum};
#[cfg(target_arch = "x86_64")]
pub use single::{EXP_TAIL, LN_2};

use crate::dtype::sealed::Sealed;
use crate::dtype::{DType, Element, Ordered};
use crate::kernel::num::{Analytic, Field, Inexact, Num, Plain, Real, tanhshrink_near};

/// A float in vectorised loops. Only for use inside [`super::simd::multiversion`]: without the FMA instruction, a
/// fused multiply-add is a slow call.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
#[repr(transparent)]
pub struct Fast<T>(pub T);

macro_rules! fast {
    ($t:ident: $exp:ident $exp2:ident $exp_m1:ident $ln:ident $ln_1p:ident $sin:ident $cos:ident $tanh:ident $sigmoid:ident
        $softplus:ident;
        $base:ident $more:ident ($($two:ident)*) ($($one:ident)*) ($($real:ident)*); exact ($($exact_two:ident)*) ($($exact:ident)*)) => {
        impl Sealed for Fast<$t> {}
        // SAFETY: `Fast` is a transparent wrapper of a float with the same dtype.
        unsafe impl Element for Fast<$t> {
            const DTYPE: DType = <$t as Element>::DTYPE;
            #[inline(always)] fn from_f64(v: f64) -> Self { Fast(v as $t) }
            #[inline(always)] fn from_i64(v: i64) -> Self { Fast(v as $t) }
        }
        impl Ordered for Fast<$t> {
            #[inline(always)] fn to_f64(self) -> f64 { f64::from(self.0) }
            #[inline(always)] fn to_i64(self) -> i64 { self.0 as i64 }
        }
        impl Field for Fast<$t> {
            const ZERO: Self = Fast(0.0);
            const ONE: Self = Fast(1.0);
            fast!(@exact Field, (add sub mul) (neg));
            #[inline(always)] fn nan(self) -> bool { self.0.is_nan() }
        }
        impl Num for Fast<$t> {
            fast!(@exact Num, (max min) (abs sign));
            // For quotients below 2²³ (f32) or 2⁵² in size, rounding the quotient and then taking the floor gives the
            // wanted integer `q`, or the next one if the rounding reached it. The remainder `x - q o` is rounded
            // once. With the wanted `q` it is the exact formula's result. With the next `q` the remainder is a
            // multiple of the last place of `o` and smaller than `o`, so it is exact, and adding `o` rounds once.
            #[inline(always)] fn modulo(self, o: Self) -> Self {
                let (x, o) = (self.0, o.0);
                let t = x / o;
                let r = (-t.floor()).mul_add(o, x);
                let y = if (r < 0.0) != (o < 0.0) { r + o } else { r };
                let y = if r == 0.0 { (0.0 as $t).copysign(o) } else { y };
                // An infinite divisor gives NaN too.
                Fast(if t.abs() <= 1.0 / $t::EPSILON { y } else { $t::NAN })
            }
            // As above. Up to this bound the exact formula also rounds to the wanted integer.
            #[inline(always)] fn floor_div(self, o: Self) -> Self {
                let (x, o) = (self.0, o.0);
                let t = x / o;
                let q = t.floor();
                let r = (-q).mul_add(o, x);
                let q = if r != 0.0 && (r < 0.0) != (o < 0.0) { q - 1.0 } else { q };
                let q = if q == 0.0 { (0.0 as $t).copysign(t) } else { q };
                Fast(if t.abs() <= 0.25 / $t::EPSILON && !r.is_nan() { q } else { $t::NAN })
            }
            #[inline(always)] fn pow(self, o: Self) -> Self { Fast($more::pow(self.0, o.0)) }
        }
        impl Inexact for Fast<$t> {
            fast!(@exact Inexact, (div) (sqrt));
            #[inline(always)] fn lit(v: f64) -> Self { Fast(v as $t) }
            #[inline(always)] fn is_finite(self) -> bool { self.0.is_finite() }
            #[inline(always)] fn is_infinite(self) -> bool { self.0.is_infinite() }
        }
        impl Plain for Fast<$t> {
            const INFINITY: Self = Fast($t::INFINITY);
            fast!(@exact Plain, (copysign next_after) (floor ceil trunc round));
            // As `modulo`, with the quotient rounded towards 0 and the sign of the dividend.
            #[inline(always)] fn fmod(self, o: Self) -> Self {
                let (x, o) = (self.0, o.0);
                let t = x / o;
                let r = (-t.trunc()).mul_add(o, x);
                let y = if (r < 0.0) != (x < 0.0) { r + o.abs().copysign(x) } else { r };
                let y = if r == 0.0 { (0.0 as $t).copysign(x) } else { y };
                Fast(if t.abs() <= 1.0 / $t::EPSILON { y } else { $t::NAN })
            }
        }
        impl Analytic for Fast<$t> {
            fast!(@exact Analytic, () ($($exact)*));
            $( #[inline(always)] fn $one(self) -> Self { Fast($more::$one(self.0)) } )*
            #[inline(always)] fn exp(self) -> Self { Fast($base::$exp(self.0)) }
            #[inline(always)] fn exp2(self) -> Self { Fast($base::$exp2(self.0)) }
            #[inline(always)] fn exp_m1(self) -> Self { Fast($base::$exp_m1(self.0)) }
            #[inline(always)] fn ln(self) -> Self { Fast($base::$ln(self.0)) }
            #[inline(always)] fn ln_1p(self) -> Self { Fast($base::$ln_1p(self.0)) }
            #[inline(always)] fn sin(self) -> Self { Fast($base::$sin(self.0)) }
            #[inline(always)] fn cos(self) -> Self { Fast($base::$cos(self.0)) }
            #[inline(always)] fn tanh(self) -> Self { Fast($base::$tanh(self.0)) }
            #[inline(always)] fn sigmoid(self) -> Self { Fast($base::$sigmoid(self.0)) }
            #[inline(always)] fn sech_squared(self) -> Self {
                let e = $base::$exp(-2.0 * self.0.abs());
                Fast(4.0 * e / ((1.0 + e) * (1.0 + e)))
            }
            #[inline(always)] fn sigmoid_slope(self) -> Self {
                let e = $base::$exp(-self.0.abs());
                Fast(e / ((1.0 + e) * (1.0 + e)))
            }
            #[inline(always)] fn hypot_one(self) -> Self { Real::hypot(self, Fast(1.0)) }
            #[inline(always)] fn tanhshrink(self) -> Self {
                let (near, far) = (tanhshrink_near(self), self.0 - $base::$tanh(self.0));
                if self.0.abs() < 1.0 { near } else { Fast(far) }
            }
        }
        impl Real for Fast<$t> {
            fast!(@exact Real, ($($exact_two)*) ());
            $( #[inline(always)] fn $two(self, o: Self) -> Self { Fast($more::$two(self.0, o.0)) } )*
            $( #[inline(always)] fn $real(self) -> Self { Fast($more::$real(self.0)) } )*
            #[inline(always)] fn silu_slope(self) -> Self {
                let e = $base::$exp(-self.0.abs());
                let inverse = 1.0 / (1.0 + e);
                let other = e * inverse;
                Fast((self.0 * other).mul_add(inverse, if self.0 < 0.0 { other } else { inverse }))
            }
            #[inline(always)] fn softplus(self) -> Self { Fast($base::$softplus(self.0)) }
        }
    };
    (@exact $Trait:ident, ($($two:ident)*) ($($one:ident)*)) => {
        $( #[inline(always)] fn $two(self, o: Self) -> Self { Fast($Trait::$two(self.0, o.0)) } )*
        $( #[inline(always)] fn $one(self) -> Self { Fast($Trait::$one(self.0)) } )*
    };
}
fast!(f32: exp32 exp2_32 exp_m132 ln32 ln_1p32 sin32 cos32 tanh32 sigmoid32 softplus32;
    single wide (atan2 hypot)
        (log2 log10 tan asin acos atan sinh cosh asinh acosh atanh) (erf erfc normal_density normal_cdf gelu lgamma trigamma erfinv);
    exact () ());
fast!(f64: exp64 exp2_64 exp_m164 ln64 ln_1p64 sin64 cos64 tanh64 sigmoid64 softplus64;
    poly double (atan2 hypot) (log2 log10 tan asin acos atan sinh cosh asinh acosh atanh)
        (erf erfc normal_density normal_cdf gelu lgamma trigamma erfinv);
    exact () ());
