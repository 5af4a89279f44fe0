//! Matrix products over broadcast batches.

mod definition;
mod diagonal;
mod integers;
mod noted;
mod product;
mod rounded;
mod tile;

pub use noted::kernel;
pub use product::{is_by_definition, matmul, rounded_matmul};
pub use rounded::{is_fast, pairs};
