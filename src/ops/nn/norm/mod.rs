//! Layers that standardise elements.

mod affine;
pub mod layers;
mod standardize;
