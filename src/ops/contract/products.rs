//! Products of vectors and matrices, made of the matrix product and of element-wise ones.

use super::einsum::tensordot;
use super::matmul::{inner_products, matmul, numbers, unequal};
use crate::array::Item;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::ops::entry::{Operand, Pairs, op};
use crate::ops::movement::{broadcast_to, conj, matrix_transpose, reshape_to, roll};
use crate::ops::pointwise::arithmetic::{add, multiply, subtract};
use crate::ops::pointwise::select::part;
use crate::ops::reduce::sum;
use crate::shape::{self, Dims};

/// The products summed over the last axis of both: every row of x with every row of y.
///
/// ```python
/// >>> fg.inner(fg.ones((2, 3)), fg.ones((4, 3))).shape
/// (2, 4)
/// ```
#[op(method, heavy)]
pub fn inner(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    match (x.rank(), y.rank()) {
        (0, _) | (_, 0) => multiply(x.into(), y.into()),
        _ => tensordot(x, y, Pairs::Named(&[-1], &[-1])),
    }
}

/// The sum of the products of all elements of two tensors of one size, taken as vectors. Of complex numbers the first factor
/// is conjugated.
///
/// ```python
/// >>> fg.vdot(fg.tensor([1., 2.]), fg.tensor([3., 4.])).item()
/// 11.0
/// ```
#[op(method)]
pub fn vdot(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let (m, n) = (shape::len(x.dims()), shape::len(y.dims()));
    dot(&conj(&reshape_to(x, &[m])?)?, &reshape_to(y, &[n])?)
}

/// The matrix of products `z[i, j] = x[i] · y[j]`; both are taken as vectors.
///
/// ```python
/// >>> fg.outer(fg.ones(2), fg.ones(3)).shape
/// (2, 3)
/// ```
#[op(method, names("outer", "ger"), heavy)]
pub fn outer(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let (m, n) = (shape::len(x.dims()), shape::len(y.dims()));
    multiply((&reshape_to(x, &[m, 1])?).into(), (&reshape_to(y, &[1, n])?).into())
}

/// Shorter rows of a product take more time to begin than to compute.
const SHORT: usize = 64;

/// The Kronecker product: y repeated as blocks, each times one element of x.
///
/// ```python
/// >>> fg.kron(fg.ones((2, 2)), fg.ones((1, 3))).shape
/// (2, 6)
/// ```
#[op(method, heavy)]
pub fn kron(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let rank = x.rank().max(y.rank());
    let full = |t: &Tensor| -> Dims {
        std::iter::repeat_n(1, rank - t.rank()).chain(t.dims().iter().copied()).collect()
    };
    let (a, b) = (full(x), full(y));
    let (Some(&p), Some(&q)) = (a.last(), b.last()) else { return multiply(x.into(), y.into()) };
    let (lead_a, lead_b) = (&a[..rank - 1], &b[..rank - 1]);
    // A short last axis of the product is written out for both factors, so that the product has long rows.
    let short = q < SHORT;
    let last = p.saturating_mul(q);
    let tail = |t: &Tensor, own: [usize; 2]| -> Result<(Tensor, Dims)> {
        let sizes =
            |last: &[usize]| t.dims().iter().rev().skip(1).rev().chain(last).copied().collect::<Dims>();
        let t = reshape_to(t, &sizes(&own))?;
        if !short {
            return Ok((t, Dims::from_slice(&own)));
        }
        Ok((reshape_to(&broadcast_to(&t, &sizes(&[p, q]))?, &sizes(&[last]))?, Dims::from_slice(&[last])))
    };
    let ((x, tail_x), (y, tail_y)) = (tail(x, [p, 1])?, tail(y, [1, q])?);
    let fine: Dims = lead_a.iter().flat_map(|&d| [d, 1]).chain(tail_x).collect();
    let coarse: Dims = lead_b.iter().flat_map(|&d| [1, d]).chain(tail_y).collect();
    let out = multiply((&reshape_to(&x, &fine)?).into(), (&reshape_to(&y, &coarse)?).into())?;
    // The sizes multiply to those of an array that exists.
    reshape_to(&out, &a.iter().zip(&b).map(|(m, n)| m * n).collect::<Dims>())
}

/// Checks the ranks of two tensors.
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
#[op(method, heavy)]
pub fn bmm(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    batches("bmm", x, y)
}

/// `bmm`, called by the function `op`.
fn batches(op: &'static str, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    ranks(op, x, y, (3, 3))?;
    if x.dims()[0] != y.dims()[0] {
        bail!(Shape, op, "{:?} @ {:?}: batches of {} and {}", x.dims(), y.dims(), x.dims()[0], y.dims()[0]);
    }
    matmul(x.into(), y.into())
}

/// The product of a matrix and a vector: `z[i] = Σₖ x[i, k] · y[k]`.
///
/// ```python
/// >>> fg.mv(fg.ones((2, 3)), fg.ones(3)).tolist()
/// [3.0, 3.0]
/// ```
#[op(method, heavy)]
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
#[op(function, heavy, reads_lent)]
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
    let wanted = weight.dims()[usize::from(flip)];
    if let Some(&own) = x.dims().last().filter(|&&own| own != wanted) {
        let rows = shape::len(x.dims()) / own.max(1);
        let columns = if weight.rank() == 1 { 1 } else { weight.dims()[usize::from(!flip)] };
        let (x, weight) = (x.dims(), weight.dims());
        bail!(
            Shape,
            "linear",
            "the input {x:?} has {own} features, the weight {weight:?} expects {wanted}: {}",
            unequal([rows, own], [wanted, columns])
        );
    }
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

/// `beta * input + alpha * product`. With beta 0 the input is not read: its NaN has no effect, and its gradient is 0.
fn combined(input: &Tensor, product: &Tensor, beta: Item, alpha: Item) -> Result<Tensor> {
    let scaled = |t: &Tensor, by: Item| match by {
        Item::Int(1) => Ok(t.clone()),
        by => multiply(t.into(), Operand::Number(by)),
    };
    let input = match beta.to_f64() {
        Some(0.0) => part(&Tensor::scalar_of(DType::Bool, 0.0), true, input)?,
        _ => scaled(input, beta)?,
    };
    add((&input).into(), (&scaled(product, alpha)?).into())
}

/// beta * input + alpha * (x @ y); the input broadcasts. With beta 0 its values are ignored, even if they are NaN.
///
/// ```python
/// >>> fg.addmm(fg.ones(2), fg.ones((3, 4)), fg.ones((4, 2))).shape
/// (3, 2)
/// ```
#[op(in_place, heavy, torch(LaidInCOrder))]
pub fn addmm(
    input: &Tensor,
    x: &Tensor,
    y: &Tensor,
    #[default(1)] beta: Item,
    #[default(1)] alpha: Item,
) -> Result<Tensor> {
    combined(input, &matmul(x.into(), y.into())?, beta, alpha)
}

/// beta * input + alpha * (x @ y) for a matrix x and a vector y. With beta 0 the input is ignored, as in `addmm`.
///
/// ```python
/// >>> fg.addmv(fg.ones(3), fg.ones((3, 4)), fg.ones(4)).tolist()
/// [5.0, 5.0, 5.0]
/// ```
#[op(in_place, torch(LaidInCOrder))]
pub fn addmv(
    input: &Tensor,
    x: &Tensor,
    y: &Tensor,
    #[default(1)] beta: Item,
    #[default(1)] alpha: Item,
) -> Result<Tensor> {
    ranks("addmv", x, y, (2, 1))?;
    combined(input, &matmul(x.into(), y.into())?, beta, alpha)
}

/// beta * input + alpha * outer(x, y). With beta 0 the input is ignored, as in `addmm`.
///
/// ```python
/// >>> fg.addr(fg.zeros((2, 1)), fg.ones(2), fg.ones(1)).tolist()
/// [[1.0], [1.0]]
/// ```
#[op(in_place, torch(LaidInCOrder))]
pub fn addr(
    input: &Tensor,
    x: &Tensor,
    y: &Tensor,
    #[default(1)] beta: Item,
    #[default(1)] alpha: Item,
) -> Result<Tensor> {
    combined(input, &outer(x, y)?, beta, alpha)
}

/// beta * input + alpha * bmm(x, y). With beta 0 the input is ignored, as in `addmm`.
///
/// ```python
/// >>> fg.baddbmm(fg.ones(2), fg.ones((5, 3, 4)), fg.ones((5, 4, 2))).shape
/// (5, 3, 2)
/// ```
#[op(in_place, heavy, torch(LaidInCOrder))]
pub fn baddbmm(
    input: &Tensor,
    x: &Tensor,
    y: &Tensor,
    #[default(1)] beta: Item,
    #[default(1)] alpha: Item,
) -> Result<Tensor> {
    combined(input, &batches("baddbmm", x, y)?, beta, alpha)
}

/// `beta * input + alpha * Σ_b x[b] @ y[b]`: as baddbmm, summed over the batch.
///
/// ```python
/// >>> fg.addbmm(fg.zeros(1), fg.ones((5, 1, 4)), fg.ones((5, 4, 1))).item()
/// 20.0
/// ```
#[op(in_place, heavy, torch(LaidInCOrder))]
pub fn addbmm(
    input: &Tensor,
    x: &Tensor,
    y: &Tensor,
    #[default(1)] beta: Item,
    #[default(1)] alpha: Item,
) -> Result<Tensor> {
    let products = batches("addbmm", x, y)?;
    combined(input, &sum(&products, Some(&[0]), false, Some(products.dtype()))?, beta, alpha)
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
            bail!(
                Shape,
                OP,
                "inputs dimension {axis} must have length 3, that of {:?} has {}",
                t.dims(),
                t.dims()[at]
            );
        }
    }
    let ahead = |t: &Tensor, n: i64| roll(t, &[-n], Some(&[axis]));
    let (x1, x2, y1, y2) = (ahead(x, 1)?, ahead(x, 2)?, ahead(y, 1)?, ahead(y, 2)?);
    let (plus, minus) = (multiply((&x1).into(), (&y2).into())?, multiply((&x2).into(), (&y1).into())?);
    subtract((&plus).into(), (&minus).into())
}

/// NumPy's `dot`: the inner product `Σₖ x[k] · y[k]` of two vectors, the product of two matrices, and for more axes
/// the sum of products over the last axis of x and the next-to-last of y (the only one of a vector). A number multiplies.
///
/// The inner products of the rows of two matrices are `vecdot(x, y)`.
///
/// ```python
/// >>> fg.dot(fg.ones(3), fg.ones(3)).item()
/// 3.0
/// >>> fg.dot(fg.ones((2, 3)), fg.ones((3, 2))).tolist()
/// [[3.0, 3.0], [3.0, 3.0]]
/// ```
#[op(method)]
pub fn dot(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let (m, n) = (x.rank(), y.rank());
    if m == 0 || n == 0 {
        return multiply(x.into(), y.into());
    }
    let over = -(n.min(2) as i64);
    if x.dims()[m - 1] != y.dims()[n - n.min(2)] {
        let advice = if m == n && x.dims() == y.dims() {
            "; for the inner products of the rows write vecdot(x, y), for all pairs of rows inner(x, y)"
        } else {
            ""
        };
        bail!(
            Shape,
            "dot",
            "{:?} and {:?}: the last axis of the first and axis {over} of the second differ in size{advice}",
            x.dims(),
            y.dims()
        );
    }
    match (m, n) {
        (1, 1) => {
            let (x, y) = numbers("dot", x.into(), y.into())?;
            inner_products(&x, &y, -1)
        }
        (1 | 2, 1 | 2) => matmul(x.into(), y.into()),
        _ => tensordot(x, y, Pairs::Named(&[-1], &[over])),
    }
}
