//! What is made of runs: batching.

mod batch;

pub use batch::{batched, enter_at, leave_at, vmap};
