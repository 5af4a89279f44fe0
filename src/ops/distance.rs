//! Vectors normalised to length 1, and distances and angles between vectors.

use smallvec::smallvec;

use super::entry::{Order, op};
use super::promote::{Class, promoted, promoted_float, promoted_inexact};
use crate::array::Array;
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tensor, apply, only,
};
use crate::kernel::broadcast::{broadcast_batch, broadcast_batch_pair};
use crate::kernel::distance;
use crate::ops::contract::matmul;
use crate::ops::index::take_along;
use crate::ops::movement::{broadcast_to, expand_dims, matrix_transpose, reshape_to};
use crate::ops::pointwise::arithmetic::{difference, divide, multiply, multiply_same, subtract_same};
use crate::ops::pointwise::compare::less_equal;
use crate::ops::pointwise::select::{at_least, select};
use crate::ops::reduce::norm::ratio;
use crate::ops::reduce::{norm, sum};
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// The lengths of the vectors along an axis, which is kept, and at least `least`.
fn lengths(x: &Tensor, p: f64, axis: i64, least: f64) -> Result<Tensor> {
    let n = norm(x, Order::Number(p), Some(&[axis]), true)?;
    at_least(&n, &Tensor::scalar_of(n.dtype(), least))
}

/// Vectors along an axis divided by their p-norm, or by `eps` if that is larger.
///
/// ```python
/// >>> fg.normalize(fg.tensor([[3., 4.]])).tolist()
/// [[0.6000000238418579, 0.800000011920929]]
/// ```
#[op(function, torch(LaidByElements))]
pub fn normalize(
    x: &Tensor,
    #[default(2.0)] p: f64,
    #[default(1)] axis: i64,
    #[default(1e-12)] eps: f64,
) -> Result<Tensor> {
    let x = &*promoted_inexact(x)?;
    divide(x.into(), (&lengths(x, p, axis, eps)?).into())
}

/// The cosine of the angle between vectors along an axis: the product of x / max(|x|, eps) and y / max(|y|,
/// eps). The shapes broadcast.
///
/// ```python
/// >>> fg.cosine_similarity(fg.tensor([[3., 4.]]), fg.tensor([[4., 3.]])).tolist()
/// [0.9600000381469727]
/// ```
#[op(function)]
pub fn cosine_similarity(
    x: &Tensor,
    y: &Tensor,
    #[default(1)] axis: i64,
    #[default(1e-8)] eps: f64,
) -> Result<Tensor> {
    let (x, y) = promoted(Class::Float, x.into(), y.into())?;
    if x.rank() == 0 && y.rank() == 0 {
        let one = |t: &Tensor| reshape_to(t, &[1]);
        return cosine_similarity(&one(&x)?, &one(&y)?, axis, eps);
    }
    let dims = shape::broadcast("cosine_similarity", x.dims(), y.dims())?;
    let (x, y) = (broadcast_to(&x, &dims)?, broadcast_to(&y, &dims)?);
    let unit = |v: &Tensor| -> Result<Tensor> { Ok(v / lengths(v, 2.0, axis, eps)?) };
    sum(&multiply_same(&unit(&x)?, &unit(&y)?)?, Some(&[axis]), false, None)
}

/// The p-norms of x - y + eps along the last axis. The shapes broadcast.
///
/// ```python
/// >>> fg.pairwise_distance(fg.tensor([3., 4.]), fg.tensor([0., 0.]), eps=0.0).item()
/// 5.0
/// ```
#[op(function)]
pub fn pairwise_distance(
    x: &Tensor,
    y: &Tensor,
    #[default(2.0)] p: f64,
    #[default(1e-6)] eps: f64,
    #[default(false)] keepdims: bool,
) -> Result<Tensor> {
    let d = difference(x.into(), y.into())?;
    let d = &*promoted_inexact(&d)? + eps;
    norm(&d, Order::Number(p), Some(&[-1]), keepdims)
}

/// The p-norm of all elements of x - y. The shapes broadcast.
///
/// ```python
/// >>> fg.dist(fg.tensor([3., 4.]), fg.tensor([0., 0.])).item()
/// 5.0
/// ```
#[op(method)]
pub fn dist(x: &Tensor, y: &Tensor, #[default(2.0)] p: f64) -> Result<Tensor> {
    norm(&difference(x.into(), y.into())?, Order::Number(p), None, false)
}

/// The Euclidean distances of all pairs of rows of two tensors with the same axes before them.
#[derive(Stored)]
#[stored(op)]
struct Distances;

impl Op for Distances {
    fn name(&self) -> &'static str {
        "cdist"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let (x, y) = broadcast_batch_pair(ins[0], ins[1], batch_ndim);
        Ok([distance::euclidean(self.name(), &x, &y)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, [&[ref lead @ .., m, k], &[ref same @ .., n, width]]) = ins.of_one_dtype()? else {
            return None;
        };
        let fits = lead == same && k == width && dtype.is_float();
        if fits { ins.make(&[(dtype, &[lead, &[m, n]])]) } else { None }
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(3).and(Saves::outputs(1))
    }

    /// Of a distance that is 0 the derivative is 0.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let weights = ratio(only(g), &s.output(0))?;
        let (x, y) = (&s.input(0), &s.input(1));
        Ok(smallvec![
            s.needs(0).then(|| apply(Pulls, &[&weights, x, y])).transpose()?,
            s.needs(1).then(|| apply(Pulls, &[&matrix_transpose(&weights)?, y, x])).transpose()?,
        ])
    }
}

/// `Σⱼ w[…, i, j] (x[…, i, k] - y[…, j, k])`. The differences are not taken apart, because of near rows far from the origin
/// nothing would be left.
#[derive(Stored)]
#[stored(op)]
struct Pulls;

impl Op for Pulls {
    fn name(&self) -> &'static str {
        "cdist"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let [w, x, y] = broadcast_batch([ins[0], ins[1], ins[2]], batch_ndim);
        Ok([distance::pulls(self.name(), &w, &x, &y)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, [w, x, y]) = ins.of_one_dtype()?;
        let (&[ref lead @ .., m, k], &[ref same @ .., n, width]) = (x, y) else { return None };
        let fits = lead == same && k == width && dtype.is_float() && *w == *[lead, &[m, n]].concat();
        if fits { ins.make(&[(dtype, &[x])]) } else { None }
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        Saves::inputs(1).when(needs.has(1) || needs.has(2)).and(Saves::inputs(6).when(needs.has(0)))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        let of_weights = || {
            let differences = expand_dims(&s.input(1), &[-2])? - expand_dims(&s.input(2), &[-3])?;
            sum(&(expand_dims(g, &[-2])? * differences), Some(&[-1]), false, None)
        };
        Ok(smallvec![
            s.needs(0).then(of_weights).transpose()?,
            s.needs(1).then(|| sum(&s.input(0), Some(&[-1]), true, None)).transpose()?.map(|w| g * w),
            s.needs(2)
                .then(|| matmul((&matrix_transpose(&s.input(0))?).into(), g.into()))
                .transpose()?
                .map(|z| -z),
        ])
    }
}

/// The p-norms of the differences of all pairs of rows: `z[..., i, j] = norm(x[..., i, :] - y[..., j, :])`. The leading axes
/// broadcast. Its derivative at equal rows is 0.
///
/// ```python
/// >>> fg.cdist(fg.tensor([[3., 4.]]), fg.tensor([[0., 0.], [3., 0.]])).tolist()
/// [[5.0, 4.0]]
/// ```
#[op(function, heavy)]
pub fn cdist(x: &Tensor, y: &Tensor, #[default(2.0)] p: f64) -> Result<Tensor> {
    const OP: &str = "cdist";
    let (x, y) = promoted(Class::Real, x.into(), y.into())?;
    let (&[.., m], &[.., n]) = (x.dims(), y.dims()) else {
        bail!(Shape, OP, "{:?} and {:?} are not both shapes of matrices", x.dims(), y.dims());
    };
    if x.rank() < 2 || y.rank() < 2 || m != n || p.is_nan() || p < 0.0 {
        bail!(
            Argument,
            OP,
            "takes rows of one length and a p of 0 or more, not {:?}, {:?} and {p}",
            x.dims(),
            y.dims()
        );
    }
    if p == 2.0 {
        let lead = shape::broadcast(OP, &x.dims()[..x.rank() - 2], &y.dims()[..y.rank() - 2])?;
        let full = |t: &Tensor| {
            let dims: Dims = lead.iter().chain(&t.dims()[t.rank() - 2..]).copied().collect();
            broadcast_to(t, &dims)
        };
        return apply(Distances, &[&full(&x)?, &full(&y)?]);
    }
    let d = subtract_same(&expand_dims(&x, &[-2])?, &expand_dims(&y, &[-3])?)?;
    norm(&d, Order::Number(p), Some(&[-1]), false)
}

/// The p-norms of the differences of rows i and j of a matrix, for all i < j in order.
///
/// ```python
/// >>> fg.pdist(fg.tensor([[0., 0.], [3., 4.], [0., 1.]])).tolist()
/// [5.0, 1.0, 4.242640495300293]
/// ```
#[op(function, heavy)]
pub fn pdist(x: &Tensor, #[default(2.0)] p: f64) -> Result<Tensor> {
    const OP: &str = "pdist";
    let x = promoted_float(x)?;
    let &[n, _] = x.dims() else {
        bail!(Shape, OP, "{:?} is not the shape of a matrix", x.dims());
    };
    if p.is_nan() || p < 0.0 {
        bail!(Argument, OP, "p is 0 or more, not {p}");
    }
    let count = n * n.saturating_sub(1) / 2;
    let pairs = || (0..n).flat_map(move |i| (i + 1..n).map(move |j| (i as i64, j as i64)));
    let first = take_along(OP, &x, 0, count, pairs().map(|(i, _)| i))?;
    let second = take_along(OP, &x, 0, count, pairs().map(|(_, j)| j))?;
    norm(&subtract_same(&first, &second)?, Order::Number(p), Some(&[-1]), false)
}

/// The slices along an axis, those whose p-norm is greater than `maxnorm` scaled down to it.
///
/// ```python
/// >>> fg.renorm(fg.tensor([[3., 4.], [0., 1.]]), 1, 0, 7.0).tolist()
/// [[3.0, 4.0], [0.0, 1.0]]
/// ```
#[op(in_place, torch(LaidInCOrder))]
pub fn renorm(x: &Tensor, p: f64, axis: i64, maxnorm: f64) -> Result<Tensor> {
    const OP: &str = "renorm";
    let x = &*promoted_inexact(x)?;
    let axis = shape::axis(OP, axis, x.rank())?;
    if p.is_nan() || p <= 0.0 || maxnorm.is_nan() || maxnorm < 0.0 {
        bail!(Argument, OP, "p is above 0 and maxnorm 0 or more, not {p} and {maxnorm}");
    }
    let others: Vec<i64> = (0..x.rank()).filter(|&a| a != axis).map(|a| a as i64).collect();
    let lengths = norm(x, Order::Number(p), Some(&others), true)?;
    let number = |v| Tensor::scalar_of(lengths.dtype(), v);
    let small = less_equal((&lengths.detach()).into(), maxnorm.into())?;
    // The small number is torch's and keeps the quotient below `maxnorm`.
    let factor = select(&small, &number(1.0), &(maxnorm / (&lengths + 1e-7)))?;
    multiply(x.into(), (&factor).into())
}
