//! Products summed over shared axes.

use std::borrow::Cow;

use smallvec::smallvec;

use super::arithmetic::{Class, add, multiply, promoted, subtract};
use super::einsum::tensordot;
use super::entry::{Operand, Pairs, op};
use super::movement::{matrix_transpose, permute_dims, reshape_to, roll};
use super::terms::add_terms;
use crate::array::{Array, Item};
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::{Cotangents, Grads, NeedsGrad, Op, Outputs, Saved, Saves, Tangents, Tensor, apply, only};
use crate::kernel::broadcast::broadcast_batch_pair;
use crate::kernel::matmul;
use crate::kernel::reduce::dot;
use crate::shape::{self, Dims};

/// The product of matrices in the last two axes.
pub(super) struct Matmul;

impl Op for Matmul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn forward(&self, ins: &[&Array], lanes: usize) -> Result<Outputs> {
        Ok([matmul::matmul("matmul", ins[0], ins[1], lanes)?].into())
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        Saves::inputs(2).when(needs.has(0)).and(Saves::inputs(1).when(needs.has(1)))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        Ok(smallvec![
            s.needs(0).then(|| apply(Matmul, &[g, &matrix_transpose(&s.input(1))?])).transpose()?,
            s.needs(1).then(|| apply(Matmul, &[&matrix_transpose(&s.input(0))?, g])).transpose()?,
        ])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let x = t[0].as_ref().map(|t| apply(Matmul, &[t, &s.input(1)])).transpose()?;
        let y = t[1].as_ref().map(|t| apply(Matmul, &[&s.input(0), t])).transpose()?;
        Ok(smallvec![add_terms([x, y])])
    }
}

/// The inner products of the rows of two tensors of one shape.
struct Dot;

impl Dot {
    /// Numbers of rows times the rows.
    fn scaled(g: &Tensor, x: &Tensor) -> Result<Tensor> {
        Ok(reshape_to(g, &joined(g.dims(), &[1]))? * x)
    }
}

impl Op for Dot {
    fn name(&self) -> &'static str {
        "vecdot"
    }

    fn forward(&self, ins: &[&Array], lanes: usize) -> Result<Outputs> {
        let (x, y) = broadcast_batch_pair(ins[0], ins[1], lanes);
        Ok([dot::last_axis("vecdot", &x, &y)?].into())
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

/// The matrix product over the last two axes: z[…, i, j] = Σₖ x[…, i, k] · y[…, k, j].
///
/// The axes before them broadcast. A vector on the left is a row, on the right a column, and that axis is
/// left out of the result. Shapes that do not fit are a ShapeError, truth values a DtypeError.
///
/// ```python
/// >>> fg.matmul(fg.ones((2, 3)), fg.ones((3, 4))).shape
/// (2, 4)
/// ```
#[op(method, names("matmul", "mm"))]
pub fn matmul(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    let (x, y) = numbers("matmul", x, y)?;
    let (a, b) = (x.dims(), y.dims());
    let (&[.., inner], &[.., _]) = (a, b) else {
        bail!(Shape, "matmul", "{a:?} @ {b:?}: a 0-d tensor is not a matrix");
    };
    let outer = b[b.len().saturating_sub(2)];
    if inner != outer {
        bail!(Shape, "matmul", "{a:?} @ {b:?}: inner sizes {inner} and {outer} differ");
    }
    if a.len() > 1 && b.len() > 1 && (a.len() == 2 || b.len() > 2) {
        return apply(Matmul, &[&x, &y]);
    }
    // A vector on the left is a row, on the right a column; its other axis goes again afterwards. Leading axes that
    // only the left one has are more rows of one matrix, so that its gradient and the right one's are one product each.
    let rows =
        if b.len() > 2 { Dims::from_slice(&[1]) } else { Dims::from_slice(&[shape::len(&a[..a.len() - 1])]) };
    let left = reshape_to(&x, &joined(&rows, &[inner]))?;
    let right = if b.len() == 1 { reshape_to(&y, &[b[0], 1])? } else { y.clone().into_owned() };
    let out = apply(Matmul, &[&left, &right])?;
    let (lead, kept) = (&a[..a.len() - 1], if b.len() == 1 { &[][..] } else { &b[b.len() - 1..] });
    let batch = &b[..b.len().saturating_sub(2)];
    reshape_to(&out, &joined(batch, &joined(lead, kept)))
}

/// Two operands in the dtype of their product; truth values have none.
fn numbers<'a>(
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

/// The inner product over an axis that both have with the same size; the other axes broadcast.
///
/// ```python
/// >>> fg.vecdot(fg.ones((2, 3)), fg.ones(3)).shape
/// (2,)
/// ```
#[op(method)]
pub fn vecdot(x: Operand<'_>, y: Operand<'_>, #[default(-1)] axis: i64) -> Result<Tensor> {
    let (x, y) = numbers("vecdot", x, y)?;
    let last = |t: &Tensor| -> Result<Tensor> {
        let axis = shape::axis("vecdot", axis, t.rank())?;
        let order: Vec<i64> = (0..t.rank()).filter(|&a| a != axis).chain([axis]).map(|a| a as i64).collect();
        if axis + 1 == t.rank() { Ok(t.clone()) } else { permute_dims(t, &order) }
    };
    let (x, y) = (last(&x)?, last(&y)?);
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
    reshape_to(&apply(Matmul, &[&row, &column])?, &dims)
}

/// The inner product `Σₖ x[k] · y[k]` of two vectors; of two matrices, row by row.
///
/// ```python
/// >>> fg.dot(fg.ones(3), fg.ones(3)).item()
/// 3.0
/// ```
#[op(method)]
pub fn dot(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    if x.dims() != y.dims() || !matches!(x.rank(), 1 | 2) {
        bail!(
            Shape,
            "dot",
            "{:?} and {:?} are not two vectors (or two lists of them) of one size",
            x.dims(),
            y.dims()
        );
    }
    vecdot(x.into(), y.into(), -1)
}

/// The products summed over the last axis of both: every row of x with every row of y.
///
/// ```python
/// >>> fg.inner(fg.ones((2, 3)), fg.ones((4, 3))).shape
/// (2, 4)
/// ```
#[op(method)]
pub fn inner(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    match (x.rank(), y.rank()) {
        (0, _) | (_, 0) => multiply(x.into(), y.into()),
        _ => tensordot(x, y, Pairs::Named(&[-1], &[-1])),
    }
}

/// The matrix of products `z[i, j] = x[i] · y[j]`; both are taken as vectors.
///
/// ```python
/// >>> fg.outer(fg.ones(2), fg.ones(3)).shape
/// (2, 3)
/// ```
#[op(method, names("outer", "ger"))]
pub fn outer(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let (m, n) = (shape::len(x.dims()), shape::len(y.dims()));
    multiply((&reshape_to(x, &[m, 1])?).into(), (&reshape_to(y, &[1, n])?).into())
}

/// The Kronecker product: y repeated as blocks, each times one element of x.
///
/// ```python
/// >>> fg.kron(fg.ones((2, 2)), fg.ones((1, 3))).shape
/// (2, 6)
/// ```
#[op(method)]
pub fn kron(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let rank = x.rank().max(y.rank());
    let full = |t: &Tensor| -> Dims {
        std::iter::repeat_n(1, rank - t.rank()).chain(t.dims().iter().copied()).collect()
    };
    let (a, b) = (full(x), full(y));
    let fine: Dims = a.iter().flat_map(|&d| [d, 1]).collect();
    let coarse: Dims = b.iter().flat_map(|&d| [1, d]).collect();
    let out = multiply((&reshape_to(x, &fine)?).into(), (&reshape_to(y, &coarse)?).into())?;
    // The sizes are those of an array that exists, in pairs.
    reshape_to(&out, &a.iter().zip(&b).map(|(m, n)| m * n).collect::<Dims>())
}

/// That two tensors have so many axes.
fn ranks(op: &'static str, x: &Tensor, y: &Tensor, wanted: (usize, usize)) -> Result<()> {
    if (x.rank(), y.rank()) != wanted {
        bail!(
            Shape,
            op,
            "tensors of {} and {} axes are wanted, not of the shapes {:?} and {:?}",
            wanted.0,
            wanted.1,
            x.dims(),
            y.dims()
        );
    }
    Ok(())
}

/// The matrix products of two batches of matrices: z[b, i, j] = Σₖ x[b, i, k] · y[b, k, j]. Both have three
/// axes, and batches of one size.
///
/// ```python
/// >>> fg.bmm(fg.ones((5, 2, 3)), fg.ones((5, 3, 4))).shape
/// (5, 2, 4)
/// ```
#[op(method)]
pub fn bmm(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    ranks("bmm", x, y, (3, 3))?;
    if x.dims()[0] != y.dims()[0] {
        bail!(
            Shape,
            "bmm",
            "{:?} @ {:?}: batches of {} and {}",
            x.dims(),
            y.dims(),
            x.dims()[0],
            y.dims()[0]
        );
    }
    matmul(x.into(), y.into())
}

/// The product of a matrix and a vector: `z[i] = Σₖ x[i, k] · y[k]`.
///
/// ```python
/// >>> fg.mv(fg.ones((2, 3)), fg.ones(3)).tolist()
/// [3.0, 3.0]
/// ```
#[op(method)]
pub fn mv(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    ranks("mv", x, y, (2, 1))?;
    matmul(x.into(), y.into())
}

/// An affine map of the last axis: x @ weight.T + bias, with a weight of shape [out, in].
///
/// With transpose=False the weight is [in, out] and taken as it is. Neither form copies it.
///
/// ```python
/// >>> fg.linear(fg.ones((5, 3)), fg.ones((2, 3))).shape
/// (5, 2)
/// ```
#[op(function)]
pub fn linear(
    x: &Tensor,
    weight: &Tensor,
    #[default(None)] bias: Option<&Tensor>,
    #[default(true)] transpose: bool,
) -> Result<Tensor> {
    if !matches!(weight.rank(), 1 | 2) {
        bail!(Shape, "linear", "a weight is a matrix (or one row of one), {:?} is not", weight.dims());
    }
    let flip = transpose && weight.rank() == 2;
    let product = if flip {
        matmul(x.into(), (&matrix_transpose(weight)?).into())
    } else {
        matmul(x.into(), weight.into())
    }?;
    match bias {
        Some(bias) => add((&product).into(), bias.into()),
        None => Ok(product),
    }
}

/// beta * input + alpha * (x @ y); the input broadcasts.
///
/// ```python
/// >>> fg.addmm(fg.ones(2), fg.ones((3, 4)), fg.ones((4, 2))).shape
/// (3, 2)
/// ```
#[op(in_place)]
pub fn addmm(
    input: &Tensor,
    x: &Tensor,
    y: &Tensor,
    #[default(1)] beta: Item,
    #[default(1)] alpha: Item,
) -> Result<Tensor> {
    let scaled = |t: &Tensor, by: Item| match by {
        Item::Int(1) => Ok(t.clone()),
        by => multiply(t.into(), Operand::Number(by)),
    };
    add((&scaled(input, beta)?).into(), (&scaled(&matmul(x.into(), y.into())?, alpha)?).into())
}

/// The cross product of vectors along an axis, which has size 3 in both; the other axes broadcast.
///
/// ```python
/// >>> fg.cross(fg.tensor([1.0, 0.0, 0.0]), fg.tensor([0.0, 1.0, 0.0])).tolist()
/// [0.0, 0.0, 1.0]
/// ```
#[op(method)]
pub fn cross(x: &Tensor, y: &Tensor, #[default(-1)] axis: i64) -> Result<Tensor> {
    const OP: &str = "cross";
    for t in [x, y] {
        let at = shape::axis(OP, axis, t.rank())?;
        if t.dims()[at] != 3 {
            bail!(Shape, OP, "axis {axis} of {:?} has size {}, not 3", t.dims(), t.dims()[at]);
        }
    }
    let ahead = |t: &Tensor, n: i64| roll(t, &[-n], Some(&[axis]));
    let (x1, x2, y1, y2) = (ahead(x, 1)?, ahead(x, 2)?, ahead(y, 1)?, ahead(y, 2)?);
    let (plus, minus) = (multiply((&x1).into(), (&y2).into())?, multiply((&x2).into(), (&y1).into())?);
    subtract((&plus).into(), (&minus).into())
}
