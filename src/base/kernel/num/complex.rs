//! Complex numbers. Products and quotients are the textbook's; the elementary functions have the branch cuts and the
//! special values of C99's Annex G.
//!
//! The functions are written in f64, and complex64 is rounded from them. The inverse functions are Kahan's ("Branch
//! cuts for complex elementary functions", 1987).

use std::f64::consts::{FRAC_PI_2, LN_2, LN_10};

use num_complex::Complex;

use super::float::{Analytic, Inexact, Plain, tanhshrink_near};
use super::number::Field;
use crate::dtype::{Element, c64, c128};

const NAN: c128 = Complex::new(f64::NAN, f64::NAN);

/// Complex numbers of either width.
pub trait ComplexNum: Analytic {
    type Part: Plain;
    fn new(re: Self::Part, im: Self::Part) -> Self;
    fn parts(self) -> (Self::Part, Self::Part);
    fn wide(self) -> c128;
    fn of(z: c128) -> Self;
}

macro_rules! complex {
    ($($part:ident $t:ident)*) => { $(
        impl ComplexNum for $t {
            type Part = $part;
            #[inline(always)] fn new(re: $part, im: $part) -> Self { Complex::new(re, im) }
            #[inline(always)] fn parts(self) -> ($part, $part) { (self.re, self.im) }
            #[inline(always)] fn wide(self) -> c128 { Complex::new(f64::from(self.re), f64::from(self.im)) }
            #[inline(always)] fn of(z: c128) -> Self { Complex::new(z.re as $part, z.im as $part) }
        }
        impl Field for $t {
            const ZERO: Self = Complex::new(0.0, 0.0);
            const ONE: Self = Complex::new(1.0, 0.0);
            #[inline(always)] fn add(self, o: Self) -> Self { self + o }
            #[inline(always)] fn sub(self, o: Self) -> Self { self - o }
            #[inline(always)] fn mul(self, o: Self) -> Self { self * o }
            #[inline(always)] fn neg(self) -> Self { -self }
            #[inline(always)] fn nan(self) -> bool { self.re.is_nan() || self.im.is_nan() }
        }
        impl Inexact for $t {
            #[inline(always)] fn lit(v: f64) -> Self { Complex::new(v as $part, 0.0) }
            #[inline(always)] fn div(self, o: Self) -> Self { Self::of(quotient(self.wide(), o.wide())) }
            #[inline(always)] fn sqrt(self) -> Self { Self::of(sqrt(self.wide())) }
            #[inline(always)] fn is_finite(self) -> bool { self.re.is_finite() && self.im.is_finite() }
            #[inline(always)] fn is_infinite(self) -> bool { self.re.is_infinite() || self.im.is_infinite() }
        }
        impl Analytic for $t {
            functions!(exp exp2 exp_m1 ln ln_1p log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
                sigmoid sigmoid_slope sech_squared hypot_one tanhshrink);
        }
    )* };
}
macro_rules! functions {
    ($($f:ident)*) => { $( fn $f(self) -> Self { Self::of($f(self.wide())) } )* };
}
complex!(f32 c64 f64 c128);

/// `z` times i.
fn turned(z: c128) -> c128 {
    Complex::new(-z.im, z.re)
}

/// `z` times -i.
fn turned_back(z: c128) -> c128 {
    Complex::new(z.im, -z.re)
}

/// Smith's quotient, which overflows only where the result does. By zero it is that of the parts.
#[inline(always)]
fn quotient(x: c128, y: c128) -> c128 {
    if y.re.abs() >= y.im.abs() {
        if y.re == 0.0 {
            return Complex::new(x.re / y.re.abs(), x.im / y.re.abs());
        }
        let ratio = y.im / y.re;
        let scale = 1.0 / (y.re + y.im * ratio);
        Complex::new((x.re + x.im * ratio) * scale, (x.im - x.re * ratio) * scale)
    } else {
        let ratio = y.re / y.im;
        let scale = 1.0 / (y.im + y.re * ratio);
        Complex::new((x.re * ratio + x.im) * scale, (x.im * ratio - x.re) * scale)
    }
}

/// The absolute value, without overflow.
#[inline(always)]
pub fn modulus<Z: ComplexNum>(z: Z) -> Z::Part {
    let z = z.wide();
    Z::Part::from_f64(z.re.hypot(z.im))
}

/// `z` divided by its absolute value, and 0 for 0.
pub fn sgn<Z: ComplexNum>(z: Z) -> Z {
    let z = z.wide();
    // The larger part becomes 1 or -1, so that the absolute value neither overflows nor underflows.
    let scale = z.re.abs().max(z.im.abs());
    if scale == 0.0 || !scale.is_finite() {
        return if scale == 0.0 { Z::ZERO } else { Z::of(NAN) };
    }
    let z = Complex::new(z.re / scale, z.im / scale);
    Z::of(z.unscale((z.re * z.re + z.im * z.im).sqrt()))
}

fn sqrt(z: c128) -> c128 {
    let Complex { re: x, im: y } = z;
    if x == 0.0 && y == 0.0 {
        return Complex::new(0.0, y);
    }
    if y.is_infinite() {
        return Complex::new(f64::INFINITY, y);
    }
    if x.is_nan() || y.is_nan() && x.is_finite() {
        return NAN;
    }
    if x.is_infinite() {
        return if x > 0.0 {
            Complex::new(x, if y.is_nan() { y } else { 0f64.copysign(y) })
        } else {
            Complex::new(if y.is_nan() { y } else { 0.0 }, f64::INFINITY.copysign(y))
        };
    }
    let most = x.abs().max(y.abs());
    let (x, y, scale) = if most > f64::MAX / 4.0 {
        (x / 4.0, y / 4.0, 2.0)
    } else if most < 2f64.powi(-960) {
        (x * 2f64.powi(108), y * 2f64.powi(108), 2f64.powi(-54))
    } else {
        (x, y, 1.0)
    };
    let root = ((x.abs() + x.hypot(y)) * 0.5).sqrt();
    let other = y.abs() / (2.0 * root);
    let (re, im) = if x >= 0.0 { (root, other) } else { (other, root) };
    Complex::new(re * scale, (im * scale).copysign(y))
}

/// The sum of two floats, and its rounding error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let rest = sum - a;
    (sum, (a - (sum - rest)) + (b - rest))
}

/// `first + x² + y² - less` with an error of about one rounding of the result.
fn sum_of_squares(first: f64, x: f64, y: f64, less: f64) -> f64 {
    let (p, q) = (x * x, y * y);
    let tails = x.mul_add(x, -p) + y.mul_add(y, -q);
    let (large, small) = if p >= q { (p, q) } else { (q, p) };
    let (a, e) = two_sum(large, -less);
    let (b, f) = two_sum(a, first);
    let (c, g) = two_sum(b, small);
    c + (e + f + g + tails)
}

/// The logarithm of the absolute value.
fn ln_modulus(z: c128) -> f64 {
    let (a, b) = (z.re.abs(), z.im.abs());
    let (a, b) = if a >= b || b.is_nan() { (a, b) } else { (b, a) };
    if a.is_infinite() || b.is_infinite() {
        f64::INFINITY
    } else if a > 0.5 && a < 1.8 {
        // Near 1 the logarithm depends on the digits that the absolute value would lose.
        0.5 * sum_of_squares(0.0, a, b, 1.0).ln_1p()
    } else if a > f64::MAX / 2.0 {
        (a / 2.0).hypot(b / 2.0).ln() + LN_2
    } else if a < f64::MIN_POSITIVE && a > 0.0 {
        let scale = 2f64.powi(54);
        (a * scale).hypot(b * scale).ln() - 54.0 * LN_2
    } else {
        a.hypot(b).ln()
    }
}

fn ln(z: c128) -> c128 {
    Complex::new(ln_modulus(z), z.im.atan2(z.re))
}

fn ln_1p(z: c128) -> c128 {
    let Complex { re: x, im: y } = z;
    let moved = Complex::new(1.0 + x, y);
    let near = x.abs() < 1.0 && y.abs() < 1.0;
    let re = if near { 0.5 * sum_of_squares(2.0 * x, x, y, 0.0).ln_1p() } else { ln_modulus(moved) };
    Complex::new(re, y.atan2(moved.re))
}

fn log2(z: c128) -> c128 {
    ln(z).unscale(LN_2)
}

fn log10(z: c128) -> c128 {
    ln(z).unscale(LN_10)
}

/// `scale e^x (cos y + i sin y)`, without overflow of the second factor alone.
fn polar_exp(scale: f64, x: f64, y: f64) -> c128 {
    let (sin, cos) = y.sin_cos();
    if x > 709.0 && x < f64::INFINITY {
        let half = (0.5 * x).exp();
        return Complex::new(scale * half * cos * half, scale * half * sin * half);
    }
    let r = scale * x.exp();
    Complex::new(r * cos, r * sin)
}

fn exp(z: c128) -> c128 {
    let Complex { re: x, im: y } = z;
    if y == 0.0 {
        return Complex::new(x.exp(), y);
    }
    if !y.is_finite() {
        return match x {
            f64::NEG_INFINITY => Complex::new(0.0, 0f64.copysign(y)),
            f64::INFINITY => Complex::new(x, f64::NAN),
            _ => NAN,
        };
    }
    polar_exp(1.0, x, y)
}

fn exp2(z: c128) -> c128 {
    let Complex { re: x, im: y } = z;
    if y == 0.0 {
        return Complex::new(x.exp2(), y);
    }
    if !y.is_finite() || !x.is_finite() || x > 1023.0 {
        return exp(z.scale(LN_2));
    }
    let ((sin, cos), r) = ((y * LN_2).sin_cos(), x.exp2());
    Complex::new(r * cos, r * sin)
}

fn exp_m1(z: c128) -> c128 {
    let Complex { re: x, im: y } = z;
    if y == 0.0 {
        // The standard of the array API has no -0 for the real part, as the sum of `exp(z)` and -1 has none.
        return Complex::new(x.exp_m1() + 0.0, y);
    }
    if !y.is_finite() || !x.is_finite() || x > 709.0 {
        return exp(z) - 1.0;
    }
    let half = (0.5 * y).sin();
    Complex::new(x.exp_m1() * y.cos() - 2.0 * half * half, x.exp() * y.sin())
}

fn sinh(z: c128) -> c128 {
    let Complex { re: x, im: y } = z;
    if y == 0.0 {
        return Complex::new(x.sinh(), y);
    }
    if !y.is_finite() {
        return Complex::new(if x == 0.0 || x.is_infinite() { x } else { f64::NAN }, f64::NAN);
    }
    if x.abs() > 22.0 {
        let e = polar_exp(0.5, x.abs(), y);
        return Complex::new(e.re.copysign(e.re * x.signum()), e.im);
    }
    Complex::new(x.sinh() * y.cos(), x.cosh() * y.sin())
}

fn cosh(z: c128) -> c128 {
    let Complex { re: x, im: y } = z;
    if y == 0.0 || x == 0.0 {
        // The sign of `sinh x sin y`.
        let sin = if y.is_finite() { y.sin() } else { y };
        return Complex::new(x.cosh() * y.cos(), 0f64.copysign(x) * 1f64.copysign(sin));
    }
    if !y.is_finite() {
        return Complex::new(if x.is_infinite() { f64::INFINITY } else { f64::NAN }, f64::NAN);
    }
    if x.abs() > 22.0 {
        let e = polar_exp(0.5, x.abs(), y);
        return Complex::new(e.re, e.im.copysign(e.im * x.signum()));
    }
    Complex::new(x.cosh() * y.cos(), x.sinh() * y.sin())
}

fn tanh(z: c128) -> c128 {
    let Complex { re: x, im: y } = z;
    if y == 0.0 {
        return Complex::new(x.tanh(), y);
    }
    if !y.is_finite() {
        return match x {
            x if x.is_infinite() => Complex::new(1f64.copysign(x), 0f64.copysign(y)),
            x if x == 0.0 => Complex::new(x, f64::NAN),
            _ => NAN,
        };
    }
    if x.abs() > 22.0 {
        let (sin, cos) = y.sin_cos();
        return Complex::new(1f64.copysign(x), 4.0 * sin * cos * (-2.0 * x.abs()).exp());
    }
    let (t, s) = (y.tan(), x.sinh());
    let (b, r) = (1.0 + t * t, (1.0 + s * s).sqrt());
    if t.is_infinite() {
        return Complex::new(r / s, 1.0 / t);
    }
    let d = 1.0 + b * s * s;
    Complex::new(b * r * s / d, t / d)
}

fn sin(z: c128) -> c128 {
    turned_back(sinh(turned(z)))
}

fn cos(z: c128) -> c128 {
    cosh(turned(z))
}

fn tan(z: c128) -> c128 {
    turned_back(tanh(turned(z)))
}

fn sech_squared(z: c128) -> c128 {
    let z = if z.re < 0.0 { -z } else { z };
    if z.re > 300.0 {
        return exp(z.scale(-2.0)).scale(4.0);
    }
    let c = cosh(z);
    quotient(Complex::new(1.0, 0.0), c * c)
}

fn tanhshrink(z: c128) -> c128 {
    if z.re.abs().max(z.im.abs()) < 0.5 { tanhshrink_near(z) } else { z - tanh(z) }
}

fn sigmoid(z: c128) -> c128 {
    let e = exp(if z.re < 0.0 { z } else { -z });
    quotient(if z.re < 0.0 { e } else { Complex::new(1.0, 0.0) }, e + 1.0)
}

fn sigmoid_slope(z: c128) -> c128 {
    let e = exp(if z.re < 0.0 { z } else { -z });
    quotient(e, (e + 1.0) * (e + 1.0))
}

fn hypot_one(z: c128) -> c128 {
    let turned = turned(z);
    sqrt(1.0 + turned) * sqrt(1.0 - turned)
}

/// Whether squares of the parts would overflow.
fn is_large(z: c128) -> bool {
    z.re.abs() > f64::MAX / 4.0 || z.im.abs() > f64::MAX / 4.0
}

/// The logarithm of twice the absolute value of a large number.
fn ln_of_double(z: c128) -> f64 {
    (0.5 * z.re).hypot(0.5 * z.im).ln() + 2.0 * LN_2
}

fn acos(z: c128) -> c128 {
    let Complex { re: x, im: y } = z;
    if is_large(z) {
        return Complex::new(y.abs().atan2(x), -ln_of_double(z).copysign(y));
    }
    if x == 0.0 && y.is_nan() {
        return Complex::new(FRAC_PI_2, y);
    }
    let (a, b) = (sqrt(Complex::new(1.0 - x, -y)), sqrt(Complex::new(1.0 + x, y)));
    Complex::new(2.0 * a.re.atan2(b.re), libm::asinh(b.re * a.im - b.im * a.re))
}

fn acosh(z: c128) -> c128 {
    let Complex { re: x, im: y } = z;
    if is_large(z) {
        return Complex::new(ln_of_double(z), y.atan2(x));
    }
    if x == 0.0 && y.is_nan() {
        return Complex::new(y, FRAC_PI_2);
    }
    let (a, b) = (sqrt(Complex::new(x - 1.0, y)), sqrt(Complex::new(x + 1.0, y)));
    Complex::new(libm::asinh(a.re * b.re + a.im * b.im), 2.0 * a.im.atan2(b.re))
}

fn asinh(z: c128) -> c128 {
    let Complex { re: x, im: y } = z;
    if is_large(z) {
        return Complex::new(ln_of_double(z).copysign(x), y.atan2(x.abs()));
    }
    if x.is_nan() && y == 0.0 {
        return z;
    }
    let (a, b) = (sqrt(Complex::new(1.0 + y, -x)), sqrt(Complex::new(1.0 - y, x)));
    Complex::new(libm::asinh(a.re * b.im - b.re * a.im), y.atan2(a.re * b.re - a.im * b.im))
}

fn asin(z: c128) -> c128 {
    turned_back(asinh(turned(z)))
}

fn atanh(z: c128) -> c128 {
    /// Beyond, the square overflows or underflows.
    const LARGE: f64 = 6.7e153;
    const SMALL: f64 = 1.5e-154;
    if z.re.is_sign_negative() {
        return -atanh(-z);
    }
    let Complex { re: x, im: y } = z;
    let high = y.abs();
    if x.is_infinite() || y.is_infinite() {
        return Complex::new(0.0, if y.is_nan() { y } else { FRAC_PI_2.copysign(y) });
    }
    if x.is_nan() {
        return NAN;
    }
    if x > LARGE || high > LARGE {
        let h = (0.5 * x).hypot(0.5 * y);
        return Complex::new(x / 4.0 / h / h, FRAC_PI_2.copysign(y));
    }
    if x == 0.0 && y.is_nan() {
        return z;
    }
    if x == 1.0 && high < SMALL {
        let re = if high == 0.0 { f64::INFINITY } else { -(high.sqrt() / high.hypot(2.0).sqrt()).ln() };
        let im = if high == 0.0 { y } else { (2f64.atan2(-high) / 2.0).copysign(y) };
        return Complex::new(re, im);
    }
    let left = 1.0 - x;
    Complex::new(
        (4.0 * x / (left * left + high * high)).ln_1p() / 4.0,
        -(-2.0 * y).atan2(left * (1.0 + x) - high * high) / 2.0,
    )
}

fn atan(z: c128) -> c128 {
    turned_back(atanh(turned(z)))
}

/// Integer exponents up to this size are products.
const FEW: f64 = 100.0;

/// `x^y`, which is 1 where `y` is 0.
pub fn power<Z: ComplexNum>(x: Z, y: Z) -> Z {
    let (x, y) = (x.wide(), y.wide());
    Z::of(if y == Complex::new(0.0, 0.0) {
        Complex::new(1.0, 0.0)
    } else if x == Complex::new(0.0, 0.0) {
        if y.re > 0.0 { Complex::new(0.0, 0.0) } else { NAN }
    } else if y.im == 0.0 && y.re.fract() == 0.0 && y.re.abs() <= FEW {
        let product = product(x, y.re.abs() as u32);
        if y.re < 0.0 { quotient(Complex::new(1.0, 0.0), product) } else { product }
    } else if y.im == 0.0 {
        let (r, angle) = (x.re.hypot(x.im).powf(y.re), y.re * x.im.atan2(x.re));
        Complex::new(r * angle.cos(), r * angle.sin())
    } else {
        exp(ln(x) * y)
    })
}

/// `x^n` by repeated squares, from the lowest bit of `n` on.
fn product(x: c128, mut n: u32) -> c128 {
    let (mut square, mut all) = (x, None);
    loop {
        if n & 1 == 1 {
            all = Some(all.map_or(square, |all: c128| all * square));
        }
        n >>= 1;
        if n == 0 {
            return all.unwrap_or(Complex::new(1.0, 0.0));
        }
        square *= square;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const I: c128 = Complex::new(0.0, 1.0);

    /// The inverse functions undo theirs, on both sides of their cuts and near the branch points.
    #[test]
    #[cfg_attr(miri, ignore = "it is about numbers, and touches no memory by address")]
    fn inverses_undo() {
        let list = [-1e8, -2.0, -1.0 - 1e-9, -0.3, -1e-9, -0.0, 0.0, 1e-9, 0.7, 1.0, 1.5, 3e4];
        for z in list.iter().flat_map(|&re| list.map(|im| Complex::new(re, im))) {
            let near = |w: c128, name: &str| {
                let off = (w - z).norm() / z.norm().max(1e-30);
                assert!(off < 1e-7 || (w - z).norm() < 1e-15, "{name} {z}: {w}");
            };
            near(exp(ln(z)), "ln");
            near(sqrt(z) * sqrt(z), "sqrt");
            near(sin(asin(z)), "asin");
            near(cos(acos(z)), "acos");
            near(sinh(asinh(z)), "asinh");
            near(cosh(acosh(z)), "acosh");
            if z != I && z != -I && z.norm() < 10.0 {
                near(tan(atan(z)), "atan");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "it is about numbers, and touches no memory by address")]
    fn logarithms_near_one_keep_their_digits() {
        // ln |1 + z| for z = (-1e-20, 1e-10) is -1e-20 + 0.5e-20.
        let near = ln_1p(Complex::new(-1e-20, 1e-10));
        assert!((near.re / -5e-21 - 1.0).abs() < 1e-12, "{near}");
        let (sin, cos) = 0.3f64.sin_cos();
        assert!(ln(Complex::new(cos, sin)).re.abs() < 1e-16);
    }
}
