//! Elements converted to another dtype.

use super::parts::real;
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::{Loops, Made, Operands, Saved, Tensor, apply};
use crate::kernel;
use crate::ops::entry::op;
use crate::ops::linear::{Linear, LinearOp};
use crate::stored::Stored;

#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct Cast(DType);

impl Linear for Cast {
    const NAME: &'static str = "cast";
    const TAKES_HALF: bool = true;

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        kernel::pointwise::cast::cast(x, self.0)
    }

    fn lower(&self, x: &Operands<'_>) -> Option<Loops> {
        kernel::pointwise::cast::row(*x.dtypes.first()?, self.0).map(Loops::Pointwise)
    }

    fn makes(&self, x: &Operands<'_>) -> Option<Made> {
        let (dtype, dims) = x.alike::<1>()?;
        let keeps_all = !dtype.is_complex() || self.0.is_complex() || self.0 == DType::Bool;
        if keeps_all { x.make(&[(self.0, &[dims])]) } else { None }
    }

    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        // A real value takes the real part of its cotangent.
        cast(&if s.dtype(0).is_complex() { g.clone() } else { real(g)? }, s.dtype(0))
    }
}

/// [`Cast`] of floats to integers that have a history.
#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct TrackedCast(DType);

impl Linear for TrackedCast {
    const NAME: &'static str = Cast::NAME;
    const TAKES_HALF: bool = Cast::TAKES_HALF;
    const GIVES_INTEGERS_HISTORY: bool = true;

    fn array(&self, x: &Array, batch_ndim: usize) -> Result<Array> {
        Cast(self.0).array(x, batch_ndim)
    }

    fn lower(&self, x: &Operands<'_>) -> Option<Loops> {
        Cast(self.0).lower(x)
    }

    fn makes(&self, x: &Operands<'_>) -> Option<Made> {
        Cast(self.0).makes(x)
    }

    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        Cast(self.0).transpose(g, s)
    }
}

/// The elements converted to another dtype as by [`cast`], where integers that are made of floats with a history go on
/// with it, as the dialect of Paddle has them. Their gradients are rounded towards 0.
///
/// # Errors
/// Those of [`cast`].
pub fn tracked_cast(x: &Tensor, dtype: DType) -> Result<Tensor> {
    let cuts = x.is_tracked() && x.dtype().is_float() && !dtype.is_differentiable();
    if cuts { apply(LinearOp(TrackedCast(dtype)), &[x]) } else { cast(x, dtype) }
}

/// The elements converted to another dtype. A float becomes an integer by cutting off its fraction. Complex numbers
/// become truth values or other complex numbers; a real dtype would lose the imaginary part, and is refused.
///
/// ```python
/// >>> fg.cast(fg.tensor([1.5, -1.5]), 'int64').numpy()
/// array([ 1, -1])
/// ```
#[op(
    method,
    names("cast", "astype"),
    half,
    reads_lent,
    light,
    paddle(GivesBack = "astype", TakesRealPart, TracksIntegers),
    torch(LaidAsOperand)
)]
pub fn cast(x: &Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype().is_complex() && !dtype.is_complex() && dtype != DType::Bool {
        bail!(
            Dtype,
            "cast",
            "{} to {dtype} discards the imaginary part: write real(x), imag(x) or abs(x) for the part that is meant",
            x.dtype()
        );
    }
    if x.dtype() == dtype { Ok(x.clone()) } else { apply(LinearOp(Cast(dtype)), &[x]) }
}
