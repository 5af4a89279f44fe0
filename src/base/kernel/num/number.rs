//! `Field` and `Num`: the arithmetic of all numbers, and of real ones.

use crate::dtype::{Element, Ordered};

/// Arithmetic of every dtype but bool. Integers wrap around, as in NumPy.
pub trait Field: Element {
    const ZERO: Self;
    const ONE: Self;
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    fn neg(self) -> Self;
    /// Whether the number is NaN; of a complex number, whether one of its parts is.
    fn nan(self) -> bool;
}

/// Arithmetic of integers and floats.
pub trait Num: Field + Ordered {
    fn abs(self) -> Self;
    /// -1, 0 or 1, or NaN for NaN.
    fn sign(self) -> Self;
    /// The quotient rounded towards minus infinity; the floor of `self / o` where either is infinite. An integer divided
    /// by zero gives 0.
    fn floor_div(self, o: Self) -> Self;
    /// What is left of `self` by the rounded quotient, with the sign of `o`, as by Python's `%`. An integer modulo zero gives 0.
    fn modulo(self, o: Self) -> Self;
    fn pow(self, o: Self) -> Self;
    /// The larger number, or NaN if either is NaN.
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        if self > o || self.nan() { self } else { o }
    }
    /// The smaller number, or NaN if either is NaN.
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        if self < o || self.nan() { self } else { o }
    }
}

macro_rules! integer {
    ($($t:ty, $neg:expr, $abs:expr, $sign:expr);* $(;)?) => { $(
        impl Field for $t {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            #[inline(always)] fn add(self, o: Self) -> Self { self.wrapping_add(o) }
            #[inline(always)] fn sub(self, o: Self) -> Self { self.wrapping_sub(o) }
            #[inline(always)] fn mul(self, o: Self) -> Self { self.wrapping_mul(o) }
            #[inline(always)] fn neg(self) -> Self { self.wrapping_neg() }
            #[inline(always)] fn nan(self) -> bool { false }
        }
        impl Num for $t {
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
            /// A negative exponent gives the truncated reciprocal power: 1 or -1 for bases 1 and -1, else 0.
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

macro_rules! float {
    ($($t:ty)*) => { $(
        impl Field for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)] fn add(self, o: Self) -> Self { self + o }
            #[inline(always)] fn sub(self, o: Self) -> Self { self - o }
            #[inline(always)] fn mul(self, o: Self) -> Self { self * o }
            #[inline(always)] fn neg(self) -> Self { -self }
            #[inline(always)] fn nan(self) -> bool { self.is_nan() }
        }
        impl Num for $t {
            #[inline(always)] fn abs(self) -> Self { <$t>::abs(self) }
            #[inline(always)] fn sign(self) -> Self {
                if self > 0.0 { 1.0 } else if self < 0.0 { -1.0 } else if self == 0.0 { 0.0 } else { self }
            }
            #[inline(always)] fn floor_div(self, o: Self) -> Self {
                if o == 0.0 || self.is_infinite() || o.is_infinite() { return (self / o).floor(); }
                let r = self % o;
                let q = (self - r) / o - if r != 0.0 && (r < 0.0) != (o < 0.0) { 1.0 } else { 0.0 };
                // An integer up to rounding errors.
                if q == 0.0 { <$t>::copysign(0.0, self / o) } else { let f = q.floor(); if q - f > 0.5 { f + 1.0 } else { f } }
            }
            #[inline(always)] fn modulo(self, o: Self) -> Self {
                let r = self % o;
                if r == 0.0 { <$t>::copysign(0.0, o) } else if (r < 0.0) != (o < 0.0) { r + o } else { r }
            }
            /// Small common exponents are products, which vectorise when all elements have the same exponent.
            #[inline(always)] fn pow(self, o: Self) -> Self {
                let wide = f64::from(self);
                if o == 2.0 { self * self } else if o == 1.0 { self } else if o == 3.0 { (wide * wide * wide) as $t }
                else { self.powf(o) }
            }
        }
    )* };
}
float!(f32 f64);
