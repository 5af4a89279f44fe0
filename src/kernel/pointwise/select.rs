//! A truth value chooses between two elements. Works on element size, never on dtype.

use crate::array::{Array, by_size};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernel::pointwise::ternary;

/// The elements of `x` where `condition` (of truth values) holds, else those of `y`, which has the dtype of `x`.
/// `lanes` leading axes are matched from the left, the others broadcast from the right.
pub fn select(op: &'static str, condition: &Array, x: &Array, y: &Array, lanes: usize) -> Result<Array> {
    assert!(
        condition.dtype() == DType::Bool && x.dtype() == y.dtype(),
        "{op}: the dtypes were promoted before"
    );
    by_size!(x.dtype().size(), T => {
        ternary::apply_raw(op, x.dtype(), [condition, x, y], lanes, &|n, from, steps, out| {
            // SAFETY: the elements that are given have this size.
            unsafe { ternary::zip3(#[inline(always)] |c: u8, x: T, y: T| if c != 0 { x } else { y }, n, from, steps, out) }
        })
    })
}
