//! Elements copied from one strided place to another.

mod arrays;
mod strided;
mod transpose;

pub use arrays::assemble;
pub use strided::{copy, transposed};
