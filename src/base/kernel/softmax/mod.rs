//! Softmax and cross entropy, with their gradients.

mod exp;
mod last_axis;
mod shares;
mod strided_axis;

pub use last_axis::*;
