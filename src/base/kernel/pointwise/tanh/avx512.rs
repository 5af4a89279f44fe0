//! The table and loops of AVX-512.
//!
//! By the addition theorem, `tanh(p + r) = T + d` with `T = tanh p`, `S = 1 / cosh² p` and
//! `d = S tanh r / (1 + T tanh r)`. The derivative there is `1 - (T + d)² = S - d (2 T + d)`. A point p is chosen for each
//! number from a table, so that r is small, and its tanh a short polynomial. Both sums lose little, because d is small
//! beside T and S. The largest error of tanh is 0.92 units in the last place, that of the derivative 1.12 (of all floats).

use std::arch::x86_64::*;
use std::f32::consts::LOG2_E;

use crate::kernel::fast::{EXP_TAIL, LN_2};

/// For each quarter from 0 to 7.75 a point near it, its tanh and its `1 / cosh²`. The point is one where both are almost
/// exactly floats. Around the first two quarters it is 0, which keeps small results exact. The last point also serves
/// for all larger numbers.
#[rustfmt::skip]
const POINTS: [[f32; 32]; 3] = [
    [
        0.0, 0.0, 0.475_134_25, 0.759_757_8, 1.000_744_6, 1.284_435_3, 1.499_110_2, 1.780_620_7,
        2.023_529, 2.241_912_6, 2.518_935, 2.789_306_2, 3.023_121_6, 3.246_565_3, 3.523_559_8, 3.782_543,
        3.979_81, 4.269_488, 4.525_448, 4.768_748_3, 4.998_134, 5.268_154_6, 5.533_581_7, 5.745_461_5,
        6.012_700_6, 6.283_290_4, 6.519_164_6, 6.750_147, 6.998_386, 7.310_343, 7.513_449_7, 7.769_347_7,
    ],
    [
        0.0, 0.0, 0.442_338_35, 0.640_934_3, 0.761_906_7, 0.857_662_14, 0.904_987_34, 0.944_761_9,
        0.965_652_76, 0.977_671_8, 0.987_108_5, 0.992_472_8, 0.995_277_7, 0.996_977, 0.998_261_7, 0.998_964_1,
        0.999_301_7, 0.999_608_7, 0.999_765_46, 0.999_855_8, 0.999_908_86, 0.999_946_9, 0.999_968_77, 0.999_979_56,
        0.999_988, 0.999_993, 0.999_995_65, 0.999_997_26, 0.999_998_33, 0.999_999_1, 0.999_999_4, 0.999_999_64,
    ],
    [
        1.0, 1.0, 0.804_336_8, 0.589_203_24, 0.419_498_2, 0.264_415_65, 0.180_997_92, 0.107_425_004,
        0.067_514_74, 0.044_157_848, 0.025_616_752, 0.014_997_686, 0.009_422_294, 0.006_036_918, 0.003_473_598, 0.002_070_784_6,
        0.001_396_167_8, 7.824_561_3e-4, 4.690_337_2e-4, 2.883_468_7e-4, 1.822_620_5e-4, 1.062_125_8e-4, 6.246_524e-5, 4.088_902e-5,
        2.396_014_5e-5, 1.394_634_1e-5, 8.701_291e-6, 5.482_211e-6, 3.336_864e-6, 1.788_037_1e-6, 1.191_133e-6, 7.139_868e-7,
    ],
];

/// `(tanh r - r) / r³` in powers of `r²`, for `|r|` up to 3/8 (Remez), with an error of 2.3e-9 relative to tanh.
const TAIL: [f32; 4] = [-0.333_333_13, 0.133_318_7, -0.053_649_31, 0.019_088_767];
/// From here on tanh is 1.
const LAST: f32 = 9.03;
/// From here on the slope is not in the table.
const FAR: f32 = 7.875;
/// Adding this rounds to a quarter, whose number is then in the low bits of the sum.
const QUARTERS: f32 = 3_145_728.0;
/// The sum for the last point.
const LAST_POINT: i32 = (QUARTERS + 7.75).to_bits() as i32;

/// Computes the results `$y`, an array, from each 16 elements `$v` of the operands. It is no function, because the
/// compiler does not inline a closure into code for fewer vectors. In an unsafe block: `$x` has `$n` elements, or one where
/// its stride `$s` is 0, and each of `$out` has room for `$n`.
macro_rules! by_sixteen {
    ($n:expr, [$($v:ident = ($x:expr, $s:expr)),+], $out:expr, $y:expr) => {{
        let n: usize = $n;
        let whole = n / 16 * 16;
        for i in (0..whole).step_by(16) {
            $(let $v = if $s == 0 { _mm512_set1_ps(*$x) } else { _mm512_loadu_ps($x.add(i)) };)+
            for (out, y) in $out.into_iter().zip($y) {
                _mm512_storeu_ps(out.add(i), y);
            }
        }
        if whole < n {
            let left = (1 << (n - whole)) - 1;
            $(let $v = if $s == 0 { _mm512_set1_ps(*$x) } else { _mm512_maskz_loadu_ps(left, $x.add(whole)) };)+
            for (out, y) in $out.into_iter().zip($y) {
                _mm512_mask_storeu_ps(out.add(whole), left, y);
            }
        }
    }};
}

/// Whether the numbers of a vector are far out, and their `T`, `S` and `d`. A macro, because a function would be called, and read the table
/// again for each vector.
macro_rules! parts_of {
    ($table:expr, $x:expr) => {{
        // `min` of a number and NaN returns the second operand.
        let size = _mm512_min_ps(_mm512_set1_ps(LAST), _mm512_abs_ps($x));
        let rounded = _mm512_castps_si512(_mm512_add_ps(size, _mm512_set1_ps(QUARTERS)));
        let point = _mm512_min_epi32(rounded, _mm512_set1_epi32(LAST_POINT));
        let r = _mm512_sub_ps(size, chosen($table[0], point));
        let (t, s) = (chosen($table[1], point), chosen($table[2], point));
        let square = _mm512_mul_ps(r, r);
        let mut tail = _mm512_set1_ps(TAIL[3]);
        for k in (0..3).rev() {
            tail = _mm512_fmadd_ps(tail, square, _mm512_set1_ps(TAIL[k]));
        }
        let small = _mm512_fmadd_ps(_mm512_mul_ps(r, square), tail, r);
        let d = _mm512_div_ps(_mm512_mul_ps(small, s), _mm512_fmadd_ps(t, small, _mm512_set1_ps(1.0)));
        let is_far = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(size, _mm512_set1_ps(FAR));
        (is_far, t, s, d)
    }};
}

/// tanh of numbers from its parts.
macro_rules! tangent_of {
    ($x:expr, $t:expr, $d:expr) => {
        _mm512_or_ps(_mm512_add_ps($t, $d), _mm512_and_ps($x, _mm512_set1_ps(-0.0)))
    };
}

/// The slopes at numbers from the parts of tanh.
macro_rules! slope_of {
    ($x:expr, $is_far:expr, $t:expr, $s:expr, $d:expr) => {{
        let y = _mm512_fnmadd_ps($d, _mm512_add_ps($t, _mm512_add_ps($t, $d)), $s);
        if $is_far == 0 { y } else { _mm512_mask_mov_ps(y, $is_far, far_slopes($x)) }
    }};
}

/// # Safety
/// `x` has `n` elements, and `out` has room for `n`. The processor has AVX-512.
#[target_feature(enable = "avx512f,avx512dq")]
pub unsafe fn tangents(n: usize, x: *const f32, out: *mut f32) {
    let table = loaded();
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        by_sixteen!(n, [x = (x, 1)], [out], {
            let (_, t, _, d) = parts_of!(table, x);
            [tangent_of!(x, t, d)]
        });
    }
}

/// # Safety
/// As [`tangents`].
#[target_feature(enable = "avx512f,avx512dq")]
pub unsafe fn slopes(n: usize, x: *const f32, out: *mut f32) {
    let table = loaded();
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        by_sixteen!(n, [x = (x, 1)], [out], {
            let (is_far, t, s, d) = parts_of!(table, x);
            [slope_of!(x, is_far, t, s, d)]
        });
    }
}

/// # Safety
/// `g` and `x` have `n` elements, or one where the stride is 0, and `out` has room for `n`. The processor has AVX-512.
#[target_feature(enable = "avx512f,avx512dq")]
pub unsafe fn gradients(n: usize, (g, sg): (*const f32, usize), (x, sx): (*const f32, usize), out: *mut f32) {
    let table = loaded();
    macro_rules! with_strides {
        ($sg:expr, $sx:expr) => {
            by_sixteen!(n, [g = (g, $sg), x = (x, $sx)], [out], {
                let (is_far, t, s, d) = parts_of!(table, x);
                [_mm512_mul_ps(g, slope_of!(x, is_far, t, s, d))]
            })
        };
    }
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        match (sg, sx) {
            (1, 1) => with_strides!(1, 1),
            (0, 1) => with_strides!(0, 1),
            _ => with_strides!(sg, sx),
        }
    }
}

/// tanh, and its gradients.
///
/// # Safety
/// `g` has `n` elements, or one where its stride is 0, `x` has `n`, and there is room for `n` of each result. The
/// processor has AVX-512.
#[target_feature(enable = "avx512f,avx512dq")]
pub unsafe fn tangents_and_gradients(
    n: usize,
    (g, sg): (*const f32, usize),
    x: *const f32,
    outs: [*mut f32; 2],
) {
    let table = loaded();
    macro_rules! with_stride {
        ($sg:expr) => {
            by_sixteen!(n, [g = (g, $sg), x = (x, 1)], outs, {
                let (is_far, t, s, d) = parts_of!(table, x);
                [tangent_of!(x, t, d), _mm512_mul_ps(g, slope_of!(x, is_far, t, s, d))]
            })
        };
    }
    // SAFETY: as the function's `# Safety` section requires.
    unsafe { if sg == 1 { with_stride!(1) } else { with_stride!(0) } }
}

/// The slopes at numbers of at least [`FAR`]: `4 u - 8 u²` with `u = e^(-2|x|)`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn far_slopes(x: __m512) -> __m512 {
    // All larger slopes are 0.
    let twice = _mm512_min_ps(_mm512_set1_ps(120.0), _mm512_mul_ps(_mm512_abs_ps(x), _mm512_set1_ps(2.0)));
    let n = _mm512_roundscale_ps::<0>(_mm512_mul_ps(twice, _mm512_set1_ps(-LOG2_E)));
    let r = _mm512_fnmadd_ps(n, _mm512_set1_ps(LN_2[0]), _mm512_sub_ps(_mm512_setzero_ps(), twice));
    let r = _mm512_fnmadd_ps(n, _mm512_set1_ps(LN_2[1]), r);
    let mut tail = _mm512_set1_ps(EXP_TAIL[4]);
    for k in (0..4).rev() {
        tail = _mm512_fmadd_ps(tail, r, _mm512_set1_ps(EXP_TAIL[k]));
    }
    let power = _mm512_fmadd_ps(_mm512_mul_ps(r, r), tail, r);
    let power = _mm512_add_ps(power, _mm512_set1_ps(1.0));
    let u = _mm512_scalef_ps(power, n);
    let four = _mm512_scalef_ps(power, _mm512_add_ps(n, _mm512_set1_ps(2.0)));
    _mm512_fnmadd_ps(_mm512_add_ps(u, u), four, four)
}

/// A table of 32 numbers a row, in registers.
type Table = [(__m512, __m512); 3];

#[inline]
#[target_feature(enable = "avx512f")]
fn loaded() -> Table {
    let mut table = [(_mm512_setzero_ps(), _mm512_setzero_ps()); 3];
    for k in 0..3 {
        let row = POINTS[k].as_ptr();
        // SAFETY: a row has 32 numbers.
        table[k] = unsafe { (_mm512_loadu_ps(row), _mm512_loadu_ps(row.add(16))) };
    }
    table
}

/// The number of each point in a row.
#[inline]
#[target_feature(enable = "avx512f")]
fn chosen((low, high): (__m512, __m512), point: __m512i) -> __m512 {
    _mm512_permutex2var_ps(low, point, high)
}
