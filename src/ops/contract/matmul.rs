//! The matrix product, and the inner product of vectors.

use std::borrow::Cow;

use smallvec::smallvec;

use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::modes::{self, Flags};
use crate::graph::{
    Cotangents, Grads, Level, Loops, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor,
    apply, only,
};
use crate::kernel::broadcast::broadcast_batch_pair;
use crate::kernel::matmul;
use crate::kernel::reduce::dot;
use crate::ops::batch::leave;
use crate::ops::entry::{Operand, op};
use crate::ops::movement::{broadcast_to, conj, matrix_transpose, permute_dims, reshape_to};
use crate::ops::pointwise::arithmetic::multiply_same;
use crate::ops::promote::{Class, promoted};
use crate::ops::terms::add_terms;
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// The product of matrices in the last two axes.
#[derive(Clone, Copy, Stored)]
#[stored(op)]
pub(in crate::ops) struct Matmul;

/// A product whose factors of float32 may be rounded to bfloat16, and so may those of its gradients.
#[derive(Clone, Copy, Stored)]
#[stored(op)]
struct RoundedMatmul;

/// The product of matrices, whose factors may be rounded if the modes of this thread have it so.
pub(in crate::ops) fn product(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let rounds = modes::flags().has(Flags::ROUNDS_FACTORS);
    if rounds { apply(RoundedMatmul, &[x, y]) } else { apply(Matmul, &[x, y]) }
}

impl Op for Matmul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        Ok([matmul::matmul("matmul", ins[0], ins[1], batch_ndim)?].into())
    }

    fn lower(&self, _: &Operands<'_>) -> Option<Loops> {
        Some(Loops::Product)
    }

    fn carries_integers(&self) -> u64 {
        0b11
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        Saves::inputs(2).when(needs.has(0)).and(Saves::inputs(1).when(needs.has(1)))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        gradients(*self, only(g), s)
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        tangents(*self, t, s)
    }
}

impl Op for RoundedMatmul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        Ok([matmul::rounded_matmul("matmul", ins[0], ins[1], batch_ndim)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        Loops::Product.makes(ins)
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        Matmul.saves(needs)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        gradients(*self, only(g), s)
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        tangents(*self, t, s)
    }
}

/// The gradients of a product, which are products of the same kind.
fn gradients<O: Op + Copy>(op: O, g: &Tensor, s: &Saved<'_>) -> Result<Grads> {
    let first = || {
        let [g, y] = with_batch(s, 0, [Cow::Borrowed(g), Cow::Owned(s.input(1))], 1)?;
        apply(op, &[&g, &matrix_transpose(&y)?])
    };
    let second = || {
        let [x, g] = with_batch(s, 1, [Cow::Owned(s.input(0)), Cow::Borrowed(g)], 0)?;
        apply(op, &[&matrix_transpose(&x)?, &g])
    };
    Ok(smallvec![s.needs(0).then(first).transpose()?, s.needs(1).then(second).transpose()?])
}

/// The tangent of a product, which is a sum of products of the same kind.
fn tangents<O: Op + Copy>(op: O, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
    let x = t[0].as_ref().map(|t| apply(op, &[t, &s.input(1)])).transpose()?;
    let y = t[1].as_ref().map(|t| apply(op, &[&s.input(0), t])).transpose()?;
    Ok(smallvec![add_terms([x, y])])
}

/// The factors of the gradient of a matrix, input `i`, which is summed over `axis` of both. A batch that is summed later,
/// because the matrix does not have it, becomes part of that axis, so that no product for each example is kept.
fn with_batch<'a>(
    s: &Saved<'_>,
    i: usize,
    factors: [Cow<'a, Tensor>; 2],
    axis: usize,
) -> Result<[Cow<'a, Tensor>; 2]> {
    let [mut x, mut y] = factors;
    if !x.levels.is_empty() && x.rank() == 2 && y.rank() == 2 && s.dims(i).len() == 2 {
        let is_summed = |level: &Level| y.levels.contains(*level) && s.is_summed(i, *level);
        let levels: Vec<Level> = x.levels.as_slice().iter().copied().filter(is_summed).collect();
        for level in levels {
            x = Cow::Owned(merged(&x, level, axis)?);
            y = Cow::Owned(merged(&y, level, axis)?);
        }
    }
    Ok([x, y])
}

/// A matrix whose hidden axis of a level is part of one of its axes.
fn merged(x: &Tensor, level: Level, axis: usize) -> Result<Tensor> {
    let mut dims = Dims::from_slice(x.dims());
    dims[axis] *= level.batch_size;
    reshape_to(&leave(x, level, axis)?, &dims)
}

/// The inner products of the rows of two tensors of one shape.
#[derive(Stored)]
#[stored(op)]
struct Dot;

impl Dot {
    /// One number for each row, times the rows.
    fn scaled(g: &Tensor, x: &Tensor) -> Result<Tensor> {
        Ok(reshape_to(g, &joined(g.dims(), &[1]))? * x)
    }
}

impl Op for Dot {
    fn name(&self) -> &'static str {
        "vecdot"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let (x, y) = broadcast_batch_pair(ins[0], ins[1], batch_ndim);
        Ok([dot::last_axis("vecdot", &x, &y)?].into())
    }

    fn lower(&self, _: &Operands<'_>) -> Option<Loops> {
        Some(Loops::Dot)
    }

    fn carries_integers(&self) -> u64 {
        0b11
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        Saves::inputs(2).when(needs.has(0)).and(Saves::inputs(1).when(needs.has(1)))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        Ok(smallvec![
            s.needs(0).then(|| Dot::scaled(g, &s.input(1))).transpose()?,
            s.needs(1).then(|| Dot::scaled(g, &s.input(0))).transpose()?,
        ])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let x = t[0].as_ref().map(|t| apply(Dot, &[t, &s.input(1)])).transpose()?;
        let y = t[1].as_ref().map(|t| apply(Dot, &[&s.input(0), t])).transpose()?;
        Ok(smallvec![add_terms([x, y])])
    }
}

/// The error text of two matrices whose inner sizes differ.
pub(super) fn unequal([m, k]: [usize; 2], [l, n]: [usize; 2]) -> String {
    format!("mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {l}x{n})")
}

/// The matrix product over the last two axes: z[…, i, j] = Σₖ x[…, i, k] · y[…, k, j].
///
/// The axes before them broadcast. A vector on the left is a row, on the right a column, and that axis is
/// left out of the result. Shapes that do not fit are a ShapeError, truth values a DtypeError.
///
/// ```python
/// >>> fg.matmul(fg.ones((2, 3)), fg.ones((3, 4))).shape
/// (2, 4)
/// ```
#[op(method, names("matmul", "mm"), heavy, reads_lent)]
pub fn matmul(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    let (x, y) = numbers("matmul", x, y)?;
    let (a, b) = (x.dims(), y.dims());
    let (&[.., inner], &[.., _]) = (a, b) else {
        bail!(Shape, "matmul", "{a:?} @ {b:?}: a 0-d tensor is not a matrix");
    };
    let outer = b[b.len().saturating_sub(2)];
    if inner != outer {
        if let (&[m, k], &[l, n]) = (a, b) {
            bail!(Shape, "matmul", "{a:?} @ {b:?}: {}", unequal([m, k], [l, n]));
        }
        bail!(Shape, "matmul", "{a:?} @ {b:?}: inner sizes {inner} and {outer} differ");
    }
    if a.len() > 1 && b.len() > 1 && (a.len() == 2 || b.len() > 2) {
        return product(&x, &y);
    }
    // A vector on the left is a row, on the right a column, and the added axis is removed afterwards. Leading
    // axes that only the left operand has become more rows of one matrix, so that each gradient is a single
    // product.
    let rows =
        if b.len() > 2 { Dims::from_slice(&[1]) } else { Dims::from_slice(&[shape::len(&a[..a.len() - 1])]) };
    let left = reshape_to(&x, &joined(&rows, &[inner]))?;
    let right = if b.len() == 1 { reshape_to(&y, &[b[0], 1])? } else { y.clone().into_owned() };
    let out = product(&left, &right)?;
    let (lead, kept) = (&a[..a.len() - 1], if b.len() == 1 { &[][..] } else { &b[b.len() - 1..] });
    let batch = &b[..b.len().saturating_sub(2)];
    reshape_to(&out, &joined(batch, &joined(lead, kept)))
}

/// Two operands in the dtype of their product. Refuses booleans.
pub(super) fn numbers<'a>(
    op: &'static str,
    x: Operand<'a>,
    y: Operand<'a>,
) -> Result<(Cow<'a, Tensor>, Cow<'a, Tensor>)> {
    if let (Operand::Tensor(a), Operand::Tensor(b)) = (x, y)
        && (a.dtype(), b.dtype()) == (DType::Bool, DType::Bool)
    {
        bail!(Dtype, op, "not defined for bool; cast to an integer or a float first");
    }
    promoted(Class::Num, x, y)
}

fn joined(a: &[usize], b: &[usize]) -> Dims {
    a.iter().chain(b).copied().collect()
}

/// The inner product over an axis that both have with the same size; the other axes broadcast. Of complex numbers the
/// first factor is conjugated.
///
/// ```python
/// >>> fg.vecdot(fg.ones((2, 3)), fg.ones(3)).shape
/// (2,)
/// ```
#[op(method)]
pub fn vecdot(x: Operand<'_>, y: Operand<'_>, #[default(-1)] axis: i64) -> Result<Tensor> {
    let (x, y) = numbers("vecdot", x, y)?;
    let x = conj(&x)?;
    // A number stands for a vector of it.
    match (x.rank(), y.rank()) {
        (0, 0) => multiply_same(&x, &y),
        (0, _) => inner_products(&broadcast_to(&x, y.dims())?, &y, axis),
        (_, 0) => inner_products(&x, &broadcast_to(&y, x.dims())?, axis),
        _ => inner_products(&x, &y, axis),
    }
}

/// The sums of products over an axis that both tensors, of one dtype, have with the same size.
pub(super) fn inner_products(x: &Tensor, y: &Tensor, axis: i64) -> Result<Tensor> {
    let last = |t: &Tensor| -> Result<Tensor> {
        let axis = shape::axis("vecdot", axis, t.rank())?;
        let order: Vec<i64> = (0..t.rank()).filter(|&a| a != axis).chain([axis]).map(|a| a as i64).collect();
        if axis + 1 == t.rank() { Ok(t.clone()) } else { permute_dims(t, &order) }
    };
    let (x, y) = (last(x)?, last(y)?);
    let (a, b) = (x.dims(), y.dims());
    let ([lead_a @ .., m], [lead_b @ .., n]) = (a, b) else {
        unreachable!("`axis` asked for an axis of both")
    };
    if m != n {
        bail!(Shape, "vecdot", "{a:?} and {b:?}: the sizes {m} and {n} of the axis differ");
    }
    if a == b {
        return apply(Dot, &[&x, &y]);
    }
    let dims = shape::broadcast("vecdot", lead_a, lead_b)?;
    let row = reshape_to(&x, &joined(lead_a, &[1, *m]))?;
    let column = reshape_to(&y, &joined(lead_b, &[*n, 1]))?;
    reshape_to(&product(&row, &column)?, &dims)
}
