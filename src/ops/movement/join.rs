//! Tensors joined along an axis.

use std::borrow::Cow;

use super::cast::cast;
use super::region::{Region, place};
use super::shapes::{at_least, expand_dims, ravel, reshape_to};
use crate::dtype::DType;
use crate::error::{Error, Result, bail};
use crate::graph::Tensor;
use crate::memory;
use crate::ops::entry::op;
use crate::shape::{self, Dims};

/// Tensors in the dtype that they promote to.
/// The most bytes that one of the tensors takes in the lists that are made here and for a node.
const PART: usize = 512;

fn promoted<'a>(op: &'static str, tensors: &'a [Tensor]) -> Result<Vec<Cow<'a, Tensor>>> {
    let dtypes = tensors.iter().map(Tensor::dtype);
    let Some(common) = dtypes.reduce(DType::promote) else {
        bail!(Argument, op, "expected a non-empty list of Tensors")
    };
    memory::ensure(tensors.len() * PART)?;
    let one = |t: &'a Tensor| -> Result<_> {
        Ok(if t.dtype() == common { Cow::Borrowed(t) } else { Cow::Owned(cast(t, common)?) })
    };
    tensors.iter().map(one).collect()
}

/// Tensors joined along an axis that they have; with axis None they are flattened first. The dtype is the one
/// they promote to. A tensor of shape (0,) goes with every shape.
///
/// Raises ShapeError where the other sizes differ.
///
/// ```python
/// >>> fg.concat([fg.tensor([1, 2]), fg.tensor([3])]).numpy()
/// array([1, 2, 3])
/// ```
#[op(function, names("concat", "cat", "concatenate"), half, light, torch(LaidIfAll))]
pub fn concat(tensors: &[Tensor], #[default(0)] axis: Option<i64>) -> Result<Tensor> {
    let Some(axis) = axis else {
        let flat = tensors.iter().map(ravel).collect::<Result<Vec<_>>>()?;
        return concat(&flat, Some(0));
    };
    let mut all = promoted("concat", tensors)?;
    // A tensor of shape [0], which an empty list becomes, may be joined to tensors of several axes.
    if all.iter().any(|t| t.rank() != 1) {
        all.retain(|t| t.dims() != [0]);
    }
    let first: Dims = all[0].dims().into();
    if first.is_empty() {
        bail!(Shape, "concat", "0-d tensors have no axis to be joined along; `stack` makes one");
    }
    let at = shape::axis("concat", axis, first.len())?;
    let mut total = 0usize;
    let mut regions = Vec::with_capacity(all.len());
    for t in &all {
        let same = t.rank() == first.len() && (0..first.len()).all(|a| a == at || t.dims()[a] == first[a]);
        if !same {
            let dims = t.dims();
            let what = format!("Sizes of tensors must match except in dimension {at}");
            bail!(Shape, "concat", "{what}, which those of {first:?} and {dims:?} do not");
        }
        regions.push(Region::span(&first, at, total, t.dims()[at]));
        let next = total.checked_add(t.dims()[at]);
        total = next.ok_or_else(|| Error::memory("concat", vec![usize::MAX], t.dtype()))?;
    }
    if let [one] = &all[..] {
        return Ok(one.clone().into_owned());
    }
    let mut dims = first;
    dims[at] = total;
    place("concat", &dims, &all.iter().map(|t| &**t).collect::<Vec<_>>(), regions, None)
}

/// Tensors of one shape joined along a new axis.
///
/// ```python
/// >>> fg.stack([fg.tensor([1, 2]), fg.tensor([3, 4])], axis=1).numpy()
/// array([[1, 3],
///        [2, 4]])
/// ```
#[op(function, half, light)]
pub fn stack(tensors: &[Tensor], #[default(0)] axis: i64) -> Result<Tensor> {
    let all = promoted("stack", tensors)?;
    let first = all[0].dims();
    if let Some(t) = all.iter().find(|t| t.dims() != first) {
        bail!(Shape, "stack", "shapes {first:?} and {:?} differ", t.dims());
    }
    let at = shape::axis("stack", axis, first.len() + 1)?;
    let mut dims: Dims = first.into();
    dims.insert(at, all.len());
    let regions = (0..all.len()).map(|i| Region::at(&dims, at, i));
    place("stack", &dims, &all.iter().map(|t| &**t).collect::<Vec<_>>(), regions, None)
}

/// Tensors reshaped by `raise` and joined along an axis.
fn joined(tensors: &[Tensor], axis: i64, raise: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    concat(&tensors.iter().map(raise).collect::<Result<Vec<_>>>()?, Some(axis))
}

/// Tensors joined from left to right: along axis 1, or axis 0 where all have at most one axis.
///
/// ```python
/// >>> fg.hstack([fg.ones((2, 1)), fg.ones((2, 3))]).shape
/// (2, 4)
/// ```
#[op(function, half)]
pub fn hstack(tensors: &[Tensor]) -> Result<Tensor> {
    let axis = i64::from(tensors.iter().any(|t| t.rank() > 1));
    joined(tensors, axis, |t| at_least(t, 1))
}

/// Tensors joined from top to bottom: along axis 0, a tensor with one axis being a row.
///
/// ```python
/// >>> fg.vstack([fg.ones((3,)), fg.ones((2, 3))]).shape
/// (3, 3)
/// ```
#[op(function, names("vstack", "row_stack"), half)]
pub fn vstack(tensors: &[Tensor]) -> Result<Tensor> {
    joined(tensors, 0, |t| at_least(t, 2))
}

/// Tensors joined along a third axis, which is added if they lack it.
///
/// ```python
/// >>> fg.dstack([fg.ones((2, 3)), fg.ones((2, 3))]).shape
/// (2, 3, 2)
/// ```
#[op(function, half)]
pub fn dstack(tensors: &[Tensor]) -> Result<Tensor> {
    let raise = |t: &Tensor| {
        let t = at_least(t, 2)?;
        if t.rank() == 2 { expand_dims(&t, &[2]) } else { Ok(t) }
    };
    joined(tensors, 2, raise)
}

/// Tensors joined along axis 1, a tensor with one axis being a column.
///
/// ```python
/// >>> fg.column_stack([fg.ones((2,)), fg.ones((2, 3))]).shape
/// (2, 4)
/// ```
#[op(function, half)]
pub fn column_stack(tensors: &[Tensor]) -> Result<Tensor> {
    let raise =
        |t: &Tensor| if t.rank() < 2 { reshape_to(t, &[shape::len(t.dims()), 1]) } else { Ok(t.clone()) };
    joined(tensors, 1, raise)
}
