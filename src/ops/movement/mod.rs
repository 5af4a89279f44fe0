//! Elements moved, repeated or given another type; nothing is computed.

pub(super) mod axes;
mod broadcast;
mod diagonal;
mod join;
mod pad;
pub(super) mod region;
mod shapes;
mod split;
pub(super) mod strided;

use smallvec::smallvec;

use super::entry::op;
use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Cotangents, Grads, NeedsGrad, Op, Outputs, Saved, Saves, Tangents, Tensor, apply, only};
use crate::kernel;
use crate::shape::Dims;

pub use axes::{matrix_transpose, moveaxis, permute_dims, swapaxes, transpose};
pub use broadcast::{broadcast_to, expand, meshgrid, tile};
pub use diagonal::{diagonal, tril, triu};
pub(super) use diagonal::{diagonal_of, on_diagonal};
pub use join::{concat, stack};
pub use pad::{flip, pad, roll};
pub use shapes::{expand_dims, flatten, reshape, reshape_to, squeeze};
pub use split::{split, split_sizes, unbind};
pub use strided::strided;

/// A linear op on one tensor that keeps nothing: the array, and its transpose applied to a cotangent. The tangent is
/// the op itself applied to the input's tangent.
pub(super) trait Linear: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    fn array(&self, x: &Array, lanes: usize) -> Result<Array>;
    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor>;
}

pub(super) struct LinearOp<L>(pub L);

impl<L: Linear> Op for LinearOp<L> {
    fn name(&self) -> &'static str {
        L::NAME
    }

    fn forward(&self, ins: &[&Array], lanes: usize) -> Result<Outputs> {
        Ok([self.0.array(ins[0], lanes)?].into())
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

/// The hidden axes of `x` followed by `dims`.
fn with_hidden(x: &Array, lanes: usize, dims: &[usize]) -> Dims {
    x.dims()[..lanes].iter().chain(dims).copied().collect()
}

#[derive(Clone)]
struct Cast(DType);

impl Linear for Cast {
    const NAME: &'static str = "cast";

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        kernel::pointwise::cast::cast(x, self.0)
    }

    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        cast(g, s.dtype(0))
    }
}

/// The elements converted to another dtype. A float becomes an integer by cutting off its fraction.
///
/// ```python
/// >>> fg.cast(fg.tensor([1.5, -1.5]), 'int64').numpy()
/// array([ 1, -1])
/// ```
#[op(method, names("cast", "astype"))]
pub fn cast(x: &Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype() == dtype { Ok(x.clone()) } else { apply(LinearOp(Cast(dtype)), &[x]) }
}
