//! Factorisations and solves of matrices in the last two axes, each matrix by `faer` on one thread, the matrices of a
//! batch side by side in our own pool. A matrix with a NaN or an infinity in it has NaN results.

mod batch;
mod lu;
mod orthogonal;
mod triangular;

pub use lu::{det, inverse, slogdet, solve};
pub use orthogonal::{complement, eigh, qr, svd};
pub use triangular::{cholesky, triangular_solve};
