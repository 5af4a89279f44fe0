//! The polar decomposition, and square roots, which follow from it. Their rules have sums of singular values where those of
//! the singular value decomposition have differences, so they are right for equal ones too.

use smallvec::smallvec;

use super::cholesky::cholesky;
use super::solve::{aligned, inverse_or_nan};
use super::{equations, matrices};
use crate::array::Array;
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tensor, apply, only,
};
use crate::kernel::matmul::matmul;
use crate::linalg as kernel;
use crate::ops::entry::op;
use crate::ops::linalg::{h, matrix, mm, square, sym};
use crate::ops::movement::conj;
use crate::ops::promote::promoted_inexact;
use crate::stored::Stored;

/// The solution `x` of `a x + x a = c` for a symmetric or Hermitian `a` without negative eigenvalues.
#[derive(Stored)]
#[stored(op)]
struct Sylvester;

impl Op for Sylvester {
    fn name(&self) -> &'static str {
        "linalg.sylvester"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let (a, c) = aligned(self.name(), ins[0], ins[1], batch_ndim)?;
        Ok([kernel::sylvester(self.name(), &a, &c)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, n, columns, lead) = equations(ins)?;
        if n == columns {
            Some(Made::from_elem((dtype, lead.into_iter().chain([n, n]).collect()), 1))
        } else {
            None
        }
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        Saves::inputs(1).and(Saves::outputs(1).when(needs.has(0)))
    }

    /// The equations are their own transpose: their solution `y` for `g` is the gradient of `c`, and `-(y xᴴ + xᴴ y)` that of
    /// `a`.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let y = apply(Sylvester, &[&s.input(0), &conj(only(g))?])?;
        let mut of_a = None;
        if s.needs(0) {
            let xh = h(&s.output(0))?;
            of_a = Some(conj(&-sym(&(mm(&y, &xh)? + mm(&xh, &y)?))?)?);
        }
        Ok(smallvec![of_a, Some(conj(&y)?)])
    }
}

/// The factor `u` with orthonormal columns of `x = u s`, where `s` is symmetric or Hermitian.
#[derive(Stored)]
#[stored(op)]
struct Polar;

impl Op for Polar {
    fn name(&self) -> &'static str {
        "linalg.polar"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let [u, _, vh] = kernel::svd(self.name(), ins[0], true)?;
        Ok([matmul(self.name(), &u, &vh, batch_ndim)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, lead, m, n) = matrices(ins)?;
        ins.make(&[(dtype, &[lead, &[m, n]])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(1).and(Saves::outputs(1))
    }

    /// `u (z - zᴴ) + (g - u uᴴ g) s⁻¹` with `s z + z s = uᴴ g`.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let (g, x, u) = (conj(only(g))?, s.input(0), s.output(0));
        let (m, n) = matrix(self.name(), &x)?;
        let stretch = sym(&mm(&h(&u)?, &x)?)?;
        let inner = mm(&h(&u)?, &g)?;
        let z = apply(Sylvester, &[&stretch, &inner])?;
        let mut all = mm(&u, &(&z - h(&z)?))?;
        if m > n {
            all = all + mm(&(g - mm(&u, &inner)?), &inverse_or_nan(&stretch)?)?;
        }
        Ok(smallvec![Some(conj(&all)?)])
    }
}

/// The factors u, with orthonormal columns, and h, which is symmetric (or Hermitian) and has no negative eigenvalue, of
/// x = u @ h, for an x with at least as many rows as columns. The gradient is that at full rank.
///
/// ```python
/// >>> [t.tolist() for t in fg.linalg.polar(fg.tensor([[-2.]]))]
/// [[[-1.0]], [[2.0]]]
/// ```
#[op(function, in linalg)]
pub fn polar(x: &Tensor) -> Result<(Tensor, Tensor)> {
    const OP: &str = "linalg.polar";
    let x = promoted_inexact(x)?;
    let (m, n) = matrix(OP, &x)?;
    if m < n {
        bail!(Shape, OP, "{:?} has fewer rows than columns", x.dims());
    }
    let u = apply(Polar, &[&x])?;
    let stretch = sym(&mm(&h(&u)?, &x)?)?;
    Ok((u, stretch))
}

/// The symmetric (or Hermitian) positive definite square root z of such a matrix: z @ z = x. Only the lower triangle of x is
/// read. A matrix that is not positive definite is a LinAlgError.
///
/// ```python
/// >>> fg.linalg.matrix_sqrth(fg.tensor([[4.]])).tolist()
/// [[2.0]]
/// ```
#[op(function, in linalg)]
pub fn matrix_sqrth(x: &Tensor) -> Result<Tensor> {
    square("linalg.matrix_sqrth", x)?;
    // With x = l lᴴ and lᴴ = u z, z² is lᴴᴴ lᴴ = x.
    Ok(polar(&cholesky(x, true)?)?.1)
}
