//! Python's iterables as lists. Their lengths are not believed: a list grows with the items that come.

use pyo3::PyTypeInfo;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::bind::python::error::OrRaise;
use crate::error::Error;
use crate::memory::TryPush;

/// The objects in an iterable, each of the type that is wanted.
pub fn list<'py, T: FromPyObjectOwned<'py>>(o: &Bound<'py, PyAny>) -> PyResult<Vec<T>> {
    if o.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("a sequence is wanted, not a str"));
    }
    let all = items(o, |item| item.extract().map(Some).map_err(Into::into))?;
    Ok(all.unwrap_or_default())
}

/// After this many items Ctrl-C is listened for, because a list may be long and an iterable endless.
pub const PERIOD: usize = 1 << 16;

/// Counts an item, and listens for Ctrl-C now and then.
pub fn listen(py: Python<'_>, count: &mut usize) -> PyResult<()> {
    *count += 1;
    if count.is_multiple_of(PERIOD) { py.check_signals() } else { Ok(()) }
}

/// What `read` makes of the items of an iterable. None if it makes nothing of one of them.
pub fn items<'py, T, L: TryPush<T> + Default>(
    o: &Bound<'py, PyAny>,
    read: impl Fn(Bound<'py, PyAny>) -> PyResult<Option<T>>,
) -> PyResult<Option<L>> {
    let mut list = L::default();
    let mut count = 0;
    for item in o.try_iter()? {
        let Some(item) = read(item?)? else { return Ok(None) };
        list.try_push(item).map_err(Box::<Error>::from).or_raise()?;
        listen(o.py(), &mut count)?;
    }
    Ok(Some(list))
}

/// A list of Python's with these objects, made so that a lack of memory is an exception.
pub fn objects<'py, T: PyTypeInfo>(
    py: Python<'py>,
    objects: impl Iterator<Item = PyResult<Bound<'py, T>>>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    let mut count = 0;
    for object in objects {
        list.append(object?)?;
        listen(py, &mut count)?;
    }
    Ok(list)
}
