//! Values whose tangents come from elsewhere than their gradients, as under the host's `no_grad`.

use smallvec::smallvec;

use crate::array::Array;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Node, NodeKind, Op, Operands, Outputs, Saved, Saves, Tangents,
    Tensor, apply, only,
};
use crate::stored::Stored;

/// The same value, through which tangents go on and no gradient does.
#[derive(Stored)]
#[stored(op)]
struct Moving;

impl Op for Moving {
    fn name(&self) -> &'static str {
        "no_grad"
    }

    fn takes_half(&self) -> bool {
        true
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([ins[0].clone()].into())
    }

    fn is_view(&self) -> bool {
        true
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        ins.like::<1>(0, |_| true)
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![None])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![Some(moving(only(t), s.record)?)])
    }
}

/// The tensor as ops take it that are recorded for its tangent alone.
pub fn with_tangent_alone(x: &Tensor) -> Result<Tensor> {
    moving(x, true)
}

fn moving(x: &Tensor, record: bool) -> Result<Tensor> {
    if record && x.is_tracked() { apply(Moving, &[x]) } else { Ok(x.detach()) }
}

/// Whether no gradient goes through a node, because it is that of a tensor with its tangent alone.
pub fn stops_gradients(node: &Node) -> bool {
    matches!(&node.kind, NodeKind::Op(op) if op.kind() == Moving.kind())
}

/// What a write that is recorded for tangents alone leaves: the new value and its tangent, and the gradient of the old one.
#[derive(Stored)]
#[stored(op)]
struct Written;

impl Op for Written {
    fn name(&self) -> &'static str {
        "no_grad"
    }

    fn takes_half(&self) -> bool {
        true
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        Ok([ins[1].clone()].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let [_, (dtype, _)] = ins.each()?;
        Some(Made::from_elem((dtype, ins.dims[1].into()), 1))
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn reads_tangent(&self, i: usize) -> bool {
        i == 1
    }

    fn vjp(&self, g: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![Some(only(g).clone()), None])
    }

    fn jvp(&self, t: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![t[1].clone()])
    }
}

/// The new value and its tangent, with the gradient of the old one.
pub fn written(old: &Tensor, new: &Tensor) -> Result<Tensor> {
    if old.is_tracked() { apply(Written, &[old, new]) } else { Ok(new.clone()) }
}
