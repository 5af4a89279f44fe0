//! From which arguments of a running function of the host's tensors were computed.

use pyo3::prelude::*;

use super::var::Var;
use crate::engine::differentiated_by;
use crate::graph::modes::{Flags, flags, host_call};
use crate::graph::{Stems, Tensor};

impl Var {
    /// The arguments of the running function that the value depends on, which has this edge or none.
    #[cold]
    pub fn stems(&self, t: &Tensor) -> Stems {
        let (Some(call), Some(edge)) = (host_call(), &t.edge) else { return t.detach_reason.stems() };
        let stems = call.stems_of(std::ptr::from_ref(self).addr(), edge);
        if stems == Stems::default()
            && let Some(by) = differentiated_by(edge)
        {
            call.note_lost(by);
        }
        stems
    }

    /// The stems of this value if a function of the host's runs.
    pub fn stems_in_call(&self) -> Stems {
        if flags().has(Flags::HOST_CALL) { self.stems(&self.tensor()) } else { Stems::default() }
    }
}

/// Says of tensors that a program computed while a function of the host's runs that they may depend on each argument.
pub fn mark_results(outputs: &[Bound<'_, PyAny>]) {
    let Some(call) = host_call() else { return };
    for v in outputs.iter().filter_map(|o| o.cast::<Var>().ok()) {
        let t = v.get().tensor();
        if !t.is_tracked() && t.dtype().is_differentiable() {
            v.get().lock().set_detach_reason(t.detach_reason.with_stems(call.all()));
        }
    }
}
