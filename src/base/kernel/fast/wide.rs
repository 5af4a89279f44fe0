//! f32 functions computed in f64, where nothing cancels below the precision of f32. Polynomials interpolate at
//! Chebyshev nodes; stated errors are relative.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_4, LN_2, LOG2_E, LOG10_2, LOG10_E, PI};

use super::double;
use super::poly::{ROUND64, horner, mantissa64, power_of_two64, quadrant};
use super::single::exp32;

/// `e^x` with an error of 3e-12; 0 or above every f32 far out.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    let x = if x > 300.0 { 300.0 } else { x };
    let x = if x < -300.0 { -300.0 } else { x };
    let rounded = x.mul_add(LOG2_E, ROUND64);
    let r = (rounded - ROUND64).mul_add(-LN_2, x);
    let tail = horner!(f64 r; 2.485_969_439_475_207e-5, 0.000_198_993_901_836_792_32, 0.001_388_885_390_994_504, 0.008_333_298_344_023_092, 0.041_666_666_719_295_684, 0.166_666_667_193_124_8, 0.5);
    (tail * r).mul_add(r, 1.0 + r) * power_of_two64(rounded)
}

/// The exponent `k` of `x`, and `ln x - k ln 2` with an error of 1e-13. `less` replaces `x - 1` where `k` is 0. NaN
/// unless `x` is positive and finite.
#[inline(always)]
pub(super) fn ln_parts(x: f64, less: impl Fn(f64) -> f64) -> (f64, f64) {
    let (k, f) = mantissa64(x);
    let f = if k == 0.0 { less(f) } else { f };
    let s = f / (2.0 + f);
    let z = s * s;
    let tail = horner!(f64 z; 0.193_651_163_634_642_37, 0.221_912_739_571_309_46, 0.285_717_565_362_323_24, 0.399_999_987_875_307, 0.666_666_666_673_822_9);
    (if x > 0.0 && x <= f64::MAX { k } else { f64::NAN }, (tail * z).mul_add(s, 2.0 * s))
}

/// `ln(1 + u)`. Near 1, `u` is more accurate than the difference of the sum and 1.
#[inline(always)]
fn ln_1p(u: f64) -> f64 {
    let (k, y) = ln_parts(1.0 + u, |_| u);
    k.mul_add(LN_2, y)
}

/// The angle of the point `(x, y)` with non-negative coordinates, with an error of 3e-12.
#[inline(always)]
fn angle(y: f64, x: f64) -> f64 {
    let (steep, middle) = (y > x * 2.414_213_562_373_095, y > x * 0.414_213_562_373_095_1);
    let (top, bottom, base) = if middle { (y - x, y + x, FRAC_PI_4) } else { (y, x, 0.0) };
    let (top, bottom, base) = if steep { (-x, y, FRAC_PI_2) } else { (top, bottom, base) };
    let t = top / bottom;
    let z = t * t;
    let tail = horner!(f64 z; -0.040_394_043_332_018_08, 0.071_335_148_973_255_16, -0.090_286_643_032_945_37, 0.111_074_694_307_872_1, -0.142_856_115_861_357_7, 0.199_999_989_052_775_77, -0.333_333_333_314_159_15);
    base + (tail * z).mul_add(t, t)
}

#[inline(always)]
pub fn log2(x: f32) -> f32 {
    let (k, y) = ln_parts(f64::from(x), |f| f);
    y.mul_add(LOG2_E, k) as f32
}

#[inline(always)]
pub fn log10(x: f32) -> f32 {
    let (k, y) = ln_parts(f64::from(x), |f| f);
    k.mul_add(LOG10_2, y * LOG10_E) as f32
}

#[inline(always)]
pub fn sinh(x: f32) -> f32 {
    let x = f64::from(x);
    let (e, z) = (exp(x.abs()), x * x);
    let tail = horner!(f64 z; 2.545_670_657_152_382e-8, 2.755_377_026_364_149e-6, 0.000_198_412_825_301_159_9, 0.008_333_333_317_464_362, 0.166_666_666_666_983_84);
    let near = (tail * z).mul_add(x, x);
    (if z < 1.0 { near } else { (0.5 * (e - 1.0 / e)).copysign(x) }) as f32
}

#[inline(always)]
pub fn cosh(x: f32) -> f32 {
    let e = exp(f64::from(x).abs());
    (0.5 * (e + 1.0 / e)) as f32
}

/// For arguments below a million.
#[inline(always)]
pub fn tan(x: f32) -> f32 {
    let (q, r, _) = quadrant(f64::from(if x.abs() <= 1_048_576.0 { x } else { f32::NAN }));
    let z = r * r;
    let s = horner!(f64 z; 2.724_962_008_007_533e-6, -0.000_198_400_843_764_227_04, 0.008_333_331_870_341_349, -0.166_666_666_638_440_49);
    let c = horner!(f64 z; 2.446_345_266_350_529e-5, -0.001_388_758_656_578_384_7, 0.041_666_650_596_550_34, -0.499_999_999_689_965_8);
    let (s, c) = ((s * z).mul_add(r, r), c.mul_add(z, 1.0));
    let y = (if q & 1 == 0 { s } else { -c }) / (if q & 1 == 0 { c } else { s });
    // The reduction loses the sign of zero.
    if x == 0.0 { x } else { y as f32 }
}

#[inline(always)]
pub fn atan(x: f32) -> f32 {
    let x = f64::from(x);
    angle(x.abs(), 1.0).copysign(x) as f32
}

#[inline(always)]
pub fn asin(x: f32) -> f32 {
    let x = f64::from(x);
    angle(x.abs(), ((1.0 - x) * (1.0 + x)).sqrt()).copysign(x) as f32
}

#[inline(always)]
pub fn acos(x: f32) -> f32 {
    let x = f64::from(x);
    (2.0 * angle((1.0 - x).sqrt(), (1.0 + x).sqrt())) as f32
}

#[inline(always)]
pub fn atan2(y: f32, x: f32) -> f32 {
    let (y, x) = (f64::from(y), f64::from(x));
    let a = angle(y.abs(), x.abs());
    (if x < 0.0 { PI - a } else { a }).copysign(y) as f32
}

#[inline(always)]
pub fn asinh(x: f32) -> f32 {
    let a = f64::from(x).abs();
    let z = a * a;
    (ln_1p(a + z / (1.0 + (z + 1.0).sqrt())) as f32).copysign(x)
}

#[inline(always)]
pub fn acosh(x: f32) -> f32 {
    let t = f64::from(x) - 1.0;
    ln_1p(if t >= 0.0 { t + (t * (t + 2.0)).sqrt() } else { f64::NAN }) as f32
}

#[inline(always)]
pub fn atanh(x: f32) -> f32 {
    let a = f64::from(x).abs();
    ((0.5 * ln_1p(2.0 * a / (1.0 - a))) as f32).copysign(x)
}

/// By the recurrence up to 8, and the asymptotic series from there. NaN near zeros, where the terms cancel, and unless `x` is
/// positive and finite.
#[inline(always)]
pub fn lgamma(x: f32) -> f32 {
    let x = f64::from(x);
    let (mut z, mut product) = (x, 1.0);
    for _ in 0..8 {
        let is_near = z < 8.0;
        product *= if is_near { z } else { 1.0 };
        z += if is_near { 1.0 } else { 0.0 };
    }
    let ln = |x| {
        let (k, log) = ln_parts(x, |f| f);
        k.mul_add(LN_2, log)
    };
    let inverse = 1.0 / z;
    let y = inverse * inverse;
    let series = inverse * horner!(f64 y; -1.0 / 1680.0, 1.0 / 1260.0, -1.0 / 360.0, 1.0 / 12.0);
    // Half of the logarithm of 2π.
    let constant = 0.918_938_533_204_672_8;
    let value = (z - 0.5).mul_add(ln(z), (constant - z) + series) - ln(product);
    (if x > 0.0 && value.abs() > 1e-3 { value } else { f64::NAN }) as f32
}

/// A polynomial of `ln(1 - y²)`, and far out of its root. The errors are 2e-9.
#[inline(always)]
pub fn erfinv(y: f32) -> f32 {
    let y = f64::from(y);
    let (k, log) = ln_parts((1.0 - y) * (1.0 + y), |f| f);
    let w = -k.mul_add(LN_2, log);
    let near = horner!(f64 w; 6.522_958_743_218_092e-11, -1.354_774_186_027_424_7e-9, 1.618_268_041_499_455e-9, 1.929_130_993_134_670_2e-7, -2.051_006_942_757_617_5e-6, 4.752_970_668_212_76e-6, 4.214_180_165_399_084e-5, -0.000_123_543_010_220_542_67, -0.002_337_731_339_294_869, 0.011_550_127_868_046_17, 0.232_013_575_212_212_89, 0.886_226_927_199_205_8);
    let s = w.sqrt();
    let far = horner!(f64 s; -3.854_854_767_280_143_5e-5, 0.001_335_324_481_929_127_2, -0.020_718_398_421_430_27, 0.189_354_661_122_041_63, -1.126_736_608_243_738_2, 4.548_123_341_729_607, -12.557_125_792_067_497, 23.246_785_791_819_814, -27.259_545_386_314_926, 18.807_536_557_192_27, -4.784_906_665_480_919);
    (y * if w < 5.5 { near } else { far }) as f32
}

#[inline(always)]
pub fn trigamma(x: f32) -> f32 {
    double::trigamma(f64::from(x)) as f32
}

#[inline(always)]
pub fn hypot(x: f32, y: f32) -> f32 {
    let (x, y) = (f64::from(x), f64::from(y));
    x.mul_add(x, y * y).sqrt() as f32
}

/// For all arguments, special values included.
#[inline(always)]
pub fn pow(x: f32, y: f32) -> f32 {
    let (base, y) = (f64::from(x), f64::from(y));
    let a = base.abs();
    let (k, log) = ln_parts(a, |f| f);
    let log = k.mul_add(LN_2, log);
    // The logarithms of zero and infinity must stay large enough for any exponent.
    let log = if a == 0.0 { -f64::MAX } else { log };
    let log = if a == f64::INFINITY { f64::MAX } else { log };
    let power = exp(if y == 0.0 || log == 0.0 { 0.0 } else { y * log });
    let half = 0.5 * y;
    let (whole, odd) = (y.floor() == y, half.floor() != half);
    let signed = if whole && odd { -power } else { power };
    let signed = if whole || a == 0.0 || a == f64::INFINITY { signed } else { f64::NAN };
    (if x.is_sign_negative() { signed } else { power }) as f32
}

/// Up to here the tail of the normal distribution is representable in f32.
const LAST: f64 = 14.5;

/// `|x|`, at most [`LAST`].
#[inline(always)]
fn size(x: f32) -> f64 {
    f64::from(if x.abs() > LAST as f32 { LAST as f32 } else { x.abs() })
}

/// `e^(-a²/2)` for `a` up to [`LAST`], with an error of 2e-9.
#[inline(always)]
fn bell(a: f64) -> f64 {
    let y = a * a * (-0.5 * LOG2_E);
    let rounded = y + ROUND64;
    let r = y - (rounded - ROUND64);
    let m = horner!(f64 r; 0.000_153_533_661_718_124_73, 0.001_339_887_467_513_787_3, 0.009_618_437_353_283_068, 0.055_503_324_713_120_98, 0.240_226_479_135_009_44, 0.693_147_202_853_401_4, 1.0);
    // Adds the exponent to that of `m`, which is about 1.
    f64::from_bits(m.to_bits().wrapping_add(rounded.to_bits() << 52))
}

#[inline(always)]
pub fn normal_density(x: f32) -> f32 {
    (bell(size(x)) * (0.5 * FRAC_1_SQRT_2 * std::f64::consts::FRAC_2_SQRT_PI)) as f32
}

/// The distribution function at `-a`: `e^(-a²/2)` times `t` and a polynomial in `t = 1 / (1 + 0.3 a)`, with an error
/// of 5e-9.
#[inline(always)]
fn normal_tail(a: f64) -> f64 {
    let t = 1.0 / a.mul_add(0.3, 1.0);
    let scale = horner!(f64 t; -0.020_619_845_649_423_624, 0.112_415_293_070_344_88, -0.228_164_136_816_467_27, 0.191_716_073_181_478, -0.079_364_235_678_493_46, 0.096_123_643_947_086_88, 0.078_401_651_995_603_23, 0.110_232_728_141_013_12, 0.119_572_154_692_231_44, 0.119_686_671_389_281_19);
    t * bell(a) * scale
}

#[inline(always)]
pub fn normal_cdf(x: f32) -> f32 {
    let tail = normal_tail(size(x));
    (if x > 0.0 { 1.0 - tail } else { tail }) as f32
}

/// Twice the distribution function at `-√2 x`.
#[inline(always)]
pub fn erfc(x: f32) -> f32 {
    let a = f64::from(x.abs()) * std::f64::consts::SQRT_2;
    let tail = 2.0 * normal_tail(if a > LAST { LAST } else { a });
    (if x < 0.0 { 2.0 - tail } else { tail }) as f32
}

/// `x` times the distribution function, which for positive `x` is 1 minus its value at `-x`. Keeps the sign of zero.
#[inline(always)]
pub fn gelu(x: f32) -> f32 {
    let a = size(x);
    (if x >= 0.0 { x } else { -0.0 }) - (a * normal_tail(a)) as f32
}

/// In f32 arithmetic: `x + x P(x²)` up to 1, and beyond `1 - e^L(x)` with `L` the logarithm of the complement.
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let z = x * x;
    let small = horner!(f32 z; -9.667_045e-6, 1.126_595_9e-4, -8.484_080_3e-4, 5.221_031_6e-3, -2.686_543e-2, 1.128_378_2e-1, -3.761_263_8e-1, 1.283_791_7e-1);
    let a = if x.abs() > 4.0 { 4.0 } else { x.abs() };
    let tail = horner!(f32 a; 1.637_151_4e-6, -4.605_804e-5, 5.968_056_5e-4, -4.759_596e-3, 2.642_113_5e-2, -1.100_800_86e-1, -6.318_260_4e-1);
    // The logarithm is in two parts, because near 1 one unit of it is half a unit of the result.
    let linear = -1.130_233_4 * a;
    let rest = (tail * a).mul_add(a, (-1.130_233_4_f32).mul_add(a, -linear) + 3.201_380_6e-4);
    let log = linear + rest;
    let e = exp32(log);
    if z < 1.0 { small.mul_add(x, x) } else { (1.0 - e.mul_add((linear - log) + rest, e)).copysign(x) }
}
