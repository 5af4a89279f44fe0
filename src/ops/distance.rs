//! Vectors normalised to length 1, and distances and angles between vectors.

use super::entry::{Order, op};
use super::promote::{Class, promoted, promoted_float};
use crate::error::Result;
use crate::graph::Tensor;
use crate::ops::pointwise::arithmetic::{multiply_same, subtract};
use crate::ops::pointwise::select::at_least;
use crate::ops::reduce::{norm, sum};

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
#[op(function)]
pub fn normalize(
    x: &Tensor,
    #[default(2.0)] p: f64,
    #[default(1)] axis: i64,
    #[default(1e-12)] eps: f64,
) -> Result<Tensor> {
    let x = &*promoted_float(x)?;
    Ok(x / lengths(x, p, axis, eps)?)
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
    let (x, y) = promoted(Class::Real, x.into(), y.into())?;
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
    let d = subtract(x.into(), y.into())?;
    let d = &*promoted_float(&d)? + eps;
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
    norm(&subtract(x.into(), y.into())?, Order::Number(p), None, false)
}
