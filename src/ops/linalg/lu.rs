//! The LU factorisation.
//!
//! Rules for square matrices: S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions with
//! application in optimum experimental design" (2010). For others the square part's rule has one term more.

use smallvec::smallvec;

use super::matrices;
use super::parts::{beside_each_other, columns, weigh};
use super::solve::{identity, triangle};
use crate::array::{Array, Item};
use crate::dtype::{DType, DTypeKind};
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply,
    apply_each,
};
use crate::linalg as kernel;
use crate::ops::create::eye;
use crate::ops::entry::op;
use crate::ops::index::{narrow, take_along_axis};
use crate::ops::linalg::{h, matrix, mm, square, t};
use crate::ops::movement::{broadcast_to, cast, concat, expand_dims};
use crate::ops::pointwise::compare::equal;
use crate::ops::promote::promoted_inexact;
use crate::ops::sort::argsort;
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// The factors `l` and `u` in one matrix, and three lists of indices: see [`kernel::factors`].
#[derive(Stored)]
#[stored(op)]
struct Lu;

impl Op for Lu {
    fn name(&self) -> &'static str {
        "linalg.lu_factor"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok(kernel::factors(self.name(), ins[0])?.into_iter().collect())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, lead, m, n) = matrices(ins)?;
        let rows: (DType, &[&[usize]]) = (DType::I64, &[lead, &[m]]);
        ins.make(&[(dtype, &[lead, &[m, n]]), rows, rows, (DType::I64, &[lead, &[m.min(n)]])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::outputs(0b101)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(g) = &g[0] else { return Ok(smallvec![None]) };
        Ok(smallvec![Some(reordered(&factored_gradient(&s.output(0), g)?, &s.output(2))?)])
    }
}

/// The gradient of a matrix without a permutation, from that of its packed factors. With `l1` and `u1` square:
/// `l1⁻ᵀ (tril(l1ᵀ gl1 - gu2 u2ᵀ, -1) + triu(gu1 u1ᵀ - l2ᵀ gl2)) u1⁻ᵀ`, and beside it `l1⁻ᵀ gu2`, or below it
/// `gl2 u1⁻ᵀ`.
pub(super) fn factored_gradient(both: &Tensor, g: &Tensor) -> Result<Tensor> {
    let (m, n) = matrix("linalg.lu_factor", both)?;
    let k = m.min(n);
    let rows = |x: &Tensor, start: usize, count: usize| narrow(x, -2, start as i64, count as i64);
    let (one, g1) = (columns(&rows(both, 0, k)?, 0, k)?, columns(&rows(g, 0, k)?, 0, k)?);
    let (l1, u1) = (weigh(&one, 1.0, 0.0, 0.0)? + identity(&one, k)?, weigh(&one, 0.0, 1.0, 1.0)?);
    let mut low = mm(&t(&l1)?, &weigh(&g1, 1.0, 0.0, 0.0)?)?;
    let mut high = mm(&weigh(&g1, 0.0, 1.0, 1.0)?, &t(&u1)?)?;
    let over_l = |x: &Tensor| triangle(&t(&one)?, x, true, true);
    let over_u = |x: &Tensor| t(&triangle(&one, &t(x)?, true, false)?);
    let other = if n > m {
        let (u2, g2) = (columns(both, k, n - k)?, columns(g, k, n - k)?);
        low = low - mm(&g2, &t(&u2)?)?;
        Some(over_l(&g2)?)
    } else if m > n {
        let (l2, g2) = (rows(both, k, m - k)?, rows(g, k, m - k)?);
        high = high - mm(&t(&l2)?, &g2)?;
        Some(over_u(&g2)?)
    } else {
        None
    };
    let inner = weigh(&low, 1.0, 0.0, 0.0)? + weigh(&high, 0.0, 1.0, 1.0)?;
    let first = over_u(&over_l(&inner)?)?;
    match other {
        Some(second) if n > m => beside_each_other(&first, &second),
        Some(second) => concat(&[first, second], Some(-2)),
        None => Ok(first),
    }
}

/// The rows of matrices in another order: row `i` of the result is row `order[i]`.
fn reordered(x: &Tensor, order: &Tensor) -> Result<Tensor> {
    take_along_axis(x, &expand_dims(order, &[-1])?, Some(-2))
}

/// The packed factors and the three lists, as integers.
fn factored(x: &Tensor) -> Result<[Tensor; 4]> {
    let x = promoted_inexact(x)?;
    matrix("linalg.lu_factor", &x)?;
    apply_each(Lu, &[&x])
}

/// The matrix whose product with `x` has row `i` of `x` as row `rows[i]`.
fn permutation(rows: &Tensor, dtype: DType) -> Result<Tensor> {
    let m = *rows.dims().last().expect("a list");
    let numbers = crate::ops::index::line("linalg.lu", m, 0..m as i64)?;
    let places = expand_dims(&numbers, &[-1])?;
    cast(&equal((&places).into(), (&expand_dims(rows, &[-2])?).into())?, dtype)
}

/// The triangles of packed factors.
fn triangles(both: &Tensor) -> Result<(Tensor, Tensor)> {
    let (m, n) = matrix("lu_unpack", both)?;
    let k = m.min(n);
    let ones = eye(m as i64, Some(k as i64), Item::Int(0), Some(both.dtype()))?;
    let low = weigh(&columns(both, 0, k)?, 1.0, 0.0, 0.0)? + ones;
    Ok((low, weigh(&narrow(both, -2, 0, k as i64)?, 0.0, 1.0, 1.0)?))
}

/// The factors of matrices with partial pivoting: a permutation p, a lower triangle l with ones on the diagonal and an upper
/// triangle u with p @ l @ u = x.
///
/// ```python
/// >>> p, l, u = fg.linalg.lu(fg.tensor([[0., 2.], [1., 1.]]))
/// >>> (p @ l @ u).tolist()
/// [[0.0, 2.0], [1.0, 1.0]]
/// ```
#[op(function, in linalg)]
pub fn lu(x: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    let [both, rows, _, _] = factored(x)?;
    let (low, high) = triangles(&both)?;
    Ok((permutation(&rows, both.dtype())?, low, high))
}

/// The factors of matrices with partial pivoting: both triangles in one matrix, without the ones on the diagonal of the
/// lower, and (int32, counted from 1) the row that each row was exchanged with.
///
/// ```python
/// >>> both, pivots = fg.linalg.lu_factor(fg.tensor([[0., 2.], [1., 1.]]))
/// >>> both.tolist(), pivots.tolist()
/// ([[1.0, 1.0], [0.0, 2.0]], [2, 2])
/// ```
#[op(function, in linalg)]
pub fn lu_factor(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let [both, _, _, exchanged] = factored(x)?;
    let pivots = cast(&exchanged, DType::I32)?;
    Ok((both, pivots))
}

/// The rows that pivots lead to.
#[derive(Stored)]
#[stored(op)]
struct PermutedRows(usize);

impl Op for PermutedRows {
    fn name(&self) -> &'static str {
        "lu_unpack"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([kernel::permuted_rows(self.name(), ins[0], self.0)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        match ins.alike::<1>()? {
            (DType::I64, &[ref lead @ .., k]) if k <= self.0 => ins.make(&[(DType::I64, &[lead, &[self.0]])]),
            _ => None,
        }
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

fn permuted_rows(op: &'static str, pivots: &Tensor, m: usize) -> Result<Tensor> {
    if pivots.rank() == 0 || pivots.dtype().kind() != DTypeKind::Int {
        bail!(
            Argument,
            op,
            "pivots are lists of integers, not {} of shape {:?}",
            pivots.dtype(),
            pivots.dims()
        );
    }
    apply(PermutedRows(m), &[&cast(&pivots.detach(), DType::I64)?])
}

/// The factors p, l and u of which `lu_factor` gives both triangles in one matrix, and the pivots.
///
/// ```python
/// >>> p, l, u = fg.lu_unpack(*fg.linalg.lu_factor(fg.tensor([[0., 2.], [1., 1.]])))
/// >>> (p @ l @ u).tolist()
/// [[0.0, 2.0], [1.0, 1.0]]
/// ```
#[op(function)]
pub fn lu_unpack(x: &Tensor, pivots: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    let x = promoted_inexact(x)?;
    let (low, high) = triangles(&x)?;
    let rows = permuted_rows("lu_unpack", pivots, matrix("lu_unpack", &x)?.0)?;
    Ok((permutation(&rows, x.dtype())?, low, high))
}

/// The solution z of a @ z = y (of z @ a = y if not left; of the conjugate transpose of a if adjoint), given the factors x and the
/// pivots of a from `lu_factor`. The leading axes broadcast.
///
/// ```python
/// >>> a = fg.tensor([[0., 2.], [1., 1.]])
/// >>> fg.linalg.lu_solve(*fg.linalg.lu_factor(a), fg.tensor([[2.], [3.]])).tolist()
/// [[2.0], [1.0]]
/// ```
#[op(function, in linalg)]
pub fn lu_solve(
    x: &Tensor,
    pivots: &Tensor,
    y: &Tensor,
    #[default(true)] left: bool,
    #[default(false)] adjoint: bool,
) -> Result<Tensor> {
    const OP: &str = "linalg.lu_solve";
    if !left {
        return h(&lu_solve(x, pivots, &h(y)?, true, !adjoint)?);
    }
    let (x, y) = crate::ops::promote::promoted(crate::ops::promote::Class::Real, x.into(), y.into())?;
    let (n, (rows, _)) = (square(OP, &x)?, matrix(OP, &y)?);
    if rows != n {
        bail!(Shape, OP, "{n} equations of {:?} have right sides of shape {:?}", x.dims(), y.dims());
    }
    let order = permuted_rows(OP, pivots, n)?;
    let lead = shape::broadcast(OP, &order.dims()[..order.rank() - 1], &y.dims()[..y.rank() - 2])?;
    let full = |own: &[usize]| lead.iter().chain(own).copied().collect::<Dims>();
    let order = broadcast_to(&order, &full(&[n]))?;
    let y = broadcast_to(&y, &full(&y.dims()[y.rank() - 2..]))?;
    if adjoint {
        let xh = h(&x)?;
        let z = triangle(&xh, &triangle(&xh, &y, false, false)?, true, true)?;
        return reordered(&z, &argsort(&order, -1, false, true)?);
    }
    triangle(&x, &triangle(&x, &reordered(&y, &order)?, false, true)?, true, false)
}
