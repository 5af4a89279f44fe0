//! Determinants. Their derivatives are right for singular matrices too.

use smallvec::smallvec;

use super::parts::{columns, epsilon, weigh};
use super::solve::{inverse_or_nan, lowered};
use super::{squares_of, svd};
use crate::array::Array;
use crate::dtype::{Ordered, dispatch};
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Loops, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tensor, apply,
    apply_each, only,
};
use crate::linalg as kernel;
use crate::ops::check::{decided, decision};
use crate::ops::entry::op;
use crate::ops::linalg::{h, mm, over_matrices, square, t};
use crate::ops::movement::parts::from_parts;
use crate::ops::movement::{diagonal_of, imag, on_diagonal, reshape_to};
use crate::ops::pointwise::complex::angle;
use crate::ops::pointwise::elementary::log;
use crate::ops::promote::promoted_inexact;
use crate::shape::Dims;
use crate::stored::Stored;

/// The determinant; its rules are for matrices that have an inverse.
#[derive(Stored)]
#[stored(op)]
struct Det;

impl Op for Det {
    fn name(&self) -> &'static str {
        "linalg.det"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        let [det, _] = kernel::det(self.name(), ins[0])?;
        Ok([det].into())
    }

    fn lower(&self, _: &Operands<'_>) -> Option<Loops> {
        lowered(self.name(), kernel::Matrices::Determinant, false)
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, lead, _) = squares_of(ins)?;
        ins.make(&[(dtype, &[lead])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(1).and(Saves::outputs(1))
    }

    /// `g det(x) x⁻ᵀ`.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        let inverse = t(&inverse_or_nan(&s.input(0))?)?;
        Ok(smallvec![Some(over_matrices(&(g * s.output(0)))? * inverse)])
    }
}

/// The sign of the determinant, whose derivative is zero for real matrices, and the logarithm of its size.
#[derive(Stored)]
#[stored(op)]
struct SlogDet;

impl Op for SlogDet {
    fn name(&self) -> &'static str {
        "linalg.slogdet"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok(kernel::slogdet(self.name(), ins[0])?.into_iter().collect())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, lead, _) = squares_of(ins)?;
        ins.make(&[(dtype, &[lead]), (dtype.real(), &[lead])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(1).and(Saves::outputs(1))
    }

    /// `g x⁻ᵀ`; of complex matrices `(g + i Im(gs sign)) x⁻ᵀ`.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let sign = s.output(0);
        let by = match (&g[0], &g[1]) {
            (turn, size) if sign.dtype().is_complex() => {
                let zero = Tensor::scalar_of(sign.dtype().real(), 0.0);
                let turn = turn.as_ref().map(|g| imag(&(g * &sign))).transpose()?;
                from_parts(size.as_ref().unwrap_or(&zero), turn.as_ref().unwrap_or(&zero))?
            }
            (_, Some(size)) => size.clone(),
            (_, None) => return Ok(smallvec![None]),
        };
        Ok(smallvec![Some(over_matrices(&by)? * t(&inverse_or_nan(&s.input(0))?)?)])
    }
}

/// The determinant as a polynomial, right to every order for every matrix; the work grows with the fourth power of the
/// size. R. Bird, "A simple division-free algorithm for computing determinants" (2011).
fn polynomial(x: &Tensor) -> Result<Tensor> {
    let n = *x.dims().last().expect("a matrix has two axes");
    // A product with this triangle gives minus the sum of the later elements of a diagonal.
    let later = weigh(&Tensor::constant(Array::full_of(x.dtype(), &[n, n], -1.0)), 0.0, 0.0, 1.0)?;
    let mut f = x.clone();
    for _ in 1..n {
        let sums = mm(&later, &over_rows(&diagonal_of(&f)?)?)?;
        let sums = on_diagonal(&reshape_to(&sums, &x.dims()[..x.rank() - 1])?)?;
        f = mm(&(weigh(&f, 0.0, 0.0, 1.0)? + sums), x)?;
    }
    let corner = columns(&t(&columns(&f, 0, 1)?)?, 0, 1)?;
    let corner = reshape_to(&corner, &x.dims()[..x.rank() - 2])?;
    Ok(if n.is_multiple_of(2) { -corner } else { corner })
}

/// A list as a column.
fn over_rows(x: &Tensor) -> Result<Tensor> {
    reshape_to(x, &x.dims().iter().copied().chain([1]).collect::<Dims>())
}

/// The determinant of a matrix that is singular or nearly so. In the frame of its singular vectors, which are taken as
/// constants, the matrix is `[[p, q], [r, s]]` with an invertible `p` and a small `s`, and its determinant is
/// `det(p) det(s - r p⁻¹ q)`, where the second factor is a polynomial of a small matrix.
fn near_singular(x: &Tensor) -> Result<Tensor> {
    let (u, s, vh) = svd::reduced(&x.detach())?;
    let n = s.dims()[s.rank() - 1];
    let large = decided(FewestLarge, &s)?;
    let frame = |x: &Tensor, start, count| {
        let array = x.array.slice_axis(x.array.rank() - 1, start, count, 1);
        Tensor { array, ..x.clone() }
    };
    let v = h(&vh)?;
    let sign = slogdet(&u)?.0 * slogdet(&vh)?.0;
    let part = |i: usize, j: usize| {
        let at = |i| if i == 0 { (0, large) } else { (large, n - large) };
        let (left, right) = (frame(&u, at(i).0, at(i).1), frame(&v, at(j).0, at(j).1));
        mm(&h(&left)?, &mm(x, &right)?)
    };
    if large == 0 {
        return Ok(sign * polynomial(&part(1, 1)?)?);
    }
    let p = part(0, 0)?;
    let rest = part(1, 1)? - mm(&part(1, 0)?, &mm(&inverse_or_nan(&p)?, &part(0, 1)?)?)?;
    Ok(sign * apply(Det, &[&p])? * polynomial(&rest)?)
}

/// The smallest number, over a batch, of singular values that are not small relative to the largest of their
/// matrix.
fn fewest_large(s: &Array) -> Result<usize> {
    let n = s.dims()[s.rank() - 1];
    let least = epsilon(s.dtype()).sqrt().sqrt();
    let s = s.contiguous()?;
    Ok(dispatch!(s.dtype(), float T => {
        let lists = s.as_slice::<T>().unwrap_or_default();
        let large = |list: &[T]| list.iter().filter(|&&v| v.to_f64() > least * list[0].to_f64()).count();
        lists.chunks_exact(n.max(1)).map(large).min().unwrap_or(n)
    }, else n))
}

/// The decision of [`fewest_large`].
#[derive(Stored)]
#[stored(op)]
struct FewestLarge;

impl Op for FewestLarge {
    fn name(&self) -> &'static str {
        "linalg.det"
    }

    fn decides(&self) -> bool {
        true
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        decision(fewest_large(ins[0])?, batch_ndim)
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("integers have no gradient")
    }
}

/// Whether a matrix of the batch has a pivot that is small relative to its largest: 1 or 0, as a decision.
#[derive(Stored)]
#[stored(op)]
struct IsNearSingular;

impl Op for IsNearSingular {
    fn name(&self) -> &'static str {
        "linalg.det"
    }

    fn decides(&self) -> bool {
        true
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let [_, ratios] = kernel::det(self.name(), ins[0])?;
        let least = epsilon(ratios.dtype()).sqrt().sqrt();
        let is_small = dispatch!(ratios.dtype(), float T => ratios.view::<T>().iter().any(|&r| r.to_f64() <= least), else false);
        decision(usize::from(is_small), batch_ndim)
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("integers have no gradient")
    }
}

/// The determinant of square matrices. Its derivatives are right where it is zero, too.
///
/// ```python
/// >>> fg.linalg.det(2 * fg.ones((1, 1))).item()
/// 2.0
/// ```
#[op(method, in linalg, names("det", "det"))]
pub fn det(x: &Tensor) -> Result<Tensor> {
    square("linalg.det", x)?;
    let x = promoted_inexact(x)?;
    let y = apply(Det, &[&x])?;
    if !x.is_tracked() || decided(IsNearSingular, &x)? == 0 {
        return Ok(y);
    }
    // The value comes from the factorisation, the derivatives from the other form.
    let other = near_singular(&x)?;
    Ok(y.detach() + (&other - other.detach()))
}

/// The sign of the determinant and the logarithm of its absolute value: 0 and -inf for a singular matrix. The sign of a
/// complex determinant is its quotient by the absolute value.
///
/// The derivative of a real sign is zero, that of the logarithm inv(x).T; it is NaN for a singular matrix.
///
/// ```python
/// >>> [t.item() for t in fg.linalg.slogdet(fg.ones((1, 1)))]
/// [1.0, 0.0]
/// ```
#[op(method, in linalg, names("slogdet", "slogdet"))]
pub fn slogdet(x: &Tensor) -> Result<(Tensor, Tensor)> {
    square("linalg.slogdet", x)?;
    Ok(apply_each::<_, 2>(SlogDet, &[&*promoted_inexact(x)?])?.into())
}

/// The logarithm of the determinant: -inf for a singular matrix, NaN where a real determinant is negative.
///
/// ```python
/// >>> fg.linalg.logdet(fg.ones((1, 1))).item()
/// 0.0
/// ```
#[op(method, in linalg, names("logdet", "logdet"))]
pub fn logdet(x: &Tensor) -> Result<Tensor> {
    let (sign, size) = slogdet(x)?;
    if sign.dtype().is_complex() {
        return from_parts(&size, &angle(&sign)?);
    }
    Ok(size + log(&sign.detach())?)
}
