//! What a tensor can be asked and told about its gradient.

use std::ffi::CString;
use std::sync::Arc;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;

use super::autograd::backward;
use super::convert::{self, lift};
use super::end::{End, ends};
use super::error::raise;
use super::inference;
use super::var::Var;
use crate::array::Array;
use crate::graph::site::Site;
use crate::graph::{DetachReason, Tensor};

impl Var {
    /// Starts or stops tracking.
    pub fn track(slf: &Bound<'_, Var>, on: bool) -> PyResult<()> {
        let v = slf.get();
        let t = v.tensor();
        if on == t.is_tracked() {
            return Ok(());
        }
        // Made first: nothing of Python's runs under the lock.
        let weak = if on { Some(PyWeakrefReference::new(slf)?.unbind()) } else { None };
        let detach_reason = if on { DetachReason::default() } else { DetachReason::stopped(Site::current()) };
        let mut state = v.lock();
        let edge = weak.and_then(|weak| {
            let slot = state.slot.get_or_insert_default();
            slot.set_tensor(weak);
            slot.leaf(&t).edge
        });
        let old = state.restart(edge);
        state.cut_off(detach_reason);
        let slot = state.slot.clone();
        drop(state);
        if let (Some(slot), Some(edge)) = (slot, t.edge.filter(|e| e.node.is_leaf())) {
            slot.keep_hooks(&edge.node);
        }
        drop(old);
        Ok(())
    }

    /// [`Var::track`] on request: refused where there are no derivatives, or (Paddle) left with a warning.
    pub fn require(slf: &Bound<'_, Var>, on: bool) -> PyResult<()> {
        let dtype = slf.get().tensor().dtype();
        if on && !dtype.is_float() {
            let text = format!(
                "Only Tensors of floating point and complex dtype can require gradients, not {dtype}"
            );
            if !slf.get().dialect().warns_of_tracked_integers() {
                return Err(raise(slf.py(), "DtypeError", text));
            }
            let text = CString::new(format!("{text}: stop_gradient stays True")).expect("no zero bytes");
            return PyErr::warn(slf.py(), &slf.py().get_type::<PyUserWarning>(), &text, 1);
        }
        Var::track(slf, on)
    }

    /// The gradient that has been added up here.
    pub fn grad(&self, py: Python<'_>) -> Option<Py<Var>> {
        let slot = self.lock().slot.clone()?;
        slot.grad(py)
    }

    fn is_inner(&self) -> bool {
        self.tensor().edge.is_some_and(|e| !e.node.is_leaf())
    }
}

#[pymethods]
impl Var {
    /// Whether gradients stop here: `not requires_grad`.
    #[getter]
    fn stop_gradient(&self) -> bool {
        !self.tensor().is_tracked()
    }

    #[setter]
    fn set_stop_gradient(slf: &Bound<'_, Self>, on: bool) -> PyResult<()> {
        let v = slf.get();
        let edge = v.tensor().edge;
        if !on && edge.is_none() {
            let slot = v.lock().slot.clone();
            let before = slot.and_then(|slot| slot.recall());
            if let Some((edge, version)) = before
                && version == v.lock().version()
            {
                let mut state = v.lock();
                let old = state.restart(Some(edge));
                state.cut_off(DetachReason::default());
                drop(state);
                drop(old);
                return Ok(());
            }
        }
        Var::require(slf, !on)?;
        if let (true, Some(edge)) = (on && v.dialect().remembers_what_it_stopped(), edge)
            && !edge.node.is_leaf()
        {
            let mut state = v.lock();
            let version = state.version();
            state.slot.get_or_insert_default().remember(edge, version);
        }
        Ok(())
    }

    /// Whether gradients are wanted: `not stop_gradient`.
    #[getter]
    fn requires_grad(&self) -> bool {
        !self.stop_gradient()
    }

    #[setter]
    fn set_requires_grad(slf: &Bound<'_, Self>, on: bool) -> PyResult<()> {
        let v = slf.get();
        if on {
            inference::may_change(v, "Setting requires_grad=True on")?;
        }
        if !on && v.is_inner() {
            let text = "you can only change requires_grad flags of leaf variables. If you want to use a computed \
                        variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().";
            return Err(raise(slf.py(), "ArgumentError", text));
        }
        let forgets = !on && v.dialect().forgets_untracked_leaf();
        Var::require(slf, on)?;
        if forgets {
            let slot = v.lock().slot.take();
            v.lock().slot = slot.map(|s| Arc::new(s.forgotten()));
        }
        Ok(())
    }

    #[deleter(requires_grad)]
    fn delete_requires_grad(slf: &Bound<'_, Self>) -> PyResult<()> {
        Err(raise(slf.py(), "ArgumentError", "requires_grad must be a bool: it cannot be deleted"))
    }

    /// Sets `requires_grad` and returns the tensor itself.
    #[pyo3(signature = (requires_grad=true))]
    fn requires_grad_<'py>(slf: &Bound<'py, Self>, requires_grad: bool) -> PyResult<Bound<'py, Self>> {
        Var::set_requires_grad(slf, requires_grad)?;
        Ok(slf.clone())
    }

    /// Whether no recorded op made this tensor.
    #[getter]
    fn is_leaf(&self) -> bool {
        !self.is_inner()
    }

    /// The gradient that `backward` has added up here, or None. A tensor that is no leaf has one only after
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
        let (own, g) = (slf.get().tensor(), new.get().tensor());
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
        convert::track(slf);
        slot.put(Some(new.clone().unbind()));
        Ok(())
    }

    #[deleter]
    fn delete_grad(&self) {
        Var::clear(self);
    }

    /// The gradient as a NumPy array, or None.
    fn gradient<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.grad(py).map(|g| convert::to_numpy(py, &g.get().tensor().array)).transpose()
    }

    /// Sets the gradient, if there is one, to zeros; or to None without `set_to_zero`.
    #[pyo3(signature = (set_to_zero=true))]
    fn clear_gradient(&self, py: Python<'_>, set_to_zero: bool) -> PyResult<()> {
        if !set_to_zero {
            self.clear();
        } else if let Some(g) = self.grad(py) {
            let old = g.get().tensor();
            let array = Array::full_of(old.dtype(), old.array.dims(), 0.0);
            let zeros = Tensor::made(lift(array.contiguous())?, None, old.levels);
            if old.edge.is_some_and(|e| !e.node.is_leaf()) {
                Var::track(g.bind(py), false)?;
            }
            let mut state = g.get().lock();
            let done = state.assign(&zeros, false);
            drop(state);
            lift(done).map(drop)?;
        }
        Ok(())
    }

    /// Sets the gradient, if there is one, to zeros.
    #[pyo3(signature = (set_to_zero=true))]
    fn clear_grad(&self, py: Python<'_>, set_to_zero: bool) -> PyResult<()> {
        self.clear_gradient(py, set_to_zero)
    }

    /// Differentiates this tensor and adds the gradients to the `.grad` of every leaf (or of `inputs` alone) that it
    /// depends on.
    ///
    /// `gradient` (or `grad_tensor`) is what the derivative is multiplied with, a tensor of this one's shape; one
    /// where it is None. What the ops kept is freed unless `retain_graph` (by default: unless `create_graph`, which
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
                    let text = dialect.seed_type(&g.get_type().name()?.to_string());
                    return Err(raise(py, "ArgumentError", text));
                }
            },
        };
        let inputs = inputs.map(|given| ends(given, "inputs")).transpose()?;
        if inputs.as_ref().is_some_and(Vec::is_empty) {
            return Err(raise(py, "ArgumentError", "`inputs` argument to `backward()` cannot be empty."));
        }
        let seeds = seed.map(|s| vec![Some(s)]);
        let outputs = vec![End::Tensor(slf.clone())];
        let run = || backward(py, outputs, seeds, dialect as usize, retain_graph, create_graph, inputs);
        let Some(path) = dump_backward_graph_path else { return run() };
        let pictures =
            py.import("ferrograd._graph.backward_files")?.call_method1("pictures", (path, (slf,)))?;
        pictures.call_method0("__enter__")?;
        let done = run();
        let none = py.None();
        pictures.call_method1("__exit__", (&none, &none, &none))?;
        done
    }
}

impl Var {
    fn clear(&self) {
        let slot = self.lock().slot.clone();
        if let Some(slot) = slot {
            slot.put(None);
        }
    }
}
