//! The hooks of a node as the engine calls them, and how what they return is checked.

use std::any::Any;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::list::{ACCUMULATED, Attached, Hook, HookKind, POST, PRE, TENSOR};
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::raise;
use crate::bind::python::gil::call_python_for;
use crate::bind::value::accumulate::accumulate_grad;
use crate::bind::value::var::{Slot, Var};
use crate::error::Result;
use crate::graph::{Cotangents, HookContext, Hooks, Modes, Tensor};

impl Hooks for Attached {
    fn visit_host_objects(&self, visit: &mut dyn FnMut(&dyn Any)) {
        visit(&self.0);
    }

    fn is_empty(&self) -> bool {
        !self.0.has(u8::MAX)
    }

    fn tensor_hooks(&self, at: &HookContext<'_>, g: &mut [Option<Tensor>]) -> Result<()> {
        if at.node.is_leaf() && !at.accumulates && !self.0.dialect().grad_calls_hooks_of_leaves() {
            return Ok(());
        }
        self.with_hooks(at, "a hook on the gradient of", TENSOR, |py, mut hooks| {
            // The sort is stable, so all others keep the order of registration.
            hooks.sort_by_key(|h| matches!(h.kind, HookKind::Retain { last: true, .. }));
            let mut last = None;
            hooks.iter().try_for_each(|hook| call_tensor_hook(py, hook, at, g, &mut last))
        })
    }

    fn pre_hooks(&self, at: &HookContext<'_>, g: &mut [Option<Tensor>]) -> Result<()> {
        self.with_hooks(at, "a hook before the node of", PRE, |py, hooks| {
            for hook in hooks {
                let given = vars(py, g, hook.dialect)?;
                let result = hook.function(py).call1((tuple(py, &given)?,))?;
                store_returned(&hook, &result, &given, g)?;
            }
            Ok(())
        })
    }

    fn post_hooks(&self, at: &HookContext<'_>, grads: &mut [Option<Tensor>], g: &Cotangents) -> Result<()> {
        self.with_hooks(at, "a hook after the node of", POST, |py, hooks| {
            for hook in hooks {
                let (given, outputs) = (vars(py, grads, hook.dialect)?, vars(py, g, hook.dialect)?);
                let result = hook.function(py).call1((tuple(py, &given)?, tuple(py, &outputs)?))?;
                store_returned(&hook, &result, &given, grads)?;
            }
            Ok(())
        })
    }

    fn accumulate_grad(&self, at: &HookContext<'_>, g: Tensor) -> Result<Option<Tensor>> {
        let mut g = Some(g);
        self.with_hooks(at, "a hook on the accumulated gradient of", ACCUMULATED | POST, |py, hooks| {
            let (Some(g), Some(slot)) = (g.take(), Slot::of(at.node)) else { return Ok(()) };
            accumulate(py, &hooks, &slot, g, at.create_graph)
        })?;
        Ok(g)
    }
}

impl Attached {
    /// Runs `f` with the hooks of some stages, if there are any, as Python code that the engine calls.
    fn with_hooks(
        &self,
        at: &HookContext<'_>,
        what: &str,
        stages: u8,
        f: impl FnOnce(Python<'_>, Vec<Hook>) -> PyResult<()>,
    ) -> Result<()> {
        if !self.0.has(stages) {
            return Ok(());
        }
        let name = || self.0.dialect().node_name(at.node).0;
        let modes = |m: &mut Modes| m.recording = at.create_graph.into();
        call_python_for(at.node, what, name, modes, |py| f(py, self.0.snapshot(py, stages)))
    }
}

/// The gradient of an output as the object that the last hook got, which is also that of the next one.
type Given<'py> = Option<(u32, Dialect, Bound<'py, Var>)>;

/// Calls a hook of the stage [`TENSOR`].
fn call_tensor_hook<'py>(
    py: Python<'py>,
    hook: &Hook,
    at: &HookContext<'_>,
    g: &mut [Option<Tensor>],
    last: &mut Given<'py>,
) -> PyResult<()> {
    match &hook.kind {
        HookKind::Tensor(out) => {
            let Some(t) = g[*out as usize].take() else {
                return call_without_gradient(py, hook, at, g, *out);
            };
            let given = match last.take() {
                Some((of, dialect, given)) if of == *out && dialect == hook.dialect => given,
                _ => var(py, t, hook.dialect)?,
            };
            let old = given.get().tensor();
            let result = hook.function(py).call1((&given,))?;
            let is_kept = result.is_none() || result.is(&given);
            let new = if is_kept { &given } else { replacement(hook, &result)? };
            g[*out as usize] = Some(checked(py, hook, &old, new.get().tensor())?);
            *last = is_kept.then_some((*out, hook.dialect, given));
        }
        HookKind::Retain { out, slot, .. } => {
            let arrived = g[*out as usize].clone();
            let t = arrived.or_else(|| {
                let runs = hook.dialect.retains_zeros() && g.iter().any(Option::is_some);
                runs.then(|| Tensor::zeros_of(&at.node.outs[*out as usize]))
            });
            if let (Some(t), Some(slot)) = (t, slot.upgrade()) {
                at.defer_grad(slot, t);
            }
        }
        HookKind::Multi(out, multi, i) => {
            let t = g[*out as usize].clone();
            let t = t.map(|t| var(py, t, hook.dialect).map(Bound::unbind)).transpose()?;
            if let Some(argument) = multi.arrived(py, at, *i, t)? {
                hook.function(py).call1((argument,))?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Calls a hook on the gradient of a result at which none arrives, where others of the same call have one.
fn call_without_gradient(
    py: Python<'_>,
    hook: &Hook,
    at: &HookContext<'_>,
    g: &mut [Option<Tensor>],
    out: u32,
) -> PyResult<()> {
    if !hook.dialect.calls_hooks_with_none() || g.iter().all(Option::is_none) {
        return Ok(());
    }
    let result = hook.function(py).call1((py.None(),))?;
    if !result.is_none() {
        let zeros = Tensor::zeros_of(&at.node.outs[out as usize]);
        let new = replacement(hook, &result)?.get().tensor();
        g[out as usize] = Some(checked(py, hook, &zeros, new)?);
    }
    Ok(())
}

/// Adds a leaf's gradient to the `.grad` of its tensor, and then calls the hooks.
fn accumulate(
    py: Python<'_>,
    hooks: &[Hook],
    slot: &Arc<Slot>,
    g: Tensor,
    create_graph: bool,
) -> PyResult<()> {
    let dialect = hooks[0].dialect;
    let had = slot.grad(py);
    accumulate_grad(py, vec![(slot.clone(), g.clone())], create_graph, dialect)?;
    // A first gradient is the very object that was stored.
    let outputs = match (had, slot.grad(py)) {
        (None, Some(fresh)) => vec![Some(fresh.into_bound(py))],
        _ => vec![Some(var(py, g, dialect)?)],
    };
    for hook in hooks {
        let HookKind::Accumulated { bare } = hook.kind else { continue };
        if bare {
            hook.function(py).call0()?;
        } else if let Some(tensor) = slot.tensor(py) {
            let result = hook.function(py).call1((&tensor,))?;
            // The result of a write to the tensor is the tensor.
            if !result.is_none() && !result.is(&tensor) {
                let text = "Tensor post accumulate grad hooks should return None.";
                return Err(raise(py, "ArgumentError", text));
            }
        }
    }
    for hook in hooks.iter().filter(|h| matches!(h.kind, HookKind::Post)) {
        hook.function(py).call1((PyTuple::empty(py), tuple(py, &outputs)?))?;
    }
    Ok(())
}

fn var(py: Python<'_>, t: Tensor, dialect: Dialect) -> PyResult<Bound<'_, Var>> {
    Var::result(py, t, dialect)
}

type Vars<'py> = Vec<Option<Bound<'py, Var>>>;

fn vars<'py>(py: Python<'py>, g: &[Option<Tensor>], dialect: Dialect) -> PyResult<Vars<'py>> {
    g.iter().map(|t| t.clone().map(|t| var(py, t, dialect)).transpose()).collect()
}

fn tuple<'py>(py: Python<'py>, vars: &Vars<'py>) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, vars)
}

/// Stores in `g` what a hook of a node returned for the gradients `given`: a tuple with one for each takes their place,
/// None leaves them as the hook left them.
fn store_returned(
    hook: &Hook,
    result: &Bound<'_, PyAny>,
    given: &Vars<'_>,
    g: &mut [Option<Tensor>],
) -> PyResult<()> {
    let py = result.py();
    let fails = |text: String| Err(raise(py, "ArgumentError", format!("hook '{}' {text}", name(hook, py))));
    let items: Vec<Bound<'_, PyAny>> = match result.cast::<PyTuple>() {
        _ if result.is_none() => {
            given.iter().map(|v| v.as_ref().into_pyobject(py)).collect::<Result<_, _>>()?
        }
        Ok(items) => items.iter().collect(),
        Err(_) => return fails(format!("expected tuple, but hook returned '{}'", result.get_type().name()?)),
    };
    if items.len() != g.len() {
        let (got, want) = (items.len(), g.len());
        return fails(format!("has returned an incorrect number of values (got {got}, but expected {want})"));
    }
    for (g, item) in g.iter_mut().zip(items) {
        *g = match (&*g, item.is_none()) {
            (_, true) => None,
            (Some(old), false) => Some(checked(py, hook, old, replacement(hook, &item)?.get().tensor())?),
            (None, false) => return fails("can't replace a None gradient with a non-None value".into()),
        };
    }
    Ok(())
}

fn replacement<'a, 'py>(hook: &Hook, o: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, Var>> {
    o.cast::<Var>().or_else(|_| {
        let class = o.get_type().name()?;
        let text = format!("hook '{}': expected Tensor but hook returned {class}", name(hook, o.py()));
        Err(raise(o.py(), "ArgumentError", text))
    })
}

/// Checks that a hook has left the gradient its shape and dtype.
fn checked(py: Python<'_>, hook: &Hook, old: &Tensor, new: Tensor) -> PyResult<Tensor> {
    if new.dims() != old.dims() {
        let (name, was, got) = (name(hook, py), old.dims(), new.dims());
        let text = format!("hook '{name}' has changed the size of value (was {was:?} got {got:?})");
        return Err(raise(py, "ShapeError", text));
    }
    if new.dtype() != old.dtype() {
        let (name, was, got) = (name(hook, py), old.dtype(), new.dtype());
        let text = format!("hook '{name}' has changed the type of value (was {was} got {got})");
        return Err(raise(py, "DtypeError", text));
    }
    Ok(new)
}

/// The name of the hook's function.
fn name(hook: &Hook, py: Python<'_>) -> String {
    let hook = hook.function(py);
    let name = hook.getattr("__name__").and_then(|n| n.extract());
    name.unwrap_or_else(|_| hook.get_type().name().map_or_else(|_| "hook".to_owned(), |n| n.to_string()))
}
