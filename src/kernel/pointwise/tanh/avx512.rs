//! The tables and loops of AVX-512.

use std::arch::x86_64::*;
use std::mem::transmute;

use super::rows::far_slopes;
use crate::kernel::pointwise::unary::Scalars;

/// For each interval its point, and the polynomial in the distance from that point. The points are near the middles
/// of the intervals, where tanh is almost exactly a float, so that the first coefficient is exact. The others are
/// minimax coefficients (Remez), with a relative error of less than 2^-26. Each octave from 1/16 to 16 has four
/// intervals, and the first interval begins at 0.
#[rustfmt::skip]
const TANH_PIECES: [[f32; 32]; 7] = [
    [
        0.0, 0.085_910_08, 0.101_899_03, 0.117_752_194, 0.139_841_32, 0.171_887_64, 0.204_195_02, 0.235_555_17,
        0.278_992_18, 0.341_106_9, 0.406_022_55, 0.466_361_05, 0.559_202_2, 0.684_063_9, 0.814_266_2, 0.933_847_4,
        1.124_353_4, 1.380_390_2, 1.619_863_5, 1.882_059_1, 2.269_558, 2.730_590_8, 3.265_705, 3.751_869_2,
        4.528_251_6, 5.543_220_5, 6.512_306, 7.513_046_3, 8.664_34, 11.0, 13.0, 15.0,
    ],
    [
        0.0, 0.085_699_35, 0.101_547_8, 0.117_210_96, 0.138_936_83, 0.170_214_58, 0.201_403_56, 0.231_293_05,
        0.271_972_06, 0.328_465_22, 0.385_090_26, 0.435_254_42, 0.507_385_25, 0.594_155, 0.671_937, 0.732_382_66,
        0.809_077_86, 0.881_038_6, 0.924_604_4, 0.954_674_9, 0.978_860_14, 0.991_538_9, 0.997_090_34, 0.998_898_57,
        0.999_766_77, 0.999_969_36, 0.999_995_6, 0.999_999_4, 0.999_999_94, 1.0, 1.0, 1.0,
    ],
    [
        1.0, 0.992_655_63, 0.989_688_04, 0.986_261_6, 0.980_696_56, 0.971_027, 0.959_436_6, 0.946_503_5,
        0.926_031_2, 0.892_110_6, 0.851_705_5, 0.810_553_6, 0.742_560_2, 0.646_979_8, 0.548_500_66, 0.463_615_66,
        0.345_393, 0.223_770_96, 0.145_106_67, 0.088_595_84, 0.041_832_87, 0.016_850_613, 0.005_810_869_4, 0.002_201_656_8,
        0.000_466_459_4, 6.128_149e-5, 8.822_006e-6, 1.192_168_7e-6, 1.186_209_9e-7, 0.0, 0.0, 0.0,
    ],
    [
        3.002_334e-8, -0.085_069_98, -0.100_500_64, -0.115_600_675, -0.136_254_86, -0.165_282_95, -0.193_233_9, -0.218_919_71,
        -0.251_854_57, -0.293_027_28, -0.327_983_47, -0.352_797, -0.376_763_85, -0.384_406_24, -0.368_557_96, -0.339_544_18,
        -0.279_451_8, -0.197_151_97, -0.134_166_7, -0.084_580_28, -0.040_947_367, -0.016_707_214, -0.005_793_571_5, -0.002_199_071_2,
        -0.000_465_757_8, -6.120_356e-5, -8.810_629e-6, -1.190_654_8e-6, -1.194_126_9e-7, 0.0, 0.0, 0.0,
    ],
    [
        -0.333_336_77, -0.323_595_1, -0.319_690_4, -0.315_204_26, -0.307_968, -0.295_542_12, -0.280_893_83, -0.264_866_9,
        -0.240_178_87, -0.201_120_12, -0.157_598_61, -0.116_627_69, -0.056_353_87, 0.012_737_316, 0.064_814_195, 0.094_136_29,
        0.110_966_55, 0.099_113_98, 0.075_680_85, 0.051_215_37, 0.026_134_025, 0.010_953_025, 0.003_838_572_2, 0.001_462_750_8,
        0.000_309_449_77, 4.061_324e-5, 5.866_034_4e-6, 7.926_684e-7, 8.370_899e-8, 0.0, 0.0, 0.0,
    ],
    [
        0.000_116_263_49, 0.056_623_567, 0.065_962_434, 0.075_523_406, 0.088_138_424, 0.105_380_74, 0.120_828_08, 0.134_306_27,
        0.149_174_44, 0.163_654_37, 0.169_928_79, 0.168_283_54, 0.153_979_52, 0.120_503_68, 0.079_341_9, 0.044_325_95,
        0.003_773_335_1, -0.021_370_169, -0.025_163_569, -0.020_687_627, -0.011_996_986, -0.005_333_688, -0.001_917_428_5, -0.000_736_483_7,
        -0.000_162_311_42, -2.131_631_5e-5, -3.079_066_8e-6, -4.160_285_4e-7, -4.123_623_4e-8, 0.0, 0.0, 0.0,
    ],
    [
        0.132_017_82, 0.130_380_5, 0.121_954_81, 0.120_229_09, 0.112_360_775, 0.102_182_314, 0.087_995_484, 0.080_573_83,
        0.059_174_377, 0.032_064_635, 0.006_008_954_7, -0.016_916_407, -0.043_342_22, -0.061_524_417, -0.062_669_46, -0.053_077_4,
        -0.032_112_07, -0.009_551_195, 0.001_381_436_4, 0.004_597_000_3, 0.003_976_667_8, 0.001_916_325_7, 0.000_771_257_4, 0.000_292_945_33,
        6.860_113e-5, 9.321_748e-6, 1.261_921_5e-6, 1.707_830_3e-7, 9.870_377e-9, 0.0, 0.0, 0.0,
    ],
];

/// The same for `1 / cosh²`, with intervals of a quarter from 0 to 8 and a relative error of less than 2^-28.
#[rustfmt::skip]
const SLOPE_PIECES: [[f32; 32]; 8] = [
    [
        0.0, 0.374_937_36, 0.625_432_85, 0.873_842_3, 1.125_179_8, 1.372_689_8, 1.625_539_2, 1.876_707,
        2.121_328_6, 2.374_304_8, 2.625_790_6, 2.873_928_5, 3.123_090_7, 3.379_094_1, 3.627_81, 3.877_625_5,
        4.121_111_4, 4.381_583_7, 4.616_643_4, 4.877_515, 5.134_216, 5.367_103, 5.616_345, 5.869_889,
        6.127_533_4, 6.370_114, 6.618_940_4, 6.883_849, 7.115_552_4, 7.369_725, 7.632_106, 7.871_824_7,
    ],
    [
        1.0, 0.871_619_1, 0.692_086_7, 0.505_339_5, 0.344_931_4, 0.226_824_9, 0.143_591, 0.089_505_62,
        0.055_860_54, 0.034_062_166, 0.020_739_028, 0.012_677_433, 0.007_721_404, 0.004_634_554_5, 0.002_820_792_1, 0.001_712_478_8,
        0.001_052_639, 6.253_583e-4, 3.908_495e-4, 2.319_818_7e-4, 1.388_374_5e-4, 8.714_341e-5, 5.293_626_2e-5, 3.188_103_8e-5,
        1.904_355_1e-5, 1.172_321_8e-5, 7.127_215_7e-6, 4.195_886e-6, 2.639_788_4e-6, 1.587_806_8e-6, 9.395_002_4e-7, 5.816_741_6e-7,
    ],
    [
        -3.410_073e-7, -0.624_607, -0.768_076_96, -0.710_831_8, -0.558_349_5, -0.398_895_98, -0.265_765, -0.170_812_22,
        -0.108_555_846, -0.066_954_05, -0.041_045_696, -0.025_193_635, -0.015_383_072, -0.009_247_605, -0.005_633_622, -0.003_422_023_7,
        -0.002_104_169_7, -0.001_250_325_5, -7.815_462_3e-4, -4.639_099_4e-4, -2.776_556_4e-4, -1.742_792_2e-4, -1.058_697_2e-4, -6.376_106e-5,
        -3.808_674e-5, -2.344_629_9e-5, -1.425_438e-5, -8.391_755e-6, -5.279_57e-6, -3.175_611e-6, -1.878_999_6e-6, -1.163_348e-6,
    ],
    [
        -0.999_974_5, -0.535_921_45, -0.052_778_583, 0.244_574_84, 0.332_929_82, 0.299_301_2, 0.225_326_85, 0.154_977_47,
        0.102_359_89, 0.064_643_64, 0.040_187_735, 0.024_872_713, 0.015_263_947, 0.009_204_672, 0.005_617_714, 0.003_416_159_7,
        0.002_101_953_8, 0.001_249_543_4, 7.812_407e-4, 4.638_023e-4, 2.776_171e-4, 1.742_640_3e-4, 1.058_641_2e-4, 6.375_902e-5,
        3.808_601e-5, 2.344_602_2e-5, 1.425_427_85e-5, 8.391_719e-6, 5.279_556_3e-6, 3.175_606e-6, 1.878_997_8e-6, 1.163_347_3e-6,
    ],
    [
        -6.303_569_5e-4, 0.672_387_24, 0.551_110_15, 0.244_545_53, 0.012_958_527, -0.084_968_69, -0.100_859_15, -0.083_298_25,
        -0.060_242_683, -0.040_075_44, -0.025_661_368, -0.016_157_13, -0.010_017_902, -0.006_079_394, -0.003_723_92, -0.002_269_639,
        -0.001_398_328_7, -8.319_9e-4, -5.204_233_5e-4, -3.090_558_5e-4, -1.850_236_3e-4, -1.161_560_36e-4, -7.056_817_4e-5, -4.250_379_4e-5,
        -2.538_993_8e-5, -1.563_049_2e-5, -9.502_731e-6, -5.594_332e-6, -3.519_635_4e-6, -2.117_055_6e-6, -1.252_666_6e-6, -7.755_629_7e-7,
    ],
    [
        0.673_688_7, 0.093_442_56, -0.276_033_13, -0.294_682_23, -0.159_749_6, -0.047_688_72, 0.007_445_22, 0.023_199_946,
        0.022_508_012, 0.017_105_293, 0.011_720_047, 0.007_658_582, 0.004_852_103_5, 0.002_982_799_4, 0.001_840_781_2, 0.001_127_051_5,
        6.962_022e-4, 4.149_478_6e-4, 2.598_216e-4, 1.543_832e-4, 9.245_77e-5, 5.806_057_7e-5, 3.527_608_4e-5, 2.125_107_9e-5,
        1.269_449_3e-5, 7.815_558e-6, 4.751_411e-6, 2.797_171_6e-6, 1.759_690_8e-6, 1.058_528_4e-6, 6.263_317e-7, 3.877_872_2e-7,
    ],
    [
        -0.037_670_66, -0.412_533_22, -0.144_065_32, 0.077_181_94, 0.110_629_01, 0.066_117_34, 0.024_868_837, 0.003_819_889_9,
        -0.003_321_020_2, -0.004_556_047_3, -0.003_818_15, -0.002_725_929_7, -0.001_813_959_3, -0.001_147_194_8, -7.228_284_4e-4, -4.447_267e-4,
        -2.776_762_4e-4, -1.652_264e-4, -1.035_59e-4, -6.185_144e-5, -3.716_125_5e-5, -2.322_776_3e-5, -1.414_950_5e-5, -8.484_892_5e-6,
        -5.073_330_6e-6, -3.121_237_6e-6, -1.902_589_2e-6, -1.125_953e-6, -7.078_159_6e-7, -4.244_614e-7, -2.507_376e-7, -1.554_061_8e-7,
    ],
    [
        -0.293_360_2, 0.087_110_49, 0.207_012_06, 0.076_738_626, -0.017_529_326, -0.032_888_86, -0.020_666_29, -0.008_293_86,
        -0.002_126_69, 8.681_363e-5, 7.185_600_7e-4, 6.751_034e-4, 5.076_945e-4, 3.543_572e-4, 2.320_740_6e-4, 1.429_258_1e-4,
        9.231_045e-5, 5.508_188_8e-5, 3.297_361e-5, 2.061_513_3e-5, 1.238_082_3e-5, 7.525_988_6e-6, 4.737_878_5e-6, 2.701_014_6e-6,
        1.671_761_3e-6, 9.953_768e-7, 6.210_513e-7, 3.703_029_6e-7, 2.433_215e-7, 1.406_074_4e-7, 8.413_321e-8, 5.131_570_2e-8,
    ],
];

/// From here on the slope is not in the table.
const FAR: f32 = 8.0;

/// Computes `$y` from each 16 elements `$v` of the operands. It is no function, because the compiler does not inline a
/// closure into code for fewer vectors. In an unsafe block: `$x` has `$n` elements, or one where its stride `$s` is 0, and
/// `$out` has room for `$n`.
macro_rules! by_sixteen {
    ($n:expr, [$($v:ident = ($x:expr, $s:expr)),+], $out:expr, $y:expr) => {{
        let (n, out): (usize, *mut f32) = ($n, $out);
        let whole = n / 16 * 16;
        for i in (0..whole).step_by(16) {
            $(let $v = if $s == 0 { _mm512_set1_ps(*$x) } else { _mm512_loadu_ps($x.add(i)) };)+
            _mm512_storeu_ps(out.add(i), $y);
        }
        if whole < n {
            let left = (1 << (n - whole)) - 1;
            $(let $v = if $s == 0 { _mm512_set1_ps(*$x) } else { _mm512_maskz_loadu_ps(left, $x.add(whole)) };)+
            _mm512_mask_storeu_ps(out.add(whole), left, $y);
        }
    }};
}

/// The slopes at a vector of numbers. A macro, because a function would be called, and read the table again for each
/// vector.
macro_rules! slope_of {
    ($table:expr, $x:expr, $p:expr) => {{
        let size = _mm512_abs_ps($x);
        let is_far = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(size, _mm512_set1_ps(FAR));
        let quarters = _mm512_mul_ps(size, _mm512_set1_ps(4.0));
        let y = polynomial(&$table, _mm512_cvttps_epi32(quarters), size);
        if is_far == 0 { y } else { _mm512_mask_mov_ps(y, is_far, beyond($x, $p)) }
    }};
}

/// # Safety
/// `x` has `n` elements, and `out` has room for `n`. The processor has AVX-512.
#[target_feature(enable = "avx512f,avx512dq")]
pub unsafe fn tangents(n: usize, x: *const f32, out: *mut f32) {
    /// Where the second interval begins. Intervals go by the exponent and the first two bits of the mantissa.
    const SECOND: i32 = 0.0625_f32.to_bits() as i32;
    const LAST: f32 = 16.0_f32.next_down();
    let table = loaded(&TANH_PIECES);
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        by_sixteen!(n, [x = (x, 1)], out, {
            // `min` of a number and NaN returns the second operand.
            let size = _mm512_min_ps(_mm512_set1_ps(LAST), _mm512_abs_ps(x));
            let above = _mm512_sub_epi32(_mm512_castps_si512(size), _mm512_set1_epi32(SECOND));
            let interval = _mm512_max_epi32(_mm512_srai_epi32::<21>(above), _mm512_setzero_si512());
            let y = polynomial(&table, interval, size);
            _mm512_or_ps(y, _mm512_and_ps(x, _mm512_set1_ps(-0.0)))
        });
    }
}

/// # Safety
/// As [`tangents`].
#[target_feature(enable = "avx512f,avx512dq")]
pub unsafe fn slopes(n: usize, x: *const f32, out: *mut f32, p: &Scalars) {
    let table = loaded(&SLOPE_PIECES);
    // SAFETY: as the function's `# Safety` section requires.
    unsafe { by_sixteen!(n, [x = (x, 1)], out, slope_of!(table, x, p)) };
}

/// # Safety
/// `g` and `x` have `n` elements, or one where the stride is 0, and `out` has room for `n`. The processor has AVX-512.
#[target_feature(enable = "avx512f,avx512dq")]
pub unsafe fn gradients(
    n: usize,
    (g, sg): (*const f32, usize),
    (x, sx): (*const f32, usize),
    out: *mut f32,
    p: &Scalars,
) {
    let table = loaded(&SLOPE_PIECES);
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        if sg & sx == 1 {
            by_sixteen!(n, [g = (g, 1), x = (x, 1)], out, _mm512_mul_ps(g, slope_of!(table, x, p)));
        } else {
            by_sixteen!(n, [g = (g, sg), x = (x, sx)], out, _mm512_mul_ps(g, slope_of!(table, x, p)));
        }
    }
}

/// The slopes at a vector of numbers, where the table lacks some of them.
#[inline]
#[target_feature(enable = "avx512f")]
fn beyond(x: __m512, p: &Scalars) -> __m512 {
    // SAFETY: a vector and an array of its numbers have the same bytes.
    unsafe { transmute::<[f32; 16], __m512>(far_slopes(&transmute::<__m512, [f32; 16]>(x), p)) }
}

/// A table of 32 numbers a row, in registers.
type Table<const ROWS: usize> = [(__m512, __m512); ROWS];

#[inline]
#[target_feature(enable = "avx512f")]
fn loaded<const ROWS: usize>(pieces: &[[f32; 32]; ROWS]) -> Table<ROWS> {
    let mut table = [(_mm512_setzero_ps(), _mm512_setzero_ps()); ROWS];
    for k in 0..ROWS {
        let row = pieces[k].as_ptr();
        // SAFETY: a row has 32 numbers.
        table[k] = unsafe { (_mm512_loadu_ps(row), _mm512_loadu_ps(row.add(16))) };
    }
    table
}

/// The polynomials of the intervals in the distances from their points. The first row has the points, the others the
/// coefficients.
#[inline]
#[target_feature(enable = "avx512f")]
fn polynomial<const ROWS: usize>(table: &Table<ROWS>, interval: __m512i, x: __m512) -> __m512 {
    let r = _mm512_sub_ps(x, chosen(table[0], interval));
    let mut sum = chosen(table[ROWS - 1], interval);
    for k in (1..ROWS - 1).rev() {
        sum = _mm512_fmadd_ps(sum, r, chosen(table[k], interval));
    }
    sum
}

/// The number of each interval in a row.
#[inline]
#[target_feature(enable = "avx512f")]
fn chosen((low, high): (__m512, __m512), interval: __m512i) -> __m512 {
    _mm512_permutex2var_ps(low, interval, high)
}
