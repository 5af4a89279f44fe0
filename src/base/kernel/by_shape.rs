//! Derivatives of the incomplete gamma and beta functions by their shapes, of any order. Each function is a few steps of a
//! recurrence, which raise small shapes, and an integral over the shorter tail. After these steps the function under the integral
//! has no steep part, so that Gauss's quadrature is exact up to rounding. All terms are exponentials of functions of the shapes.

use std::f64::consts::PI;
use std::ops::{Add, Mul};
use std::sync::LazyLock;

use smallvec::SmallVec;

use super::fast::Fast;
use super::num::Real;
use super::simd;
use super::special::{self, betaln, lgamma, polygamma};

/// An integral ends where the function has fallen to e^-40 of its largest value.
const CUT: f64 = 40.0;

/// How many steps of the recurrence raise a shape.
const RAISE: usize = 4;

/// How many terms the sum has where they fall fast.
const SERIES: usize = 40;

/// Makes the table of this file: see [`crate::fork`].
#[doc(hidden)]
pub fn ready() {
    LazyLock::force(&GAUSS);
}

const NODES: usize = 48;

/// Nodes in [0, 1] and weights of Gauss's quadrature, which is exact for polynomials of degree 95.
static GAUSS: LazyLock<[[f64; NODES]; 2]> = LazyLock::new(|| {
    let mut found = [[0.0; NODES]; 2];
    for i in 0..NODES {
        let mut x = ((i as f64 + 0.75) / (NODES as f64 + 0.5) * PI).cos();
        let mut slope = 1.0;
        for _ in 0..10 {
            // Legendre's polynomials by their recurrence, and Newton's method for the roots of the last one.
            let (mut p, mut before) = (x, 1.0);
            for n in (2..=NODES).map(|n| n as f64) {
                (p, before) = (((2.0 * n - 1.0) * x * p - (n - 1.0) * before) / n, p);
            }
            slope = NODES as f64 * (x * p - before) / (x * x - 1.0);
            x -= p / slope;
        }
        (found[0][i], found[1][i]) = ((1.0 + x) / 2.0, 1.0 / ((1.0 - x * x) * slope * slope));
    }
    found
});

/// The derivative of these orders, by two numbers, of the exponential of a function of them. `value` is the exponential, and
/// `slope` gives the derivatives of the function. By Leibniz's rule for the product of the exponential and the function's first
/// derivative, each follows from those of lower orders.
pub fn of_exponential<T>(value: T, [m, n]: [usize; 2], slope: impl Fn(usize, usize) -> T) -> T
where
    T: Clone + Add<Output = T> + Mul<Output = T> + Mul<f64, Output = T>,
{
    let mut found: SmallVec<[T; 4]> = SmallVec::from_iter([value]);
    for (i, j) in (0..=m).flat_map(|i| (0..=n).map(move |j| (i, j))).skip(1) {
        // One derivative is that of the function, by the first number if its order is above 0, else by the second. These orders are left.
        let (rows, columns) = if i > 0 { (i - 1, j) } else { (0, j - 1) };
        let mut sum: Option<T> = None;
        let mut weight = 1.0;
        for k in 0..=rows {
            let mut of_both = weight;
            for l in 0..=columns {
                let term = found[k * (n + 1) + l].clone() * slope(i - k, j - l) * of_both;
                sum = Some(match sum {
                    Some(sum) => sum + term,
                    None => term,
                });
                of_both *= (columns - l) as f64 / (l + 1) as f64;
            }
            weight *= (rows - k) as f64 / (k + 1) as f64;
        }
        found.extend(sum);
    }
    found.pop().expect("the last order")
}

/// The derivatives of the logarithm of a term by two shapes, up to these orders, in rows: those of the first shape. The first number
/// is not used.
struct Slopes {
    orders: [usize; 2],
    table: SmallVec<[f64; 4]>,
}

impl Slopes {
    fn of(orders @ [m, n]: [usize; 2], slope: impl Fn(usize, usize) -> f64) -> Slopes {
        let both = (0..=m).flat_map(|i| (0..=n).map(move |j| (i, j)));
        Slopes { orders, table: both.map(|(i, j)| if i + j == 0 { 0.0 } else { slope(i, j) }).collect() }
    }

    /// The derivatives of `lgamma(sum) - lgamma(a) - lgamma(b)`. Here `a` and `b` are the shapes plus constants.
    fn of_beta(orders: [usize; 2], [a, b, sum]: [f64; 3]) -> Slopes {
        Slopes::of(orders, |i, j| {
            let other = match (i, j) {
                (_, 0) => lgamma_derivative(i, a),
                (0, _) => lgamma_derivative(j, b),
                _ => 0.0,
            };
            lgamma_derivative(i + j, sum) - other
        })
    }

    /// Changes them into those for the next step, where `difference(k, is_first)` is by how much the derivatives of an order change.
    fn advance(&mut self, difference: impl Fn(usize, bool) -> f64) {
        let columns = self.orders[1] + 1;
        for k in 1..self.table.len() {
            self.table[k] += difference(k / columns + k % columns, k % columns == 0);
        }
    }

    /// The derivative of the term, whose logarithm has besides the shapes times `logs`.
    #[inline]
    fn derivative(&self, value: f64, logs: [f64; 2]) -> f64 {
        if let &[_, slope] = &self.table[..] {
            return value * (slope + logs[self.orders[1]]);
        }
        of_exponential(value, self.orders, |i, j| {
            let slope = self.table[i * (self.orders[1] + 1) + j];
            match (i, j) {
                (1, 0) => slope + logs[0],
                (0, 1) => slope + logs[1],
                _ => slope,
            }
        })
    }
}

/// The derivative of order `n` of `lgamma`, from 1 on.
fn lgamma_derivative(n: usize, x: f64) -> f64 {
    polygamma(n as f64 - 1.0, x)
}

/// By how much it grows from `x` to `x + 1`.
fn growth(n: usize, x: f64) -> f64 {
    (1..n).fold(1.0 / x, |found, k| -found * k as f64 / x)
}

/// How many steps raise a shape. The terms of a first derivative have one sign: where each is less than a third of the one before,
/// so many are added that nothing is left for the integral.
fn steps(orders: [usize; 2], ratio: f64) -> usize {
    if orders[0] + orders[1] == 1 && ratio < 0.4 { SERIES } else { RAISE }
}

/// The functions under an integral at the nodes: `value` gets `u` from the nodes and gives a logarithm of the value and two numbers.
#[inline(always)]
fn at_nodes<T: Real>(end: f64, nodes: &[f64; NODES], value: impl Fn(T) -> [T; 3]) -> [[f64; NODES]; 3] {
    let mut found = [[0.0; NODES]; 3];
    for i in 0..NODES {
        let [power, first, second] = value(T::from_f64(end * nodes[i]));
        found[0][i] = power.exp().to_f64();
        found[1][i] = first.to_f64();
        found[2][i] = second.to_f64();
    }
    found
}

/// The derivative of `gammainc` of an order above 0 by its first argument. With `t = y e^u`, `Γ(x) gammainc` is the integral of
/// `exp(x (log y + u) - y e^u)` over `u < 0`, and `Γ(x)` is that over all `u`.
pub fn gammainc(order: usize, x: f64, y: f64) -> f64 {
    if !(0.0 < x && x < f64::INFINITY && y >= 0.0) {
        return f64::NAN;
    }
    if y == 0.0 || y == f64::INFINITY {
        return 0.0;
    }
    let (log_y, orders) = (y.ln(), [order, 0]);
    let (mut found, mut shape) = (0.0, x);
    let lower = y <= x;
    if lower {
        // gammainc(x, y) = gammainc(x + 1, y) + y^x e^-y / Γ(x + 1).
        let mut slopes = Slopes::of(orders, |i, _| -lgamma_derivative(i, x + 1.0));
        let mut value = (x * log_y - y - lgamma(x + 1.0)).exp();
        let count = steps(orders, y / (x + 0.5 * SERIES as f64));
        for _ in 0..count {
            found += slopes.derivative(value, [log_y, 0.0]);
            shape += 1.0;
            slopes.advance(|k, _| -growth(k, shape));
            value *= y / shape;
        }
        if count == SERIES {
            return found;
        }
    }
    // The end of the integral over the shorter tail: bounds of where the function has fallen by the cut.
    let end = if lower {
        let curved = 3.0 * CUT / y;
        let near = if curved <= 1.0 { curved.sqrt() } else { f64::INFINITY };
        -near.min((y + CUT) / shape)
    } else {
        let few = if y < 10.0 { (2.0 * CUT / y).ln_1p() } else { f64::INFINITY };
        (2.0 * CUT / y).sqrt().min(CUT / (y - shape)).min(few)
    };
    let scale = lgamma(shape);
    let [values, logs, _] = nodes_of_gamma(end, shape, y, log_y, scale);
    let slopes = Slopes::of(orders, |i, _| -lgamma_derivative(i, shape));
    let total: f64 = (0..NODES).map(|i| GAUSS[1][i] * slopes.derivative(values[i], [logs[i], 0.0])).sum();
    found - end * total
}

fn nodes_of_gamma(end: f64, shape: f64, y: f64, log_y: f64, scale: f64) -> [[f64; NODES]; 3] {
    #[inline(always)]
    fn all<T: Real>(end: f64, nodes: &[f64; NODES], numbers: [f64; 4]) -> [[f64; NODES]; 3] {
        let [shape, y, log_y, scale] = numbers.map(T::from_f64);
        at_nodes(
            end,
            nodes,
            #[inline(always)]
            |u: T| {
                let log_t = log_y.add(u);
                [shape.mul(log_t).sub(y.mul(u.exp())).sub(scale), log_t, T::ZERO]
            },
        )
    }
    let (nodes, numbers) = (&GAUSS[0], [shape, y, log_y, scale]);
    simd::multiversion(
        #[inline(always)]
        || all::<f64>(end, nodes, numbers),
        #[inline(always)]
        || all::<Fast<f64>>(end, nodes, numbers),
    )
}

/// The derivative of `betainc` of these orders by its first two arguments.
pub fn betainc(orders: [usize; 2], a: f64, b: f64, x: f64) -> f64 {
    if orders == [0, 0] {
        return special::betainc(a, b, x);
    }
    let is_shape = |s: f64| 0.0 < s && s < f64::INFINITY;
    if !(is_shape(a) && is_shape(b) && (0.0..=1.0).contains(&x)) {
        return f64::NAN;
    }
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (rest, logs) = (1.0 - x, [x.ln(), (-x).ln_1p()]);
    // Above the mean betainc(a, b, x) = 1 - betainc(b, a, 1 - x) is computed.
    if x > a / (a + b) {
        return -lower_tail([orders[1], orders[0]], [b, a], [rest, x], [logs[1], logs[0]]);
    }
    lower_tail(orders, [a, b], [x, rest], logs)
}

/// The derivative of `betainc(a, b, x) - betainc(a + count, b, x)`, the sum of `x^a (1 - x)^b / (a B(a, b))` over `count` numbers `a`.
fn raised(orders: [usize; 2], [mut a, b]: [f64; 2], x: f64, logs: [f64; 2], count: usize) -> f64 {
    let mut slopes = Slopes::of_beta(orders, [a + 1.0, b, a + b]);
    let mut value = (a * logs[0] + b * logs[1] - betaln(a, b)).exp() / a;
    let mut found = 0.0;
    for _ in 0..count {
        found += slopes.derivative(value, logs);
        slopes.advance(|k, is_first| growth(k, a + b) - if is_first { growth(k, a + 1.0) } else { 0.0 });
        value *= x * (a + b) / (a + 1.0);
        a += 1.0;
    }
    found
}

/// The derivative for `x` up to the mean. The second one of a pair is that of `1 - x`.
fn lower_tail(orders: [usize; 2], [mut a, mut b]: [f64; 2], [x, rest]: [f64; 2], logs: [f64; 2]) -> f64 {
    let mut found = 0.0;
    // Only a small shape is raised: the terms of this sum could cancel others.
    if b < 1.0 {
        found -= raised([orders[1], orders[0]], [b, a], rest, [logs[1], logs[0]], 2 * RAISE);
        b += 2.0 * RAISE as f64;
    }
    let middle = 0.5 * SERIES as f64;
    let count = steps(orders, x * (a + b + middle) / (a + middle));
    found += raised(orders, [a, b], x, logs, count);
    if count == SERIES {
        return found;
    }
    a += RAISE as f64;
    // With t = x e^u the rest is an integral over u < 0, which ends where the function has fallen by the cut.
    let more = b - 1.0;
    let curved = 2.0 * CUT / (more * x * 0.37);
    let near = if curved <= 1.0 { curved.sqrt() } else { f64::INFINITY };
    let end = -near.min((CUT - more * logs[1]) / a);
    let [values, first, second] = nodes_of_beta(end, [a, more, x, logs[0], betaln(a, b)]);
    let slopes = Slopes::of_beta(orders, [a, b, a + b]);
    let total: f64 =
        (0..NODES).map(|i| GAUSS[1][i] * slopes.derivative(values[i], [first[i], second[i]])).sum();
    found - end * total
}

/// The function under the integral, and the logarithms of `t` and `1 - t`, at the nodes.
fn nodes_of_beta(end: f64, numbers: [f64; 5]) -> [[f64; NODES]; 3] {
    #[inline(always)]
    fn all<T: Real>(end: f64, nodes: &[f64; NODES], numbers: [f64; 5]) -> [[f64; NODES]; 3] {
        let [a, more, x, log_x, scale] = numbers.map(T::from_f64);
        at_nodes(
            end,
            nodes,
            #[inline(always)]
            |u: T| {
                let (log_t, log_left) = (log_x.add(u), x.mul(u.exp()).neg().ln_1p());
                [a.mul(log_t).add(more.mul(log_left)).sub(scale), log_t, log_left]
            },
        )
    }
    let nodes = &GAUSS[0];
    // A fast logarithm has no value near that of 0.
    if numbers[2] > 0.99 {
        return all::<f64>(end, nodes, numbers);
    }
    simd::multiversion(
        #[inline(always)]
        || all::<f64>(end, nodes, numbers),
        #[inline(always)]
        || all::<Fast<f64>>(end, nodes, numbers),
    )
}
