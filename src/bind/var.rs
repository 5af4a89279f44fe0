//! `Var`: what Python holds. A lock around a tensor, the place of its gradient and its dialect.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::PyArrayDescr;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::autograd::grad_enabled;
use super::convert;
use super::deposit::Slot;
use super::dialect::Dialect;
use super::error::raise;
use crate::array::Item;
use crate::graph::Tensor;

pub struct State {
    pub tensor: Tensor,
    /// Where its gradient is put, once it is a leaf.
    pub slot: Option<Arc<Slot>>,
    pub dialect: Dialect,
}

/// An n-dimensional array that knows how it was computed.
#[pyclass(frozen, subclass, weakref, name = "Tensor", module = "ferrograd")]
pub struct Var {
    state: Mutex<State>,
}

impl Var {
    pub fn new(tensor: Tensor, dialect: Dialect) -> Var {
        Var { state: Mutex::new(State { tensor, slot: None, dialect }) }
    }

    /// A result of an op.
    #[inline]
    pub fn result(py: Python<'_>, tensor: Tensor, dialect: Dialect) -> PyResult<Bound<'_, Var>> {
        let var = dialect.object(py, Var::new(tensor, dialect))?;
        super::convert::untrack(&var);
        Ok(var)
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tensor with its edge.
    #[inline]
    pub fn tensor(&self) -> Tensor {
        self.lock().tensor.clone()
    }

    /// The tensor as an op takes it: without its edge where recording is off.
    #[inline]
    pub fn operand(&self) -> Tensor {
        let t = self.tensor();
        if grad_enabled() { t } else { t.detach() }
    }

    pub fn dialect_of(o: &Bound<'_, PyAny>) -> Option<Dialect> {
        o.cast::<Var>().ok().map(|v| v.get().lock().dialect)
    }
}

#[pymethods]
impl Var {
    /// The sizes of the axes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.lock().tensor.dims())
    }

    /// The NumPy dtype of the elements.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDescr> {
        convert::descr(py, self.lock().tensor.dtype())
    }

    /// A read-only NumPy view of the values.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (array, tracked, dialect) = {
            let state = self.lock();
            (state.tensor.array.clone(), state.tensor.is_tracked(), state.dialect)
        };
        if tracked && !dialect.numpy_of_tracked() {
            let text =
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.";
            return Err(pyo3::exceptions::PyRuntimeError::new_err(text));
        }
        convert::to_numpy(py, &array)
    }

    /// A read-only NumPy view of the values, or a copy where another dtype or a copy is asked for.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let view = convert::to_numpy(py, &self.tensor().array)?;
        let kwargs = pyo3::types::PyDict::new(py);
        kwargs.set_item("copy", copy)?;
        match (dtype, copy) {
            (None, None | Some(false)) => Ok(view),
            _ => py.import("numpy")?.call_method("array", (view, dtype), Some(&kwargs)),
        }
    }

    /// The single element as a Python number.
    fn item(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let array = self.tensor().array;
        if array.len() != 1 {
            let text = format!(
                "item: only a tensor of one element is a number, this one has shape {:?}",
                array.dims()
            );
            return Err(raise(py, "ArgumentError", text));
        }
        Ok(match array.item() {
            Item::Bool(b) => b.into_pyobject(py)?.to_owned().into_any().unbind(),
            Item::Int(i) => i.into_pyobject(py)?.into_any().unbind(),
            Item::Float(f) => f.into_pyobject(py)?.into_any().unbind(),
        })
    }
}
