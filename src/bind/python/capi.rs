//! The few calls of CPython's C interface that PyO3 does not offer.

use std::cell::Cell;

use pyo3::PyClass;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyString};

thread_local! {
    /// Whether this thread has let go of the GIL to work without it.
    static IS_AWAY: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` without the GIL. While the interpreter ends nobody could take it back, so there it is kept.
pub fn detached<T: Send>(py: Python<'_>, f: impl FnOnce() -> T + Send) -> T {
    // SAFETY: this reads a flag.
    if unsafe { ffi::Py_IsInitialized() } == 0 {
        return f();
    }
    py.detach(|| {
        let before = IS_AWAY.replace(true);
        let result = f();
        IS_AWAY.set(before);
        result
    })
}

/// Runs `f` with the GIL, which this thread holds already or takes. A thread that was without it when the interpreter
/// began to end waits here for the end of the process.
pub fn attached<T>(f: impl FnOnce(Python<'_>) -> T) -> T {
    let mut f = Some(f);
    let mut run = |py: Python<'_>| f.take().map(|f| f(py));
    let result = Python::try_attach(&mut run).unwrap_or_else(|| {
        while IS_AWAY.get() {
            std::thread::park();
        }
        // SAFETY: while the interpreter ends, `detached` lets no thread go of the GIL, and those that had let go wait
        // above. So this thread is the one that holds it.
        run(unsafe { Python::assume_attached() })
    });
    result.expect("the function has run once")
}

/// The start, stop and step of a slice. A part that is None becomes the end that the direction of the slice has. `None`
/// where a part is no integer, or the step is 0.
pub fn slice_bounds(s: &Bound<'_, PySlice>) -> Option<[i64; 3]> {
    let (mut start, mut stop, mut step) = (0, 0, 0);
    // SAFETY: the object is a slice, the three pointers are valid, and the GIL is held.
    if unsafe { ffi::PySlice_Unpack(s.as_ptr(), &mut start, &mut stop, &mut step) } < 0 {
        drop(PyErr::take(s.py()));
        return None;
    }
    Some([start as i64, stop as i64, step as i64])
}

/// Hides a new object from the garbage collector. The object holds no Python object, so it is in no cycle, and a
/// program that keeps many results is spared walks over all of them.
///
/// `T` is a class of PyO3's: all of them are garbage-collected types.
#[inline]
pub fn untrack<T: PyClass>(o: &Bound<'_, T>) {
    // SAFETY: the object is of a garbage-collected type and the GIL is held.
    unsafe { ffi::PyObject_GC_UnTrack(o.as_ptr().cast()) }
}

/// Shows an object to the garbage collector again, because it is about to hold a Python object.
pub fn track<T: PyClass>(o: &Bound<'_, T>) {
    // SAFETY: as in `untrack`; an object that is tracked already is left alone.
    unsafe {
        if ffi::PyObject_GC_IsTracked(o.as_ptr()) == 0 {
            ffi::PyObject_GC_Track(o.as_ptr().cast());
        }
    }
}

/// The other object, if the class of both is the same one. That is a look at two pointers, where a cast searches the bases of
/// the class.
#[inline]
pub fn of_same_class<'a, 'py, T: PyClass>(
    o: &Bound<'py, T>,
    other: &'a Bound<'py, PyAny>,
) -> Option<&'a Bound<'py, T>> {
    if o.as_any().get_type_ptr() != other.get_type_ptr() {
        return None;
    }
    // SAFETY: an object whose class is that of an instance of `T` is an instance of `T`.
    Some(unsafe { other.cast_unchecked() })
}

/// How many references to an object there are.
pub fn references(o: &Bound<'_, PyAny>) -> usize {
    // SAFETY: the object is alive and the GIL is held.
    unsafe { ffi::Py_REFCNT(o.as_ptr()) as usize }
}

/// `MemoryError`, made without memory.
pub fn no_memory(py: Python<'_>) -> PyErr {
    // SAFETY: the GIL is held.
    unsafe { ffi::PyErr_NoMemory() };
    PyErr::fetch(py)
}

/// Sets an attribute, or deletes it where `value` is None, in the way of a class without `__setattr__` and
/// `__delattr__`.
pub fn set_attribute(
    o: &Bound<'_, PyAny>,
    name: &Bound<'_, PyString>,
    value: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let value = value.map_or(std::ptr::null_mut(), |v| v.as_ptr());
    // SAFETY: the pointers are an object, a string, and an object or null; the GIL is held.
    match unsafe { ffi::PyObject_GenericSetAttr(o.as_ptr(), name.as_ptr(), value) } {
        0 => Ok(()),
        _ => Err(PyErr::fetch(o.py())),
    }
}
