//! Elementary functions of f64 as straight-line polynomials, which vectorise. For arguments outside their range, and
//! special values, they return NaN, and the loop calls the exact function.
//!
//! Argument reductions follow W. Cody and W. Waite, *Software Manual for the Elementary Functions* (1980).
//! Polynomials without another note are Taylor's, long enough for the reduced range. Fused multiply-add is assumed to
//! be an instruction.

macro_rules! horner {
    ($T:ident $x:expr; $first:expr $(, $c:expr)*) => {{ let p: $T = $first; $( let p = p.mul_add($x, $c); )* p }};
}
pub(super) use horner;

/// The exponential and the sigmoid of a type. `$base` is the rounding constant plus the bias that `$factors` expects.
macro_rules! exponentials {
    ($t:ident $exp:ident $sigmoid:ident; $base:expr, $tail:ident $factors:ident; $least:literal $most:literal; $one:literal $digits:literal) => {
        /// The smaller of `x` and `most`; NaN for NaN.
        #[inline(always)]
        fn at_most(x: $t, most: $t) -> $t {
            if x > most { most } else { x }
        }

        /// For all arguments. Overflow and underflow happen in the last product.
        #[inline(always)]
        pub fn $exp(x: $t) -> $t {
            const BASE: $t = $base;
            let x = at_most(if x < $least { $least } else { x }, $most);
            let rounded = x.mul_add(std::$t::consts::LOG2_E, BASE);
            let n = rounded - BASE;
            let near = n.mul_add(-LN_2[0], x);
            let low = n * -LN_2[1];
            let r = near + low;
            let (a, b) = $factors(rounded);
            (1.0 + (near + $tail(r).mul_add(r * r, low))) * a * b
        }

        /// `c / (c + m)` with `c = 2^n` and `m = e^r`, where `e^-x = m / c`. The quotient is corrected once. Where
        /// the result rounds to 1, `r` is allowed to grow, so that `c + 1` is exact.
        #[inline(always)]
        pub fn $sigmoid(x: $t) -> $t {
            const BASE: $t = $base;
            let x = at_most(if x < $least { $least } else { x }, $one);
            let rounded = at_most(x.mul_add(std::$t::consts::LOG2_E, BASE), BASE + $digits);
            let n = rounded - BASE;
            let near = n.mul_add(LN_2[0], -x);
            let low = n * LN_2[1];
            let r = near + low;
            let (a, b) = $factors(rounded);
            let m = near + $tail(r).mul_add(r * r, low);
            let more = a.mul_add(b, 1.0);
            let sum = more + m;
            let lost = (more - sum) + m + a.mul_add(b, 1.0 - more);
            let inverse = 1.0 / sum;
            let rest = (-inverse).mul_add(lost, (-inverse).mul_add(sum, 1.0));
            rest.mul_add(inverse, inverse) * a * b
        }
    };
}
pub(super) use exponentials;
exponentials!(f64 exp64 sigmoid64; ROUND64 + 2046.0, exp_tail64 factors64; -746.0 710.0; 37.5 52.0);

/// Adding this rounds to an integer, which is then in the low bits of the sum.
pub const ROUND64: f64 = 6_755_399_441_055_744.0;

/// `x` if `|x|` is at most `limit`, else NaN.
#[inline(always)]
pub(super) fn within64(x: f64, limit: f64) -> f64 {
    if x.abs() <= limit { x } else { f64::NAN }
}

/// `2^n` for an integer `n` in the range of normal exponents, rounded with [`ROUND64`].
#[inline(always)]
pub(super) fn power_of_two64(rounded: f64) -> f64 {
    f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52)
}

/// `2^n` as a product of two normal factors, for results that may not be normal. `rounded` is `n + 2046` plus
/// [`ROUND64`].
#[inline(always)]
pub(super) fn factors64(rounded: f64) -> (f64, f64) {
    let half = (rounded.to_bits() << 51) & 0xfff0_0000_0000_0000;
    (f64::from_bits(half), f64::from_bits((rounded.to_bits() << 52).wrapping_sub(half)))
}

/// `ln 2` in two parts. The first has so few bits that its product with an exponent is exact.
pub(super) const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

/// `n` in rounded form, `r`, and the rounding error of `r`, where `x = n ln 2 + r` and `|r|` is at most half of `ln
/// 2`.
#[inline(always)]
fn split64(x: f64) -> (f64, f64, f64) {
    let rounded = x.mul_add(std::f64::consts::LOG2_E, ROUND64);
    let n = rounded - ROUND64;
    let near = n.mul_add(-LN_2[0], x);
    let r = n.mul_add(-LN_2[1], near);
    (rounded, r, n.mul_add(-LN_2[1], near - r))
}

/// `(e^r - 1 - r) / r²` for `|r|` up to half of `ln 2`: a minimax polynomial with an error of 3e-19 relative to `e^r
/// - 1`.
#[inline(always)]
pub(super) fn exp_tail64(r: f64) -> f64 {
    horner!(f64 r; 2.087_532_308_228_447_4e-9, 2.510_897_828_730_988_3e-8, 2.755_740_264_192_78e-7, 2.755_724_437_621_981_5e-6, 2.480_158_717_257_522e-5, 0.000_198_412_698_859_634_87, 0.001_388_888_888_896_233, 0.008_333_333_333_321_693, 0.041_666_666_666_666_51, 0.166_666_666_666_666_77, 0.5)
}

/// `2^x` for normal results, from the series of `2^r` with `|r|` at most a half.
#[inline(always)]
pub fn exp2_64(x: f64) -> f64 {
    let rounded = within64(x, 1021.0) + ROUND64;
    let r = x - (rounded - ROUND64);
    horner!(f64 r; 1.369_148_885_390_412_4e-12, 2.567_843_599_348_819_6e-11, 4.445_538_271_870_81e-10, 7.054_911_620_801_121e-9, 1.017_808_600_923_969_6e-7, 1.321_548_679_014_430_5e-6, 1.525_273_380_405_983_8e-5, 0.000_154_035_303_933_816_06, 0.001_333_355_814_642_844, 0.009_618_129_107_628_477, 0.055_504_108_664_821_576, 0.240_226_506_959_100_7, std::f64::consts::LN_2, 1.0)
        * power_of_two64(rounded)
}

/// `e^x` and its rounding error.
#[inline(always)]
pub(super) fn exp_parts64(x: f64) -> (f64, f64) {
    let vanishes = x < -746.0;
    let (n, r, low) = split64(if vanishes { 0.0 } else { within64(x, 708.0) });
    let head = 1.0 + r;
    let tail = (exp_tail64(r) * r).mul_add(r, (1.0 - head) + r + low);
    let sum = head + tail;
    let scale = if vanishes { 0.0 } else { power_of_two64(n) };
    (sum * scale, (tail - (sum - head)) * scale)
}

/// `e^x - 1` and its rounding error: `2^n (e^r - 1) + (2^n - 1)`, summed without error.
#[inline(always)]
pub(super) fn exp_m1_parts64(x: f64) -> (f64, f64) {
    let (n, r, low) = split64(x);
    let scale = power_of_two64(n);
    let (a, b) = (scale - 1.0, scale * r);
    let head = a + b;
    let lost = if a.abs() > b.abs() { (a - head) + b } else { (b - head) + a } + ((scale - a) - 1.0);
    let tail = (exp_tail64(r) * r).mul_add(r, low).mul_add(scale, lost);
    let sum = head + tail;
    (sum, tail - (sum - head))
}

#[inline(always)]
pub fn exp_m164(x: f64) -> f64 {
    // The sums lose the sign of zero.
    exp_m1_parts64(within64(x, 708.0)).0.copysign(x)
}

/// `tanh |x| = e / (e + 2)` with `e = e^{2|x|} - 1`, which does not cancel near 0. The quotient is corrected once.
#[inline(always)]
pub fn tanh64(x: f64) -> f64 {
    let a = x.abs();
    let (e, low) = exp_m1_parts64(
        2.0 * if a < 20.0 {
            a
        } else if a >= 20.0 {
            20.0
        } else {
            f64::NAN
        },
    );
    let sum = e + 2.0;
    let lost = if e > 2.0 { (e - sum) + 2.0 } else { (2.0 - sum) + e };
    let inverse = 1.0 / sum;
    let q = e * inverse;
    let rest = (-q).mul_add(sum, e) - q * lost + low * (1.0 - q);
    rest.mul_add(inverse, q).copysign(x)
}

#[inline(always)]
pub fn softplus64(x: f64) -> f64 {
    (if x > 0.0 { x } else { 0.0 }) + ln_1p64(exp64(-x.abs()))
}

/// `k` and `m - 1` with `x = 2^k m` and `m` between `√½` and `√2`. `x` is normal and positive.
#[inline(always)]
pub fn mantissa64(x: f64) -> (f64, f64) {
    let bits = x.to_bits().wrapping_sub(0x3fe6_a09e_667f_3bcd);
    // The exponent as a float, by placing its bits below those of 2^52, because AVX2 lacks the conversion.
    let k = f64::from_bits((bits >> 52).wrapping_add(1024) & 0xfff | 0x4330_0000_0000_0000)
        - 4_503_599_627_371_520.0;
    let k = if k > 1024.0 { k - 4096.0 } else { k };
    (k, f64::from_bits((bits & 0x000f_ffff_ffff_ffff).wrapping_add(0x3fe6_a09e_667f_3bcd)) - 1.0)
}

/// `ln(1 + f) = f - s (f - R)` with `s = f / (2 + f)`, from the series of the inverse hyperbolic tangent of `s`.
#[inline(always)]
fn ln_of64(k: f64, f: f64, low: f64) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    let tail = z
        * horner!(f64 z; 2.0 / 23.0, 2.0 / 21.0, 2.0 / 19.0, 2.0 / 17.0, 2.0 / 15.0, 2.0 / 13.0, 2.0 / 11.0, 2.0 / 9.0, 2.0 / 7.0, 0.4, 2.0 / 3.0);
    let half = 0.5 * f * f;
    let y = s.mul_add(half + tail, k.mul_add(LN_2[1], low)) - half;
    k.mul_add(LN_2[0], y + f)
}

#[inline(always)]
pub fn ln64(x: f64) -> f64 {
    let ok = (f64::MIN_POSITIVE..=f64::MAX).contains(&x);
    let (k, f) = mantissa64(x);
    if ok { ln_of64(k, f, 0.0) } else { f64::NAN }
}

/// `ln(1 + x)`: the logarithm of the rounded sum, corrected for the rounding error.
#[inline(always)]
pub fn ln_1p64(x: f64) -> f64 {
    let u = 1.0 + x;
    let lost = if x < 1.0 { x - (u - 1.0) } else { 1.0 - (u - x) };
    let (k, f) = mantissa64(u);
    let y = ln_of64(k, f, lost / u);
    if x > -0.999 && x < 1e300 { if u == 1.0 { x } else { y } } else { f64::NAN }
}

/// π/2 in parts of 33 bits, so that products with integers up to a million are exact.
pub(super) const HALF_PI: [f64; 3] =
    [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_951e-21];
pub(super) const LARGEST: f64 = 1_048_576.0;

/// The quadrant of `x` (in the lowest two bits), and the remainder, at most π/4 in size, with its rounding error.
#[inline(always)]
pub(super) fn quadrant(x: f64) -> (u64, f64, f64) {
    let rounded = x.mul_add(std::f64::consts::FRAC_2_PI, ROUND64);
    let n = rounded - ROUND64;
    let r = n.mul_add(-HALF_PI[0], x);
    let near = n.mul_add(-HALF_PI[1], r);
    let r = n.mul_add(-HALF_PI[2], near);
    (rounded.to_bits(), r, n.mul_add(-HALF_PI[2], near - r))
}

/// Sine and cosine of `r + low`, at most π/4 in size, each with its error.
#[inline(always)]
pub(super) fn sin_cos64(r: f64, low: f64) -> ((f64, f64), (f64, f64)) {
    let z = r * r;
    let s = horner!(f64 z; -1.0 / 1_307_674_368_000.0, 1.0 / 6_227_020_800.0, -1.0 / 39_916_800.0, 1.0 / 362_880.0, -1.0 / 5_040.0, 1.0 / 120.0, -1.0 / 6.0);
    let c = horner!(f64 z; 1.0 / 20_922_789_888_000.0, -1.0 / 87_178_291_200.0, 1.0 / 479_001_600.0, -1.0 / 3_628_800.0, 1.0 / 40_320.0, -1.0 / 720.0, 1.0 / 24.0);
    let half = 0.5 * z;
    let head = 1.0 - half;
    let c = (c * z).mul_add(z, (1.0 - head) - half - r * low);
    let s = (s * z).mul_add(r, low);
    let (sine, cosine) = (r + s, head + c);
    ((sine, s - (sine - r)), (cosine, c - (cosine - head)))
}

#[inline(always)]
fn circular64(x: f64, shift: u64) -> f64 {
    let (q, r, low) = quadrant(within64(x, LARGEST));
    let ((s, _), (c, _)) = sin_cos64(r, low);
    let q = q.wrapping_add(shift);
    let y = if q & 1 == 0 { s } else { c };
    f64::from_bits(y.to_bits() ^ ((q & 2) << 62))
}

#[inline(always)]
pub fn sin64(x: f64) -> f64 {
    // The reduction loses the sign of zero.
    if x == 0.0 { x } else { circular64(x, 0) }
}

#[inline(always)]
pub fn cos64(x: f64) -> f64 {
    circular64(x, 1)
}

/// The polynomial with these coefficients at `t`, as four sums that a processor computes at once. It takes no fused products, so
/// it has the same bits on all processors.
#[inline]
pub fn power_sum<const N: usize>(terms: &[f64; N], t: f64) -> f64 {
    let square = t * t;
    let fourth = square * square;
    let mut sums = [0.0; 4];
    for (k, &term) in terms.iter().enumerate().rev() {
        sums[k % 4] = sums[k % 4] * fourth + term;
    }
    (sums[0] + sums[1] * t) + (sums[2] + sums[3] * t) * square
}
