//! Passes over recorded graphs: the request, the reachable graph laid out flat, backward and forward passes over it,
//! and snapshots of it as plain data.

mod arena;
mod backward;
mod checks;
mod differentiating;
mod forward;
mod interrupt;
mod parallel;
mod pass;
mod queue;
mod reach;
mod request;
mod snapshot;
mod sum;
mod taylor;

pub use backward::{Gradients, backward, grad};
pub use differentiating::{By, Differentiating, differentiated_by, hold, is_transformed};
pub use forward::push;
pub use pass::single;
pub use reach::{reaches_around, reaches_other_leaves};
pub use request::{Answer, Reached, Request, conjugated, seed};
pub use snapshot::{GraphSnapshot, NodeSnapshot, OutputIndex, detach_reasons, snapshot};
pub use taylor::taylor;
