//! Matrix products.

mod diagonal;
mod product;
mod tile;

pub use product::matmul;
