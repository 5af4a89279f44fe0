//! Passes over the record: what is asked, the reachable graph laid out flat, the run over it backwards or forwards,
//! and its picture.

mod arena;
mod beyond;
mod dump;
mod forward;
mod parallel;
mod pass;
mod request;
mod run;
mod sum;
mod tick;

pub use beyond::leads_beyond;
pub use dump::{Dump, camel_case, dump, gradient_name};
pub use forward::push;
pub use request::{Answer, Request, backward, grad};
