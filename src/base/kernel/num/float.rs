//! Arithmetic and elementary functions: `Inexact` and `Analytic` of floats and complex numbers, `Plain` and `Real` of
//! floats.

use super::number::{Field, Num};
use crate::kernel::special;

/// Floats and complex numbers with the operations that every dtype of them has.
pub trait Inexact: Field {
    fn lit(v: f64) -> Self;
    fn div(self, o: Self) -> Self;
    /// The root with a real part that is not negative; NaN for a negative float.
    fn sqrt(self) -> Self;
    fn is_finite(self) -> bool;
    /// Whether the number is infinite; of a complex number, whether one of its parts is.
    fn is_infinite(self) -> bool;
}

/// Floats with their exact operations, which give the same bits with vectors and without.
pub trait Plain: Num + Inexact {
    const INFINITY: Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    /// Rounds to the nearest integer, ties to even.
    fn round(self) -> Self;
    /// `x` with the sign of `o`.
    fn copysign(self, o: Self) -> Self;
    /// The next float in the direction of `o`.
    fn next_after(self, o: Self) -> Self;
    /// What a quotient rounded towards 0 leaves, which is exact.
    fn fmod(self, o: Self) -> Self;
}

/// Elementary functions of floats and complex numbers. A complex function has the branch cuts of C99, which NumPy and
/// PyTorch share. Vectorised implementations may differ in the last bits.
pub trait Analytic: Inexact {
    fn exp(self) -> Self;
    fn exp2(self) -> Self;
    fn exp_m1(self) -> Self;
    fn ln(self) -> Self;
    fn ln_1p(self) -> Self;
    fn log2(self) -> Self;
    fn log10(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tan(self) -> Self;
    fn asin(self) -> Self;
    fn acos(self) -> Self;
    fn atan(self) -> Self;
    fn sinh(self) -> Self;
    fn cosh(self) -> Self;
    fn tanh(self) -> Self;
    fn asinh(self) -> Self;
    fn acosh(self) -> Self;
    fn atanh(self) -> Self;
    /// `1 / (1 + e^-x)` with full relative precision for both signs.
    fn sigmoid(self) -> Self;
    /// The derivative of the sigmoid, `e^-|x| / (1 + e^-|x|)²`, without cancellation for large `|x|`.
    fn sigmoid_slope(self) -> Self;
    /// The derivative of tanh, `1 / cosh²`: of floats as `4 e^-2|x| / (1 + e^-2|x|)²`.
    fn sech_squared(self) -> Self;
    /// `sqrt(x² + 1)`, without overflow.
    fn hypot_one(self) -> Self;
    /// `x - tanh(x)`, without cancellation near 0.
    fn tanhshrink(self) -> Self;
}

/// `x - tanh(x)` of a number of absolute value up to 1: what an approximation of the tangent by a ratio of polynomials
/// leaves of `x` is a ratio of polynomials with positive coefficients.
#[inline(always)]
pub fn tanhshrink_near<T: Inexact>(x: T) -> T {
    let z = x.mul(x);
    let step = |sum: T, c: f64| sum.mul(z).add(T::lit(c));
    let above = [12_870.0, 810_810.0, 11_486_475.0].into_iter().fold(T::lit(44.0), step);
    let below = [13_860.0, 945_945.0, 16_216_200.0, 34_459_425.0].into_iter().fold(T::lit(45.0), step);
    x.mul(z.mul(above).div(below))
}

/// Elementary functions of floats.
pub trait Real: Plain + Analytic {
    fn atan2(self, o: Self) -> Self;
    fn erf(self) -> Self;
    /// `1 - erf(x)`, with full relative precision in the right tail.
    fn erfc(self) -> Self;
    /// `sqrt(x² + o²)` without overflow.
    fn hypot(self, o: Self) -> Self;
    /// The derivative of SiLU, `x · sigmoid(x)`.
    #[inline(always)]
    fn silu_slope(self) -> Self {
        self.sigmoid().add(self.mul(self.sigmoid_slope()))
    }
    /// `ln(1 + e^x)`, without overflow.
    fn softplus(self) -> Self;
    /// The density of the standard normal distribution.
    fn normal_density(self) -> Self;
    /// The cumulative standard normal distribution, with full relative precision in the left tail.
    fn normal_cdf(self) -> Self;
    /// `x` times [`Real::normal_cdf`].
    fn gelu(self) -> Self;
    /// `ln |Γ(x)|`.
    fn lgamma(self) -> Self;
    /// The second derivative of `lgamma`.
    fn trigamma(self) -> Self;
    fn erfinv(self) -> Self;
}

/// `erfc(-x / √2)`, which is twice the distribution function, and a correction to subtract: the rounding error of its
/// argument, which the tail amplifies by x².
fn normal_tail(x: f64) -> (f64, f64) {
    use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};
    /// `1 / √2` minus its nearest float.
    const REST: f64 = -4.833_646_656_726_457e-17;
    let z = -x * FRAC_1_SQRT_2;
    // Beyond, the result is 2 or has underflowed.
    if x.abs() > 38.0 {
        return (libm::erfc(z), 0.0);
    }
    let low = (-x).mul_add(FRAC_1_SQRT_2, -z) - x * REST;
    (libm::erfc(z), FRAC_2_SQRT_PI * (-z * z).exp() * low)
}

/// Functions that f32 lacks at full precision are computed in f64.
macro_rules! float {
    ($($t:ident)*) => { $(
        impl Inexact for $t {
            #[inline(always)] fn lit(v: f64) -> Self { v as $t }
            #[inline(always)] fn div(self, o: Self) -> Self { self / o }
            #[inline(always)] fn sqrt(self) -> Self { <$t>::sqrt(self) }
            #[inline(always)] fn is_finite(self) -> bool { <$t>::is_finite(self) }
            #[inline(always)] fn is_infinite(self) -> bool { <$t>::is_infinite(self) }
        }
        impl Plain for $t {
            const INFINITY: Self = <$t>::INFINITY;
            #[inline(always)] fn floor(self) -> Self { <$t>::floor(self) }
            #[inline(always)] fn ceil(self) -> Self { <$t>::ceil(self) }
            #[inline(always)] fn trunc(self) -> Self { <$t>::trunc(self) }
            #[inline(always)] fn round(self) -> Self { <$t>::round_ties_even(self) }
            #[inline(always)] fn copysign(self, o: Self) -> Self { <$t>::copysign(self, o) }
            #[inline(always)] fn fmod(self, o: Self) -> Self { self % o }
            #[inline(always)] fn next_after(self, o: Self) -> Self {
                let bits = self.to_bits();
                let grows = (self < o) == (self > 0.0);
                let y = <$t>::from_bits(if grows { bits.wrapping_add(1) } else { bits.wrapping_sub(1) });
                let y = if self == 0.0 { <$t>::from_bits(1).copysign(o) } else { y };
                let y = if self == o { o } else { y };
                if self.is_nan() || o.is_nan() { self + o } else { y }
            }
        }
        impl Analytic for $t {
            #[inline(always)] fn exp(self) -> Self { <$t>::exp(self) }
            #[inline(always)] fn exp2(self) -> Self { <$t>::exp2(self) }
            #[inline(always)] fn exp_m1(self) -> Self { <$t>::exp_m1(self) }
            #[inline(always)] fn ln(self) -> Self { <$t>::ln(self) }
            #[inline(always)] fn ln_1p(self) -> Self { <$t>::ln_1p(self) }
            #[inline(always)] fn log2(self) -> Self { f64::from(self).log2() as $t }
            #[inline(always)] fn log10(self) -> Self { f64::from(self).log10() as $t }
            #[inline(always)] fn sin(self) -> Self { <$t>::sin(self) }
            #[inline(always)] fn cos(self) -> Self { <$t>::cos(self) }
            #[inline(always)] fn tan(self) -> Self { f64::from(self).tan() as $t }
            #[inline(always)] fn asin(self) -> Self { f64::from(self).asin() as $t }
            #[inline(always)] fn acos(self) -> Self { f64::from(self).acos() as $t }
            #[inline(always)] fn atan(self) -> Self { f64::from(self).atan() as $t }
            #[inline(always)] fn sinh(self) -> Self { f64::from(self).sinh() as $t }
            #[inline(always)] fn cosh(self) -> Self { f64::from(self).cosh() as $t }
            #[inline(always)] fn tanh(self) -> Self { <$t>::tanh(self) }
            #[inline(always)] fn asinh(self) -> Self { libm::asinh(f64::from(self)) as $t }
            #[inline(always)] fn acosh(self) -> Self { if self < 1.0 { <$t>::NAN } else { libm::acosh(f64::from(self)) as $t } }
            #[inline(always)] fn atanh(self) -> Self { libm::atanh(f64::from(self)) as $t }
            #[inline(always)] fn sigmoid(self) -> Self {
                let e = (-self.abs()).exp();
                if self < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
            }
            #[inline(always)] fn sech_squared(self) -> Self {
                let e = (-2.0 * self.abs()).exp();
                4.0 * e / ((1.0 + e) * (1.0 + e))
            }
            #[inline(always)] fn sigmoid_slope(self) -> Self {
                let e = (-self.abs()).exp();
                e / ((1.0 + e) * (1.0 + e))
            }
            #[inline(always)] fn hypot_one(self) -> Self { Real::hypot(self, 1.0) }
            #[inline(always)] fn tanhshrink(self) -> Self {
                if self.abs() < 1.0 { tanhshrink_near(self) } else { self - <$t>::tanh(self) }
            }
        }
        impl Real for $t {
            #[inline(always)] fn atan2(self, o: Self) -> Self { f64::from(self).atan2(f64::from(o)) as $t }
            #[inline(always)] fn erf(self) -> Self { libm::erf(f64::from(self)) as $t }
            #[inline(always)] fn erfc(self) -> Self { libm::erfc(f64::from(self)) as $t }
            #[inline(always)] fn hypot(self, o: Self) -> Self { f64::from(self).hypot(f64::from(o)) as $t }
            #[inline(always)] fn softplus(self) -> Self {
                (if self > 0.0 { self } else { 0.0 }) + (-self.abs()).exp().ln_1p()
            }
            #[inline(always)] fn normal_density(self) -> Self {
                let x = f64::from(self);
                ((-0.5 * x * x).exp() * (1.0 / (2.0 * std::f64::consts::PI).sqrt())) as $t
            }
            #[inline(always)] fn normal_cdf(self) -> Self {
                let (tail, off) = normal_tail(f64::from(self));
                (0.5 * (tail - off)) as $t
            }
            #[inline(always)] fn lgamma(self) -> Self { special::lgamma(f64::from(self)) as $t }
            #[inline(always)] fn erfinv(self) -> Self { special::erfinv(f64::from(self)) as $t }
            #[inline(always)] fn trigamma(self) -> Self { special::polygamma(1.0, f64::from(self)) as $t }
            #[inline(always)] fn gelu(self) -> Self {
                // The result has underflowed or is the number, and infinity times zero would be NaN.
                if self.abs() > 40.0 { return if self < 0.0 { -0.0 } else { self }; }
                let half = 0.5 * f64::from(self);
                let (tail, off) = normal_tail(f64::from(self));
                half.mul_add(tail, -half * off) as $t
            }
        }
    )* };
}
float!(f32 f64);
