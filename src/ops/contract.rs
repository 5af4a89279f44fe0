//! Products summed over shared axes.

use smallvec::smallvec;

use super::arithmetic::{Class, promoted};
use super::entry::{Operand, entries};
use super::movement::{matrix_transpose, reshape_to};
use crate::array::Array;
use crate::error::{Result, bail};
use crate::graph::{Cotangents, Grads, Keeps, Needs, Op, Outs, Saved, Tangents, Tensor, apply};
use crate::kernel::matmul;
use crate::shape::Dims;

/// The product of matrices in the last two axes.
struct Matmul;

impl Op for Matmul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn forward(&self, ins: &[&Array], lanes: usize) -> Result<Outs> {
        Ok(smallvec![matmul::matmul("matmul", ins[0], ins[1], lanes)?])
    }

    fn keeps(&self, needs: Needs) -> Keeps {
        Keeps::inputs(2).when(needs.has(0)).and(Keeps::inputs(1).when(needs.has(1)))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(g) = &g[0] else { return Ok(smallvec![None, None]) };
        Ok(smallvec![
            s.needs(0).then(|| apply(Matmul, &[g, &matrix_transpose(&s.input(1))?])).transpose()?,
            s.needs(1).then(|| apply(Matmul, &[&matrix_transpose(&s.input(0))?, g])).transpose()?,
        ])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let x = t[0].as_ref().map(|t| apply(Matmul, &[t, &s.input(1)])).transpose()?;
        let y = t[1].as_ref().map(|t| apply(Matmul, &[&s.input(0), t])).transpose()?;
        Ok(smallvec![match (x, y) {
            (Some(x), Some(y)) => Some(x + y),
            (x, y) => x.or(y),
        }])
    }
}

/// The matrix product, with the vector and batch cases of NumPy's `matmul`.
pub fn matmul(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    let (x, y) = promoted(Class::Num, x, y)?;
    let (a, b) = (x.dims(), y.dims());
    if a.is_empty() || b.is_empty() {
        bail!(Shape, "matmul", "{a:?} @ {b:?}: a 0-d tensor is not a matrix");
    }
    let inner = (a[a.len() - 1], b[b.len().saturating_sub(2)]);
    if inner.0 != inner.1 {
        bail!(Shape, "matmul", "{a:?} @ {b:?}: inner sizes {} and {} differ", inner.0, inner.1);
    }
    if a.len() > 1 && b.len() > 1 {
        return apply(Matmul, &[&x, &y]);
    }
    // A vector on the left is a row, on the right a column; its other axis goes again afterwards.
    let row = reshape_to(&x, &if a.len() == 1 { Dims::from_slice(&[1, a[0]]) } else { Dims::from_slice(a) })?;
    let column =
        reshape_to(&y, &if b.len() == 1 { Dims::from_slice(&[b[0], 1]) } else { Dims::from_slice(b) })?;
    let out = apply(Matmul, &[&row, &column])?;
    let mut dims = Dims::from_slice(out.dims());
    if b.len() == 1 {
        dims.pop();
    }
    if a.len() == 1 {
        dims.remove(dims.len() - if b.len() == 1 { 1 } else { 2 });
    }
    reshape_to(&out, &dims)
}

entries! {
    method matmul (x: Operand<'_>, y: Operand<'_>)
        "The matrix product over the last two axes; the axes before them broadcast, and a vector counts as one row or column.";
}
