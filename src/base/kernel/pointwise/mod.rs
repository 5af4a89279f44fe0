//! Elementwise kernels: tables of loops by dtype, and the functions that run them over broadcast arrays.

pub mod bessel;
pub mod binary;
pub mod cast;
pub mod cluster;
pub mod complex;
pub mod division;
pub mod expressions;
pub mod formula;
pub mod half;
pub mod lanes;
pub mod machine;
pub mod numbers;
pub mod pairs;
pub mod power;
pub mod row;
pub mod select;
pub mod tanh;
mod terms;
pub mod ternary;
pub mod unary;
pub mod zero_division;
