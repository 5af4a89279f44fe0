//! Triangles and columns of matrices, and reciprocals of differences of eigenvalues: the parts of which the
//! rules of factorisations are made.

use smallvec::smallvec;

use crate::array::Array;
use crate::dtype::{DType, Element, dispatch};
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tensor, apply, only,
};
use crate::kernel::num::{Field, Inexact};
use crate::kernel::output;
use crate::ops::entry::Operand;
use crate::ops::index::narrow;
use crate::ops::linalg::over_columns;
use crate::ops::linear::{Linear, LinearOp};
use crate::ops::movement::{cast, concat, expand_dims};
use crate::ops::pointwise::compare::{equal, less_same};
use crate::ops::pointwise::elementary::abs;
use crate::ops::pointwise::polar::modulus;
use crate::ops::pointwise::safe::reciprocal_or_zero;
use crate::ops::pointwise::select::part;
use crate::ops::reduce::{extreme, sum};
use crate::shape::Dims;
use crate::stored::Stored;

/// A matrix with its elements below, on and above the diagonal scaled. Where the factor is 0 the result is 0,
/// even for NaN. The op is its own transpose.
#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct Weigh {
    below: f64,
    on: f64,
    above: f64,
}

impl Linear for Weigh {
    const NAME: &'static str = "weigh_triangles";

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        let x = x.contiguous()?;
        let [.., m, n] = *x.dims() else { unreachable!("a matrix has two axes") };
        dispatch!(x.dtype(), inexact T => output::build::<T>(Self::NAME, x.dims(), 1, |first, out| {
            let by = |w: f64, v: T| if w == 0.0 { T::ZERO } else { v.mul(T::lit(w)) };
            let x = &x.as_slice::<T>().expect("contiguous")[first..];
            for (at, (o, &v)) in (first..).zip(out.iter_mut().zip(x)) {
                let (i, j) = (at / n % m, at % n);
                *o = by(if i > j { self.below } else if i < j { self.above } else { self.on }, v);
            }
        }), else bail!(Dtype, Self::NAME, "not defined for {}", x.dtype()))
    }

    fn makes(&self, x: &Operands<'_>) -> Option<Made> {
        x.like::<1>(2, DType::is_differentiable)
    }

    fn transpose(&self, g: &Tensor, _: &Saved<'_>) -> Result<Tensor> {
        apply(LinearOp(self.clone()), &[g])
    }
}

/// The elements below, on and above the diagonal of `x`, each times its factor.
pub(in crate::ops) fn weigh(x: &Tensor, below: f64, on: f64, above: f64) -> Result<Tensor> {
    apply(LinearOp(Weigh { below, on, above }), &[x])
}

/// The distance from 1 to the next number.
pub(in crate::ops) fn epsilon(dtype: DType) -> f64 {
    if dtype.real() == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON }
}

/// What two of `n` values may differ by, as a part of the largest, and be equal up to rounding.
fn rounding(n: usize, dtype: DType) -> f64 {
    50.0 * n as f64 * epsilon(dtype)
}

/// The matrix of `1 / (w[j] ± w[i])` for a list `w`, with 0 where the divisor is 0 up to rounding: vectors of
/// equal eigenvalues may rotate among themselves without changing a well-defined result, so that rate is
/// taken as 0.
#[derive(Clone, Stored)]
#[stored(op)]
struct Reciprocals {
    sums: bool,
}

impl Op for Reciprocals {
    fn name(&self) -> &'static str {
        if self.sums { "reciprocal_sums" } else { "reciprocal_gaps" }
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        let w = ins[0].contiguous()?;
        let n = w.dims()[w.rank() - 1];
        let dims: Dims = w.dims().iter().copied().chain([n]).collect();
        let sums = self.sums;
        let out = dispatch!(w.dtype(), float T => Array::build::<T>(self.name(), &dims, |out| {
            let lists = w.as_slice::<T>().expect("contiguous").chunks_exact(n.max(1));
            for (matrix, w) in out.chunks_exact_mut((n * n).max(1)).zip(lists) {
                let largest = w.iter().fold(T::ZERO, |m, v| m.max(v.abs()));
                let least = largest.mul(T::lit(rounding(n, T::DTYPE)));
                for (at, o) in matrix.iter_mut().enumerate() {
                    let (i, j) = (at / n, at % n);
                    let d = if sums { w[j].add(w[i]) } else { w[j].sub(w[i]) };
                    *o = if d.abs() <= least { T::ZERO } else { T::ONE.div(d) };
                }
            }
        }), else bail!(Dtype, self.name(), "not defined for {}", w.dtype()))?;
        Ok([out].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, dims @ &[.., n]) = ins.alike::<1>()? else { return None };
        if dtype.is_float() { ins.make(&[(dtype, &[dims, &[n]])]) } else { None }
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::outputs(1)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        let f = s.output(0);
        let d = -(g * &f * &f);
        let (rows, columns) = (sum(&d, Some(&[-1]), false, None)?, sum(&d, Some(&[-2]), false, None)?);
        Ok(smallvec![Some(if self.sums { columns + rows } else { columns - rows })])
    }
}

/// The matrix of `1 / (w[j] - w[i])`; 0 where they are equal up to rounding.
pub(in crate::ops) fn reciprocal_gaps(w: &Tensor) -> Result<Tensor> {
    if w.dtype().is_complex() {
        let gaps = over_columns(w)? - expand_dims(w, &[-1])?;
        let n = *w.dims().last().expect("a list");
        if n == 0 {
            return Ok(gaps);
        }
        let least = extreme::max(&modulus(&w.detach())?, Some(&[-1]), true)? * rounding(n, w.dtype());
        let apart = less_same(&expand_dims(&least, &[-1])?, &modulus(&gaps.detach())?)?;
        return reciprocal_or_zero(&part(&apart, true, &gaps)?);
    }
    apply(Reciprocals { sums: false }, &[w])
}

/// The matrix of `1 / (w[j] + w[i])`; 0 where both are 0.
pub(in crate::ops) fn reciprocal_sums(w: &Tensor) -> Result<Tensor> {
    apply(Reciprocals { sums: true }, &[w])
}

/// Ones for each pair of values that are equal up to rounding (or whose sum is 0 up to rounding), the values themselves included,
/// and zeros for all others. The values are constants.
pub(in crate::ops) fn equal_values(w: &Tensor, sums: bool) -> Result<Tensor> {
    let gaps = if sums { reciprocal_sums(w)? } else { reciprocal_gaps(w)? };
    let sizes = sizes(&gaps)?;
    let zero = Tensor::scalar_of(sizes.dtype(), 0.0);
    cast(&equal(Operand::Tensor(&sizes), Operand::Tensor(&zero))?, sizes.dtype())
}

/// The absolute values.
pub(in crate::ops) fn sizes(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { modulus(x) } else { abs(x) }
}

/// Columns `start..start + count` of `x`.
pub(in crate::ops) fn columns(x: &Tensor, start: usize, count: usize) -> Result<Tensor> {
    narrow(x, -1, start as i64, count as i64)
}

/// The columns of two matrices side by side.
pub(in crate::ops) fn beside_each_other(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    concat(&[x.clone(), y.clone()], Some(-1))
}
