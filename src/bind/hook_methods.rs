//! What a tensor offers for its gradient to be watched: hooks, handles to take them down, and gradients kept.

use std::sync::{Arc, Weak};

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::convert::track;
use super::dialect::Dialect;
use super::error::raise;
use super::hooks::{List, Role, hang};
use super::multi::Multi;
use super::var::Var;
use crate::graph::Edge;

/// Takes hooks down again: by ``remove()``, or at the end of a ``with`` block.
#[pyclass(frozen, weakref, module = "ferrograd")]
pub struct RemovableHandle {
    hooks: Vec<(Weak<List>, u64)>,
    warns: bool,
}

impl RemovableHandle {
    pub fn new(hooks: Vec<(Arc<List>, u64)>, dialect: Dialect) -> RemovableHandle {
        let hooks = hooks.into_iter().map(|(list, id)| (Arc::downgrade(&list), id)).collect();
        RemovableHandle { hooks, warns: dialect.warns_of_second_removal() }
    }

    fn take_down(&self) -> bool {
        let remove = |(list, id): &(Weak<List>, u64)| list.upgrade().is_some_and(|list| list.remove(*id));
        // Every one of them, whatever the others say.
        self.hooks.iter().fold(false, |any, hook| remove(hook) | any)
    }
}

#[pymethods]
impl RemovableHandle {
    /// Takes the hook down. Returns whether it still was there.
    fn remove(&self, py: Python<'_>) -> PyResult<bool> {
        let removed = self.take_down();
        if !removed && self.warns {
            let text = c"The hook has been removed before, or what it hung on is gone.";
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), text, 1)?;
        }
        Ok(removed)
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
        self.take_down();
    }
}

/// That an object can be called.
pub fn callable(op: &str, hook: &Bound<'_, PyAny>) -> PyResult<()> {
    if hook.is_callable() {
        return Ok(());
    }
    let text = format!("{op}: a hook is something to be called, not {}", hook.get_type().name()?);
    Err(raise(hook.py(), "ArgumentError", text))
}

impl Var {
    /// The place in the graph where its gradient arrives, for a hook.
    fn watched(slf: &Bound<'_, Var>, op: &str) -> PyResult<(Edge, Dialect)> {
        match slf.get().tensor().edge {
            Some(edge) => Ok((edge, slf.get().dialect())),
            None => {
                let text = format!(
                    "{op}: Cannot register hook on a tensor that stop gradient: cannot register a hook on a tensor \
                     that doesn't require gradient"
                );
                Err(raise(slf.py(), "ArgumentError", text))
            }
        }
    }

    fn hang(
        slf: &Bound<'_, Var>,
        (edge, dialect): (Edge, Dialect),
        role: Role,
        hook: &Bound<'_, PyAny>,
    ) -> RemovableHandle {
        track(slf);
        RemovableHandle::new(vec![hang(&edge, role, dialect, Some(hook))], dialect)
    }

    /// Saves the gradient for this tensor, unless it is a leaf, which has it anyway.
    fn retain(slf: &Bound<'_, Var>, last: bool) -> PyResult<()> {
        let Some(edge) = slf.get().tensor().edge else {
            if slf.get().dialect().retains_untracked() {
                return Ok(());
            }
            let text = "can't retain_grad on Tensor that has requires_grad=False (stop_gradient=True)";
            return Err(raise(slf.py(), "ArgumentError", text));
        };
        if !edge.node.is_leaf() {
            slf.get().lock().retain(&edge, last, slf.get().dialect());
        }
        Ok(())
    }
}

#[pymethods]
impl Var {
    /// Calls `hook` with the gradient of this tensor whenever it has been computed: the sum over all uses, once. What
    /// the hook returns, if it is not None, takes the gradient's place for all that follows: hooks that were registered
    /// later, the inputs of this tensor, `.grad` and the results of `grad`. Returns a handle with `remove()`.
    ///
    /// The hook runs on the thread that asked for gradients. What it computes is recorded if the gradients are
    /// (`create_graph`).
    fn register_hook(slf: &Bound<'_, Self>, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
        callable("register_hook", hook)?;
        let (edge, dialect) = Var::watched(slf, "register_hook")?;
        let role = Role::Gradient(edge.out);
        Ok(Var::hang(slf, (edge, dialect), role, hook))
    }

    /// Calls `hook` with this leaf after `backward` has added to its `.grad`. The hook returns None. It may free or use
    /// the gradient while the pass goes on. Returns a handle with `remove()`.
    fn register_post_accumulate_grad_hook(
        slf: &Bound<'_, Self>,
        hook: &Bound<'_, PyAny>,
    ) -> PyResult<RemovableHandle> {
        callable("register_post_accumulate_grad_hook", hook)?;
        let (edge, dialect) = Var::watched(slf, "register_post_accumulate_grad_hook")?;
        if !edge.node.is_leaf() {
            let text = "post accumulate grad hooks cannot be registered on non-leaf tensors";
            return Err(raise(slf.py(), "ArgumentError", text));
        }
        Ok(Var::hang(slf, (edge, dialect), Role::Added { bare: false }, hook))
    }

    /// Calls `hook`, without arguments, after `backward` has added to the `.grad` of this leaf. Returns a handle with
    /// `remove()`.
    fn _register_backward_hook(slf: &Bound<'_, Self>, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
        callable("_register_backward_hook", hook)?;
        let Some(edge) = slf.get().tensor().edge.filter(|e| e.node.is_leaf()) else {
            let text = "Only can register backward hook for leaf Tensor, and not on one that stop gradient.";
            return Err(raise(slf.py(), "ArgumentError", text));
        };
        let dialect = slf.get().dialect();
        Ok(Var::hang(slf, (edge, dialect), Role::Added { bare: true }, hook))
    }

    /// Makes `backward` put the gradient of this tensor into its `.grad` although it is no leaf: the value after all
    /// hooks. After a write it is the gradient of what was written.
    fn retain_grad(slf: &Bound<'_, Self>) -> PyResult<()> {
        Var::retain(slf, true)
    }

    /// Makes `backward` put the gradient of this tensor into its `.grad` although it is no leaf: the value after the
    /// hooks that are registered already, and before those registered later. Like a hook, it belongs to what the tensor
    /// holds now: a later write does not take it along.
    fn retain_grads(slf: &Bound<'_, Self>) -> PyResult<()> {
        Var::retain(slf, false)
    }

    /// Whether `.grad` is filled although this tensor is no leaf.
    #[getter]
    pub fn retains_grad(&self) -> bool {
        self.lock().is_retained()
    }
}

/// Calls `hook` once for each pass that computes gradients of `tensors`: with the list of them (None where there is
/// none) when all have been computed, or with `mode="any"` with the first. Returns a handle with `remove()`.
#[pyfunction]
#[pyo3(signature = (tensors, r#fn, *, mode="all"))]
fn register_multi_grad_hook(
    tensors: Vec<Bound<'_, Var>>,
    r#fn: &Bound<'_, PyAny>,
    mode: &str,
) -> PyResult<RemovableHandle> {
    const NAME: &str = "register_multi_grad_hook";
    callable(NAME, r#fn)?;
    let any = match mode {
        "all" => false,
        "any" => true,
        _ => {
            let text = format!("{NAME}: Expects mode to be one of ('all', 'any') but got {mode}");
            return Err(raise(r#fn.py(), "ArgumentError", text));
        }
    };
    let mut edges = vec![];
    let mut dialect = Dialect::Native;
    for tensor in tensors.iter().filter(|t| !any || t.get().tensor().is_tracked()) {
        let (edge, own) = Var::watched(tensor, NAME)?;
        track(tensor);
        dialect = own;
        edges.push(edge);
    }
    let multi = Arc::new(Multi::new(&edges, any));
    let role =
        |(i, edge): (usize, &Edge)| hang(edge, Role::Among(edge.out, multi.clone(), i), dialect, Some(r#fn));
    Ok(RemovableHandle::new(edges.iter().enumerate().map(role).collect(), dialect))
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<RemovableHandle>()?;
    m.add_function(wrap_pyfunction!(register_multi_grad_hook, m)?)
}
