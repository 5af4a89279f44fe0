//! The tables and loops of AVX2. A register holds one number for each of 8 intervals, so the polynomials are longer than
//! those of AVX-512.

use std::arch::x86_64::*;
use std::mem::transmute;

use super::rows::far_slopes;
use crate::kernel::pointwise::unary::Scalars;

/// For each interval its point, and the polynomial in the distance from that point. The points are near the middles of the
/// intervals, where tanh is almost exactly a float, so that the first coefficient is exact. The others are minimax
/// coefficients, with a relative error of less than 2^-25.5. Where `s = 0.5 + |x| 7.5 / 9.5`, the intervals of s begin
/// at 2, 3, 4, 6, 0.5, 0.75, 1 and 1.5: in the order of the bits of s that number them.
#[rustfmt::skip]
const TANH_PIECES: [[f32; 8]; 9] = [
    [2.533_534_5, 3.800_505_9, 5.699_539_7, 8.236_193, 0.0, 0.474_922_15, 0.950_117_7, 1.582_987_3],
    [0.987_477_2, 0.999_000_6, 0.999_977_6, 0.999_999_9, 0.0, 0.442_167_73, 0.739_836_34, 0.919_067_14],
    [0.024_888_85, 0.001_997_782, 4.481_110_2e-5, 2.806_687e-7, 1.0, 0.804_487_7, 0.452_642_17, 0.155_315_58],
    [-0.024_576_664, -0.001_995_853_6, -4.494_569_7e-5, -5.119_379e-7, -1.885_807_6e-7, -0.355_718_5, -0.334_882_6, -0.142_745_29],
    [0.015_971_866, 0.001_327_909_4, 2.996_893_8e-5, 1.864_930_1e-7, -0.333_322_14, -0.110_877_11, 0.096_879_914, 0.079_421_07],
    [-0.007_587_583_7, -0.000_660_264_5, -1.447_522_3e-5, 2.850_891e-7, -0.000_219_323_19, 0.167_594_27, 0.040_043_83, -0.025_422_037],
    [0.002_724_334_4, 0.000_262_027_64, 5.792_174_3e-6, 3.927_388e-8, 0.135_270_31, -0.019_131_161, -0.051_890_13, 0.000_328_550_87],
    [-0.000_671_828_9, -9.038_17e-5, -2.473_035_2e-6, -1.698_206_1e-7, -0.008_242_995, -0.054_827_46, 0.015_992_172, 0.005_188_647],
    [5.949_578_6e-5, 2.484_931_6e-5, 7.031_918e-7, 2.683_793_2e-9, -0.039_294_8, 0.023_229_942, 0.006_421_072_4, -0.003_247_125_5],
];

/// The same for `1 / cosh²`, with a relative error of less than 2^-24. The intervals lie around the integers from 0 to 7.
#[rustfmt::skip]
const SLOPE_PIECES: [[f32; 8]; 11] = [
    [0.0, 0.999_891_76, 2.000_705_7, 2.999_874_4, 4.001_059_5, 4.999_521, 5.999_942_3, 6.999_323],
    [1.0, 0.420_043_6, 0.070_554_756, 0.009_868_504_5, 0.001_338_114, 0.000_181_757_34, 2.457_938_4e-5, 3.330_616_7e-6],
    [1.126_576_8e-8, -0.639_767_4, -0.136_040_5, -0.019_639_38, -0.002_674_437, -0.000_363_481_64, -4.915_816_3e-5, -6.661_222_4e-6],
    [-1.000_000_7, 0.310_78, 0.126_175_58, 0.019_444_85, 0.002_670_856_4, 0.000_363_415_57, 4.915_695_5e-5, 6.661_2e-6],
    [1.575_246_3e-5, 0.110_955_36, -0.071_496_96, -0.012_705_29, -0.001_775_801_5, -0.000_242_188_83, -3.276_969e-5, -4.440_763e-6],
    [0.666_508_85, -0.231_706_98, 0.023_903_184, 0.006_096_774_7, 0.000_883_135_3, 0.000_121_006_33, 1.638_324_3e-5, 2.220_352_6e-6],
    [0.000_702_307_56, 0.113_452_89, -0.000_975_169_8, -0.002_236_789, -0.000_349_433_2, -4.833_289_5e-5, -6.551_938e-6, -8.881_966e-7],
    [-0.377_947_27, 0.018_458_72, -0.004_568_786_4, 0.000_614_574_47, 0.000_113_945_53, 1.606_199_3e-5, 2.182_716_1e-6, 2.960_145_2e-7],
    [-0.012_094_364, -0.054_990_15, 0.003_446_336_4, -0.000_101_662_5, -3.120_404_7e-5, -4.562_162_3e-6, -6.238_629e-7, -8.428_063_6e-8],
    [0.251_759_68, 0.022_768_565, -0.001_446_255_1, -1.501_373_8e-5, 7.119_166e-6, 1.146_700_9e-6, 1.588_167_9e-7, 2.144_907e-8],
    [-0.110_764_2, 0.003_224_266_2, 0.000_294_172_67, 1.743_214_5e-5, -1.087_920_4e-6, -2.433_914_4e-7, -3.345_425e-8, -5.069_676e-9],
];

/// From here on tanh is 1.
const LAST: f32 = 9.499;
/// From here on the slope is not in the table.
const FAR: f32 = 7.5;

/// Computes `$y` from each 8 elements `$v` of the operands. It is a macro for the reason that `by_sixteen` is one, and has
/// the same conditions.
macro_rules! by_eight {
    ($n:expr, [$($v:ident = ($x:expr, $s:expr)),+], $out:expr, $y:expr) => {{
        let (n, out): (usize, *mut f32) = ($n, $out);
        let whole = n / 8 * 8;
        for i in (0..whole).step_by(8) {
            $(let $v = if $s == 0 { _mm256_set1_ps(*$x) } else { _mm256_loadu_ps($x.add(i)) };)+
            _mm256_storeu_ps(out.add(i), $y);
        }
        if whole < n {
            let places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            let left = _mm256_cmpgt_epi32(_mm256_set1_epi32((n - whole) as i32), places);
            $(let $v = if $s == 0 { _mm256_set1_ps(*$x) } else { _mm256_maskload_ps($x.add(whole), left) };)+
            _mm256_maskstore_ps(out.add(whole), left, $y);
        }
    }};
}

/// The slopes at a vector of numbers. A macro, because a function would be called, and read the table again for each
/// vector.
macro_rules! slope_of {
    ($table:expr, $x:expr, $p:expr) => {{
        let size = _mm256_andnot_ps(_mm256_set1_ps(-0.0), $x);
        let is_far = _mm256_cmp_ps::<_CMP_NLT_UQ>(size, _mm256_set1_ps(FAR));
        let (_, y) = polynomial::<_, 0>(&$table, _mm256_cvtps_epi32(size), size);
        if _mm256_movemask_ps(is_far) == 0 { y } else { _mm256_blendv_ps(y, beyond($x, $p), is_far) }
    }};
}

/// # Safety
/// `x` has `n` elements, and `out` has room for `n`. The processor has AVX2 and fused multiply-add.
#[target_feature(enable = "avx2,fma")]
pub unsafe fn tangents(n: usize, x: *const f32, out: *mut f32) {
    let table = loaded(&TANH_PIECES);
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        by_eight!(n, [x = (x, 1)], out, {
            let sign = _mm256_set1_ps(-0.0);
            // `min` of a number and NaN returns the second operand.
            let size = _mm256_min_ps(_mm256_set1_ps(LAST), _mm256_andnot_ps(sign, x));
            let scaled = _mm256_fmadd_ps(size, _mm256_set1_ps(7.5 / 9.5), _mm256_set1_ps(0.5));
            // The exponent and the first bit of the mantissa.
            let interval = _mm256_srli_epi32::<22>(_mm256_castps_si256(scaled));
            // In the first interval the linear term is exact, and so the sum is rounded once.
            let (r, rest) = polynomial::<_, 2>(&table, interval, size);
            let linear = _mm256_mul_ps(r, _mm256_permutevar8x32_ps(table[2], interval));
            let change = _mm256_fmadd_ps(_mm256_mul_ps(r, r), rest, linear);
            let y = _mm256_add_ps(_mm256_permutevar8x32_ps(table[1], interval), change);
            _mm256_or_ps(y, _mm256_and_ps(x, sign))
        });
    }
}

/// # Safety
/// As [`tangents`].
#[target_feature(enable = "avx2,fma")]
pub unsafe fn slopes(n: usize, x: *const f32, out: *mut f32, p: &Scalars) {
    let table = loaded(&SLOPE_PIECES);
    // SAFETY: as the function's `# Safety` section requires.
    unsafe { by_eight!(n, [x = (x, 1)], out, slope_of!(table, x, p)) };
}

/// # Safety
/// `g` and `x` have `n` elements, or one where the stride is 0, and `out` has room for `n`. The processor has AVX2 and fused
/// multiply-add.
#[target_feature(enable = "avx2,fma")]
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
            by_eight!(n, [g = (g, 1), x = (x, 1)], out, _mm256_mul_ps(g, slope_of!(table, x, p)));
        } else {
            by_eight!(n, [g = (g, sg), x = (x, sx)], out, _mm256_mul_ps(g, slope_of!(table, x, p)));
        }
    }
}

/// The slopes at a vector of numbers, where the table lacks some of them.
#[inline]
#[target_feature(enable = "avx2")]
fn beyond(x: __m256, p: &Scalars) -> __m256 {
    // SAFETY: a vector and an array of its numbers have the same bytes.
    unsafe { transmute::<[f32; 8], __m256>(far_slopes(&transmute::<__m256, [f32; 8]>(x), p)) }
}

/// A table of 8 numbers a row, in registers.
type Table<const ROWS: usize> = [__m256; ROWS];

#[inline]
#[target_feature(enable = "avx2")]
fn loaded<const ROWS: usize>(pieces: &[[f32; 8]; ROWS]) -> Table<ROWS> {
    let mut table = [_mm256_setzero_ps(); ROWS];
    for k in 0..ROWS {
        // SAFETY: a row has 8 numbers.
        table[k] = unsafe { _mm256_loadu_ps(pieces[k].as_ptr()) };
    }
    table
}

/// The distances from the points of the intervals, and the polynomials in them without the first `LOWEST` coefficients. The
/// first row has the points, the others the coefficients. Of the number of an interval only the last three bits count.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn polynomial<const ROWS: usize, const LOWEST: usize>(
    table: &Table<ROWS>,
    interval: __m256i,
    x: __m256,
) -> (__m256, __m256) {
    let r = _mm256_sub_ps(x, _mm256_permutevar8x32_ps(table[0], interval));
    let mut sum = _mm256_permutevar8x32_ps(table[ROWS - 1], interval);
    for k in (1 + LOWEST..ROWS - 1).rev() {
        sum = _mm256_fmadd_ps(sum, r, _mm256_permutevar8x32_ps(table[k], interval));
    }
    (r, sum)
}
