//! Elements picked by position, and written there.

mod along;
mod expression;
mod groups;
mod mask;
mod places;
mod rows;
mod write;

use crate::graph::Tensor;

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
