//! `where` and `clip`.

use smallvec::smallvec;

use super::binary::binary_rows;
use super::compare::less_same;
use super::parametrised::{parametrised, parametrised_rows};
use crate::array::{Array, Item};
use crate::dtype::{DType, DTypeKind};
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Loops, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply, only,
    stored_pass, unrecorded_pass,
};
use crate::kernel;
use crate::kernel::pointwise::row::Pass;
use crate::kernel::pointwise::ternary::{TernaryLoops, ternary_loops};
use crate::ops::entry::{Operand, op};
use crate::ops::movement::cast;
use crate::ops::promote::{Class, as_tensor, common, promoted, range};
use crate::stored::Stored;

/// Inputs: the condition (truth values), and two tensors of one dtype.
#[derive(Stored)]
#[stored(op)]
struct Select;

/// `g` where the condition holds (or where it does not), else 0.
pub(in crate::ops) fn part(condition: &Tensor, holds: bool, g: &Tensor) -> Result<Tensor> {
    let zero = Tensor::scalar_of(g.dtype(), 0.0);
    if holds { select(condition, g, &zero) } else { select(condition, &zero, g) }
}

impl Op for Select {
    fn name(&self) -> &'static str {
        "where"
    }

    fn takes_half(&self) -> bool {
        true
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        Ok([kernel::pointwise::select::select("where", ins[0], ins[1], ins[2], batch_ndim)?].into())
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        Some(Loops::Pointwise(kernel::pointwise::select::row(*ins.dtypes.get(1)?)))
    }

    fn carries_integers(&self) -> u64 {
        0b110
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(1)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        let c = s.input(0);
        let by = |i: usize| s.needs(i).then(|| part(&c, i == 1, g)).transpose();
        Ok(smallvec![None, by(1)?, by(2)?])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let c = s.input(0);
        Ok(smallvec![match (&t[1], &t[2]) {
            (Some(x), Some(y)) => Some(select(&c, x, y)?),
            (Some(x), None) => Some(part(&c, true, x)?),
            (None, Some(y)) => Some(part(&c, false, y)?),
            (None, None) => None,
        }])
    }
}

/// The elements of `x` where the condition (of truth values) holds, else those of `y`, which has the dtype of `x`.
pub fn select(condition: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    apply(Select, &[condition, x, y])
}

/// The elements of x where the condition is not 0, else those of y. The shapes of all three broadcast, the
/// dtypes of x and y promote. The gradient of an element that was not chosen is 0, whatever arrives.
///
/// ```python
/// >>> fg.where(fg.tensor([True, False]), 1.0, fg.tensor([5.0, 6.0])).tolist()
/// [1.0, 6.0]
/// ```
#[op(function, names("where"), half, light, torch(LaidByElements, WrapsNegative))]
pub fn where_(condition: &Tensor, x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    let (x, y) = promoted(Class::Num, x, y)?;
    select(&cast(condition, DType::Bool)?, &x, &y)
}

binary_rows! {
    /// The larger of the two. If they are equal the gradient goes to the first.
    AtLeast at_least "clip", num x, y => if x < y || y.nan() { y } else { x };
        [x, y] g => part(&less_same(x, y)?, false, g)?; [x, y] g => part(&less_same(x, y)?, true, g)?;
    /// The smaller of the two. If they are equal the gradient goes to the first.
    AtMost at_most "clip", num x, y => if x > y || y.nan() { y } else { x };
        [x, y] g => part(&less_same(y, x)?, false, g)?; [x, y] g => part(&less_same(y, x)?, true, g)?;
}

parametrised_rows! {
    /// Clipped to `p[0]` and `p[1]`, with slope 1 at both.
    Clip "clip": plain x; p => {
            let y = if x < p[0] || p[0].nan() { p[0] } else { x };
            if y > p[1] || p[1].nan() { p[1] } else { y }
        };
        pass g, x; p => if x < p[0] || x > p[1] { T::ZERO } else { g };
        g => {
            let bound = |i: usize| Tensor::scalar_of(x.dtype(), p[i]);
            part(&less_same(x, &bound(0))?, false, &part(&less_same(&bound(1), x)?, false, g)?)?
        };
}

/// The elements of x kept between bounds, which are numbers, tensors that broadcast with x, or None. If the
/// bounds cross, max wins. The gradient is 1 inside and at the bounds; outside it goes to the bound.
///
/// ```python
/// >>> fg.clip(fg.tensor([-1.0, 0.5, 2.0]), 0, 1).tolist()
/// [0.0, 0.5, 1.0]
/// ```
#[op(in_place, names("clip", "clamp"), light, torch(NeedsOther))]
pub fn clip(
    x: &Tensor,
    #[default(None)] min: Option<Operand<'_>>,
    #[default(None)] max: Option<Operand<'_>>,
) -> Result<Tensor> {
    let mut dtype = x.dtype();
    for bound in [min, max].into_iter().flatten() {
        dtype = dtype.promote(common(x.into(), bound));
    }
    if dtype == DType::Bool {
        return cast(&clip(&cast(x, DType::I64)?, min, max)?, dtype);
    }
    let mut out = cast(x, dtype)?;
    let number = |bound: &Option<Operand<'_>>, open: f64| match bound {
        None => Some(open),
        Some(Operand::Number(item)) => item.to_f64(),
        Some(_) => None,
    };
    let bounds = number(&min, f64::NEG_INFINITY).zip(number(&max, f64::INFINITY));
    if let (Some((min, max)), true) = (bounds, dtype.is_float()) {
        return parametrised::<Clip>(&out, [min, max, 0.0]);
    }
    if let (Some(min), Some(max), true) = (min, max, dtype.is_float()) {
        const TABLE: &TernaryLoops = ternary_loops!(x, low, high; p => {
            let y = if x < low || low.nan() { low } else { x };
            if y > high || high.nan() { high } else { y }
        });
        stored_pass!(Ternary "clip" => TABLE);
        let (low, high) = (as_tensor(min, dtype)?, as_tensor(max, dtype)?);
        let one_pass = unrecorded_pass("clip", &[&out, &low, &high], Pass::Ternary(TABLE, [0.0; 3]));
        if let Some(kept) = one_pass {
            return kept;
        }
    }
    if let Some(min) = min {
        out = at_least(&out, &*as_tensor(within(min, dtype), dtype)?)?;
    }
    if let Some(max) = max {
        out = at_most(&out, &*as_tensor(within(max, dtype), dtype)?)?;
    }
    Ok(out)
}

/// A bound that the integer dtype cannot hold is replaced by the dtype's own bound, which changes nothing.
fn within(bound: Operand<'_>, dtype: DType) -> Operand<'_> {
    match bound {
        Operand::Number(Item::Int(i)) if dtype.kind() == DTypeKind::Int => {
            let (low, high) = range(dtype);
            Operand::Number(Item::Int(i.clamp(low, high)))
        }
        other => other,
    }
}
