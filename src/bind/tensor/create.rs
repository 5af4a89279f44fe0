//! Tensors made of Python objects.

use numpy::PyUntypedArray;
use pyo3::prelude::*;

use crate::bind::convert::array::from_object;
use crate::bind::convert::number::Flag;
use crate::bind::convert::numpy::{copied, dtype_in, meet_array, memory_of, no_dtype};
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::raise;
use crate::bind::python::facade::WARN_OF_LIST;
use crate::bind::value::storage::SharedValue;
use crate::bind::value::var::{Value, Var};
use crate::graph::Tensor;
use crate::graph::modes::{Flags, flags};

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
        Var::check_not_differentiated(&x.get().look(), "tensor")?;
    }
    let mut made = from_object(data, dtype)?;
    // Where a transform would lose a derivative, a list stays what it was computed of.
    if made.is_tracked() && dialect.copies_lists() && Var::check_not_differentiated(&made, "tensor").is_ok() {
        made = made.detach();
        WARN_OF_LIST.get(py)?.call0()?;
    }
    let v = Var::result(py, made, dialect)?;
    // In the other dialects a list of tracked tensors is tracked without being asked.
    if track {
        Var::require_grad(&v, track)?;
    }
    Ok(v)
}

/// A tensor in the memory of a NumPy array, to which both write. None if tensors cannot lie there: the array is empty or
/// read-only, has a dtype that tensors do not have, or its elements lie at other distances than those of elements.
#[pyfunction]
fn sharing<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyUntypedArray>,
    dialect: Dialect,
) -> PyResult<Option<Bound<'py, Var>>> {
    if meet_array() {
        return Ok(None);
    }
    let Some((memory, loan, layout)) = memory_of(data)? else { return Ok(None) };
    let value = SharedValue::of_loan(memory, loan, layout, flags().has(Flags::INFERENCE));
    Var::object(py, Value::Shared(Box::new(value)), dialect).map(Some)
}

/// A tensor of a NumPy array whose numbers follow from shapes alone: they are the same in each run of a program.
#[pyfunction]
fn constant<'py>(py: Python<'py>, data: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, Var>> {
    Var::result(py, Tensor::constant(copied(data)?), Dialect::Native)
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(constant, m)?)?;
    m.add_function(wrap_pyfunction!(sharing, m)?)?;
    m.add_function(wrap_pyfunction!(make, m)?)
}
