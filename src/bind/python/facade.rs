//! What the Python package gives to the core: classes and functions that are better written in Python.
//!
//! The package hands over one function, `load`, when it is imported. Each object is asked for by its role when it is
//! first needed, so a module of the package that a program does not use is not imported.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use super::dialect::Dialect;
use super::error::raise;
use super::once::once;

/// Takes the name of a role and returns the object that plays it.
static LOAD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// An object of the package, under the name of its role. It is asked for once.
pub struct PythonObject {
    name: &'static str,
    object: PyOnceLock<Py<PyAny>>,
}

impl PythonObject {
    const fn new(name: &'static str) -> PythonObject {
        PythonObject { name, object: PyOnceLock::new() }
    }

    /// The object.
    ///
    /// # Errors
    /// Those of importing its module.
    #[inline]
    pub fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        Ok(once(&self.object, py, || self.load(py))?.bind(py))
    }

    #[cold]
    fn load(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let Some(load) = LOAD.get(py) else {
            let text = format!("the package has not registered what plays the role '{}'", self.name);
            return Err(raise(py, "InternalError", text));
        };
        load.call1(py, (self.name,))
    }
}

/// The classes of shapes, one for each dialect.
static SIZES: PythonObject = PythonObject::new("sizes");
/// The device objects, one for each dialect.
static DEVICES: PythonObject = PythonObject::new("devices");
/// What `x.size` of torch's dialect gives for a shape: an object that can be called.
pub static SIZE_METHOD: PythonObject = PythonObject::new("size_method");
/// `repr()` of a tensor.
pub static SHOW: PythonObject = PythonObject::new("show");
/// A tensor as HTML.
pub static HTML: PythonObject = PythonObject::new("html");
/// `__array_ufunc__`.
pub static UFUNC: PythonObject = PythonObject::new("ufunc");
/// `__array_function__`.
pub static FUNCTION: PythonObject = PythonObject::new("function");
/// The namespace of the array API standard.
pub static NAMESPACE: PythonObject = PythonObject::new("namespace");
/// `__reduce_ex__`: the state of a pickle.
pub static REDUCE: PythonObject = PythonObject::new("reduce");
/// The context in which a backward pass leaves pictures of its graph.
pub static PICTURES: PythonObject = PythonObject::new("pictures");
/// Warns of a backward pass without effect.
pub static WARN_OF_NOTHING: PythonObject = PythonObject::new("warn_of_nothing");
/// Warns of a pass whose gradients, which it leaves in `.grad`, have a history.
pub static WARN_OF_CREATE_GRAPH: PythonObject = PythonObject::new("warn_of_create_graph");
/// Warns that a tensor made of a list with tracked tensors has their numbers alone.
pub static WARN_OF_LIST: PythonObject = PythonObject::new("warn_of_list");
/// Whether a function of a dialect that asks `__torch_function__` by itself called this one.
pub static IS_WITHIN: PythonObject = PythonObject::new("is_within");
/// What asks subclasses of torch's tensors, and modes, for the result of a function.
pub static ASK: PythonObject = PythonObject::new("ask");
/// The context of the gradients of a program's call, for what the program of the gradients cannot do.
pub static GRADIENT_CONTEXT: PythonObject = PythonObject::new("gradient_context");
/// What calling torch's tensor class makes.
pub static TORCH_TENSOR: PythonObject = PythonObject::new("torch_tensor");

/// The class of dtypes that are not NumPy's.
pub static DTYPE: PythonObject = PythonObject::new("dtype");
/// The dtype of a name in a dialect.
pub static DTYPE_OF: PythonObject = PythonObject::new("dtype_of");
/// NumPy's bfloat16 if something has added it to NumPy, else None.
pub static NUMPY_BFLOAT16: PythonObject = PythonObject::new("numpy_bfloat16");

/// A shape as an object of the dialect's class.
pub fn shape<'py>(py: Python<'py>, dims: &[usize], dialect: Dialect) -> PyResult<Bound<'py, PyAny>> {
    let classes = SIZES.get(py)?.cast::<PyTuple>()?;
    classes.get_borrowed_item(dialect as usize)?.call1((PyTuple::new(py, dims)?,))
}

/// The dialect's object for the CPU.
pub fn device(py: Python<'_>, dialect: Dialect) -> PyResult<Bound<'_, PyAny>> {
    DEVICES.get(py)?.get_item(dialect as usize)
}

/// Sets the function that finds an object of the package by its role. The first call counts.
#[pyfunction]
fn register(load: Bound<'_, PyAny>) {
    let _ = LOAD.set(load.py(), load.unbind());
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(register, m)?)
}
