//! Gradients: what Python asks of the engine, and what a tensor says of its gradient.

pub mod backward;
pub mod callbacks;
pub mod endpoint;
pub mod methods;
pub mod run;
pub mod snapshot;
pub mod tracking;
