//! Covariances and correlations.

use std::borrow::Cow;

use super::sum::{mean, sum};
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::ops::check::{self, Test};
use crate::ops::contract::matmul::matmul;
use crate::ops::entry::op;
use crate::ops::movement::parts::from_parts;
use crate::ops::movement::{cast, conj, diagonal, imag, matrix_transpose, real, reshape_to};
use crate::ops::pointwise::arithmetic::{divide, divide_same, multiply, multiply_same, subtract_same};
use crate::ops::pointwise::elementary::sqrt;
use crate::ops::pointwise::select::{at_least, at_most};
use crate::ops::promote::promoted_inexact;
use crate::shape;

/// The covariances of the rows of a matrix, whose columns are observations (of the columns, whose rows are observations, if not
/// `rowvar`); of a vector or one row, its variance. The sums of products
/// of deviations are divided by the number of observations less `correction` (NumPy's `ddof`, which is taken too). `fweights` (how often each observation counts)
/// and `aweights` (its importance) are vectors. Of complex numbers the second factor is conjugated.
///
/// ```python
/// >>> fg.cov(fg.tensor([[1., 2., 3.], [3., 2., 1.]])).tolist()
/// [[1.0, -1.0], [-1.0, 1.0]]
/// ```
#[op(method)]
pub fn cov(
    x: &Tensor,
    #[default(1.0)] correction: f64,
    #[default(None)] fweights: Option<&Tensor>,
    #[default(None)] aweights: Option<&Tensor>,
    #[default(true)] rowvar: bool,
) -> Result<Tensor> {
    const OP: &str = "cov";
    let x = promoted_inexact(x)?;
    let x = if !rowvar && x.rank() == 2 { Cow::Owned(matrix_transpose(&x)?) } else { x };
    let rows = match *x.dims() {
        [] => reshape_to(&x, &[1, 1])?,
        [n] => reshape_to(&x, &[1, n])?,
        [_, _] => x.clone().into_owned(),
        ref dims => bail!(Shape, OP, "takes a matrix or a vector, not the shape {dims:?}"),
    };
    let n = rows.dims()[1];
    let number = x.dtype().real();
    let mut weights: Option<Tensor> = None;
    for w in [fweights, aweights].into_iter().flatten() {
        if w.dims() != [n] {
            bail!(Shape, OP, "weights of shape {:?} for {n} observations", w.dims());
        }
        check::all(OP, w, Test::NotNegative, "weights (fweights, aweights) cannot be negative")?;
        let w = cast(w, number)?;
        weights = Some(match weights {
            Some(other) => multiply_same(&other, &w)?,
            None => w,
        });
    }
    let total = |t: &Tensor| sum(t, None, false, None);
    let zero = Tensor::scalar_of(number, 0.0);
    let (deviations, weighted, norm) = match &weights {
        None => {
            let d = subtract_same(&rows, &mean(&rows, Some(&[1]), true, None)?)?;
            let norm = Tensor::scalar_of(number, (n as f64 - correction).max(0.0));
            (d.clone(), d, norm)
        }
        Some(w) => {
            let all = total(w)?;
            let means = divide(
                (&sum(&multiply((&rows).into(), w.into())?, Some(&[1]), true, None)?).into(),
                (&all).into(),
            )?;
            let d = subtract_same(&rows, &means)?;
            let less = match aweights {
                Some(a) => divide_same(&total(&multiply_same(w, &cast(a, number)?)?)?, &all)?,
                None => Tensor::scalar_of(number, 1.0),
            };
            let less = multiply_same(&less, &Tensor::scalar_of(number, correction))?;
            (d.clone(), multiply((&d).into(), w.into())?, at_least(&subtract_same(&all, &less)?, &zero)?)
        }
    };
    let products = matmul((&deviations).into(), (&conj(&matrix_transpose(&weighted)?)?).into())?;
    let out = divide((&products).into(), (&norm).into())?;
    if rows.dims()[0] == 1 { reshape_to(&out, &[]) } else { Ok(out) }
}

/// The correlations of the rows of a matrix, whose columns are observations: the covariances divided by both standard
/// deviations. Of one row it is 1. If not `rowvar`, it is the columns that are correlated.
///
/// ```python
/// >>> fg.corrcoef(fg.tensor([[1., 2., 3.], [3., 2., 1.]])).tolist()
/// [[1.0, -1.0], [-1.0, 1.0]]
/// ```
#[op(method)]
pub fn corrcoef(x: &Tensor, #[default(true)] rowvar: bool) -> Result<Tensor> {
    let c = cov(x, 1.0, None, None, rowvar)?;
    if shape::len(c.dims()) == 1 {
        return reshape_to(&divide_same(&c, &c)?, &[]);
    }
    let n = c.dims()[0];
    let deviation = sqrt(&real(&diagonal(&c, 0, 0, 1)?)?)?;
    let c = divide((&c).into(), (&reshape_to(&deviation, &[n, 1])?).into())?;
    let c = divide((&c).into(), (&deviation).into())?;
    let bound = |v| Tensor::scalar_of(c.dtype().real(), v);
    let bounded = |c: &Tensor| at_most(&at_least(c, &bound(-1.0))?, &bound(1.0));
    if c.dtype().is_complex() {
        from_parts(&bounded(&real(&c)?)?, &bounded(&imag(&c)?)?)
    } else {
        bounded(&c)
    }
}
