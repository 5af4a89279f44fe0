//! Systems of linear equations, inverses and powers.

use smallvec::smallvec;

use super::parts::weigh;
use super::{equations, squares_of};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Kernel, Loops, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor,
    Unrecorded, apply, only, unrecorded,
};
use crate::linalg as kernel;
use crate::ops::entry::{Operand, op};
use crate::ops::linalg::{h, matrix, mm, square, t};
use crate::ops::movement::{broadcast_to, reshape_to};
use crate::ops::promote::{Class, promoted, promoted_inexact};
use crate::ops::terms::add_terms;
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// Two arrays of matrices over the same leading axes.
pub(super) fn aligned(op: &'static str, a: &Array, b: &Array, batch_ndim: usize) -> Result<(Array, Array)> {
    let rank = a.rank().max(b.rank());
    let (a, b) = (a.with_rank(rank, batch_ndim), b.with_rank(rank, batch_ndim));
    let (lead_a, own_a) = a.dims().split_at(rank - 2);
    let (lead_b, own_b) = b.dims().split_at(rank - 2);
    let lead = shape::broadcast(op, lead_a, lead_b)?;
    let full = |own: &[usize]| lead.iter().chain(own).copied().collect::<Dims>();
    Ok((a.expand(&full(own_a), 0), b.expand(&full(own_b), 0)))
}

/// What an op computes of matrices, where they are few and small. One that is not `strict` gives NaN where there is no result.
pub(super) fn lowered(op: &'static str, of: kernel::Matrices, strict: bool) -> Option<Loops> {
    Some(Loops::Kernel(Box::new(move |ins| kernel::kernel(op, of, strict, ins))))
}

/// The equations of a full matrix, or of a triangle. Rules may not fail, so there they are not `strict`: a
/// singular matrix gives NaN.
#[derive(Clone, Copy, Stored)]
enum Equations {
    Full { strict: bool },
    Triangle { upper: bool, unit: bool, strict: bool },
}

impl Equations {
    /// The equations of the transposed matrix.
    fn transposed(self) -> Equations {
        match self {
            Equations::Full { .. } => Equations::Full { strict: false },
            Equations::Triangle { upper, unit, .. } => {
                Equations::Triangle { upper: !upper, unit, strict: false }
            }
        }
    }

    /// The elements of a matrix that the equations read.
    fn part(self, x: &Tensor) -> Result<Tensor> {
        match self {
            Equations::Full { .. } => Ok(x.clone()),
            Equations::Triangle { upper, unit, .. } => {
                weigh(x, f64::from(u8::from(!upper)), f64::from(u8::from(!unit)), f64::from(u8::from(upper)))
            }
        }
    }
}

/// The solution `x` of `a @ x = b`.
#[derive(Clone, Stored)]
#[stored(op)]
struct Solve(Equations);

impl Op for Solve {
    fn name(&self) -> &'static str {
        match self.0 {
            Equations::Full { .. } => "linalg.solve",
            Equations::Triangle { .. } => "linalg.solve_triangular",
        }
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let (a, b) = aligned(self.name(), ins[0], ins[1], batch_ndim)?;
        Ok([match self.0 {
            Equations::Full { strict } => kernel::solve(self.name(), &a, &b, strict)?,
            Equations::Triangle { upper, unit, strict } => {
                kernel::triangular_solve(self.name(), &a, &b, kernel::Triangle { upper, unit }, strict)?
            }
        }]
        .into())
    }

    fn lower(&self, _: &Operands<'_>) -> Option<Loops> {
        let (of, strict) = match self.0 {
            Equations::Full { strict } => (kernel::Matrices::Solve, strict),
            Equations::Triangle { upper, unit, strict } => {
                (kernel::Matrices::SolveTriangle(kernel::Triangle { upper, unit }), strict)
            }
        };
        lowered(self.name(), of, strict)
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, n, columns, lead) = equations(ins)?;
        Some(Made::from_elem((dtype, lead.into_iter().chain([n, columns]).collect()), 1))
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        Saves::inputs(1).and(Saves::outputs(1).when(needs.has(0)))
    }

    /// Solving `aᵀ @ h = g` gives `h` for `b`, and `-h xᵀ` for `a`.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        let h = apply(Solve(self.0.transposed()), &[&t(&s.input(0))?, g])?;
        let a = s.needs(0).then(|| self.0.part(&-mm(&h, &t(&s.output(0))?)?)).transpose()?;
        Ok(smallvec![a, Some(h)])
    }

    fn jvp(&self, d: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let a = d[0].as_ref().map(|d| mm(&-self.0.part(d)?, &s.output(0))).transpose()?;
        let Some(right) = add_terms([d[1].clone(), a]) else { return Ok(smallvec![None]) };
        Ok(smallvec![Some(apply(self.clone(), &[&s.input(0), &right])?)])
    }
}

/// The inverse. In rules, which may not fail, a singular matrix gives NaN.
#[derive(Clone, Stored)]
#[stored(op)]
struct Inverse {
    strict: bool,
}

impl Op for Inverse {
    fn name(&self) -> &'static str {
        "linalg.inv"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([kernel::inverse(self.name(), ins[0], self.strict)?].into())
    }

    fn lower(&self, _: &Operands<'_>) -> Option<Loops> {
        lowered(self.name(), kernel::Matrices::Inverse, self.strict)
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, lead, n) = squares_of(ins)?;
        ins.make(&[(dtype, &[lead, &[n, n]])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::outputs(1)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        let yt = t(&s.output(0))?;
        Ok(smallvec![Some(-mm(&mm(&yt, g)?, &yt)?)])
    }

    fn jvp(&self, d: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let d = only(d);
        let y = s.output(0);
        Ok(smallvec![Some(-mm(&mm(&y, d)?, &y)?)])
    }
}

/// The inverse for rules.
pub(in crate::ops) fn inverse_or_nan(x: &Tensor) -> Result<Tensor> {
    apply(Inverse { strict: false }, &[x])
}

/// The solution of equations, for rules.
pub(in crate::ops) fn solve_or_nan(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    apply(Solve(Equations::Full { strict: false }), &[a, b])
}

/// The solution of a triangle's equations, for rules.
pub(in crate::ops) fn triangle(a: &Tensor, b: &Tensor, upper: bool, unit: bool) -> Result<Tensor> {
    apply(Solve(Equations::Triangle { upper, unit, strict: false }), &[a, b])
}

/// Why results of matrices are NaN, as LAPACK says it (int32): the order of the first leading minor that is not positive, or
/// the first pivot that is zero. 0 for the other matrices.
#[derive(Stored)]
#[stored(in Unrecorded)]
struct Failure {
    op: &'static str,
    of_minors: bool,
}

impl Kernel for Failure {
    fn name(&self) -> &'static str {
        self.op
    }

    fn compute(&self, ins: &[&Array], batch_ndim: usize) -> Result<Array> {
        let (x, result) = aligned(self.op, ins[0], ins[1], batch_ndim)?;
        if self.of_minors {
            kernel::first_failing_minor(self.op, &x, &result)
        } else {
            kernel::first_zero_pivot(self.op, &x, &result)
        }
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (_, _, _, lead) = equations(ins)?;
        Some(Made::from_elem((DType::I32, lead), 1))
    }
}

/// [`Failure`] for matrices and the results of a factorisation.
pub(super) fn failures(op: &'static str, of_minors: bool, x: &Tensor, result: &Tensor) -> Result<Tensor> {
    unrecorded(Failure { op, of_minors }, &[&x.detach(), &result.detach()])
        .expect("detached tensors have no edge")
}

/// The solution z of x @ z = y for square matrices x; a vector y is one column.
///
/// The leading axes broadcast. Integers are taken as the default float. A singular matrix is a LinAlgError.
///
/// ```python
/// >>> fg.linalg.solve(2 * fg.ones((1, 1)), fg.ones(1)).tolist()
/// [0.5]
/// ```
#[op(function, in linalg)]
pub fn solve(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    const OP: &str = "linalg.solve";
    let (a, b) = promoted(Class::Real, x, y)?;
    let n = square(OP, &a)?;
    let vector = b.rank() == 1;
    let right = if vector { reshape_to(&b, &[b.dims()[0], 1])? } else { b.clone().into_owned() };
    if matrix(OP, &right)?.0 != n {
        bail!(Shape, OP, "{n} equations of {:?} have right sides of shape {:?}", a.dims(), b.dims());
    }
    let z = apply(Solve(Equations::Full { strict: true }), &[&a, &right])?;
    if vector { reshape_to(&z, &a.dims()[..a.rank() - 1]) } else { Ok(z) }
}

/// The inverse of square matrices. A singular matrix is a LinAlgError.
///
/// ```python
/// >>> fg.linalg.inv(2 * fg.ones((1, 1))).tolist()
/// [[0.5]]
/// ```
#[op(method, in linalg, names("inv", "inverse"))]
pub fn inv(x: &Tensor) -> Result<Tensor> {
    square("linalg.inv", x)?;
    apply(Inverse { strict: true }, &[&*promoted_inexact(x)?])
}

/// As `inv`, without the error: also (int32) the first pivot that is zero, counted from 1, for each singular matrix, whose
/// inverse is NaN, and 0 for the others.
///
/// ```python
/// >>> [t.tolist() for t in fg.linalg.inv_ex(fg.zeros((1, 1)))]
/// [[[nan]], 1]
/// ```
#[op(function, in linalg)]
pub fn inv_ex(x: &Tensor) -> Result<(Tensor, Tensor)> {
    square("linalg.inv_ex", x)?;
    let x = &*promoted_inexact(x)?;
    let y = inverse_or_nan(x)?;
    let info = failures("linalg.inv_ex", false, x, &y)?;
    Ok((y, info))
}

/// As `solve` of matrices y, without the error: also (int32) the first pivot that is zero, counted from 1, for each singular
/// matrix, whose solution is NaN, and 0 for the others.
///
/// ```python
/// >>> [t.tolist() for t in fg.linalg.solve_ex(2 * fg.ones((1, 1)), fg.ones((1, 1)))]
/// [[[0.5]], 0]
/// ```
#[op(function, in linalg)]
pub fn solve_ex(x: &Tensor, y: &Tensor) -> Result<(Tensor, Tensor)> {
    const OP: &str = "linalg.solve_ex";
    let (a, b) = promoted(Class::Real, x.into(), y.into())?;
    if square(OP, &a)? != matrix(OP, &b)?.0 {
        bail!(Shape, OP, "the equations of {:?} have right sides of shape {:?}", a.dims(), b.dims());
    }
    let z = apply(Solve(Equations::Full { strict: false }), &[&a, &b])?;
    let info = failures(OP, false, &a, &z)?;
    Ok((z, info))
}

/// The solution z of x @ z = y (of z @ x = y if not left) for a triangle x; a vector y is one column (row).
///
/// Without a word the triangle is the upper one. `lower=True`, or `upper=False`, says that it is the lower one, as the
/// factor that `cholesky` gives. The other half of x is not looked at, nor its diagonal if unitriangular (it is taken as
/// ones). A zero on the diagonal is a LinAlgError.
///
/// ```python
/// >>> fg.linalg.solve_triangular(2 * fg.ones((1, 1)), fg.ones((1, 1))).tolist()
/// [[0.5]]
/// ```
#[op(function, in linalg, names("solve_triangular", "triangular_solve"))]
pub fn solve_triangular(
    x: &Tensor,
    y: &Tensor,
    #[default(None)] upper: Option<bool>,
    #[default(true)] left: bool,
    #[default(false)] unitriangular: bool,
    #[default(None)] lower: Option<bool>,
) -> Result<Tensor> {
    const OP: &str = "linalg.solve_triangular";
    let upper = match (upper, lower) {
        (Some(upper), Some(lower)) if upper == lower => {
            bail!(Argument, OP, "upper={upper} and lower={lower} contradict each other: leave one out")
        }
        (Some(upper), _) => upper,
        (None, lower) => !lower.unwrap_or(false),
    };
    let (a, b) = promoted(Class::Real, x.into(), y.into())?;
    let n = square(OP, &a)?;
    if let [size] = *b.dims() {
        let b = reshape_to(&b, &if left { [size, 1] } else { [1, size] })?;
        let z = solve_triangular(&a, &b, Some(upper), left, unitriangular, None)?;
        return reshape_to(&z, &a.dims()[..a.rank() - 1]);
    }
    let (rows, columns) = matrix(OP, &b)?;
    if n != if left { rows } else { columns } {
        bail!(Shape, OP, "{n} equations of {:?} have right sides of shape {:?}", a.dims(), b.dims());
    }
    let solved = |a: &Tensor, b: &Tensor, upper| {
        apply(Solve(Equations::Triangle { upper, unit: unitriangular, strict: true }), &[a, b])
    };
    if left { solved(&a, &b, upper) } else { t(&solved(&t(&a)?, &t(&b)?, !upper)?) }
}

/// The solution z of a @ z = x, given the Cholesky factor y of a; a vector x is one column.
///
/// ```python
/// >>> fg.linalg.cholesky_solve(fg.ones((1, 1)), 2 * fg.ones((1, 1))).tolist()
/// [[0.25]]
/// ```
#[op(function, in linalg, names("cholesky_solve", "cholesky_solve"))]
pub fn cholesky_solve(x: &Tensor, y: &Tensor, #[default(false)] upper: bool) -> Result<Tensor> {
    const OP: &str = "linalg.cholesky_solve";
    let (b, factor) = promoted(Class::Real, x.into(), y.into())?;
    let n = square(OP, &factor)?;
    if let [size] = *b.dims() {
        let z = cholesky_solve(&reshape_to(&b, &[size, 1])?, &factor, upper)?;
        return reshape_to(&z, &factor.dims()[..factor.rank() - 1]);
    }
    let (rows, _) = matrix(OP, &b)?;
    if n != rows {
        bail!(Shape, OP, "{n} equations of {:?} have right sides of shape {:?}", factor.dims(), b.dims());
    }
    let (first, last) =
        if upper { (h(&factor)?, factor.into_owned()) } else { (factor.clone().into_owned(), h(&factor)?) };
    triangle(&last, &triangle(&first, &b, false, false)?, true, false)
}

/// Square matrices multiplied by themselves n times; of the inverse for negative n.
///
/// ```python
/// >>> fg.linalg.matrix_power(2 * fg.ones((1, 1)), -3).tolist()
/// [[0.125]]
/// ```
#[op(method, in linalg, names("matrix_power", "matrix_power"))]
pub fn matrix_power(x: &Tensor, n: i64) -> Result<Tensor> {
    let size = square("linalg.matrix_power", x)?;
    let mut base = if n < 0 { inv(x)? } else { x.clone() };
    let mut left = n.unsigned_abs();
    let mut power: Option<Tensor> = None;
    while left > 0 {
        if left & 1 == 1 {
            power = Some(power.map_or_else(|| Ok(base.clone()), |p| mm(&p, &base))?);
        }
        left >>= 1;
        if left > 0 {
            base = mm(&base, &base)?;
        }
    }
    match power {
        Some(p) => Ok(p),
        // The zeros keep the result a function of x.
        None if x.dtype().is_differentiable() => Ok(weigh(x, 0.0, 0.0, 0.0)? + identity(x, size)?),
        None => broadcast_to(&identity(x, size)?, x.dims()),
    }
}

/// The identity in the dtype of `x`.
pub(in crate::ops) fn identity(x: &Tensor, n: usize) -> Result<Tensor> {
    crate::ops::movement::on_diagonal(&Tensor::constant(Array::full_of(x.dtype(), &[n], 1.0)))
}
