//! The singular value decomposition and what follows from it.

use smallvec::{SmallVec, smallvec};

use super::parts::{reciprocal_gaps, reciprocal_sums};
use super::qr::with_complement;
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::{Result, bail};
use crate::graph::{Cotangents, Grads, NeedsGrad, Op, Outputs, Saved, Saves, Tensor, apply, apply_all};
use crate::kernel::linalg as kernel;
use crate::ops::entry::op;
use crate::ops::linalg::{h, like, matrix, mm, over_columns, skew, sym, t};
use crate::ops::movement::{conj, diagonal_of, on_diagonal};
use crate::ops::promote::promoted_inexact;
use crate::ops::terms::add_terms;
use crate::stored::Stored;

/// The reduced decomposition `u @ diag(s) @ vh`. Where singular values are equal (or zero) the vectors of their space are
/// not determined, and are differentiated as if they did not turn in it.
#[derive(Stored)]
#[stored(op)]
struct Svd;

/// The values that the rule uses: `D[i, j] = 1 / (s[j] - s[i])`, `E[i, j] = 1 / (s[j] + s[i])`, `r = 1 / s`;
/// zeros for poles.
struct Frame {
    u: Tensor,
    vh: Tensor,
    gaps: Tensor,
    sums: Tensor,
    reciprocals: Tensor,
}

impl Frame {
    fn of(s: &Saved<'_>) -> Result<Frame> {
        let values = s.output(1);
        let sums = reciprocal_sums(&values)?;
        let reciprocals = over_columns(&(diagonal_of(&sums)? * 2.0))?;
        let u = s.output(0);
        let gaps = like(&u, &reciprocal_gaps(&values)?)?;
        let (sums, reciprocals) = (like(&u, &sums)?, like(&u, &reciprocals)?);
        Ok(Frame { u, vh: s.output(2), gaps, sums, reciprocals })
    }
}

/// The part of `x` that is orthogonal to the orthonormal columns of `q`.
fn beside(q: &Tensor, x: &Tensor) -> Result<Tensor> {
    Ok(x - mm(q, &mm(&h(q)?, x)?)?)
}

impl Op for Svd {
    fn name(&self) -> &'static str {
        "linalg.svd"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok(kernel::svd(self.name(), ins[0], true)?.into_iter().collect())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::outputs(7)
    }

    /// With `m = uᴴ gu` and `n = vᴴ gv`, the part between the spaces of `u` and `v`
    /// is `½ ((m + n)∘D + its transpose + (m - n)∘E - its transpose) + diag(gs)`, where a transpose is a conjugate one.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let Frame { u, vh, gaps, sums, reciprocals } = Frame::of(s)?;
        let gu = g[0].as_ref().map(conj).transpose()?;
        // The conjugate transpose of a conjugate is the transpose.
        let gv = g[2].as_ref().map(t).transpose()?;
        let m = gu.as_ref().map(|g| mm(&h(&u)?, g)).transpose()?;
        let n = gv.as_ref().map(|g| mm(&vh, g)).transpose()?;
        let both = add_terms([m.clone(), n.clone()]).map(|x| x * &gaps);
        let apart = add_terms([m, n.map(|n| -n)]).map(|x| x * &sums);
        let both = both.as_ref().map(sym).transpose()?;
        let apart = apart.as_ref().map(skew).transpose()?;
        let values = g[1].as_ref().map(|g| like(&u, &on_diagonal(g)?)).transpose()?;
        let inner = add_terms([both, apart, values]).map(|p| mm(&mm(&u, &p)?, &vh)).transpose()?;
        let left = gu.map(|g| mm(&(beside(&u, &g)? * &reciprocals), &vh)).transpose()?;
        let right = gv.map(|g| mm(&u, &h(&(beside(&h(&vh)?, &g)? * &reciprocals))?)).transpose()?;
        Ok(smallvec![add_terms([inner, left, right]).map(|x| conj(&x)).transpose()?])
    }
}

/// The singular values alone, for an input without a gradient. NaN among them is refused if they are to be compared.
#[derive(Stored)]
#[stored(op)]
struct SvdvalsOnly {
    compared: bool,
}

impl Op for SvdvalsOnly {
    fn name(&self) -> &'static str {
        "linalg.svdvals"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        let [_, s, _] = kernel::svd(self.name(), ins[0], false)?;
        let has_nan =
            |s: &Array| dispatch!(s.dtype(), float T => s.view::<T>().iter().any(|s| s.is_nan()), else false);
        if self.compared && has_nan(&s) {
            bail!(
                Singular,
                self.name(),
                "a matrix with NaN or infinity in it has singular values that are NaN"
            );
        }
        Ok([s].into())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("a tracked matrix goes through linalg.svd")
    }
}

/// The reduced decomposition of a matrix of floats or complex numbers.
pub(in crate::ops) fn reduced(x: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    let all: SmallVec<[Tensor; 1]> = apply_all(Svd, &[x])?;
    let [u, s, vh] = <[Tensor; 3]>::try_from(all.into_vec()).expect("three outputs");
    Ok((u, s, vh))
}

/// The factors u, s, vh of x = u[:, :k] @ diag(s) @ vh[:k, :] with orthonormal u and vh, k = min(m, n), s
/// falling.
///
/// u is [m, m] and vh is [n, n], or [m, k] and [k, n] without full_matrices. Vectors are determined up to a
/// common sign (complex ones up to a common factor of absolute value 1), and only as a space where singular values are equal or zero; a result that depends on more
/// has no derivative. Rotations within such a space count as zero, so second derivatives at equal values lack a part.
///
/// ```python
/// >>> fg.linalg.svd(2 * fg.ones((1, 1)))[1].tolist()
/// [2.0]
/// ```
#[op(function, in linalg)]
pub fn svd(x: &Tensor, #[default(true)] full_matrices: bool) -> Result<(Tensor, Tensor, Tensor)> {
    let (m, n) = matrix("linalg.svd", x)?;
    let (u, s, vh) = reduced(&*promoted_inexact(x)?)?;
    Ok(match full_matrices {
        true if m > n => (with_complement(&u)?, s, vh),
        true if m < n => (u, s, h(&with_complement(&h(&vh)?)?)?),
        _ => (u, s, vh),
    })
}

/// The singular values, falling.
///
/// ```python
/// >>> fg.linalg.svdvals(2 * fg.ones((1, 1))).tolist()
/// [2.0]
/// ```
#[op(function, in linalg)]
pub fn svdvals(x: &Tensor) -> Result<Tensor> {
    matrix("linalg.svdvals", x)?;
    let x = promoted_inexact(x)?;
    if x.is_tracked() { Ok(reduced(&x)?.1) } else { apply(SvdvalsOnly { compared: false }, &[&x]) }
}

/// The singular values, falling, as constants to compare with.
///
/// # Errors
/// `LinAlgError`, where one is NaN.
pub(super) fn compared_svdvals(x: &Tensor) -> Result<Tensor> {
    apply(SvdvalsOnly { compared: true }, &[&x.detach()])
}
