//! Elementary functions of f32 in f32 arithmetic, with an error of at most one unit in the last place. Each sum is
//! rounded once at the end; the errors of its parts are added to the small part. Polynomials are minimax ones
//! (Remez).

use std::f32::consts::LOG2_E;

use super::poly::{exponentials, horner};

/// Adding this rounds to an integer, which is then in the low bits of the sum.
const ROUND: f32 = 12_582_912.0;
/// `ln 2` in two parts. The first has so few bits that its product with an exponent is exact.
pub const LN_2: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];
/// `(e^r - 1 - r) / r²` in powers of `r`, for `|r|` up to half of `ln 2`, with an error of 1.4e-8 relative to `e^r - 1`.
pub const EXP_TAIL: [f32; 5] = [4.999_999_7e-1, 1.666_653_9e-1, 4.166_775e-2, 8.367_09e-3, 1.383_779_7e-3];

exponentials!(f32 exp32 sigmoid32; ROUND + 254.0, exp_tail factors; -104.0 89.0; 17.4 23.0);

/// `x` if `|x|` is at most `limit`, else NaN.
#[inline(always)]
fn within(x: f32, limit: f32) -> f32 {
    if x.abs() <= limit { x } else { f32::NAN }
}

/// The polynomial of [`EXP_TAIL`].
#[inline(always)]
fn exp_tail(r: f32) -> f32 {
    let z = r * r;
    let high = z.mul_add(EXP_TAIL[4], r.mul_add(EXP_TAIL[3], EXP_TAIL[2]));
    high.mul_add(z, r.mul_add(EXP_TAIL[1], EXP_TAIL[0]))
}

/// `2^n` as a product of two normal factors, for results that may not be normal. `rounded` is `n + 254` plus
/// [`ROUND`].
#[inline(always)]
fn factors(rounded: f32) -> (f32, f32) {
    let half = (rounded.to_bits() << 22) & 0xff80_0000;
    (f32::from_bits(half), f32::from_bits((rounded.to_bits() << 23).wrapping_sub(half)))
}

/// `2^x` for normal results, from the series of `2^r` with `|r|` at most a half.
#[inline(always)]
pub fn exp2_32(x: f32) -> f32 {
    let rounded = within(x, 125.0) + ROUND;
    let r = x - (rounded - ROUND);
    horner!(f32 r; 1.525_273_4e-5, 0.000_154_035_3, 0.001_333_355_8, 0.009_618_129, 0.055_504_11, 0.240_226_5, std::f32::consts::LN_2, 1.0)
        * f32::from_bits(rounded.to_bits().wrapping_add(127) << 23)
}

/// `2^n (e^r - 1) + (2^n - 1)`, summed without error. Keeps the sign of zero.
#[inline(always)]
pub fn exp_m132(x: f32) -> f32 {
    const BASE: f32 = ROUND + 127.0;
    let x = within(x, 87.0);
    let rounded = x.mul_add(LOG2_E, BASE);
    let n = rounded - BASE;
    let near = n.mul_add(-LN_2[0], x);
    let low = n * -LN_2[1];
    let r = near + low;
    let low = (near - r) + low;
    let scale = f32::from_bits(rounded.to_bits() << 23);
    let (a, b) = (scale - 1.0, scale * r);
    let head = a + b;
    let lost = if a.abs() > b.abs() { (a - head) + b } else { (b - head) + a } + ((scale - a) - 1.0);
    let tail =
        horner!(f32 r; 1.504_734_1e-4, 1.393_054_2e-3, 8.341_509e-3, 4.166_651e-2, 1.666_663_6e-1, 0.5);
    (head + tail.mul_add(r * r, low).mul_add(scale, lost)).copysign(x)
}

/// `tanh |x| = (c - m) / (c + m)` with `c = 2^n` and `m = e^r`, where `e^(-2|x|) = m / c`. The quotient is corrected
/// once. Where `c + 1` would not be exact, `r` is allowed to grow.
#[inline(always)]
pub fn tanh32(x: f32) -> f32 {
    const BASE: f32 = ROUND + 127.0;
    let a = at_most(x.abs(), 9.02);
    let rounded = at_most(a.mul_add(2.0 * LOG2_E, BASE), BASE + 23.0);
    let n = rounded - BASE;
    let near = a.mul_add(-2.0, n * LN_2[0]);
    let low = n * LN_2[1];
    let r = near + low;
    let c = f32::from_bits(rounded.to_bits() << 23);
    let tail = exp_tail(r).mul_add(r * r, low);
    // m - 1, and its rounding error.
    let m = near + tail;
    let m_low = (near - m) + tail;
    let (less, more) = (c - 1.0, c + 1.0);
    let (top, sum) = (less - m, more + m);
    let top_low = (less - top) - m - m_low;
    let lost = (more - sum) + m;
    let inverse = 1.0 / sum;
    let q = top * inverse;
    let rest = (-q).mul_add(lost, (-q).mul_add(sum, top)) + top_low;
    let y = rest.mul_add(inverse, q);
    (if x.abs() > 9.02 { 1.0 } else { y }).copysign(x)
}

/// `max(x, 0) + ln(1 + e)` with `e = e^-|x|`: the logarithm is `2 artanh(e / (2 + e))`.
#[inline(always)]
pub fn softplus32(x: f32) -> f32 {
    let e = exp32(-x.abs());
    let sum = 2.0 + e;
    let lost = (2.0 - sum) + e;
    let inverse = 1.0 / sum;
    let s = (e + e) * inverse;
    let rest = (-s).mul_add(lost, (-s).mul_add(sum, e + e));
    let z = s * s;
    let tail = horner!(f32 z; 5.471_099e-4, 2.187_640_3e-3, 1.250_672_8e-2, 8.333_302e-2);
    let y = s + (tail * z).mul_add(s, rest * inverse);
    if x > 0.0 { x + y } else { y }
}

/// `k` and `m - 1` with `x = 2^k m` and `m` between `√½` and `√2`. `x` is normal and positive.
#[inline(always)]
fn mantissa(x: f32) -> (f32, f32) {
    // Shifted so that the exponent changes at √½ instead of 1.
    let bits = x.to_bits().wrapping_sub(0x3f35_04f3);
    let k = ((bits as i32) >> 23) as f32;
    (k, f32::from_bits((bits & 0x007f_ffff).wrapping_add(0x3f35_04f3)) - 1.0)
}

/// `ln(1 + f) = f - s (f - R)` with `s = f / (2 + f)`, from the series of the inverse hyperbolic tangent of `s`.
#[inline(always)]
fn ln_of(k: f32, f: f32, low: f32) -> f32 {
    let s = f / (2.0 + f);
    let z = s * s;
    let tail = z * horner!(f32 z; 2.0 / 11.0, 2.0 / 9.0, 2.0 / 7.0, 0.4, 2.0 / 3.0);
    let half = 0.5 * f * f;
    let y = s.mul_add(half + tail, k.mul_add(LN_2[1], low)) - half;
    k.mul_add(LN_2[0], y + f)
}

#[inline(always)]
pub fn ln32(x: f32) -> f32 {
    let x = if (f32::MIN_POSITIVE..=f32::MAX).contains(&x) { x } else { f32::NAN };
    let (k, f) = mantissa(x);
    if x > 0.0 { ln_of(k, f, 0.0) } else { f32::NAN }
}

/// `ln(1 + x)`: the logarithm of the rounded sum, corrected for the rounding error.
#[inline(always)]
pub fn ln_1p32(x: f32) -> f32 {
    let u = 1.0 + x;
    let lost = if x < 1.0 { x - (u - 1.0) } else { 1.0 - (u - x) };
    let (k, f) = mantissa(u);
    let y = ln_of(k, f, lost / u);
    if x > -0.999 && x < 1e30 { if u == 1.0 { x } else { y } } else { f32::NAN }
}

/// π/2 in parts of 24 bits.
const HALF_PI: [f32; 3] = [1.570_796_4, -4.371_139e-8, -1.715_124_5e-15];

/// Sine or cosine of `|x|` up to a million, shifted by quadrants. The product with the first part of π/2 leaves an
/// exact remainder, and the product with the second part is kept in two numbers.
#[inline(always)]
fn circular(x: f32, shift: u32) -> f32 {
    let x = within(x, 1_048_576.0);
    let rounded = x.mul_add(std::f32::consts::FRAC_2_PI, ROUND);
    let n = rounded - ROUND;
    let near = n.mul_add(-HALF_PI[0], x);
    let more = n * HALF_PI[1];
    let more_low = n.mul_add(HALF_PI[1], -more);
    let r = near - more;
    let low = n.mul_add(-HALF_PI[2], ((near - r) - more) - more_low);
    let z = r.mul_add(r, (low + low) * r);
    let s = horner!(f32 z; -1.946_150_9e-4, 8.331_745e-3, -1.666_664_8e-1);
    let c = horner!(f32 z; 2.437_435_6e-5, -1.388_678_1e-3, 4.166_663_4e-2, -0.5);
    let (s, c) = (r + (s * z).mul_add(r, low), c.mul_add(z, 1.0));
    let q = rounded.to_bits().wrapping_add(shift);
    let y = if q & 1 == 0 { s } else { c };
    f32::from_bits(y.to_bits() ^ ((q & 2) << 30))
}

#[inline(always)]
pub fn sin32(x: f32) -> f32 {
    // Takes `|x|`, because the reduction loses the sign of zero.
    f32::from_bits(circular(x.abs(), 0).to_bits() ^ (x.to_bits() & 0x8000_0000))
}

#[inline(always)]
pub fn cos32(x: f32) -> f32 {
    circular(x.abs(), 1)
}
