//! The hyperbolic tangent of f32 with AVX-512: one polynomial for each of 32 intervals, whose table fits into
//! registers.

use super::unary::{UnaryLoops, unary_loops};

const ROW: &UnaryLoops = unary_loops!(analytic x => x.tanh());

/// The loops of tanh.
#[cfg(not(target_arch = "x86_64"))]
pub const TANH: &UnaryLoops = ROW;
#[cfg(target_arch = "x86_64")]
pub const TANH: &UnaryLoops = &{
    let mut loops = ROW.loops;
    loops[crate::dtype::DType::F32 as usize] = Some(vectors::tanh);
    UnaryLoops { loops, out: None, arithmetic: None }
};

/// For each interval its point, and the polynomial in the distance from that point. The points are near the middles
/// of the intervals, where tanh is almost exactly a float, so that the first coefficient is exact. The others are
/// minimax coefficients (Remez), with a relative error of less than 2^-26. Each octave from 1/16 to 16 has four
/// intervals, and the first interval begins at 0.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const PIECES: [[f32; 32]; 7] = [
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

#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::arch::x86_64::*;

    use super::{PIECES, ROW};
    use crate::dtype::DType;
    use crate::kernel::pointwise::unary::Scalars;
    use crate::kernel::simd::{self, Isa};

    /// # Safety
    /// `x` has `n` elements, and `out` has room for `n`.
    pub unsafe fn tanh(n: usize, x: *const u8, out: *mut u8, p: &Scalars) {
        // SAFETY: as the function's `# Safety` section requires, and `isa` detected the features.
        unsafe {
            if simd::isa() == Isa::Avx512 {
                wide(n, x.cast(), out.cast());
            } else if let Some(row) = ROW.loops[DType::F32 as usize] {
                row(n, x, out, p);
            }
        }
    }

    /// # Safety
    /// As [`tanh`], on a processor with AVX-512.
    #[target_feature(enable = "avx512f,avx512dq")]
    unsafe fn wide(n: usize, x: *const f32, out: *mut f32) {
        // SAFETY: a row of the table has 32 numbers, and the mask of the last vector selects the remaining elements.
        unsafe {
            let table =
                PIECES.map(|row| (_mm512_loadu_ps(row.as_ptr()), _mm512_loadu_ps(row.as_ptr().add(16))));
            let whole = n / 16 * 16;
            for i in (0..whole).step_by(16) {
                _mm512_storeu_ps(out.add(i), sixteen(&table, _mm512_loadu_ps(x.add(i))));
            }
            if whole < n {
                let left = (1 << (n - whole)) - 1;
                let y = sixteen(&table, _mm512_maskz_loadu_ps(left, x.add(whole)));
                _mm512_mask_storeu_ps(out.add(whole), left, y);
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn sixteen(table: &[(__m512, __m512); 7], x: __m512) -> __m512 {
        const FIRST: i32 = 0.0625_f32.to_bits() as i32;
        const LAST: f32 = 16.0_f32.next_down();
        // `min` of a number and NaN returns the second operand.
        let size = _mm512_min_ps(_mm512_set1_ps(LAST), _mm512_abs_ps(x));
        let above = _mm512_sub_epi32(_mm512_castps_si512(size), _mm512_set1_epi32(FIRST));
        // The exponent and the first two bits of the mantissa select the interval.
        let interval = _mm512_max_epi32(_mm512_srai_epi32::<21>(above), _mm512_setzero_si512());
        let [point, value, first, second, third, fourth, fifth] =
            table.map(|(low, high)| _mm512_permutex2var_ps(low, interval, high));
        let r = _mm512_sub_ps(size, point);
        let tail = _mm512_fmadd_ps(_mm512_fmadd_ps(fifth, r, fourth), r, third);
        let slope = _mm512_fmadd_ps(_mm512_fmadd_ps(tail, r, second), r, first);
        let y = _mm512_fmadd_ps(slope, r, value);
        _mm512_or_ps(y, _mm512_and_ps(x, _mm512_set1_ps(-0.0)))
    }
}
