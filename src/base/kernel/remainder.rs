//! What functions have left when their leading terms are taken off, and the derivatives of that, without cancellation.
//! Densities and divergences of distributions are sums of such remainders.

use std::f64::consts::PI;
use std::sync::LazyLock;

use super::special::{digamma, lgamma, zeta};

/// Half of `ln(2π)`.
const HALF_LN_2_PI: f64 = 0.918_938_533_204_672_8;

/// `n!`.
fn factorial(n: f64) -> f64 {
    (1..=n as u32).map(f64::from).product()
}

/// -1 for an odd number, else 1.
fn sign(n: f64) -> f64 {
    if n % 2.0 == 0.0 { 1.0 } else { -1.0 }
}

/// Nodes in [0, 1] and weights of Gauss's quadrature, which is exact for polynomials of degree 47.
static GAUSS: LazyLock<[(f64, f64); 24]> = LazyLock::new(|| {
    std::array::from_fn(|i| {
        let mut x = ((i as f64 + 0.75) / 24.5 * PI).cos();
        let mut slope = 1.0;
        for _ in 0..10 {
            // Legendre's polynomials by their recurrence, and Newton's method for the roots of the last one.
            let (mut p, mut before) = (x, 1.0);
            for n in (2..=24).map(f64::from) {
                (p, before) = (((2.0 * n - 1.0) * x * p - (n - 1.0) * before) / n, p);
            }
            slope = 24.0 * (x * p - before) / (x * x - 1.0);
            x -= p / slope;
        }
        ((1.0 + x) / 2.0, 1.0 / ((1.0 - x * x) * slope * slope))
    })
});

/// Makes the tables of this file: see [`crate::fork`].
#[doc(hidden)]
pub fn ready() {
    LazyLock::force(&GAUSS);
    LazyLock::force(&LN_SINHC);
}

/// `(ln(1 + x) - x) / x²` of numbers from -1/2 to 1. With `s = x / (2 + x)` the logarithm is `2 s + 2 s³ (1/3 + s²/5 + …)`,
/// and `x - 2 s` is `s x`.
fn log1p_rest_near(x: f64) -> f64 {
    let r = 1.0 / (2.0 + x);
    let s = x * r;
    let z = s * s;
    let sum = ODD.iter().rev().fold(0.0, |sum, c| sum * z + c);
    r * (2.0 * s * r * sum - 1.0)
}

/// 1/3, 1/5, 1/7, …
const ODD: [f64; 16] = {
    let mut all = [0.0; 16];
    let mut k = 0;
    while k < all.len() {
        all[k] = 1.0 / (2 * k + 3) as f64;
        k += 1;
    }
    all
};

/// The `n`-th derivative of `(ln(1 + x) - x) / x²`, which is minus the integral of `s / (1 + s x)` over `s` from 0 to 1.
pub fn log1p_rest(n: f64, x: f64) -> f64 {
    if x.is_nan() || x < -1.0 {
        return f64::NAN;
    }
    if n == 0.0 && (-0.5..=1.0).contains(&x) {
        return log1p_rest_near(x);
    }
    if -0.75 < x && x < 3.0 {
        let power = n as i32 + 1;
        let term = |&(s, weight): &(f64, f64)| weight * (s / (1.0 + s * x)).powi(power);
        return -sign(n) * factorial(n) * GAUSS.iter().map(term).sum::<f64>();
    }
    if x.is_infinite() {
        return 0.0;
    }
    // Leibniz's rule for the derivatives of x² times the function.
    let (mut before, mut found) = (0.0, (x.ln_1p() / x - 1.0) / x);
    for k in (1..=n as u32).map(f64::from) {
        let whole = if k == 1.0 { -x / (1.0 + x) } else { -sign(k) * factorial(k - 1.0) / (1.0 + x).powf(k) };
        let next = ((whole - k * (k - 1.0) * before) / x - 2.0 * k * found) / x;
        (before, found) = (found, next);
    }
    found
}

/// The coefficients of `x^2k` in `ln(sinh(x / 2) / (x / 2))`, for `k` from 1: `B_2k / (2k (2k)!)`.
static LN_SINHC: LazyLock<[f64; 64]> = LazyLock::new(|| {
    std::array::from_fn(|i| {
        let n = 2.0 * (i as f64 + 1.0);
        -sign(n / 2.0) * 2.0 * zeta(n, 1.0) / ((2.0 * PI).powf(n) * n)
    })
});

/// The `n`-th derivative of `ln((e^x - 1) / x)`.
pub fn log_exprel(n: f64, x: f64) -> f64 {
    let size = x.abs();
    if size < 4.0 {
        let linear = if n == 0.0 {
            0.5 * x
        } else if n == 1.0 {
            0.5
        } else {
            0.0
        };
        let falling = |k: f64| (0..n as u32).map(|i| 2.0 * k - f64::from(i)).product::<f64>();
        let term = |(i, &c): (usize, &f64)| {
            let k = i as f64 + 1.0;
            if 2.0 * k < n { 0.0 } else { c * falling(k) * x.powi((2.0 * k - n) as i32) }
        };
        return linear + LN_SINHC.iter().enumerate().rev().map(term).sum::<f64>();
    }
    // Of a negative number all is that of a positive one, but for x itself.
    let rest = 1.0 / size.exp_m1();
    match (n, x > 0.0) {
        (0.0, true) => x + (-(-size).exp()).ln_1p() - size.ln(),
        (0.0, false) => (-(-size).exp()).ln_1p() - size.ln(),
        (1.0, true) => 1.0 + rest - 1.0 / size,
        (1.0, false) => 1.0 / size - rest,
        (_, positive) => {
            let power = -sign(n) * factorial(n - 1.0) / size.powf(n);
            let found = logistic_power(n, rest) - power;
            if positive { found } else { sign(n) * found }
        }
    }
}

/// The derivative of order `n - 1` of `b = 1 / (e^x - 1)`, as a polynomial in `b`: that of `b` is `-b - b²`.
fn logistic_power(n: f64, b: f64) -> f64 {
    let mut terms = vec![0.0, 1.0];
    for _ in 1..n as u32 {
        let mut next = vec![0.0; terms.len() + 1];
        for (k, c) in terms.iter().enumerate() {
            next[k] -= c * k as f64;
            if k + 1 < next.len() {
                next[k + 1] -= c * k as f64;
            }
        }
        terms = next;
    }
    terms.iter().rfold(0.0, |sum, c| sum * b + c)
}

/// `B_2k / (2k (2k - 1))` for `k` from 1, by Bernoulli's numbers.
const STIRLING: [f64; 12] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360_360.0,
    1.0 / 156.0,
    -3617.0 / 122_400.0,
    43_867.0 / 244_188.0,
    -174_611.0 / 125_400.0,
    77_683.0 / 5796.0,
    -236_364_091.0 / 1_506_960.0,
];

/// The `n`-th derivative of Binet's function, what `(x - 1/2) ln x - x + ln(2π) / 2` leaves of `ln Γ(x)`.
pub fn binet(n: f64, x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x < 10.0 {
        return match n {
            0.0 if x == 0.0 => f64::INFINITY,
            0.0 => lgamma(x) - (x - 0.5) * x.ln() + x - HALF_LN_2_PI,
            // Below 1 the pole is taken off first.
            1.0 if x < 1.0 => digamma(1.0 + x) - x.ln() - 0.5 / x,
            1.0 => digamma(x) - x.ln() + 0.5 / x,
            _ => {
                let whole = factorial(n - 1.0) * (0.5 * x.powf(-n) + zeta(n, 1.0 + x));
                sign(n) * (whole - factorial(n - 2.0) * x.powf(1.0 - n))
            }
        };
    }
    let y = 1.0 / (x * x);
    let rising = |k: f64| (0..n as u32).map(|i| 2.0 * k - 1.0 + f64::from(i)).product::<f64>();
    let sum = STIRLING.iter().enumerate().rfold(0.0, |sum, (i, c)| sum * y + c * rising(i as f64 + 1.0));
    sign(n) * sum * x.powf(-1.0 - n)
}

/// `x ln(x / y) + y - x`, which is `y` at 0. It is positive, and 0 only where both are equal.
pub fn deviance(x: f64, y: f64) -> f64 {
    if x == 0.0 {
        return if y >= 0.0 { y } else { f64::NAN };
    }
    let part = (y - x) / x;
    if part.abs() <= 0.5 {
        return -(x * part) * (part * log1p_rest(0.0, part));
    }
    if y == f64::INFINITY && x.is_finite() {
        return y;
    }
    x * log_ratio(x, y) + (y - x)
}

/// `ln(x / y)`.
pub fn log_ratio(x: f64, y: f64) -> f64 {
    if (x - y).abs() <= 0.5 * y {
        return ((x - y) / y).ln_1p();
    }
    let ratio = x / y;
    if ratio.is_finite() && ratio > f64::MIN_POSITIVE { ratio.ln() } else { x.ln() - y.ln() }
}
