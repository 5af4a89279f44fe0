//! Elements read and written by index.

mod along;
mod expression;
mod groups;
mod mask;
mod places;
mod rows;
mod scatter_views;
mod slices;
pub mod weighted;
mod write;

pub(super) use along::take_along;
pub use along::{
    gather, index_add, index_select, put_along_axis, scatter, scatter_add, take, take_along_axis,
};
pub use expression::get;
pub use mask::{SIZE_DEPENDS, argwhere, masked_fill, masked_select, nonzero, one_hot};
pub(super) use places::line;
pub(super) use rows::add_at_places;
pub use rows::from_zero;
pub use slices::{narrow, select};
pub use write::{index_put, put, put_at, region};
