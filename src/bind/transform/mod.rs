//! Batching and forward mode.

pub mod calls;
pub mod forward;
pub mod host;
pub mod program;
pub mod vmap;
