//! Quantiles, places in sorted rows, distinct elements, and counts.

use std::borrow::Cow;

use smallvec::smallvec;

use super::check::{self, Test};
use super::entry::{Axes, Operand, Value, op};
use super::promote::{Class, as_tensor, promoted, promoted_float};
use super::sort::sorted;
use crate::array::{Array, Item};
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Kernel, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor,
    Unrecorded, apply, unrecorded,
};
use crate::kernel::broadcast;
use crate::kernel::sort::{self, Ranks};
use crate::ops::gather::{WithIndices, WithIndicesOp, with_indices};
use crate::ops::index::{SIZE_DEPENDS, index_add, narrow, take, take_along_axis};
use crate::ops::movement::axes::permuted;
use crate::ops::movement::{broadcast_to, cast, concat, imag, moveaxis, real, reshape_to};
use crate::ops::pointwise::arithmetic::{maximum_same, minimum_same};
use crate::ops::pointwise::compare::{equal, logical_not};
use crate::ops::pointwise::elementary::{ceil, floor, isnan, round_even};
use crate::ops::pointwise::fused::lerp_same;
use crate::ops::pointwise::select::select;
use crate::ops::reduce::{max, min, sum};
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// The numbers below which the parts q of the elements lie, over axes.
fn quantiles(
    op: &'static str,
    x: &Tensor,
    q: Operand<'_>,
    axis: Axes<'_>,
    (keepdims, interpolation): (bool, &str),
    ignores_nan: bool,
) -> Result<Tensor> {
    let x = &*promoted_float(x)?;
    let q = as_tensor(q, DType::F64)?;
    if q.rank() > 1 {
        bail!(Shape, op, "q is a number or a vector of numbers, not of shape {:?}", q.dims());
    }
    check::all(op, &q, Test::Unit, "q is between 0 and 1")?;
    // The axes as one, which is the last.
    let axes: Dims = match axis {
        None => (0..x.rank()).collect(),
        Some(list) => shape::axes(op, list, x.rank())?.into_iter().collect(),
    };
    let kept: Dims = (0..x.rank()).filter(|a| !axes.contains(a)).collect();
    let n: usize = axes.iter().map(|&a| x.dims()[a]).product();
    if n == 0 {
        bail!(
            Argument,
            op,
            "{:?} has no elements on the axes of the reduction, which has no identity",
            x.dims()
        );
    }
    let lead: Dims = kept.iter().map(|&a| x.dims()[a]).collect();
    let with_last = |size: usize| lead.iter().copied().chain([size]).collect::<Dims>();
    let rows = reshape_to(&permuted(x, kept.iter().chain(&axes).copied())?, &with_last(n))?;
    let (vector, m) = (q.rank() == 1, shape::len(q.dims()));
    let q = &reshape_to(&q, &[m])?;
    let nans = isnan(&rows.detach())?;
    // Of nothing but NaN the result is a NaN without a derivative.
    let rows =
        if ignores_nan { select(&nans, &Tensor::scalar_of(x.dtype(), f64::NAN), &rows)? } else { rows };
    let missing = sum(&nans, Some(&[-1]), true, Some(DType::F64))?;
    let last = Tensor::scalar_of(DType::F64, (n - 1) as f64);
    let place = if ignores_nan {
        q * maximum_same(&(last - missing), &Tensor::scalar_of(DType::F64, 0.0))?
    } else {
        // A NaN is the last one, and then the result.
        select(&cast(&missing, DType::Bool)?, &last, &(q * &last))?
    };
    let place = broadcast_to(&place, &with_last(m))?;
    let (low, high) = if q.levels.is_empty() {
        let (found, _) = with_indices(Around { op, ignores_nan }, &[&rows, &q.detach()])?;
        (narrow(&found, -1, 0, m as i64)?, narrow(&found, -1, m as i64, m as i64)?)
    } else {
        let (rows, _) = sorted(op, &rows, -1, false)?;
        let at = |place: &Tensor| take_along_axis(&rows, &cast(place, DType::I64)?, Some(-1));
        (at(&floor(&place)?)?, at(&ceil(&place)?)?)
    };
    let out = match interpolation {
        "lower" => low,
        "higher" => high,
        "nearest" => {
            let is_low = equal((&round_even(&place)?).into(), (&floor(&place)?).into())?;
            select(&is_low, &low, &high)?
        }
        "midpoint" => low * 0.5 + high * 0.5,
        "linear" => {
            let weight = cast(&(&place - floor(&place)?), x.dtype())?;
            lerp_same(&low, &high, &weight)?
        }
        _ => bail!(
            Argument,
            op,
            "the interpolation is 'linear', 'lower', 'higher', 'nearest' or 'midpoint', not '{interpolation}'"
        ),
    };
    let mut dims: Dims = lead;
    if keepdims {
        dims = (0..x.rank()).map(|a| if axes.contains(&a) { 1 } else { x.dims()[a] }).collect();
    }
    let out = moveaxis(&out, &[-1], &[0])?;
    if vector {
        dims.insert(0, m);
    }
    reshape_to(&out, &dims)
}

/// The elements just below and just above parts of a row, as [`Ranks::Around`] has them. Input 1 has the parts.
#[derive(Stored)]
#[stored(in WithIndicesOp)]
struct Around {
    op: &'static str,
    ignores_nan: bool,
}

impl WithIndices for Around {
    fn name(&self) -> &'static str {
        self.op
    }

    fn back(&self) -> usize {
        1
    }

    fn choose(&self, ins: &[&Array]) -> Result<(Array, Array)> {
        let (x, parts) = (ins[0], ins[1].contiguous()?);
        let parts = parts.as_slice::<f64>().expect("contiguous");
        let want = Ranks::Around { parts, ignores_nan: self.ignores_nan };
        sort::sort(self.op, x, x.rank() - 1, false, want)
    }

    fn chosen(&self, ins: &Operands<'_>) -> Option<Dims> {
        // The parts are the same for the whole batch.
        let [(dtype, dims), (DType::F64, &[parts])] = ins.each()? else { return None };
        let is_one = ins.dims[1][..ins.batch_ndim].iter().all(|&d| d == 1) && !dtype.is_complex();
        shape::resized(dims, 1, parts.checked_mul(2)?).filter(|_| is_one)
    }
}

/// The numbers below which the parts q of the elements lie, over axes (all by default). Between two elements they are
/// interpolated: 'linear', or 'lower', 'higher', 'nearest' (halves to the even one) or 'midpoint'. A q with one axis gives
/// a result with that axis first. NaN where there is one. The derivative by q is 0 but for 'linear'.
///
/// ```python
/// >>> fg.quantile(fg.tensor([1., 2., 4.]), 0.75).item()
/// 3.0
/// ```
#[op(method, heavy, torch(NeedsAxes))]
pub fn quantile(
    x: &Tensor,
    q: Operand<'_>,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
    #[default("linear")] interpolation: &str,
) -> Result<Tensor> {
    quantiles("quantile", x, q, axis, (keepdims, interpolation), false)
}

/// As `quantile`, of the elements that are not NaN; NaN where all are.
///
/// ```python
/// >>> fg.nanquantile(fg.tensor([1., fg.nan, 2., 4.]), 0.75).item()
/// 3.0
/// ```
#[op(method, heavy, torch(NeedsAxes))]
pub fn nanquantile(
    x: &Tensor,
    q: Operand<'_>,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
    #[default("linear")] interpolation: &str,
) -> Result<Tensor> {
    quantiles("nanquantile", x, q, axis, (keepdims, interpolation), true)
}

/// Places in rising rows: integers, which have no derivative.
#[derive(Stored)]
#[stored(op)]
struct Search {
    right: bool,
}

impl Op for Search {
    fn name(&self) -> &'static str {
        "searchsorted"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let (rows, values) = broadcast::broadcast_batch_pair(ins[0], ins[1], batch_ndim);
        Ok([sort::search(self.name(), &rows, &values, self.right)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, [rows, values]) = ins.of_one_dtype()?;
        let (_, lead) = rows.split_last()?;
        let has_rows = || values.split_last().is_some_and(|(_, of)| of == lead);
        let fits = (lead.is_empty() || has_rows()) && !dtype.is_complex();
        if fits { ins.make(&[(DType::I64, &[values])]) } else { None }
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![None, None])
    }

    fn jvp(&self, _: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![None])
    }
}

/// Where the elements of y would be inserted into the rising rows of x (int64) so that these stay rising: before equal
/// elements, or with right after them. A vector x is the row for all of y; else all axes but the last agree. `sorter` has
/// the indices that sort x.
///
/// ```python
/// >>> fg.searchsorted(fg.tensor([1., 3., 5.]), fg.tensor([3., 4.])).tolist()
/// [1, 2]
/// ```
#[op(function)]
pub fn searchsorted(
    x: &Tensor,
    y: Operand<'_>,
    #[default(false)] right: bool,
    #[default(None)] side: Option<&str>,
    #[default(None)] sorter: Option<&Tensor>,
) -> Result<Tensor> {
    const OP: &str = "searchsorted";
    let right = match side {
        None => right,
        Some("right") => true,
        Some("left") if !right => false,
        Some("left") => bail!(Argument, OP, "side is 'left' and right is True"),
        Some(other) => bail!(Argument, OP, "side is 'left' or 'right', not '{other}'"),
    };
    let x: Cow<'_, Tensor> = match sorter {
        Some(order) => Cow::Owned(take_along_axis(x, order, Some(-1))?),
        None => Cow::Borrowed(x),
    };
    if x.rank() == 0 {
        bail!(Shape, OP, "the rows have at least one axis, which 0-d tensors lack");
    }
    let (rows, values) = promoted(Class::Num, (&*x).into(), y)?;
    let one = rows.rank() == 1;
    let split = rows.rank() - 1;
    if !one && (values.rank() != rows.rank() || values.dims()[..split] != rows.dims()[..split]) {
        bail!(Shape, OP, "rows of shape {:?} and values of shape {:?}", rows.dims(), values.dims());
    }
    apply(Search { right }, &[&rows.detach(), &values.detach()])
}

/// Which interval between rising boundaries each element lies in (int64): the number of boundaries below it, or with right
/// of those not above it.
///
/// ```python
/// >>> fg.bucketize(fg.tensor([3., 4.]), fg.tensor([1., 3., 5.])).tolist()
/// [1, 2]
/// ```
#[op(method)]
pub fn bucketize(x: Operand<'_>, boundaries: &Tensor, #[default(false)] right: bool) -> Result<Tensor> {
    if boundaries.rank() != 1 {
        bail!(
            Shape,
            "bucketize",
            "boundaries tensor must be 1 dimension, not of shape {:?}",
            boundaries.dims()
        );
    }
    searchsorted(boundaries, x, right, None, None)
}

/// An error for tensors that `vmap` batches.
fn refuse_levels(op: &'static str, tensors: &[&Tensor], why: &str) -> Result<()> {
    if tensors.iter().any(|t| !t.levels.is_empty()) {
        bail!(Vmap, op, "{why}");
    }
    Ok(())
}

/// Which of the distinct elements of a vector each element is.
#[derive(Stored)]
#[stored(in Unrecorded)]
struct Distinct {
    op: &'static str,
    equal_nan: bool,
}

impl Kernel for Distinct {
    fn name(&self) -> &'static str {
        self.op
    }

    fn compute(&self, ins: &[&Array], _: usize) -> Result<Array> {
        let [_, inverse, _] = sort::unique(self.op, ins[0], self.equal_nan)?;
        Ok(inverse)
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, dims) = ins.alike::<1>()?;
        if dtype.is_complex() || ins.batch_ndim > 0 {
            None
        } else {
            ins.make(&[(DType::I64, &[&[shape::checked_len(dims)?]])])
        }
    }
}

/// Integers that are equal where complex numbers of a vector are, and in the order of their real parts, then of their
/// imaginary ones. The vector has no edge.
fn ranks(op: &'static str, x: &Tensor, equal_nan: bool) -> Result<Tensor> {
    let of = |part: Tensor| unrecorded(Distinct { op, equal_nan }, &[&part]).expect("it has no edge");
    // There are no more distinct elements than elements.
    Ok(of(real(x)?)? * x.dims()[0] as f64 + of(imag(x)?)?)
}

/// Whether each element of x is equal to one of y; with invert, whether it is equal to none.
///
/// ```python
/// >>> fg.isin(fg.tensor([1, 2, 3]), fg.tensor([3, 1])).tolist()
/// [True, False, True]
/// ```
#[op(function)]
pub fn isin(x: Operand<'_>, y: Operand<'_>, #[default(false)] invert: bool) -> Result<Tensor> {
    let (x, y) = promoted(Class::Num, x, y)?;
    let (x, y) = (x.detach(), y.detach());
    let n = shape::len(y.dims());
    if n == 0 {
        return broadcast_to(&Tensor::scalar_of(DType::Bool, f64::from(u8::from(invert))), x.dims());
    }
    if x.dtype().is_complex() {
        refuse_levels(
            "isin",
            &[&x, &y],
            "complex numbers are ranked together, not for each example of vmap: use a loop of Python in its place",
        )?;
        let flat = |t: &Tensor| reshape_to(t, &[shape::len(t.dims())]);
        let both = ranks("isin", &concat(&[flat(&y)?, flat(&x)?], Some(0))?, false)?;
        let (y, x) = (
            narrow(&both, 0, 0, n as i64)?,
            reshape_to(&narrow(&both, 0, n as i64, shape::len(x.dims()) as i64)?, x.dims())?,
        );
        return isin((&x).into(), (&y).into(), invert);
    }
    let (sorted, _) = sorted("isin", &reshape_to(&y, &[n])?, 0, false)?;
    let place = apply(Search { right: false }, &[&sorted, &x])?;
    let last = Tensor::scalar_of(DType::I64, (n - 1) as f64);
    let near = take(&sorted, &minimum_same(&place, &last)?, Some(0))?;
    let found = equal((&near).into(), (&x).into())?;
    if invert { logical_not(&found) } else { Ok(found) }
}

/// The distinct elements in rising order, where each first occurs, which of them each element is, and how often each
/// occurs (int64). NaNs are one element each, or one together if `equal_nan`. The values have gradients.
///
/// ```python
/// >>> [part.tolist() for part in fg.unique_all(fg.tensor([3., 1., 3.]))]
/// [[1.0, 3.0], [1, 0], [1, 0, 1], [1, 2]]
/// ```
#[op(function, heavy)]
pub fn unique_all(x: &Tensor, #[default(false)] equal_nan: bool) -> Result<Value> {
    const OP: &str = "unique_all";
    refuse_levels(OP, &[x], SIZE_DEPENDS)?;
    let flat = reshape_to(x, &[shape::len(x.dims())])?;
    let keys = if x.dtype().is_complex() { ranks(OP, &flat.detach(), equal_nan)? } else { flat.detach() };
    let [indices, inverse, counts] = sort::unique(OP, &keys.array, equal_nan)?.map(Tensor::constant);
    Ok(Value::Tuple(vec![take(&flat, &indices, Some(0))?, indices, reshape_to(&inverse, x.dims())?, counts]))
}

/// How often each number from 0 to the largest occurs in a vector of integers (int64), or the sums of the weights where
/// it does; at least `minlength` of them. Raises ArgumentError for negative numbers.
///
/// ```python
/// >>> fg.bincount(fg.tensor([1, 3, 1])).tolist()
/// [0, 2, 0, 1]
/// ```
#[op(method)]
pub fn bincount(
    x: &Tensor,
    #[default(None)] weights: Option<&Tensor>,
    #[default(0)] minlength: i64,
) -> Result<Tensor> {
    const OP: &str = "bincount";
    if x.dtype().is_float() || x.dtype() == DType::Bool {
        bail!(Dtype, OP, "counts integers, not {}", x.dtype());
    }
    if x.rank() != 1 || weights.is_some_and(|w| w.dims() != x.dims()) {
        bail!(Shape, OP, "x is a vector and weights have its shape, got {:?}", x.dims());
    }
    refuse_levels(OP, &[x], SIZE_DEPENDS)?;
    let places = cast(&x.detach(), DType::I64)?;
    let numbers = places.array.contiguous()?;
    let numbers = numbers.as_slice::<i64>().expect("contiguous");
    let end = |t: Tensor| if let Item::Int(end) = t.array.item() { end } else { 0 };
    let (least, most) = match numbers {
        [] => (0, -1),
        _ => (end(min(&places, None, false)?).min(0), end(max(&places, None, false)?)),
    };
    let Some(n) = usize::try_from(minlength).ok().filter(|_| least == 0) else {
        bail!(Argument, OP, "numbers and minlength are 0 or more, not {least} and {minlength}");
    };
    let n = n.max((most + 1) as usize);
    let Some(weights) = weights else {
        let mut counts = Array::zeros(OP, DType::I64, &[n])?;
        let out = counts.as_mut_slice::<i64>().expect("own");
        numbers.iter().for_each(|&v| out[v as usize] += 1);
        return Ok(Tensor::constant(counts));
    };
    let weights = if weights.dtype().is_float() {
        Cow::Borrowed(weights)
    } else {
        Cow::Owned(cast(weights, DType::F64)?)
    };
    let zeros = Tensor::constant(Array::zeros(OP, weights.dtype(), &[n])?);
    index_add(&zeros, 0, &places, &weights)
}
