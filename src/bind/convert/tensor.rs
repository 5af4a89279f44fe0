//! Python objects as tensors.

use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::list::items;
use super::numpy::from_numpy;
use crate::bind::value::var::Var;
use crate::graph::Tensor;

/// The value of a tensor as an operand, or of a NumPy array as a constant.
pub fn tensor(o: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if let Ok(v) = o.cast::<Var>() {
        return Ok(Some(v.get().operand()));
    }
    match o.cast::<PyUntypedArray>() {
        Ok(a) => Ok(Some(Tensor::constant(from_numpy(a)?))),
        Err(_) => Ok(None),
    }
}

/// A list or tuple of tensors and NumPy arrays.
pub fn tensors(o: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Tensor>>> {
    if !(o.is_instance_of::<PyList>() || o.is_instance_of::<PyTuple>()) {
        return Ok(None);
    }
    items(o, |item| tensor(&item))
}
