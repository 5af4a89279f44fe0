//! Python objects that are made once. Threads that make one at the same time do not wait for each other: the first one counts,
//! and no thread that a fork has left behind is waited for.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// What a cell holds, made by `f` where it holds nothing.
#[inline]
pub fn once<'a, T, E>(
    cell: &'a PyOnceLock<T>,
    py: Python<'_>,
    f: impl FnOnce() -> Result<T, E>,
) -> Result<&'a T, E> {
    match cell.get(py) {
        Some(known) => Ok(known),
        None => {
            // Whoever was first has set it.
            let _ = cell.set(py, f()?);
            Ok(cell.get(py).expect("it has been set"))
        }
    }
}

/// A name as the object that Python uses for it.
macro_rules! intern {
    ($py:expr, $name:expr) => {{
        static NAME: pyo3::sync::PyOnceLock<pyo3::Py<pyo3::types::PyString>> = pyo3::sync::PyOnceLock::new();
        let py = $py;
        let made = || Ok(pyo3::types::PyString::intern(py, $name).unbind());
        match $crate::bind::python::once::once(&NAME, py, made) {
            Ok(name) => name.bind(py),
            Err(never) => {
                let never: std::convert::Infallible = never;
                match never {}
            }
        }
    }};
}
pub(crate) use intern;
