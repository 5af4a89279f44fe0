//! Python objects as numbers.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyComplexMethods, PyFloat, PyInt, PyString, PyType};

use crate::array::Item;
use crate::bind::python::once::once;
use crate::dtype::c128;

/// The number of a Python or NumPy scalar.
pub fn number(o: &Bound<'_, PyAny>) -> PyResult<Option<Item>> {
    if let Ok(f) = o.cast::<PyFloat>() {
        return Ok(Some(Item::Float(f.value())));
    }
    if let Ok(b) = o.cast::<PyBool>() {
        return Ok(Some(Item::Bool(b.is_true())));
    }
    if o.is_instance_of::<PyInt>() {
        return match o.extract::<i128>() {
            Ok(i) => Ok(Some(Item::Int(i))),
            Err(_) => Ok(Some(Item::Float(o.extract()?))),
        };
    }
    if let Ok(z) = o.cast::<PyComplex>() {
        return Ok(Some(Item::Complex(c128::new(z.real(), z.imag()))));
    }
    if !is_numpy_scalar(o)? {
        return Ok(None);
    }
    let item = o.call_method0("item")?;
    // `item()` of NumPy's long double returns the long double itself, and its complex one likewise.
    match is_numpy_scalar(&item)? {
        true if is_complex_scalar(o)? => number(&o.call_method0("__complex__")?),
        true => Ok(Some(Item::Float(o.extract()?))),
        false => number(&item),
    }
}

/// Whether an object is one of NumPy's scalars, which have a dtype.
pub fn is_numpy_scalar(o: &Bound<'_, PyAny>) -> PyResult<bool> {
    static GENERIC: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    o.is_instance(class_of_numpy(&GENERIC, o.py(), "generic")?)
}

/// Whether one of NumPy's scalars is complex.
fn is_complex_scalar(o: &Bound<'_, PyAny>) -> PyResult<bool> {
    static COMPLEX: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    o.is_instance(class_of_numpy(&COMPLEX, o.py(), "complexfloating")?)
}

fn class_of_numpy<'py>(
    known: &'py PyOnceLock<Py<PyType>>,
    py: Python<'py>,
    name: &str,
) -> PyResult<&'py Bound<'py, PyType>> {
    let import = || Ok::<_, PyErr>(py.import("numpy")?.getattr(name)?.cast_into()?.unbind());
    Ok(once(known, py, import)?.bind(py))
}

/// The truth value of Python's or NumPy's bools.
pub fn truth(o: &Bound<'_, PyAny>) -> Option<bool> {
    if let Ok(b) = o.cast::<PyBool>() {
        return Some(b.is_true());
    }
    match number(o) {
        Ok(Some(Item::Bool(b))) => Some(b),
        _ => None,
    }
}

/// The value that `requires_grad` or `stop_gradient` is set to.
pub struct Flag(pub bool);

impl<'py> FromPyObject<'_, 'py> for Flag {
    type Error = PyErr;

    fn extract(o: Borrowed<'_, 'py, PyAny>) -> PyResult<Flag> {
        truth(&o).map(Flag).ok_or_else(|| {
            let class = o.get_type().name().map_or_else(|_| "an object".to_owned(), |n| n.to_string());
            PyTypeError::new_err(format!("requires_grad (or stop_gradient) is True or False, not {class}"))
        })
    }
}

/// The integer of an object with `__index__`.
pub fn index(o: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    if o.is_instance_of::<PyFloat>() || o.is_instance_of::<PyString>() {
        return Ok(None);
    }
    match o.extract::<i64>() {
        Ok(i) => Ok(Some(i)),
        Err(e) if e.is_instance_of::<PyTypeError>(o.py()) => Ok(None),
        Err(e) => Err(e),
    }
}
