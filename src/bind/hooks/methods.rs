//! The methods of a tensor that watch its gradient: hooks, and gradients kept for tensors that are no leaves.

use std::sync::Arc;

use pyo3::prelude::*;

use super::handle::{RemovableHandle, add_hook};
use super::list::HookKind;
use super::multi::MultiHook;
use super::retain::RetainedGrad;
use crate::bind::convert::list::list;
use crate::bind::python::capi::track;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{check_callable, raise};
use crate::bind::value::transformed::check_is_not_transforming;
use crate::bind::value::var::Var;
use crate::graph::Edge;

impl Var {
    /// The edge where the tensor's gradient arrives, for a hook; `op` is the function that adds it.
    fn hook_edge(slf: &Bound<'_, Var>, op: &str) -> PyResult<(Edge, Dialect)> {
        match slf.get().look().edge {
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

    fn add_hook(
        slf: &Bound<'_, Var>,
        (edge, dialect): (Edge, Dialect),
        kind: HookKind,
        hook: &Bound<'_, PyAny>,
    ) -> RemovableHandle {
        track(slf);
        RemovableHandle::new(vec![add_hook(&edge, kind, dialect, hook)], dialect)
    }

    /// Keeps the gradient of this tensor, unless it is a leaf, whose gradient is stored anyway.
    fn retain(slf: &Bound<'_, Var>, last: bool) -> PyResult<()> {
        check_is_not_transforming(slf.get(), "retain_grad()", "retain_grad()")?;
        let Some(edge) = slf.get().look().edge else {
            if slf.get().dialect().retains_untracked() {
                return Ok(());
            }
            let text = "can't retain_grad on Tensor that has requires_grad=False (stop_gradient=True)";
            return Err(raise(slf.py(), "ArgumentError", text));
        };
        if !edge.node.is_leaf() {
            slf.get().lock().retain(&edge, RetainedGrad::new(last, slf.get().dialect()));
        }
        Ok(())
    }
}

#[pymethods]
impl Var {
    /// Calls `hook` with the gradient of this tensor each time it has been computed: once, with the sum over all uses.
    /// If the hook returns something else than None, that takes the place of the gradient for all that follows: hooks
    /// registered later, the gradients of this tensor's inputs, `.grad` and the results of `grad`. Returns a handle
    /// with `remove()`.
    ///
    /// The hook runs on the thread that asked for gradients. What it computes is recorded if the gradients are
    /// (`create_graph`).
    fn register_hook(slf: &Bound<'_, Self>, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
        check_callable("register_hook", hook)?;
        let (edge, dialect) = Var::hook_edge(slf, "register_hook")?;
        let kind = HookKind::Tensor(edge.out);
        Ok(Var::add_hook(slf, (edge, dialect), kind, hook))
    }

    /// Calls `hook` with this leaf after `backward` has added to its `.grad`. The hook returns None. It may use or free
    /// the gradient while the pass goes on. Returns a handle with `remove()`.
    fn register_post_accumulate_grad_hook(
        slf: &Bound<'_, Self>,
        hook: &Bound<'_, PyAny>,
    ) -> PyResult<RemovableHandle> {
        check_callable("register_post_accumulate_grad_hook", hook)?;
        let (edge, dialect) = Var::hook_edge(slf, "register_post_accumulate_grad_hook")?;
        if !edge.node.is_leaf() {
            let text = "post accumulate grad hooks cannot be registered on non-leaf tensors";
            return Err(raise(slf.py(), "ArgumentError", text));
        }
        Ok(Var::add_hook(slf, (edge, dialect), HookKind::Accumulated { bare: false }, hook))
    }

    /// Calls `hook`, without arguments, after `backward` has added to the `.grad` of this leaf. Returns a handle with
    /// `remove()`.
    fn _register_backward_hook(slf: &Bound<'_, Self>, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
        check_callable("_register_backward_hook", hook)?;
        let Some(edge) = slf.get().look().edge.filter(|e| e.node.is_leaf()) else {
            let text = "Only can register backward hook for leaf Tensor, and not on one that stop gradient.";
            return Err(raise(slf.py(), "ArgumentError", text));
        };
        let dialect = slf.get().dialect();
        Ok(Var::add_hook(slf, (edge, dialect), HookKind::Accumulated { bare: true }, hook))
    }

    /// Makes `backward` store the gradient of this tensor, which is no leaf, in its `.grad`: the value after all hooks.
    /// After a write it is the gradient of the new value.
    fn retain_grad(slf: &Bound<'_, Self>) -> PyResult<()> {
        Var::retain(slf, true)
    }

    /// Makes `backward` store the gradient of this tensor, which is no leaf, in its `.grad`: the value after the hooks
    /// that are registered already, and before those registered later. Like a hook it belongs to the value that the
    /// tensor has now: after a write it is still the gradient of the old value.
    fn retain_grads(slf: &Bound<'_, Self>) -> PyResult<()> {
        Var::retain(slf, false)
    }

    /// Whether `.grad` is filled although this tensor is no leaf.
    #[getter]
    pub fn retains_grad(&self) -> bool {
        self.lock().is_retained()
    }
}

/// Calls `hook` once for each pass that computes gradients of `tensors`: with the list of the gradients (None where
/// there is none) when all have been computed, or with `mode="any"` with the first of them. Returns a handle with
/// `remove()`.
///
///     >>> x = fg.tensor(2.0, requires_grad=True)
///     >>> handle = fg.register_multi_grad_hook([x], lambda gradients: print(gradients[0].item()))
///     >>> fg.backward(x * x)
///     4.0
///     >>> handle.remove()
///     True
#[pyfunction]
#[pyo3(signature = (tensors, r#fn, *, mode="all"))]
fn register_multi_grad_hook(
    #[pyo3(from_py_with = list)] tensors: Vec<Bound<'_, Var>>,
    r#fn: &Bound<'_, PyAny>,
    mode: &str,
) -> PyResult<RemovableHandle> {
    const NAME: &str = "register_multi_grad_hook";
    check_callable(NAME, r#fn)?;
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
    for tensor in tensors.iter().filter(|t| !any || t.get().look().is_tracked()) {
        let (edge, own) = Var::hook_edge(tensor, NAME)?;
        track(tensor);
        dialect = own;
        edges.push(edge);
    }
    let multi = Arc::new(MultiHook::new(&edges, any));
    let add = |(i, edge): (usize, &Edge)| {
        add_hook(edge, HookKind::Multi(edge.out, multi.clone(), i), dialect, r#fn)
    };
    Ok(RemovableHandle::new(edges.iter().enumerate().map(add).collect(), dialect))
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(register_multi_grad_hook, m)?)
}
