//! Batching and forward mode.

pub mod callback;
pub mod calls;
pub mod control;
pub mod forward;
pub mod host;
pub mod program;
pub mod vmap;
