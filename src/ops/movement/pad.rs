//! Elements padded, rolled and reversed along axes.

use smallvec::{SmallVec, smallvec};

use super::region::{AxisPart, Region, place, view};
use crate::array::{Array, Layout};
use crate::error::{Error, Result, bail};
use crate::graph::{Loops, Operands, Saved, Tensor, apply};
use crate::kernel::copy::{IndexMap, Part};
use crate::kernel::index::along_axis;
use crate::ops::entry::{Axes, Operand, Widths, op};
use crate::ops::index::{narrow, take_along};
use crate::ops::linear::{Linear, LinearOp};
use crate::ops::promote::as_tensor;
use crate::shape;
use crate::stored::Stored;

/// The numbers of elements before and after those of each axis.
type Pairs = SmallVec<[(i64, i64); 4]>;

/// The elements beyond the border.
#[derive(Clone, Copy)]
enum Border {
    /// The elements mirrored at the border element: `c b | a b c | b a`.
    Reflect,
    /// Mirrored at the border: `b a | a b c | c b`.
    Symmetric,
    /// The border element: `a a | a b c | c c`.
    Edge,
    /// From the other side: `b c | a b c | a b`.
    Wrap,
}

impl Border {
    /// The index of the element at position `i`, which may lie beyond the border of `n` elements. `n` is not
    /// 0.
    fn at(self, i: i64, n: i64) -> i64 {
        match self {
            Border::Edge => i.clamp(0, n - 1),
            Border::Wrap => i.rem_euclid(n),
            Border::Reflect if n == 1 => 0,
            Border::Reflect => {
                let j = i.rem_euclid(2 * (n - 1));
                j.min(2 * (n - 1) - j)
            }
            Border::Symmetric => {
                let j = i.rem_euclid(2 * n);
                j.min(2 * n - 1 - j)
            }
        }
    }
}

/// Elements put before and after those of each axis. `pad_width` is a number, a pair for all axes, or a list
/// of pairs `(before, after)`, one an axis; a negative one cuts elements off. `mode` is 'constant' (with `value`), 'reflect', 'symmetric',
/// 'edge' or 'replicate', 'wrap' or 'circular'.
///
/// ```python
/// >>> fg.pad(fg.tensor([1, 2, 3]), (1, 2), mode='reflect').numpy()
/// array([2, 1, 2, 3, 2, 1])
/// ```
#[op(method, torch(LaidAsImages))]
pub fn pad(
    x: &Tensor,
    pad_width: Widths<'_>,
    #[default("constant")] mode: &str,
    #[default(0)] value: Operand<'_>,
) -> Result<Tensor> {
    let rank = x.rank();
    let widths: Pairs = match *pad_width {
        [one] => std::iter::repeat_n(one, rank).collect(),
        ref list if list.len() == rank => list.into(),
        _ => bail!(Shape, "pad", "{} pairs of widths for the {rank} axes of {:?}", pad_width.len(), x.dims()),
    };
    let size = |(&d, w): (&usize, &(i64, i64))| (d as i64).checked_add(w.0)?.checked_add(w.1);
    let sizes: Option<SmallVec<[i64; 4]>> = x.dims().iter().zip(&widths).map(size).collect();
    let huge = || Error::memory("pad", vec![usize::MAX], x.dtype());
    let dims = crate::ops::sizes::sizes("pad", &sizes.ok_or_else(huge)?, x.dtype())?;
    let border = match mode {
        "constant" => {
            let (x, widths) = cropped(x, &widths)?;
            let parts = x.dims().iter().zip(&widths);
            let parts = parts.map(|(&d, w)| AxisPart::Span { start: w.0 as usize, step: 1, count: d });
            let is_zero = matches!(value, Operand::Number(n) if n.to_f64().is_some_and(|n| n.to_bits() == 0));
            let fill = as_tensor(value, x.dtype())?;
            if fill.rank() != 0 || fill.is_tracked() || !fill.levels.is_empty() {
                bail!(Argument, "pad", "the value is a number, not a tensor of shape {:?}", fill.dims());
            }
            let fill = if is_zero { None } else { Some(fill.array.clone()) };
            return place("pad", &dims, &[&x], [Region::Box(parts.collect())], fill);
        }
        "reflect" => Border::Reflect,
        "symmetric" => Border::Symmetric,
        "edge" | "replicate" => Border::Edge,
        "wrap" | "circular" => Border::Wrap,
        _ => bail!(
            Argument,
            "pad",
            "mode is 'constant', 'reflect', 'symmetric', 'edge' ('replicate') or 'wrap' ('circular'), not '{mode}'"
        ),
    };
    // The other side of what is left is repeated.
    let (x, widths) = if let Border::Wrap = border { cropped(x, &widths)? } else { (x.clone(), widths) };
    let mut out = x.clone();
    for (axis, &(before, after)) in widths.iter().enumerate().filter(|(_, w)| **w != (0, 0)) {
        let n = x.dims()[axis] as i64;
        if n == 0 && before.max(after) > 0 {
            bail!(Shape, "pad", "axis {axis} of {:?} has no elements to pad with", x.dims());
        }
        let indices = (-before..n + after).map(|i| border.at(i, n));
        out = take_along("pad", &out, axis, dims[axis], indices)?;
    }
    Ok(out)
}

/// The tensor without the elements that negative widths cut off, and the other widths.
fn cropped(x: &Tensor, widths: &[(i64, i64)]) -> Result<(Tensor, Pairs)> {
    let mut x = x.clone();
    for (axis, &(before, after)) in widths.iter().enumerate().filter(|(_, w)| w.0.min(w.1) < 0) {
        let start = before.saturating_neg().max(0);
        let left = (x.dims()[axis] as i64).saturating_sub(start).saturating_add(after.min(0));
        if left < 0 {
            bail!(
                Shape,
                "pad",
                "axis {axis} of {:?} has fewer elements than {:?} cuts off",
                x.dims(),
                (before, after)
            );
        }
        x = narrow(&x, axis as i64, start, left)?;
    }
    Ok((x, widths.iter().map(|w| (w.0.max(0), w.1.max(0))).collect()))
}

/// The order of elements reversed along axes (all by default). Shares memory.
///
/// ```python
/// >>> fg.flip(fg.tensor([1, 2, 3])).numpy()
/// array([3, 2, 1])
/// ```
#[op(method, half, torch(LaidByElements))]
pub fn flip(x: &Tensor, #[default(None)] axis: Axes<'_>) -> Result<Tensor> {
    let axes = match axis {
        Some(list) => shape::axes("flip", list, x.rank())?,
        None => (0..x.rank()).collect(),
    };
    let part = |(a, &d): (usize, &usize)| match axes.contains(&a) {
        true => AxisPart::Span { start: d.saturating_sub(1), step: -1, count: d },
        false => AxisPart::whole(d),
    };
    view("flip", x, Region::Box(x.dims().iter().enumerate().map(part).collect()))
}

/// The rows in reversed order: the first axis flipped. Shares memory.
///
/// ```python
/// >>> fg.flipud(fg.tensor([[1, 2], [3, 4]])).tolist()
/// [[3, 4], [1, 2]]
/// ```
#[op(method)]
pub fn flipud(x: &Tensor) -> Result<Tensor> {
    flip(x, Some(&[0]))
}

/// The columns in reversed order: the second axis flipped. Shares memory.
///
/// ```python
/// >>> fg.fliplr(fg.tensor([[1, 2], [3, 4]])).tolist()
/// [[2, 1], [4, 3]]
/// ```
#[op(method)]
pub fn fliplr(x: &Tensor) -> Result<Tensor> {
    flip(x, Some(&[1]))
}

/// Elements rolled along an axis, counted from the end, by less than its size.
#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct Roll {
    back: usize,
    by: usize,
}

impl Linear for Roll {
    const NAME: &'static str = "roll";
    const TAKES_HALF: bool = true;

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        along_axis::roll(Self::NAME, x, x.rank() - self.back, self.by)
    }

    fn lower(&self, x: &Operands<'_>) -> Option<Loops> {
        let whole = Layout::contiguous(x.dims.first()?);
        let axis = whole.dims.len().checked_sub(self.back)?;
        let kept = whole.dims.get(axis)?.checked_sub(self.by)?;
        let rows = |start: usize, count: usize| {
            let mut rows = whole.clone();
            rows.offset = (start as isize).wrapping_mul(rows.strides[axis]);
            rows.dims[axis] = count;
            rows
        };
        let part = |from, to, count| Part { operand: 0, from: rows(from, count), to: rows(to, count) };
        let parts = smallvec![part(0, self.by, kept), part(kept, 0, self.by)];
        Some(Loops::Moves(IndexMap { dims: whole.dims.clone(), parts }))
    }

    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        let n = s.dims(0)[s.dims(0).len() - self.back];
        apply(LinearOp(Roll { back: self.back, by: n - self.by }), &[g])
    }
}

/// The elements moved by `shift` places along axes; those beyond the end come in at the start. Without
/// `axis` all elements in C order are moved.
///
/// ```python
/// >>> fg.roll(fg.tensor([1, 2, 3]), 1).numpy()
/// array([3, 1, 2])
/// ```
#[op(method, half, torch(LaidAsImages))]
pub fn roll(x: &Tensor, shift: &[i64], #[default(None)] axis: Axes<'_>) -> Result<Tensor> {
    let Some(axes) = axis else {
        let &[by] = shift else { bail!(Argument, "roll", "{} shifts need as many axes", shift.len()) };
        let flat = super::shapes::reshape_to(x, &[shape::len(x.dims())])?;
        return super::shapes::reshape_to(&roll(&flat, &[by], Some(&[0]))?, x.dims());
    };
    if shift.len() != axes.len() && shift.len() != 1 {
        bail!(Argument, "roll", "{} shifts for {} axes", shift.len(), axes.len());
    }
    let mut out = x.clone();
    for (&axis, &by) in axes.iter().zip(shift.iter().cycle()) {
        let at = shape::axis("roll", axis, x.rank())?;
        let n = x.dims()[at];
        let first = if n == 0 { 0 } else { by.rem_euclid(n as i64) as usize };
        if first != 0 {
            out = apply(LinearOp(Roll { back: x.rank() - at, by: first }), &[&out])?;
        }
    }
    Ok(out)
}

/// `k` quarter turns in the plane of two axes, from the first towards the second.
///
/// ```python
/// >>> fg.rot90(fg.tensor([[1, 2], [3, 4]])).numpy()
/// array([[2, 4],
///        [1, 3]])
/// ```
#[op(method)]
pub fn rot90(x: &Tensor, #[default(1)] k: i64, #[default([0, 1])] axes: &[i64]) -> Result<Tensor> {
    let &[a, b] = axes else {
        bail!(Argument, "rot90", "expected total rotation dims == 2, but got dims = {}", axes.len())
    };
    shape::axes("rot90", axes, x.rank())?;
    match k.rem_euclid(4) {
        0 => Ok(x.clone()),
        1 => super::axes::swapaxes(&flip(x, Some(&[b]))?, a, b),
        2 => flip(x, Some(axes)),
        _ => flip(&super::axes::swapaxes(x, a, b)?, Some(&[b])),
    }
}
