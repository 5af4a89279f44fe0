//! Maximum, minimum and median. Equal elements share the gradient in equal parts; where an index is returned
//! too, the gradient goes to that index.

use smallvec::smallvec;

use super::fold::Folded;
use crate::array::Array;
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply,
    apply_all, only,
};
use crate::kernel::reduce::{self, extreme};
use crate::kernel::sort::{self, Ranks};
use crate::ops::entry::{Axes, op};
use crate::ops::gather::{WithIndices, WithIndicesOp, one_with_index};
use crate::ops::integers::in_floats;
use crate::ops::movement::reshape_to;
use crate::ops::pointwise::arithmetic::subtract_same;
use crate::ops::promote::promoted_float;
use crate::shape::{self, Dims};
use crate::stored::Stored;

#[derive(Clone, Copy, PartialEq, Eq, Stored)]
enum Extreme {
    Max,
    Min,
    /// The two middle elements.
    Middle,
}

/// The maximum, the minimum, or the two middle elements over axes.
#[derive(Clone, Stored)]
#[stored(op)]
struct ExtremeOp {
    op: &'static str,
    which: Extreme,
    folded: Folded,
}

impl Op for ExtremeOp {
    fn name(&self) -> &'static str {
        self.op
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let x = ins[0];
        let axes = self.folded.axes(x.rank());
        let n = axes.iter().map(|&a| x.dims()[a]).product::<usize>();
        if n == 0 {
            bail!(
                Argument,
                self.op,
                "{:?} has no elements on the axes to be folded: cannot compute an extreme over an empty dimension as the operation has \
                 no identity",
                &x.dims()[batch_ndim..]
            );
        }
        Ok(match self.which {
            Extreme::Max => {
                [self.folded.fold(x, |axes| reduce::apply(self.op, extreme::MAX, x, axes))?].into()
            }
            Extreme::Min => {
                [self.folded.fold(x, |axes| reduce::apply(self.op, extreme::MIN, x, axes))?].into()
            }
            Extreme::Middle => {
                let kept: Dims = (0..x.rank()).filter(|a| !axes.contains(a)).collect();
                let order: Dims = kept.iter().chain(&axes).copied().collect();
                let dims: Dims = kept.iter().map(|&a| x.dims()[a]).collect();
                let rows = x.permute(&order).reshape(&dims.iter().copied().chain([n]).collect::<Dims>())?;
                let (pairs, _) = sort::sort(self.op, &rows, kept.len(), false, Ranks::Middle)?;
                (0..2)
                    .map(|i| {
                        let one = pairs.slice_axis(kept.len(), i, 1, 1).reshape(&dims)?;
                        self.folded.fold(x, |_| Ok(one))
                    })
                    .collect::<Result<Outputs>>()?
            }
        })
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, dims) = ins.alike::<1>()?;
        let made = self.folded.makes(ins, extreme::MAX.makes(dtype))?;
        if self.folded.count(dims) == 0 {
            return None;
        }
        Some(Made::from_elem(made[0].clone(), if self.which == Extreme::Middle { 2 } else { 1 }))
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(1).and(Saves::outputs(if self.which == Extreme::Middle { 3 } else { 1 }))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let mut sum: Option<Tensor> = None;
        for (i, g) in g.iter().enumerate() {
            let Some(g) = g else { continue };
            let part = self.folded.unfold(g, s.dims(0))? * self.shares(s, i)?;
            sum = Some(match sum {
                Some(other) => other + part,
                None => part,
            });
        }
        Ok(smallvec![sum])
    }

    fn vjp_of_integers(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        in_floats(self, g, s)
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let t = only(t);
        let outs = if self.which == Extreme::Middle { 2 } else { 1 };
        (0..outs).map(|i| Ok(Some(self.folded.sum(&(t * self.shares(s, i)?))?))).collect()
    }
}

impl ExtremeOp {
    /// The derivative of output `i` with respect to each element.
    fn shares(&self, s: &Saved<'_>, i: usize) -> Result<Tensor> {
        let (x, z) = (s.input(0).detach(), s.output(i).detach());
        apply(Shares(self.folded.clone()), &[&x, &self.folded.unfold(&z, x.dims())?])
    }
}

/// The weights of [`extreme::tie_weights`]: constants.
#[derive(Stored)]
#[stored(op)]
struct Shares(Folded);

impl Op for Shares {
    fn name(&self) -> &'static str {
        "shares"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        Ok([extreme::tie_weights("shares", ins[0], ins[1], &self.0.axes(ins[0].rank()), batch_ndim)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, [x, _]) = ins.of_one_dtype()?;
        self.0.checked_dims(x, 0).filter(|_| dtype.is_float())?;
        Some(Made::from_elem((dtype, ins.broadcast(0)?), 1))
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

fn select(op: &'static str, which: Extreme, x: &Tensor, axis: Axes<'_>, keepdims: bool) -> Result<Tensor> {
    let folded = Folded::new(op, axis, keepdims, x.rank())?;
    apply(ExtremeOp { op, which, folded }, &[x])
}

/// The largest element over axes (all by default); NaN if there is one. Equal largest elements share the
/// gradient in equal parts. Raises ArgumentError where there are no elements.
///
/// ```python
/// >>> fg.max(fg.tensor([[1., 4.], [3., 2.]]), axis=1).tolist()
/// [4.0, 3.0]
/// ```
#[op(method, names("max", "amax"), light, paddle(AllAxes), torch(AllAxes = "amax", NeedsAxes = "max"))]
pub fn max(x: &Tensor, #[default(None)] axis: Axes<'_>, #[default(false)] keepdims: bool) -> Result<Tensor> {
    select("max", Extreme::Max, x, axis, keepdims)
}

/// The smallest element over axes (all by default); NaN if there is one. Equal smallest elements share the
/// gradient in equal parts. Raises ArgumentError where there are no elements.
///
/// ```python
/// >>> fg.min(fg.tensor([[1., 4.], [3., 2.]]), axis=1).tolist()
/// [1.0, 2.0]
/// ```
#[op(method, names("min", "amin"), light, paddle(AllAxes), torch(AllAxes = "amin", NeedsAxes = "min"))]
pub fn min(x: &Tensor, #[default(None)] axis: Axes<'_>, #[default(false)] keepdims: bool) -> Result<Tensor> {
    select("min", Extreme::Min, x, axis, keepdims)
}

/// The middle element over axes; of an even number the mean of the two in the middle. NaN if there is one.
/// Elements equal to the median share the gradient in equal parts. Raises ArgumentError where there are no
/// elements.
///
/// ```python
/// >>> fg.median(fg.tensor([1., 4., 3., 2.])).item()
/// 2.5
/// ```
#[op(method)]
pub fn median(
    x: &Tensor,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
) -> Result<Tensor> {
    let folded = Folded::new("median", axis, keepdims, x.rank())?;
    let x = promoted_float(x)?;
    let outs = apply_all(ExtremeOp { op: "median", which: Extreme::Middle, folded }, &[&x])?;
    Ok(&outs[0] * 0.5 + &outs[1] * 0.5)
}

/// One element along an axis, with its index.
#[derive(Stored)]
#[stored(in WithIndicesOp)]
struct ExtremeWithIndex {
    op: &'static str,
    which: Extreme,
    back: usize,
}

impl WithIndices for ExtremeWithIndex {
    fn name(&self) -> &'static str {
        self.op
    }

    fn back(&self) -> usize {
        self.back
    }

    fn choose(&self, ins: &[&Array]) -> Result<(Array, Array)> {
        let x = ins[0];
        let axis = x.rank() - self.back;
        if x.dims()[axis] == 0 {
            bail!(Argument, self.op, "the axis has no elements");
        }
        if self.which == Extreme::Middle {
            let (values, indices) = sort::sort(self.op, x, axis, false, Ranks::Middle)?;
            return Ok((values.slice_axis(axis, 0, 1, 1), indices.slice_axis(axis, 0, 1, 1)));
        }
        extreme::arg_extreme(self.op, x, axis, self.which == Extreme::Max)
    }

    fn chosen(&self, ins: &Operands<'_>) -> Option<Dims> {
        let (dtype, dims) = ins.alike::<1>()?;
        let n = *dims.get(dims.len().checked_sub(self.back)?)?;
        if n > 0 && !dtype.is_complex() { shape::resized(dims, self.back, 1) } else { None }
    }
}

fn with_index(
    op: &'static str,
    which: Extreme,
    x: &Tensor,
    axis: i64,
    keepdims: bool,
) -> Result<(Tensor, Tensor)> {
    let axis = shape::axis(op, axis, x.rank())?;
    one_with_index(ExtremeWithIndex { op, which, back: x.rank() - axis }, x, keepdims)
}

/// The largest element along an axis and (int64) where it first occurs; the gradient goes there.
///
/// ```python
/// >>> values, indices = fg.max_with_index(fg.tensor([[1., 4.], [3., 3.]]), axis=1)
/// >>> values.tolist(), indices.tolist()
/// ([4.0, 3.0], [1, 0])
/// ```
#[op(method)]
pub fn max_with_index(x: &Tensor, axis: i64, #[default(false)] keepdims: bool) -> Result<(Tensor, Tensor)> {
    with_index("max_with_index", Extreme::Max, x, axis, keepdims)
}

/// The smallest element along an axis and (int64) where it first occurs; the gradient goes there.
///
/// ```python
/// >>> values, indices = fg.min_with_index(fg.tensor([[1., 4.], [3., 3.]]), axis=1)
/// >>> values.tolist(), indices.tolist()
/// ([1.0, 3.0], [0, 0])
/// ```
#[op(method)]
pub fn min_with_index(x: &Tensor, axis: i64, #[default(false)] keepdims: bool) -> Result<(Tensor, Tensor)> {
    with_index("min_with_index", Extreme::Min, x, axis, keepdims)
}

/// The middle element along an axis (the lower of two) and (int64) where it is; the gradient goes there.
///
/// ```python
/// >>> values, indices = fg.median_with_index(fg.tensor([3., 1., 2., 4.]), axis=0)
/// >>> values.item(), indices.item()
/// (2.0, 2)
/// ```
#[op(method)]
pub fn median_with_index(
    x: &Tensor,
    axis: i64,
    #[default(false)] keepdims: bool,
) -> Result<(Tensor, Tensor)> {
    with_index("median_with_index", Extreme::Middle, x, axis, keepdims)
}

fn arg(op: &'static str, which: Extreme, x: &Tensor, axis: Option<i64>, keepdims: bool) -> Result<Tensor> {
    let x = x.detach();
    if let Some(axis) = axis {
        return Ok(with_index(op, which, &x, axis, keepdims)?.1);
    }
    let flat = reshape_to(&x, &[shape::len(x.dims())])?;
    let index = with_index(op, which, &flat, 0, false)?.1;
    if keepdims { reshape_to(&index, &vec![1; x.rank()]) } else { Ok(index) }
}

/// Where the largest element along an axis first occurs (int64); without an axis, in the flattened tensor.
/// NaN counts as largest. Raises ArgumentError where there are no elements.
///
/// ```python
/// >>> fg.argmax(fg.tensor([[1., 4.], [3., 2.]])).item()
/// 1
/// ```
#[op(method)]
pub fn argmax(
    x: &Tensor,
    #[default(None)] axis: Option<i64>,
    #[default(false)] keepdims: bool,
) -> Result<Tensor> {
    arg("argmax", Extreme::Max, x, axis, keepdims)
}

/// Where the smallest element along an axis first occurs (int64); without an axis, in the flattened tensor.
/// NaN counts as smallest. Raises ArgumentError where there are no elements.
///
/// ```python
/// >>> fg.argmin(fg.tensor([[1., 4.], [3., 2.]])).item()
/// 0
/// ```
#[op(method)]
pub fn argmin(
    x: &Tensor,
    #[default(None)] axis: Option<i64>,
    #[default(false)] keepdims: bool,
) -> Result<Tensor> {
    arg("argmin", Extreme::Min, x, axis, keepdims)
}

/// The largest element less the smallest over axes (all by default): peak to peak.
///
/// ```python
/// >>> fg.ptp(fg.tensor([3., 1., 4.])).item()
/// 3.0
/// ```
#[op(method)]
pub fn ptp(x: &Tensor, #[default(None)] axis: Axes<'_>, #[default(false)] keepdims: bool) -> Result<Tensor> {
    subtract_same(&max(x, axis, keepdims)?, &min(x, axis, keepdims)?)
}
