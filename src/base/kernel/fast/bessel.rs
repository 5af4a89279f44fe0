//! Bessel functions of orders 0 and 1 for f32, computed in f64. Polynomials interpolate at Chebyshev nodes of a variable from
//! -1 to 1; their errors are below 1e-11. Where the functions are near zero the result is NaN.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_4, LN_2};

use super::poly::{HALF_PI, LARGEST, ROUND64, cos64, horner, sin64};
use super::wide::{exp, ln_parts};

/// Up to here the functions are polynomials of the square.
const NEAR: f64 = 8.0;

/// The variable of those polynomials.
#[inline(always)]
fn square(x: f64) -> f64 {
    (x * x).mul_add(2.0 / (NEAR * NEAR), -1.0)
}

/// The value, unless so much of it has cancelled that it is below `least`.
#[inline(always)]
fn sure(y: f64, least: f64) -> f64 {
    if y.abs() > least { y } else { f64::NAN }
}

/// For `x` beyond [`NEAR`], the product of a modulus and the cosine of a phase, or the sine: `x` itself and the `turn`, and a
/// polynomial divided by `x`. NaN far out.
#[inline(always)]
fn wave(x: f64, modulus: impl Fn(f64) -> f64, phase: impl Fn(f64) -> f64, turn: f64, sine: bool) -> f64 {
    let x = if x <= LARGEST { x } else { f64::NAN };
    let y = 1.0 / x;
    let t = (y * y).mul_add(128.000_081_920_052_42, -1.000_001_280_000_819_3);
    let off = y.mul_add(phase(t), turn);
    let rounded = (x + off).mul_add(FRAC_2_PI, ROUND64);
    let n = rounded - ROUND64;
    let r = n.mul_add(-HALF_PI[1], n.mul_add(-HALF_PI[0], x)) + n.mul_add(-HALF_PI[2], off);
    let z = r * r;
    let t2 = z.mul_add(3.178_703_800_543_93, -1.0);
    let s = horner!(f64 t2; -2.429_205_372_965_737_4e-10, 8.482_391_604_061_223e-08, -1.938_080_545_692_495_4e-05, 0.002_582_596_613_927_768, -0.164_064_604_180_414_7);
    let c = horner!(f64 t2; 6.366_596_845_874_113e-12, -2.667_228_173_370_302e-09, 7.614_663_702_304_219e-07, -0.000_135_156_698_375_763_14, 0.012_835_459_848_576_498, -0.487_028_619_313_082_4);
    let (s, c) = ((s * z).mul_add(r, r), c.mul_add(z, 1.0));
    let quarter = rounded.to_bits().wrapping_add(u64::from(!sine));
    let value = if quarter & 1 == 0 { s } else { c };
    let value = sure(if quarter & 2 == 0 { value } else { -value }, 1e-3);
    // The root of 2 / (π x).
    value * modulus(t) * (FRAC_2_PI * y).sqrt()
}

#[inline(always)]
fn wave0(x: f64, sine: bool) -> f64 {
    wave(
        x,
        #[inline(always)]
        |t| horner!(f64 t; -1.209_682_041_056_920_8e-09, 1.250_154_814_210_836_2e-08, -1.937_901_973_981_379_3e-07, 5.648_307_958_322_111e-06, -0.000_476_346_664_360_084_03, 0.999_517_796_895_294_1),
        #[inline(always)]
        |t| horner!(f64 t; -7.890_471_834_382_122e-10, 5.216_891_301_884_866e-09, -4.336_937_755_907_897_5e-08, 5.358_246_406_393_232e-07, -1.085_824_330_148_339_5e-05, 0.000_485_097_541_830_261_63, -0.124_503_458_360_924_95),
        -FRAC_PI_4,
        sine,
    )
}

#[inline(always)]
fn wave1(x: f64, sine: bool) -> f64 {
    wave(
        x,
        #[inline(always)]
        |t| horner!(f64 t; 1.555_684_123_001_907e-09, -1.709_319_134_825_620_4e-08, 2.964_357_413_753_653e-07, -1.079_268_210_144_254_3e-05, 0.001_442_291_693_854_182, 1.001_453_401_342_913_3),
        #[inline(always)]
        |t| horner!(f64 t; 9.725_941_242_951_57e-10, -6.665_211_620_283_884e-09, 5.882_858_111_676_305_4e-08, -8.038_143_861_143_772e-07, 1.979_072_104_151_034_5e-05, -0.001_239_469_868_038_772_8, 0.373_739_867_485_997_4),
        -3.0 * FRAC_PI_4,
        sine,
    )
}

/// `j0` up to [`NEAR`].
#[inline(always)]
fn near_j0(t: f64) -> f64 {
    horner!(f64 t; 1.606_568_139_547_408_3e-07, -2.743_554_838_227_825e-06, 3.847_182_714_506_406e-05, -0.000_443_513_632_581_939_6, 0.004_058_079_811_868_427, -0.028_472_737_994_135_83, 0.145_988_848_327_583_02, -0.507_468_040_192_177_8, 1.038_379_461_173_725_4, -0.808_088_808_376_651_2, -0.648_469_283_088_255_2, 0.930_301_247_321_107_3, 0.045_829_664_859_813_77)
}

/// `j1(x) / x` up to [`NEAR`].
#[inline(always)]
fn near_j1(t: f64) -> f64 {
    horner!(f64 t; -1.205_559_753_904_045_8e-07, 1.887_811_755_971_966_8e-06, -2.404_475_203_870_036e-05, 0.000_249_472_778_448_936_97, -0.002_029_040_011_536_165, 0.012_456_825_703_273_885, -0.054_745_818_091_658_995, 0.158_583_761_675_489_38, -0.259_594_865_296_318_87, 0.151_516_651_665_386_9, 0.081_058_660_386_042_24, -0.058_143_827_959_148_38)
}

#[inline(always)]
pub fn j0(x: f64) -> f64 {
    let a = x.abs();
    let (near, far) = (sure(near_j0(square(a)), 1e-3), wave0(a, false));
    if a < NEAR { near } else { far }
}

#[inline(always)]
pub fn j1(x: f64) -> f64 {
    let a = x.abs();
    let (near, far) = (a * sure(near_j1(square(a)), 1e-3), wave1(a, false));
    (if a < NEAR { near } else { far }) * 1.0_f64.copysign(x)
}

/// The natural logarithm; NaN unless `x` is positive.
#[inline(always)]
fn ln(x: f64) -> f64 {
    let (k, log) = ln_parts(x, |f| f);
    k.mul_add(LN_2, log)
}

#[inline(always)]
pub fn y0(x: f64) -> f64 {
    let t = square(x);
    let regular = horner!(f64 t; -3.241_739_305_084_663e-07, 5.374_764_179_292_820_5e-06, -7.279_251_255_763_767e-05, 0.000_806_091_728_146_473_9, -0.007_025_742_801_695_501, 0.046_367_087_828_301_665, -0.218_957_470_452_821_05, 0.672_177_066_630_457, -1.077_547_733_885_218_4, 0.144_126_325_157_327_3, 1.647_096_478_876_819, -0.828_435_890_412_758_3, -0.382_250_654_459_425);
    let near = sure((FRAC_2_PI * ln(x)).mul_add(near_j0(t), regular), 1e-3);
    let far = wave0(x, true);
    if x < NEAR { near } else { far }
}

#[inline(always)]
pub fn y1(x: f64) -> f64 {
    let t = square(x);
    let regular = horner!(f64 t; 2.399_051_381_145_054e-07, -3.640_600_063_341_214_8e-06, 4.467_224_052_025_288e-05, -0.000_443_772_742_233_778_45, 0.003_422_491_823_853_958, -0.019_628_779_972_098_637, 0.078_547_868_968_324_61, -0.196_398_393_174_579_08, 0.235_072_092_088_479_82, 0.023_367_571_255_954_095, -0.243_377_430_792_233_67, 0.070_759_858_827_639_1);
    let near = (FRAC_2_PI * ln(x)).mul_add(near_j1(t), regular).mul_add(x, -FRAC_2_PI / x);
    let far = wave1(x, true);
    if x < NEAR { sure(near, 1e-3) } else { far }
}

/// Of the modified functions `i0(a)` and `i1(a) / a` up to [`NEAR`], and beyond the functions times `e^-a √a`.
#[inline(always)]
fn modified0(a: f64) -> (f64, f64) {
    let (t, s) = (square(a), (1.0 / a).mul_add(16.012_810_248_198_56, -1.001_601_281_024_819_8));
    let near = horner!(f64 t; 2.496_442_263_045_84e-08, 5.505_599_439_496_952e-07, 1.033_266_579_517_373e-05, 0.000_165_306_938_064_577_32, 0.002_208_472_234_638_273_6, 0.024_220_539_635_148_31, 0.213_640_540_398_419_18, 1.478_092_063_958_161_8, 7.773_027_130_185_701, 29.833_555_026_067_9, 79.099_677_877_207_72, 133.737_470_150_667_43, 126.193_493_483_245_69, 49.208_554_223_075_62);
    let far = horner!(f64 s; 3.159_308_060_172_499_4e-09, 3.158_407_330_565_285e-08, 1.019_797_663_489_764_2e-07, 3.063_791_026_658_014_5e-07, 1.476_624_868_015_493_7e-06, 1.111_793_994_309_059_4e-05, 0.000_136_025_194_659_762_71, 0.003_358_081_578_240_764, 0.402_179_197_973_779);
    (near, far)
}

#[inline(always)]
fn modified1(a: f64) -> (f64, f64) {
    let (t, s) = (square(a), (1.0 / a).mul_add(16.012_810_248_198_56, -1.001_601_281_024_819_8));
    let near = horner!(f64 t; 8.593_774_686_655_953e-10, 2.029_838_134_021_388_3e-08, 4.103_419_378_042_054e-07, 7.103_667_068_068_391e-06, 0.000_103_319_790_119_794_1, 0.001_242_265_673_573_443, 0.012_110_268_206_493_95, 0.093_467_736_404_900_53, 0.554_284_524_407_187_3, 2.429_070_978_187_074_7, 7.458_388_756_469_993, 14.831_189_601_976_146, 16.717_183_768_834_897, 7.887_093_342_702_859);
    let far = horner!(f64 s; -4.176_018_597_020_16e-09, -3.573_674_258_905_819e-08, -1.139_518_549_881_101_8e-07, -3.573_035_953_983_842_3e-07, -1.826_561_147_397_049_2e-06, -1.500_518_465_994_001_5e-05, -0.000_218_921_457_166_416_34, -0.009_742_128_304_874_802, 0.389_390_659_223_799_2);
    (near, far)
}

/// A function from its two forms.
#[inline(always)]
fn unscaled(a: f64, (near, far): (f64, f64)) -> f64 {
    let far = if a < f64::MAX { exp(a) * far / a.sqrt() } else { f64::NAN };
    if a < NEAR { near } else { far }
}

/// The same times `e^-a`.
#[inline(always)]
fn scaled(a: f64, (near, far): (f64, f64)) -> f64 {
    if a < NEAR { near * exp(-a) } else { far / a.sqrt() }
}

#[inline(always)]
pub fn i0(x: f64) -> f64 {
    unscaled(x.abs(), modified0(x.abs()))
}

#[inline(always)]
pub fn i1(x: f64) -> f64 {
    let (near, far) = modified1(x.abs());
    unscaled(x.abs(), (near * x.abs(), far)) * 1.0_f64.copysign(x)
}

#[inline(always)]
pub fn i0e(x: f64) -> f64 {
    scaled(x.abs(), modified0(x.abs()))
}

#[inline(always)]
pub fn i1e(x: f64) -> f64 {
    let (near, far) = modified1(x.abs());
    scaled(x.abs(), (near * x.abs(), far)) * 1.0_f64.copysign(x)
}

/// Spherical, of order 0.
#[inline(always)]
pub fn spherical0(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { sin64(x) / x }
}

/// Spherical, of order 1: near 0 the first terms of its series.
#[inline(always)]
pub fn spherical1(x: f64) -> f64 {
    let z = x * x;
    let near = x / 3.0 * (1.0 - z / 10.0 * (1.0 - z / 28.0 * (1.0 - z / 54.0 * (1.0 - z / 88.0))));
    let far = (sin64(x) / x - cos64(x)) / x;
    if z < 0.25 { near } else { far }
}
