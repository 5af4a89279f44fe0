//! Products summed over shared axes.

pub mod einsum;
pub mod matmul;
pub mod products;

pub use einsum::{einsum, tensordot};
pub use matmul::{matmul, vecdot};
pub use products::linear;
