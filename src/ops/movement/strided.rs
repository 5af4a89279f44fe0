//! `as_strided`: the elements at any layout of a tensor's C order. A view of a view is such a layout of the
//! whole.

use smallvec::SmallVec;

use super::broadcast::sum_to;
use super::region::{Region, place};
use super::shapes::reshape_to;
use crate::array::{Array, Layout};
use crate::error::{Error, Result, bail};
use crate::graph::{Loops, Operands, Saved, Tensor, apply};
use crate::kernel::copy::IndexMap;
use crate::ops::entry::op;
use crate::ops::index::add_at_places;
use crate::ops::linear::{Linear, LinearOp};
use crate::ops::sizes::sizes;
use crate::shape::{self, Dims, Strides};
use crate::stored::Stored;

#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct Strided(Layout);

impl Linear for Strided {
    const NAME: &'static str = "as_strided";
    const TAKES_HALF: bool = true;
    const IS_VIEW: bool = true;

    fn array(&self, x: &Array, batch_ndim: usize) -> Result<Array> {
        match within(&self.0, x, batch_ndim) {
            Some(view) => Ok(view),
            None => Ok(x.contiguous()?.part(&self.0, batch_ndim)),
        }
    }

    fn lower(&self, x: &Operands<'_>) -> Option<Loops> {
        Some(Loops::Moves(IndexMap::of(self.0.under(x.dims.first()?, x.batch_ndim))))
    }

    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        // Elements repeated by a stride of zero are summed first.
        let once = |(&d, &s): (&usize, &isize)| if s == 0 { d.min(1) } else { d };
        let dims: Dims = self.0.dims.iter().zip(&self.0.strides).map(once).collect();
        let g = sum_to(g, &dims)?;
        let layout = Layout { dims, ..self.0.clone() };
        if layout.overlaps() {
            return reshape_to(&add_at_places(Self::NAME, shape::len(s.dims(0)), &layout, &g)?, s.dims(0));
        }
        place(Self::NAME, s.dims(0), &[&g], [Region::At(layout)], None)
    }
}

/// The elements at a layout of the C order of an array that lies in another one, without a copy. None where a step of the layout
/// runs over the end of an axis, so that it is no step of the same length in memory everywhere.
fn within(layout: &Layout, x: &Array, batch_ndim: usize) -> Option<Array> {
    let (hidden, dims) = x.dims().split_at(batch_ndim);
    let steps = x.strides();
    let (hidden_steps, strides) = steps.split_at(batch_ndim);
    if x.is_contiguous() || dims.contains(&0) || layout.dims.contains(&0) {
        return None;
    }
    let coordinates = |n: isize| {
        let (mut n, mut at) = (usize::try_from(n).ok()?, Dims::from_slice(dims));
        for c in at.iter_mut().rev() {
            (n, *c) = (n / *c, n % *c);
        }
        (n == 0).then_some(at)
    };
    let length = |at: &Dims| -> isize { at.iter().zip(strides).map(|(&c, s)| c as isize * s).sum() };
    let mut last = coordinates(layout.offset)?;
    let (start, mut all) = (length(&last), Strides::from_slice(hidden_steps));
    for (&d, &s) in layout.dims.iter().zip(&layout.strides) {
        let step = coordinates(if d == 1 { 0 } else { s })?;
        for ((l, c), n) in last.iter_mut().zip(&step).zip(dims) {
            *l = l.checked_add(c.checked_mul(d - 1)?).filter(|l| l < n)?;
        }
        all.push(length(&step));
    }
    let shape: Dims = hidden.iter().chain(&layout.dims).copied().collect();
    Some(x.restride(&shape, &all, start))
}

/// The elements at a layout of the tensor's C order, without a copy if the tensor is contiguous, or each step goes along its axes.
///
/// # Panics
/// When the layout leaves the tensor.
pub fn strided(x: &Tensor, layout: &Layout) -> Result<Tensor> {
    apply(LinearOp(Strided(layout.clone())), &[x])
}

/// The layout in Python's spelling, checked against the tensor.
pub(in crate::ops) fn layout(
    op: &'static str,
    x: &Tensor,
    shape: &[i64],
    strides: &[i64],
    offset: i64,
) -> Result<Layout> {
    if shape.len() != strides.len() {
        bail!(Argument, op, "{} sizes and {} strides", shape.len(), strides.len());
    }
    let dims = sizes(op, shape, x.dtype())?;
    let n = shape::len(x.dims());
    let mut reach = [i128::from(offset); 2];
    for (&d, &s) in dims.iter().zip(strides).filter(|(d, _)| **d > 0) {
        let far = i128::from(s) * (d as i128 - 1);
        reach[usize::from(far > 0)] = reach[usize::from(far > 0)].saturating_add(far);
    }
    if !dims.contains(&0) && (reach[0] < 0 || reach[1] >= n as i128) {
        bail!(
            Index,
            op,
            "{shape:?} with strides {strides:?} from {offset} on reaches from {} to {}; the tensor has {n} elements",
            reach[0],
            reach[1]
        );
    }
    if dims.contains(&0) {
        return Ok(Layout { strides: Strides::from_elem(0, dims.len()), dims, offset: 0 });
    }
    // The stride of an axis with one element does not matter.
    let step = |(&s, &d): (&i64, &usize)| if d == 1 { 0 } else { s as isize };
    let strides: SmallVec<_> = strides.iter().zip(&dims).map(step).collect();
    Ok(Layout { dims, strides, offset: offset as isize })
}

/// The elements of `x` in C order from `offset` on, with these strides along each axis: `out[i, j] =
/// x.ravel()[offset + i * strides[0] + j * strides[1]]`. Shares memory; windows may overlap, and gradients of
/// elements read twice add up.
///
/// Raises IndexOutOfRange where the strides leave `x`.
///
/// ```python
/// >>> fg.as_strided(fg.tensor([1, 2, 3, 4]), (3, 2), (1, 1)).numpy()
/// array([[1, 2],
///        [2, 3],
///        [3, 4]])
/// ```
#[op(reshaping)]
pub fn as_strided(x: &Tensor, shape: &[i64], strides: &[i64], #[default(0)] offset: i64) -> Result<Tensor> {
    let layout = layout("as_strided", x, shape, strides, offset)?;
    if shape::checked_len(&layout.dims).is_none() {
        return Err(Error::memory("as_strided", layout.dims.to_vec(), x.dtype()));
    }
    strided(x, &layout)
}
