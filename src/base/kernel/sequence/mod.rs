//! Sequences: computations that run one after the other. Small results lie in memory that is planned once, by live ranges; others are
//! arrays, from when they are made to when nobody reads them any more.

mod arrays;
mod blocks;
mod items;
mod plan;
mod run;
mod scratch;
mod serial;
mod split;
mod steps;

pub use arrays::{Arrays, Kind, Out};
pub use items::{Item, Kernel, Part, Source, Times, Writes};
pub use plan::SMALL;
pub use run::{Failure, Sequence};
pub use split::Loop;
pub use steps::{From, Out as StepOut, Steps};
