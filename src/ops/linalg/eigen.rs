//! Eigenvalues and eigenvectors of symmetric matrices.

use smallvec::{SmallVec, smallvec};

use super::parts::reciprocal_gaps;
use crate::array::Array;
use crate::error::{Result, bail};
use crate::graph::{Cotangents, Grads, NeedsGrad, Op, Outputs, Saved, Saves, Tensor, apply, apply_all};
use crate::kernel::linalg as kernel;
use crate::ops::entry::op;
use crate::ops::linalg::{mm, square, sym, t};
use crate::ops::movement::on_diagonal;
use crate::ops::promote::promoted_float;
use crate::ops::terms::add_terms;

/// Eigenvalues `w` and eigenvectors `v`. The eigenvectors of equal eigenvalues are determined only as a
/// space, so a result must not depend on the choice; their derivative leaves out rotations within the space.
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

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::outputs(3)
    }

    /// `sym(v (diag(gw) + F ∘ vᵀ gv) vᵀ)` with `F[i, j] = 1 / (w[j] - w[i])`.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let v = s.output(1);
        let values = g[0].as_ref().map(on_diagonal).transpose()?;
        let turns = |g: &Tensor| -> Result<Tensor> { Ok(mm(&t(&v)?, g)? * reciprocal_gaps(&s.output(0))?) };
        let turns = g[1].as_ref().map(turns).transpose()?;
        let inner = add_terms([values, turns]);
        Ok(smallvec![inner.map(|x| sym(&mm(&mm(&v, &x)?, &t(&v)?)?)).transpose()?])
    }
}

/// The eigenvalues alone, for an input without a gradient.
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

/// Eigenvalues w (rising) and eigenvectors v (columns) of symmetric matrices: x @ v = v * w.
///
/// Only the lower (or upper) triangle is read; the gradient is that of a symmetric matrix. Vectors are
/// determined up to their sign, and those of equal eigenvalues only as a space; a result that depends on more
/// has no derivative. Rotations within such a space count as zero.
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
    let both: SmallVec<[Tensor; 1]> = apply_all(Eigh { upper }, &[&*promoted_float(x)?])?;
    let [w, v] = <[Tensor; 2]>::try_from(both.into_vec()).expect("two outputs");
    Ok((w, v))
}

/// The eigenvalues, rising, of symmetric matrices of which only the lower (or upper) triangle is read.
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
    if x.is_tracked() { Ok(eigh(x, UPLO)?.0) } else { apply(EigvalsOnly { upper }, &[&*promoted_float(x)?]) }
}
