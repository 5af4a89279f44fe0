//! Tensors made of Python objects.

use numpy::PyUntypedArray;
use pyo3::prelude::*;

use crate::bind::convert::array::from_object;
use crate::bind::convert::number::Flag;
use crate::bind::convert::numpy::{copied, dtype_in, no_dtype};
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::raise;
use crate::bind::value::var::Var;
use crate::graph::Tensor;

/// A tensor of numbers, nested lists, arrays or tensors, which are copied.
#[pyfunction]
#[pyo3(signature = (data, dtype, track, dialect))]
fn make<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    track: Flag,
    dialect: Dialect,
) -> PyResult<Bound<'py, Var>> {
    let Flag(track) = track;
    let dtype = match dtype {
        None => None,
        Some(d) => Some(dtype_in(d, dialect)?.ok_or_else(|| {
            let text = match d.extract::<String>() {
                Ok(word) => format!("tensor: {}", no_dtype(&word)),
                Err(_) => format!(
                    "tensor: {} is no dtype of tensors",
                    d.repr().map_or(String::new(), |r| r.to_string())
                ),
            };
            raise(py, "DtypeError", text)
        })?),
    };
    // A copy that requires a gradient itself is a leaf on purpose.
    if let (Ok(x), false) = (data.cast::<Var>(), track) {
        Var::check_not_differentiated(&x.get().tensor(), "tensor")?;
    }
    let v = Var::result(py, from_object(data, dtype)?, dialect)?;
    // A list of tracked tensors is tracked without being asked.
    if track {
        Var::require_grad(&v, track)?;
    }
    Ok(v)
}

/// A tensor of a NumPy array whose numbers follow from shapes alone: they are the same in each run of a program.
#[pyfunction]
fn constant<'py>(py: Python<'py>, data: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, Var>> {
    Var::result(py, Tensor::constant(copied(data)?), Dialect::Native)
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(constant, m)?)?;
    m.add_function(wrap_pyfunction!(make, m)?)
}
