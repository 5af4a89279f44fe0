//! Special functions of real numbers, as scalar functions. Those that `libm` and `spec_math` (a translation of Cephes)
//! have are taken from there.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2};

use super::bessel_k as second_kind;
use super::fast::power_sum;
pub use libm::erfc;
use spec_math::cephes64::{i0e, i1e, igam, igamc, lbeta};
pub use spec_math::cephes64::{ndtri, psi as digamma};

/// `ln |Γ(x)|`.
#[inline(never)]
pub fn lgamma(x: f64) -> f64 {
    // The series of `libm` is for finite numbers.
    if x.is_infinite() { f64::INFINITY } else { libm::lgamma(x) }
}

/// The `n`-th derivative of `digamma`, `(-1)^(n+1) n! ζ(n + 1, x)`.
#[inline(never)]
pub fn polygamma(n: f64, x: f64) -> f64 {
    if n == 0.0 {
        return digamma(x);
    }
    let size = if n < 20.0 { (1..=n as u32).map(f64::from).product() } else { libm::tgamma(n + 1.0) };
    let value = size * zeta(n + 1.0, x);
    if n % 2.0 == 0.0 { -value } else { value }
}

/// The Hurwitz zeta function, `Σ (k + q)^-s` for `k` from 0. A negative `q` needs an integer `s`. Its terms below zero
/// are the difference of two series of positive ones, so that they need not be summed one by one.
pub fn zeta(s: f64, q: f64) -> f64 {
    if !(q < 0.0 && s > 1.0 && s == s.floor()) || q == q.floor() || q.is_infinite() {
        return spec_math::cephes64::zeta(s, q);
    }
    let count = -q.floor();
    // Both are exact, also where `q` is so small that 1 + q is rounded.
    let (first, below) = (q + count, -(q + (count - 1.0)));
    let sign = if s % 2.0 == 0.0 { 1.0 } else { -1.0 };
    let positive = |q| spec_math::cephes64::zeta(s, q);
    positive(first) + sign * (positive(below) - positive(below + count))
}

/// `e^(x²)`, with the rounding error of the square put back.
fn exp_square(x: f64) -> f64 {
    let square = x * x;
    let rest = x.mul_add(x, -square);
    let power = square.exp();
    if power.is_finite() { power + power * rest } else { power }
}

/// `(1 + 2x) erfcx(x)` for positive `x`, in powers of `(x - 3) / (x + 3)`: the sum of the first 26 terms of the Chebyshev series
/// (Shepherd and Laframboise, Chebyshev approximation of (1 + 2x) exp(x²) erfc x, 1981).
const ERFCX: [f64; 26] = [
    1.2530080582697296,
    -0.1356211061245812,
    -0.0475622943534492,
    0.12964515870276475,
    -0.11927366341538638,
    0.06830802734384515,
    -0.02377051491717134,
    0.0025293918180474668,
    0.0018886903449991718,
    -0.0007798322884823084,
    -0.00010515971958448065,
    0.0001250994355712812,
    4.949196649968345e-06,
    -2.0100843094844725e-05,
    -7.308281468783614e-07,
    3.473024167841533e-06,
    3.5576086684080595e-07,
    -6.175617678992323e-07,
    -1.4047654315428462e-07,
    1.0277997488271058e-07,
    4.1064013667940355e-08,
    -1.3906145791730994e-08,
    -8.217595058711455e-09,
    1.2019719440135793e-09,
    8.393734858690877e-10,
    -3.451497487664328e-11,
];

/// `e^(x²) erfc(x)`.
#[inline]
pub fn erfcx(x: f64) -> f64 {
    // It is 1 at 0.
    if x < 0.125 {
        return exp_square(x) * erfc(x);
    }
    0.5 * power_sum(&ERFCX, 1.0 - 6.0 / (x + 3.0)) / (0.5 + x)
}

/// The inverse of `erf`: near 0 a polynomial that interpolates `erfinv(y) / y` as a function of `y²` in Chebyshev's nodes,
/// else that of the normal distribution function.
#[inline(never)]
pub fn erfinv(y: f64) -> f64 {
    const NEAR_ZERO: [f64; 16] = [
        0.886226925452758,
        0.23201366653465452,
        0.12755617530558888,
        0.08655212924276148,
        0.0649596176602574,
        0.051731285585278994,
        0.042836620982097964,
        0.036467828640840666,
        0.03166328869014091,
        0.028232530425433375,
        0.023225078131945263,
        0.03190777553388706,
        -0.013639519101338591,
        0.1052110444868995,
        -0.11950957710237295,
        0.128044025909355,
    ];
    if y.abs() > 0.5 {
        return (-ndtri(0.5 * (1.0 - y.abs())) * FRAC_1_SQRT_2).copysign(y);
    }
    y * NEAR_ZERO.iter().rfold(0.0, |sum, term| sum * (y * y) + term)
}

/// The logarithm of the normal distribution function.
#[inline]
pub fn log_ndtr(x: f64) -> f64 {
    let z = -x * FRAC_1_SQRT_2;
    if x < 0.0 {
        // `-x² / 2` to its last digit matters more than the rest.
        return -0.5 * x * x + erfcx(z).ln() - LN_2;
    }
    (-0.5 * erfc(-z)).ln_1p()
}

/// The logarithm of the absolute value of the beta function.
pub fn betaln(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    let (pole, other) = if a < b { (a, b) } else { (b, a) };
    if pole > 0.0 || pole != pole.floor() {
        return lbeta(a, b);
    }
    // At a pole of one gamma function the value is finite where that of the sum has a pole too (DLMF 5.5.3).
    let rest = 1.0 - pole - other;
    if other == other.floor() && rest > 0.0 { betaln(rest, other) } else { f64::INFINITY }
}

/// The regularised lower incomplete gamma function, and the upper one.
pub fn gammainc(a: f64, x: f64) -> f64 {
    if a.is_nan() || x.is_nan() { f64::NAN } else { igam(a, x) }
}

pub fn gammaincc(a: f64, x: f64) -> f64 {
    if a.is_nan() || x.is_nan() { f64::NAN } else { igamc(a, x) }
}

/// The Bessel functions of the first and second kind.
pub fn bessel_j(n: f64, x: f64) -> f64 {
    match n as i32 {
        0 => libm::j0(x),
        1 => libm::j1(x),
        n => libm::jn(n, x),
    }
}

pub fn bessel_y(n: f64, x: f64) -> f64 {
    match n as i32 {
        0 => libm::y0(x),
        1 => libm::y1(x),
        n => libm::yn(n, x),
    }
}

/// `e^-|x|` times the modified Bessel function of the first kind.
pub fn bessel_ie(n: f64, x: f64) -> f64 {
    let (n, size) = (n.abs() as u32, x.abs());
    let value = match n {
        0 => return i0e(size),
        1 => return i1e(x),
        // Upward recurrence (DLMF 10.29.1), which keeps its digits while `n² < x`.
        _ if size > f64::from(n * n).max(30.0) => {
            let (mut low, mut high) = (i0e(size), i1e(size));
            for k in 1..n {
                (low, high) = (high, low - 2.0 * f64::from(k) / size * high);
            }
            high
        }
        // The series (DLMF 10.25.2), all of whose terms are positive.
        _ => {
            let half = 0.5 * size;
            let start: f64 = (1..=n).map(|k| half / f64::from(k)).product();
            let (mut sum, mut term, mut k) = (1.0, 1.0, 0.0);
            while term > f64::EPSILON / 8.0 * sum {
                k += 1.0;
                term *= half * half / (k * (k + f64::from(n)));
                sum += term;
            }
            start * sum * (-size).exp()
        }
    };
    if x < 0.0 && n % 2 == 1 { -value } else { value }
}

/// The modified Bessel function of the first kind.
pub fn bessel_i(n: f64, x: f64) -> f64 {
    let half = (0.5 * x.abs()).exp();
    let scaled = bessel_ie(n, x);
    // In two steps, since the exponential overflows before the product does.
    if half.is_infinite() { f64::INFINITY.copysign(scaled) } else { scaled * half * half }
}

/// `e^x` times the modified Bessel function of the second kind, by upward recurrence.
#[inline]
pub fn bessel_ke(n: f64, x: f64) -> f64 {
    let n = n.abs() as u32;
    if n < 2 {
        return second_kind::scaled(n as usize, x);
    }
    let (mut low, mut high) = (second_kind::scaled(0, x), second_kind::scaled(1, x));
    if high.is_infinite() {
        return high;
    }
    for k in 1..n {
        (low, high) = (high, low + 2.0 * f64::from(k) / x * high);
    }
    high
}

/// The modified Bessel function of the second kind.
#[inline]
pub fn bessel_k(n: f64, x: f64) -> f64 {
    if n.abs() < 2.0 {
        return second_kind::unscaled(n.abs() as usize, x);
    }
    let scaled = bessel_ke(n, x);
    if scaled.is_infinite() { scaled } else { scaled * (-x).exp() }
}

/// The spherical Bessel function of the first kind.
pub fn spherical_bessel_j(n: f64, x: f64) -> f64 {
    spherical_in(n, x, f64::sin_cos)
}

/// That function, with the sine and cosine of `|x|` from `sin_cos`.
pub fn spherical_in(n: f64, x: f64, sin_cos: impl Fn(f64) -> (f64, f64)) -> f64 {
    let (n, size) = (n as u32, x.abs());
    if size.is_infinite() {
        return 0.0;
    }
    let value = if size > f64::from(n + 1) {
        // Upward recurrence (DLMF 10.51.1).
        let (sin, cos) = sin_cos(size);
        let (mut low, mut high) = (cos / size, sin / size);
        for k in 0..n {
            (low, high) = (high, f64::from(2 * k + 1) / size * high - low);
        }
        high
    } else {
        // The series (DLMF 10.53.1).
        let y = -0.5 * size * size;
        let start: f64 = (1..=n).map(|k| size / f64::from(2 * k + 1)).product();
        let (mut sum, mut term, mut k) = (1.0_f64, 1.0_f64, 0.0);
        while term.abs() > f64::EPSILON / 8.0 * sum.abs() {
            k += 1.0;
            term *= y / (k * (2.0 * (f64::from(n) + k) + 1.0));
            sum += term;
        }
        start * sum
    };
    if x < 0.0 && n % 2 == 1 { -value } else { value }
}

/// The Taylor series of `sin(πr) / (πr)` in `r²`, to rounding where `|r| ≤ 1/2`.
const SINC: [f64; 11] = [
    1.0,
    -1.644_934_066_848_226_4,
    0.811_742_425_283_353_6,
    -0.190_751_824_122_084_22,
    0.026_147_847_817_654_8,
    -0.002_346_081_035_455_823_5,
    0.000_148_428_793_031_071,
    -6.975_873_661_656_381e-6,
    2.531_217_404_137_027_4e-7,
    -7.304_711_822_217_775e-9,
    1.716_538_474_982_143_2e-10,
];

/// That of `cos(πr)`.
const COS: [f64; 12] = [
    1.0,
    -4.934802200544679,
    4.0587121264167685,
    -1.3352627688545895,
    0.2353306303588932,
    -0.02580689139001406,
    0.0019295743094039231,
    -0.0001046381049248457,
    4.303069587032947e-06,
    -1.3878952462213771e-07,
    3.604730797462501e-09,
    -7.700707130601354e-11,
];

/// The sum of the first terms of a series in even powers of `r`.
#[inline(always)]
fn even<const N: usize>(terms: &[f64; N], r: f64) -> f64 {
    let square = r * r;
    let mut sum = terms[N - 1];
    for k in (0..N - 1).rev() {
        sum = sum * square + terms[k];
    }
    sum
}

/// `x` without multiples of 2, and then from the nearest zero of `sin(πx)`. Both are exact.
#[inline(always)]
fn turn(x: f64) -> (f64, f64) {
    let turn = x - 2.0 * (0.5 * x).round_ties_even();
    (turn, if turn.abs() > 0.5 { 1.0_f64.copysign(turn) - turn } else { turn })
}

/// The derivative of [`sinc`], `(cos(πx) - sinc(x)) / x`, near 0 by the series. It is arithmetic alone too.
#[inline(always)]
pub fn sinc_slope(x: f64) -> f64 {
    let (turn, r) = turn(x);
    let cos = if turn.abs() > 0.5 { -even(&COS, r) } else { even(&COS, r) };
    let far = (cos - r / x * even(&SINC, r)) / x;
    let mut near = 20.0 * SINC[10];
    for k in (1..10).rev() {
        near = near * (x * x) + 2.0 * k as f64 * SINC[k];
    }
    if x.is_infinite() {
        0.0
    } else if x.abs() < 0.5 {
        near * x
    } else {
        far
    }
}

/// `sin(πx) / (πx)`. It is arithmetic alone, so that it has the same bits in vectors.
#[inline(always)]
pub fn sinc(x: f64) -> f64 {
    let (_, r) = turn(x);
    if x == 0.0 { 1.0 } else { r / x * even(&SINC, r) }
}

/// The Airy function of the first kind, or for `n` 1 its derivative.
pub fn airy(n: f64, x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if 0.6 < x && x < 2.1 {
        return airy_near(n, x);
    }
    // Of minus infinity the phase is lost.
    let (value, slope, ..) = spec_math::cephes64::airy(x);
    if x.is_infinite() {
        0.0
    } else if n == 0.0 {
        value
    } else {
        slope
    }
}

/// Numbers, with the Airy function and its derivative there.
const AIRY: [(f64, f64, f64); 4] = [
    (0.8, 0.169_846_317_444_364_86, -0.186_412_863_807_271_7),
    (1.2, 0.106_125_762_263_312_55, -0.132_785_378_557_226_2),
    (1.6, 0.062_536_907_968_931_95, -0.086_995_908_448_104_12),
    (2.0, 0.034_924_130_423_274_38, -0.053_090_384_433_653_63),
];

/// [`airy`] between 0.6 and 2.2, by a series around the nearest number of a table. Its coefficients follow from `y'' = x y`.
fn airy_near(n: f64, x: f64) -> f64 {
    let nearest = ((x - 0.6) / 0.4) as usize;
    let (center, value, slope) = AIRY[nearest.min(AIRY.len() - 1)];
    let h = x - center;
    let mut terms =
        [value, slope, 0.5 * center * value, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    for k in 3..terms.len() {
        terms[k] = (center * terms[k - 2] + terms[k - 3]) / (k * (k - 1)) as f64;
    }
    if n == 0.0 {
        return terms.iter().rfold(0.0, |sum, term| sum * h + term);
    }
    (1..terms.len()).rfold(0.0, |sum, k| sum * h + k as f64 * terms[k])
}

/// The regularised incomplete beta function, the integral of `t^(a - 1) (1 - t)^(b - 1) / B(a, b)` from 0 to `x`.
pub fn betainc(a: f64, b: f64, x: f64) -> f64 {
    if !(a >= 0.0 && b >= 0.0 && (0.0..=1.0).contains(&x))
        || (a == 0.0 || b.is_infinite()) && (b == 0.0 || a.is_infinite())
    {
        return f64::NAN;
    }
    if x == 0.0 || x == 1.0 {
        return x;
    }
    // All weight is at one end.
    if a == 0.0 || b.is_infinite() {
        return 1.0;
    }
    if b == 0.0 || a.is_infinite() { 0.0 } else { spec_math::cephes64::incbet(a, b, x) }
}

/// Families of polynomials with a recurrence.
#[derive(Clone, Copy)]
pub enum Family {
    ChebyshevT,
    ChebyshevU,
    ChebyshevV,
    ChebyshevW,
    Legendre,
    Laguerre,
    HermiteH,
    HermiteHe,
}

impl Family {
    pub const ALL: [Family; 8] = [
        Family::ChebyshevT,
        Family::ChebyshevU,
        Family::ChebyshevV,
        Family::ChebyshevW,
        Family::Legendre,
        Family::Laguerre,
        Family::HermiteH,
        Family::HermiteHe,
    ];

    /// The derivative of this order of the polynomial of degree `n`: such derivatives are again polynomials with a
    /// recurrence (DLMF 18.9.19–26), and no division makes them fail at the ends of an interval.
    fn derivative(self, order: f64, n: f64, x: f64) -> f64 {
        if n < order {
            return 0.0;
        }
        // Of the polynomials before and after: `p[k + 1] = (a x + b) p[k] - c p[k - 1]`.
        let recur = |n: f64, first: f64, next: &dyn Fn(f64) -> (f64, f64)| {
            let (mut low, mut high, mut k) = (1.0, first, 1.0);
            if n == 0.0 {
                return 1.0;
            }
            while k < n {
                let (a, c) = next(k);
                (low, high) = (high, a * high - c * low);
                k += 1.0;
            }
            high
        };
        // Gegenbauer's polynomials (DLMF 18.9.1) with the factor that the derivatives of others have.
        let gegenbauer = |n: f64, index: f64| {
            recur(n, 2.0 * index * x, &|k| {
                (2.0 * (k + index) / (k + 1.0) * x, (k + 2.0 * index - 1.0) / (k + 1.0))
            })
        };
        let chebyshev = |first: f64| recur(n, first, &|_| (2.0 * x, 1.0));
        let product = |from: f64, step: f64, count: f64| {
            (0..count as u32).fold(1.0, |p, i| p * (from + step * f64::from(i)))
        };
        let second = |n: f64| {
            if n < order { 0.0 } else { product(2.0, 2.0, order) * gegenbauer(n - order, order + 1.0) }
        };
        let falling = product(n, -1.0, order);
        match self {
            Family::ChebyshevT if order == 0.0 => chebyshev(x),
            Family::ChebyshevT => n * product(2.0, 2.0, order - 1.0) * gegenbauer(n - order, order),
            Family::ChebyshevU => second(n),
            Family::ChebyshevV if order == 0.0 => chebyshev(2.0 * x - 1.0),
            Family::ChebyshevV => second(n) - second(n - 1.0),
            Family::ChebyshevW if order == 0.0 => chebyshev(2.0 * x + 1.0),
            Family::ChebyshevW => second(n) + second(n - 1.0),
            Family::Legendre => product(1.0, 2.0, order) * gegenbauer(n - order, order + 0.5),
            Family::Laguerre => {
                let value = recur(n - order, 1.0 + order - x, &|k| {
                    ((2.0 * k + 1.0 + order - x) / (k + 1.0), (k + order) / (k + 1.0))
                });
                if order % 2.0 == 0.0 { value } else { -value }
            }
            Family::HermiteH => {
                2f64.powf(order) * falling * recur(n - order, 2.0 * x, &|k| (2.0 * x, 2.0 * k))
            }
            Family::HermiteHe => falling * recur(n - order, x, &|k| (x, k)),
        }
    }
}

/// The derivative of an order of the polynomial of degree `n` of a family, by its number in [`Family::ALL`]. That of a
/// negative degree is 0.
pub fn polynomial(family: f64, order: f64, x: f64, n: f64) -> f64 {
    if n.is_nan() { f64::NAN } else { Family::ALL[family as usize].derivative(order, n.trunc(), x) }
}
