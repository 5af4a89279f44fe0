//! Copies between strided layouts.

mod arrays;
mod strided;
mod transpose;

pub use arrays::assemble;
pub use strided::{copy, transposed};
