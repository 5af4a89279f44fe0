//! The Cholesky factor.
//!
//! Rule: I. Murray, "Differentiation of the Cholesky decomposition" (2016).

use smallvec::smallvec;

use super::parts::weigh;
use super::solve::{failures, lowered, triangle};
use super::squares_of;
use crate::array::Array;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Loops, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tensor, apply, only,
};
use crate::linalg as kernel;
use crate::ops::entry::op;
use crate::ops::linalg::{h, mm, square, sym};
use crate::ops::movement::conj;
use crate::ops::promote::promoted_inexact;
use crate::stored::Stored;

/// In `cholesky_ex`, which is not `strict`, the factor of a matrix that has none is NaN.
#[derive(Stored)]
#[stored(op)]
struct Cholesky {
    strict: bool,
}

/// The lower triangle with half the diagonal.
fn phi(x: &Tensor) -> Result<Tensor> {
    weigh(x, 1.0, 0.5, 0.0)
}

/// `l⁻ᴴ x`.
fn back(l: &Tensor, x: &Tensor) -> Result<Tensor> {
    triangle(&h(l)?, x, true, false)
}

impl Op for Cholesky {
    fn name(&self) -> &'static str {
        "linalg.cholesky"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([kernel::cholesky(self.name(), ins[0], self.strict)?].into())
    }

    fn lower(&self, _: &Operands<'_>) -> Option<Loops> {
        lowered(self.name(), kernel::Matrices::Cholesky, self.strict)
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, lead, n) = squares_of(ins)?;
        ins.make(&[(dtype, &[lead, &[n, n]])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::outputs(1)
    }

    /// `sym(l⁻ᴴ Φ(lᴴ g) l⁻¹)`: the gradient is symmetric (or Hermitian), as the matrix is.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = &conj(only(g))?;
        let l = s.output(0);
        let p = phi(&mm(&h(&l)?, g)?)?;
        Ok(smallvec![Some(conj(&sym(&h(&back(&l, &h(&back(&l, &p)?)?)?)?)?)?)])
    }
}

/// The lower triangle l with l @ l.T = x for symmetric positive definite x (with l @ l.T.conj() = x for Hermitian x); with
/// upper, its (conjugate) transpose.
///
/// Only that triangle of x is read. The gradient is that of a symmetric (or Hermitian) matrix. A matrix that is not positive
/// definite is a LinAlgError.
///
/// ```python
/// >>> fg.linalg.cholesky(4 * fg.ones((1, 1))).tolist()
/// [[2.0]]
/// ```
#[op(method, in linalg, names("cholesky", "cholesky"))]
pub fn cholesky(x: &Tensor, #[default(false)] upper: bool) -> Result<Tensor> {
    square("linalg.cholesky", x)?;
    factor(x, upper, true)
}

fn factor(x: &Tensor, upper: bool, strict: bool) -> Result<Tensor> {
    let x = promoted_inexact(x)?;
    if upper { h(&apply(Cholesky { strict }, &[&h(&x)?])?) } else { apply(Cholesky { strict }, &[&x]) }
}

/// As `cholesky`, without the error: also (int32) the order of the first leading minor that is not positive, for each matrix
/// that is not positive definite, whose factor is NaN, and 0 for the others.
///
/// ```python
/// >>> [t.tolist() for t in fg.linalg.cholesky_ex(4 * fg.ones((1, 1)))]
/// [[[2.0]], 0]
/// ```
#[op(function, in linalg)]
pub fn cholesky_ex(x: &Tensor, #[default(false)] upper: bool) -> Result<(Tensor, Tensor)> {
    square("linalg.cholesky_ex", x)?;
    let l = factor(x, upper, false)?;
    let x = promoted_inexact(x)?;
    let read = if upper { &h(&x)? } else { &*x };
    let info = failures("linalg.cholesky_ex", true, read, &l)?;
    Ok((l, info))
}
