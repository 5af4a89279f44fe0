//! `__torch_function__`: functions of torch ask it for their result. Those of objects that are no tensors are asked for what
//! a function has refused. Those of subclasses of the tensors, and modes, come first, once a program has some.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

use super::arguments::Arguments;
use crate::bind::convert::tensor::package_of;
use crate::bind::python::facade::{ASK, IS_WITHIN};
use crate::bind::value::classes::TorchTensor;
use crate::bind::value::var::Var;

/// Whether the functions of torch ask subclasses of its tensors.
static ASKS_CLASSES: AtomicBool = AtomicBool::new(false);
/// Whether they ask modes.
static ASKS_MODES: AtomicBool = AtomicBool::new(false);

/// From now on the functions of torch ask subclasses, and modes if these are on.
#[pyfunction]
fn let_ask(modes: bool) {
    ASKS_CLASSES.store(true, Ordering::Relaxed);
    ASKS_MODES.store(modes, Ordering::Relaxed);
}

/// The result that a subclass or a mode gives in the place of a function of torch; None where nobody answers.
#[inline]
pub fn asked<'py>(name: &str, args: &Arguments<'_, 'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if ASKS_CLASSES.load(Ordering::Relaxed) { ask(name, args) } else { Ok(None) }
}

#[cold]
fn ask<'py>(name: &str, args: &Arguments<'_, 'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !ASKS_MODES.load(Ordering::Relaxed) && args.objects().all(|o| is_plain(&o)) {
        return Ok(None);
    }
    let short = name.rsplit_once('.').map_or(name, |(_, short)| short);
    let function = args.slf().getattr(short)?;
    let (by_place, by_name) = packed(None, args)?;
    let result = ASK.get(args.py())?.call1((function, by_place, by_name))?;
    Ok(if result.is(args.py().NotImplemented()) { None } else { Some(result) })
}

/// Whether an object is of a class that answers for nothing. Others may be such classes, or hold objects of them.
fn is_plain(o: &Bound<'_, PyAny>) -> bool {
    o.is_exact_instance_of::<TorchTensor>()
        || o.is_none()
        || o.is_exact_instance_of::<PyInt>()
        || o.is_exact_instance_of::<PyFloat>()
        || o.is_exact_instance_of::<PyBool>()
        || o.is_exact_instance_of::<PyString>()
}

/// The arguments of a call as a tuple and a dictionary.
fn packed<'py>(
    slf: Option<&Bound<'py, PyAny>>,
    args: &Arguments<'_, 'py>,
) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
    let by_name = PyDict::new(args.py());
    for (i, key) in args.names()?.iter().flat_map(|names| names.iter()).enumerate() {
        by_name.set_item(key, args.named(i))?;
    }
    let by_place = slf.cloned().into_iter().chain(args.positional()).collect::<Vec<_>>();
    Ok((PyTuple::new(args.py(), by_place)?, by_name))
}

/// The result that an object among the arguments gives in the place of torch's function `name`, which has refused them.
/// None if no argument has `__torch_function__`, or a function defined in Python that called this one asks it.
#[cold]
pub fn overridden<'py>(
    name: &str,
    slf: Option<&Bound<'py, PyAny>>,
    args: &Arguments<'_, 'py>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = args.py();
    let (by_place, by_name) = packed(slf, args)?;
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

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(let_ask, m)?)
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
