//! Eigenvalues and eigenvectors.

use smallvec::smallvec;

use super::parts::{equal_values, reciprocal_gaps};
use super::solve::solve_or_nan;
use super::spectrum::{gathered, undetermined};
use super::squares_of;
use crate::array::Array;
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply,
    apply_each, only,
};
use crate::linalg as kernel;
use crate::ops::entry::op;
use crate::ops::linalg::{h, like, mm, over_columns, square, sym};
use crate::ops::movement::{cast, conj, diagonal_of, on_diagonal, real};
use crate::ops::promote::promoted_inexact;
use crate::ops::terms::add_terms;
use crate::stored::Stored;

/// Eigenvalues `w` and eigenvectors `v`. The eigenvectors of equal eigenvalues are determined only as a
/// space, so a result must not depend on the choice; their derivative leaves out rotations within the space.
#[derive(Stored)]
#[stored(op)]
struct Eigh {
    upper: bool,
}

impl Op for Eigh {
    fn name(&self) -> &'static str {
        "linalg.eigh"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok(kernel::eigh(self.name(), ins[0], self.upper, true)?.into_iter().collect())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, lead, n) = squares_of(ins)?;
        ins.make(&[(dtype.real(), &[lead, &[n]]), (dtype, &[lead, &[n, n]])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::outputs(3)
    }

    /// `sym(v (diag(gw) + F ∘ vᴴ gv) vᴴ)` with `F[i, j] = 1 / (w[j] - w[i])`.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let (w, v) = (s.output(0), s.output(1));
        let inner = match (&g[0], &g[1]) {
            (Some(c), None) => return Ok(smallvec![Some(conj(&gathered(s, &w, &v, c)?)?)]),
            (c, Some(g)) => {
                let turns = mm(&h(&v)?, &conj(g)?)?;
                let rates = &turns * like(&v, &reciprocal_gaps(&w)?)?;
                let values = |c: &Tensor| -> Result<Tensor> {
                    let same = equal_values(&w.detach(), false)?;
                    Ok(like(&v, &on_diagonal(c)?)? + undetermined(&turns, &same, true)?)
                };
                add_terms([Some(rates), c.as_ref().map(values).transpose()?])
            }
            (None, None) => None,
        };
        Ok(smallvec![inner.map(|x| conj(&sym(&mm(&mm(&v, &x)?, &h(&v)?)?)?)).transpose()?])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let (w, v) = (s.output(0).detach(), s.output(1).detach());
        with_turns(t, s, &v, || {
            let rates = sym(&mm(&mm(&h(&v)?, &only(t).detach())?, &v)?)?;
            undetermined(&rates, &equal_values(&w, false)?, true)
        })
    }
}

/// The tangents of eigenvalues and eigenvectors, of which those of vectors have NaN where the matrix `turns` has, if both are
/// read.
fn with_turns(
    t: &Tangents,
    s: &Saved<'_>,
    v: &Tensor,
    turns: impl FnOnce() -> Result<Tensor>,
) -> Result<Grads> {
    let mut found = s.transposed.expect("the engine gives it to every jvp")(t, s)?;
    if s.is_read.is_some_and(|is_read| is_read(0) && is_read(1)) {
        found[1] = add_terms([found[1].take(), Some(mm(v, &turns()?)?)]);
    }
    Ok(found)
}

/// The eigenvalues alone, for an input without a gradient.
#[derive(Stored)]
#[stored(op)]
struct EigvalsOnly {
    upper: bool,
}

impl Op for EigvalsOnly {
    fn name(&self) -> &'static str {
        "linalg.eigvalsh"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        let [w, _] = kernel::eigh(self.name(), ins[0], self.upper, false)?;
        Ok([w].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, lead, n) = squares_of(ins)?;
        ins.make(&[(dtype.real(), &[lead, &[n]])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("a tracked matrix goes through linalg.eigh")
    }
}

fn is_upper(op: &'static str, uplo: &str) -> Result<bool> {
    match uplo {
        "L" | "l" => Ok(false),
        "U" | "u" => Ok(true),
        _ => bail!(Argument, op, "UPLO is 'L' or 'U', not '{uplo}'"),
    }
}

/// Eigenvalues w (rising, real) and eigenvectors v (columns) of symmetric or Hermitian matrices: x @ v = v * w.
///
/// Only the lower (or upper) triangle is read; the gradient is that of a symmetric (or Hermitian) matrix. Vectors are
/// determined up to their sign (complex ones up to a factor of absolute value 1), and those of equal eigenvalues only as a space; a result that depends on more
/// has no derivative. At equal eigenvalues derivatives are right to second order for what is computed of the values alone, and to
/// first order for what is computed of the vectors alone, such as a projector on the space. For what is computed of both, such as
/// (v * f(w)) @ v.mT, they are NaN, with a warning: matrix_sqrth, matrix_logh, matrix_exph and matrix_powerh are right there.
///
/// ```python
/// >>> fg.linalg.eigh(2 * fg.ones((1, 1)))[0].tolist()
/// [2.0]
/// ```
#[allow(non_snake_case)]
#[op(function, in linalg)]
pub fn eigh(x: &Tensor, #[default("L")] UPLO: &str) -> Result<(Tensor, Tensor)> {
    square("linalg.eigh", x)?;
    let upper = is_upper("linalg.eigh", UPLO)?;
    Ok(apply_each::<_, 2>(Eigh { upper }, &[&*promoted_inexact(x)?])?.into())
}

/// The eigenvalues, rising, of symmetric or Hermitian matrices of which only the lower (or upper) triangle is read.
///
/// ```python
/// >>> fg.linalg.eigvalsh(2 * fg.ones((1, 1))).tolist()
/// [2.0]
/// ```
#[allow(non_snake_case)]
#[op(function, in linalg)]
pub fn eigvalsh(x: &Tensor, #[default("L")] UPLO: &str) -> Result<Tensor> {
    square("linalg.eigvalsh", x)?;
    let upper = is_upper("linalg.eigvalsh", UPLO)?;
    if x.is_tracked() {
        Ok(eigh(x, UPLO)?.0)
    } else {
        apply(EigvalsOnly { upper }, &[&*promoted_inexact(x)?])
    }
}

/// Eigenvalues `w` and eigenvectors `v` of length 1, as complex numbers. As for [`Eigh`], a result must not depend on the
/// choice of vectors.
#[derive(Stored)]
#[stored(op)]
struct Eig;

impl Op for Eig {
    fn name(&self) -> &'static str {
        "linalg.eig"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok(kernel::eig(self.name(), ins[0], true)?.into_iter().collect())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, lead, n) = squares_of(ins)?;
        ins.make(&[(dtype.complex(), &[lead, &[n]]), (dtype.complex(), &[lead, &[n, n]])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::outputs(3)
    }

    /// `v⁻ᴴ (diag(gw) + conj(F) ∘ (vᴴ gv - vᴴ v Re(diag(vᴴ gv)))) vᴴ` with `F[i, j] = 1 / (w[j] - w[i])`. The second term of
    /// the difference keeps the length.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let (w, v) = (s.output(0), s.output(1));
        let vh = h(&v)?;
        let values = g[0].as_ref().map(|g| on_diagonal(&conj(g)?)).transpose()?;
        // Of `v f(w) v⁻¹` the cotangents of `v` and of its inverse cancel for equal eigenvalues, so nothing is left to see.
        let has_values = g[0].is_some() && s.transposed.is_none();
        let turns = |g: &Tensor| -> Result<Tensor> {
            let m = mm(&vh, &conj(g)?)?;
            let lengths = like(&v, &over_columns(&real(&diagonal_of(&m)?)?)?)?;
            let rates = m - mm(&vh, &v)? * lengths;
            let apart = &rates * conj(&reciprocal_gaps(&w)?)?;
            if !has_values {
                return Ok(apart);
            }
            let same = equal_values(&w.detach(), false)?;
            Ok(apart + undetermined(&like(&v, &same)?, &same, true)?)
        };
        let turns = g[1].as_ref().map(turns).transpose()?;
        let Some(inner) = add_terms([values, turns]) else { return Ok(smallvec![None]) };
        let x = conj(&solve_or_nan(&vh, &mm(&inner, &vh)?)?)?;
        Ok(smallvec![Some(if s.dtype(0).is_complex() { x } else { real(&x)? })])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let (w, v) = (s.output(0).detach(), s.output(1).detach());
        with_turns(t, s, &v, || {
            let rates = solve_or_nan(&v, &mm(&cast(&only(t).detach(), v.dtype())?, &v)?)?;
            undetermined(&rates, &equal_values(&w, false)?, true)
        })
    }
}

/// The eigenvalues alone, for an input without a gradient.
#[derive(Stored)]
#[stored(op)]
struct EigvalsGeneral;

impl Op for EigvalsGeneral {
    fn name(&self) -> &'static str {
        "linalg.eigvals"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        let [w, _] = kernel::eig(self.name(), ins[0], false)?;
        Ok([w].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, lead, n) = squares_of(ins)?;
        ins.make(&[(dtype.complex(), &[lead, &[n]])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("a tracked matrix goes through linalg.eig")
    }
}

/// Eigenvalues w (complex, in no order) and eigenvectors v (columns of length 1) of square matrices: x @ v = v * w.
///
/// Vectors are determined up to a factor of absolute value 1, and those of equal eigenvalues only as a space; a result that
/// depends on more has no derivative. At equal eigenvalues the derivative of what is computed of values and vectors is NaN, with a
/// warning, as for eigh. The derivative of a matrix without a basis of eigenvectors is NaN.
///
/// ```python
/// >>> fg.linalg.eig(fg.tensor([[0., -1.], [1., 0.]]))[0].tolist()
/// [1j, -1j]
/// ```
#[op(function, in linalg)]
pub fn eig(x: &Tensor) -> Result<(Tensor, Tensor)> {
    square("linalg.eig", x)?;
    Ok(apply_each::<_, 2>(Eig, &[&*promoted_inexact(x)?])?.into())
}

/// The eigenvalues (complex, in no order) of square matrices.
///
/// ```python
/// >>> fg.linalg.eigvals(fg.tensor([[0., -1.], [1., 0.]])).tolist()
/// [1j, -1j]
/// ```
#[op(function, in linalg)]
pub fn eigvals(x: &Tensor) -> Result<Tensor> {
    square("linalg.eigvals", x)?;
    if x.is_tracked() { Ok(eig(x)?.0) } else { apply(EigvalsGeneral, &[&*promoted_inexact(x)?]) }
}
