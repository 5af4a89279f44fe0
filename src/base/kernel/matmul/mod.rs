//! Matrix products over broadcast batches.

mod definition;
mod diagonal;
mod integers;
mod noted;
mod product;
mod tile;

pub use noted::kernel;
pub use product::{is_by_definition, matmul};
