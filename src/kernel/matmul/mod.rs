//! Matrix products over broadcast batches.

mod diagonal;
mod product;
mod tile;

pub use product::matmul;
