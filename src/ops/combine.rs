//! Combinations of elements, and matrices put together.

use crate::array::{Array, Item};
use crate::dtype::DType;
use crate::error::{Error, Result, bail};
use crate::graph::Tensor;
use crate::kernel::interrupt;
use crate::memory::{self, TryPush};
use crate::ops::entry::{Operand, Rest, op};
use crate::ops::index::{narrow, take};
use crate::ops::movement::{concat, flatten, meshgrid, pad, reshape_to, stack};
use crate::ops::promote::default_float;

/// The most bytes that one of the tensors takes in the lists that are made here and for a node.
const PART: usize = 512;

/// All combinations of one element of each vector, one a row, the last vector's running fastest.
///
/// ```python
/// >>> fg.cartesian_prod(fg.tensor([1, 2]), fg.tensor([3, 4])).tolist()
/// [[1, 3], [1, 4], [2, 3], [2, 4]]
/// ```
#[op(function)]
pub fn cartesian_prod(tensors: Rest<'_>) -> Result<Tensor> {
    if let [one] = tensors.0 {
        if one.rank() != 1 {
            bail!(Shape, "cartesian_prod", "takes vectors, not the shape {:?}", one.dims());
        }
        return Ok(one.clone());
    }
    let columns = meshgrid(tensors, "ij")?;
    let columns = columns.iter().map(|c| flatten(c, 0, -1)).collect::<Result<Vec<_>>>()?;
    stack(&columns, 1)
}

/// All combinations of r elements of a vector in their order, one a row; an element may occur again
/// `with_replacement`.
///
/// ```python
/// >>> fg.combinations(fg.tensor([1, 2, 3])).tolist()
/// [[1, 2], [1, 3], [2, 3]]
/// ```
#[op(function)]
pub fn combinations(
    x: &Tensor,
    #[default(2)] r: i64,
    #[default(false)] with_replacement: bool,
) -> Result<Tensor> {
    const OP: &str = "combinations";
    let (&[n], Ok(r)) = (x.dims(), usize::try_from(r)) else {
        bail!(Argument, OP, "takes a vector and an r of 0 or more, not {:?} and {r}", x.dims());
    };
    if r == 0 {
        return narrow(x, 0, 0, 0);
    }
    // The number of rows: the binomial coefficient, as a product that stays whole.
    let of = if with_replacement { (n + r).saturating_sub(1) } else { n };
    let count = if r > of {
        Some(0)
    } else {
        (0..r.min(of - r)).try_fold(1_usize, |c, i| Some(c.checked_mul(of - i)? / (i + 1)))
    };
    let huge = || Error::memory(OP, vec![usize::MAX], DType::I64);
    let count = count.filter(|c| c.checked_mul(r).is_some()).ok_or_else(huge)?;
    // The indices of a row; where there is no row there may be no room for one.
    let mut row: Vec<usize> = Vec::new();
    if count > 0 {
        row.try_room(r).map_err(|_| Error::memory(OP, vec![r], DType::I64))?;
        row.extend((0..r).map(|i| if with_replacement { 0 } else { i }));
    }
    let table = Array::build::<i64>(OP, &[count, r], |out| {
        let mut done = 0;
        for out in out.chunks_exact_mut(r) {
            interrupt::count(&mut done, r);
            out.iter_mut().zip(&row).for_each(|(o, &i)| *o = i as i64);
            let end = |i: usize| if with_replacement { n - 1 } else { n - r + i };
            let Some(at) = (0..r).rev().find(|&i| row[i] < end(i)) else { return };
            let first = row[at] + 1;
            row[at..]
                .iter_mut()
                .enumerate()
                .for_each(|(i, v)| *v = if with_replacement { first } else { first + i });
        }
    })?;
    take(x, &Tensor::constant(table), Some(0))
}

/// The tensors on the diagonal of a matrix, zeros beside them. A vector is one row, a 0-d tensor one element.
///
/// ```python
/// >>> fg.block_diag(fg.ones((1, 2)), fg.ones(1)).tolist()
/// [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
/// ```
#[op(function)]
pub fn block_diag(tensors: Rest<'_>) -> Result<Tensor> {
    const OP: &str = "block_diag";
    let Rest(tensors) = tensors;
    memory::ensure(tensors.len() * PART)?;
    let mut blocks: Vec<Tensor> = Vec::with_capacity(tensors.len());
    for t in tensors {
        let block = match *t.dims() {
            [] => reshape_to(t, &[1, 1])?,
            [n] => reshape_to(t, &[1, n])?,
            [_, _] => t.clone(),
            ref dims => bail!(Shape, OP, "a block has at most 2 axes, {dims:?} has {}", dims.len()),
        };
        blocks.push(block);
    }
    let width: usize = blocks.iter().map(|b| b.dims()[1]).sum();
    let mut left = 0;
    let mut rows: Vec<Tensor> = Vec::with_capacity(tensors.len());
    for block in &blocks {
        let columns = block.dims()[1];
        let widths = [(0, 0), (left as i64, (width - left - columns) as i64)];
        rows.push(pad(block, &widths, "constant", Operand::Number(Item::Int(0)))?);
        left += columns;
    }
    if rows.is_empty() {
        return Ok(Tensor::constant(Array::zeros(OP, default_float(), &[1, 0])?));
    }
    concat(&rows, Some(0))
}
