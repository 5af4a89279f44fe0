//! Selection of elements by truth values. Depends on the size of elements, not on their dtype.

use crate::array::{Array, by_size};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernel::pointwise::ternary;

/// The elements of `x` where `condition` (of dtype bool) holds, else those of `y`, which has the dtype of `x`. The
/// first `batch_ndim` axes are matched from the left, the others broadcast from the right.
pub fn select(op: &'static str, condition: &Array, x: &Array, y: &Array, batch_ndim: usize) -> Result<Array> {
    assert!(
        condition.dtype() == DType::Bool && x.dtype() == y.dtype(),
        "{op}: the dtypes were promoted before"
    );
    by_size!(x.dtype().size(), T => {
        ternary::apply_raw(op, x.dtype(), [condition, x, y], batch_ndim, &|n, from, steps, out| {
            // SAFETY: the elements have the size of `T`, and `apply_raw` passes as many as it says.
            unsafe { ternary::zip3(#[inline(always)] |c: u8, x: T, y: T| if c != 0 { x } else { y }, n, from, steps, out) }
        })
    })
}
