//! Lengths of vectors and what is between them.

use std::borrow::Cow;

use super::arithmetic::{add, divide, multiply, multiply_same, subtract};
use super::entry::{Operand, entries};
use super::promote::{Class, promoted, promoted_float};
use super::reduce::norm::norm;
use super::reduce::sum;
use super::select::at_least;
use crate::array::Item;
use crate::error::Result;
use crate::graph::{Tensor, unrecorded};
use crate::kernel::pointwise::ternary::{self, Table, triple_table};
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

/// A row of three operands, where they are floats of one dtype that nobody follows: the same as by ops, in one pass.
fn in_one_pass(
    op: &'static str,
    table: &'static Table,
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

/// `x` moved towards `y` by a share of the way.
pub fn lerp(x: &Tensor, y: Operand<'_>, weight: Operand<'_>) -> Result<Tensor> {
    const TABLE: &Table = triple_table!(x, y, w; p => x.add(w.mul(y.sub(x))));
    if let Some(moved) = in_one_pass("lerp", TABLE, x, [y, weight], 0.0) {
        return moved;
    }
    let way = subtract(y, x.into())?;
    add(x.into(), Operand::Tensor(&multiply(weight, Operand::Tensor(&way))?))
}

/// `x` and a number times what two others make, which is a row and an op of theirs.
fn add_scaled(
    op: &'static str,
    table: &'static Table,
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

/// `x + value · y · z`.
pub fn addcmul(x: &Tensor, y: Operand<'_>, z: Operand<'_>, value: Operand<'_>) -> Result<Tensor> {
    const TABLE: &Table = triple_table!(x, y, z; p => x.add(y.mul(z).mul(p[0])));
    add_scaled("addcmul", TABLE, multiply, x, [y, z], value)
}

/// `x + value · y / z`.
pub fn addcdiv(x: &Tensor, y: Operand<'_>, z: Operand<'_>, value: Operand<'_>) -> Result<Tensor> {
    const TABLE: &Table = triple_table!(x, y, z; p => x.add(y.div(z).mul(p[0])));
    add_scaled("addcdiv", TABLE, divide, x, [y, z], value)
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
    twin addcmul (x: &Tensor, y: Operand<'_>, z: Operand<'_>, value: Operand<'_> = Int(1))
        "x + value * y * z. The shapes broadcast.

>>> fg.addcmul(fg.tensor([1.0, 2.0]), fg.tensor([3.0, 4.0]), 2.0, 0.5).tolist()
[4.0, 6.0]";
    twin addcdiv (x: &Tensor, y: Operand<'_>, z: Operand<'_>, value: Operand<'_> = Int(1))
        "x + value * y / z. The shapes broadcast.

>>> fg.addcdiv(fg.tensor([1.0, 2.0]), fg.tensor([3.0, 4.0]), 2.0, 2.0).tolist()
[4.0, 6.0]";
}
