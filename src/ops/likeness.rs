//! Lengths of vectors and what is between them.

use std::borrow::Cow;

use super::arithmetic::{add, divide, multiply, multiply_same, subtract};
use super::entry::{Operand, op};
use super::promote::{Class, promoted, promoted_float};
use super::reduce::norm::norm;
use super::reduce::sum;
use super::select::at_least;
use crate::array::Item;
use crate::error::Result;
use crate::graph::{Tensor, unrecorded};
use crate::kernel::pointwise::ternary::{self, TernaryLoops, ternary_loops};
use crate::ops::entry::Order;

/// The lengths of the vectors along an axis, which stays, and at least `least`.
fn lengths(x: &Tensor, p: f64, axis: i64, least: f64) -> Result<Tensor> {
    let n = norm(x, Order::Number(p), Some(&[axis]), true)?;
    at_least(&n, &Tensor::scalar_of(n.dtype(), least))
}

/// Vectors along an axis divided by their p-norm, which counts as `eps` where it is less.
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

/// A row of three operands, where they are floats of one dtype that nobody follows: the same as by ops, in one pass.
fn in_one_pass(
    op: &'static str,
    table: &'static TernaryLoops,
    x: &Tensor,
    others: [Operand<'_>; 2],
    p: f64,
) -> Option<Result<Tensor>> {
    let [y, z] = others.map(|o| match o {
        Operand::Tensor(t) if t.dtype() == x.dtype() => Some(Cow::Borrowed(t)),
        Operand::Tensor(_) => None,
        Operand::Number(n) => Some(Cow::Owned(Tensor::scalar_of(x.dtype(), n.to_f64()))),
    });
    if !x.dtype().is_float() {
        return None;
    }
    unrecorded(op, &[x, &*y?, &*z?], move |ins, lanes| {
        ternary::apply(op, table, [ins[0], ins[1], ins[2]], lanes, &[p, 0.0, 0.0])
    })
}

/// x + weight * (y - x): x for weight 0, y for weight 1. The shapes broadcast.
///
/// ```python
/// >>> fg.lerp(fg.tensor([1.0, 2.0]), fg.tensor([3.0, 4.0]), 0.5).tolist()
/// [2.0, 3.0]
/// ```
#[op(in_place)]
pub fn lerp(x: &Tensor, y: Operand<'_>, weight: Operand<'_>) -> Result<Tensor> {
    const TABLE: &TernaryLoops = ternary_loops!(x, y, w; p => x.add(w.mul(y.sub(x))));
    if let Some(moved) = in_one_pass("lerp", TABLE, x, [y, weight], 0.0) {
        return moved;
    }
    let way = subtract(y, x.into())?;
    add(x.into(), Operand::Tensor(&multiply(weight, Operand::Tensor(&way))?))
}

/// `x` and a number times what two others make, which is a row and an op of theirs.
fn add_scaled(
    op: &'static str,
    table: &'static TernaryLoops,
    part: impl Fn(Operand<'_>, Operand<'_>) -> Result<Tensor>,
    x: &Tensor,
    [y, z]: [Operand<'_>; 2],
    value: Operand<'_>,
) -> Result<Tensor> {
    if let Operand::Number(v) = value
        && let Some(sum) = in_one_pass(op, table, x, [y, z], v.to_f64())
    {
        return sum;
    }
    let part = part(y, z)?;
    match value {
        Operand::Number(Item::Int(1)) => add(x.into(), Operand::Tensor(&part)),
        _ => add(x.into(), Operand::Tensor(&multiply(Operand::Tensor(&part), value)?)),
    }
}

/// x + value * y * z. The shapes broadcast.
///
/// ```python
/// >>> fg.addcmul(fg.tensor([1.0, 2.0]), fg.tensor([3.0, 4.0]), 2.0, 0.5).tolist()
/// [4.0, 6.0]
/// ```
#[op(in_place)]
pub fn addcmul(
    x: &Tensor,
    y: Operand<'_>,
    z: Operand<'_>,
    #[default(1)] value: Operand<'_>,
) -> Result<Tensor> {
    const TABLE: &TernaryLoops = ternary_loops!(x, y, z; p => x.add(y.mul(z).mul(p[0])));
    add_scaled("addcmul", TABLE, multiply, x, [y, z], value)
}

/// x + value * y / z. The shapes broadcast.
///
/// ```python
/// >>> fg.addcdiv(fg.tensor([1.0, 2.0]), fg.tensor([3.0, 4.0]), 2.0, 2.0).tolist()
/// [4.0, 6.0]
/// ```
#[op(in_place)]
pub fn addcdiv(
    x: &Tensor,
    y: Operand<'_>,
    z: Operand<'_>,
    #[default(1)] value: Operand<'_>,
) -> Result<Tensor> {
    const TABLE: &TernaryLoops = ternary_loops!(x, y, z; p => x.add(y.div(z).mul(p[0])));
    add_scaled("addcdiv", TABLE, divide, x, [y, z], value)
}
