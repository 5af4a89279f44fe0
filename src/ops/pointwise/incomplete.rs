//! The incomplete gamma and beta functions, and the zeta function. Derivatives by the shapes of the distributions are ops of their
//! own, which have those of the next order. That by the exponent of the zeta function is a sum of functions of the arguments,
//! computed in float64, so it has derivatives of any order.

use std::f64::consts::PI;

use smallvec::smallvec;

use super::arithmetic::xlogy_same;
use super::binary::{binary_ops, binary_rows};
use super::compare::{and_same, equal_same, less_same};
use super::select::select;
use super::special::{betaln_same, lgamma, polygamma_of, xlog1py_same};
use super::{exp, isnan, log, log1p};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Loops, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply, only,
};
use crate::kernel::pointwise::binary::{self, BinaryLoops, binary_loops};
use crate::kernel::pointwise::ternary::{self, TernaryLoops, special_ternary_loops};
use crate::kernel::pointwise::unary::Scalars;
use crate::kernel::{by_shape, special};
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

/// The derivative of this order by the first argument of `gammainc`.
#[derive(Stored)]
#[stored(op)]
struct GammaincByShape {
    order: u32,
}

const GAMMAINC: &BinaryLoops = binary_loops!(special x, y; p => by_shape::gammainc(p[0] as usize, x, y));

fn gammainc_by_x(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    apply(GammaincByShape { order: 1 }, &[x, y])
}

impl GammaincByShape {
    /// The products of numbers, of which some are missing, with the derivatives by the inputs.
    fn rules(&self, t: [Option<&Tensor>; 2], s: &Saved<'_>) -> Result<[Option<Tensor>; 2]> {
        let (x, y) = (&s.input(0), &s.input(1));
        let by_x = |t: &Tensor| -> Result<Tensor> {
            Ok(t * apply(GammaincByShape { order: self.order + 1 }, &[x, y])?)
        };
        let by_y = |t: &Tensor| -> Result<Tensor> {
            let [x, y] = [cast(x, DType::F64)?, cast(y, DType::F64)?];
            let density = gamma_density(&x, &y)?;
            let log_y = log(&where_positive(&density, &y)?)?;
            let slope = |k, _| if k == 1 { &log_y - polygamma(1, &x) } else { -polygamma(k, &x) };
            let found = by_shape::of_exponential(density, [self.order as usize, 0], slope);
            Ok(t * cast(&where_defined(&s.output(0), &found)?, t.dtype())?)
        };
        Ok([t[0].map(by_x).transpose()?, t[1].map(by_y).transpose()?])
    }
}

impl Op for GammaincByShape {
    fn name(&self) -> &'static str {
        "gammainc"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let p = by_orders(self.name(), [self.order, 0])?;
        Ok([binary::apply_with(self.name(), GAMMAINC, ins[0], ins[1], batch_ndim, &p)?].into())
    }

    fn is_pointwise(&self) -> bool {
        true
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        let p = by_orders(self.name(), [self.order, 0]).ok()?;
        GAMMAINC.row(*ins.dtypes.first()?, p).map(Loops::Pointwise)
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(3).and(Saves::outputs(1))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let wanted = [0, 1].map(|i| s.needs(i).then(|| only(g)));
        Ok(self.rules(wanted, s)?.into_iter().collect())
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![add_terms(self.rules([t[0].as_ref(), t[1].as_ref()], s)?)])
    }
}

/// The derivative of these orders by the first two arguments of the regularised incomplete beta function, or the function itself.
#[derive(Stored)]
#[stored(op)]
struct Betainc {
    orders: [u32; 2],
}

const BETAINC: &TernaryLoops =
    special_ternary_loops!(a, b, x; p => by_shape::betainc([p[0] as usize, p[1] as usize], a, b, x));

impl Betainc {
    /// `t` times the derivative by the last input.
    fn by_x(&self, t: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        let orders = self.orders.map(|order| order as usize);
        let dtype = if orders == [0, 0] { t.dtype() } else { DType::F64 };
        let [a, b, x] = [cast(&s.input(0), dtype)?, cast(&s.input(1), dtype)?, cast(&s.input(2), dtype)?];
        let near_one = xlog1py_same(&(&b - 1.0), &-&x)?;
        let density = exp(&(xlogy_same(&(&a - 1.0), &x)? + near_one - betaln_same(&a, &b)?))?;
        let found = if orders == [0, 0] {
            density
        } else {
            let (x, sum) = (where_positive(&density, &x)?, &a + &b);
            let logs = [log(&x)?, log1p(&-&x)?];
            by_shape::of_exponential(density, orders, |i, j| {
                let both = polygamma(i + j, &sum);
                match (i, j) {
                    (1, 0) => both - polygamma(1, &a) + &logs[0],
                    (0, 1) => both - polygamma(1, &b) + &logs[1],
                    (_, 0) => both - polygamma(i, &a),
                    (0, _) => both - polygamma(j, &b),
                    _ => both,
                }
            })
        };
        // Outside of [0, 1] the function has no values, and the density would have some.
        Ok(t * cast(&where_defined(&s.output(0), &found)?, t.dtype())?)
    }

    /// The products of numbers, of which some are missing, with the derivatives by the inputs.
    fn rules(&self, t: [Option<&Tensor>; 3], s: &Saved<'_>) -> Result<[Option<Tensor>; 3]> {
        let by_shape = |i: usize, t: &Tensor| -> Result<Tensor> {
            let mut orders = self.orders;
            orders[i] += 1;
            Ok(t * apply(Betainc { orders }, &[&s.input(0), &s.input(1), &s.input(2)])?)
        };
        let [a, b, x] = t;
        let (by_a, by_b) = (a.map(|t| by_shape(0, t)), b.map(|t| by_shape(1, t)));
        Ok([by_a.transpose()?, by_b.transpose()?, x.map(|t| self.by_x(t, s)).transpose()?])
    }
}

impl Op for Betainc {
    fn name(&self) -> &'static str {
        "betainc"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let p = by_orders(self.name(), self.orders)?;
        Ok([ternary::apply(self.name(), BETAINC, [ins[0], ins[1], ins[2]], batch_ndim, &p)?].into())
    }

    fn is_pointwise(&self) -> bool {
        true
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        let p = by_orders(self.name(), self.orders).ok()?;
        BETAINC.row(*ins.dtypes.first()?, p).map(Loops::Pointwise)
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(7).and(Saves::outputs(1))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let wanted = [0, 1, 2].map(|i| s.needs(i).then(|| only(g)));
        Ok(self.rules(wanted, s)?.into_iter().collect())
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![add_terms(self.rules([t[0].as_ref(), t[1].as_ref(), t[2].as_ref()], s)?)])
    }
}

/// Derivatives by shapes are computed up to this order, those of two shapes together.
const HIGHEST: u32 = 100;

/// The numbers that the loops read. Raises ArgumentError above the highest order.
fn by_orders(op: &'static str, [first, second]: [u32; 2]) -> Result<Scalars> {
    if first > HIGHEST || second > HIGHEST {
        bail!(Argument, op, "derivatives by the shapes are computed up to order {HIGHEST}");
    }
    Ok([f64::from(first), f64::from(second), 0.0])
}

/// The derivative of order `n` of lgamma, for rules.
fn polygamma(n: usize, x: &Tensor) -> Tensor {
    polygamma_of((n - 1) as f64, x).unwrap_or_else(|error| error.throw())
}

/// `x`, and 1/2 where the density is 0: there the logarithm of `x` does not matter.
fn where_positive(density: &Tensor, x: &Tensor) -> Result<Tensor> {
    select(&equal_same(&density.detach(), &number(0.0))?, &number(0.5), x)
}

/// Numbers, and NaN where the function has no value.
fn where_defined(value: &Tensor, numbers: &Tensor) -> Result<Tensor> {
    let value = cast(&value.detach(), numbers.dtype())?;
    select(&isnan(&value)?, &value, numbers)
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
    apply(Betainc { orders: [0, 0] }, &[&a, &b, &x])
}

fn number(value: f64) -> Tensor {
    Tensor::scalar_of(DType::F64, value)
}

/// Whether a number is between two others.
fn between(low: f64, x: &Tensor, high: f64) -> Result<Tensor> {
    and_same(&less_same(&number(low), x)?, &less_same(x, &number(high))?)
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
