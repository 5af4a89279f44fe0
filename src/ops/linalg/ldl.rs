//! The factors `P L D Lᵀ Pᵀ` of symmetric and Hermitian matrices, and equations with them.

use smallvec::smallvec;

use super::parts::weigh;
use super::solve::{identity, solve, solve_or_nan, triangle};
use super::squares_of;
use crate::array::Array;
use crate::dtype::{DType, DTypeKind};
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply_each,
};
use crate::linalg as kernel;
use crate::ops::entry::op;
use crate::ops::index::take_along_axis;
use crate::ops::linalg::{h, like, mm, t};
use crate::ops::movement::{broadcast_to, cast, conj, expand_dims, real};
use crate::ops::pointwise::select::part;
use crate::ops::promote::{Class, promoted, promoted_inexact};
use crate::ops::sort::argsort;
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// What pivots say of matrices: see [`kernel::places_of_pivots`].
#[derive(Stored)]
#[stored(op)]
struct Places;

impl Op for Places {
    fn name(&self) -> &'static str {
        "linalg.ldl_solve"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok(kernel::places_of_pivots(self.name(), ins[0])?.into_iter().collect())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, dims @ &[.., n]) = ins.alike::<1>()? else { return None };
        let made: [(DType, &[&[usize]]); 3] =
            [(DType::I64, &[dims]), (DType::I64, &[dims, &[n]]), (DType::Bool, &[dims, &[n]])];
        if dtype == DType::I64 { ins.make(&made) } else { None }
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![None])
    }

    fn jvp(&self, _: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![None])
    }
}

/// Rows in another order: row `i` of the result is row `order[i]`.
fn rows(x: &Tensor, order: &Tensor) -> Result<Tensor> {
    take_along_axis(x, &expand_dims(order, &[-1])?, Some(-2))
}

/// The order that undoes another one.
fn inverse(order: &Tensor) -> Result<Tensor> {
    argsort(order, -1, false, true)
}

/// The transpose; the conjugate transpose for Hermitian matrices.
fn turned(x: &Tensor, hermitian: bool) -> Result<Tensor> {
    if hermitian { h(x) } else { t(x) }
}

/// The factors `l` and `d` of `x[order][:, order] = l @ d @ lᵀ`.
struct Factors {
    order: Tensor,
    sources: Tensor,
    blocks: Tensor,
    l: Tensor,
    d: Tensor,
}

impl Factors {
    fn new(both: &Tensor, pivots: &Tensor, hermitian: bool) -> Result<Factors> {
        let [order, sources, blocks] = apply_each(Places, &[&cast(&pivots.detach(), DType::I64)?])?;
        let n = *order.dims().last().expect("a list");
        let half = weigh(&part(&blocks, true, both)?, 1.0, 0.0, 0.0)?;
        let d = weigh(both, 0.0, 1.0, 0.0)? + &half + turned(&half, hermitian)?;
        let moved = take_along_axis(both, &sources, Some(-2))?;
        let l = below(&blocks, &moved)? + identity(both, n)?;
        Ok(Factors { order, sources, blocks, l, d })
    }
}

/// What is below the blocks.
fn below(blocks: &Tensor, x: &Tensor) -> Result<Tensor> {
    weigh(&part(blocks, false, x)?, 1.0, 0.0, 0.0)
}

/// The factors of full matrices in one matrix, their pivots, and where they are singular: see [`kernel::symmetric_factors`].
#[derive(Stored)]
#[stored(op)]
struct Ldl {
    hermitian: bool,
}

impl Op for Ldl {
    fn name(&self) -> &'static str {
        "linalg.ldl_factor"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok(kernel::symmetric_factors(self.name(), ins[0], self.hermitian)?.into_iter().collect())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, lead, n) = squares_of(ins)?;
        ins.make(&[(dtype, &[lead, &[n, n]]), (DType::I32, &[lead, &[n]]), (DType::I32, &[lead])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::outputs(0b11)
    }

    /// Where `g` is the gradient of `l` below the blocks and `d'` that of `d`, the gradient of the matrix in its order is
    /// `l⁻ᴴ (below(lᴴ g d⁻ᴴ) + d') l⁻¹`, with the conjugate of `l⁻¹` for symmetric matrices.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(g) = &g[0] else { return Ok(smallvec![None]) };
        let g = &conj(g)?;
        let f = Factors::new(&s.output(0), &s.output(1), self.hermitian)?;
        let lh = h(&f.l)?;
        let moved = below(&f.blocks, &take_along_axis(g, &f.sources, Some(-2))?)?;
        let inner = h(&solve_or_nan(&f.d, &h(&mm(&lh, &moved)?)?)?)?;
        let inner = below(&f.blocks, &inner)? + weigh(&part(&f.blocks, true, g)?, 1.0, 1.0, 0.0)?;
        let back = |x: &Tensor| triangle(&lh, x, true, true);
        let outer = turned(&back(&turned(&back(&inner)?, self.hermitian)?)?, self.hermitian)?;
        let undone = inverse(&f.order)?;
        Ok(smallvec![Some(conj(&t(&rows(&t(&rows(&outer, &undone)?)?, &undone)?)?)?)])
    }
}

/// The factors of symmetric matrices, of Hermitian ones if so, for which their lower triangles are read: `p @ l @ d @ l.T @ p.T`
/// for a permutation p, a lower triangle l with ones on the diagonal, and d with blocks of one or two rows on it.
///
/// The first result has the lower triangles of the blocks, and what is below them of l. The second one (int32, counted from 1)
/// has the row with which each row was exchanged; two equal negative numbers belong to a block of two rows. The third one
/// (int32) is 0, or for a singular matrix the first place on the diagonal of d that is zero.
///
/// ```python
/// >>> [t.tolist() for t in fg.linalg.ldl_factor_ex(fg.tensor([[4., 2.], [2., 3.]]))]
/// [[[4.0, 0.0], [0.5, 2.0]], [1, 2], 0]
/// ```
#[op(function, in linalg)]
pub fn ldl_factor_ex(x: &Tensor, #[default(false)] hermitian: bool) -> Result<(Tensor, Tensor, Tensor)> {
    let x = promoted_inexact(x)?;
    if !matches!(*x.dims(), [.., m, n] if m == n) {
        bail!(
            Shape,
            "linalg.ldl_factor",
            "the factors are those of square matrices, not of shape {:?}",
            x.dims()
        );
    }
    let hermitian = hermitian && x.dtype().is_complex();
    let (low, diagonal) = (weigh(&x, 1.0, 0.0, 0.0)?, weigh(&x, 0.0, 1.0, 0.0)?);
    let diagonal = if hermitian { like(&x, &real(&diagonal)?)? } else { diagonal };
    let full = &low + turned(&low, hermitian)? + diagonal;
    let [both, pivots, info] = apply_each(Ldl { hermitian }, &[&full])?;
    Ok((both, pivots, info))
}

/// The solution z of a @ z = y, given the factors x and the pivots of a from `ldl_factor_ex`. The leading axes broadcast.
///
/// ```python
/// >>> x, pivots, _ = fg.linalg.ldl_factor_ex(fg.tensor([[4., 2.], [2., 3.]]))
/// >>> fg.linalg.ldl_solve(x, pivots, fg.tensor([[8.], [8.]])).tolist()
/// [[1.0], [2.0]]
/// ```
#[op(function, in linalg)]
pub fn ldl_solve(
    x: &Tensor,
    pivots: &Tensor,
    y: &Tensor,
    #[default(false)] hermitian: bool,
) -> Result<Tensor> {
    const OP: &str = "linalg.ldl_solve";
    let (x, y) = promoted(Class::Real, x.into(), y.into())?;
    let fit = match (x.dims(), y.dims()) {
        (&[.., m, n], &[.., right, _]) => m == n && right == n && pivots.dims() == &x.dims()[..x.rank() - 1],
        _ => false,
    };
    if !fit {
        let (x, pivots, y) = (x.dims(), pivots.dims(), y.dims());
        bail!(
            Shape,
            OP,
            "factors are [..., n, n], pivots are [..., n] and B is [..., n, k], not of the shapes {x:?}, {pivots:?} and {y:?}"
        );
    }
    if pivots.dtype().kind() != DTypeKind::Int {
        bail!(Argument, OP, "pivots are integers, not {}", pivots.dtype());
    }
    let hermitian = hermitian && x.dtype().is_complex();
    let f = Factors::new(&x, pivots, hermitian)?;
    let lead = shape::broadcast(OP, &x.dims()[..x.rank() - 2], &y.dims()[..y.rank() - 2])?;
    let full = |own: &[usize]| lead.iter().chain(own).copied().collect::<Dims>();
    let order = broadcast_to(&f.order, &full(&x.dims()[x.rank() - 1..]))?;
    let y = broadcast_to(&y, &full(&y.dims()[y.rank() - 2..]))?;
    let inner = solve((&f.d).into(), (&triangle(&f.l, &rows(&y, &order)?, false, true)?).into())?;
    rows(&triangle(&turned(&f.l, hermitian)?, &inner, true, true)?, &inverse(&order)?)
}
