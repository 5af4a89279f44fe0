//! Transforms of functions: vmap.

mod batch;
mod takers;

pub use batch::{batched, enter_at, leave_at, vmap};
pub use takers::{joined, takers};
