//! Batching and forward mode.

pub mod forward;
pub mod vmap;
