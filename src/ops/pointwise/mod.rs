//! Functions that treat each element by itself.

pub mod activation;
pub mod arithmetic;
pub(super) mod binary;
pub mod close;
pub mod compare;
pub mod elementary;
pub mod fused;
pub(super) mod parametrised;
pub mod relu;
pub mod select;
pub(super) mod unary;

pub use elementary::*;
