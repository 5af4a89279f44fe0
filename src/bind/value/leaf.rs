//! Tensors that become leaves.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;

use super::var::Var;
use crate::graph::DetachReason;
use crate::graph::modes::host_call;

impl Var {
    /// Makes an untracked tensor a leaf. One that is tracked stays what it is.
    pub fn make_leaf(slf: &Bound<'_, Var>) -> PyResult<()> {
        let v = slf.get();
        let t = v.tensor();
        if t.is_tracked() {
            return Ok(());
        }
        // Made before the lock is taken: no Python code runs under it.
        let weak = PyWeakrefReference::new(slf)?.unbind();
        let mut state = v.lock();
        let slot = Arc::clone(state.slot.get_or_insert_default());
        slot.set_tensor(weak);
        let leaf = slot.leaf(&t);
        if let (Some(call), Some(edge)) = (host_call(), &leaf.edge) {
            call.note_leaf(edge, t.detach_reason.stems());
        }
        let old = state.restart(leaf.edge);
        state.set_detach_reason(DetachReason::default());
        drop(state);
        drop(old);
        Ok(())
    }
}
