//! Python objects as tensors.

use numpy::PyUntypedArray;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyList, PyString, PyTuple, PyType};

use super::list::items;
use super::number::{is_numpy_scalar, number};
use super::numpy::from_numpy;
use crate::array::{Array, Item};
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::OrRaise;
use crate::bind::python::stack;
use crate::bind::value::var::Var;
use crate::dtype::DType;
use crate::graph::Tensor;
use crate::ops::movement::real;

/// The value of a tensor as an operand, or of a NumPy array, or of an object that NumPy reads as one through `__array__`
/// (such as a column of pandas), as a constant. None for tensors of other packages too.
pub fn tensor(o: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if let Ok(v) = o.cast::<Var>() {
        return Ok(Some(v.get().operand()));
    }
    if let Ok(a) = o.cast::<PyUntypedArray>() {
        return Ok(Some(Tensor::constant(from_numpy(a)?)));
    }
    if !offers_array(o)? {
        return Ok(None);
    }
    // `__array__` may call the library again.
    stack::check().or_raise()?;
    let made = o.py().import("numpy")?.call_method1("asarray", (o,))?;
    Ok(Some(Tensor::constant(from_numpy(&made.cast_into()?)?)))
}

/// Whether the object is a NumPy array, or one that NumPy reads as an array: [`tensor`] makes a constant of it.
pub fn is_array(o: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(o.is_instance_of::<PyUntypedArray>() || offers_array(o)?)
}

/// Whether the object's class has `__array__`. NumPy's scalars are numbers, and tensors of other packages may be tracked
/// there.
fn offers_array(o: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(o.get_type().getattr_opt("__array__")?.is_some() && !is_numpy_scalar(o)? && package_of(o)?.is_none())
}

/// The packages whose arrays have graphs or lie on devices, by the first part of the names of their modules.
const PACKAGES: [&str; 8] = ["torch", "paddle", "jax", "jaxlib", "tensorflow", "mlx", "mindspore", "cupy"];

/// The package that an object's class comes from, if it is a tensor of another one.
pub fn package_of(o: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    if o.is_instance_of::<Var>() || o.is_instance_of::<PyType>() {
        return Ok(None);
    }
    for class in o.get_type().mro() {
        let Some(package) = package_of_class(&class)? else { continue };
        if class.hasattr("__array__")? || class.hasattr("__dlpack__")? {
            return Ok(Some(if package == "jaxlib" { "jax" } else { package }));
        }
    }
    Ok(None)
}

fn package_of_class(class: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    let Some(module) = class.getattr_opt("__module__")? else { return Ok(None) };
    let Ok(module) = module.cast_into::<PyString>() else { return Ok(None) };
    let module = module.to_cow()?;
    let root = module.split('.').next().unwrap_or("");
    Ok(PACKAGES.into_iter().find(|package| *package == root))
}

/// The real part of complex numbers that become numbers of a real dtype, with a warning. None where nothing is lost, and for truth
/// values, which say whether a number is not 0.
pub fn real_part_for(py: Python<'_>, t: &Tensor, dtype: DType) -> PyResult<Option<Tensor>> {
    if !t.dtype().is_complex() || dtype.is_complex() || dtype == DType::Bool {
        return Ok(None);
    }
    let text = c"Casting complex values to real discards the imaginary part";
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), text, 1)?;
    real(t).or_raise().map(Some)
}

/// A list or tuple of tensors and NumPy arrays.
pub fn tensors(o: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Tensor>>> {
    if !is_list(o) {
        return Ok(None);
    }
    items(o, |item| tensor(&item))
}

/// Whether an object is a list or a tuple.
pub fn is_list(o: &Bound<'_, PyAny>) -> bool {
    o.is_instance_of::<PyList>() || o.is_instance_of::<PyTuple>()
}

/// A scalar of NumPy's with 64 bits or more that is no integer: a number that says how exact it is.
pub fn wide_scalar(o: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if o.is_exact_instance_of::<PyFloat>() || !is_numpy_scalar(o)? {
        return Ok(None);
    }
    let bytes: usize = o.getattr("itemsize")?.extract()?;
    Ok(match number(o)? {
        Some(Item::Float(f)) if bytes >= 8 => Some(Tensor::constant(Array::scalar(f))),
        Some(Item::Complex(z)) if bytes >= 16 => Some(Tensor::constant(Array::scalar(z))),
        _ => None,
    })
}

/// What is said of a tensor of another package that was given as `given_as`. None for any other object.
#[pyfunction]
fn foreign_tensor(value: &Bound<'_, PyAny>, given_as: &str, dialect: Dialect) -> PyResult<Option<String>> {
    Ok(package_of(value)?.map(|package| dialect.foreign_tensor(given_as, package)))
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(foreign_tensor, m)?)
}
