//! The arguments of a call as CPython passes them.

use std::slice;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The arguments of a C function with the flags `METH_FASTCALL | METH_KEYWORDS`, borrowed while the call lasts.
pub struct Arguments<'a, 'py> {
    py: Python<'py>,
    slf: *mut ffi::PyObject,
    positional: &'a [*mut ffi::PyObject],
    /// The values of the arguments that are given by name, and the tuple of the names (null without any).
    named: &'a [*mut ffi::PyObject],
    names: *mut ffi::PyObject,
}

impl<'a, 'py> Arguments<'a, 'py> {
    /// # Safety
    /// `args` points to `n` objects, followed by one for each name in the tuple `names`, which may be null. All of
    /// them, and `slf`, live while the result does.
    #[inline]
    pub unsafe fn new(
        py: Python<'py>,
        slf: *mut ffi::PyObject,
        args: *const *mut ffi::PyObject,
        n: ffi::Py_ssize_t,
        names: *mut ffi::PyObject,
    ) -> Arguments<'a, 'py> {
        // SAFETY: by the contract above, `names` is null or a tuple, and `args` points to `n` objects followed by one
        // for each name.
        let (positional, named) = unsafe {
            let named = if names.is_null() { 0 } else { ffi::PyTuple_Size(names) as usize };
            if n as usize + named == 0 {
                (&[][..], &[][..])
            } else {
                slice::from_raw_parts(args, n as usize + named).split_at(n as usize)
            }
        };
        Arguments { py, slf, positional, named, names }
    }

    pub fn py(&self) -> Python<'py> {
        self.py
    }

    #[inline]
    fn object(&self, p: *mut ffi::PyObject) -> Bound<'py, PyAny> {
        // SAFETY: every pointer here is an object that lives through the call (see `new`); this makes another
        // reference.
        unsafe { Bound::from_borrowed_ptr(self.py, p) }
    }

    /// The object whose method is called.
    #[inline]
    pub fn slf(&self) -> Bound<'py, PyAny> {
        self.object(self.slf)
    }

    /// Whether this is the object whose method is called.
    #[inline]
    pub fn is_of<T>(&self, o: &Py<T>) -> bool {
        self.slf == o.as_ptr()
    }

    #[inline]
    pub fn positional(&self) -> impl ExactSizeIterator<Item = Bound<'py, PyAny>> {
        self.positional.iter().map(|&p| self.object(p))
    }

    /// All arguments.
    #[inline]
    pub fn objects(&self) -> impl Iterator<Item = Bound<'py, PyAny>> {
        self.positional.iter().chain(self.named).map(|&p| self.object(p))
    }

    /// The names of the arguments that are given by name.
    #[inline]
    pub fn names(&self) -> PyResult<Option<Bound<'py, PyTuple>>> {
        if self.names.is_null() {
            return Ok(None);
        }
        Ok(Some(self.object(self.names).cast_into()?))
    }

    /// The value of the name at position `i` in [`Arguments::names`].
    #[inline]
    pub fn named(&self, i: usize) -> Bound<'py, PyAny> {
        self.object(self.named[i])
    }
}
