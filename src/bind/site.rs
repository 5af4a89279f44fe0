//! Call sites: the code object and instruction of the running Python frame, interned. The line is worked out only
//! when someone asks.

use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use pyo3::ffi;
use pyo3::prelude::*;
use rustc_hash::FxHashMap;

use crate::graph::site::{Host, Site, set_host};

type GetLasti = unsafe extern "C" fn(*mut ffi::PyFrameObject) -> c_int;

/// `PyFrame_GetLasti`, which the stable ABI does not promise: looked up in the running process.
static LASTI: OnceLock<Option<GetLasti>> = OnceLock::new();

#[derive(Default)]
struct Sites {
    ids: FxHashMap<(usize, i32), u32>,
    /// By id - 1: the code object, held for good so that its address stays its own, and the instruction.
    list: Vec<(Py<PyAny>, i32)>,
}

static SITES: Mutex<Option<Sites>> = Mutex::new(None);

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

pub fn install(_py: Python<'_>) {
    LASTI.get_or_init(|| {
        // SAFETY: a null handle searches the global scope; the name is a C string.
        let found = unsafe { dlsym(std::ptr::null_mut(), c"PyFrame_GetLasti".as_ptr()) };
        // SAFETY: CPython declares the function with this signature since 3.11.
        (!found.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, GetLasti>(found) })
    });
    set_host(Host { current, describe });
}

/// The site of the running Python frame. Called only where the GIL is held: the engine's own threads run inside
/// [`Site::within`].
fn current() -> Site {
    let Some(Some(lasti)) = LASTI.get() else { return Site(0) };
    // SAFETY: the GIL is held (see above); the frame is borrowed, the code object owned.
    let (code, last) = unsafe {
        let frame = ffi::PyEval_GetFrame();
        if frame.is_null() {
            return Site(0);
        }
        (ffi::PyFrame_GetCode(frame).cast::<ffi::PyObject>(), lasti(frame))
    };
    let mut guard = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    let sites = guard.get_or_insert_default();
    let next = sites.list.len() as u32 + 1;
    let id = *sites.ids.entry((code as usize, last)).or_insert(next);
    if id == next {
        // SAFETY: the GIL is held and `code` is an owned reference, handed over here.
        let code = unsafe { Bound::from_owned_ptr(Python::assume_attached(), code) };
        sites.list.push((code.unbind(), last));
    } else {
        // SAFETY: the GIL is held; the interned reference keeps the object alive.
        unsafe { ffi::Py_DECREF(code) };
    }
    Site(id)
}

/// `file:line` of a site.
fn describe(site: Site) -> Option<String> {
    Python::attach(|py| {
        let (code, last) = {
            let guard = SITES.lock().unwrap_or_else(PoisonError::into_inner);
            let (code, last) = guard.as_ref()?.list.get(site.0 as usize - 1)?;
            (code.clone_ref(py), *last)
        };
        let code = code.bind(py);
        let file: String = code.getattr("co_filename").ok()?.extract().ok()?;
        for span in code.call_method0("co_lines").ok()?.try_iter().ok()? {
            let (start, end, line): (i32, i32, Option<u32>) = span.ok()?.extract().ok()?;
            if (start..end).contains(&last) {
                return Some(format!("{file}:{}", line.unwrap_or(0)));
            }
        }
        Some(file)
    })
}
