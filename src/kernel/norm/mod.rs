//! Layer, group, instance and batch normalisation, with their gradients.

mod batch_norm;
mod layer_norm;
mod standardize;

pub use batch_norm::{batch, batch_gradients};
pub use layer_norm::{Channels, scaled, scaled_gradients};
pub use standardize::{standardize, standardize_gradient};
