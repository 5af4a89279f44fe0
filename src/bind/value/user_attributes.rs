//! Attributes that users put on a tensor: a dict, made with the first of them.

use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};

use super::var::Var;
use crate::bind::python::capi::{set_attribute, track};
use crate::bind::python::once::once;

/// Makes the tensor class look into the dicts for attributes that it does not have. That is done when the first dict is
/// made, because it makes every call of a method slower: for a class with a `__getattr__` Python makes an object of
/// each method that it looks up.
fn look_into_dicts(py: Python<'_>) -> PyResult<()> {
    static DONE: PyOnceLock<()> = PyOnceLock::new();
    once(&DONE, py, || {
        let class = py.get_type::<Var>();
        class.setattr("__getattr__", class.getattr("_attribute")?)
    })
    .map(|_| ())
}

/// Whether the class of an object, or one that it inherits from, has an attribute of that name.
fn is_of_class(slf: &Bound<'_, Var>, name: &Bound<'_, PyString>) -> PyResult<bool> {
    for class in slf.get_type().mro() {
        if class.getattr("__dict__")?.contains(name)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn missing(slf: &Bound<'_, Var>, name: &Bound<'_, PyString>) -> PyErr {
    let class = slf.get_type().fully_qualified_name().map_or_else(|e| e.to_string(), |name| name.to_string());
    let text = format!("'{class}' object has no attribute '{}'", name.to_string_lossy());
    let error = PyAttributeError::new_err(text);
    let said = error.value(slf.py());
    // Python's own errors have these attributes, from which it guesses what was meant.
    let known = said.setattr("name", name).and_then(|()| said.setattr("obj", slf));
    known.err().unwrap_or(error)
}

impl Var {
    fn dict<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyDict>> {
        self.lock().extras.as_ref()?.attributes.as_ref().map(|dict| dict.bind(py).clone())
    }

    /// The user's attributes, if there are any. An object of a class that was made in Python has a dict of Python's.
    pub fn attributes<'py>(slf: &Bound<'py, Var>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let own = match slf.get().dict(slf.py()) {
            None if !Var::is_of_own_class(slf) => slf.getattr("__dict__")?.cast_into().ok(),
            own => own,
        };
        Ok(own.filter(|dict| !dict.is_empty()))
    }

    pub fn set_attributes(slf: &Bound<'_, Var>, dict: &Bound<'_, PyDict>) -> PyResult<()> {
        look_into_dicts(slf.py())?;
        let old = slf.get().lock().extras().attributes.replace(dict.clone().unbind());
        drop(old);
        track(slf);
        Ok(())
    }
}

#[pymethods]
impl Var {
    /// The attributes that were put on this tensor, by name.
    #[getter(__dict__)]
    fn read_dict<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        if let Some(known) = slf.get().dict(slf.py()) {
            return Ok(known);
        }
        let made = PyDict::new(slf.py());
        Var::set_attributes(slf, &made)?;
        Ok(made)
    }

    #[setter(__dict__)]
    fn write_dict(slf: &Bound<'_, Self>, dict: &Bound<'_, PyAny>) -> PyResult<()> {
        let Ok(dict) = dict.cast::<PyDict>() else {
            let text = format!("__dict__ must be set to a dictionary, not a '{}'", dict.get_type().name()?);
            return Err(PyTypeError::new_err(text));
        };
        Var::set_attributes(slf, dict)
    }

    #[deleter(__dict__)]
    fn delete_dict(&self) {
        let old = self.lock().extras().attributes.take();
        drop(old);
    }

    /// An attribute that was put on this tensor, for a name that its class does not have.
    fn _attribute<'py>(slf: &Bound<'py, Self>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        let found = slf.get().dict(slf.py()).map(|dict| dict.get_item(name)).transpose()?.flatten();
        found.ok_or_else(|| missing(slf, name))
    }

    fn __setattr__(
        slf: &Bound<'_, Self>,
        name: &Bound<'_, PyString>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        match set_attribute(slf.as_any(), name, Some(value)) {
            Err(e) if e.is_instance_of::<PyAttributeError>(slf.py()) && !is_of_class(slf, name)? => {
                Var::read_dict(slf)?.set_item(name, value)
            }
            done => done,
        }
    }

    fn __delattr__(slf: &Bound<'_, Self>, name: &Bound<'_, PyString>) -> PyResult<()> {
        match set_attribute(slf.as_any(), name, None) {
            Err(e) if e.is_instance_of::<PyAttributeError>(slf.py()) && !is_of_class(slf, name)? => {
                match slf.get().dict(slf.py()) {
                    Some(dict) if dict.contains(name)? => dict.del_item(name),
                    _ => Err(missing(slf, name)),
                }
            }
            done => done,
        }
    }
}
