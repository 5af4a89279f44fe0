//! Python functions that are called during a backward pass, or when a node saves a tensor.

pub mod calls;
pub mod collector;
pub mod handle;
pub mod list;
pub mod methods;
pub mod multi;
pub mod retain;
pub mod saved;
