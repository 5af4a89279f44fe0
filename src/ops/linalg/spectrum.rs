//! Derivatives at equal eigenvalues and singular values.
//!
//! Vectors of equal values may turn in their space, at any rate, without a change of what is well defined. What is computed of
//! the vectors alone, such as the projector on the space, does not see the rate, so 0 serves. What is computed of vectors and
//! values together, such as `v f(w) vᴴ`, has a derivative there that no cotangent of `w` and `v` tells: it is NaN. What is
//! computed of the values alone is right to second order. Its gradient is `v diag(c) vᴴ` with cotangents `c` of the values, and
//! of `c` the derivatives by one of the equal values and by another one differ by a number that is needed here too
//! (A. Lewis and H. Sendov, "Twice differentiable spectral functions", 2001). `slopes` asks for it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use smallvec::smallvec;

use super::parts::{epsilon, equal_values, reciprocal_gaps, sizes, weigh};
use crate::array::Array;
use crate::dtype::{DType, Element, dispatch};
use crate::error::Result;
use crate::graph::{
    Cotangents, Edge, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tensor, apply, only,
    recorded,
};
use crate::kernel::broadcast::broadcast_batch_pair;
use crate::kernel::num::{Field, Inexact};
use crate::ops::check;
use crate::ops::entry::Operand;
use crate::ops::linalg::{h, like, mm, over_columns, sym};
use crate::ops::movement::{cast, conj, diagonal_of, expand_dims, on_diagonal, real};
use crate::ops::pointwise::compare::equal;
use crate::ops::reduce::sum;
use crate::stored::Stored;

static UNDETERMINED: AtomicBool = AtomicBool::new(false);

/// Whether a derivative became NaN since the last call because vectors of equal values are not determined.
#[doc(hidden)]
pub fn take_undetermined() -> bool {
    UNDETERMINED.load(Relaxed) && UNDETERMINED.swap(false, Relaxed)
}

/// NaN where vectors of equal values would turn at a rate that is not 0 up to rounding, else 0. The inputs are the sizes of the
/// rates, and which of them are those of equal values, as ones and zeros.
#[derive(Stored)]
#[stored(op)]
struct Undetermined {
    /// Whether the rates on the diagonal are none.
    pairs: bool,
}

impl Op for Undetermined {
    fn name(&self) -> &'static str {
        "undetermined_vectors"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let (rates, same) = broadcast_batch_pair(ins[0], ins[1], batch_ndim);
        let (rates, same) = (rates.contiguous()?, same.contiguous()?);
        let [.., m, n] = *rates.dims() else { unreachable!("a matrix has two axes") };
        let pairs = self.pairs;
        let out = dispatch!(rates.dtype(), float T => Array::build::<T>(self.name(), rates.dims(), |out| {
            let (rates, same) = (rates.as_slice::<T>().expect("contiguous"), same.as_slice::<T>().expect("contiguous"));
            let size = (m * n).max(1);
            for ((out, rates), same) in out.chunks_mut(size).zip(rates.chunks(size)).zip(same.chunks(size)) {
                let largest = rates.iter().fold(T::ZERO, |most, v| most.max(*v));
                let least = largest.mul(T::lit(100.0 * n as f64 * epsilon(T::DTYPE)));
                for (at, o) in out.iter_mut().enumerate() {
                    let turns = !(pairs && at / n == at % n) && same[at] != T::ZERO && rates[at] > least;
                    *o = if turns { T::lit(f64::NAN) } else { T::ZERO };
                    if turns {
                        UNDETERMINED.store(true, Relaxed);
                    }
                }
            }
        }), else unreachable!("the values are real"))?;
        Ok([out].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        ins.like::<2>(2, DType::is_float)
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("its inputs are constants")
    }
}

/// NaN where vectors of equal values (`same`) turn, else 0, in the dtype of the rates; `pairs` as of [`Undetermined`].
pub(super) fn undetermined(turns: &Tensor, same: &Tensor, pairs: bool) -> Result<Tensor> {
    let rates = sizes(&turns.detach())?;
    like(turns, &apply(Undetermined { pairs }, &[&rates, &like(&rates, same)?])?)
}

/// Whether the elements are 0, as ones and zeros.
fn are_zero(x: &Tensor) -> Result<Tensor> {
    let zero = Tensor::scalar_of(x.dtype(), 0.0);
    cast(&equal(Operand::Tensor(x), Operand::Tensor(&zero))?, x.dtype())
}

/// For each value: the derivative of its own cotangent `c` less that of the cotangent of a value that equals it, both by the
/// value; 0 where no other equals it. For those that are 0 themselves (`zero`), where `c` is odd, the derivative of `c`. The
/// numbers `values` and `c` are those of inputs of the node.
pub(super) fn slopes(
    s: &Saved<'_>,
    (values, c): (usize, usize),
    same: &Tensor,
    zero: Option<&Tensor>,
) -> Result<Tensor> {
    let none = &s.input(values).detach() * 0.0;
    let along = |x: &Tensor| sum(x, Some(&[-1]), false, None);
    let count = along(&weigh(same, 1.0, 0.0, 1.0)?)?;
    let zero = zero.unwrap_or(&none);
    let (Some(of_values), Some(of_c)) = (&s.edges[values], &s.edges[c]) else { return Ok(none) };
    if check::all_hold(&are_zero(&(&count + zero))?)? {
        return Ok(none);
    }
    let is_first = are_zero(&along(&weigh(same, 1.0, 0.0, 0.0)?)?)?;
    let Some(found) = (s.pull)(of_c, &is_first, of_values)? else { return Ok(none) };
    let found = cast(&real(&found.detach())?, none.dtype())?;
    let of_first = along(&(same * over_columns(&(&found * &is_first))?))?;
    let of_others = along(&(same * over_columns(&found)?))? - &of_first;
    let alone = are_zero(&count)?;
    let slope = (&of_first - of_others / (&count + &alone)) * (1.0 - alone);
    Ok(zero * of_first + (1.0 - zero) * slope)
}

/// What a gradient by values alone is an input of: the place where it was computed, so that its derivative is.
pub(super) fn place(edge: &Option<Edge>, record: bool) -> Tensor {
    Tensor { edge: edge.clone().filter(|_| record), ..Tensor::scalar(0.0) }
}

/// `v diag(c) vᴴ` as a gradient of the eigenvalues. Its inputs are `w`, `v`, `c` and the matrix, of which it reads nothing.
struct Gathered;

impl Op for Gathered {
    fn name(&self) -> &'static str {
        "linalg.eigvalsh_gradient"
    }

    fn forward(&self, _: &[&Array], _: usize) -> Result<Outputs> {
        unreachable!("it is computed before it is recorded")
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(0b111)
    }

    fn reads_tangent(&self, i: usize) -> bool {
        i > 1
    }

    /// The eigenvectors turn at `(c[j] - c[i]) / (w[j] - w[i])`, or at the slope of equal values.
    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let (w, v, c) = (s.input(0), s.input(1), s.input(2));
        let inner = sym(&mm(&mm(&h(&v)?, &conj(only(g))?)?, &v)?)?;
        let same = equal_values(&w.detach(), false)?;
        let apart = (over_columns(&c)? - expand_dims(&c, &[-1])?) * reciprocal_gaps(&w)?;
        let rates = apart + weigh(&(&same * over_columns(&slopes(s, (0, 2), &same, None)?)?), 1.0, 0.0, 1.0)?;
        let of_x = mm(&mm(&v, &(&inner * like(&v, &rates)?))?, &h(&v)?)?;
        let of_c = real(&diagonal_of(&inner)?)?;
        Ok(smallvec![None, None, s.needs(2).then_some(of_c), s.needs(3).then(|| conj(&of_x)).transpose()?])
    }
}

/// The gradient of a symmetric or Hermitian matrix from cotangents `c` of its eigenvalues alone.
pub(super) fn gathered(s: &Saved<'_>, w: &Tensor, v: &Tensor, c: &Tensor) -> Result<Tensor> {
    let plain = v.detach();
    let y = mm(&mm(&plain, &like(v, &on_diagonal(&c.detach())?)?)?, &h(&plain)?)?;
    let ins = [w, v, c, &place(&s.edges[0], s.record)];
    Ok(recorded(Gathered, &ins, [y.array.clone()].into(), y.levels.clone())?.swap_remove(0))
}
