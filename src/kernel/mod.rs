//! Numerical kernels: arrays in, arrays out. They know nothing of graphs or gradients.

pub(crate) mod broadcast;
pub(crate) mod conv;
pub(crate) mod copy;
pub(crate) mod distance;
pub(crate) mod fast;
pub(crate) mod fft;
pub(crate) mod index;
pub(crate) mod interrupt;
pub(crate) mod linalg;
pub(crate) mod matmul;
pub(crate) mod norm;
pub(crate) mod num;
#[cfg(feature = "python")]
pub(crate) mod optimizer;
pub(crate) mod output;
pub mod par;
pub(crate) mod pointwise;
pub(crate) mod random;
pub(crate) mod recurrent;
pub(crate) mod reduce;
mod rows;
pub(crate) mod sequence;
mod simd;
pub(crate) mod softmax;
pub(crate) mod sort;
pub(crate) mod special;
mod team;
