//! Matrix products over broadcast batches.

mod diagonal;
mod noted;
mod product;
mod tile;

pub use noted::kernel;
pub use product::{is_by_definition, matmul};
