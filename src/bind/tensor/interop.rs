//! NumPy's protocols, copies and pickles.

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyTuple};

use crate::bind::convert::numpy::{copied_to_numpy, lent_to_numpy, shown, to_numpy};
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::facade::{FUNCTION, NAMESPACE, REDUCE, UFUNC};
use crate::bind::python::modes::grad_enabled;
use crate::bind::value::var::Var;

impl Var {
    /// The values as a NumPy array, for a function of the name `what`: in memory that both write to, or read-only.
    fn in_numpy<'py>(&self, py: Python<'py>, what: &str) -> PyResult<Bound<'py, PyAny>> {
        if !self.dialect().shares_with_numpy() {
            return to_numpy(py, &self.numbers(what)?);
        }
        // A trace is given up here, before the tensor is locked.
        self.numbers_of(self.look(), what)?.ptr();
        let (array, loan) = self.export().or_raise()?;
        lent_to_numpy(py, &array, loan)
    }

    /// A copy of the values as a leaf with the same flag, name and dialect, and with the gradient `grad`.
    fn copy_as_leaf<'py>(&self, py: Python<'py>, grad: Option<Bound<'py, Var>>) -> PyResult<Bound<'py, Var>> {
        let tensor = self.tensor();
        Var::check_not_differentiated(&tensor, "copy")?;
        let name = self.given_name(py);
        let is_shared = self.region().is_some();
        let make = if is_shared { Var::laid_out } else { Var::result_of };
        let copy = make(py, None, tensor.detach(), self.dialect())?;
        Var::set_tracked(&copy, tensor.is_tracked())?;
        let mut state = copy.get().lock();
        if name.is_some() {
            state.extras().name = name;
        }
        if let Some(g) = grad {
            state.slot.get_or_insert_default().set_grad(Some(g.unbind()));
        }
        drop(state);
        Ok(copy)
    }
}

#[pymethods]
impl Var {
    /// A NumPy array: natively a read-only one in the memory of the tensor, in the dialect of Paddle a copy, in that of torch
    /// one in the memory of the tensor, where both see what is written to the other. `blocking` has no effect, since there is
    /// nothing to wait for.
    #[pyo3(signature = (blocking=true))]
    fn numpy<'py>(&self, py: Python<'py>, blocking: bool) -> PyResult<Bound<'py, PyAny>> {
        let _ = blocking;
        let (tracked, dialect) = (self.look().is_tracked(), self.dialect());
        if tracked && grad_enabled() && !dialect.numpy_of_tracked() {
            let text =
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.";
            return Err(pyo3::exceptions::PyRuntimeError::new_err(text));
        }
        if dialect.copies_for_numpy() {
            return copied_to_numpy(py, &self.numbers("numpy")?);
        }
        self.in_numpy(py, "numpy")
    }

    /// A NumPy array in the memory of the tensor as `numpy()` gives it, or a copy if another dtype or a copy is asked for.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(true) {
            let kwargs = [("copy", true)].into_py_dict(py)?;
            let view = to_numpy(py, &self.numbers("numpy.asarray")?)?;
            return py.import("numpy")?.call_method("array", (view, dtype), Some(&kwargs));
        }
        let view = self.in_numpy(py, "numpy.asarray")?;
        if dtype.is_none() {
            return Ok(view);
        }
        let kwargs = PyDict::new(py);
        if copy.is_some() {
            kwargs.set_item("copy", copy)?;
        }
        py.import("numpy")?.call_method(
            if copy.is_some() { "array" } else { "asarray" },
            (view, dtype),
            Some(&kwargs),
        )
    }

    /// NumPy's universal functions on tensors are those of this library: `numpy.sin(x)` can be differentiated.
    #[pyo3(signature = (*args, **kwargs))]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        UFUNC.get(slf.py())?.call(args, kwargs)
    }

    /// NumPy's other functions on tensors are those of this library where it has them, otherwise NumPy's own on the
    /// values.
    fn __array_function__<'py>(
        slf: &Bound<'py, Self>,
        function: &Bound<'py, PyAny>,
        types: &Bound<'py, PyAny>,
        args: &Bound<'py, PyAny>,
        kwargs: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        FUNCTION.get(slf.py())?.call1((function, types, args, kwargs))
    }

    /// The namespace of the Python array API standard.
    #[pyo3(signature = (*, api_version=None))]
    fn __array_namespace__<'py>(
        &self,
        py: Python<'py>,
        api_version: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(version) =
            api_version.filter(|v| !matches!(*v, "2021.12" | "2022.12" | "2023.12" | "2024.12" | "2025.12"))
        {
            let text = format!("version {version} of the array API is not known here");
            return Err(raise(py, "ArgumentError", text));
        }
        NAMESPACE.get(py).cloned()
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Var>> {
        let py = slf.py();
        let copy = slf.get().copy_as_leaf(py, slf.get().grad(py).map(|g| g.into_bound(py)))?;
        if let Some(attributes) = Var::attributes(slf)? {
            Var::set_attributes(&copy, &attributes.copy()?)?;
        }
        Ok(copy)
    }

    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, memo: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let key = slf.as_ptr() as usize;
        if let Some(known) = memo.get_item(key)? {
            return Ok(known);
        }
        let grad = match slf.get().grad(py).map(|g| g.into_bound(py)) {
            Some(g) => Some(Var::__deepcopy__(&g, memo)?.cast_into()?),
            None => None,
        };
        let copy = slf.get().copy_as_leaf(py, grad)?;
        memo.set_item(key, &copy)?;
        if let Some(attributes) = Var::attributes(slf)? {
            let copied = py.import("copy")?.call_method1("deepcopy", (attributes, memo))?;
            Var::set_attributes(&copy, copied.cast::<PyDict>()?)?;
        }
        Ok(copy.into_any())
    }

    fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, protocol: i64) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let tensor = slf.get().tensor();
        let array = Var::values_of(tensor.clone(), "pickle")?;
        Var::check_not_differentiated(&tensor, "pickle")?;
        let (tracked, dialect) = (tensor.is_tracked(), slf.get().dialect() as usize);
        let name = slf.get().given_name(py);
        let (view, dtype) = (shown(py, &array.contiguous().or_raise()?)?, array.dtype().name());
        let reduce = REDUCE.get(py)?;
        reduce.call1((view, dtype, tracked, dialect, name, Var::attributes(slf)?, protocol))
    }
}
