//! Functions of three tensors that are computed in one pass where no gradient is recorded.

use std::borrow::Cow;

use smallvec::smallvec;

use super::arithmetic::{add, divide, multiply};
use super::compare::less_same;
use super::elementary::abs;
use super::select::select;
use crate::array::{Array, Item};
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Loops, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply, only,
    stored_pass, unrecorded_pass,
};
use crate::kernel::pointwise::row::Pass;
use crate::kernel::pointwise::ternary::{TernaryLoops, ternary_loops};
use crate::ops::entry::{Operand, op};
use crate::ops::promote::{Class, promoted};
use crate::ops::terms::add_terms;
use crate::stored::Stored;

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

/// The way from input 0 to input 1, as far as input 2 says: `(1 - w) x + w y`, which is computed from the end that is nearer.
#[derive(Stored)]
#[stored(op)]
struct Lerp;

impl Lerp {
    const TABLE: &TernaryLoops = ternary_loops!(x, y, w; p => {
        let (way, rest) = (y.sub(x), p[0].sub(w));
        // An infinite end counts for nothing where its weight is zero.
        let part = |w: T, x: T| if w == p[2] && !x.nan() { p[2] } else { w.mul(x) };
        match (way.is_finite(), w < p[1]) {
            (false, _) => part(rest, x).add(part(w, y)),
            (true, true) => x.add(w.mul(way)),
            (true, false) => y.sub(way.mul(rest)),
        }
    });
    const PASS: Pass = Pass::Ternary(Lerp::TABLE, [1.0, 0.5, 0.0]);
}

impl Op for Lerp {
    fn name(&self) -> &'static str {
        "lerp"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        Ok([Lerp::PASS.apply("lerp", ins, batch_ndim)?].into())
    }

    fn is_pointwise(&self) -> bool {
        true
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        Lerp::PASS.row(ins.dtypes).map(Loops::Pointwise)
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        Saves::inputs(3).when(needs.has(2)).and(Saves::inputs(4).when(needs.has(0) || needs.has(1)))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        let x = s.needs(0).then(|| g * (1.0 - s.input(2)));
        let y = s.needs(1).then(|| g * s.input(2));
        let w = s.needs(2).then(|| g * (s.input(1) - s.input(0)));
        Ok(smallvec![x, y, w])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let x = t[0].as_ref().map(|t| t * (1.0 - s.input(2)));
        let y = t[1].as_ref().map(|t| t * s.input(2));
        let w = t[2].as_ref().map(|t| t * (s.input(1) - s.input(0)));
        Ok(smallvec![add_terms([x, y, w])])
    }
}

/// [`lerp`] of floats of one dtype.
pub(in crate::ops) fn lerp_same(x: &Tensor, y: &Tensor, weight: &Tensor) -> Result<Tensor> {
    apply(Lerp, &[x, y, weight])
}

/// (1 - weight) * x + weight * y: x for weight 0, y for weight 1, also where the other one is infinite. The shapes
/// broadcast.
///
/// ```python
/// >>> fg.lerp(fg.tensor([1.0, 2.0]), fg.tensor([3.0, 4.0]), 0.5).tolist()
/// [2.0, 3.0]
/// ```
#[op(in_place)]
pub fn lerp(x: &Tensor, y: Operand<'_>, weight: Operand<'_>) -> Result<Tensor> {
    let (first, _) = promoted(Class::Num, x.into(), y)?;
    let (first, w) = promoted(Class::Num, (&*first).into(), weight)?;
    let (first, y) = promoted(Class::Num, (&*first).into(), y)?;
    if first.dtype().is_float() {
        return lerp_same(&first, &y, &w);
    }
    let way = &(&*y - &*first);
    let near = &*first + &*w * way;
    if !first.dtype().is_complex() {
        return Ok(near);
    }
    let is_near = less_same(&abs(&w)?, &Tensor::scalar_of(w.dtype().real(), 0.5))?;
    select(&is_near, &near, &(&*y - way * (1.0 - &*w)))
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
