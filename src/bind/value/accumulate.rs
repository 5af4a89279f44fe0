//! How gradients are added to the `.grad` of their tensors.

use std::sync::Arc;

use pyo3::prelude::*;

use super::var::{Slot, Value, Var};
use crate::bind::call::formats;
use crate::bind::python::capi::track;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::OrRaise;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::site::Site;
use crate::graph::{DetachReason, Tensor, modes};
use crate::ops::copy::copy;
use crate::ops::movement::cast;
use crate::ops::pointwise::arithmetic::{add_in_place, add_same, can_add_in_place};

/// One gradient, ready to be stored. All of them are made before the first one is stored, so that either all are stored
/// or none is.
enum GradWrite {
    New(Py<Var>),
    /// Is added in place to the gradient that is there.
    AddInPlace(Tensor),
    /// Takes the place of the value that is there, whose array somebody else holds too.
    Replace(Tensor),
}

/// Adds gradients to the `.grad` of their tensors: all of them, or none if one fails.
pub fn accumulate_grad(
    py: Python<'_>,
    gradients: Vec<(Arc<Slot>, Tensor)>,
    create_graph: bool,
    dialect: Dialect,
) -> PyResult<()> {
    let detach_reason = DetachReason::gradient(Site::current());
    let ready = gradients
        .into_iter()
        .map(|(slot, g)| {
            let g = if g.is_tracked() { g } else { Tensor { detach_reason, ..g } };
            let g = if dialect == Dialect::Torch { laid_out_for(py, &slot, g).or_raise()? } else { g };
            let made = prepare(py, &slot, g, create_graph, dialect)?;
            Ok((slot, made))
        })
        .collect::<PyResult<Vec<_>>>()?;
    for (slot, made) in ready {
        match (made, slot.grad(py)) {
            (GradWrite::New(v), _) => {
                slot.set_grad(Some(v));
                if let Some(tensor) = slot.tensor(py) {
                    track(&tensor);
                }
            }
            (GradWrite::Replace(t), Some(old)) => {
                let done = old.get().lock().assign(&t, false);
                drop(done.or_raise()?);
            }
            (GradWrite::AddInPlace(g), Some(old)) => {
                let written = old.get().lock().all(|a| add_in_place(a, &g.array));
                assert!(
                    written == Some(true),
                    "the interpreter's lock is held since this was found to be possible"
                );
            }
            (_, None) => {}
        }
    }
    Ok(())
}

/// The gradient with the strides of its tensor, if the elements of that lie without gaps, and else in C order. While a program is
/// traced, the copy to C order is one of its steps, and no other order is made.
fn laid_out_for(py: Python<'_>, slot: &Slot, g: Tensor) -> Result<Tensor> {
    let Some(tensor) = slot.tensor(py) else { return Ok(g) };
    // Elements that are repeated count as those in C order.
    let in_c_order = g.array.is_contiguous() || g.array.layout().dense_order().is_none();
    if in_c_order && matches!(tensor.get().lock().value, Value::Own(_)) {
        return Ok(g);
    }
    let of = tensor.get().look();
    if (of.array.is_contiguous() && in_c_order) || of.dims() != g.dims() {
        return Ok(g);
    }
    let layout = of.array.layout();
    let is_other = !of.array.is_contiguous() && layout.dense_order().is_some();
    match (is_other, modes::trace().is_some()) {
        (true, true) => Ok(g),
        (true, false) => formats::laid_out_like(g, &layout),
        (false, true) => copy(&g),
        (false, false) => formats::c_order(&[], g),
    }
}

fn prepare(
    py: Python<'_>,
    slot: &Slot,
    g: Tensor,
    create_graph: bool,
    dialect: Dialect,
) -> PyResult<GradWrite> {
    let fresh = |t: Tensor| -> PyResult<GradWrite> {
        let v = Var::laid_out(py, None, t, dialect)?;
        if dialect.tracks_fresh_grad() {
            Var::make_leaf(&v)?;
        }
        Ok(GradWrite::New(v.unbind()))
    };
    slot.check_fits(&g).or_raise()?;
    let Some(old) = slot.grad(py) else { return fresh(g) };
    let sum = old.get().tensor();
    if sum.dtype() != g.dtype() {
        // The data of the tensor were set to those of another dtype after the old gradient was computed.
        let dtype = DType::promote(sum.dtype(), g.dtype());
        return fresh(add_same(&cast(&sum, dtype).or_raise()?, &cast(&g, dtype).or_raise()?).or_raise()?);
    }
    let recorded = sum.edge.as_ref().is_some_and(|e| !e.node.is_leaf());
    if create_graph || recorded || sum.levels != g.levels {
        // A graph may hold the old gradient, so the sum is another tensor.
        return fresh(add_same(&sum, &g).or_raise()?);
    }
    drop(sum);
    if old.get().lock().all(|a| can_add_in_place(a, &g.array)) == Some(true) {
        return Ok(GradWrite::AddInPlace(g));
    }
    Ok(GradWrite::Replace(add_same(&old.get().tensor().detach(), &g).or_raise()?))
}
