//! The QR factorisation.
//!
//! Rule: S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions with application in
//! optimum experimental design" (2010).

use smallvec::smallvec;

use super::lu::factored_gradient;
use super::matrices;
use super::parts::{beside_each_other, columns, weigh};
use super::solve::triangle;
use crate::array::{Array, Item};
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tensor, apply, apply_each, only,
};
use crate::linalg as kernel;
use crate::ops::entry::{Operand, op};
use crate::ops::linalg::{h, matrix, mm, t};
use crate::ops::movement::{conj, diagonal, pad};
use crate::ops::promote::promoted_inexact;
use crate::ops::terms::add_terms;
use crate::stored::Stored;

/// The reduced factors of a matrix with at least as many rows as columns.
#[derive(Stored)]
#[stored(op)]
struct Qr;

/// `x r⁻ᴴ`.
fn over_transposed(x: &Tensor, r: &Tensor) -> Result<Tensor> {
    h(&triangle(r, &h(x)?, true, false)?)
}

impl Op for Qr {
    fn name(&self) -> &'static str {
        "linalg.qr"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok(kernel::qr(self.name(), ins[0])?.into_iter().collect())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, lead, m, n) = matrices(ins)?;
        let k = m.min(n);
        ins.make(&[(dtype, &[lead, &[m, k]]), (dtype, &[lead, &[k, n]])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::outputs(3)
    }

    /// `(gq + q copyltu(m)) r⁻ᴴ` with `m = r grᴴ - gqᴴ q`, where `copyltu` mirrors the lower triangle.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let (q, r) = (s.output(0), s.output(1));
        // The conjugate transpose of a conjugate is the transpose.
        let from_r = g[1].as_ref().map(|g| mm(&r, &t(g)?)).transpose()?;
        let from_q = g[0].as_ref().map(|g| mm(&-t(g)?, &q)).transpose()?;
        let Some(m) = add_terms([from_r, from_q]) else { return Ok(smallvec![None]) };
        let half = weigh(&m, 1.0, 0.5, 0.0)?;
        let mirrored = &half + h(&half)?;
        let x = add_terms([g[0].as_ref().map(conj).transpose()?, Some(mm(&q, &mirrored)?)]);
        Ok(smallvec![x.map(|x| conj(&over_transposed(&x, &r)?)).transpose()?])
    }
}

/// Orthonormal columns that complete those of the input to a basis. They are determined only as a space;
/// their derivative leaves out rotations within it.
#[derive(Stored)]
#[stored(op)]
struct Complement;

impl Op for Complement {
    fn name(&self) -> &'static str {
        "linalg.complement"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([kernel::complement(self.name(), ins[0])?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, lead, m, k) = matrices(ins)?;
        ins.make(&[(dtype, &[lead, &[m, m.checked_sub(k)?]])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(1).and(Saves::outputs(1))
    }

    /// `-c gᴴ q` for columns `q` and their complement `c`.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        Ok(smallvec![Some(-conj(&mm(&s.output(0), &mm(&t(g)?, &s.input(0))?)?)?)])
    }
}

/// Orthonormal columns with those that complete them to a basis.
pub(in crate::ops) fn with_complement(q: &Tensor) -> Result<Tensor> {
    beside_each_other(q, &apply(Complement, &[q])?)
}

/// The reflections of which orthonormal columns are made: see [`kernel::reflections`].
#[derive(Stored)]
#[stored(op)]
struct Reflections;

impl Op for Reflections {
    fn name(&self) -> &'static str {
        "geqrf"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([kernel::reflections(self.name(), ins[0])?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, lead, m, n) = matrices(ins)?;
        ins.make(&[(dtype, &[lead, &[m, n]])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::outputs(1)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![Some(factored_gradient(&s.output(0), only(g))?)])
    }
}

/// Orthonormal columns q and an upper triangle r, whose diagonal is real and has LAPACK's signs, with q @ r = x.
///
/// For x of shape [m, n], q is [m, k] and r is [k, n] with k = min(m, n); q is [m, m] and r is [m, n] with
/// mode='complete'. The columns that complete q are determined only as a space.
///
/// ```python
/// >>> [t.shape for t in fg.linalg.qr(fg.ones((3, 2)))]
/// [(3, 2), (2, 2)]
/// ```
#[op(function, in linalg)]
pub fn qr(x: &Tensor, #[default("reduced")] mode: &str) -> Result<(Tensor, Tensor)> {
    let (m, n) = matrix("linalg.qr", x)?;
    let complete = match mode {
        "reduced" | "some" => false,
        "complete" => true,
        _ => bail!(Argument, "linalg.qr", "the mode is 'reduced' or 'complete', not '{mode}'"),
    };
    let x = promoted_inexact(x)?;
    // Of a wide matrix the first columns decide q, and the others only follow.
    let first = if m < n { columns(&x, 0, m)? } else { x.clone().into_owned() };
    let [q, r] = apply_each(Qr, &[&first])?;
    if m < n {
        let others = mm(&h(&q)?, &columns(&x, m, n - m)?)?;
        return Ok((q, beside_each_other(&r, &others)?));
    }
    if complete && m > n {
        // The sum makes a negative zero positive.
        let nothing = columns(&t(&x)?, 0, m - n)? * 0.0 + 0.0;
        return Ok((with_complement(&q)?, t(&beside_each_other(&t(&r)?, &nothing)?)?));
    }
    Ok((q, r))
}

/// The factors of `linalg.qr` as LAPACK packs them: a matrix of the shape of x with r in its upper triangle and the
/// vectors of reflections below, and the factors of these, as `householder_product` takes them.
///
/// ```python
/// >>> x = fg.tensor([[3., 1.], [4., 2.]])
/// >>> a, tau = fg.geqrf(x)
/// >>> q = fg.linalg.householder_product(a, tau)
/// >>> bool(fg.allclose(q @ fg.triu(a), x))
/// True
/// ```
#[op(function)]
pub fn geqrf(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let (m, n) = matrix("geqrf", x)?;
    let (q, r) = qr(x, "reduced")?;
    let k = m.min(n);
    // The last row of a square real matrix has nothing below it to reflect.
    let used = if q.dtype().is_complex() { k } else { k.min(m.saturating_sub(1)) };
    let both = apply(Reflections, &[&columns(&q, 0, used)?])?;
    let grown = |x: &Tensor, down: usize, right: usize| {
        let mut widths = vec![(0, 0); x.rank()];
        for (width, by) in widths.iter_mut().rev().zip([right, down]) {
            width.1 = by as i64;
        }
        pad(x, &widths, "constant", Operand::Number(Item::Int(0)))
    };
    let vectors = weigh(&grown(&both, 0, n - used)?, 1.0, 0.0, 0.0)?;
    let factors = grown(&-diagonal(&both, 0, -2, -1)?, 0, k - used)?;
    Ok((vectors + grown(&r, m - k, 0)?, factors))
}
