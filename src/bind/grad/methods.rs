//! The methods and attributes of a tensor that have to do with its gradient.

use std::sync::Arc;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

use super::backward::backward;
use super::endpoint::{Endpoint, endpoints};
use crate::array::Array;
use crate::bind::convert::number::Flag;
use crate::bind::convert::numpy::{copied_to_numpy, to_numpy};
use crate::bind::convert::tensor::package_of;
use crate::bind::python::capi::track;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::facade::PICTURES;
use crate::bind::value::inference::check_may_change;
use crate::bind::value::transformed::check_is_not_transforming;
use crate::bind::value::var::Var;
use crate::graph::{DetachReason, Tensor};

impl Var {
    fn is_inner(&self) -> bool {
        self.look().edge.is_some_and(|e| !e.node.is_leaf())
    }
}

#[pymethods]
impl Var {
    /// Whether gradients stop here: `not requires_grad`.
    #[getter]
    fn stop_gradient(&self) -> bool {
        !self.look().is_tracked()
    }

    #[setter]
    fn set_stop_gradient(slf: &Bound<'_, Self>, on: Flag) -> PyResult<()> {
        let Flag(on) = on;
        let v = slf.get();
        let edge = v.look().edge;
        if !on && edge.is_none() {
            let slot = v.lock().slot.clone();
            let before = slot.and_then(|slot| slot.take_stopped());
            if let Some((edge, version)) = before
                && version == v.lock().version()
            {
                let mut state = v.lock();
                let old = state.restart(Some(edge));
                state.set_detach_reason(DetachReason::default());
                drop(state);
                drop(old);
                return Ok(());
            }
        }
        Var::require_grad(slf, !on)?;
        if let (true, Some(edge)) = (on && v.dialect().remembers_what_it_stopped(), edge)
            && !edge.node.is_leaf()
        {
            let mut state = v.lock();
            let version = state.version();
            state.slot.get_or_insert_default().remember_stopped(edge, version);
        }
        Ok(())
    }

    /// Whether gradients are wanted: `not stop_gradient`.
    #[getter]
    fn requires_grad(&self) -> bool {
        !self.stop_gradient()
    }

    #[setter]
    fn set_requires_grad(slf: &Bound<'_, Self>, on: Flag) -> PyResult<()> {
        let Flag(on) = on;
        let v = slf.get();
        if on {
            check_may_change(v, "Setting requires_grad=True on")?;
        }
        if !on && v.is_inner() {
            let text = "you can only change requires_grad flags of leaf variables. If you want to use a computed \
                        variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().";
            return Err(raise(slf.py(), "ArgumentError", text));
        }
        let forgets = !on && v.dialect().forgets_untracked_leaf();
        Var::require_grad(slf, on)?;
        if forgets {
            let slot = v.lock().slot.take();
            v.lock().slot = slot.map(|s| Arc::new(s.moved()));
        }
        Ok(())
    }

    #[deleter(requires_grad)]
    fn delete_requires_grad(slf: &Bound<'_, Self>) -> PyResult<()> {
        Err(raise(slf.py(), "ArgumentError", "requires_grad must be a bool: it cannot be deleted"))
    }

    /// Sets `requires_grad` and returns the tensor itself.
    #[pyo3(signature = (requires_grad=Flag(true)), text_signature = "($self, requires_grad=True)")]
    fn requires_grad_<'py>(slf: &Bound<'py, Self>, requires_grad: Flag) -> PyResult<Bound<'py, Self>> {
        check_is_not_transforming(
            slf.get(),
            "requires_grad_() (or perhaps using torch.autograd.functional.* APIs)",
            "requires_grad_()",
        )?;
        Var::set_requires_grad(slf, requires_grad)?;
        Ok(slf.clone())
    }

    /// Whether the tensor is not the result of a recorded op.
    #[getter]
    fn is_leaf(&self) -> bool {
        !self.is_inner()
    }

    /// The gradient that `backward` has added up for this tensor, or None. A tensor that is no leaf has one only after
    /// `retain_grad()`.
    #[getter(grad)]
    fn read_grad(&self, py: Python<'_>) -> PyResult<Option<Py<Var>>> {
        let grad = self.grad(py);
        if grad.is_none() && self.is_inner() && !self.retains_grad() && self.dialect().warns_of_missing_grad()
        {
            let text = c"The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad \
                             attribute won't be populated during autograd.backward(). If you indeed want the .grad \
                             field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. \
                             If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor \
                             instead.";
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), text, 1)?;
        }
        Ok(grad)
    }

    #[setter]
    fn set_grad(slf: &Bound<'_, Self>, grad: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = slf.py();
        if grad.is_none() {
            Var::clear(slf.get());
            return Ok(());
        }
        let Ok(new) = grad.cast::<Var>() else {
            let text = format!(
                "assigned grad expected to be a Tensor or None but got grad of type {}",
                grad.get_type().name()?
            );
            return Err(raise(py, "ArgumentError", text));
        };
        if new.is(slf) {
            return Err(raise(py, "ArgumentError", "can't assign Variable as its own grad"));
        }
        let (own, g) = (slf.get().look(), new.get().look());
        if own.dims() != g.dims() {
            let text = format!(
                "attempting to assign a gradient of size '{:?}' to a tensor of size '{:?}'. Please ensure that the \
                 gradient and the tensor are the same size",
                g.dims(),
                own.dims()
            );
            return Err(raise(py, "ShapeError", text));
        }
        if own.dtype() != g.dtype() {
            let text = format!(
                "attempting to assign a gradient with dtype '{}' to a tensor with dtype '{}'. The gradient must \
                 match the tensor's dtype",
                g.dtype(),
                own.dtype()
            );
            return Err(raise(py, "DtypeError", text));
        }
        let slot = slf.get().lock().slot.get_or_insert_default().clone();
        track(slf);
        slot.set_grad(Some(new.clone().unbind()));
        Ok(())
    }

    #[deleter]
    fn delete_grad(&self) {
        Var::clear(self);
    }

    /// The gradient as a NumPy array, or None.
    fn gradient<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(g) = self.grad(py) else { return Ok(None) };
        let array = g.get().tensor().array;
        let copies = self.dialect().copies_for_numpy();
        Ok(Some(if copies { copied_to_numpy(py, &array)? } else { to_numpy(py, &array)? }))
    }

    /// Sets the gradient, if there is one, to zeros, or to None without `set_to_zero`.
    #[pyo3(signature = (set_to_zero=true))]
    fn clear_gradient(&self, py: Python<'_>, set_to_zero: bool) -> PyResult<()> {
        if !set_to_zero {
            self.clear();
        } else if let Some(g) = self.grad(py) {
            let old = g.get().look();
            let array = Array::full_of(old.dtype(), old.array.dims(), 0.0);
            let zeros = Tensor::made(array.contiguous().or_raise()?, None, old.levels);
            if old.edge.is_some_and(|e| !e.node.is_leaf()) {
                Var::stop_tracking(g.bind(py));
            }
            let mut state = g.get().lock();
            let done = state.assign(&zeros, false);
            drop(state);
            drop(done.or_raise()?);
        }
        Ok(())
    }

    /// Sets the gradient, if there is one, to zeros.
    #[pyo3(signature = (set_to_zero=true))]
    fn clear_grad(&self, py: Python<'_>, set_to_zero: bool) -> PyResult<()> {
        self.clear_gradient(py, set_to_zero)
    }

    /// Differentiates this tensor and adds the gradients to the `.grad` of every leaf (or only of `inputs`) that it
    /// depends on.
    ///
    /// The derivatives are multiplied by `gradient` (or `grad_tensor`), a tensor of this one's shape; where it is None,
    /// by one. The saved tensors of the graph are freed unless `retain_graph` (by default: unless `create_graph`, which
    /// makes gradients that can be differentiated again).
    #[pyo3(signature = (gradient=None, retain_graph=None, create_graph=false, inputs=None, *, grad_tensor=None,
                        dump_backward_graph_path=None))]
    #[allow(clippy::too_many_arguments)]
    fn backward<'py>(
        slf: &Bound<'py, Self>,
        gradient: Option<&Bound<'py, PyAny>>,
        retain_graph: Option<bool>,
        create_graph: bool,
        inputs: Option<&Bound<'py, PyAny>>,
        grad_tensor: Option<&Bound<'py, PyAny>>,
        dump_backward_graph_path: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let py = slf.py();
        let dialect = slf.get().dialect();
        let seed = match gradient.or(grad_tensor) {
            None => None,
            Some(g) => match g.cast::<Var>() {
                Ok(v) => Some(v.clone()),
                Err(_) => {
                    let text = match package_of(g)? {
                        Some(package) => dialect.foreign_tensor("the gradient", package),
                        None => dialect.seed_type(&g.get_type().name()?.to_string()),
                    };
                    return Err(raise(py, "ArgumentError", text));
                }
            },
        };
        let inputs = inputs.map(|given| endpoints(given, "inputs")).transpose()?;
        if inputs.as_ref().is_some_and(Vec::is_empty) {
            return Err(raise(py, "ArgumentError", "`inputs` argument to `backward()` cannot be empty."));
        }
        let seeds = seed.map(|s| vec![Some(s)]);
        let outputs = vec![Endpoint::Tensor(slf.clone())];
        let run = || backward(py, outputs, seeds, dialect, retain_graph, create_graph, inputs);
        let Some(path) = dump_backward_graph_path else { return run() };
        let pictures = PICTURES.get(py)?.call1((path, (slf,), dialect.makes_folders()))?;
        pictures.call_method0("__enter__")?;
        let done = run();
        let none = py.None();
        pictures.call_method1("__exit__", (&none, &none, &none))?;
        done
    }
}

impl Var {
    fn clear(&self) {
        self.meet_trace();
        let slot = self.lock().slot.clone();
        if let Some(slot) = slot {
            slot.set_grad(None);
        }
    }
}
