//! Sequences: computations that run one after the other. Where each puts its results is planned once, so that a run makes
//! no arrays but those that somebody reads afterwards.

mod arrays;
mod items;
mod plan;
mod run;
mod scratch;
mod serial;
mod split;
mod steps;

pub use arrays::{Arrays, Kind, Out};
pub use items::{Item, Kernel, Part, Source, Times, Writes};
pub use run::{Failure, Sequence};
pub use split::Loop;
pub use steps::{From, Out as StepOut, Steps};
