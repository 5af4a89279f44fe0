//! Layers of neural networks.

pub mod conv;
pub mod norm;
pub mod pool;
pub mod recurrent;
pub mod softmax;
mod spatial;
