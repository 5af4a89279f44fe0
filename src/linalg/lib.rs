//! Factorisations and solves of matrices in the last two axes. `faer` works on each matrix on one thread, and the
//! matrices of a batch are shared among our own threads. A matrix with a NaN or an infinity has NaN results.
//!
//! This crate is a part of `ferrograd`. Its own interface may change with any version.

#![allow(rustdoc::private_intra_doc_links, reason = "its documentation is for those who change it")]

extern crate self as linalg;
use ferrograd_base::{array, dtype, error, kernel, memory, shape};

mod batch;
mod eigen;
mod few;
mod ldl;
mod lu;
mod orthogonal;
mod small;
mod triangular;

pub use eigen::eig;
pub use few::{Matrices, kernel};
pub use ldl::{places_of_pivots, symmetric_factors};
pub use lu::{det, factors, first_zero_pivot, inverse, permuted_rows, slogdet, solve};
pub use orthogonal::{complement, eigh, pinv, qr, reflections, svd, sylvester};
pub use triangular::{Triangle, cholesky, first_failing_minor, triangular_solve};
