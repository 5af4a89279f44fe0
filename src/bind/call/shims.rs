//! Ops as C functions, which CPython calls without making tuples and dicts of the arguments.

use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use super::arguments::Arguments;
use super::callable::CALLABLES;
use super::inplace;
use super::invoke::call;
use super::overrides::asked;
use crate::bind::python::capi::attached;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::exception;
use crate::bind::value::var::Var;
use crate::error::Error;
use crate::ops::entry::InPlace;

/// A C function with the flags `METH_FASTCALL | METH_KEYWORDS`.
pub type CFunction = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    ffi::Py_ssize_t,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// The action of the C functions of one kind.
trait Shim {
    fn run<'py>(number: usize, args: &Arguments<'_, 'py>) -> PyResult<Bound<'py, PyAny>>;
}

/// Methods of tensors, by their number in [`CALLABLES`].
struct Method;

impl Shim for Method {
    fn run<'py>(number: usize, args: &Arguments<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        call(&CALLABLES[number], None, Some(args.slf()), args)
    }
}

/// The in-place forms of methods: the result is written over the tensor that the method is called on.
struct InPlaceMethod;

impl Shim for InPlaceMethod {
    fn run<'py>(number: usize, args: &Arguments<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let (callable, slf) = (&CALLABLES[number], args.slf());
        let reshapes = callable.entry.in_place == InPlace::AnyShape;
        inplace::replace(slf.cast::<Var>()?, callable.name, reshapes, || {
            call(callable, None, Some(slf.clone()), args)
        })?;
        Ok(slf)
    }
}

/// Augmented assignments, by their number in [`inplace::AUGMENTED`].
struct Augmented;

impl Shim for Augmented {
    fn run<'py>(number: usize, args: &Arguments<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut positional = args.positional();
        match (positional.len(), positional.next()) {
            (1, Some(y)) => inplace::augmented(number, &args.slf(), &y),
            (n, _) => Err(PyTypeError::new_err(format!("expected 1 argument, got {n}"))),
        }
    }
}

/// Functions of the dialects' namespaces, by their number in [`CALLABLES`].
struct Function;

impl Shim for Function {
    fn run<'py>(number: usize, args: &Arguments<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut namespaces = NAMESPACES.get(args.py()).into_iter().flatten();
        let own = namespaces.find(|(module, _)| args.is_of(module)).map(|(_, dialect)| *dialect);
        if own == Some(Dialect::Torch)
            && let Some(result) = asked(CALLABLES[number].name, args)?
        {
            return Ok(result);
        }
        call(&CALLABLES[number], own, None, args)
    }
}

/// The modules of functions and their dialects. A function knows its module, and so its dialect.
pub static NAMESPACES: PyOnceLock<Vec<(Py<PyModule>, Dialect)>> = PyOnceLock::new();

/// A C function of a kind. It has its number as a constant, since a C method has no place for data of its own.
unsafe extern "C" fn shim<S: Shim, const NUMBER: usize>(
    slf: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    n: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: CPython calls this with the GIL held and the arguments of a call.
    unsafe { enter::<S>(NUMBER, slf, args, n, names) }
}

/// The body of every [`shim`] of a kind, compiled once. Errors and panics become the pending exception.
///
/// # Safety
/// The GIL is held, and the pointers are those that CPython passes for a call.
#[inline(never)]
unsafe fn enter<S: Shim>(
    number: usize,
    slf: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    n: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the caller holds the GIL, and CPython keeps the arguments alive through the call.
    let (py, args) = unsafe {
        let py = Python::assume_attached();
        (py, Arguments::new(py, slf, args, n, names))
    };
    let result = catch_unwind(AssertUnwindSafe(|| S::run(number, &args)));
    match result.unwrap_or_else(|p| Err(exception(Error::from_panic(p)))) {
        Ok(value) => value.into_ptr(),
        Err(error) => {
            // PyO3 defers freeing an object in a thread until it knows that the thread holds the GIL.
            attached(|_| error.restore(py));
            std::ptr::null_mut()
        }
    }
}

/// The C functions of a kind by number: eight for each of the given numbers, or 576.
macro_rules! numbered {
    ($kind:ty: $($hi:literal)*) => { [$(
        shim::<$kind, { $hi * 8 }>, shim::<$kind, { $hi * 8 + 1 }>,
        shim::<$kind, { $hi * 8 + 2 }>, shim::<$kind, { $hi * 8 + 3 }>,
        shim::<$kind, { $hi * 8 + 4 }>, shim::<$kind, { $hi * 8 + 5 }>,
        shim::<$kind, { $hi * 8 + 6 }>, shim::<$kind, { $hi * 8 + 7 }>,
    )*] };
    ($kind:ty) => {
        numbered!($kind: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33
            34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68
            69 70 71)
    };
}

/// The methods by their number in [`CALLABLES`].
pub static METHODS: [CFunction; 576] = numbered!(Method);
/// The in-place forms of the methods by their number in [`CALLABLES`].
pub static IN_PLACE_METHODS: [CFunction; 576] = numbered!(InPlaceMethod);
/// The functions by their number in [`CALLABLES`].
static FUNCTIONS: [CFunction; 576] = numbered!(Function);
/// The augmented assignments by their number in [`inplace::AUGMENTED`].
pub static AUGMENTED: [CFunction; 16] = numbered!(Augmented: 0 1);

/// A C method definition that lives as long as the process.
fn definition(name: &str, doc: String, f: CFunction) -> *mut ffi::PyMethodDef {
    let text = |s: String| CString::new(s).expect("no zero bytes").into_raw().cast_const().cast::<c_char>();
    Box::into_raw(Box::new(ffi::PyMethodDef {
        ml_name: text(name.to_owned()),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: f },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: text(doc),
    }))
}

/// A method of a class. `f` is one of the tables above.
pub fn method<'py>(
    class: &Bound<'py, PyType>,
    name: &str,
    doc: String,
    f: CFunction,
) -> PyResult<Bound<'py, PyAny>> {
    let definition = definition(name, doc, f);
    // SAFETY: the definition is never freed, and the function has the signature that its flags say.
    unsafe {
        let method = ffi::PyDescr_NewMethod(class.as_type_ptr(), definition);
        Bound::from_owned_ptr_or_err(class.py(), method)
    }
}

/// A function of a dialect's namespace that calls what has that number. Its `__self__` is the module that it is in, as
/// for every function of an extension module, so it can be pickled by its name.
pub fn function<'py>(
    number: usize,
    name: &str,
    doc: String,
    module: &Bound<'py, PyModule>,
) -> PyResult<Bound<'py, PyAny>> {
    let definition = definition(name, doc, FUNCTIONS[number]);
    // SAFETY: the definition is never freed, and the function has the signature that its flags say.
    unsafe {
        let function = ffi::PyCFunction_NewEx(definition, module.as_ptr(), module.name()?.as_ptr());
        Bound::from_owned_ptr_or_err(module.py(), function)
    }
}
