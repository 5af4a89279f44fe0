//! Transforms of functions: vmap.

mod batch;

pub use batch::{batched, enter_at, leave_at, vmap};
