//! The classes of tensors, one for each dialect, and the one way in which their objects are made.

use std::ffi::CString;

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::capture::note_made;
use super::storage::SharedValue;
use super::var::{State, Value, Var};
use crate::bind::python::capi::untrack;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::raise;
use crate::bind::python::facade::TORCH_TENSOR;
use crate::bind::python::modes::{self, grad_enabled};
use crate::graph::modes::{Flags, flags};
use crate::graph::{DetachReason, Tensor};
use crate::kernel::pointwise::zero_division::take_zero_division;

/// The class of Paddle's tensors. Methods that mean something else there than natively are put on it in Python.
#[pyclass(frozen, extends = Var, subclass, name = "Tensor", module = "ferrograd.paddle")]
pub struct PaddleTensor;

/// The class of torch's tensors. Methods that mean something else there than natively are put on it in Python.
#[pyclass(frozen, extends = Var, subclass, name = "Tensor", module = "ferrograd.torch")]
pub struct TorchTensor;

#[pymethods]
impl TorchTensor {
    /// A tensor of a shape (`Tensor(2, 3)`), of numbers (`Tensor([1, 2])`), or a view of another tensor. The dtype is the
    /// default float.
    #[new]
    #[pyo3(signature = (*args, device=None))]
    fn new<'py>(
        args: &Bound<'py, PyTuple>,
        device: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<PyClassInitializer<TorchTensor>> {
        let made = TORCH_TENSOR.get(args.py())?.call1((args, device))?;
        let made = made.cast::<Var>()?;
        let given = args.get_item(0).is_ok_and(|first| first.is(made));
        made.get().meet_trace();
        if given && grad_enabled() && made.get().look().is_tracked() {
            let value = Var::value_of_alias(made)?;
            return Ok(PyClassInitializer::from(Var::new(value, Dialect::Torch)).add_subclass(TorchTensor));
        }
        let value = match &mut *made.get().lock() {
            // A list of tracked tensors was stacked with its graph.
            State { value: Value::Own(t), .. } if !given && t.is_tracked() => Value::Own(t.clone()),
            State { value: Value::Own(t), .. } if !given => Value::Own(t.detach()),
            state => Value::Shared(Box::new(state.shared().detached(None, DetachReason::default()))),
        };
        Ok(PyClassInitializer::from(Var::new(value, Dialect::Torch)).add_subclass(TorchTensor))
    }
}

/// Warns of an integer that an op divided by 0, with the name of NumPy's function, or raises with the name that was called.
#[cold]
fn divided_by_zero(py: Python<'_>, op: &str, called: &str, dialect: Dialect) -> PyResult<()> {
    if let Some(text) = dialect.error_of_zero_division() {
        return Err(raise(py, "ArgumentError", format!("{called}: {text}")));
    }
    let text = CString::new(format!("divide by zero encountered in {op}"))?;
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)
}

impl Var {
    /// A Python object of the dialect's class with a value of its own, such as the result of an op.
    #[inline]
    pub fn result(py: Python<'_>, tensor: Tensor, dialect: Dialect) -> PyResult<Bound<'_, Var>> {
        Var::result_of(py, None, tensor, dialect)
    }

    /// [`Var::result`] of a function that was called under this name.
    #[inline]
    pub fn result_of<'py>(
        py: Python<'py>,
        name: Option<&str>,
        tensor: Tensor,
        dialect: Dialect,
    ) -> PyResult<Bound<'py, Var>> {
        if let Some(op) = take_zero_division() {
            divided_by_zero(py, op, name.unwrap_or(op), dialect)?;
        }
        Var::object(py, Value::Own(tensor), dialect)
    }

    /// [`Var::result_of`] a value that has been laid out. A tensor of torch's keeps its strides, if its elements lie without gaps.
    #[cold]
    #[inline(never)]
    pub fn laid_out<'py>(
        py: Python<'py>,
        name: Option<&str>,
        t: Tensor,
        dialect: Dialect,
    ) -> PyResult<Bound<'py, Var>> {
        let keeps = dialect == Dialect::Torch && !t.array.is_contiguous();
        match if keeps { SharedValue::in_order(&t, flags().has(Flags::INFERENCE)) } else { None } {
            Some(value) => {
                modes::check_saves_no_inference(&t)?;
                Var::object(py, Value::Shared(Box::new(value)), dialect)
            }
            None => Var::result_of(py, name, t, dialect),
        }
    }

    /// A Python object of the dialect's class.
    #[inline]
    pub fn object(py: Python<'_>, value: Value, dialect: Dialect) -> PyResult<Bound<'_, Var>> {
        if let Value::Own(t) = &value {
            modes::check_saves_no_inference(t)?;
        }
        let has_host_parts = value.has_host_parts();
        let start = || PyClassInitializer::from(Var::new(value, dialect));
        let var = match dialect {
            Dialect::Native => Bound::new(py, start())?,
            Dialect::Paddle => Bound::new(py, start().add_subclass(PaddleTensor))?.into_super(),
            Dialect::Torch => Bound::new(py, start().add_subclass(TorchTensor))?.into_super(),
        };
        if !has_host_parts {
            untrack(&var);
        }
        if flags().has(Flags::TRACING) {
            note_made(&var)?;
        }
        Ok(var)
    }

    /// Whether the object is of its dialect's class itself, not of a subclass made in Python.
    pub fn is_of_own_class(slf: &Bound<'_, Var>) -> bool {
        let py = slf.py();
        slf.get_type().is(match slf.get().dialect() {
            Dialect::Native => py.get_type::<Var>(),
            Dialect::Paddle => py.get_type::<PaddleTensor>(),
            Dialect::Torch => py.get_type::<TorchTensor>(),
        })
    }
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Var>()?;
    m.add("PaddleTensor", m.py().get_type::<PaddleTensor>())?;
    m.add("TorchTensor", m.py().get_type::<TorchTensor>())
}
