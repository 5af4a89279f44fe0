//! `__torch_function__` of objects that are no tensors: functions of torch ask it for their result.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};

use super::arguments::Arguments;
use crate::bind::convert::tensor::package_of;
use crate::bind::python::facade::IS_WITHIN;
use crate::bind::value::var::Var;

/// The result that an object among the arguments gives in the place of torch's function `name`, which has refused them.
/// None if no argument has `__torch_function__`, or a function defined in Python that called this one asks it.
#[cold]
pub fn overridden<'py>(
    name: &str,
    slf: Option<&Bound<'py, PyAny>>,
    args: &Arguments<'_, 'py>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = args.py();
    let by_name = PyDict::new(py);
    for (i, key) in args.names()?.iter().flat_map(|names| names.iter()).enumerate() {
        by_name.set_item(key, args.named(i))?;
    }
    let by_place = PyTuple::new(py, slf.cloned().into_iter().chain(args.positional()).collect::<Vec<_>>())?;
    let mut classes: Vec<Bound<'py, PyType>> = vec![];
    for o in by_place.iter().chain(by_name.values().iter()) {
        find(&o, &mut classes)?;
        if o.is_instance_of::<PyList>() || o.is_instance_of::<PyTuple>() {
            for item in o.try_iter()? {
                find(&item?, &mut classes)?;
            }
        }
    }
    let asked_outside = || IS_WITHIN.get(py)?.call0()?.extract::<bool>();
    if classes.is_empty() || asked_outside()? {
        return Ok(None);
    }
    let torch = py.import("ferrograd.torch")?;
    let place = if slf.is_some() { torch.getattr("Tensor")? } else { torch.into_any() };
    let mut function = place;
    for part in name.split('.') {
        match function.getattr_opt(part)? {
            Some(found) => function = found,
            None => return Ok(None),
        }
    }
    let types = PyTuple::new(py, &classes)?;
    for class in &classes {
        let result = class.call_method1("__torch_function__", (&function, &types, &by_place, &by_name))?;
        if !result.is(py.NotImplemented()) {
            return Ok(Some(result));
        }
    }
    Err(PyTypeError::new_err(format!(
        "no implementation found for torch's {name} on types that implement __torch_function__: {}",
        types.repr()?
    )))
}

/// Notes the class of an object that is no tensor, and has `__torch_function__`.
fn find<'py>(o: &Bound<'py, PyAny>, classes: &mut Vec<Bound<'py, PyType>>) -> PyResult<()> {
    let class = o.get_type();
    if !o.is_instance_of::<Var>()
        && !classes.iter().any(|known| known.is(&class))
        && class.getattr_opt("__torch_function__")?.is_some()
        // PyTorch's own tensors would call the function again.
        && package_of(o)?.is_none()
    {
        classes.push(class);
    }
    Ok(())
}
