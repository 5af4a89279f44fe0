//! The elementary functions of one tensor.

use std::f64::consts::{LN_2, LN_10, PI};

use super::polar;
use super::unary::{unary_ops, unary_rows, zero};
use crate::dtype::DTypeKind;
use crate::error::Result;
use crate::graph::{Saved, Saves, Tensor, apply};
use crate::kernel::pointwise::expressions;
use crate::kernel::pointwise::tanh::{TANH, TANH_GRADIENT, TANH_SLOPE};

unary_ops! {
    Abs abs(absolute): loops [x] x => expressions::ABSOLUTE;
        g => g * sign(x)?,
        pass plain g, x => g.mul(x.sign()), complex x => polar::modulus(x);
        "The absolute value of each element. Its derivative at 0 is 0.",
        "fg.abs(fg.tensor([-2.0, 3.0])).tolist()" => "[2.0, 3.0]";
    Sign sign(sgn): num [] x => x.sign(); _g => zero(), complex x => polar::sgn(x);
        "-1, 0 or 1 for a negative element, zero, a positive one; NaN for NaN. A complex element is divided by its \
        absolute value, 0 stays.",
        "fg.sign(fg.tensor([-2.0, 0.0])).tolist()" => "[-1.0, 0.0]";
    Neg negative(neg): loops [] x => expressions::NEGATE; g => -g;
        "The additive inverse, element by element.",
        "fg.negative(fg.tensor([1.0, -2.0])).tolist()" => "[-1.0, 2.0]";
    Positive positive: field [] x => x; g => g.clone();
        "The elements as they are.",
        "fg.positive(fg.tensor([1.0, -2.0])).tolist()" => "[1.0, -2.0]";
    Square square: loops [x] x => expressions::SQUARE;
        g => g * (x * 2.0),
        pass table g, x => expressions::SQUARE_GRADIENT;
        "The square of each element.",
        "fg.square(fg.tensor([3.0, -2.0])).tolist()" => "[9.0, 4.0]";
    Reciprocal reciprocal: inexact [y] x => T::ONE.div(x);
        g => -(g * y * y),
        pass plain g, y => g.mul(y).mul(y).neg();
        "One divided by each element.",
        "fg.reciprocal(fg.tensor([2.0, 4.0])).tolist()" => "[0.5, 0.25]";
    Exp exp: analytic [y] x => x.exp(); g => g * y;
        "e to the power of each element.",
        "fg.exp(fg.tensor([0.0])).tolist()" => "[1.0]";
    Expm1 expm1: analytic [x] x => x.exp_m1();
        g => g * exp(x)?,
        pass real g, x => g.mul(x.exp());
        "exp(x) - 1, exact near zero.",
        "fg.expm1(fg.tensor([0.0])).tolist()" => "[0.0]";
    Log log: table [x] x => expressions::LOG; g => g / x;
        "The natural logarithm of each element; -inf at 0, NaN below.",
        "fg.log(fg.tensor([1.0])).tolist()" => "[0.0]";
    Log1p log1p: analytic [x] x => x.ln_1p();
        g => g / (x + 1.0),
        pass plain g, x => g.div(x.add(T::ONE));
        "log(1 + x), exact near zero.",
        "fg.log1p(fg.tensor([0.0])).tolist()" => "[0.0]";
    Log2 log2: analytic [x] x => x.log2();
        g => g * (1.0 / LN_2) / x,
        pass plain g, x => g.mul(T::lit(1.0 / LN_2)).div(x);
        "The logarithm to base 2 of each element.",
        "fg.log2(fg.tensor([8.0])).tolist()" => "[3.0]";
    Log10 log10: analytic [x] x => x.log10();
        g => g * (1.0 / LN_10) / x,
        pass plain g, x => g.mul(T::lit(1.0 / LN_10)).div(x);
        "The logarithm to base 10 of each element.",
        "fg.log10(fg.tensor([1000.0])).tolist()" => "[3.0]";
    Sqrt sqrt: table [y] x => expressions::SQRT;
        g => g / (y * 2.0),
        pass table g, y => expressions::SQRT_GRADIENT;
        "The square root of each element; NaN below 0. Its derivative at 0 is inf.",
        "fg.sqrt(fg.tensor([4.0, 9.0])).tolist()" => "[2.0, 3.0]";
    Rsqrt rsqrt: inexact [y] x => T::ONE.div(x.sqrt());
        g => g * (y * y * y * -0.5),
        pass plain g, y => g.mul(y.mul(y).mul(y).mul(T::lit(-0.5)));
        "One divided by the square root of each element.",
        "fg.rsqrt(fg.tensor([4.0])).tolist()" => "[0.5]";
    Sin sin: analytic [x] x => x.sin();
        g => g * cos(x)?,
        pass wide32 g, x => g.mul(x.cos());
        "The sine of each element, in radians.",
        "fg.sin(fg.tensor([0.0])).tolist()" => "[0.0]";
    Cos cos: analytic [x] x => x.cos();
        g => -(g * sin(x)?),
        pass wide32 g, x => g.mul(x.sin()).neg();
        "The cosine of each element, in radians.",
        "fg.cos(fg.tensor([0.0])).tolist()" => "[1.0]";
    Tan tan: analytic [y] x => x.tan();
        g => g * (y * y + 1.0),
        pass plain g, y => g.mul(y.mul(y).add(T::ONE));
        "The tangent of each element, in radians.",
        "fg.tan(fg.tensor([0.0])).tolist()" => "[0.0]";
    Asin asin(arcsin): analytic [x] x => x.asin(); g => g * asin_slope(x)?;
        "The angle in [-pi/2, pi/2] with that sine; NaN outside of [-1, 1].",
        "fg.asin(fg.tensor([0.0])).tolist()" => "[0.0]";
    Acos acos(arccos): analytic [x] x => x.acos(); g => -(g * asin_slope(x)?);
        "The angle in [0, pi] with that cosine; NaN outside of [-1, 1].",
        "fg.acos(fg.tensor([1.0])).tolist()" => "[0.0]";
    Atan atan(arctan): analytic [x] x => x.atan();
        g => g / (x * x + 1.0),
        pass plain g, x => g.div(x.mul(x).add(T::ONE));
        "The angle in [-pi/2, pi/2] with that tangent.",
        "fg.atan(fg.tensor([0.0])).tolist()" => "[0.0]";
    Sinh sinh: analytic [x] x => x.sinh(); g => g * cosh(x)?;
        "The hyperbolic sine of each element.",
        "fg.sinh(fg.tensor([0.0])).tolist()" => "[0.0]";
    Cosh cosh: analytic [x] x => x.cosh(); g => g * sinh(x)?;
        "The hyperbolic cosine of each element.",
        "fg.cosh(fg.tensor([0.0])).tolist()" => "[1.0]";
    Tanh tanh: table [x] x => TANH;
        g => g * sech_squared(x)?,
        pass table g, x => TANH_GRADIENT;
        "The hyperbolic tangent of each element. Its derivatives are exact far out too.",
        "fg.tanh(fg.tensor([0.0])).tolist()" => "[0.0]";
    Asinh asinh(arcsinh): analytic [x] x => x.asinh(); g => g / hypot_one(x)?;
        "The number with that hyperbolic sine.",
        "fg.asinh(fg.tensor([0.0])).tolist()" => "[0.0]";
    Acosh acosh(arccosh): analytic [x] x => x.acosh(); g => g / (sqrt(&(x - 1.0))? * sqrt(&(x + 1.0))?);
        "The number above 0 with that hyperbolic cosine; NaN below 1.",
        "fg.acosh(fg.tensor([1.0])).tolist()" => "[0.0]";
    Atanh atanh(arctanh): analytic [x] x => x.atanh(); g => g * atanh_slope(x)?;
        "The number with that hyperbolic tangent; NaN outside of [-1, 1].",
        "fg.atanh(fg.tensor([0.0])).tolist()" => "[0.0]";
    Erf erf: real [x] x => x.erf();
        g => g * (exp(&-(x * x))? * (2.0 / PI.sqrt())),
        pass real g, x => g.mul(x.mul(x).neg().exp().mul(T::lit(2.0 / PI.sqrt())));
        "The error function, 2 / sqrt(pi) times the integral of exp(-t²) from 0 to x.",
        "fg.erf(fg.tensor([0.0])).tolist()" => "[0.0]";
    Exp2 exp2: analytic [x] x => x.exp2();
        g => {
            // Where the function overflows its derivative need not: the root of the function does not.
            let root = exp2(&(x * 0.5))?;
            g * (&root * LN_2) * root
        },
        pass real g, x => { let root = x.mul(T::lit(0.5)).exp2(); g.mul(root.mul(T::lit(LN_2))).mul(root) };
        "2 to the power of each element.",
        "fg.exp2(fg.tensor([3.0])).tolist()" => "[8.0]";
    Entr entr: real [x] x => if x == T::ZERO { T::ZERO } else if x < T::ZERO { T::INFINITY.neg() } else { x.mul(x.ln()).neg() }; g => -(g * (log(x)? + 1.0));
        "The entropy -x log(x) of each element, 0 at 0 and -inf below. Its derivative at 0 is inf.",
        "fg.entr(fg.tensor([1.0, 0.0])).tolist()" => "[-0.0, 0.0]";
    Logit logit: real [x] x => x.ln().sub(x.neg().ln_1p());
        g => {
            // `inside` is 0 outside of [0, 1], where infinity times 0 makes the derivative NaN, as the function is.
            let inside = sign(&(x * (1.0 - x)))? + 1.0;
            g * ((reciprocal(x)? + reciprocal(&(1.0 - x))?) / &inside * inside)
        };
        "log(x / (1 - x)), which `sigmoid` undoes; NaN outside of [0, 1], as its derivative.",
        "fg.logit(fg.tensor([0.5])).tolist()" => "[0.0]";
    DegToRad deg2rad(radians): plain [] x => x.mul(T::lit(PI / 180.0)); g => g * (PI / 180.0);
        "Degrees as radians.",
        "fg.deg2rad(fg.tensor([180.0])).tolist()" => "[3.1415927410125732]";
    RadToDeg rad2deg(degrees): plain [] x => x.mul(T::lit(180.0 / PI)); g => g * (180.0 / PI);
        "Radians as degrees.",
        "fg.rad2deg(fg.tensor([0.0])).tolist()" => "[0.0]";
    Floor floor: whole [] x => x.floor(); _g => zero();
        "The largest integer that is not above the element.",
        "fg.floor(fg.tensor([1.5, -1.5])).tolist()" => "[1.0, -2.0]";
    Ceil ceil: whole [] x => x.ceil(); _g => zero();
        "The smallest integer that is not below the element.",
        "fg.ceil(fg.tensor([1.5, -1.5])).tolist()" => "[2.0, -1.0]";
    Trunc trunc(fix): whole [] x => x.trunc(); _g => zero();
        "The element without its fraction.",
        "fg.trunc(fg.tensor([1.5, -1.5])).tolist()" => "[1.0, -1.0]";
    Frac frac: plain [] x => x.sub(x.trunc()); g => g.clone();
        "The fraction of the element, with its sign.",
        "fg.frac(fg.tensor([1.5, -1.25])).tolist()" => "[0.5, -0.25]";
    IsNan isnan: test [] x => truth(x.nan()); _g => zero();
        "Whether the element is NaN; of a complex one, whether a part is.",
        "fg.isnan(fg.tensor([1.0, fg.nan])).tolist()" => "[False, True]";
    IsInf isinf: test [] x => truth(x.is_infinite()); _g => zero();
        "Whether the element is inf or -inf; of a complex one, whether a part is.",
        "fg.isinf(fg.tensor([1.0, fg.inf])).tolist()" => "[False, True]";
    IsFinite isfinite: test [] x => truth(x.is_finite()); _g => zero();
        "Whether the element is neither infinite nor NaN.",
        "fg.isfinite(fg.tensor([1.0, fg.inf])).tolist()" => "[True, False]";
    Invert bitwise_invert(bitwise_not): bits [] x => x.not(); _g => zero();
        "All bits of each integer inverted; the other truth value. Refused for floats.",
        "fg.bitwise_invert(fg.tensor([0, 1])).tolist()" => "[-1, -2]";
}

unary_rows! {
    /// The nearest integer, halves to the even one.
    RoundEven round_even: whole [] x => x.round(); _g => zero();
    /// The derivative of tanh, without the cancellation of `1 - tanh²`.
    SechSquared sech_squared: table [x, y] x => TANH_SLOPE; g => g * (y * tanh(x)? * -2.0);
    /// The derivative of asin. Its own is a product, where that of the square would be a difference.
    AsinSlope asin_slope: analytic [x, y] x => T::ONE.div(T::ONE.sub(x).mul(x.add(T::ONE)).sqrt());
        g => g * (x * (y * y * y));
    /// The derivative of atanh, likewise.
    AtanhSlope atanh_slope: analytic [x, y] x => T::ONE.div(T::ONE.sub(x).mul(x.add(T::ONE)));
        g => g * (x * (y * y) * 2.0);
    /// `sqrt(x² + 1)`, without overflow.
    HypotOne hypot_one: analytic [x, y] x => x.hypot_one(); g => g * (x / y);
}
