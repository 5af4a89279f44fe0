//! Losses.

pub mod cross_entropy;
pub mod elementwise;
pub mod paths;
pub(super) mod reduction;
