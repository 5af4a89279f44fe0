//! Elementwise kernels over broadcast arrays: tables of loops by dtype, and the drivers that run them.

pub mod binary;
pub mod cast;
pub mod division;
pub mod power;
pub mod select;
pub mod tanh;
pub mod ternary;
pub mod unary;
