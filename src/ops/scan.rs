//! Running sums, products and extremes along an axis.
//!
//! Cumulative products use one linear recurrence, whose derivatives are recurrences too. Nothing is divided,
//! so derivatives of any order are exact at zeros.

use smallvec::smallvec;

use super::entry::{Operand, op};
use super::gather::{WithIndices, WithIndicesOp, with_indices};
use super::linear::{Linear, LinearOp};
use super::terms::add_terms;
use crate::array::Array;
use crate::dtype::{DType, dispatch};
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply, only,
};
use crate::kernel::broadcast;
use crate::kernel::reduce::extreme;
use crate::kernel::reduce::scan::{self, ScanAxis};
use crate::ops::index::narrow;
use crate::ops::integers::in_floats;
use crate::ops::movement::{cast, concat, real, reshape_to};
use crate::ops::pointwise::arithmetic::{add, multiply, subtract, subtract_same};
use crate::ops::pointwise::compare::{and_same, less_same, not_equal};
use crate::ops::pointwise::elementary::{exp, isfinite};
use crate::ops::pointwise::select::{at_most, part, select};
use crate::ops::promote::promoted_inexact;
use crate::ops::reduce::{in_bool, sum, wide};
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// An axis, counted from the end, and a direction along it.
#[derive(Clone, Copy, Stored)]
struct Direction {
    back: usize,
    reverse: bool,
}

impl Direction {
    /// What is made of `N` operands that are alike, if they have the axis: a result like them.
    fn makes<const N: usize>(self, ins: &Operands<'_>, takes: fn(DType) -> bool) -> Option<Made> {
        if self.back > 0 { ins.like::<N>(self.back, takes) } else { None }
    }

    fn way(self, rank: usize) -> ScanAxis {
        ScanAxis { axis: rank - self.back, reverse: self.reverse }
    }

    fn reversed(self) -> Direction {
        Direction { reverse: !self.reverse, ..self }
    }
}

#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct CumSum(Direction);

impl Linear for CumSum {
    const NAME: &'static str = "cumsum";

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        scan::cumsum("cumsum", x, self.0.way(x.rank()))
    }

    fn makes(&self, x: &Operands<'_>) -> Option<Made> {
        self.0.makes::<1>(x, |dtype| dtype != DType::Bool)
    }

    fn transpose(&self, g: &Tensor, _: &Saved<'_>) -> Result<Tensor> {
        apply(LinearOp(CumSum(self.0.reversed())), &[g])
    }
}

/// Every element moved one step in the direction; zero at the start.
#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct Shift(Direction);

impl Linear for Shift {
    const NAME: &'static str = "shift";
    const TAKES_HALF: bool = true;

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        scan::shift("shift", x, self.0.way(x.rank()))
    }

    fn makes(&self, x: &Operands<'_>) -> Option<Made> {
        self.0.makes::<1>(x, |_| true)
    }

    fn transpose(&self, g: &Tensor, _: &Saved<'_>) -> Result<Tensor> {
        shift(g, self.0.reversed())
    }
}

fn shift(x: &Tensor, direction: Direction) -> Result<Tensor> {
    apply(LinearOp(Shift(direction)), &[x])
}

/// Every element moved one step up an axis, counted from the end, or down if `reverse`; zero at the start.
pub(in crate::ops) fn shift_axis(x: &Tensor, back: usize, reverse: bool) -> Result<Tensor> {
    shift(x, Direction { back, reverse })
}

/// The recurrence `h[k] = b[k] + c h[k-1]` of inputs `a`, `b`, where `c` is `a[k]` if `own`, else `a[k-1]`.
#[derive(Clone, Copy, Stored)]
#[stored(op)]
struct Recur {
    direction: Direction,
    own: bool,
}

impl Recur {
    fn of(self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        apply(self, &[a, b])
    }
}

impl Op for Recur {
    fn name(&self) -> &'static str {
        "recur"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let (a, b) = broadcast::broadcast_batch_pair(ins[0], ins[1], batch_ndim);
        Ok([scan::linear_recurrence("cumprod", &a, &b, self.direction.way(b.rank()), self.own)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        self.direction.makes::<2>(ins, DType::is_differentiable)
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        Saves::inputs(1).and(Saves::outputs(1).when(needs.has(0)))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        // The gradient is the recurrence with the same coefficients in the other direction.
        let flow = Recur { direction: self.direction.reversed(), own: !self.own }.of(&s.input(0), g)?;
        let da = || -> Result<Tensor> {
            let h = s.output(0);
            Ok(if self.own {
                &flow * shift(&h, self.direction)?
            } else {
                h * shift(&flow, self.direction.reversed())?
            })
        };
        let da = s.needs(0).then(da).transpose()?;
        Ok(smallvec![da, Some(flow)])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let by_a = |t: &Tensor| -> Result<Tensor> {
            let h = s.output(0);
            Ok(if self.own { t * shift(&h, self.direction)? } else { shift(&(t * h), self.direction)? })
        };
        let a = t[0].as_ref().map(by_a).transpose()?;
        let sum = add_terms([a, t[1].clone()]);
        Ok(smallvec![sum.map(|b| self.of(&s.input(0), &b)).transpose()?])
    }
}

/// The products of the elements up to each one.
#[derive(Clone, Copy, Stored)]
#[stored(op)]
struct CumProd(Direction);

impl CumProd {
    /// The product `z` of the elements before each one, given that up to each.
    fn before(self, z: &Tensor) -> Result<Tensor> {
        let CumProd(direction) = self;
        let mut dims = Dims::from_elem(1, z.rank());
        dims[z.rank() - direction.back] = z.dims()[z.rank() - direction.back];
        let start = dispatch!(z.dtype(), all T => {
            Array::build::<T>("cumprod", &dims, |one| {
                one.fill(T::default());
                let first = if direction.reverse { one.last_mut() } else { one.first_mut() };
                first.into_iter().for_each(|v| *v = crate::dtype::Element::from_i64(1));
            })
        })?;
        Ok(shift(z, direction)? + Tensor::constant(start))
    }
}

impl Op for CumProd {
    fn name(&self) -> &'static str {
        "cumprod"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([scan::cumprod("cumprod", ins[0], self.0.way(ins[0].rank()))?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        self.0.makes::<1>(ins, |dtype| dtype != DType::Bool)
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(1).and(Saves::outputs(1))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        let flow = Recur { direction: self.0.reversed(), own: false }.of(&s.input(0), g)?;
        Ok(smallvec![Some(flow * self.before(&s.output(0))?)])
    }

    fn vjp_of_integers(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        in_floats(self, g, s)
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let t = only(t);
        let by_own = t * self.before(&s.output(0))?;
        Ok(smallvec![Some(Recur { direction: self.0, own: true }.of(&s.input(0), &by_own)?)])
    }
}

/// The product of the elements before each one along an axis (`back` from the end); of those after it, if `reverse`.
pub(in crate::ops) fn before(x: &Tensor, back: usize, reverse: bool) -> Result<Tensor> {
    let op = CumProd(Direction { back, reverse });
    op.before(&apply(op, &[x])?)
}

/// The tensor and the axis counted from the end; without an axis, the flattened tensor.
fn along_axis(op: &'static str, x: &Tensor, axis: Option<i64>) -> Result<(Tensor, usize)> {
    match axis {
        Some(a) => Ok((x.clone(), x.rank() - shape::axis(op, a, x.rank())?)),
        None => Ok((reshape_to(x, &[shape::len(x.dims())])?, 1)),
    }
}

/// The sums of the elements up to each one along an axis (of the flattened tensor by default). Truth values
/// and integers are summed in 64 bits.
///
/// ```python
/// >>> fg.cumsum(fg.tensor([1., 2., 3.])).tolist()
/// [1.0, 3.0, 6.0]
/// ```
#[op(in_place, paddle(SignedSums, TracksIntegers), torch(LaidInCOrder, SignedSums))]
pub fn cumsum(
    x: &Tensor,
    #[default(None)] axis: Option<i64>,
    #[default(None)] dtype: Option<DType>,
) -> Result<Tensor> {
    if dtype == Some(DType::Bool) {
        return in_bool(x, |x| cumsum(x, axis, None));
    }
    let (x, back) = along_axis("cumsum", x, axis)?;
    apply(LinearOp(CumSum(Direction { back, reverse: false })), &[&cast(&x, wide(dtype, x.dtype()))?])
}

/// The products of the elements up to each one along an axis (of the flattened tensor by default). Truth
/// values and integers are multiplied in 64 bits. Derivatives are exact with zeros.
///
/// ```python
/// >>> fg.cumprod(fg.tensor([1., 2., 3.])).tolist()
/// [1.0, 2.0, 6.0]
/// ```
#[op(in_place, paddle(SignedSums, TracksIntegers), torch(LaidInCOrder, SignedSums))]
pub fn cumprod(
    x: &Tensor,
    #[default(None)] axis: Option<i64>,
    #[default(None)] dtype: Option<DType>,
) -> Result<Tensor> {
    if dtype == Some(DType::Bool) {
        return in_bool(x, |x| cumprod(x, axis, None));
    }
    let (x, back) = along_axis("cumprod", x, axis)?;
    apply(CumProd(Direction { back, reverse: false }), &[&cast(&x, wide(dtype, x.dtype()))?])
}

/// The logarithm of the sum of the exponentials of the elements up to each one.
#[derive(Clone, Copy, Stored)]
#[stored(op)]
struct LogCumSumExp(Direction);

impl LogCumSumExp {
    /// `e^(z[k] - z[k+1])` in scan order, the factors of both recurrences; real ones are at most 1. The last one is not read.
    fn factors(self, z: &Tensor) -> Result<Tensor> {
        let next = shift(z, self.0.reversed())?;
        let zero = Tensor::scalar_of(z.dtype(), 0.0);
        // Where nothing has been added yet z is -inf, and the factor 0.
        let step = subtract_same(z, &next)?;
        if z.dtype().is_complex() {
            // The last factor may be too large for a number.
            let bounded = less_same(&real(&step.detach())?, &Tensor::scalar_of(z.dtype().real(), 80.0))?;
            let read = and_same(&isfinite(z)?, &bounded)?;
            return part(&read, true, &exp(&part(&read, true, &step)?)?);
        }
        let step = at_most(&step, &zero)?;
        select(&isfinite(z)?, &exp(&step)?, &zero)
    }

    /// `e^(x - z)`, the share of each element in the sum up to it.
    fn shares(x: &Tensor, z: &Tensor) -> Result<Tensor> {
        let zero = Tensor::scalar_of(z.dtype(), 0.0);
        select(&isfinite(z)?, &exp(&subtract_same(x, z)?)?, &zero)
    }
}

impl Op for LogCumSumExp {
    fn name(&self) -> &'static str {
        "logcumsumexp"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([scan::logcumsumexp("logcumsumexp", ins[0], self.0.way(ins[0].rank()))?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        self.0.makes::<1>(ins, DType::is_differentiable)
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(1).and(Saves::outputs(1))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let (x, z) = (s.input(0), s.output(0));
        let flow = Recur { direction: self.0.reversed(), own: true }.of(&self.factors(&z)?, only(g))?;
        Ok(smallvec![Some(flow * Self::shares(&x, &z)?)])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let (x, z) = (s.input(0), s.output(0));
        let own = only(t) * Self::shares(&x, &z)?;
        Ok(smallvec![Some(Recur { direction: self.0, own: false }.of(&self.factors(&z)?, &own)?)])
    }
}

/// The logarithms of the sums of the exponentials of the elements up to each one along an axis (of the flattened tensor by
/// default), without overflow.
///
/// ```python
/// >>> fg.logcumsumexp(fg.tensor([1000., -1000., -fg.inf])).tolist()
/// [1000.0, 1000.0, 1000.0]
/// ```
#[op(in_place, torch(LaidInCOrder))]
pub fn logcumsumexp(x: &Tensor, #[default(None)] axis: Option<i64>) -> Result<Tensor> {
    let (x, back) = along_axis("logcumsumexp", x, axis)?;
    apply(LogCumSumExp(Direction { back, reverse: false }), &[&*promoted_inexact(&x)?])
}

/// The largest or smallest element so far.
#[derive(Stored)]
#[stored(in WithIndicesOp)]
struct Running {
    op: &'static str,
    largest: bool,
    back: usize,
}

impl WithIndices for Running {
    fn name(&self) -> &'static str {
        self.op
    }

    fn back(&self) -> usize {
        self.back
    }

    fn choose(&self, ins: &[&Array]) -> Result<(Array, Array)> {
        let x = ins[0];
        extreme::cumulative(self.op, x, x.rank() - self.back, self.largest)
    }

    fn chosen(&self, ins: &Operands<'_>) -> Option<Dims> {
        let (dtype, dims) = ins.alike::<1>()?;
        let fits = (1..=dims.len()).contains(&self.back) && !dtype.is_complex();
        fits.then(|| dims.into())
    }
}

/// The largest element up to each one along an axis (of the flattened tensor by default) and (int64) where it
/// is, the latest of equal ones; the gradient goes there. A NaN stays.
///
/// ```python
/// >>> values, indices = fg.cummax(fg.tensor([2., 1., 3.]))
/// >>> values.tolist(), indices.tolist()
/// ([2.0, 2.0, 3.0], [0, 0, 2])
/// ```
#[op(method)]
pub fn cummax(x: &Tensor, #[default(None)] axis: Option<i64>) -> Result<(Tensor, Tensor)> {
    let (x, back) = along_axis("cummax", x, axis)?;
    with_indices(Running { op: "cummax", largest: true, back }, &[&x])
}

/// The smallest element up to each one along an axis (of the flattened tensor by default) and (int64) where
/// it is, the latest of equal ones; the gradient goes there. A NaN stays.
///
/// ```python
/// >>> values, indices = fg.cummin(fg.tensor([2., 1., 3.]))
/// >>> values.tolist(), indices.tolist()
/// ([2.0, 1.0, 1.0], [0, 1, 1])
/// ```
#[op(method)]
pub fn cummin(x: &Tensor, #[default(None)] axis: Option<i64>) -> Result<(Tensor, Tensor)> {
    let (x, back) = along_axis("cummin", x, axis)?;
    with_indices(Running { op: "cummin", largest: false, back }, &[&x])
}

/// The differences of neighbours along an axis, taken n times; for booleans, whether they differ. Unless n is 0, `prepend`
/// and `append` are joined to x along the axis first.
///
/// ```python
/// >>> fg.diff(fg.tensor([1., 4., 9.])).tolist()
/// [3.0, 5.0]
/// ```
#[op(method, torch(LaidAsImages))]
pub fn diff(
    x: &Tensor,
    #[default(1)] n: i64,
    #[default(-1)] axis: i64,
    #[default(None)] prepend: Option<&Tensor>,
    #[default(None)] append: Option<&Tensor>,
) -> Result<Tensor> {
    const OP: &str = "diff";
    let at = shape::axis(OP, axis, x.rank())?;
    if n < 0 {
        bail!(Argument, OP, "order must be non-negative but got {n}");
    }
    if n == 0 {
        return Ok(x.clone());
    }
    let parts: Vec<Tensor> = [prepend, Some(x), append].into_iter().flatten().cloned().collect();
    let mut y = if parts.len() == 1 { x.clone() } else { concat(&parts, Some(at as i64))? };
    for _ in 0..n.min(y.dims()[at] as i64) {
        let short = y.dims()[at].saturating_sub(1) as i64;
        let (later, earlier) =
            (narrow(&y, at as i64, y.dims()[at].min(1) as i64, short)?, narrow(&y, at as i64, 0, short)?);
        y = if y.dtype() == DType::Bool {
            not_equal(Operand::Tensor(&later), Operand::Tensor(&earlier))?
        } else {
            subtract_same(&later, &earlier)?
        };
    }
    Ok(y)
}

/// The areas below the lines between neighbours along an axis.
fn trapezoids(op: &'static str, y: &Tensor, x: Option<&Tensor>, dx: f64, at: usize) -> Result<Tensor> {
    let y = promoted_inexact(y)?;
    let n = y.dims()[at];
    let part = |t: &Tensor, at: usize, first: usize| {
        narrow(t, at as i64, first.min(t.dims()[at]) as i64, t.dims()[at].saturating_sub(1) as i64)
    };
    let sums = add((&part(&y, at, 1)?).into(), (&part(&y, at, 0)?).into())?;
    let Some(x) = x else {
        return multiply((&sums).into(), (dx / 2.0).into());
    };
    // A vector of places lies along the axis; others broadcast.
    let x = match *x.dims() {
        [m] if m != n => bail!(Shape, op, "{m} places for {n} values"),
        [m] => {
            let mut dims = Dims::from_elem(1, y.rank() - at);
            dims[0] = m;
            reshape_to(x, &dims)?
        }
        _ => x.clone(),
    };
    let back = y.rank() - at;
    if x.rank() < back {
        bail!(Shape, op, "places of shape {:?} for values of shape {:?}", x.dims(), y.dims());
    }
    let on = x.rank() - back;
    let widths = subtract((&part(&x, on, 1)?).into(), (&part(&x, on, 0)?).into())?;
    multiply((&multiply((&sums).into(), (&widths).into())?).into(), 0.5.into())
}

/// The integral of the lines between neighbours along an axis, by the trapezoidal rule. The places are `x`, a vector or a
/// tensor that broadcasts, or `dx` apart.
///
/// ```python
/// >>> fg.trapezoid(fg.tensor([1., 3., 5.])).item()
/// 6.0
/// ```
#[op(function, names("trapezoid", "trapz"))]
pub fn trapezoid(
    y: &Tensor,
    #[default(None)] x: Option<&Tensor>,
    #[default(1.0)] dx: f64,
    #[default(-1)] axis: i64,
) -> Result<Tensor> {
    let at = shape::axis("trapezoid", axis, y.rank())?;
    let back = (y.rank() - at) as i64;
    sum(&trapezoids("trapezoid", y, x, dx, at)?, Some(&[-back]), false, None)
}

/// The integrals up to each element but the first, by the trapezoidal rule.
///
/// ```python
/// >>> fg.cumulative_trapezoid(fg.tensor([1., 3., 5.])).tolist()
/// [2.0, 6.0]
/// ```
#[op(function)]
pub fn cumulative_trapezoid(
    y: &Tensor,
    #[default(None)] x: Option<&Tensor>,
    #[default(1.0)] dx: f64,
    #[default(-1)] axis: i64,
) -> Result<Tensor> {
    let at = shape::axis("cumulative_trapezoid", axis, y.rank())?;
    let back = (y.rank() - at) as i64;
    cumsum(&trapezoids("cumulative_trapezoid", y, x, dx, at)?, Some(-back), None)
}
