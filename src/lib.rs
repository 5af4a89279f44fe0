#![doc = include_str!("README.md")]

pub mod array;
pub mod dtype;
pub mod engine;
pub mod error;
pub mod graph;
mod kernel;
mod memory;
pub mod ops;
pub mod shape;
pub mod transform;

#[cfg(feature = "python")]
mod bind;

#[cfg(feature = "python")]
#[global_allocator]
static ALLOCATOR: memory::WithReserve = memory::WithReserve;

pub use array::Array;
pub use dtype::DType;
pub use engine::{backward, grad, push};
pub use error::{Error, Result};
pub use graph::Tensor;
pub use kernel::par;
