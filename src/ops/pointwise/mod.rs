//! Functions that treat each element by itself.

pub mod activation;
pub mod arithmetic;
pub(super) mod binary;
pub mod close;
pub mod compare;
pub mod complex;
pub mod elementary;
pub mod fused;
pub(super) mod hypot;
pub mod incomplete;
pub(super) mod parametrised;
pub(super) mod polar;
pub mod relu;
pub mod remainder;
pub(super) mod safe;
pub mod select;
pub mod special;
pub(super) mod unary;

pub use elementary::*;
