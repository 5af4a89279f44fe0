//! Special functions, element by element: error functions, gamma functions and Bessel functions.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

use smallvec::smallvec;

use super::activation::normal_density;
use super::binary::{binary_ops, binary_rows};
use super::compare::less_same;
use super::parametrised::{parametrised, parametrised_rows};
use super::polar::modulus;
use super::select::select;
use super::unary::{unary_ops, unary_rows, zero};
use super::{exp, exp2, reciprocal, sin, trunc};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Loops, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply,
    only,
};
use crate::kernel::pointwise::bessel;
use crate::kernel::pointwise::binary::{self, BinaryLoops, binary_loops};
use crate::kernel::pointwise::cast::cast;
use crate::kernel::{special, tails};
use crate::ops::entry::{Operand, op};
use crate::ops::pointwise::arithmetic::x_over_y;
use crate::ops::promote::{Class, alike, converted, promoted, promoted_float};
use crate::shape;
use crate::stored::Stored;

unary_ops! {
    Erfc erfc: real [x] x => x.erfc(); g => g * (exp(&-(x * x))? * -FRAC_2_SQRT_PI);
        "1 - erf(x), without cancellation for large x.",
        "fg.erfc(fg.tensor([0.0])).tolist()" => "[1.0]";
    Erfcx erfcx: special [x] x => special::erfcx(x);
        g => g * erfcx_of(1.0, x)?,
        pass special g, x => g * tails::erfcx_derivative(1.0, x);
        "exp(x²) erfc(x), without underflow for large x.",
        "fg.erfcx(fg.tensor([0.0])).tolist()" => "[1.0]";
    Erfinv erfinv: real [y] x => x.erfinv(); g => g * (exp(&(y * y))? / FRAC_2_SQRT_PI);
        "The number whose error function is the element; NaN outside of [-1, 1].",
        "fg.erfinv(fg.tensor([0.0])).tolist()" => "[0.0]";
    Ndtr ndtr: real [x] x => x.normal_cdf(); g => g * normal_density(x)?;
        "The standard normal distribution function.",
        "fg.ndtr(fg.tensor([0.0])).tolist()" => "[0.5]";
    LogNdtr log_ndtr: special [x] x => special::log_ndtr(x);
        g => g * log_ndtr_of(1.0, x)?,
        pass special g, x => g * tails::log_ndtr_derivative(1.0, x);
        "The logarithm of the standard normal distribution function, without underflow for small x.",
        "fg.log_ndtr(fg.tensor([-40.0])).tolist()" => "[-804.6084594726562]";
    Ndtri ndtri: special [x, y] x => special::ndtri(x); g => g * ndtri_slope(x, y)?;
        "The number whose standard normal distribution function is the element; NaN outside of [0, 1].",
        "fg.ndtri(fg.tensor([0.5])).tolist()" => "[0.0]";
    Lgamma lgamma(gammaln): real [x] x => x.lgamma(); g => g * digamma(x)?;
        "The logarithm of the absolute value of the gamma function.",
        "fg.lgamma(fg.tensor([1.0, 2.0])).tolist()" => "[0.0, 0.0]";
    Digamma digamma(psi): special [x] x => special::digamma(x); g => g * polygamma_of(1.0, x)?;
        "The derivative of the logarithm of the gamma function.",
        "fg.digamma(fg.tensor([1.0])).tolist()" => "[-0.5772156715393066]";
    Sinc sinc: plain [x] x => T::from_f64(special::sinc(x.to_f64())); g => g * sinc_slope(x)?, complex x => complex_sinc(x);
        "sin(pi x) / (pi x), and 1 at 0.",
        "fg.sinc(fg.tensor([0.0])).tolist()" => "[1.0]";
    Cbrt cbrt: special [y] x => libm::cbrt(x);
        g => {
            let inverse = reciprocal(y)?;
            g * (&inverse * &inverse * (1.0 / 3.0))
        },
        pass plain g, y => g.div(y.mul(y).mul(T::lit(3.0)));
        "The cube root of each element. Its derivative at 0 is inf.",
        "fg.cbrt(fg.tensor([8.0, -27.0])).tolist()" => "[2.0, -3.0]";
}

/// `sinc` of complex numbers, near 0 by the series of sin(z) / z.
fn complex_sinc(x: &Tensor) -> Result<Tensor> {
    let z = &(x * PI);
    let one = &Tensor::scalar_of(z.dtype().real(), 1.0);
    let near = &less_same(&modulus(&z.detach())?, one)?;
    let one = &Tensor::scalar_of(z.dtype(), 1.0);
    let (small, large) = (select(near, z, &(one * 0.0))?, select(near, one, z)?);
    let square = -(&small * &small);
    let series = (1..12)
        .rev()
        .fold(one.clone(), |sum, k| one + &square * sum * (1.0 / f64::from(2 * k * (2 * k + 1))));
    select(near, &series, &(sin(&large)? / &large))
}

unary_rows! {
    /// The first derivative of digamma.
    Trigamma trigamma: real [x] x => x.trigamma(); g => g * polygamma_of(2.0, x)?;
    /// The derivative of sinc, `-pi` times the spherical Bessel function of order 1 at `pi x`.
    SincSlope sinc_slope: plain [x] x => T::from_f64(special::sinc_slope(x.to_f64()));
        g => g * ((sinc(x)? - spherical_pi(2.0, x)? * 2.0) * (-PI * PI / 3.0));
}

binary_rows! {
    /// The derivative of ndtri at `x`, where it is `y`. It is differentiated as a function of `y`.
    NdtriSlope ndtri_slope "ndtri", special x, y => tails::ndtri_slope(x, y);
        [] _g => zero(); [y, z] g => g * (y * z);
}

parametrised_rows! {
    /// The derivative of order `p[0]` of digamma.
    Polygamma "polygamma": special x; p => special::polygamma(p[0], x);
        pass g, x; p => g * special::polygamma(p[0] + 1.0, x);
        g => g * polygamma_of(p[0] + 1.0, x)?;
    /// The derivative of order `p[0]` of erfcx.
    ErfcxDerivative "erfcx": special x; p => tails::erfcx_derivative(p[0], x);
        pass g, x; p => g * tails::erfcx_derivative(p[0] + 1.0, x);
        g => g * erfcx_of(p[0] + 1.0, x)?;
    /// The derivative of order `p[0]` of log_ndtr.
    LogNdtrDerivative "log_ndtr": special x; p => tails::log_ndtr_derivative(p[0], x);
        pass g, x; p => g * tails::log_ndtr_derivative(p[0] + 1.0, x);
        g => g * log_ndtr_of(p[0] + 1.0, x)?;
}

fn erfcx_of(n: f64, x: &Tensor) -> Result<Tensor> {
    parametrised::<ErfcxDerivative>(x, [n, 0.0, 0.0])
}

fn log_ndtr_of(n: f64, x: &Tensor) -> Result<Tensor> {
    parametrised::<LogNdtrDerivative>(x, [n, 0.0, 0.0])
}

/// `polygamma` of a float tensor.
pub(super) fn polygamma_of(n: f64, x: &Tensor) -> Result<Tensor> {
    if n == 1.0 { trigamma(x) } else { parametrised::<Polygamma>(x, [n, 0.0, 0.0]) }
}

/// The derivative of order n of `digamma`. Integers are taken as the default float. Raises ArgumentError for a
/// negative n.
///
/// ```python
/// >>> fg.polygamma(1, fg.tensor([1.0])).tolist()
/// [1.644934058189392]
/// ```
#[op(function, torch(LaidByElements))]
pub fn polygamma(n: i64, x: &Tensor) -> Result<Tensor> {
    if n < 0 {
        bail!(Argument, "polygamma", "the order n is 0 or more, not {n}");
    }
    polygamma_of(n as f64, &*promoted_float(x)?)
}

/// The logarithm of the multivariate gamma function of dimension p: the sum of lgamma(x - j / 2) for j from 0 to
/// p - 1, and p (p - 1) / 4 log(pi). Raises ArgumentError for a p below 1 or
/// above 10000.
///
/// ```python
/// >>> fg.mvlgamma(fg.tensor([1.0]), 1).tolist()
/// [0.0]
/// ```
#[op(in_place, names("mvlgamma", "multigammaln"))]
pub fn mvlgamma(x: &Tensor, p: i64) -> Result<Tensor> {
    if !(1..=10_000).contains(&p) {
        bail!(Argument, "mvlgamma", "the dimension p is between 1 and 10000, not {p}");
    }
    let x = &*promoted_float(x)?;
    let mut sum = lgamma(x)?;
    for j in 1..p {
        sum = sum + lgamma(&(x - 0.5 * j as f64))?;
    }
    Ok(sum + 0.25 * p as f64 * (p - 1) as f64 * PI.ln())
}

/// Families of Bessel functions by their order: `Row function: the derivative in the function of other orders`.
macro_rules! bessel_rows {
    ($($(#[$doc:meta])* $Row:ident $of:ident: $f:ident $(with $quick:ident)?, $x:ident, $n:ident, $of_n:ident => $derivative:expr;)*) => { $(
        parametrised_rows! {
            $(#[$doc])*
            $Row "bessel": special x; p => special::$f(p[0], x) $(, f32 bessel::$quick)?;
                pass g, x; p => {
                    let ($x, $n, $of_n) = (x, p[0], special::$f);
                    g * $derivative
                };
                g => {
                    let ($x, $n) = (x, p[0]);
                    // Inside a rule only memory can fail.
                    let $of_n = |n: f64, x: &Tensor| $of(n, x).unwrap_or_else(|error| error.throw());
                    g * $derivative
                };
        }
        fn $of(n: f64, x: &Tensor) -> Result<Tensor> {
            parametrised::<$Row>(x, [n, 0.0, 0.0])
        }
    )* };
}

bessel_rows! {
    /// Of the first kind (DLMF 10.6.1).
    BesselJ bessel_j: bessel_j with J, x, n, j => 0.5 * (j(n - 1.0, x) - j(n + 1.0, x));
    /// Of the second kind.
    BesselY bessel_y: bessel_y with Y, x, n, y => 0.5 * (y(n - 1.0, x) - y(n + 1.0, x));
    /// Modified, of the first kind (DLMF 10.29.1).
    BesselI bessel_i: bessel_i with I, x, n, i => 0.5 * (i(n - 1.0, x) + i(n + 1.0, x));
    /// Modified, of the second kind.
    BesselK bessel_k: bessel_k, x, n, k => -0.5 * (k(n - 1.0, x) + k(n + 1.0, x));
}

parametrised_rows! {
    /// `e^-|x|` times the modified function of the first kind.
    BesselIe "bessel": special x; p => special::bessel_ie(p[0], x), f32 bessel::IE;
        pass g, x; p => g * tails::bessel_ie_derivative(p[0], 1.0, x);
        g => g * parametrised::<BesselIeDerivative>(x, [p[0], 1.0, 0.0])?;
    /// The derivative of order `p[1]` of that.
    BesselIeDerivative "bessel": special x; p => tails::bessel_ie_derivative(p[0], p[1], x);
        pass g, x; p => g * tails::bessel_ie_derivative(p[0], p[1] + 1.0, x);
        g => g * parametrised::<BesselIeDerivative>(x, [p[0], p[1] + 1.0, 0.0])?;
    /// The derivative of order `p[1]` of `e^x` times the modified function of the second kind.
    BesselKe "bessel": special x; p => tails::bessel_ke_derivative(p[0], p[1], x);
        pass g, x; p => g * tails::bessel_ke_derivative(p[0], p[1] + 1.0, x);
        g => g * parametrised::<BesselKe>(x, [p[0], p[1] + 1.0, 0.0])?;
    /// The spherical Bessel function of order `p[0]` at `pi x`.
    SphericalPi "sinc": special x; p => tails::spherical_bessel_pi(p[0], x);
        pass g, x; p => {
            let (n, j) = (p[0], |n| tails::spherical_bessel_pi(n, x));
            let low = if n == 0.0 { 0.0 } else { n * j(n - 1.0) };
            g * (low - (n + 1.0) * j(n + 1.0)) * (PI / (2.0 * n + 1.0))
        };
        g => {
            let n = p[0];
            let high = spherical_pi(n + 1.0, x)? * -(PI * (n + 1.0) / (2.0 * n + 1.0));
            g * if n == 0.0 { high } else { high + spherical_pi(n - 1.0, x)? * (PI * n / (2.0 * n + 1.0)) }
        };
    /// Spherical, of the first kind (DLMF 10.51.2).
    SphericalJ "spherical_bessel": special x; p => special::spherical_bessel_j(p[0], x), f32 bessel::SPHERICAL_J;
        pass g, x; p => {
            let (n, j) = (p[0], |n| special::spherical_bessel_j(n, x));
            let low = if n == 0.0 { 0.0 } else { n * j(n - 1.0) };
            g * (low - (n + 1.0) * j(n + 1.0)) / (2.0 * n + 1.0)
        };
        g => {
            let n = p[0];
            let high = spherical_j(n + 1.0, x)? * -((n + 1.0) / (2.0 * n + 1.0));
            g * if n == 0.0 { high } else { high + spherical_j(n - 1.0, x)? * (n / (2.0 * n + 1.0)) }
        };
}

parametrised_rows! {
    /// The Airy function or its derivative, by `p[0]`; the second derivative is `x` times the function.
    Airy "airy_ai": special x; p => special::airy(p[0], x);
        pass g, x; p => g * if p[0] == 0.0 { special::airy(1.0, x) } else { x * special::airy(0.0, x) };
        g => g * if p[0] == 0.0 { airy(1.0, x)? } else { x * airy(0.0, x)? };
}

fn airy(n: f64, x: &Tensor) -> Result<Tensor> {
    parametrised::<Airy>(x, [n, 0.0, 0.0])
}

fn bessel_ie(n: f64, x: &Tensor) -> Result<Tensor> {
    parametrised::<BesselIe>(x, [n, 0.0, 0.0])
}

fn bessel_ke(n: f64, x: &Tensor) -> Result<Tensor> {
    parametrised::<BesselKe>(x, [n, 0.0, 0.0])
}

fn spherical_pi(n: f64, x: &Tensor) -> Result<Tensor> {
    parametrised::<SphericalPi>(x, [n, 0.0, 0.0])
}

fn spherical_j(n: f64, x: &Tensor) -> Result<Tensor> {
    parametrised::<SphericalJ>(x, [n, 0.0, 0.0])
}

/// Bessel functions of one order as ops: `function(other names): family, order; documentation, example => result`.
macro_rules! bessel_ops {
    ($($f:ident $(($($alias:ident),*))?: $of:ident, $n:expr; $doc:literal, $example:expr => $result:expr;)*) => { $(
        #[doc = concat!($doc, " Integers are taken as the default float.")]
        #[doc = ""]
        #[doc = "```python"]
        #[doc = concat!(">>> ", $example)]
        #[doc = $result]
        #[doc = "```"]
        #[op(in_place, names(stringify!($f) $($(, stringify!($alias))*)?))]
        pub fn $f(x: &Tensor) -> Result<Tensor> {
            $of($n, &*promoted_float(x)?)
        }
    )* };
}

bessel_ops! {
    airy_ai: airy, 0.0; "The Airy function of the first kind.",
        "fg.airy_ai(fg.tensor([0.0])).tolist()" => "[0.35502806305885315]";
    bessel_j0: bessel_j, 0.0; "The Bessel function of the first kind of order 0.",
        "fg.bessel_j0(fg.tensor([0.0])).tolist()" => "[1.0]";
    bessel_j1: bessel_j, 1.0; "The Bessel function of the first kind of order 1.",
        "fg.bessel_j1(fg.tensor([0.0])).tolist()" => "[0.0]";
    bessel_y0: bessel_y, 0.0; "The Bessel function of the second kind of order 0; -inf at 0, NaN below.",
        "fg.bessel_y0(fg.tensor([0.0])).tolist()" => "[-inf]";
    bessel_y1: bessel_y, 1.0; "The Bessel function of the second kind of order 1; -inf at 0, NaN below.",
        "fg.bessel_y1(fg.tensor([0.0])).tolist()" => "[-inf]";
    i0(modified_bessel_i0): bessel_i, 0.0; "The modified Bessel function of the first kind of order 0.",
        "fg.i0(fg.tensor([0.0])).tolist()" => "[1.0]";
    i1(modified_bessel_i1): bessel_i, 1.0; "The modified Bessel function of the first kind of order 1.",
        "fg.i1(fg.tensor([0.0])).tolist()" => "[0.0]";
    i0e: bessel_ie, 0.0; "exp(-|x|) times the modified Bessel function of the first kind of order 0.",
        "fg.i0e(fg.tensor([0.0])).tolist()" => "[1.0]";
    i1e: bessel_ie, 1.0; "exp(-|x|) times the modified Bessel function of the first kind of order 1.",
        "fg.i1e(fg.tensor([0.0])).tolist()" => "[0.0]";
    modified_bessel_k0: bessel_k, 0.0; "The modified Bessel function of the second kind of order 0; inf at 0, NaN below.",
        "fg.modified_bessel_k0(fg.tensor([0.0])).tolist()" => "[inf]";
    modified_bessel_k1: bessel_k, 1.0; "The modified Bessel function of the second kind of order 1; inf at 0, NaN below.",
        "fg.modified_bessel_k1(fg.tensor([0.0])).tolist()" => "[inf]";
    scaled_modified_bessel_k0: bessel_ke, 0.0; "exp(x) times the modified Bessel function of the second kind of order 0.",
        "fg.scaled_modified_bessel_k0(fg.tensor([0.0])).tolist()" => "[inf]";
    scaled_modified_bessel_k1: bessel_ke, 1.0; "exp(x) times the modified Bessel function of the second kind of order 1.",
        "fg.scaled_modified_bessel_k1(fg.tensor([0.0])).tolist()" => "[inf]";
    spherical_bessel_j0: spherical_j, 0.0; "The spherical Bessel function of the first kind of order 0, sin(x) / x.",
        "fg.spherical_bessel_j0(fg.tensor([0.0])).tolist()" => "[1.0]";
}

binary_ops! {
    Betaln betaln, betaln_same: special x, y => special::betaln(x, y);
        [x, y] g => g * (digamma(x)? - digamma(&(x + y))?); [x, y] g => g * (digamma(y)? - digamma(&(x + y))?);
        "The logarithm of the absolute value of the beta function.",
        "fg.betaln(fg.tensor([1.0]), 1.0).tolist()" => "[0.0]";
    XLog1pY xlog1py, xlog1py_same: real x, y => if x == T::ZERO && !y.nan() { T::ZERO } else { x.mul(y.ln_1p()) };
        [x, y] g => g * x_log1p_y_by_x(x, y)?; [x, y] g => g * x_over_y(x, &(y + 1.0))?;
        "x log(1 + y), and 0 where x is 0, whatever y is but NaN.",
        "fg.xlog1py(fg.tensor([0.0, 2.0]), fg.tensor([-1.0, 0.0])).tolist()" => "[0.0, 0.0]";
}

binary_rows! {
    /// The derivative of `x log(1 + y)` by `x`: `log(1 + y)`, and 0 where `x` is 0 and `y` is not above -1.
    XLog1pYByX x_log1p_y_by_x "xlog1py", real x, y => if x == T::ZERO && y <= T::ONE.neg() { T::ZERO } else { y.ln_1p() };
        [] _g => zero(); [y] g => g / (y + 1.0);
}

unary_rows! {
    /// The exponent `e` of `x = m 2^e` with `m` in [1/2, 1).
    Exponent exponent: special [] x => f64::from(libm::frexp(x).1); _g => zero();
    /// That `m`.
    Mantissa mantissa: special [x] x => libm::frexp(x).0; g => g * exp2(&-exponent(x)?)?;
}

/// The elements as m 2^e: the numbers m, whose sizes are in [1/2, 1), and the exponents e (int32).
///
/// ```python
/// >>> mantissa, exponent = fg.frexp(fg.tensor([6.0]))
/// >>> mantissa.tolist(), exponent.tolist()
/// ([0.75], [3])
/// ```
#[op(method, torch(LaidByElements))]
pub fn frexp(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let x = &*promoted_float(x)?;
    Ok((mantissa(x)?, crate::ops::movement::cast(&exponent(&x.detach())?, DType::I32)?))
}

/// x times 2 to the power of y. The shapes broadcast.
///
/// ```python
/// >>> fg.ldexp(fg.tensor([3.0]), 2).tolist()
/// [12.0]
/// ```
#[op(in_place)]
pub fn ldexp(x: &Tensor, y: Operand<'_>) -> Result<Tensor> {
    let (x, y) = promoted(Class::Real, x.into(), y)?;
    shape::broadcast("ldexp", x.dims(), y.dims())?;
    // In two steps, since the power may overflow where the product does not.
    let half = trunc(&(&*y * 0.5))?;
    Ok(&*x * exp2(&half)? * exp2(&(&*y - &half))?)
}

/// The derivative of an order of a family's polynomials, as a function of `x` and the degree.
#[derive(Stored)]
#[stored(op)]
struct Polynomial {
    family: f64,
    order: f64,
}

impl Polynomial {
    /// `t` times the derivative by `x`.
    fn rule(&self, t: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        let next = Polynomial { family: self.family, order: self.order + 1.0 };
        Ok(t * apply(next, &[&s.input(0), &s.input(1)])?)
    }
}

/// The degree above which polynomials are refused.
const HIGHEST: f64 = 10_000.0;

const POLYNOMIAL: &BinaryLoops = binary_loops!(special x, n; p => special::polynomial(p[0], p[1], x, n));

impl Op for Polynomial {
    fn name(&self) -> &'static str {
        "orthogonal_polynomial"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let degrees = cast(ins[1], DType::F64)?.contiguous()?;
        let most = degrees.as_slice::<f64>().expect("contiguous").iter().fold(0.0, |m, &n| n.max(m));
        if most > HIGHEST {
            bail!(Argument, self.name(), "degrees up to {HIGHEST} are computed, not {most}");
        }
        let p = [self.family, self.order, 0.0];
        Ok([binary::apply_with(self.name(), POLYNOMIAL, ins[0], ins[1], batch_ndim, &p)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let row = POLYNOMIAL.row(*ins.dtypes.first()?, [0.0; 3])?;
        Loops::Pointwise(row).makes(ins)
    }

    fn is_pointwise(&self) -> bool {
        true
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(3)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![Some(self.rule(only(g), s)?), None])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![t[0].as_ref().map(|t| self.rule(t, s)).transpose()?])
    }
}

/// The orthogonal polynomial of degree n of a kind at x: "chebyshev_t", "chebyshev_u", "chebyshev_v", "chebyshev_w",
/// "legendre_p", "laguerre_l", "hermite_h" or "hermite_he". The degree is rounded towards 0 and has no gradient; a negative one gives 0.
/// The shapes broadcast, the dtypes promote, and integers are taken as the default float. Raises ArgumentError for
/// a degree above 10000 or another kind.
///
/// ```python
/// >>> fg.orthogonal_polynomial(fg.tensor([0.5, 2.0]), 2, "legendre_p").tolist()
/// [-0.125, 5.5]
/// ```
#[op(function)]
pub fn orthogonal_polynomial(x: Operand<'_>, n: Operand<'_>, kind: &str) -> Result<Tensor> {
    const OP: &str = "orthogonal_polynomial";
    let Some(family) = KINDS.iter().position(|k| *k == kind) else {
        bail!(Argument, OP, "the kind is one of {KINDS:?}, not '{kind}'");
    };
    let (x, n) = promoted(Class::Float, x, n)?;
    shape::broadcast(OP, x.dims(), n.dims())?;
    apply(Polynomial { family: family as f64, order: 0.0 }, &[&x, &n.detach()])
}

/// The names of [`special::Family::ALL`].
const KINDS: [&str; 8] = [
    "chebyshev_t",
    "chebyshev_u",
    "chebyshev_v",
    "chebyshev_w",
    "legendre_p",
    "laguerre_l",
    "hermite_h",
    "hermite_he",
];
