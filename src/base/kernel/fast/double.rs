//! f64 functions with double-double intermediates: an unevaluated sum of a number and its rounding error.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LOG2_E, LOG10_E, PI};

use super::poly::{
    LN_2, ROUND64, exp_m1_parts64, exp_parts64, exp_tail64, exp64, factors64, horner, ln_1p64, ln64,
    mantissa64, quadrant, sin_cos64, within64,
};
use crate::kernel::special;

/// The sum of two numbers, the first being the larger, and its rounding error.
#[inline(always)]
fn sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    (s, (a - s) + b)
}

/// The product of two numbers and its rounding error.
#[inline(always)]
fn product(a: f64, b: f64) -> (f64, f64) {
    let p = a * b;
    (p, a.mul_add(b, -p))
}

/// The exponent of `x` (NaN unless `x` is normal, positive and finite), and the logarithm of its mantissa in two
/// parts: `2 s + s³ (2/3 + …)` with `s = f / (2 + f)`.
#[inline(always)]
fn ln_parts(x: f64) -> (f64, f64, f64) {
    let (k, f) = mantissa64(x);
    let (d, d_low) = sum(2.0, f);
    let s = f / d;
    let s_low = ((-s).mul_add(d, f) - s * d_low) / d;
    let (z, z_low) = product(s, s);
    let z_low = (2.0 * s).mul_add(s_low, z_low);
    let q = horner!(f64 z; 0.107_649_518_047_945_96, 0.104_560_481_073_127_56, 0.117_668_255_912_037_43, 0.133_332_962_458_783_84, 0.153_846_157_648_468_43, 0.181_818_181_796_316_65, 0.222_222_222_222_285_13, 0.285_714_285_714_285_64, 0.4);
    let (a, a_low) = sum(0.666_666_666_666_666_6, z * q);
    let (c, c_low) = product(s, z);
    let c_low = s.mul_add(z_low, s_low.mul_add(z, c_low));
    let (t, t_low) = product(c, a);
    let t_low = c.mul_add(a_low + 3.700_743_415_417_188e-17, c_low.mul_add(a, t_low));
    let (y, y_low) = sum(2.0 * s, t);
    let k = if (f64::MIN_POSITIVE..=f64::MAX).contains(&x) { k } else { f64::NAN };
    (k, y, y_low + (t_low + 2.0 * s_low))
}

/// `k c + (y + y_low) m`, with `c` and `m` in two parts. The first part of `c` has so few bits that its product with
/// an exponent is exact.
#[inline(always)]
fn scaled(k: f64, (y, y_low): (f64, f64), c: (f64, f64), m: (f64, f64)) -> (f64, f64) {
    let (p, p_low) = product(y, m.0);
    let p_low = y.mul_add(m.1, y_low.mul_add(m.0, p_low));
    let (h, l) = sum(k * c.0, p);
    let (h, l) = if k == 0.0 { (p, 0.0) } else { (h, l) };
    (h, l + k.mul_add(c.1, p_low))
}

/// NaN where a square would leave the range of normal numbers.
#[inline(always)]
pub fn hypot(x: f64, y: f64) -> f64 {
    const RANGE: std::ops::RangeInclusive<f64> = 1e-140..=1e140;
    let (x, y) = (x.abs(), y.abs());
    let (a, b) = if x > y { (x, y) } else { (y, x) };
    let root = a.mul_add(a, b * b).sqrt();
    // One step of Newton's method, with the rounding errors of the squares.
    let ((a2, a_low), (r2, r_low)) = (product(a, a), product(root, root));
    let excess = (r2 - a2 - b * b) - (b.mul_add(b, -(b * b)) + a_low - r_low);
    let h = root - excess / (2.0 * root);
    let small = b == 0.0 || b < a * 1e-20;
    let is_sure = a == 0.0 || RANGE.contains(&a) && (small || RANGE.contains(&b));
    let h = if small { a } else { h };
    if is_sure { h } else { f64::NAN }
}

/// The angle of a point with coordinates that are not negative: that of the point turned by a quarter or an eighth of a
/// circle, at most 0.42. NaN for coordinates that are very large.
#[inline(always)]
fn angle(y: f64, x: f64) -> f64 {
    let (is_steep, is_middle) = (y > 2.414 * x, y > 0.4142 * x);
    let (rise, run) = if is_middle { (y - x, y + x) } else { (y, x) };
    let (base, low) = if is_middle { (FRAC_PI_4, 3.061_616_997_868_383e-17) } else { (0.0, 0.0) };
    let (rise, run) = if is_steep { (-x, y) } else { (rise, run) };
    let (base, low) = if is_steep { (FRAC_PI_2, 6.123_233_995_736_766e-17) } else { (base, low) };
    let r = rise / run;
    let z = r * r;
    let tail = horner!(f64 z; 0.016_282_993_238_924_487, -0.034_568_068_014_968_874, 0.045_514_962_374_949_3, -0.052_304_330_074_828_924, 0.058_789_261_105_281_01, -0.066_664_246_345_993_37, 0.076_922_963_610_482_18, -0.090_909_087_530_171_78, 0.111_111_111_051_457_25, -0.142_857_142_856_597_29, 0.199_999_999_999_998_04, -0.333_333_333_333_333_3);
    let a = base + (r + (r * z).mul_add(tail, low));
    if y < 1e300 && x < 1e300 { a } else { f64::NAN }
}

/// The angle of the same point with that sign of `x`.
#[inline(always)]
fn turned(angle: f64, x: f64) -> f64 {
    if x < 0.0 { PI - (angle - 1.224_646_799_147_353_2e-16) } else { angle }
}

#[inline(always)]
pub fn atan2(y: f64, x: f64) -> f64 {
    turned(angle(y.abs(), x.abs()), x).copysign(y)
}

#[inline(always)]
pub fn atan(x: f64) -> f64 {
    angle(x.abs(), 1.0).copysign(x)
}

#[inline(always)]
pub fn asin(x: f64) -> f64 {
    let a = x.abs();
    angle(a, ((1.0 - a) * (1.0 + a)).sqrt()).copysign(x)
}

#[inline(always)]
pub fn acos(x: f64) -> f64 {
    let a = x.abs();
    turned(angle(((1.0 - a) * (1.0 + a)).sqrt(), a), x)
}

#[inline(always)]
pub fn lgamma(x: f64) -> f64 {
    special::lgamma(x)
}

/// Three polynomials: of `w = -ln(1 - y²)`, and from 6.25 and 16 on of its root.
#[inline(always)]
pub fn erfinv(y: f64) -> f64 {
    let w = -ln64((1.0 - y) * (1.0 + y));
    let s = w.sqrt();
    let (t, u, v) = (
        w.mul_add(2.0 / 6.25, -1.0),
        s.mul_add(2.0 / 1.5, -6.5 / 1.5),
        s.mul_add(0.995_024_875_621_890_7, -4.980_099_502_487_563),
    );
    let near = horner!(f64 t; -2.703_225_409_106_934_4e-10, 7.689_312_733_742_569e-10, 1.540_173_871_665_488_6e-09, -8.562_787_796_742_932e-09, 4.792_369_996_100_387e-09, 3.915_473_114_023_045e-08, -9.867_713_140_174_249e-08, -1.018_514_757_681_828_5e-08, 5.394_320_648_707_009e-07, -1.059_321_402_540_731e-06, -6.837_187_218_121_17e-07, 7.130_057_263_082_449_6e-06, -1.125_731_918_267_793_6e-05, -1.502_771_042_027_757_5e-05, 9.336_739_177_804_79e-05, -0.000_116_888_839_930_971_32, -0.000_264_393_668_436_617_4, 0.001_232_485_568_681_283_4, -0.001_271_692_268_437_301_5, -0.004_137_314_377_414_43, 0.017_808_361_818_295_66, -0.022_604_447_453_449_802, -0.058_922_567_103_777_84, 0.750_494_320_079_963_5, 1.653_654_562_683_102_7);
    let middle = horner!(f64 u; -2.159_829_264_980_955e-12, 6.819_336_997_989_723e-10, -2.692_167_013_526_072_8e-09, 2.448_720_579_642_754e-10, 2.665_255_552_327_972_7e-08, -9.536_038_433_614_285e-08, 9.272_847_268_010_501e-08, 5.268_978_286_875_368e-07, -2.664_729_002_713_133_6e-06, 5.127_145_828_295_96e-06, 2.405_849_826_863_639e-06, -4.739_178_791_780_613e-05, 0.000_169_665_023_849_979_28, -0.000_400_635_703_270_378_7, 0.000_788_307_851_200_040_5, -0.001_582_541_089_128_500_8, 0.003_021_139_436_376_486_5, 0.753_944_225_770_619_4, 3.083_885_610_492_220_8);
    let far = horner!(f64 v; -2.153_871_368_807_726_6e-11, 4.474_879_643_351_567e-11, 7.584_876_822_800_812e-11, -4.656_236_270_157_282e-10, 1.382_355_492_305_215_2e-09, -3.606_642_836_102_041_7e-09, 8.061_351_092_195_847e-09, -1.562_664_359_084_270_7e-08, 2.963_768_956_488_221_7e-08, -6.916_205_707_196_452e-08, 2.352_455_548_098_124_2e-07, -1.018_885_928_983_706_9e-06, 4.627_895_607_275_655e-06, -2.004_008_272_251_004_6e-05, 7.702_638_881_687_429e-05, -0.000_216_733_890_589_132_73, -0.000_143_356_277_734_259_2, 1.015_350_556_889_948_8, 4.854_957_900_238_093);
    let size = if w < 6.25 {
        near
    } else if w < 16.0 {
        middle
    } else {
        far
    };
    y * size
}

/// `ln(1 + a + a² / (1 + √(a² + 1)))`. NaN where the square overflows.
#[inline(always)]
pub fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let z = a * a;
    ln_1p64(a + z / (1.0 + (z + 1.0).sqrt())).copysign(x)
}

/// With `t = x - 1`, `ln(1 + t + √(t² + 2 t))`. NaN where the square overflows.
#[inline(always)]
pub fn acosh(x: f64) -> f64 {
    let t = x - 1.0;
    ln_1p64(if t >= 0.0 { t + t.mul_add(t, 2.0 * t).sqrt() } else { f64::NAN })
}

#[inline(always)]
pub fn atanh(x: f64) -> f64 {
    let a = x.abs();
    (0.5 * ln_1p64(2.0 * a / (1.0 - a))).copysign(x)
}

/// By the recurrence up to 10, and the asymptotic series from there. NaN unless `x` is positive and finite.
#[inline(always)]
pub fn trigamma(x: f64) -> f64 {
    let (mut z, mut sum) = (x, 0.0);
    for _ in 0..10 {
        let is_near = z < 10.0;
        sum += if is_near { 1.0 / (z * z) } else { 0.0 };
        z += if is_near { 1.0 } else { 0.0 };
    }
    let inverse = 1.0 / z;
    let y = inverse * inverse;
    // The numbers of Bernoulli from the 16th to the second.
    let series = horner!(f64 y; -3617.0 / 510.0, 7.0 / 6.0, -691.0 / 2730.0, 5.0 / 66.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 1.0 / 6.0);
    let value = sum + (inverse + (0.5 * y + inverse * y * series));
    if x > 0.0 && x < f64::INFINITY { value } else { f64::NAN }
}

#[inline(always)]
pub fn log2(x: f64) -> f64 {
    let (k, y, low) = ln_parts(x);
    let (h, l) = scaled(k, (y, low), (1.0, 0.0), (LOG2_E, 2.035_527_374_093_103_3e-17));
    h + l
}

#[inline(always)]
pub fn log10(x: f64) -> f64 {
    let (k, y, low) = ln_parts(x);
    let two = (0.301_029_995_663_611_77, 3.694_239_077_158_931e-13);
    let (h, l) = scaled(k, (y, low), two, (LOG10_E, 1.098_319_650_216_765e-17));
    h + l
}

/// For normal bases and normal results.
#[inline(always)]
pub fn pow(x: f64, y: f64) -> f64 {
    let (k, m, low) = ln_parts(x.abs());
    let two = (0.693_147_180_559_208_2, 7.371_002_565_167_799e-13);
    let (h, l) = scaled(k, (m, low), two, (1.0, 0.0));
    let (e, e_low) = product(y, h);
    let (power, rest) = exp_parts64(within64(e, 708.0));
    let power = power + power.mul_add(y.mul_add(l, e_low), rest);
    let half = 0.5 * y;
    let odd = if half.floor() == half { power } else { -power };
    let signed = if y.floor() == y { odd } else { f64::NAN };
    if x < 0.0 { signed } else { power }
}

/// `(t + t / (t + 1)) / 2` with `t = e^|x| - 1`.
#[inline(always)]
pub fn sinh(x: f64) -> f64 {
    let (t, low) = exp_m1_parts64(within64(x, 708.0).abs());
    let (d, d_low) = if t > 1.0 { sum(t, 1.0) } else { sum(1.0, t) };
    let q = t / d;
    let rest = ((-q).mul_add(d, t) + low - q * (d_low + low)) / d;
    let (s, s_low) = sum(t, q);
    (0.5 * (s + (s_low + low + rest))).copysign(x)
}

#[inline(always)]
pub fn cosh(x: f64) -> f64 {
    let (e, low) = exp_parts64(within64(x, 708.0).abs());
    let (s, s_low) = sum(e, 1.0 / e);
    0.5 * (s + (s_low + low))
}

/// For arguments below a million. The quotient of sine and cosine is corrected by their rounding errors.
#[inline(always)]
pub fn tan(x: f64) -> f64 {
    let (q, r, low) = quadrant(within64(x, 1_048_576.0));
    let ((s, s_low), (c, c_low)) = sin_cos64(r, low);
    let even = q & 1 == 0;
    let (top, top_low) = if even { (s, s_low) } else { (-c, -c_low) };
    let (bottom, bottom_low) = if even { (c, c_low) } else { (s, s_low) };
    let y = top / bottom;
    let rest = (-y).mul_add(bottom, top) + (top_low - y * bottom_low);
    if x == 0.0 { x } else { y + rest / bottom }
}

/// `x + x P(x²)` up to 1, and beyond `1 - e^(-x²) Q(1 / (1 + x/4))` with a polynomial `Q`.
#[inline(always)]
pub fn erf(x: f64) -> f64 {
    let z = x * x;
    let small = horner!(f64 z; 5.957_176_147_748_911e-11, -1.137_284_885_679_167_4e-9, 1.465_977_527_404_743_6e-8, -1.635_031_270_105_469_5e-7, 1.646_100_048_412_136_8e-6, -1.492_559_526_683_118_2e-5, 0.000_120_553_311_116_427_1, -0.000_854_832_698_083_379, 0.005_223_977_624_818_014_5, -0.026_866_170_645_076_792, 0.112_837_916_709_548_79, -0.376_126_389_031_837_5, 0.128_379_167_095_512_6);
    let a = if x.abs() > 6.0 { 6.0 } else { x.abs() };
    let t = 1.0 / a.mul_add(0.25, 1.0);
    let scale = horner!(f64 t; 0.036_805_867_352_753_75, -0.228_373_118_792_223_72, 0.549_618_286_701_419_1, -0.680_154_950_713_863_2, 0.511_579_366_403_801_1, -0.008_381_530_754_629_331, -0.195_860_998_274_235_42, 0.390_752_745_855_695, -0.105_441_003_331_976_41, 0.205_964_107_011_785_58, 0.099_361_736_367_529_85, 0.142_870_763_769_411_16, 0.140_133_714_439_107_3, 0.141_128_304_994_849_57, -3.279_109_966_504_781_3e-6);
    if z < 1.0 { small.mul_add(x, x) } else { scale.mul_add(-exp64(-(a * a)), 1.0).copysign(x) }
}

#[inline(always)]
pub fn normal_density(x: f64) -> f64 {
    let (z, low) = product(x, x);
    let e = exp64(-0.5 * z);
    e.mul_add(-0.5 * low, e) * 0.398_942_280_401_432_7
}

/// `m` times the normal distribution function at `-a`, for `a` up to 39: `e^(-a²/2) (1 + P(u)) / (2.25 + 1.9575 a)`
/// with a minimax polynomial in `u = (3.5 - a) / (4.5 + a)`. The exponent is given with its rounding error, to which that of
/// the quotient is added.
#[inline(always)]
fn normal_tail(a: f64, m: f64, (s, s_low): (f64, f64)) -> f64 {
    const BASE: f64 = ROUND64 + 2046.0;
    let rounded = s.mul_add(LOG2_E, BASE);
    let n = rounded - BASE;
    let near = n.mul_add(-LN_2[0], s);
    let d = a.mul_add(1.9575, 2.25);
    let d_low = a.mul_add(1.9575, 2.25 - d);
    let w = a + 4.5;
    let both = 1.0 / (d * w);
    let (inverse, u) = (both * w, (3.5 - a) * (d * both));
    let off = (-inverse).mul_add(d_low, (-inverse).mul_add(d, 1.0));
    let low = n.mul_add(-LN_2[1], s_low) + off;
    let r = near + low;
    let tail = exp_tail64(r).mul_add(r * r, low);
    let p = horner!(f64 u; 4.954_060_381_071_29e-9, -1.075_769_253_041_053_3e-8, -3.466_764_574_161_394_6e-8, 9.939_249_640_615_319e-8, 1.061_778_947_413_603e-7, -5.550_472_162_383_8e-7, -7.368_818_122_515_018e-8, 2.593_037_688_598_141e-6, -1.240_235_712_883_778_2e-6, -1.184_701_546_251_909_5e-5, 1.023_574_524_735_050_4e-5, 5.925_045_461_841_554e-5, -5.231_482_187_171_641e-5, -0.000_346_154_085_883_989_15, 0.000_102_828_244_291_958_74, 0.002_235_392_067_569_083, 0.002_481_686_570_568_238, -0.010_674_936_854_267_299, -0.048_428_758_443_475_71, -0.100_641_426_558_780_18, -0.123_749_078_797_309_68, -0.064_211_251_800_964_97, 0.090_258_580_055_093_07, 0.281_155_103_879_158_5, -0.032_126_170_491_238_296);
    // m / d, times 1 + p, times 1 + near, each with its rounding error.
    let (h, h_low) = product(m, inverse);
    let wide = h.mul_add(p, h);
    let wide_low = h.mul_add(p, h - wide) + h_low;
    let top = wide.mul_add(near, wide);
    let rest = wide.mul_add(near, wide - top) + wide_low;
    let (f, g) = factors64(rounded);
    (top + wide.mul_add(tail, rest)) * f * g
}

/// `|x|`, at most 39, where the tail of the normal distribution underflows.
#[inline(always)]
fn size(x: f64) -> f64 {
    if x.abs() > 39.0 { 39.0 } else { x.abs() }
}

#[inline(always)]
pub fn normal_cdf(x: f64) -> f64 {
    let a = size(x);
    let tail = normal_tail(a, 1.0, product(a, -0.5 * a));
    if x > 0.0 { 1.0 - tail } else { tail }
}

/// Twice the distribution function at `-√2 x`. The exponent is the square of `x` itself, since the tail amplifies the error
/// of its argument.
#[inline(always)]
pub fn erfc(x: f64) -> f64 {
    let a = if x.abs() > 27.5 { 27.5 } else { x.abs() };
    let tail = normal_tail(a * std::f64::consts::SQRT_2, 2.0, product(a, -a));
    if x < 0.0 { 2.0 - tail } else { tail }
}

/// `x` times the distribution function, which for positive `x` is 1 minus its value at `-x`. Keeps the sign of zero.
#[inline(always)]
pub fn gelu(x: f64) -> f64 {
    let a = size(x);
    (if x >= 0.0 { x } else { -0.0 }) - normal_tail(a, a, product(a, -0.5 * a))
}
