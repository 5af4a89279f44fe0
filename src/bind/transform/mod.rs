//! Batching and forward mode.

pub mod callback;
pub mod calls;
pub mod control;
pub mod forward;
pub mod host;
pub mod print;
pub mod program;
pub mod saved;
pub mod seen;
pub mod vmap;
