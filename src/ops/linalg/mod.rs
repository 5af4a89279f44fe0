//! Linear algebra on matrices in the last two axes; the axes before them are a batch.
//!
//! Rules: M. Giles, "An extended collection of matrix derivative results for forward and reverse mode algorithmic
//! differentiation" (2008), unless a file names another source. What is not analytic, such as `qr`, has rules that read the
//! conjugate of a cotangent and return the conjugate of a gradient: in that convention, which is PyTorch's, the rules of
//! complex matrices are those of real ones with ᴴ for ᵀ.

use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::{Operands, Tensor, apply};
use crate::ops::contract::matmul::Matmul;
use crate::ops::movement::{cast, conj, matrix_transpose, real, reshape_to};
use crate::shape::Dims;

pub mod cholesky;
pub mod determinant;
pub mod eigen;
pub mod functions;
pub mod ldl;
pub mod lu;
pub mod norms;
mod parts;
pub mod polar;
pub mod qr;
pub mod solve;
pub mod spectrum;
pub mod svd;

/// Short names, so that the rules read like their formulas.
fn t(x: &Tensor) -> Result<Tensor> {
    matrix_transpose(x)
}

fn mm(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    assert_eq!(x.dtype(), y.dtype(), "the dtypes of a product were promoted before");
    apply(Matmul, &[x, y])
}

/// The conjugate transpose.
fn h(x: &Tensor) -> Result<Tensor> {
    conj(&t(x)?)
}

/// `(x + xᴴ) / 2`.
fn sym(x: &Tensor) -> Result<Tensor> {
    Ok((x + h(x)?) * 0.5)
}

/// `(x - xᴴ) / 2`.
fn skew(x: &Tensor) -> Result<Tensor> {
    Ok((x - h(x)?) * 0.5)
}

/// The squares of absolute values.
fn squares(x: &Tensor) -> Result<Tensor> {
    real(&(x * conj(x)?))
}

/// Real numbers in the dtype of `z`, which may be complex.
fn like(z: &Tensor, x: &Tensor) -> Result<Tensor> {
    cast(x, z.dtype())
}

/// One number for each matrix, in a shape that broadcasts against the matrices.
fn over_matrices(x: &Tensor) -> Result<Tensor> {
    reshape_to(x, &x.dims().iter().copied().chain([1, 1]).collect::<Dims>())
}

/// One number for each column, in a shape that broadcasts against the matrices.
fn over_columns(x: &Tensor) -> Result<Tensor> {
    let (&n, lead) = x.dims().split_last().expect("a list of numbers");
    reshape_to(x, &lead.iter().copied().chain([1, n]).collect::<Dims>())
}

/// The dtype of the matrices in one operand of an op, their leading axes, and the numbers of rows and columns.
fn matrices<'a>(ins: &Operands<'a>) -> Option<(DType, &'a [usize], usize, usize)> {
    match ins.alike::<1>()? {
        (dtype, &[ref lead @ .., m, n]) if dtype.is_differentiable() => Some((dtype, lead, m, n)),
        _ => None,
    }
}

/// The dtype of the square matrices in one operand of an op, their leading axes, and the number of rows.
fn squares_of<'a>(ins: &Operands<'a>) -> Option<(DType, &'a [usize], usize)> {
    matrices(ins).filter(|&(_, _, m, n)| m == n).map(|(dtype, lead, n, _)| (dtype, lead, n))
}

/// The dtype of the equations of two operands, the numbers of rows and of right-hand sides, and the leading axes.
fn equations(ins: &Operands<'_>) -> Option<(DType, usize, usize, Dims)> {
    match ins.of_one_dtype()? {
        (dtype, [&[.., m, n], &[.., rows, columns]]) if m == n && n == rows && dtype.is_differentiable() => {
            Some((dtype, n, columns, ins.broadcast(2)?))
        }
        _ => None,
    }
}

/// The numbers of rows and columns.
fn matrix(op: &'static str, x: &Tensor) -> Result<(usize, usize)> {
    match *x.dims() {
        [.., m, n] => Ok((m, n)),
        ref dims => bail!(
            Shape,
            op,
            "{dims:?} is not the shape of a matrix or of a batch of them: the input must have at least 2 dimensions"
        ),
    }
}

/// The size of a square matrix.
fn square(op: &'static str, x: &Tensor) -> Result<usize> {
    match matrix(op, x)? {
        (m, n) if m == n => Ok(n),
        _ => bail!(Shape, op, "{:?} is not the shape of a square matrix or of a batch of them", x.dims()),
    }
}
