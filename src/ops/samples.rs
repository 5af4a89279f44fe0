//! Functions of samples: interpolation, phases, convolutions of vectors, histograms.

use super::entry::{IntsOrStr, Operand, op};
use super::promote::{Class, promoted, promoted_float};
use crate::array::{Array, Item};
use crate::dtype::{DType, Ordered, dispatch};
use crate::error::{Result, bail};
use crate::graph::{Kernel, Made, Operands, Tensor, Unrecorded, unrecorded};
use crate::ops::create::linspace;
use crate::ops::index::{index_add, narrow, take};
use crate::ops::movement::parts::conj;
use crate::ops::movement::{cast, concat, flip, pad, reshape_to};
use crate::ops::nn::conv::conv1d;
use crate::ops::pointwise::arithmetic::{
    add, divide_same, floor_divide_same, maximum_same, minimum_same, multiply,
};
use crate::ops::pointwise::compare::{equal, less_equal_same, less_same, logical_and};
use crate::ops::pointwise::elementary::abs;
use crate::ops::pointwise::fused::lerp_same;
use crate::ops::pointwise::select::select;
use crate::ops::reduce::sum;
use crate::ops::scan::{cumsum, diff};
use crate::ops::search::searchsorted;
use crate::shape;
use crate::stored::Stored;

/// The heights at x of the lines between the points (xp, fp), whose xp rise; before and after them `left` and `right`, by
/// default the first and the last fp.
///
/// ```python
/// >>> fg.interp(fg.tensor([0.5, 3.0]), fg.tensor([0., 1., 2.]), fg.tensor([0., 2., 5.])).tolist()
/// [1.0, 5.0]
/// ```
#[op(function)]
pub fn interp(
    x: &Tensor,
    xp: &Tensor,
    fp: &Tensor,
    #[default(None)] left: Option<f64>,
    #[default(None)] right: Option<f64>,
) -> Result<Tensor> {
    const OP: &str = "interp";
    let n = match (xp.dims(), fp.dims()) {
        (&[m], &[n]) if m == n && n > 0 => n as i64,
        (a, b) => {
            bail!(Shape, OP, "xp and fp are vectors of one size above 0, not of shapes {a:?} and {b:?}")
        }
    };
    let (x, xp) = promoted(Class::Float, x.into(), xp.into())?;
    let (x, fp) = promoted(Class::Float, (&*x).into(), fp.into())?;
    let xp = cast(&xp, x.dtype())?;
    let number = |v: f64| Tensor::scalar_of(DType::I64, v);
    let after = searchsorted(&xp, (&*x).into(), true, None, None)?;
    let high = minimum_same(&maximum_same(&after, &number(1.0))?, &number((n - 1) as f64))?;
    let low = maximum_same(&(&high - number(1.0)), &number(0.0))?;
    let at = |t: &Tensor, places: &Tensor| take(t, places, Some(0));
    let (x0, x1, y0, y1) = (at(&xp, &low)?, at(&xp, &high)?, at(&fp, &low)?, at(&fp, &high)?);
    let one = Tensor::scalar_of(x.dtype(), 1.0);
    let width = &x1 - &x0;
    let flat = less_equal_same(&width, &Tensor::scalar_of(x.dtype(), 0.0))?;
    let weight = divide_same(&(&*x - &x0), &select(&flat, &one, &width)?)?;
    let inside = lerp_same(&y0, &y1, &weight)?;
    let end = |t: &Tensor, i: i64| reshape_to(&narrow(t, 0, i, 1)?, &[]);
    let side = |value: Option<f64>, i: i64| match value {
        Some(v) => Ok(Tensor::scalar_of(x.dtype(), v)),
        None => end(&fp, i),
    };
    let y = select(&less_same(&x, &end(&xp, 0)?)?, &side(left, 0)?, &inside)?;
    select(&less_same(&end(&xp, n - 1)?, &x)?, &side(right, n - 1)?, &y)
}

/// Phases along an axis, with multiples of the period (2 pi by default) added so that neighbours differ by at most half of it (or by
/// `discont`, if that is more).
///
/// ```python
/// >>> fg.unwrap(fg.tensor([0., 3., 6., 1.]), period=6.0).tolist()
/// [0.0, 3.0, 6.0, 7.0]
/// ```
#[op(method)]
pub fn unwrap(
    x: &Tensor,
    #[default(None)] discont: Option<f64>,
    #[default(-1)] axis: i64,
    #[default(None)] period: Option<f64>,
) -> Result<Tensor> {
    const OP: &str = "unwrap";
    let x = &*promoted_float(x)?;
    let at = shape::axis(OP, axis, x.rank())? as i64;
    let period = period.unwrap_or(std::f64::consts::TAU);
    if period.is_nan() || period <= 0.0 {
        bail!(Argument, OP, "the period is above 0, not {period}");
    }
    if x.dims()[at as usize] < 2 {
        return Ok(x.clone());
    }
    let number = |v: f64| Tensor::scalar_of(x.dtype(), v);
    let step = diff(&x.detach(), 1, at, None, None)?;
    let half = period / 2.0;
    let turns = floor_divide_same(&(&step + half), &number(period))?;
    let mut small = &step - &turns * period;
    // A rise by just half a period stays one.
    let edge = logical_and(
        (&less_equal_same(&small, &number(-half))?).into(),
        (&less_same(&number(0.0), &step)?).into(),
    )?;
    small = select(&edge, &number(half), &small)?;
    let jump = less_same(&abs(&step)?, &number(discont.map_or(half, |d| d.max(half))))?;
    let correction = select(&jump, &number(0.0), &(&small - &step))?;
    let first = narrow(&x.detach(), at, 0, 1)? * 0.0;
    Ok(x + concat(&[first, cumsum(&correction, Some(at), None)?], Some(at))?)
}

/// The sums of the products of x and y at each shift of y that meets x.
fn all_shifted_products(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let (m, n) = (x.dims()[0], y.dims()[0]);
    let shifts = m + n - 1;
    if x.dtype().is_differentiable() {
        let lead = |t: &Tensor| reshape_to(t, &[1, 1, t.dims()[0]]);
        let all = conv1d(&lead(x)?, &lead(y)?, None, &[1], IntsOrStr::Ints(&[n as i64 - 1]), &[1], 1)?;
        return reshape_to(&all, &[shifts]);
    }
    if m < n {
        return flip(&all_shifted_products(y, x)?, None);
    }
    // Convolutions have no loops for integers, whose sums are exact.
    let wide = pad(x, &[(n as i64 - 1, n as i64 - 1)], "constant", Operand::Number(Item::Int(0)))?;
    let part = |i: usize| {
        multiply((&narrow(&wide, 0, i as i64, shifts as i64)?).into(), (&narrow(y, 0, i as i64, 1)?).into())
    };
    (1..n).try_fold(part(0)?, |all, i| add((&all).into(), (&part(i)?).into()))
}

/// Those of [`all_shifted_products`] that the mode names.
fn shifted_products(op: &'static str, x: &Tensor, y: &Tensor, mode: &str) -> Result<Tensor> {
    let (m, n) = match (x.dims(), y.dims()) {
        (&[m], &[n]) if m > 0 && n > 0 => (m, n),
        (a, b) => bail!(Shape, op, "takes two vectors with elements, not the shapes {a:?} and {b:?}"),
    };
    let (start, count) = match mode {
        "full" => (0, m + n - 1),
        "same" => ((n.min(m) - 1) / 2, m.max(n)),
        "valid" => (n.min(m) - 1, m.max(n) - n.min(m) + 1),
        _ => bail!(Argument, op, "mode is 'full', 'same' or 'valid', not '{mode}'"),
    };
    narrow(&all_shifted_products(x, y)?, 0, start as i64, count as i64)
}

/// The convolution of two vectors: the sums of `x[i] y[k - i]` for each k. The mode is 'full' (every k), 'same' (as many as
/// the longer vector has elements, in the middle) or 'valid' (where the vectors overlap completely). The dtypes promote; sums
/// of integers are exact modulo the range of their dtype.
///
/// ```python
/// >>> fg.convolve(fg.tensor([1., 2.]), fg.tensor([3., 4.])).tolist()
/// [3.0, 10.0, 8.0]
/// ```
#[op(function)]
pub fn convolve(x: &Tensor, y: &Tensor, #[default("full")] mode: &str) -> Result<Tensor> {
    let (x, y) = promoted(Class::Num, x.into(), y.into())?;
    shifted_products("convolve", &x, &flip(&y, None)?, mode)
}

/// The correlation of two vectors: the sums of `x[k + i] y[i]` for each shift k, with the complex conjugates of y. The modes are those of `convolve`.
///
/// ```python
/// >>> fg.correlate(fg.tensor([1., 2., 3.]), fg.tensor([1., 1.])).tolist()
/// [3.0, 5.0]
/// ```
#[op(function)]
pub fn correlate(x: &Tensor, y: &Tensor, #[default("valid")] mode: &str) -> Result<Tensor> {
    let (x, y) = promoted(Class::Num, x.into(), y.into())?;
    shifted_products("correlate", &x, &conj(&y)?, mode)
}

/// The edges of so many bins of one width, for the elements of a vector.
#[derive(Stored)]
#[stored(in Unrecorded)]
struct Edges {
    count: i64,
    low: Option<f64>,
    high: Option<f64>,
}

impl Kernel for Edges {
    fn name(&self) -> &'static str {
        "histogram"
    }

    fn compute(&self, ins: &[&Array], batch_ndim: usize) -> Result<Array> {
        let x = ins[0].without_repeats();
        let end = |pick: fn(f64, f64) -> f64| dispatch!(x.dtype(), float T => x.view::<T>().iter().map(|v| v.to_f64()).reduce(pick), else None);
        let mut a = self.low.or_else(|| end(f64::min)).unwrap_or(0.0);
        let mut b = self.high.or_else(|| end(f64::max)).unwrap_or(1.0);
        if !(a <= b && a.is_finite() && b.is_finite()) {
            bail!(Argument, self.name(), "the bounds are finite and rise, not {a} and {b}");
        }
        if a == b {
            (a, b) = (a - 0.5, b + 0.5);
        }
        let edges = linspace(a, b, self.count + 1, Some(x.dtype()), true)?.array;
        Ok(edges.with_rank(batch_ndim + 1, 0))
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, _) = ins.alike::<1>()?;
        let count = usize::try_from(self.count.checked_add(1)?).ok().filter(|_| dtype.is_float())?;
        Some(Made::from_elem((dtype, shape::resized(&vec![1; ins.batch_ndim + 1], 1, count)?), 1))
    }
}

/// How many elements lie in each bin (int64), or the sums of their weights, and the edges of the bins: `bins` of one width
/// between `low` and `high` (by default the smallest and the largest element), or between the rising edges of a vector.
/// The last bin contains its upper edge. With `density` the counts are divided by their sum and the widths.
///
/// ```python
/// >>> counts, edges = fg.histogram(fg.tensor([1., 2., 2., 5.]), 2)
/// >>> counts.tolist(), edges.tolist()
/// ([3, 1], [1.0, 3.0, 5.0])
/// ```
#[op(function)]
pub fn histogram(
    x: &Tensor,
    #[default(10)] bins: Operand<'_>,
    #[default(None)] low: Option<f64>,
    #[default(None)] high: Option<f64>,
    #[default(None)] weights: Option<&Tensor>,
    #[default(false)] density: bool,
) -> Result<(Tensor, Tensor)> {
    const OP: &str = "histogram";
    let n = shape::len(x.dims());
    let flat = reshape_to(&promoted_float(x)?.detach(), &[n])?;
    let edges = match bins {
        Operand::Tensor(t) if t.rank() == 1 && t.dims()[0] > 1 => cast(&t.detach(), flat.dtype())?,
        Operand::Number(Item::Int(count)) => {
            let Some(count) = i64::try_from(count).ok().filter(|&c| c > 0) else {
                bail!(Argument, OP, "the number of bins is above 0, not {count}");
            };
            if !flat.levels.is_empty() && (low.is_none() || high.is_none()) {
                bail!(Argument, OP, "under vmap the bounds differ within the batch; give low and high");
            }
            let edges = Edges { count, low, high };
            if low.is_some() && high.is_some() {
                Tensor::constant(edges.compute(&[&Array::zeros(OP, flat.dtype(), &[0])?], 0)?)
            } else {
                unrecorded(edges, &[&flat]).expect("it has no edge")?
            }
        }
        _ => bail!(Argument, OP, "bins are a number above 0 or a vector of two edges or more"),
    };
    let count = edges.dims()[0] - 1;
    let after = searchsorted(&edges, (&flat).into(), true, None, None)?;
    let last = reshape_to(&narrow(&edges, 0, count as i64, 1)?, &[])?;
    let on_top = equal((&flat).into(), (&last).into())?;
    // Bin 0 has what lies below, and bin `count + 1` what lies above or is NaN.
    let places = select(&on_top, &Tensor::scalar_of(DType::I64, count as f64), &after)?;
    let counted = match weights {
        Some(w) if w.dims() != x.dims() => {
            bail!(Shape, OP, "weights of shape {:?} for elements of shape {:?}", w.dims(), x.dims())
        }
        Some(w) => reshape_to(&*promoted_float(w)?, &[n])?,
        None => Tensor::constant(Array::full_of(DType::I64, &[n], 1.0)),
    };
    let zeros = Tensor::constant(Array::zeros(OP, counted.dtype(), &[count + 2])?);
    let counts = narrow(&index_add(&zeros, 0, &places, &counted)?, 0, 1, count as i64)?;
    if !density {
        return Ok((counts, edges));
    }
    let counts = if counts.dtype().is_float() { counts } else { cast(&counts, flat.dtype())? };
    let widths = cast(&diff(&edges, 1, 0, None, None)?, counts.dtype())?;
    let total = sum(&counts, None, false, None)?;
    Ok((divide_same(&divide_same(&counts, &total)?, &widths)?, edges))
}
