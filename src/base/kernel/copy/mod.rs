//! Copies between strided layouts.

mod arrays;
mod moves;
mod strided;
mod transpose;

pub use arrays::assemble;
pub use moves::Moves;
pub use strided::{Copying, copy, transposed};
