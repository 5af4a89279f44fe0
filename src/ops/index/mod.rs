//! Elements picked by position, and written there.

mod along;
mod expression;
mod groups;
mod mask;
mod places;
mod rows;
mod write;

use crate::graph::Tensor;
use crate::ops::Entry;
use crate::ops::entry::entries;

pub(super) use along::take_along;
pub use along::{
    gather, index_select, narrow, put_along_axis, scatter, scatter_add, select, take, take_along_axis,
};
pub use expression::get;
pub use mask::{argwhere, masked_fill, masked_select, nonzero, one_hot};
pub(super) use rows::add_at_places;
pub(super) use write::put_region;
pub use write::{index_put, put, put_at, region};

/// One part of an index expression `x[...]`.
#[derive(Clone)]
pub enum Index {
    Int(i64),
    Slice {
        start: Option<i64>,
        stop: Option<i64>,
        step: Option<i64>,
    },
    NewAxis,
    Ellipsis,
    /// Integers or truth values.
    Tensor(Tensor),
}

/// Every entry of the family.
pub(crate) const FAMILY: &[&[Entry]] = &[ENTRIES, along::ENTRIES, mask::ENTRIES];

entries! {
    twin index_put (x: &Tensor, indices: &[Index], value: crate::ops::Operand<'_>, accumulate: bool = False)
        "`x` with `value`, broadcast and cast to the dtype of `x`, written where `x[indices]` reads; with `accumulate` it is added instead, and positions named twice get both. Without it the last value written to a position stays.\n\n>>> i = fg.tensor([0, 2, 0])\n>>> fg.index_put(fg.zeros((3,)), (i,), 1.0, accumulate=True).numpy()\narray([2., 0., 1.], dtype=float32)";
}
