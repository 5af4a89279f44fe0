//! The registry as Python functions and methods: C functions that lead to any entry by number, and where they are put.

use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::call::{Given, gathered, one_by_one, parameter, run, signature};
use super::dialect::Dialect;
use super::error::raise;
use super::inplace;
use super::var::Var;
use crate::error::Error;
use crate::ops::Index;
use crate::ops::entry::{Entry, InPlace, Param};
use crate::ops::registry;

static ENTRIES: LazyLock<Vec<&'static Entry>> = LazyLock::new(|| registry().collect());

type Function = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    ffi::Py_ssize_t,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// A function for each number below 512, which it gets as a constant, since a C method has no place for data of its own.
macro_rules! numbered {
    ($f:ident: $($hi:literal)*) => { [$(
        $f::<{ $hi * 8 }>, $f::<{ $hi * 8 + 1 }>, $f::<{ $hi * 8 + 2 }>, $f::<{ $hi * 8 + 3 }>,
        $f::<{ $hi * 8 + 4 }>, $f::<{ $hi * 8 + 5 }>, $f::<{ $hi * 8 + 6 }>, $f::<{ $hi * 8 + 7 }>,
    )*] };
    ($f:ident) => {
        numbered!($f: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63)
    };
}

/// The methods by the number of their entry, and their twins that write in place.
const METHODS: [Function; 512] = numbered!(method);
const TWINS: [Function; 512] = numbered!(twin);

unsafe extern "C" fn method<const N: usize>(
    slf: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    n: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: CPython calls this with the GIL held and `n` arguments plus one for each name.
    unsafe { method_at(N, slf, args, n, names) }
}

/// The body of every [`method`], compiled once.
///
/// # Safety
/// That of [`call`], with the GIL held.
#[inline(never)]
unsafe fn method_at(
    entry: usize,
    slf: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    n: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the caller's promise.
    unsafe { enter(|py| call(py, ENTRIES[entry], None, Some(slf), args, n as usize, names)) }
}

/// The method whose result is written over the tensor that it is called on.
unsafe extern "C" fn twin<const N: usize>(
    slf: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    n: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as above.
    unsafe { twin_at(N, slf, args, n, names) }
}

/// The body of every [`twin`], compiled once.
///
/// # Safety
/// That of [`call`], with the GIL held.
#[inline(never)]
unsafe fn twin_at(
    entry: usize,
    slf: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    n: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the caller's promise.
    unsafe {
        enter(|py| {
            written(py, entry, slf, || call(py, ENTRIES[entry], None, Some(slf), args, n as usize, names))
        })
    }
}

/// # Safety
/// `slf` is a tensor.
unsafe fn written<'py>(
    py: Python<'py>,
    entry: usize,
    slf: *mut ffi::PyObject,
    f: impl Fn() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: a borrowed reference that lives through the call.
    let slf = unsafe { Bound::from_borrowed_ptr(py, slf) };
    let reshapes = ENTRIES[entry].in_place == InPlace::AnyShape;
    inplace::replace(slf.cast::<Var>()?, ENTRIES[entry].names[0], reshapes, f)?;
    Ok(slf)
}

/// An augmented assignment, by number.
unsafe extern "C" fn augmented<const N: usize>(
    slf: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    n: ffi::Py_ssize_t,
    _names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: CPython calls this with the GIL held and `n` arguments.
    unsafe {
        enter(|py| {
            if n != 1 {
                return Err(PyTypeError::new_err(format!("expected 1 argument, got {n}")));
            }
            let x = Bound::from_borrowed_ptr(py, slf);
            let y = Bound::from_borrowed_ptr(py, *args);
            inplace::augmented(N, &x, &y)
        })
    }
}

/// Functions carry `entry * 4 + dialect` as the integer that is their `self`.
unsafe extern "C" fn function(
    slf: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    n: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as above; `slf` is the integer given when the function was made.
    unsafe {
        let tag = ffi::PyLong_AsLong(slf) as usize;
        enter(|py| {
            call(py, ENTRIES[tag / 4], Some(Dialect::from_index(tag % 4)), None, args, n as usize, names)
        })
    }
}

/// Runs a call from CPython: errors and panics become the pending exception.
///
/// # Safety
/// The GIL is held.
unsafe fn enter(f: impl FnOnce(Python<'_>) -> PyResult<Bound<'_, PyAny>>) -> *mut ffi::PyObject {
    // SAFETY: the caller's promise.
    let py = unsafe { Python::assume_attached() };
    match catch_unwind(AssertUnwindSafe(|| f(py))).unwrap_or_else(|p| Err(Error::from_panic(p).into())) {
        Ok(value) => value.into_ptr(),
        Err(error) => {
            error.restore(py);
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// The pointers are those of a vectorcall.
unsafe fn call<'py>(
    py: Python<'py>,
    entry: &'static Entry,
    dialect: Option<Dialect>,
    slf: Option<*mut ffi::PyObject>,
    args: *const *mut ffi::PyObject,
    n: usize,
    names: *mut ffi::PyObject,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: borrowed references that live through the call.
    let object = |p: *mut ffi::PyObject| unsafe { Bound::from_borrowed_ptr(py, p) };
    // SAFETY: `n` positional arguments.
    let positional = slf.into_iter().chain((0..n).map(|i| unsafe { *args.add(i) }));
    let mut given: Given<'py> = positional.map(|p| Some(object(p))).collect();
    if given.len() > entry.params.len() || one_by_one(entry, &given) {
        given = gathered(py, entry, given)?;
    }
    given.resize(entry.params.len(), None);
    let mut out = None;
    if !names.is_null() {
        let names = object(names).cast_into::<PyTuple>()?;
        for (k, name) in names.iter_borrowed().enumerate() {
            let name = name.cast::<PyString>()?;
            let name = name.to_str()?;
            // SAFETY: the values of the names follow the positional arguments.
            let value = object(unsafe { *args.add(n + k) });
            let Some(at) = parameter(entry, name) else {
                if name == "out" {
                    out = Some(value).filter(|o| !o.is_none());
                    continue;
                }
                // Where tensors live is no question here.
                if matches!(name, "name" | "device" | "place") {
                    continue;
                }
                return Err(PyTypeError::new_err(format!(
                    "{}() got an unexpected keyword argument '{name}'; its parameters are {}",
                    entry.names[0],
                    signature(entry)
                )));
            };
            if given[at].is_some() {
                return Err(PyTypeError::new_err(format!(
                    "{}() got multiple values for argument '{}'",
                    entry.names[0], entry.params[at].name
                )));
            }
            given[at] = Some(value);
        }
    }
    let result = run(py, entry, dialect, &given)?;
    match out {
        None => Ok(result),
        Some(out) => delivered(entry.names[0], &result, out),
    }
}

/// A result written into the tensor that `out` names.
#[cold]
fn delivered<'py>(
    op: &str,
    result: &Bound<'py, PyAny>,
    out: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (Ok(target), true) = (out.cast::<Var>(), result.is_instance_of::<Var>()) else {
        let kind = out.get_type().name()?;
        return Err(raise(
            out.py(),
            "ArgumentError",
            format!("{op}: out takes one tensor for one result, not {kind}"),
        ));
    };
    let dims = |v: &Var| v.tensor().dims().to_vec();
    let (own, new) = (dims(target.get()), dims(result.cast::<Var>()?.get()));
    if own != new && own.contains(&0) && target.get().dialect().empty_out_takes_shape() {
        inplace::replace(target, op, true, || Ok(result.clone()))?;
    } else {
        inplace::write(target, op, &[Index::Ellipsis], result)?;
    }
    Ok(out)
}

/// A parameter for Python: its name, kind, whether it may be None, and its default (None where there is none).
type Parameter = (&'static str, String, bool, Option<String>);

/// Every entry: its names, its parameters and whether it is a method. Tests walk it.
#[pyfunction(name = "registry")]
pub fn listed() -> Vec<(Vec<&'static str>, Vec<Parameter>, bool)> {
    let param = |p: &Param| {
        (p.name, format!("{:?}", p.kind.base), p.kind.optional, p.default.map(|d| format!("{d:?}")))
    };
    let entry = |e: &&Entry| (e.names.to_vec(), e.params.iter().map(param).collect(), e.method);
    ENTRIES.iter().map(entry).collect()
}

/// A C method definition that lives as long as the process.
fn definition(entry: &'static Entry, name: &str, f: Function, method: bool) -> *mut ffi::PyMethodDef {
    let mut parameters = signature(entry);
    if method {
        parameters = parameters.replacen(entry.params[0].name, "$self", 1);
    }
    let text = |s: String| CString::new(s).expect("no zero bytes").into_raw().cast_const().cast::<c_char>();
    Box::into_raw(Box::new(ffi::PyMethodDef {
        ml_name: text(name.to_owned()),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: f },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: text(format!("{name}{parameters}\n--\n\n{}", entry.doc)),
    }))
}

/// Every entry that is a method put on the tensor class, under all its names; then the twins that write in place, whose
/// names end in an underscore, and the augmented assignments.
pub fn add_methods(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<Var>();
    assert!(ENTRIES.len() <= METHODS.len(), "more ops than method slots");
    let put = |name: &str, entry: &'static Entry, f: Function| {
        // SAFETY: the definition is never freed, and the function has the signature that its flags say.
        let method = unsafe {
            let d = definition(entry, name, f, true);
            Bound::from_owned_ptr_or_err(py, ffi::PyDescr_NewMethod(class.as_type_ptr(), d))?
        };
        class.setattr(name, method)
    };
    for (i, entry) in ENTRIES.iter().enumerate().filter(|(_, e)| e.method) {
        for name in entry.names.iter().filter(|n| !n.contains('.')) {
            put(name, entry, METHODS[i])?;
            if entry.in_place != InPlace::None {
                put(&format!("{name}_"), entry, TWINS[i])?;
            }
        }
    }
    const AUGMENTED: [Function; 16] = numbered!(augmented: 0 1);
    for (i, (name, _)) in inplace::AUGMENTED.iter().enumerate() {
        let text = |s: &str| CString::new(s).expect("no zero bytes").into_raw().cast_const().cast::<c_char>();
        // SAFETY: as above.
        let method = unsafe {
            let d = Box::into_raw(Box::new(ffi::PyMethodDef {
                ml_name: text(name),
                ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: AUGMENTED[i] },
                ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
                ml_doc: text(
                    "Writes the result over the tensor on the left; in the Paddle dialect, makes a new one.",
                ),
            }));
            Bound::from_owned_ptr_or_err(py, ffi::PyDescr_NewMethod(class.as_type_ptr(), d))?
        };
        class.setattr(*name, method)?;
    }
    Ok(())
}

/// Every entry as a function of a dialect's namespace: the module `ferrograd._core.native` (`paddle`, `torch`), and
/// modules below it where a name has dots.
pub fn add_namespace(core: &Bound<'_, PyModule>, dialect: Dialect) -> PyResult<()> {
    let py = core.py();
    let root = submodule(core, dialect.name())?;
    for (i, entry) in ENTRIES.iter().enumerate() {
        for name in entry.names {
            let tag = (i * 4 + dialect as usize).into_pyobject(py)?;
            let (place, short) = match name.rsplit_once('.') {
                Some((path, short)) => {
                    (path.split('.').try_fold(root.clone(), |m, p| submodule(&m, p))?, short)
                }
                None => (root.clone(), *name),
            };
            // SAFETY: as above; the integer is kept by the function.
            let f = unsafe {
                let d = definition(entry, short, function, false);
                Bound::from_owned_ptr_or_err(
                    py,
                    ffi::PyCFunction_NewEx(d, tag.as_ptr(), place.name()?.as_ptr()),
                )?
            };
            place.setattr(short, f)?;
            place.index()?.append(short)?;
        }
    }
    Ok(())
}

/// The module of that name below another: made, and made importable, when first asked for.
fn submodule<'py>(parent: &Bound<'py, PyModule>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    if let Ok(known) = parent.getattr(name) {
        return Ok(known.cast_into()?);
    }
    let py = parent.py();
    let path = format!("{}.{name}", parent.name()?);
    let path = path.strip_prefix("_core").map_or(path.clone(), |rest| format!("ferrograd._core{rest}"));
    let module = PyModule::new(py, &path)?;
    py.import("sys")?.getattr("modules")?.set_item(&path, &module)?;
    parent.setattr(name, &module)?;
    Ok(module)
}
