//! Vector norms. Where a norm has a kink, as at the zero vector, every derivative is zero.

use smallvec::smallvec;

use super::extreme as largest;
use super::fold::Folded;
use super::logic::count_nonzero;
use crate::array::Array;
use crate::dtype::{DType, Element, Ordered, dispatch};
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply, only,
};
use crate::kernel::distance::range_of_squares;
use crate::kernel::pointwise::binary::{self, binary_loops};
use crate::kernel::pointwise::power::POWER;
use crate::kernel::pointwise::unary::{self, unary_loops};
use crate::kernel::reduce::{self, ReduceLoops, extreme, reduce_loops};
use crate::ops::entry::{Axes, Order, op};
use crate::ops::movement::{SUM, cast, real, reshape_to, view_as_real};
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
        const SQUARES: &ReduceLoops = reduce_loops!(real T::ZERO; a, x => a.add(x); of v => v.mul(v));
        const ROOT: &unary::UnaryLoops = unary_loops!(plain x => x.sqrt());
        let squares = |x: &Array| self.0.fold(x, |axes| reduce::apply("norm", SQUARES, x, axes));
        let (squares, scales) = in_range(ins[0], &self.0, extreme::MAX, squares)?;
        Ok([scaled(unary::apply("norm", ROOT, &squares)?, scales)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let dtype = *ins.dtypes.first()?;
        self.0.makes(ins, dtype.is_float().then_some(dtype))
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(1).and(Saves::outputs(1))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        let x = s.input(0);
        let (g, length) = (self.0.unfold(g, x.dims())?, self.0.unfold(&s.output(0), x.dims())?);
        // The quotient comes first: that of `g` and the length may overflow.
        Ok(smallvec![Some(g * ratio(&x, &length)?)])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let t = only(t);
        Ok(smallvec![Some(ratio(&self.0.sum(&(t * s.input(0)))?, &s.output(0))?)])
    }
}

const MULTIPLY: &binary::BinaryLoops = binary_loops!(plain x, y => x.mul(y));

/// The sums of powers of the elements. Where one has left the range in which it has all its digits, the elements are multiplied
/// by a power of two first, which their largest (or smallest) size says; the second result is by what a norm is multiplied then.
fn in_range(
    x: &Array,
    folded: &Folded,
    which: &ReduceLoops,
    sums: impl Fn(&Array) -> Result<Array>,
) -> Result<(Array, Option<Array>)> {
    const SIZE: &unary::UnaryLoops = unary_loops!(plain x => x.abs());
    let first = sums(x)?;
    if !has_left_range(&first)? {
        return Ok((first, None));
    }
    let sizes = reduce::apply("norm", which, &unary::apply("norm", SIZE, x)?, &folded.axes(x.rank()))?;
    let Some([down, up]) = powers_of_two(&first.contiguous()?, &sizes.contiguous()?)? else {
        return Ok((first, None));
    };
    let down = down.reshape(&folded.kept(x.dims()))?;
    let again = sums(&binary::apply("norm", MULTIPLY, x, &down, 0)?)?;
    Ok((again, Some(up.reshape(first.dims())?)))
}

/// Norms times the powers of two by which their elements had been divided.
fn scaled(norms: Array, scales: Option<Array>) -> Result<Array> {
    match scales {
        Some(scales) => binary::apply("norm", MULTIPLY, &norms, &scales, 0),
        None => Ok(norms),
    }
}

fn has_left_range(sums: &Array) -> Result<bool> {
    let [least, most] = range_of_squares(sums.dtype());
    let sums = sums.contiguous()?;
    dispatch!(sums.dtype(), float T => {
        let (least, most) = (T::from_f64(least), T::from_f64(most));
        let left = sums.as_slice::<T>().expect("contiguous").iter().filter(|&&sum| sum < least || sum > most);
        Ok(left.count() > 0)
    }, else Ok(false))
}

/// Powers of two that bring the sizes near 1 where the sum has left its range, elsewhere 1, and their inverses. None if all are 1.
fn powers_of_two(sums: &Array, sizes: &Array) -> Result<Option<[Array; 2]>> {
    let [least, most] = range_of_squares(sums.dtype());
    // Both powers are numbers of the dtype.
    let limit = if sums.dtype() == DType::F32 { 120 } else { 1000 };
    let power = |sum: f64, size: f64| {
        let is_left = sum < least || sum > most;
        let exponent = if is_left && size > 0.0 && size.is_finite() { libm::frexp(size).1 } else { 0 };
        exponent.clamp(-limit, limit)
    };
    dispatch!(sums.dtype(), float T => {
        let pairs = sums.as_slice::<T>().expect("contiguous").iter().zip(sizes.as_slice::<T>().expect("contiguous"));
        let exponents: Vec<i32> = pairs.map(|(&sum, &size)| power(sum.to_f64(), size.to_f64())).collect();
        if exponents.iter().all(|&e| e == 0) {
            return Ok(None);
        }
        let all = |sign: i32| -> Vec<T> { exponents.iter().map(|&e| T::from_f64(2f64.powi(sign * e))).collect() };
        let made = |sign| Array::from_slice(&all(sign), sums.dims());
        Ok(Some([made(-1)?, made(1)?]))
    }, else Ok(None))
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

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, _) = ins.of_one_dtype::<2>()?;
        if dtype.is_float() { Some(Made::from_elem((dtype, ins.broadcast(0)?), 1)) } else { None }
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

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        ins.like::<1>(0, DType::is_float)
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

/// `sum(|x|^p)^(1/p)` of real numbers.
#[derive(Clone, Stored)]
#[stored(op)]
struct PowerNorm {
    p: f64,
    folded: Folded,
}

impl PowerNorm {
    /// The derivative by each element, `sign(x) (|x| / z)^(p - 1)` for the norm `z`, which cannot overflow.
    fn slopes(&self, s: &Saved<'_>) -> Result<Tensor> {
        let x = s.input(0);
        let shares = ratio(&x, &self.folded.unfold(&s.output(0), x.dims())?)?;
        apply(AbsPow { p: self.p - 1.0, odd: true, derived: true }, &[&shares])
    }
}

impl Op for PowerNorm {
    fn name(&self) -> &'static str {
        "norm"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let power = |x: &Array, p: f64| -> Result<Array> {
            let power = AbsPow { p, odd: false, derived: false };
            Ok(power.forward(&[x], batch_ndim)?.into_iter().next().expect("one output"))
        };
        let sums = |x: &Array| {
            let powers = power(x, self.p)?;
            self.folded.fold(&powers, |axes| reduce::apply("norm", SUM, &powers, axes))
        };
        let which = if self.p < 0.0 { extreme::MIN } else { extreme::MAX };
        let (sums, scales) = in_range(ins[0], &self.folded, which, sums)?;
        Ok([scaled(power(&sums, 1.0 / self.p)?, scales)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let dtype = *ins.dtypes.first()?;
        self.folded.makes(ins, dtype.is_float().then_some(dtype))
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(1).and(Saves::outputs(1))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![Some(self.folded.unfold(only(g), s.dims(0))? * self.slopes(s)?)])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![Some(self.folded.sum(&(only(t) * self.slopes(s)?))?)])
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
#[op(method, names("norm", "vector_norm"), paddle(AllAxes), torch(AllAxes))]
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
        f64::INFINITY => largest::max(&abs_pow(x, 1.0)?, axis, keepdims),
        f64::NEG_INFINITY => largest::min(&abs_pow(x, 1.0)?, axis, keepdims),
        p => apply(PowerNorm { p, folded }, &[x]),
    }
}
