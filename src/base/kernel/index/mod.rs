//! Elements gathered, scattered and added up by position.

pub mod along_axis;
mod gather;
mod indexed;
mod places;
mod positions;
mod scatter;
pub mod weighted;

pub use gather::{gather, triangle};
pub use indexed::IndexedAxes;
pub use places::{Indexed, gather_kernel, join_kernel, scatter_add_kernel};
pub use positions::{last_occurrences, nonzero, ravel_indices, unravel_index};
pub use scatter::{extremes, scatter, scatter_add};
