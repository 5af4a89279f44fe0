//! Passes over the record: what is asked, the reachable graph laid out flat, the run over it backwards or forwards,
//! and what it looks like.

mod arena;
mod beyond;
mod forward;
mod parallel;
mod pass;
mod request;
mod run;
mod sum;
mod survey;
mod taylor;
mod tick;

pub use beyond::leads_beyond;
pub use forward::push;
pub use pass::single;
pub use request::{Answer, Reached, Request, backward, grad, seed};
pub use survey::{Place, Survey, Surveyed, cuts, survey};
pub use taylor::taylor;
