//! Starting and stopping to track a tensor.

use pyo3::prelude::*;

use crate::bind::hooks::list::HookList;
use crate::bind::python::error::raise;
use crate::bind::value::capture::Captures;
use crate::bind::value::var::Var;
use crate::graph::site::Site;
use crate::graph::{DetachReason, modes};

impl Var {
    /// Makes a tensor an untracked leaf. The hooks of a former leaf are kept for its next one.
    pub fn stop_tracking(slf: &Bound<'_, Var>) {
        let v = slf.get();
        let Some(edge) = v.look().edge else { return };
        if let Some(trace) = modes::trace() {
            Captures::of(&trace).stops_tracking = true;
        }
        let detach_reason = DetachReason::stopped(Site::current());
        let mut state = v.lock();
        let old = state.restart(None);
        state.set_detach_reason(detach_reason);
        let slot = state.slot.clone();
        drop(state);
        if let (Some(slot), true) = (slot, edge.node.is_leaf()) {
            slot.keep_hooks(HookList::attached_to(&edge.node));
        }
        drop(old);
    }

    /// Makes a tensor a leaf (`on`) or an untracked one. One that is tracked, or untracked, already stays as it is.
    pub fn set_tracked(slf: &Bound<'_, Var>, on: bool) -> PyResult<()> {
        if on {
            return Var::make_leaf(slf);
        }
        Var::stop_tracking(slf);
        Ok(())
    }

    /// [`Var::set_tracked`] as the user asks for it. Only the dialect of Paddle tracks integers.
    pub fn require_grad(slf: &Bound<'_, Var>, on: bool) -> PyResult<()> {
        let dtype = slf.get().look().dtype();
        if on && !dtype.is_differentiable() && !slf.get().dialect().tracks_integers() {
            let text = format!(
                "Only Tensors of floating point and complex dtype can require gradients, not {dtype}: write the numbers \
                 with a point (1.0), or give dtype='float32'"
            );
            return Err(raise(slf.py(), "DtypeError", text));
        }
        Var::set_tracked(slf, on)
    }
}

/// Sets `requires_grad` of a tensor that the library has made, and gives the tensor.
#[pyfunction]
#[pyo3(signature = (x, on=true))]
fn require_grad<'py>(x: Bound<'py, Var>, on: bool) -> PyResult<Bound<'py, Var>> {
    Var::require_grad(&x, on)?;
    Ok(x)
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(require_grad, m)?)
}
