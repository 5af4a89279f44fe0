//! Linear ops on one tensor that save nothing.

use smallvec::smallvec;

use crate::array::Array;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Loops, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply,
    only,
};
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// A linear op on one tensor that saves nothing: its array, and its transpose applied to a cotangent. Its
/// tangent is the op applied to the input's tangent.
pub(in crate::ops) trait Linear: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    /// See [`Op::takes_half`].
    const TAKES_HALF: bool = false;
    /// See [`Op::is_view`].
    const IS_VIEW: bool = false;
    /// See [`Op::gives_integers_history`].
    const GIVES_INTEGERS_HISTORY: bool = false;
    fn array(&self, x: &Array, batch_ndim: usize) -> Result<Array>;
    /// See [`Op::lower`].
    fn lower(&self, _x: &Operands<'_>) -> Option<Loops> {
        None
    }
    /// See [`Op::makes`].
    fn makes(&self, _x: &Operands<'_>) -> Option<Made> {
        None
    }
    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor>;
}

#[derive(Stored)]
pub(in crate::ops) struct LinearOp<L>(pub L);

impl<L: Linear> Op for LinearOp<L> {
    fn name(&self) -> &'static str {
        L::NAME
    }

    fn takes_half(&self) -> bool {
        L::TAKES_HALF
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        Ok([self.0.array(ins[0], batch_ndim)?].into())
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        ins.each::<1>()?;
        self.0.lower(ins)
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        self.0.makes(ins)
    }

    fn is_view(&self) -> bool {
        L::IS_VIEW
    }

    fn carries_integers(&self) -> u64 {
        1
    }

    fn gives_integers_history(&self) -> bool {
        L::GIVES_INTEGERS_HISTORY
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![Some(self.0.transpose(only(g), s)?)])
    }

    fn jvp(&self, t: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![Some(apply(LinearOp(self.0.clone()), &[only(t)])?)])
    }
}

/// The hidden axes of the shape `x` followed by `dims`.
#[inline]
pub(in crate::ops) fn with_hidden(x: &[usize], batch_ndim: usize, dims: &[usize]) -> Dims {
    let mut all = shape::dims(&x[..batch_ndim]);
    dims.iter().for_each(|&d| all.push(d));
    all
}
