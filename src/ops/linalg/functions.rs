//! Pseudoinverses, exponentials, least squares, and what else is made of them.

use smallvec::smallvec;

use super::norms::norm;
use super::parts::{columns, epsilon, weigh};
use super::solve::{identity, inv, inverse_or_nan, solve};
use super::svd::{compared_svdvals, svdvals};
use super::{matrices, squares_of};
use crate::array::{Array, Item};
use crate::dtype::{DType, Ordered, dispatch};
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Kernel, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor,
    Unrecorded, apply, only, unrecorded,
};
use crate::kernel::broadcast::broadcast_batch_pair;
use crate::kernel::matmul::matmul;
use crate::kernel::pointwise::{binary, expressions};
use crate::linalg as kernel;
use crate::ops::entry::{Order, Value, op};
use crate::ops::index::narrow;
use crate::ops::linalg::{h, matrix, mm, square, squares, t};
use crate::ops::movement::{broadcast_to, cast, concat, conj, expand_dims, moveaxis, real, reshape_to};
use crate::ops::pointwise::arithmetic::{divide_same, multiply_same, pow_same};
use crate::ops::pointwise::compare::less_same;
use crate::ops::pointwise::elementary::{exp, isnan};
use crate::ops::pointwise::select::select;
use crate::ops::promote::{Class, promoted, promoted_inexact};
use crate::ops::reduce::{any, sum};
use crate::ops::terms::add_terms;
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// The pseudoinverse `p`; singular values up to a bound count as zero.
///
/// Rule: G. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose
/// variables separate" (1973). It holds where the rank stays as it is.
#[derive(Stored)]
#[stored(op)]
struct Pinv {
    atol: f64,
    rtol: f64,
}

impl Op for Pinv {
    fn name(&self) -> &'static str {
        "linalg.pinv"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([kernel::pinv(self.name(), ins[0], self.atol, self.rtol)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, lead, m, n) = matrices(ins)?;
        ins.make(&[(dtype, &[lead, &[n, m]])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(1).and(Saves::outputs(1))
    }

    /// `-pᴴ g pᴴ + (1 - x p) gᴴ p pᴴ + pᴴ p gᴴ (1 - p x)`.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let (x, p) = (s.input(0), s.output(0));
        let g = conj(only(g))?;
        let (gh, ph) = (h(&g)?, h(&p)?);
        let inner = mm(&mm(&ph, &g)?, &ph)?;
        let left = &gh - mm(&x, &mm(&p, &gh)?)?;
        let right = &gh - mm(&mm(&gh, &p)?, &x)?;
        let all = mm(&mm(&left, &p)?, &ph)? + mm(&mm(&ph, &p)?, &right)? - inner;
        Ok(smallvec![Some(conj(&all)?)])
    }
}

/// The Moore-Penrose pseudoinverse. Singular values up to `atol`, or up to `rtol` times the largest, count as zero;
/// without both, `rtol` is max(m, n) times the dtype's epsilon. Its derivative is that at unchanged rank.
///
/// ```python
/// >>> fg.linalg.pinv(fg.tensor([[2., 0.]])).tolist()
/// [[0.5], [0.0]]
/// ```
#[op(function, in linalg, names("pinv", "pinverse"))]
pub fn pinv(
    x: &Tensor,
    #[default(None)] atol: Option<f64>,
    #[default(None)] rtol: Option<f64>,
) -> Result<Tensor> {
    let x = promoted_inexact(x)?;
    let (atol, rtol) = bounds(matrix("linalg.pinv", &x)?, x.dtype(), atol, rtol);
    apply(Pinv { atol, rtol }, &[&x])
}

fn bounds((m, n): (usize, usize), dtype: DType, atol: Option<f64>, rtol: Option<f64>) -> (f64, f64) {
    let usual = if atol.is_some_and(|a| a > 0.0) { 0.0 } else { m.max(n) as f64 * epsilon(dtype) };
    (atol.unwrap_or(0.0), rtol.unwrap_or(usual))
}

/// The number of singular values (int64) that do not count as zero, as in `pinv`. Raises LinAlgError where one is NaN.
///
/// ```python
/// >>> fg.linalg.matrix_rank(fg.ones((3, 2))).item()
/// 1
/// ```
#[op(function, in linalg)]
pub fn matrix_rank(
    x: &Tensor,
    #[default(None)] atol: Option<f64>,
    #[default(None)] rtol: Option<f64>,
) -> Result<Tensor> {
    const OP: &str = "linalg.matrix_rank";
    let x = promoted_inexact(x)?;
    let (m, n) = matrix(OP, &x)?;
    let (atol, rtol) = bounds((m, n), x.dtype(), atol, rtol);
    let values = compared_svdvals(&x)?;
    if m.min(n) == 0 {
        return sum(&values, Some(&[-1]), false, Some(DType::I64));
    }
    let least = crate::ops::pointwise::select::at_least(
        &(narrow(&values, -1, 0, 1)? * rtol),
        &Tensor::scalar_of(values.dtype(), atol),
    )?;
    sum(&less_same(&least, &values)?, Some(&[-1]), false, Some(DType::I64))
}

/// The condition number: the norm of the matrix times that of its inverse, inf for a singular one. The order is that of
/// `matrix_norm`; without one, and for 2 and -2, it is the ratio of singular values and the matrix need not be square.
///
/// ```python
/// >>> fg.linalg.cond(fg.tensor([[2., 0.], [0., 1.]])).item()
/// 2.0
/// ```
#[op(function, in linalg)]
pub fn cond(x: &Tensor, #[default(None)] p: Option<Order<'_>>) -> Result<Tensor> {
    const OP: &str = "linalg.cond";
    let x = promoted_inexact(x)?;
    let (m, n) = matrix(OP, &x)?;
    let k = m.min(n) as i64;
    let p = p.unwrap_or(Order::Number(2.0));
    if let Order::Number(2.0 | -2.0) = p {
        if k == 0 {
            bail!(
                Argument,
                OP,
                "{:?} is the shape of empty matrices, which have no singular values",
                x.dims()
            );
        }
        let values = svdvals(&x)?;
        let end = |at: i64| reshape_to(&narrow(&values, -1, at, 1)?, &x.dims()[..x.rank() - 2]);
        let (first, last) = (end(0)?, end(k - 1)?);
        return if p == Order::Number(2.0) { divide_same(&first, &last) } else { divide_same(&last, &first) };
    }
    square(OP, &x)?;
    let size = |x: &Tensor| norm(x, Some(p), Some(&[-2, -1]), false);
    let both = multiply_same(&size(&x)?, &size(&inverse_or_nan(&x)?)?)?;
    // A NaN that x does not have comes from the inverse.
    let given = any(&isnan(&x.detach())?, Some(&[-2, -1]), false)?;
    let singular = less_same(&given, &isnan(&both.detach())?)?;
    select(&singular, &Tensor::scalar_of(both.dtype(), f64::INFINITY), &both)
}

/// The product of matrices in the order that takes the fewest multiplications (for up to 128 of them). The first and the last may be vectors.
///
/// ```python
/// >>> fg.linalg.multi_dot([fg.ones((2, 3)), fg.ones((3, 4)), fg.ones(4)]).tolist()
/// [12.0, 12.0]
/// ```
#[op(function, in linalg)]
pub fn multi_dot(tensors: &[Tensor]) -> Result<Tensor> {
    const OP: &str = "linalg.multi_dot";
    let n = tensors.len();
    if n < 2 {
        bail!(Argument, OP, "takes two tensors or more, not {n}");
    }
    let dtype = tensors.iter().fold(tensors[0].dtype(), |dtype, x| dtype.promote(x.dtype()));
    let mut list = Vec::with_capacity(n);
    for (i, x) in tensors.iter().enumerate() {
        let x = &cast(x, dtype)?;
        list.push(match *x.dims() {
            [_, _] => x.clone(),
            [size] if i == 0 => reshape_to(x, &[1, size])?,
            [size] if i == n - 1 => reshape_to(x, &[size, 1])?,
            ref dims => bail!(Shape, OP, "tensor {i} is a matrix, not of shape {dims:?}"),
        });
    }
    for pair in list.windows(2) {
        if pair[0].dims()[1] != pair[1].dims()[0] {
            bail!(Shape, OP, "{:?} and {:?} do not multiply", pair[0].dims(), pair[1].dims());
        }
    }
    if n > MANY {
        let mut rest = list[1..].iter();
        let first = list[0].clone();
        return multi_dot_end(tensors, &rest.try_fold(first, |product, x| mm(&product, x))?);
    }
    // The least work for each run of matrices, and where it is cut: `best[i][len]` for `len + 1` matrices from `i`.
    let sizes: Vec<f64> =
        list.iter().map(|x| x.dims()[0] as f64).chain([list[n - 1].dims()[1] as f64]).collect();
    let mut best = vec![vec![(0.0, 0_usize)]; n];
    for len in 1..n {
        for i in 0..n - len {
            let cost = |cut: usize| {
                let after = best[i + cut + 1][len - cut - 1].0;
                best[i][cut].0 + after + sizes[i] * sizes[i + cut + 1] * sizes[i + len + 1]
            };
            let cut = (0..len).min_by(|&a, &b| cost(a).total_cmp(&cost(b))).unwrap_or(0);
            let entry = (cost(cut), cut);
            best[i].push(entry);
        }
    }
    fn product(list: &[Tensor], best: &[Vec<(f64, usize)>], i: usize, len: usize) -> Result<Tensor> {
        if len == 0 {
            return Ok(list[i].clone());
        }
        let cut = best[i][len].1;
        mm(&product(list, best, i, cut)?, &product(list, best, i + cut + 1, len - cut - 1)?)
    }
    multi_dot_end(tensors, &product(&list, &best, 0, n - 1)?)
}

/// More matrices are multiplied from the left to the right: to find the best order takes the cube of their number.
const MANY: usize = 128;

/// The product without the axes that a vector at either end does not have.
fn multi_dot_end(tensors: &[Tensor], out: &Tensor) -> Result<Tensor> {
    let (first, last) = (tensors[0].rank() == 2, tensors[tensors.len() - 1].rank() == 2);
    let dims: Vec<usize> =
        [(first, out.dims()[0]), (last, out.dims()[1])].into_iter().filter(|d| d.0).map(|d| d.1).collect();
    reshape_to(out, &dims)
}

/// The exponential of square matrices; of a number the number's.
///
/// N. Higham, "The scaling and squaring method for the matrix exponential revisited" (2005), with the Padé approximant of
/// degree 13. All matrices are scaled by the power of two that the largest needs.
///
/// ```python
/// >>> fg.linalg.matrix_exp(fg.zeros((1, 1))).tolist()
/// [[1.0]]
/// ```
#[op(method, in linalg, names("matrix_exp", "matrix_exp"))]
pub fn matrix_exp(x: &Tensor) -> Result<Tensor> {
    const OP: &str = "linalg.matrix_exp";
    let x = promoted_inexact(x)?;
    if x.rank() == 0 {
        return exp(&x);
    }
    let n = square(OP, &x)?;
    if shape::len(x.dims()) == 0 {
        return Ok(x.into_owned());
    }
    let size = norm(&x.detach(), Some(Order::Number(1.0)), Some(&[-2, -1]), false)?;
    let scale = unrecorded(Scale, &[&size]).expect("it has no edge")?;
    let a = &*x * cast(&scale, x.dtype())?;
    let one = identity(&x, n)?;
    let a2 = mm(&a, &a)?;
    let a4 = mm(&a2, &a2)?;
    let a6 = mm(&a4, &a2)?;
    let b = |k: usize| PADE[k] / PADE[0];
    let sum = |first: usize| -> Result<Tensor> {
        let high = &a6 * b(first + 12) + &a4 * b(first + 10) + &a2 * b(first + 8);
        Ok(mm(&a6, &high)? + &a6 * b(first + 6) + &a4 * b(first + 4) + &a2 * b(first + 2) + &one * b(first))
    };
    let (odd, even) = (mm(&a, &sum(1)?)?, sum(0)?);
    apply(Squared, &[&mm(&inverse_or_nan(&(&even - &odd))?, &(even + odd))?, &scale])
}

/// The power of two by which matrices of these norms are scaled.
#[derive(Stored)]
#[stored(in Unrecorded)]
struct Scale;

impl Kernel for Scale {
    fn name(&self) -> &'static str {
        "linalg.matrix_exp"
    }

    fn compute(&self, ins: &[&Array], batch_ndim: usize) -> Result<Array> {
        let dtype = ins[0].dtype();
        let largest = dispatch!(dtype, float T => {
            ins[0].view::<T>().iter().fold(0.0_f64, |most, v| most.max(v.to_f64()))
        }, else 0.0);
        // Where infinity or NaN is, the result is NaN.
        let times = if largest.is_finite() { libm::frexp(largest / THETA).1.max(0) } else { 0 };
        Ok(Array::full_of(dtype, &Dims::from_elem(1, batch_ndim), libm::ldexp(1.0, -times)))
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, _) = ins.alike::<1>()?;
        Some(Made::from_elem((dtype, Dims::from_elem(1, ins.batch_ndim)), 1))
    }
}

/// How often a matrix is squared that was scaled by this number.
fn squarings(scale: &Array) -> usize {
    if scale.len() == 0 {
        return 0;
    }
    scale.item().to_f64().map_or(0, |scale| (1 - libm::frexp(scale).1).max(0) as usize)
}

/// A matrix squared again and again, as often as it was halved. Input 1 is the scale.
#[derive(Stored)]
#[stored(op)]
struct Squared;

impl Op for Squared {
    fn name(&self) -> &'static str {
        "linalg.matrix_exp"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let mut x = ins[0].clone();
        for _ in 0..squarings(ins[1]) {
            x = matmul(self.name(), &x, &x, batch_ndim)?;
        }
        Ok([x].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        ins.each::<2>()?;
        let (dtype, lead, n) = squares_of(&ins.first(1)?)?;
        ins.first(1)?.make(&[(dtype, &[lead, &[n, n]])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(3)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![Some(apply(SquaredChange, &[&t(&s.input(0))?, only(g), &s.input(1)])?), None])
    }

    fn jvp(&self, d: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let change = |d: &Tensor| apply(SquaredChange, &[&s.input(0), d, &s.input(1)]);
        Ok(smallvec![d[0].as_ref().map(change).transpose()?])
    }
}

/// The derivative of [`Squared`] in a direction, which is input 1. Its own derivatives are corners of it for matrices of
/// blocks, since `f([[x, d], [0, x]])` has the derivative of f in the direction d as its upper right corner.
#[derive(Stored)]
#[stored(op)]
struct SquaredChange;

impl SquaredChange {
    /// The second derivative of [`Squared`] in two directions.
    fn second(x: &Tensor, d: &Tensor, e: &Tensor, scale: &Tensor) -> Result<Tensor> {
        let n = x.dims()[x.rank() - 1];
        let zero = weigh(&x.detach(), 0.0, 0.0, 0.0)?;
        let beside = |a: &Tensor, b: &Tensor| concat(&[a.clone(), b.clone()], Some(-1));
        let blocks = |a: &Tensor, b: &Tensor| concat(&[beside(a, b)?, beside(&zero, a)?], Some(-2));
        let all = apply(SquaredChange, &[&blocks(x, d)?, &blocks(e, &zero)?, scale])?;
        narrow(&narrow(&all, -2, 0, n as i64)?, -1, n as i64, n as i64)
    }
}

impl Op for SquaredChange {
    fn name(&self) -> &'static str {
        "linalg.matrix_exp"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let (mut x, mut d) = broadcast_batch_pair(ins[0], ins[1], batch_ndim);
        let product = |x: &Array, y: &Array| matmul(self.name(), x, y, batch_ndim);
        for _ in 0..squarings(ins[2]) {
            let (left, right) = (product(&d, &x)?, product(&x, &d)?);
            d = binary::apply(self.name(), expressions::ADD, &left, &right, batch_ndim)?;
            x = product(&x, &x)?;
        }
        Ok([d].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        ins.each::<3>()?;
        let both = ins.first(2)?;
        match both.alike::<2>()? {
            (dtype, dims @ &[.., m, n]) if m == n => both.make(&[(dtype, &[dims])]),
            _ => None,
        }
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(7)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let (x, d, scale, g) = (t(&s.input(0))?, t(&s.input(1))?, s.input(2), only(g));
        let by_x = s.needs(0).then(|| SquaredChange::second(&x, g, &d, &scale)).transpose()?;
        let by_d = s.needs(1).then(|| apply(SquaredChange, &[&x, g, &scale])).transpose()?;
        Ok(smallvec![by_x, by_d, None])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let (x, d, scale) = (s.input(0), s.input(1), s.input(2));
        let by_x = t[0].as_ref().map(|t| SquaredChange::second(&x, t, &d, &scale)).transpose()?;
        let by_d = t[1].as_ref().map(|t| apply(SquaredChange, &[&x, t, &scale])).transpose()?;
        Ok(smallvec![add_terms([by_x, by_d])])
    }
}

/// Up to this norm the approximant is exact to double precision.
const THETA: f64 = 5.371_920_351_148_152;
/// The coefficients of the Padé approximant of degree 13.
const PADE: [f64; 14] = [
    64_764_752_532_480_000.0,
    32_382_376_266_240_000.0,
    7_771_770_303_897_600.0,
    1_187_353_796_428_800.0,
    129_060_195_264_000.0,
    10_559_470_521_600.0,
    670_442_572_800.0,
    33_522_128_640.0,
    1_323_241_920.0,
    40_840_800.0,
    960_960.0,
    16_380.0,
    182.0,
    1.0,
];

/// The tensor z with tensordot(z, x, ind) the identity, for an x whose first `ind` axes have as many elements as the others.
///
/// ```python
/// >>> fg.linalg.tensorinv(2 * fg.ones((1, 1)), 1).tolist()
/// [[0.5]]
/// ```
#[op(function, in linalg)]
pub fn tensorinv(x: &Tensor, #[default(2)] ind: i64) -> Result<Tensor> {
    const OP: &str = "linalg.tensorinv";
    let Some(ind) = usize::try_from(ind).ok().filter(|i| (1..=x.rank()).contains(i)) else {
        bail!(Argument, OP, "ind is between 1 and the {} axes of the tensor, not {ind}", x.rank());
    };
    let (first, last) = x.dims().split_at(ind);
    let (m, n) = (shape::len(first), shape::len(last));
    if m != n {
        bail!(Shape, OP, "{first:?} and {last:?} do not have as many elements");
    }
    let out: Vec<usize> = last.iter().chain(first).copied().collect();
    reshape_to(&inv(&reshape_to(x, &[m, n])?)?, &out)
}

/// The tensor z with tensordot(x, z, z.ndim) = y. The `axes` of x are moved to its end first.
///
/// ```python
/// >>> fg.linalg.tensorsolve(2 * fg.ones((1, 1)), fg.ones(1)).tolist()
/// [0.5]
/// ```
#[op(function, in linalg)]
pub fn tensorsolve(x: &Tensor, y: &Tensor, #[default(None)] axes: Option<&[i64]>) -> Result<Tensor> {
    const OP: &str = "linalg.tensorsolve";
    let moved = match axes {
        Some(list) => {
            let end: Vec<i64> = (0..list.len() as i64).map(|i| i - list.len() as i64).collect();
            moveaxis(x, list, &end)?
        }
        None => x.clone(),
    };
    let n = shape::len(y.dims());
    if moved.rank() < y.rank() || shape::len(moved.dims()) != n.saturating_mul(n) {
        bail!(Shape, OP, "{:?} is not the shape of equations for {:?}", x.dims(), y.dims());
    }
    let out = moved.dims()[y.rank()..].to_vec();
    let z = solve((&reshape_to(&moved, &[n, n])?).into(), (&reshape_to(y, &[n])?).into())?;
    reshape_to(&z, &out)
}

/// The powers of a vector's elements as columns: 1, x, x², … up to N columns (as many as elements by default).
///
/// ```python
/// >>> fg.linalg.vander(fg.tensor([1., 2.]), 3).tolist()
/// [[1.0, 1.0, 1.0], [1.0, 2.0, 4.0]]
/// ```
#[allow(non_snake_case)]
#[op(function, in linalg)]
pub fn vander(x: &Tensor, #[default(None)] N: Option<i64>) -> Result<Tensor> {
    const OP: &str = "linalg.vander";
    let &[.., size] = x.dims() else { bail!(Shape, OP, "takes vectors, not 0-d tensors") };
    let Ok(n) = usize::try_from(N.unwrap_or(size as i64)) else {
        bail!(Argument, OP, "the number of columns is 0 or more");
    };
    let x = if x.dtype() == DType::Bool { crate::ops::movement::cast(x, DType::I64)? } else { x.clone() };
    let powers = crate::ops::movement::cast(&crate::ops::index::line(OP, n, 0..n as i64)?, x.dtype())?;
    pow_same(&expand_dims(&x, &[-1])?, &powers)
}

/// The solution z with the least norm of x @ z = y in the sense of least squares: the pseudoinverse of x times y. Singular
/// values up to `rcond` times the largest count as zero; without it, `rcond` is max(m, n) times the dtype's epsilon. Also
/// the sums of squares of what is left (empty unless x has more rows than columns and full rank), the rank of x, and its
/// singular values. The leading axes broadcast. A vector y is one column.
///
/// ```python
/// >>> fg.linalg.lstsq(fg.tensor([[2.], [0.]]), fg.tensor([4., 1.]))[0].tolist()
/// [2.0]
/// ```
#[op(function, in linalg)]
pub fn lstsq(x: &Tensor, y: &Tensor, #[default(None)] rcond: Option<f64>) -> Result<Value> {
    const OP: &str = "linalg.lstsq";
    let (x, y) = promoted(Class::Real, x.into(), y.into())?;
    let (m, n) = matrix(OP, &x)?;
    let vector = y.rank() == 1;
    let right = if vector { reshape_to(&y, &[y.dims()[0], 1])? } else { y.clone().into_owned() };
    if matrix(OP, &right)?.0 != m {
        bail!(Shape, OP, "{m} equations of {:?} have right sides of shape {:?}", x.dims(), y.dims());
    }
    let z = mm(&pinv(&x, None, rcond)?, &right)?;
    let rank = matrix_rank(&x, None, rcond)?;
    let values = svdvals(&x)?;
    let left = if m > n {
        let d = mm(&x, &z)? - &right;
        apply(OfFullRank(n), &[&sum(&squares(&d)?, Some(&[-2]), false, None)?, &rank])?
    } else {
        // A part of the solution, so that it is tracked as the residuals are.
        real(&narrow(&reshape_to(&z, &[shape::len(z.dims())])?, 0, 0, 0)?)?
    };
    let z = if vector { reshape_to(&z, &z.dims()[..z.rank() - 1])? } else { z };
    Ok(Value::Tuple(vec![z, left, rank, values]))
}

/// Input 0 where all ranks, which input 1 has, are this one. Else it is empty.
#[derive(Stored)]
#[stored(op)]
struct OfFullRank(usize);

impl Op for OfFullRank {
    fn name(&self) -> &'static str {
        "linalg.lstsq"
    }

    fn decides(&self) -> bool {
        true
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        if ins[1].view::<i64>().iter().all(|&r| r == self.0 as i64) {
            return Ok([ins[0].clone()].into());
        }
        let dims: Dims = ins[0].dims()[..batch_ndim].iter().copied().chain([0]).collect();
        Ok([Array::zeros(self.name(), ins[0].dtype(), &dims)?].into())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        Ok(smallvec![(g.dims() == s.dims(0)).then(|| g.clone()), None])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let t = t[0].as_ref().filter(|t| t.dims() == s.out_dims(0));
        Ok(smallvec![t.cloned()])
    }
}

/// Applies the reflections `1 - tau[i] v[i] v[i]ᴴ` from the last to the first (or their conjugate transposes the other way) to
/// the rows of `y`, where `v[i]` is column i of x below the diagonal, with 1 on it and 0 above.
fn reflected(x: &Tensor, tau: &Tensor, y: &Tensor, forward: bool) -> Result<Tensor> {
    let k = *tau.dims().last().expect("a list");
    let low = super::parts::weigh(&columns(x, 0, k)?, 1.0, 0.0, 0.0)?;
    let ones = crate::ops::create::eye(
        x.dims()[x.rank() - 2] as i64,
        Some(k as i64),
        Item::Int(0),
        Some(x.dtype()),
    )?;
    let vectors = low + ones;
    let tau = &if forward { conj(tau)? } else { tau.clone() };
    let mut out = y.clone();
    for step in 0..k {
        let i = if forward { step } else { k - 1 - step };
        let v = columns(&vectors, i, 1)?;
        let scaled = &v * expand_dims(&columns(tau, i, 1)?, &[-1])?;
        out = &out - mm(&scaled, &mm(&h(&v)?, &out)?)?;
    }
    Ok(out)
}

/// Checks the shapes of reflections; both in one float dtype.
fn reflections(op: &'static str, x: &Tensor, tau: &Tensor) -> Result<(Tensor, Tensor, usize)> {
    let (x, tau) = promoted(Class::Real, x.into(), tau.into())?;
    let (m, n) = matrix(op, &x)?;
    let fits = tau.rank() + 1 == x.rank()
        && tau.dims()[..tau.rank() - 1] == x.dims()[..x.rank() - 2]
        && tau.dims()[tau.rank() - 1] <= n.min(m);
    if !fits {
        bail!(
            Shape,
            op,
            "{:?} is not the shape of factors for reflections of shape {:?}",
            tau.dims(),
            x.dims()
        );
    }
    Ok((x.into_owned(), tau.into_owned(), m))
}

/// The first columns of the product of the reflections `1 - tau[i] v[i] v[i].T` (of complex numbers with
/// `v[i].T.conj()`), as many as x has, where `v[i]` is column i of x below the diagonal, with 1 on it and 0 above.
///
/// ```python
/// >>> fg.linalg.householder_product(fg.ones((1, 1)), fg.tensor([2.])).tolist()
/// [[-1.0]]
/// ```
#[op(function, in linalg, names("householder_product", "orgqr"))]
pub fn householder_product(x: &Tensor, tau: &Tensor) -> Result<Tensor> {
    const OP: &str = "linalg.householder_product";
    let (x, tau, m) = reflections(OP, x, tau)?;
    let n = matrix(OP, &x)?.1;
    if n > m {
        bail!(Shape, OP, "{:?} has more columns than rows", x.dims());
    }
    let start = crate::ops::create::eye(m as i64, Some(n as i64), Item::Int(0), Some(x.dtype()))?;
    // Zeros that keep the result a function of x, also without a reflection.
    let lead = super::parts::weigh(&x, 0.0, 0.0, 0.0)? + start;
    reflected(&x, &tau, &lead, false)
}

/// The product q @ y (y @ q if not left; of the conjugate transpose of q if transpose) with the product q of the reflections of
/// `householder_product`: all of its columns, or if y has just as many rows as x has columns, these.
///
/// ```python
/// >>> fg.ormqr(fg.ones((1, 1)), fg.tensor([2.]), fg.ones((1, 1))).tolist()
/// [[-1.0]]
/// ```
#[op(function)]
pub fn ormqr(
    x: &Tensor,
    tau: &Tensor,
    y: &Tensor,
    #[default(true)] left: bool,
    #[default(false)] transpose: bool,
) -> Result<Tensor> {
    if !left {
        return h(&ormqr(x, tau, &h(y)?, true, !transpose)?);
    }
    let (x, tau, m) = reflections("ormqr", x, tau)?;
    let (x, y) = promoted(Class::Real, (&x).into(), y.into())?;
    let tau = cast(&tau, x.dtype())?;
    let (n, k) = (matrix("ormqr", &y)?.0, matrix("ormqr", &x)?.1);
    if n == k && k < m && !transpose {
        // As many rows as q has columns: those that q lacks are zeros.
        let mut dims: Dims = y.dims().into();
        dims[y.rank() - 2] = m - n;
        let zeros = broadcast_to(&Tensor::scalar_of(y.dtype(), 0.0), &dims)?;
        return reflected(&x, &tau, &concat(&[y.into_owned(), zeros], Some(-2))?, false);
    }
    if n != m {
        bail!(Shape, "ormqr", "{:?} does not multiply with reflections of {m} elements", y.dims());
    }
    reflected(&x, &tau, &y, transpose)
}
