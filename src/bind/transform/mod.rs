//! Batching, forward mode and compiled programs.

pub mod aliases;
pub mod callback;
pub mod calls;
pub mod control;
pub mod forward;
mod gradient;
pub mod host;
mod inputs;
pub mod print;
pub mod program;
pub mod result;
mod run;
pub mod saved;
pub mod seen;
mod traced;
pub mod tracer;
pub mod vmap;
