//! Functions of three tensors that are computed in one pass where no gradient is recorded.

use std::borrow::Cow;

use super::arithmetic::{add, divide, multiply, subtract};
use crate::array::Item;
use crate::error::Result;
use crate::graph::{Tensor, stored_pass, unrecorded_pass};
use crate::kernel::pointwise::row::Pass;
use crate::kernel::pointwise::ternary::{TernaryLoops, ternary_loops};
use crate::ops::entry::{Operand, op};

/// One pass over three operands, if they are floats of one dtype and none is recorded; else None. The result
/// is that of the ops.
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
        Operand::Number(n) => Some(Cow::Owned(Tensor::scalar_of(x.dtype(), n.to_f64()?))),
    });
    if !x.dtype().is_float() {
        return None;
    }
    unrecorded_pass(op, &[x, &*y?, &*z?], Pass::Ternary(table, [p, 0.0, 0.0]))
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
    stored_pass!(Ternary "lerp" => TABLE);
    if let Some(moved) = in_one_pass("lerp", TABLE, x, [y, weight], 0.0) {
        return moved;
    }
    let way = subtract(y, x.into())?;
    add(x.into(), Operand::Tensor(&multiply(weight, Operand::Tensor(&way))?))
}

/// `x + value · part(y, z)`, in one pass by `table` if nothing is recorded.
fn add_scaled(
    op: &'static str,
    table: &'static TernaryLoops,
    part: impl Fn(Operand<'_>, Operand<'_>) -> Result<Tensor>,
    x: &Tensor,
    [y, z]: [Operand<'_>; 2],
    value: Operand<'_>,
) -> Result<Tensor> {
    if let Operand::Number(v) = value
        && let Some(v) = v.to_f64()
        && let Some(sum) = in_one_pass(op, table, x, [y, z], v)
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
    stored_pass!(Ternary "addcmul" => TABLE);
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
    stored_pass!(Ternary "addcdiv" => TABLE);
    add_scaled("addcdiv", TABLE, divide, x, [y, z], value)
}
