//! Numbers only: arrays in, array out. Nothing here knows of graphs or gradients.

pub(crate) mod map;
pub(crate) mod matmul;
pub(crate) mod num;
pub mod par;
pub(crate) mod reduce;
pub(crate) mod zip;
