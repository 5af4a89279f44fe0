//! Elements copied from one strided place to another.

mod arrays;
mod strided;
mod transpose;

pub use arrays::place;
pub use strided::{copy, turned};
