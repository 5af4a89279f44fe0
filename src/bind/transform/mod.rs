//! Batching and forward mode.

pub mod forward;
pub mod program;
pub mod vmap;
