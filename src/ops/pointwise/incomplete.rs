//! The incomplete gamma and beta functions, and the zeta function. Their derivatives by the shapes of the distributions, and
//! by the exponent, are sums of functions of the arguments, so they have derivatives of any order. These sums are computed
//! in float64.

use std::f64::consts::PI;
use std::sync::LazyLock;

use smallvec::smallvec;

use super::arithmetic::xlogy_same;
use super::binary::{binary_ops, binary_rows};
use super::compare::{and_same, equal_same, less_equal_same, less_same};
use super::select::select;
use super::special::{betaln_same, digamma, lgamma, xlog1py_same};
use super::{exp, isnan, log, log1p, sqrt};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Loops, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply, only,
};
use crate::kernel::pointwise::ternary::{self, TernaryLoops, special_ternary_loops};
use crate::kernel::special;
use crate::ops::entry::{Operand, op};
use crate::ops::movement::cast;
use crate::ops::promote::{Class, alike, as_tensor, converted, promoted};
use crate::ops::terms::add_terms;
use crate::shape;
use crate::stored::Stored;

binary_ops! {
    Zeta zeta, zeta_same: special x, y => special::zeta(x, y);
        [x, y] g => g * zeta_by_x(x, y)?; [x, y] g => -(g * x * zeta_same(&(x + 1.0), y)?);
        "The Hurwitz zeta function, the sum of 1 / (k + y)^x for k from 0.",
        "fg.zeta(fg.tensor([2.0]), 1.0).tolist()" => "[1.644934058189392]";
    Gammainc gammainc, gammainc_same(igamma): special x, y => special::gammainc(x, y);
        [x, y] g => g * gammainc_by_x(x, y)?; [x, y] g => g * gamma_density(x, y)?;
        "The regularised lower incomplete gamma function of x, from 0 to y.",
        "fg.gammainc(fg.tensor([1.0]), 0.0).tolist()" => "[0.0]";
    Gammaincc gammaincc, gammaincc_same(igammac): special x, y => special::gammaincc(x, y);
        [x, y] g => -(g * gammainc_by_x(x, y)?); [x, y] g => -(g * gamma_density(x, y)?);
        "The regularised upper incomplete gamma function of x, from y to infinity.",
        "fg.gammaincc(fg.tensor([1.0]), 0.0).tolist()" => "[1.0]";
}

/// The density `y^(x - 1) e^-y / Γ(x)` of the gamma distribution.
fn gamma_density(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    exp(&(xlogy_same(&(x - 1.0), y)? - y - lgamma(x)?))
}

/// The regularised incomplete beta function of three tensors.
#[derive(Stored)]
#[stored(op)]
struct Betainc;

const BETAINC: &TernaryLoops = special_ternary_loops!(special::betainc);

impl Betainc {
    /// `t` times the derivative by the last input.
    fn by_x(t: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        let (a, b, x) = (s.input(0), s.input(1), s.input(2));
        let near_one = xlog1py_same(&(&b - 1.0), &-&x)?;
        let density = exp(&(xlogy_same(&(&a - 1.0), &x)? + near_one - betaln_same(&a, &b)?))?;
        // Outside of [0, 1] the function has no values, and the density would have some.
        Ok(t * select(&isnan(&s.output(0))?, &s.output(0).detach(), &density)?)
    }

    /// The products of numbers, of which some are missing, with the derivatives by the inputs.
    fn rules(t: [Option<&Tensor>; 3], s: &Saved<'_>) -> Result<[Option<Tensor>; 3]> {
        let by_x = t[2].map(|t| Betainc::by_x(t, s)).transpose()?;
        if t[0].is_none() && t[1].is_none() {
            return Ok([None, None, by_x]);
        }
        let [by_a, by_b] = betainc_by_shapes(&s.input(0), &s.input(1), &s.input(2))?;
        Ok([t[0].map(|t| t * by_a), t[1].map(|t| t * by_b), by_x])
    }
}

impl Op for Betainc {
    fn name(&self) -> &'static str {
        "betainc"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        Ok([ternary::apply(self.name(), BETAINC, [ins[0], ins[1], ins[2]], batch_ndim, &[0.0; 3])?].into())
    }

    fn is_pointwise(&self) -> bool {
        true
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        BETAINC.row(*ins.dtypes.first()?, [0.0; 3]).map(Loops::Pointwise)
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(7).and(Saves::outputs(1))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let wanted = [0, 1, 2].map(|i| s.needs(i).then(|| only(g)));
        Ok(Betainc::rules(wanted, s)?.into_iter().collect())
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![add_terms(Betainc::rules([t[0].as_ref(), t[1].as_ref(), t[2].as_ref()], s)?)])
    }
}

/// The regularised incomplete beta function: the integral of t^(alpha - 1) (1 - t)^(beta - 1) / B(alpha, beta) from 0 to
/// x, for x in [0, 1]. The shapes broadcast, the dtypes promote, and integers are taken as the default float.
///
/// ```python
/// >>> fg.betainc(fg.tensor([1.0, 2.0]), 2.0, 0.5).tolist()
/// [0.75, 0.5]
/// ```
#[op(function, torch(LaidByElements))]
pub fn betainc(alpha: Operand<'_>, beta: Operand<'_>, x: Operand<'_>) -> Result<Tensor> {
    let (a, b) = promoted(Class::Float, alpha, beta)?;
    let (a, x) = promoted(Class::Float, (&*a).into(), x)?;
    let b = as_tensor(Operand::Tensor(&b), x.dtype())?;
    let dims = shape::broadcast("betainc", a.dims(), b.dims())?;
    shape::broadcast("betainc", &dims, x.dims())?;
    apply(Betainc, &[&a, &b, &x])
}

/// What is cut off from an integral is smaller than the largest value of the function by this exponent.
const CUT: f64 = 40.0;

/// Small shapes are raised by so many steps of a recurrence. Then the functions under the integrals have no steep part.
const RAISE: usize = 4;

/// Makes the table of this file: see [`crate::fork`].
#[doc(hidden)]
pub fn ready() {
    LazyLock::force(&GAUSS);
}

/// Nodes in [0, 1] and weights of Gauss's quadrature, which is exact for polynomials of degree 95.
static GAUSS: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| {
    const N: usize = 48;
    let node = |i: usize| {
        let mut x = ((i as f64 + 0.75) / (N as f64 + 0.5) * PI).cos();
        let mut slope = 1.0;
        for _ in 0..10 {
            // Legendre's polynomials by their recurrence, and Newton's method for the roots of the last one.
            let (mut p, mut before) = (x, 1.0);
            for n in (2..=N).map(|n| n as f64) {
                (p, before) = (((2.0 * n - 1.0) * x * p - (n - 1.0) * before) / n, p);
            }
            slope = N as f64 * (x * p - before) / (x * x - 1.0);
            x -= p / slope;
        }
        ((1.0 + x) / 2.0, 1.0 / ((1.0 - x * x) * slope * slope))
    };
    (0..N).map(node).collect()
});

fn number(value: f64) -> Tensor {
    Tensor::scalar_of(DType::F64, value)
}

/// The smaller one of two numbers.
fn least(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    select(&less_same(x, y)?, x, y)
}

/// Whether a number is between two others.
fn between(low: f64, x: &Tensor, high: f64) -> Result<Tensor> {
    and_same(&less_same(&number(low), x)?, &less_same(x, &number(high))?)
}

/// What the derivatives by shapes are where no integral is taken: 0 at an end of the range of `x`, and else NaN.
fn at_ends(x: &Tensor, shapes: &Tensor, high: f64) -> Result<Tensor> {
    let low_or_nan = select(&equal_same(x, &number(0.0))?, &number(0.0), &number(f64::NAN))?;
    let ends = select(&equal_same(x, &number(high))?, &number(0.0), &low_or_nan)?;
    select(shapes, &ends, &number(f64::NAN))
}

/// The derivative of `gammainc` by its first argument. With `t = y e^u`, `Γ(x) gammainc` is the integral of
/// `exp(x (log y + u) - y e^u)` over `u < 0`, and `Γ(x)` is that over all `u`.
fn gammainc_by_x(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let dtype = x.dtype();
    let (x, y) = (cast(x, DType::F64)?, cast(y, DType::F64)?);
    let shapes = between(0.0, &x.detach(), f64::INFINITY)?;
    let inside = and_same(&shapes, &between(0.0, &y.detach(), f64::INFINITY)?)?;
    let ends = at_ends(&y.detach(), &shapes, f64::INFINITY)?;
    let (x, y) = (select(&inside, &x, &number(1.0))?, select(&inside, &y, &number(1.0))?);
    let (log_y, lower) = (log(&y)?, less_equal_same(&y.detach(), &x.detach())?);
    let raised = &x + select(&lower, &number(RAISE as f64), &number(0.0))?;
    // The end of the integral over the shorter tail: bounds of where the function has fallen by the cut.
    let end = {
        let (shape, y) = (raised.detach(), y.detach());
        let curved = 3.0 * CUT / &y;
        let is_near = less_equal_same(&curved, &number(1.0))?;
        let near = select(&is_near, &sqrt(&curved)?, &number(f64::INFINITY))?;
        let below = -least(&((&y + CUT) / &shape), &near)?;
        let few = select(&less_same(&y, &number(10.0))?, &log1p(&(2.0 * CUT / &y))?, &number(f64::INFINITY))?;
        let above = least(&least(&sqrt(&(2.0 * CUT / &y))?, &(CUT / (&y - &shape)))?, &few)?;
        select(&lower, &below, &above)?
    };
    let (slope, scale) = (digamma(&raised)?, lgamma(&raised)?);
    let mut total = number(0.0);
    for &(node, weight) in GAUSS.iter() {
        let u = &end * node;
        let log_t = &log_y + &u;
        let density = exp(&(&raised * &log_t - &y * exp(&u)? - &scale))?;
        total = total + density * (log_t - &slope) * weight;
    }
    // gammainc(x, y) = gammainc(x + 1, y) + y^x e^-y / Γ(x + 1).
    let mut steps = number(0.0);
    for step in 0..RAISE {
        let x = &x + step as f64;
        let next = &x + 1.0;
        let term = exp(&(&x * &log_y - &y - lgamma(&next)?))?;
        steps = steps + term * (&log_y - digamma(&next)?);
    }
    let found = select(&lower, &steps, &number(0.0))? - end * total;
    cast(&select(&inside, &found, &ends)?, dtype)
}

/// The derivatives of `betainc` by its first two arguments.
fn betainc_by_shapes(a: &Tensor, b: &Tensor, x: &Tensor) -> Result<[Tensor; 2]> {
    let dtype = a.dtype();
    let [a, b, x] = [cast(a, DType::F64)?, cast(b, DType::F64)?, cast(x, DType::F64)?];
    let shapes =
        and_same(&between(0.0, &a.detach(), f64::INFINITY)?, &between(0.0, &b.detach(), f64::INFINITY)?)?;
    let inside = and_same(&shapes, &between(0.0, &x.detach(), 1.0)?)?;
    let ends = at_ends(&x.detach(), &shapes, 1.0)?;
    let [a, b] = [select(&inside, &a, &number(1.0))?, select(&inside, &b, &number(1.0))?];
    let x = select(&inside, &x, &number(0.5))?;
    // Above the mean betainc(a, b, x) = 1 - betainc(b, a, 1 - x) is computed.
    let mean = a.detach() / (&a + &b).detach();
    let upper = less_same(&mean, &x.detach())?;
    let rest = 1.0 + -&x;
    let [by_first, by_second] = lower_tail(
        [&select(&upper, &b, &a)?, &select(&upper, &a, &b)?],
        [&select(&upper, &rest, &x)?, &select(&upper, &x, &rest)?],
    )?;
    let by_a = select(&upper, &-&by_second, &by_first)?;
    let by_b = select(&upper, &-&by_first, &by_second)?;
    Ok([cast(&select(&inside, &by_a, &ends)?, dtype)?, cast(&select(&inside, &by_b, &ends)?, dtype)?])
}

/// The derivatives of `betainc` by `a` and `b` for `x` up to the mean; `rest` is `1 - x`.
fn lower_tail([a, b]: [&Tensor; 2], [x, rest]: [&Tensor; 2]) -> Result<[Tensor; 2]> {
    let (log_x, log_rest) = (log(x)?, log(rest)?);
    // Both derivatives of the exponential of `power - betaln(a, b)`, where the derivatives of `power` are given.
    let derivatives = |power: &Tensor, a: &Tensor, b: &Tensor, by: [&Tensor; 2]| -> Result<[Tensor; 2]> {
        let (term, both) = (exp(&(power - betaln_same(a, b)?))?, digamma(&(a + b))?);
        Ok([&term * (by[0] - digamma(a)? + &both), &term * (by[1] - digamma(b)? + &both)])
    };
    let mut found = [number(0.0), number(0.0)];
    let mut add = |terms: [Tensor; 2], times: &Tensor| {
        for (sum, term) in found.iter_mut().zip(terms) {
            *sum = &*sum + term * times;
        }
    };
    // betainc(a, b, x) = betainc(a, b + 1, x) - x^a (1 - x)^b / (b B(a, b)), for small b only, as terms could cancel.
    let small = less_same(&b.detach(), &number(1.0))?;
    let minus = select(&small, &number(-1.0), &number(0.0))?;
    for step in 0..RAISE {
        let b = b + step as f64;
        let power = a * &log_x + &b * &log_rest - log(&b)?;
        add(derivatives(&power, a, &b, [&log_x, &(&log_rest - 1.0 / &b)])?, &minus);
    }
    let b = &(b + select(&small, &number(RAISE as f64), &number(0.0))?);
    // betainc(a, b, x) = betainc(a + 1, b, x) + x^a (1 - x)^b / (a B(a, b)).
    for step in 0..RAISE {
        let a = a + step as f64;
        let power = &a * &log_x + b * &log_rest - log(&a)?;
        add(derivatives(&power, &a, b, [&(&log_x - 1.0 / &a), &log_rest])?, &number(1.0));
    }
    let a = &(a + RAISE as f64);
    // With t = x e^u the rest is an integral over u < 0, which ends where the function has fallen by the cut.
    let end = {
        let [a, b, x, log_rest] = [a, b, x, &log_rest].map(Tensor::detach);
        let more = b - 1.0;
        let curved = 2.0 * CUT / (&more * x * 0.37);
        let is_near = less_equal_same(&curved, &number(1.0))?;
        let near = select(&is_near, &sqrt(&curved)?, &number(f64::INFINITY))?;
        -least(&((CUT + -(more * log_rest)) / a), &near)?
    };
    let minus_end = -&end;
    for &(node, weight) in GAUSS.iter() {
        let u = &end * node;
        let log_t = &log_x + &u;
        let log_left = log1p(&-(x * exp(&u)?))?;
        let power = a * &log_t + (b - 1.0) * &log_left;
        add(derivatives(&power, a, b, [&log_t, &log_left])?, &(&minus_end * weight));
    }
    Ok(found)
}

/// The derivative of `zeta` by its first argument, the exponent: that of the formula of Euler and Maclaurin, for `x > 1`
/// and `y > 0`.
fn zeta_by_x(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    const FIRST: usize = 10;
    const TERMS: i32 = 12;
    let dtype = x.dtype();
    let (x, y) = (cast(x, DType::F64)?, cast(y, DType::F64)?);
    let inside =
        and_same(&between(1.0, &x.detach(), f64::INFINITY)?, &between(0.0, &y.detach(), f64::INFINITY)?)?;
    let (x, y) = (select(&inside, &x, &number(2.0))?, select(&inside, &y, &number(1.0))?);
    let mut found = number(0.0);
    for n in 0..FIRST {
        let log = log(&(&y + n as f64))?;
        found = found - exp(&-(&x * &log))? * log;
    }
    let far = &y + FIRST as f64;
    let log = log(&far)?;
    let power = exp(&-(&x * &log))?;
    let less = &x - 1.0;
    found = found - &power * &far * (&log / &less + 1.0 / (&less * &less)) - &power * &log * 0.5;
    // The product of x, x + 1, … and its derivative.
    let (mut product, mut slope) = (x.clone(), number(1.0));
    let mut power = power / &far;
    for k in 1..=TERMS {
        let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
        let factor = sign * special::zeta(f64::from(2 * k), 1.0) / (2.0 * PI).powi(2 * k);
        found = found + &power * (&slope - &product * &log) * factor;
        for n in [2 * k - 1, 2 * k] {
            let next = &x + f64::from(n);
            slope = slope * &next + &product;
            product = product * next;
        }
        power = power / &far / &far;
    }
    cast(&select(&inside, &found, &number(f64::NAN))?, dtype)
}
