//! Reductions, scans and inner products along axes.

pub mod dot;
pub mod extreme;
mod half;
mod loops;
pub mod non_finite;
pub mod pairwise;
pub mod paths;
mod reduction;
pub mod scan;
pub mod tiles;

pub use loops::*;
pub use reduction::*;
