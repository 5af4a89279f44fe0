//! Matrix products over broadcast batches.

mod diagonal;
mod product;
mod tile;

pub use product::{is_by_definition, matmul};
