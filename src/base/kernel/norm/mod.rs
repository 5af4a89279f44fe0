//! Layer, group, instance and batch normalisation, with their gradients.

mod batch_norm;
mod batch_norm_pixels;
mod formulas;
mod layer_norm;
mod standardize;

pub use batch_norm::{batch_norm, batch_norm_gradients};
pub use layer_norm::{Channels, layer_norm, layer_norm_gradients};
pub use standardize::{standardize, standardize_gradient};
