//! Elements gathered, scattered and added up by position.

pub mod along_axis;
mod gather;
mod indexed;
mod positions;
mod scatter;

pub use gather::{pick, triangle};
pub use indexed::Rows;
pub use positions::{join, last, nonzero, unjoin};
pub use scatter::{add, put};
