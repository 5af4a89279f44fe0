//! Numbers only: arrays in, array out. Nothing here knows of graphs or gradients.

pub(crate) mod along;
pub(crate) mod cast;
pub(crate) mod chunks;
mod columns;
pub(crate) mod conv;
pub(crate) mod copy;
mod diagonal;
pub(crate) mod division;
pub(crate) mod dot;
pub(crate) mod extreme;
pub(crate) mod fast;
pub mod finite;
mod fold;
pub(crate) mod index;
pub(crate) mod linalg;
pub(crate) mod map;
pub(crate) mod matmul;
pub(crate) mod norm;
pub(crate) mod num;
pub mod par;
pub(crate) mod pool;
pub(crate) mod power;
pub(crate) mod random;
pub(crate) mod real;
pub(crate) mod reduce;
mod register;
pub(crate) mod rows;
pub(crate) mod scan;
pub(crate) mod select;
pub mod simd;
pub(crate) mod sort;
#[cfg(feature = "python")]
pub(crate) mod step;
mod tile;
pub(crate) mod triple;
pub(crate) mod walk;
pub(crate) mod zip;
