//! Convolutions and pooling over one to three axes.

mod channels_last;
mod convolution;
mod depthwise;
mod direct;
mod direct_loops;
mod geometry;
mod padded;
mod pixel_weight;
mod pixels;
mod plan;
pub mod pooling;
mod shifted;
mod threads;
mod tiles;
mod weight;

pub use convolution::convolve;
pub use geometry::{Axes, ConvArray, Geometry};
