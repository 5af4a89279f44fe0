//! Indices along one axis as positions in the whole tensor.

use std::borrow::Cow;

use smallvec::{SmallVec, smallvec};

use super::rows::join;
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::kernel::index::IndexedAxes;
use crate::ops::entry::Operand;
use crate::ops::movement::{broadcast_to, reshape_to};
use crate::ops::promote::as_tensor;
use crate::shape::{self, Dims};

/// Numbers as a vector.
pub(in crate::ops) fn line(op: &'static str, n: usize, numbers: impl Iterator<Item = i64>) -> Result<Tensor> {
    let fill = |out: &mut [i64]| out.iter_mut().zip(numbers).for_each(|(o, i)| *o = i);
    Ok(Tensor::constant(Array::build(op, &[n], fill)?))
}

/// Indices along one axis as positions in the whole tensor, of the indices' shape: on the other axes each
/// index keeps its own coordinates.
pub(in crate::ops) fn positions(
    op: &'static str,
    dims: &[usize],
    at: usize,
    index: &Tensor,
) -> Result<Tensor> {
    let rank = dims.len();
    let lines: Vec<Tensor> = (0..rank)
        .filter(|&a| a != at)
        .map(|a| {
            // The callers broadcast before, so another axis of the index has size 1 only if the tensor's has.
            let n = index.dims()[a];
            let mut own: Dims = smallvec![1; rank];
            own[a] = n;
            reshape_to(&line(op, n, 0..n as i64)?, &own)
        })
        .collect::<Result<_>>()?;
    let mut lines = lines.iter();
    let all: SmallVec<[&Tensor; 4]> =
        (0..rank).filter_map(|a| if a == at { Some(index) } else { lines.next() }).collect();
    join(op, &all, dims.into(), (0..rank).collect())
}

pub(in crate::ops) fn all(rank: usize) -> IndexedAxes {
    IndexedAxes { outer: 0, merged: rank }
}

/// The axis, for a tensor and indices of the same rank.
pub(in crate::ops) fn same_rank(op: &'static str, x: &Tensor, index: &Tensor, axis: i64) -> Result<usize> {
    if x.rank() != index.rank() {
        bail!(
            Shape,
            op,
            "Index tensor must have the same number of dimensions as self tensor: the indices have {} axes, the tensor {}",
            index.rank(),
            x.rank()
        );
    }
    shape::axis(op, axis, x.rank())
}

/// A number as a vector of one element.
pub(in crate::ops) fn at_least_vector(t: &Tensor) -> Result<Tensor> {
    if t.rank() == 0 { reshape_to(t, &[1]) } else { Ok(t.clone()) }
}

/// Checks that the indices are no larger than the tensor on the other axes.
pub(in crate::ops) fn within(op: &'static str, x: &Tensor, at: usize, index: &Tensor) -> Result<()> {
    if let Some(a) = (0..x.rank()).find(|&a| a != at && index.dims()[a] > x.dims()[a]) {
        bail!(
            Shape,
            op,
            "Size does not match at dimension {a}: indices of shape {:?} reach beyond {:?} there, which they may on {at} alone",
            index.dims(),
            x.dims()
        );
    }
    Ok(())
}

/// What is written into a tensor, in the dtype of that. A tensor of floats with axes is refused where it would lose what stands
/// after the point; a number, and a tensor without axes, is cast.
pub(in crate::ops) fn to_write<'a>(
    op: &'static str,
    from: Operand<'a>,
    into: DType,
) -> Result<Cow<'a, Tensor>> {
    if let Operand::Tensor(t) = from
        && t.rank() > 0
        && t.dtype().is_differentiable()
        && !into.is_differentiable()
    {
        bail!(
            Dtype,
            op,
            "{} numbers are not written into {into}: expected both to have the same dtype; cast one of them",
            t.dtype()
        );
    }
    as_tensor(from, into)
}

/// The tensor and the indices with their other axes broadcast against each other.
pub(in crate::ops) fn broadcast_others(
    op: &'static str,
    x: &Tensor,
    at: usize,
    index: &Tensor,
) -> Result<(Tensor, Tensor)> {
    let mut one: Dims = index.dims().into();
    one[at] = x.dims()[at];
    let mut dims = match shape::broadcast(op, x.dims(), &one) {
        Ok(dims) => dims,
        Err(_) => bail!(
            Shape,
            op,
            "indices of shape {:?} do not broadcast to {:?} on the axes other than {at}",
            index.dims(),
            x.dims()
        ),
    };
    let x = broadcast_to(x, &dims)?;
    dims[at] = index.dims()[at];
    Ok((x, broadcast_to(index, &dims)?))
}

/// Whether the indices have the full size on the other axes.
pub(in crate::ops) fn covers(x: &Tensor, at: usize, index: &Tensor) -> bool {
    (0..x.rank()).all(|a| a == at || index.dims()[a] == x.dims()[a])
}
