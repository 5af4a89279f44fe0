//! The same values: in memory of their own, or as a node of their own.

use super::entry::op;
use super::linear::{Linear, LinearOp};
use crate::array::{Array, Layout};
use crate::error::Result;
use crate::graph::{Loops, Operands, Saved, Tensor, apply};
use crate::kernel::copy::IndexMap;
use crate::stored::Stored;

#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct Clone;

impl Linear for Clone {
    const NAME: &'static str = "clone";
    const TAKES_HALF: bool = true;

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        x.packed()
    }

    fn lower(&self, x: &Operands<'_>) -> Option<Loops> {
        Some(Loops::Moves(IndexMap::of(Layout::contiguous(x.dims.first()?))))
    }

    fn transpose(&self, g: &Tensor, _: &Saved<'_>) -> Result<Tensor> {
        Ok(g.clone())
    }
}

/// A copy in memory of its own, through which gradients flow.
///
/// ```python
/// >>> x = fg.tensor([1., 2.], requires_grad=True)
/// >>> x.clone()
/// Tensor([1., 2.], dtype=float32, requires_grad=True)
/// ```
#[op(method, names("clone"), half, reads_lent, light, torch(LaidAsOperand))]
pub fn copy(x: &Tensor) -> Result<Tensor> {
    apply(LinearOp(Clone), &[x])
}

/// The tensor with its array in memory of its own. While a program is traced, the copy is one of its steps.
pub fn apart(x: &Tensor) -> Result<Tensor> {
    let array = if x.array.is_sealed() { copy(&x.detach())?.array } else { x.array.packed()? };
    Ok(Tensor { array, ..x.clone() })
}

#[derive(Clone, Stored)]
#[stored(in LinearOp)]
struct Alias;

impl Linear for Alias {
    const NAME: &'static str = "alias";
    const TAKES_HALF: bool = true;
    const IS_VIEW: bool = true;

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        Ok(x.clone())
    }

    fn lower(&self, x: &Operands<'_>) -> Option<Loops> {
        Some(Loops::Moves(IndexMap::of(Layout::contiguous(x.dims.first()?))))
    }

    fn transpose(&self, g: &Tensor, _: &Saved<'_>) -> Result<Tensor> {
        Ok(g.clone())
    }
}

/// The same value as a node of its own: a gradient can stop there, and still flows on to what the value was
/// computed from.
pub fn alias(x: &Tensor) -> Result<Tensor> {
    if x.is_tracked() { apply(LinearOp(Alias), &[x]) } else { Ok(x.leaf()) }
}

/// The array in C order, in memory that views can share. While a program is traced, the copy is one of its steps.
pub fn shareable(array: &Array) -> Result<Array> {
    if array.is_sealed() && !array.is_contiguous() {
        return Ok(copy(&Tensor::constant(array.clone()))?.array);
    }
    array.shareable()
}
