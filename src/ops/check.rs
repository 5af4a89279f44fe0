//! Numbers that are refused, and numbers by which the caller goes on. A check is an op without outputs, so a compiled
//! program makes it in each run. A decision is an op that says it in a shape, so a program runs where it is the same.

use crate::array::Array;
use crate::dtype::{Bool8, DType, Ordered, dispatch};
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tensor, apply, checked, modes,
};
use crate::shape::Dims;
use crate::stored::Stored;

/// What all numbers have to be.
#[derive(Clone, Copy, Stored)]
pub(in crate::ops) enum Test {
    /// Between 0 and 1, and not NaN.
    Unit,
    /// Not below 0. NaN is not.
    NotNegative,
    /// Not 0, nor as small as a rounding error.
    NotZero,
}

impl Test {
    fn holds(self, x: &Array) -> bool {
        let x = x.without_repeats();
        dispatch!(x.dtype(), float T => match self {
            Test::Unit => {
                let inside = |all: bool, &v: &T| all & (0.0..=1.0).contains(&v);
                match x.as_slice::<T>() {
                    // In blocks, whose loop has no branch.
                    Some(x) => x.chunks(1024).all(|part| part.iter().fold(true, inside)),
                    None => x.view::<T>().iter().fold(true, inside),
                }
            }
            Test::NotNegative => !x.view::<T>().iter().any(|v| v.to_f64() < 0.0),
            Test::NotZero => !x.view::<T>().iter().any(|v| v.to_f64().abs() < 1e-11),
        }, else dispatch!(x.dtype(), int T => match self {
            Test::NotNegative => !x.view::<T>().iter().any(|v| v.to_i64() < 0),
            Test::Unit | Test::NotZero => true,
        }, else true))
    }
}

/// Refuses numbers of its input.
#[derive(Stored)]
#[stored(op)]
struct Check {
    op: &'static str,
    test: Test,
    /// The text of the error, which is as short as a name, because files hold it.
    refusal: &'static str,
}

impl Op for Check {
    fn name(&self) -> &'static str {
        self.op
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        if !self.test.holds(ins[0]) {
            bail!(Argument, self.op, "{}", self.refusal);
        }
        Ok([].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        ins.each::<1>()?;
        Some(Made::new())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("it has no outputs")
    }
}

/// Refuses a tensor, hidden axes included, with a number for which a test does not hold.
pub(in crate::ops) fn all(op: &'static str, x: &Tensor, test: Test, refusal: &'static str) -> Result<()> {
    if x.dtype() == DType::Bool || x.dtype().is_unsigned() {
        return Ok(());
    }
    checked(Check { op, test, refusal }, x)
}

/// The result of an op that [decides](Op::decides): a number as the first size of an empty array.
pub(in crate::ops) fn decision(n: usize, batch_ndim: usize) -> Result<Outputs> {
    let dims: Dims = std::iter::repeat_n(1, batch_ndim).chain([n, 0]).collect();
    Ok([Array::zeros("decision", DType::I64, &dims)?].into())
}

/// The number that such an op decides on.
pub(in crate::ops) fn decided(op: impl Op, x: &Tensor) -> Result<usize> {
    let decide = || Ok(apply(op, &[&x.detach()])?.dims()[0]);
    match modes::trace() {
        Some(trace) => trace.decide(decide),
        None => decide(),
    }
}

/// Whether all truth values hold: 1 or 0, as a decision.
#[derive(Stored)]
#[stored(op)]
struct AllHold;

impl Op for AllHold {
    fn name(&self) -> &'static str {
        "all"
    }

    fn decides(&self) -> bool {
        true
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        decision(usize::from(ins[0].view::<Bool8>().iter().all(|v| v.0 != 0)), batch_ndim)
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("integers have no gradient")
    }
}

/// Whether no element of a tensor is zero, hidden axes included. A program that this thread traces is for the answer.
///
/// # Errors
/// For want of memory.
pub fn all_hold(x: &Tensor) -> Result<bool> {
    Ok(decided(AllHold, &crate::ops::movement::cast(&x.detach(), DType::Bool)?)? == 1)
}
