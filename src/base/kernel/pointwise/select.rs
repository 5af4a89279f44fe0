//! Selection of elements by truth values. Depends on the size of elements, not on their dtype.

use crate::array::{Array, by_size};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernel::pointwise::expressions::SELECT;
use crate::kernel::pointwise::row::{Loop, Row};
use crate::kernel::pointwise::ternary::{self, TernaryLoop};

/// The elements of `x` where `condition` (of dtype bool) holds, else those of `y`, which has the dtype of `x`. The
/// first `batch_ndim` axes are matched from the left, the others broadcast from the right.
pub fn select(op: &'static str, condition: &Array, x: &Array, y: &Array, batch_ndim: usize) -> Result<Array> {
    assert!(
        condition.dtype() == DType::Bool && x.dtype() == y.dtype(),
        "{op}: the dtypes were promoted before"
    );
    let apply = select_loop(x.dtype());
    ternary::apply_raw(op, x.dtype(), [condition, x, y], batch_ndim, &|n, from, steps, out| {
        // SAFETY: the loop is that of the dtype, and `apply_raw` passes as many elements as it says.
        unsafe { apply(n, from, steps, out, &[0.0; 3]) }
    })
}

/// The selection among elements of a dtype by truth values.
pub fn row(dtype: DType) -> Row {
    Row::new(Loop::Ternary(select_loop(dtype)), SELECT, [0.0; 3], dtype, dtype)
}

fn select_loop(dtype: DType) -> TernaryLoop {
    by_size!(dtype.size(), T => {
        // SAFETY: the caller passes elements of the size of `T`, and as many as it says.
        |n, from, steps, out, _| unsafe {
            ternary::zip3(#[inline(always)] |c: u8, x: T, y: T| if c != 0 { x } else { y }, n, from, steps, out)
        }
    })
}
