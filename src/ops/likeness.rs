//! Lengths of vectors and what is between them.

use super::arithmetic::{add, multiply, multiply_same, subtract};
use super::entry::{Operand, entries};
use super::promote::{Class, promoted, promoted_float};
use super::reduce::norm::norm;
use super::reduce::sum;
use super::select::at_least;
use crate::error::Result;
use crate::graph::Tensor;
use crate::ops::entry::Order;

/// The lengths of the vectors along an axis, which stays, and at least `least`.
fn lengths(x: &Tensor, p: f64, axis: i64, least: f64) -> Result<Tensor> {
    let n = norm(x, Order::Number(p), Some(&[axis]), true)?;
    at_least(&n, &Tensor::scalar_of(n.dtype(), least))
}

/// Vectors divided by their lengths.
pub fn normalize(x: &Tensor, p: f64, axis: i64, eps: f64) -> Result<Tensor> {
    let x = &*promoted_float(x)?;
    Ok(x / lengths(x, p, axis, eps)?)
}

/// The cosine of the angle between vectors.
pub fn cosine_similarity(x: &Tensor, y: &Tensor, axis: i64, eps: f64) -> Result<Tensor> {
    let (x, y) = promoted(Class::Real, x.into(), y.into())?;
    let unit = |v: &Tensor| -> Result<Tensor> { Ok(v / lengths(v, 2.0, axis, eps)?) };
    sum(&multiply_same(&unit(&x)?, &unit(&y)?)?, Some(&[axis]), false, None)
}

/// The lengths of the differences along the last axis.
pub fn pairwise_distance(x: &Tensor, y: &Tensor, p: f64, eps: f64, keepdims: bool) -> Result<Tensor> {
    let d = subtract(x.into(), y.into())?;
    let d = &*promoted_float(&d)? + eps;
    norm(&d, Order::Number(p), Some(&[-1]), keepdims)
}

/// The length of the difference of all elements.
pub fn dist(x: &Tensor, y: &Tensor, p: f64) -> Result<Tensor> {
    norm(&subtract(x.into(), y.into())?, Order::Number(p), None, false)
}

/// `x` moved towards `y` by a share of the way.
pub fn lerp(x: &Tensor, y: Operand<'_>, weight: Operand<'_>) -> Result<Tensor> {
    let way = subtract(y, x.into())?;
    add(x.into(), Operand::Tensor(&multiply(weight, Operand::Tensor(&way))?))
}

entries! {
    function normalize (x: &Tensor, p: f64 = Float(2.0), axis: i64 = Int(1), eps: f64 = Float(1e-12))
        "Vectors along an axis divided by their p-norm, which counts as `eps` where it is less.

>>> fg.normalize(fg.tensor([[3., 4.]])).tolist()
[[0.6000000238418579, 0.800000011920929]]";
    function cosine_similarity (x: &Tensor, y: &Tensor, axis: i64 = Int(1), eps: f64 = Float(1e-8))
        "The cosine of the angle between vectors along an axis: the product of x / max(|x|, eps) and y / max(|y|, eps).
The shapes broadcast.

>>> fg.cosine_similarity(fg.tensor([[3., 4.]]), fg.tensor([[4., 3.]])).tolist()
[0.9600000381469727]";
    function pairwise_distance (x: &Tensor, y: &Tensor, p: f64 = Float(2.0), eps: f64 = Float(1e-6), keepdims: bool = False)
        "The p-norms of x - y + eps along the last axis. The shapes broadcast.

>>> fg.pairwise_distance(fg.tensor([3., 4.]), fg.tensor([0., 0.]), eps=0.0).item()
5.0";
    method dist (x: &Tensor, y: &Tensor, p: f64 = Float(2.0))
        "The p-norm of all elements of x - y. The shapes broadcast.

>>> fg.dist(fg.tensor([3., 4.]), fg.tensor([0., 0.])).item()
5.0";
    twin lerp (x: &Tensor, y: Operand<'_>, weight: Operand<'_>)
        "x + weight * (y - x): x for weight 0, y for weight 1. The shapes broadcast.

>>> fg.lerp(fg.tensor([1.0, 2.0]), fg.tensor([3.0, 4.0]), 0.5).tolist()
[2.0, 3.0]";
}
