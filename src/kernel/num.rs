//! The traits that rows of ops are written against: `Num` for every number, `Real` for floating point.

use crate::dtype::{Bool8, Element};

/// Arithmetic of every numeric dtype. Integers wrap around, as NumPy's do.
pub trait Num: Element {
    const ZERO: Self;
    const ONE: Self;
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    /// -1, 0 or 1; NaN for NaN.
    fn sign(self) -> Self;
    /// The quotient rounded towards minus infinity; 0 for an integer divided by zero.
    fn floor_div(self, o: Self) -> Self;
    /// What `floor_div` leaves, with the sign of `o`; 0 for an integer modulo zero.
    fn modulo(self, o: Self) -> Self;
    fn pow(self, o: Self) -> Self;
    /// Whether the number is NaN.
    fn nan(self) -> bool;
    /// The larger one; NaN if either is.
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        if self > o || self.nan() { self } else { o }
    }
    /// The smaller one; NaN if either is.
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        if self < o || self.nan() { self } else { o }
    }
}

macro_rules! integer {
    ($($t:ty, $neg:expr, $abs:expr, $sign:expr);* $(;)?) => { $(
        impl Num for $t {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            #[inline(always)] fn add(self, o: Self) -> Self { self.wrapping_add(o) }
            #[inline(always)] fn sub(self, o: Self) -> Self { self.wrapping_sub(o) }
            #[inline(always)] fn mul(self, o: Self) -> Self { self.wrapping_mul(o) }
            #[inline(always)] fn neg(self) -> Self { self.wrapping_neg() }
            #[inline(always)] fn abs(self) -> Self { $abs(self) }
            #[inline(always)] fn sign(self) -> Self { $sign(self) }
            #[inline(always)] fn floor_div(self, o: Self) -> Self {
                if o == 0 { return 0; }
                let q = self.wrapping_div(o);
                if self.wrapping_rem(o) != 0 && ($neg(self) != $neg(o)) { q.wrapping_sub(1) } else { q }
            }
            #[inline(always)] fn modulo(self, o: Self) -> Self {
                if o == 0 { return 0; }
                let r = self.wrapping_rem(o);
                if r != 0 && ($neg(r) != $neg(o)) { r.wrapping_add(o) } else { r }
            }
            /// A negative exponent gives the truncated quotient: 1 or -1 for bases of size one, 0 otherwise.
            #[inline(always)] fn pow(self, o: Self) -> Self {
                if $neg(o) {
                    return if self == 1 { 1 }
                        else if $neg(self) && self.wrapping_add(1) == 0 { if o & 1 == 0 { 1 } else { self } }
                        else { 0 };
                }
                let (mut base, mut e, mut r) = (self, o, 1 as $t);
                while e != 0 {
                    if e & 1 == 1 { r = r.wrapping_mul(base); }
                    base = base.wrapping_mul(base);
                    e >>= 1;
                }
                r
            }
            #[inline(always)] fn nan(self) -> bool { false }
        }
    )* };
}
macro_rules! signed {
    ($($t:ty)*) => { integer! { $($t, |x: $t| x < 0, <$t>::wrapping_abs, <$t>::signum;)* } };
}
macro_rules! unsigned {
    ($($t:ty)*) => { integer! { $($t, |_: $t| false, |x: $t| x, |x: $t| <$t>::from(x != 0);)* } };
}
signed!(i8 i16 i32 i64);
unsigned!(u8 u16 u32 u64);

/// Floating point.
pub trait Real: Num {
    const INFINITY: Self;
    fn lit(v: f64) -> Self;
    fn div(self, o: Self) -> Self;
    fn exp(self) -> Self;
    fn exp_m1(self) -> Self;
    fn ln(self) -> Self;
    fn ln_1p(self) -> Self;
    fn log2(self) -> Self;
    fn log10(self) -> Self;
    fn sqrt(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tan(self) -> Self;
    fn asin(self) -> Self;
    fn acos(self) -> Self;
    fn atan(self) -> Self;
    fn atan2(self, o: Self) -> Self;
    fn sinh(self) -> Self;
    fn cosh(self) -> Self;
    fn tanh(self) -> Self;
    fn asinh(self) -> Self;
    fn acosh(self) -> Self;
    fn atanh(self) -> Self;
    fn erf(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    /// To the nearest integer, halves to the even one.
    fn round(self) -> Self;
    fn is_finite(self) -> bool;
    /// `x` with the sign of `o`.
    fn copysign(self, o: Self) -> Self;
}

macro_rules! float {
    ($($t:ident $erf:path),*) => { $(
        impl Num for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)] fn add(self, o: Self) -> Self { self + o }
            #[inline(always)] fn sub(self, o: Self) -> Self { self - o }
            #[inline(always)] fn mul(self, o: Self) -> Self { self * o }
            #[inline(always)] fn neg(self) -> Self { -self }
            #[inline(always)] fn abs(self) -> Self { <$t>::abs(self) }
            #[inline(always)] fn sign(self) -> Self {
                if self > 0.0 { 1.0 } else if self < 0.0 { -1.0 } else if self == 0.0 { 0.0 } else { self }
            }
            #[inline(always)] fn floor_div(self, o: Self) -> Self {
                if o == 0.0 { return self / o; }
                let q = (self - Num::modulo(self, o)) / o;
                // The quotient is a whole number but for rounding.
                if q == 0.0 { <$t>::copysign(0.0, self / o) } else { let f = q.floor(); if q - f > 0.5 { f + 1.0 } else { f } }
            }
            #[inline(always)] fn modulo(self, o: Self) -> Self {
                let r = self % o;
                if r == 0.0 { <$t>::copysign(0.0, o) } else if (r < 0.0) != (o < 0.0) { r + o } else { r }
            }
            #[inline(always)] fn pow(self, o: Self) -> Self { self.powf(o) }
            #[inline(always)] fn nan(self) -> bool { self.is_nan() }
        }
        impl Real for $t {
            const INFINITY: Self = <$t>::INFINITY;
            #[inline(always)] fn lit(v: f64) -> Self { v as $t }
            #[inline(always)] fn div(self, o: Self) -> Self { self / o }
            #[inline(always)] fn exp(self) -> Self { <$t>::exp(self) }
            #[inline(always)] fn exp_m1(self) -> Self { <$t>::exp_m1(self) }
            #[inline(always)] fn ln(self) -> Self { <$t>::ln(self) }
            #[inline(always)] fn ln_1p(self) -> Self { <$t>::ln_1p(self) }
            #[inline(always)] fn log2(self) -> Self { <$t>::log2(self) }
            #[inline(always)] fn log10(self) -> Self { <$t>::log10(self) }
            #[inline(always)] fn sqrt(self) -> Self { <$t>::sqrt(self) }
            #[inline(always)] fn sin(self) -> Self { <$t>::sin(self) }
            #[inline(always)] fn cos(self) -> Self { <$t>::cos(self) }
            #[inline(always)] fn tan(self) -> Self { <$t>::tan(self) }
            #[inline(always)] fn asin(self) -> Self { <$t>::asin(self) }
            #[inline(always)] fn acos(self) -> Self { <$t>::acos(self) }
            #[inline(always)] fn atan(self) -> Self { <$t>::atan(self) }
            #[inline(always)] fn atan2(self, o: Self) -> Self { <$t>::atan2(self, o) }
            #[inline(always)] fn sinh(self) -> Self { <$t>::sinh(self) }
            #[inline(always)] fn cosh(self) -> Self { <$t>::cosh(self) }
            #[inline(always)] fn tanh(self) -> Self { <$t>::tanh(self) }
            #[inline(always)] fn asinh(self) -> Self { <$t>::asinh(self) }
            #[inline(always)] fn acosh(self) -> Self { <$t>::acosh(self) }
            #[inline(always)] fn atanh(self) -> Self { <$t>::atanh(self) }
            #[inline(always)] fn erf(self) -> Self { $erf(self) }
            #[inline(always)] fn floor(self) -> Self { <$t>::floor(self) }
            #[inline(always)] fn ceil(self) -> Self { <$t>::ceil(self) }
            #[inline(always)] fn trunc(self) -> Self { <$t>::trunc(self) }
            #[inline(always)] fn round(self) -> Self { <$t>::round_ties_even(self) }
            #[inline(always)] fn is_finite(self) -> bool { <$t>::is_finite(self) }
            #[inline(always)] fn copysign(self, o: Self) -> Self { <$t>::copysign(self, o) }
        }
    )* };
}
float!(f32 libm::erff, f64 libm::erf);

/// A truth value from a comparison, as an array element.
#[inline(always)]
pub fn truth(b: bool) -> Bool8 {
    Bool8::from(b)
}
