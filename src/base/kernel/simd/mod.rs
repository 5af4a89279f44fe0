//! Instruction sets and vector registers.

mod isa;
pub mod vector;

pub use isa::*;
