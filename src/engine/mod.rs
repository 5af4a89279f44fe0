//! The backward pass: what is asked, the reachable graph laid out flat, and the run over it.

mod arena;
mod request;
mod run;

pub use request::{Answer, Request, backward, grad};
