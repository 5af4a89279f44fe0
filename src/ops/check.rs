//! Numbers that an op refuses. A check is an op without outputs, so a compiled program makes it in each run.

use crate::array::Array;
use crate::dtype::{DType, Ordered, dispatch};
use crate::error::{Result, bail};
use crate::graph::{Cotangents, Grads, NeedsGrad, Op, Outputs, Saved, Saves, Tensor, checked};
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
