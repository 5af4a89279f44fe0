//! Call sites: the code object and instruction of the running Python frame, interned. The line is worked out only
//! when someone asks.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use pyo3::ffi;
use pyo3::prelude::*;
use rustc_hash::FxHashMap;

use crate::graph::site::{Host, Site, set_host};

type GetLasti = unsafe extern "C" fn(*mut ffi::PyFrameObject) -> c_int;
type GetBack = unsafe extern "C" fn(*mut ffi::PyFrameObject) -> *mut ffi::PyFrameObject;

/// `PyFrame_GetLasti` and `PyFrame_GetBack`, which the stable ABI does not promise: looked up in the running process.
static FRAMES: OnceLock<Option<(GetLasti, GetBack)>> = OnceLock::new();

/// The number that stands for every place in the library's own Python code: the site is its caller's.
const OWN: u32 = u32::MAX;

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
    FRAMES.get_or_init(|| {
        // SAFETY: a null handle searches the global scope; the names are C strings.
        let (lasti, back) = unsafe {
            (
                dlsym(std::ptr::null_mut(), c"PyFrame_GetLasti".as_ptr()),
                dlsym(std::ptr::null_mut(), c"PyFrame_GetBack".as_ptr()),
            )
        };
        if lasti.is_null() || back.is_null() {
            return None;
        }
        // SAFETY: CPython declares the functions with these signatures since 3.11.
        Some(unsafe {
            (
                std::mem::transmute::<*mut c_void, GetLasti>(lasti),
                std::mem::transmute::<*mut c_void, GetBack>(back),
            )
        })
    });
    set_host(Host { current, describe });
}

/// The site of the running Python frame, or of the nearest one outside this library. Called only where the GIL is
/// held: the engine's own threads have a fixed site. No code of the user's runs meanwhile: frames are made
/// into objects here, which might set off the collector of cycles.
fn current() -> Site {
    // SAFETY: the GIL is held.
    let collects = unsafe { ffi::PyGC_Disable() } == 1;
    let site = nearest();
    if collects {
        // SAFETY: as above.
        unsafe { ffi::PyGC_Enable() };
    }
    site
}

fn nearest() -> Site {
    let Some(Some((lasti, back))) = FRAMES.get() else { return Site(0) };
    // SAFETY: the GIL is held (see above); the frame is borrowed.
    let mut frame = unsafe { ffi::PyEval_GetFrame() };
    let mut held = std::ptr::null_mut();
    let site = loop {
        if frame.is_null() {
            break Site(0);
        }
        // SAFETY: the GIL is held and the frame is running or held; the code object is owned.
        let (code, last) = unsafe { (ffi::PyFrame_GetCode(frame).cast::<ffi::PyObject>(), lasti(frame)) };
        let id = known(code, last).unwrap_or_else(|| intern(frame, code, last));
        // SAFETY: owned by this call; the interned reference keeps the object alive.
        unsafe { ffi::Py_DECREF(code) };
        if id != OWN {
            break Site(id);
        }
        // SAFETY: as above; the caller's frame is owned, and let go when the next one is reached.
        unsafe {
            frame = back(frame);
            ffi::Py_XDECREF(held);
        }
        held = frame.cast();
    };
    // SAFETY: owned since the loop took it.
    unsafe { ffi::Py_XDECREF(held) };
    site
}

/// Places met lately, so that a loop finds them without a lock: each a code object, and instruction and number. Only
/// read and written where the GIL is held, so that the two belong together.
static LATELY: [(AtomicUsize, AtomicU64); 64] = [const { (AtomicUsize::new(0), AtomicU64::new(0)) }; 64];

#[inline]
fn known(code: *mut ffi::PyObject, last: i32) -> Option<u32> {
    let (place, found) = &LATELY[((code as usize / 64) ^ (last as usize / 2)) % LATELY.len()];
    let numbers = found.load(Relaxed);
    if place.load(Relaxed) == code as usize && (numbers >> 32) as i32 == last {
        return Some(numbers as u32);
    }
    let guard = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    let id = guard.as_ref()?.ids.get(&(code as usize, last)).copied()?;
    place.store(code as usize, Relaxed);
    found.store((last as u64) << 32 | u64::from(id), Relaxed);
    Some(id)
}

/// The number of a place that is met for the first time.
#[cold]
fn intern(frame: *mut ffi::PyFrameObject, code: *mut ffi::PyObject, last: i32) -> u32 {
    // SAFETY: the GIL is held; both references are borrowed from the caller's.
    let (frame, held) = unsafe {
        let py = Python::assume_attached();
        (Bound::from_borrowed_ptr(py, frame.cast()), Bound::from_borrowed_ptr(py, code).unbind())
    };
    let own = is_own(&frame);
    let mut guard = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    let sites = guard.get_or_insert_default();
    sites.list.push((held, last));
    let id = if own { OWN } else { sites.list.len() as u32 };
    *sites.ids.entry((code as usize, last)).or_insert(id)
}

/// Whether a frame runs the library's own code.
fn is_own(frame: &Bound<'_, PyAny>) -> bool {
    let name =
        frame.getattr("f_globals").and_then(|g| g.get_item("__name__")).and_then(|n| n.extract::<String>());
    name.is_ok_and(|n| n == "ferrograd" || n.starts_with("ferrograd."))
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
