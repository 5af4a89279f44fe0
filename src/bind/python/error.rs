//! The core's errors as Python exceptions. The classes are defined in Python code, because each has several built-in
//! bases.

use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyMemoryError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use super::capi::{attached, no_memory};
use crate::error::Error;
use crate::kernel::pointwise::zero_division::take_zero_division;
use crate::memory;
use crate::ops::registry;

/// The classes. The first one is the base of all others.
const CLASSES: &std::ffi::CStr = c"
class FerrogradError(Exception):
    'The root of every exception of this library.'
class ArgumentError(FerrogradError, AssertionError, ValueError, TypeError, RuntimeError):
    'An argument that the function does not take.'
class ShapeError(ArgumentError):
    'Shapes that do not go together.'
class DtypeError(ArgumentError):
    'A dtype that the function is not defined for.'
class IndexOutOfRange(ArgumentError, IndexError):
    'An index or axis that is not there.'
class VmapError(ArgumentError):
    'What a tensor that stands for the whole batch of a vmap cannot do, such as to give its values.'
class ConversionError(ArgumentError):
    'A tensor that is asked for its numbers where its derivative would be lost.'
class FreedGraphError(FerrogradError, RuntimeError, SystemError):
    'A second walk through a graph that the first one freed.'
class UnusedInputError(FerrogradError, ValueError, RuntimeError):
    'An input that the outputs do not depend on.'
class DuplicateTensorError(FerrogradError, RuntimeError, AssertionError):
    'A tensor given twice where once is meant.'
class LeafInplaceError(FerrogradError, ValueError, RuntimeError):
    'A write into a leaf whose gradient is wanted.'
class NotFiniteError(FerrogradError, FloatingPointError, RuntimeError):
    'A value that is not a number, where one is watched for.'
class NotDifferentiableError(FerrogradError, NotImplementedError):
    'An op without a derivative.'
class LinAlgError(FerrogradError, ValueError, RuntimeError):
    'A matrix without the property that a factorisation needs.'
class ProgramFileError(FerrogradError, ValueError):
    'A file that is no saved program, or not one that this version of the library can run.'
class InternalError(FerrogradError, RuntimeError):
    'A defect of this library.'
";

static NAMES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    let names = PyDict::new(py);
    names.set_item("__name__", "ferrograd")?;
    py.run(CLASSES, Some(&names), None)?;
    for (name, class) in names.iter() {
        let name: String = name.extract()?;
        if !name.starts_with('_') {
            m.add(name.as_str(), class)?;
        }
    }
    let _ = NAMES.set(py, names.unbind());
    Ok(())
}

/// An exception of one of the classes above, by the name of the class.
pub fn raise(py: Python<'_>, class: &str, text: impl Into<String>) -> PyErr {
    let text = in_the_name_of_the_caller(py, text.into());
    let class = NAMES.get(py).and_then(|n| n.bind(py).get_item(class).ok().flatten());
    match class.map(|c| c.call1((text,))) {
        Some(Ok(instance)) => PyErr::from_value(instance),
        Some(Err(error)) => error,
        None => pyo3::exceptions::PyRuntimeError::new_err("the exception classes are not there yet"),
    }
}

/// A text that begins with the name of an op, with the name of the function in its place that the user has called, where
/// that is a function of the Python package.
fn in_the_name_of_the_caller(py: Python<'_>, text: String) -> String {
    let is_op = |word: &str| registry().any(|entry| entry.names.contains(&word));
    let Some((op, what)) = text.split_once(": ").filter(|(op, _)| is_op(op)) else { return text };
    // Where frames cannot be read, the text stays as it is.
    match public_function(py) {
        Ok(Some(name)) if name != op => format!("{name}: {what}"),
        _ => text,
    }
}

/// The outermost public function of the Python package among the frames that end in this call.
fn public_function(py: Python<'_>) -> PyResult<Option<String>> {
    let (mut frame, mut found) = (py.import("sys")?.call_method0("_getframe")?, None);
    while !frame.is_none() {
        let globals = frame.getattr("f_globals")?.cast_into::<PyDict>()?;
        let module = globals.get_item("__name__")?.map_or(Ok(String::new()), |name| name.extract())?;
        if module != "ferrograd" && !module.starts_with("ferrograd.") {
            break;
        }
        let code = frame.getattr("f_code")?;
        if let Some(public) = globals.get_item("__all__")?
            && public.contains(code.getattr("co_qualname")?)?
        {
            found = Some(code.getattr("co_name")?.extract()?);
        }
        frame = frame.getattr("f_back")?;
    }
    Ok(found)
}

/// Whether an exception says nothing about the object that was read: memory has run out, or it is no `Exception`, such as
/// that of Ctrl-C.
pub fn is_of_the_caller(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyMemoryError>(py) || !error.is_instance_of::<PyException>(py)
}

/// Checks that a hook can be called; `op` is the function that takes it.
///
/// # Errors
/// `ArgumentError`, where it cannot.
pub fn check_callable(op: &str, hook: &Bound<'_, PyAny>) -> PyResult<()> {
    if hook.is_callable() {
        return Ok(());
    }
    let text = format!("{op}: a hook is something to be called, not {}", hook.get_type().name()?);
    Err(raise(hook.py(), "ArgumentError", text))
}

/// Results of the core in functions of Python's.
pub trait OrRaise<T> {
    /// The value, or the error as an exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, Box<Error>> {
    #[inline]
    fn or_raise(self) -> PyResult<T> {
        self.map_err(exception)
    }
}

/// Results of Python's in functions of the core.
pub trait OrForeign<T> {
    /// The value, or the exception as an error.
    fn or_foreign(self) -> Result<T, Box<Error>>;
}

impl<T> OrForeign<T> for PyResult<T> {
    #[inline]
    fn or_foreign(self) -> Result<T, Box<Error>> {
        self.map_err(foreign)
    }
}

/// The exception for an error of the core.
#[cold]
pub fn exception(error: Box<Error>) -> PyErr {
    // What the op divided before it failed is not said to its successor.
    take_zero_division();
    let class = match *error {
        Error::Argument { .. } => "ArgumentError",
        Error::Shape { .. } => "ShapeError",
        Error::Dtype { .. } => "DtypeError",
        Error::Vmap { .. } => "VmapError",
        Error::Index { .. } | Error::Axis { .. } => "IndexOutOfRange",
        Error::Singular { .. } => "LinAlgError",
        Error::Freed { .. } => "FreedGraphError",
        Error::NotFinite { .. } => "NotFiniteError",
        Error::NotDifferentiable { .. } => "NotDifferentiableError",
        Error::ProgramFile(_) => "ProgramFileError",
        Error::Internal(_) => "InternalError",
        Error::NoMemory => return attached(no_memory),
        Error::Memory { .. } if memory::is_short() => return attached(no_memory),
        Error::Memory { .. } => return PyMemoryError::new_err(error.to_string()),
        Error::Interrupted => return PyKeyboardInterrupt::new_err(()),
        Error::Foreign(payload) => {
            return match payload.downcast::<PyErr>() {
                Ok(error) => *error,
                Err(_) => pyo3::exceptions::PyRuntimeError::new_err("an unknown foreign error"),
            };
        }
    };
    attached(|py| raise(py, class, error.to_string()))
}

/// The error of the core for an exception, which [`exception`] gives back.
#[cold]
pub fn foreign(error: PyErr) -> Box<Error> {
    Box::new(Error::Foreign(Box::new(error)))
}
