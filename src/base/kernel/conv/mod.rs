//! Convolutions and pooling over one to three axes.

mod channels_last;
mod convolution;
mod direct;
mod direct_loops;
mod geometry;
mod pixels;
mod plan;
pub mod pooling;
mod shifted;
mod threads;
mod tiles;
mod weight;

pub use convolution::convolve;
pub use geometry::{Axes, ConvArray, Geometry};
