//! Call sites: the code object and the instruction of the running Python frame, as a number. The line is looked up only
//! when someone asks for it.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use pyo3::ffi;
use pyo3::prelude::*;
use rustc_hash::FxHashMap;

use crate::graph::site::{Host, Site, set_host};

type GetLasti = unsafe extern "C" fn(*mut ffi::PyFrameObject) -> c_int;
type GetBack = unsafe extern "C" fn(*mut ffi::PyFrameObject) -> *mut ffi::PyFrameObject;

/// `PyFrame_GetLasti` and `PyFrame_GetBack`. They are not part of the stable ABI, so they are looked up in the running
/// process.
static FRAMES: OnceLock<Option<(GetLasti, GetBack)>> = OnceLock::new();

/// The number of every place in the library's own Python code. The call site is then the caller's.
const OWN: u32 = u32::MAX;

#[derive(Default)]
struct Sites {
    ids: FxHashMap<(usize, i32), u32>,
    /// By number - 1: the code object, which is kept for good so that no other object gets its address, and the
    /// instruction.
    list: Vec<(Py<PyAny>, i32)>,
}

static SITES: Mutex<Option<Sites>> = Mutex::new(None);

pub fn install() {
    FRAMES.get_or_init(|| {
        // SAFETY: `RTLD_DEFAULT` searches the whole process; the names are C strings.
        let (lasti, back) = unsafe {
            (
                libc::dlsym(libc::RTLD_DEFAULT, c"PyFrame_GetLasti".as_ptr()),
                libc::dlsym(libc::RTLD_DEFAULT, c"PyFrame_GetBack".as_ptr()),
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

/// The site of the running Python frame, or of the nearest one outside this library. It is called only where the GIL is
/// held: the engine's own threads run inside [`Site::within`]. Frame objects are made here, so the garbage collector,
/// which could run the user's code, is switched off meanwhile.
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
        // SAFETY: the GIL is held, and the frame is running or owned by this function; the code object is a new
        // reference.
        let (code, last) = unsafe { (ffi::PyFrame_GetCode(frame).cast::<ffi::PyObject>(), lasti(frame)) };
        let id = known(code, last).unwrap_or_else(|| intern(frame, code, last));
        // SAFETY: this function owns the reference; the table of sites keeps the object alive.
        unsafe { ffi::Py_DECREF(code) };
        if id != OWN {
            break Site(id);
        }
        // SAFETY: the GIL is held. `back` returns a new reference, which `held` owns until the next frame is reached.
        unsafe {
            frame = back(frame);
            ffi::Py_XDECREF(held);
        }
        held = frame.cast();
    };
    // SAFETY: the last frame that the loop has taken is owned here, or there is none.
    unsafe { ffi::Py_XDECREF(held) };
    site
}

/// The places met last, so that a loop finds its own without a lock: the code object, and the instruction with the
/// number. They are read and written only where the GIL is held, so the two halves always belong together.
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

/// Gives a number to a place that is met for the first time.
#[cold]
fn intern(frame: *mut ffi::PyFrameObject, code: *mut ffi::PyObject, last: i32) -> u32 {
    // SAFETY: the GIL is held; the caller owns both references.
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

/// Whether a frame runs the library's own Python code.
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
