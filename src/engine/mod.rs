//! The backward pass: what is asked, the reachable graph laid out flat, and the run over it.

mod arena;
mod parallel;
mod pass;
mod request;
mod run;
mod sum;
mod tick;

pub use request::{Answer, Request, backward, grad};
