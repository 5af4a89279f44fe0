//! Adding a hook to a node, and the handle that removes it again.

use std::sync::{Arc, Weak};

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::collector::track_reached;
use super::list::{HookKind, HookList};
use crate::bind::python::dialect::Dialect;
use crate::graph::Edge;

/// Adds a Python function to the hooks of the node of an edge. Returns the list and the number of the hook in it.
pub fn add_hook(
    edge: &Edge,
    kind: HookKind,
    dialect: Dialect,
    function: &Bound<'_, PyAny>,
) -> (Arc<HookList>, u64) {
    track_reached(function);
    let list = HookList::of(&edge.node);
    let id = list.add(kind, dialect, Some(function.clone().unbind()));
    (list, id)
}

/// Removes hooks: by ``remove()``, or at the end of a ``with`` block.
///
///     >>> x = fg.tensor(2.0, requires_grad=True)
///     >>> with x.register_hook(lambda g: print(g.item())):
///     ...     fg.backward(x * x)
///     4.0
///     >>> fg.backward(x * x)
#[pyclass(frozen, weakref, module = "ferrograd")]
pub struct RemovableHandle {
    hooks: Vec<(Weak<HookList>, u64)>,
    dialect: Dialect,
}

impl RemovableHandle {
    /// A handle for hooks that [`add_hook`] has added.
    pub fn new(hooks: Vec<(Arc<HookList>, u64)>, dialect: Dialect) -> RemovableHandle {
        let hooks = hooks.into_iter().map(|(list, id)| (Arc::downgrade(&list), id)).collect();
        RemovableHandle { hooks, dialect }
    }

    /// Removes every hook. Returns whether any was still there.
    fn remove_all(&self) -> bool {
        let remove = |(list, id): &(Weak<HookList>, u64)| list.upgrade().is_some_and(|list| list.remove(*id));
        self.hooks.iter().fold(false, |any, hook| remove(hook) | any)
    }
}

#[pymethods]
impl RemovableHandle {
    /// Removes the hook. Returns whether it was still there; None in the torch dialect.
    fn remove(&self, py: Python<'_>) -> PyResult<Option<bool>> {
        let removed = self.remove_all();
        if !removed && self.dialect.warns_of_second_removal() {
            let text = c"The hook has been removed before, or what it hung on is gone.";
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), text, 1)?;
        }
        Ok(self.dialect.says_what_was_removed().then_some(removed))
    }

    /// The hook's number: no two have the same.
    #[getter]
    fn id(&self) -> Option<u64> {
        self.hooks.first().map(|h| h.1)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        self.remove_all();
    }
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<RemovableHandle>()
}
