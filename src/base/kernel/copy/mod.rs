//! Copies between strided layouts.

mod arrays;
mod index_map;
mod moves;
mod strided;
mod transpose;

pub use arrays::assemble;
pub use index_map::{IndexMap, Part};
pub use moves::Moves;
pub use strided::{Copying, copy, transposed};
