//! Vector norms. Where a norm has a kink, as at the zero vector, every derivative is zero.

use smallvec::smallvec;

use super::extreme;
use super::fold::Folded;
use super::logic::count_nonzero;
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::{Cotangents, Grads, NeedsGrad, Op, Outputs, Saved, Saves, Tangents, Tensor, apply, only};
use crate::kernel::pointwise::binary::{self, binary_loops};
use crate::kernel::pointwise::power::POWER;
use crate::kernel::pointwise::unary::{self, unary_loops};
use crate::kernel::reduce::{self, reduce_loops};
use crate::ops::entry::{Axes, Order, op};
use crate::ops::movement::{cast, real, reshape_to, view_as_real};
use crate::ops::pointwise::polar::modulus;
use crate::ops::pointwise::select::part;
use crate::ops::promote::promoted_inexact;
use crate::stored::Stored;

/// The root of the sum of squares.
#[derive(Clone, Stored)]
#[stored(op)]
struct Euclidean(Folded);

impl Op for Euclidean {
    fn name(&self) -> &'static str {
        "norm"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        const SQUARES: &reduce::ReduceLoops = reduce_loops!(real T::ZERO; a, x => a.add(x); of v => v.mul(v));
        const ROOT: &unary::UnaryLoops = unary_loops!(plain x => x.sqrt());
        let squares = self.0.fold(ins[0], |axes| reduce::apply("norm", SQUARES, ins[0], axes))?;
        Ok([unary::apply("norm", ROOT, &squares)?].into())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(1).and(Saves::outputs(1))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        let x = s.input(0);
        let scale = self.0.unfold(&ratio(g, &s.output(0))?, x.dims())?;
        Ok(smallvec![Some(scale * x)])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let t = only(t);
        Ok(smallvec![Some(ratio(&self.0.sum(&(t * s.input(0)))?, &s.output(0))?)])
    }
}

/// The Euclidean norm over axes; of complex numbers that of their parts.
pub(in crate::ops) fn euclidean(x: &Tensor, folded: Folded) -> Result<Tensor> {
    if x.dtype().is_complex() {
        return reshape_to(
            &apply(Euclidean(folded.with_pairs()), &[&view_as_real(x)?])?,
            &folded.dims(x.dims()),
        );
    }
    apply(Euclidean(folded), &[x])
}

/// `x / y`, and 0 where `y` is 0.
#[derive(Stored)]
#[stored(op)]
struct Ratio;

impl Op for Ratio {
    fn name(&self) -> &'static str {
        "ratio"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        const TABLE: &binary::BinaryLoops =
            binary_loops!(plain x, y => if y == T::ZERO { T::ZERO } else { x.div(y) });
        Ok([binary::apply("ratio", TABLE, ins[0], ins[1], batch_ndim)?].into())
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        Saves::inputs(2).and(Saves::outputs(1).when(needs.has(1)))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        let y = s.input(1);
        Ok(smallvec![
            s.needs(0).then(|| ratio(g, &y)).transpose()?,
            s.needs(1).then(|| ratio(&-(g * s.output(0)), &y)).transpose()?,
        ])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let y = s.input(1);
        let top = match (&t[0], &t[1]) {
            (Some(x), Some(y)) => x - s.output(0) * y,
            (Some(x), None) => x.clone(),
            (None, Some(y)) => -(s.output(0) * y),
            (None, None) => return Ok(smallvec![None]),
        };
        Ok(smallvec![Some(ratio(&top, &y)?)])
    }
}

pub(in crate::ops) fn ratio(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    apply(Ratio, &[x, y])
}

/// `|x|^p`, times the sign of `x` if `odd`.
#[derive(Clone, Copy, Stored)]
#[stored(op)]
struct AbsPow {
    p: f64,
    odd: bool,
    /// Whether this is a derivative, for which a negative power of 0 is 0.
    derived: bool,
}

impl Op for AbsPow {
    fn name(&self) -> &'static str {
        "abs_pow"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        const ABS: &unary::UnaryLoops = unary_loops!(plain x => x.abs());
        const SIGN: &unary::UnaryLoops = unary_loops!(plain x => x.sign());
        const POWER_OR_ZERO: &binary::BinaryLoops =
            binary_loops!(real x, p => if x == T::ZERO && p < T::ZERO { T::ZERO } else { x.pow(p) });
        const MUL: &binary::BinaryLoops = binary_loops!(plain x, y => x.mul(y));
        let mut out = unary::apply("abs_pow", ABS, ins[0])?;
        if self.p != 1.0 {
            let p = Array::full_of(out.dtype(), &vec![1; out.rank()], self.p);
            out = binary::apply(
                "abs_pow",
                if self.derived { POWER_OR_ZERO } else { POWER },
                &out,
                &p,
                batch_ndim,
            )?;
        }
        if self.odd {
            out = binary::apply("abs_pow", MUL, &unary::apply("abs_pow", SIGN, ins[0])?, &out, 0)?;
        }
        Ok([out].into())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(1).when(self.p != 0.0)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(g) = g[0].as_ref().filter(|_| self.p != 0.0) else { return Ok(smallvec![None]) };
        let derivative = apply(AbsPow { p: self.p - 1.0, odd: !self.odd, derived: true }, &[&s.input(0)])?;
        Ok(smallvec![Some(g * derivative * self.p)])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        self.vjp(t, s)
    }
}

/// `|x|^p` with derivative 0 at 0.
pub(crate) fn abs_pow(x: &Tensor, p: f64) -> Result<Tensor> {
    apply(AbsPow { p, odd: false, derived: false }, &[x])
}

/// The p-norm over axes (all by default), sum(|x|^p)^(1/p): any number, inf and -inf for the largest and the
/// smallest |x|, 0 for the number of elements that are not zero, 'fro' for 2. Every derivative at the zero
/// vector is 0.
///
/// ```python
/// >>> fg.norm(fg.tensor([[3., 4.], [6., 8.]]), axis=1).tolist()
/// [5.0, 10.0]
/// ```
#[op(method, names("norm", "vector_norm"))]
pub fn norm(
    x: &Tensor,
    #[default(2.0)] p: Order<'_>,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
) -> Result<Tensor> {
    let p = match p {
        Order::Number(p) => p,
        Order::Name("fro") => 2.0,
        Order::Name("inf") => f64::INFINITY,
        Order::Name("-inf") => f64::NEG_INFINITY,
        Order::Name(name) => bail!(Argument, "norm", "no norm of vectors is called '{name}'"),
    };
    let folded = Folded::new("norm", axis, keepdims, x.rank())?;
    let mut x = &*promoted_inexact(x)?;
    let sizes;
    if x.dtype().is_complex() && p != 2.0 && p != 0.0 {
        sizes = modulus(x)?;
        x = &sizes;
    }
    match p {
        _ if p.is_nan() => bail!(Argument, "norm", "the order is not a number"),
        2.0 => euclidean(x, folded),
        1.0 => folded.sum(&abs_pow(x, 1.0)?),
        0.0 => {
            let count = cast(&count_nonzero(x, axis, keepdims)?, x.dtype().real())?;
            // The zeros keep the result a function of x.
            let nothing = || real(&folded.sum(&part(&Tensor::scalar_of(DType::Bool, 0.0), true, x)?)?);
            if x.is_tracked() { Ok(count + nothing()?) } else { Ok(count) }
        }
        f64::INFINITY if folded.count(x.dims()) == 0 => folded.sum(x),
        f64::INFINITY => extreme::max(&abs_pow(x, 1.0)?, axis, keepdims),
        f64::NEG_INFINITY => extreme::min(&abs_pow(x, 1.0)?, axis, keepdims),
        p => abs_pow(&folded.sum(&abs_pow(x, p)?)?, 1.0 / p),
    }
}
