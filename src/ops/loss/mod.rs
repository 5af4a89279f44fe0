//! Losses.

pub mod cross_entropy;
pub mod elementwise;
pub(super) mod reduction;
