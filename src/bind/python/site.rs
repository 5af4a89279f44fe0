//! Call sites: the file and line of the running Python frame, and the modules that are called, as a number. The line is
//! found by the code object and the instruction of the frame.

use std::any::Any;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use rustc_hash::FxHashMap;

use super::capi::attached;
use super::scope;
use crate::fork;
use crate::graph::site::{Host, Site, set_host};

type GetLasti = unsafe extern "C" fn(*mut ffi::PyFrameObject) -> c_int;
type GetBack = unsafe extern "C" fn(*mut ffi::PyFrameObject) -> *mut ffi::PyFrameObject;

/// `PyFrame_GetLasti` and `PyFrame_GetBack`. They are not part of the stable ABI, so they are looked up in the running
/// process.
static FRAMES: OnceLock<Option<(GetLasti, GetBack)>> = OnceLock::new();

/// The number of every place in the library's own Python code. The call site is then the caller's.
const OWN: u32 = u32::MAX;

/// This many places are remembered by their code objects. Then these are let go, and the places that are met again are
/// looked up again.
const MOST_PLACES: usize = 1 << 13;
/// This many lines have a number. Nodes of further lines have no site.
const MOST_LINES: usize = 1 << 20;

#[derive(Default)]
struct Sites {
    /// The numbers of the places met: an instruction of a code object.
    places: FxHashMap<(usize, i32), u32>,
    /// The code objects of `places`, kept so that no other object gets the address of one.
    codes: FxHashMap<usize, Py<PyAny>>,
    /// The files, lines and scopes by number - 1, and the numbers of those outside of all scopes.
    lines: Vec<(Arc<str>, u32, u32)>,
    numbers: FxHashMap<(Arc<str>, u32), u32>,
    /// By the number outside of all scopes, and scope: the number in the scope.
    scoped: FxHashMap<(u32, u32), u32>,
    /// The beginning of the file names of the library's own code.
    own: Option<String>,
}

static SITES: Mutex<Option<Sites>> = Mutex::new(None);

/// Holds the table while the process forks: see [`crate::fork`].
pub fn hold() -> Option<Box<dyn Any>> {
    fork::hold(&SITES)
}

/// Takes the beginning of the file names of the library's own code.
#[pyfunction]
fn set_own_code(folder: String) {
    let mut guard = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    guard.get_or_insert_default().own = Some(folder).filter(|f| !f.is_empty());
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    install(m.py());
    m.add_function(wrap_pyfunction!(set_own_code, m)?)
}

fn install(py: Python<'_>) {
    FRAMES.get_or_init(|| frame_functions(py).ok());
    set_host(Host { current, describe });
}

/// Where `ctypes` finds the functions in the running interpreter, on every platform.
fn frame_functions(py: Python<'_>) -> PyResult<(GetLasti, GetBack)> {
    let ctypes = py.import("ctypes")?;
    let address = |name| -> PyResult<usize> {
        let function = ctypes.getattr("pythonapi")?.getattr(name)?;
        let pointer = ctypes.call_method1("cast", (function, ctypes.getattr("c_void_p")?))?;
        pointer.getattr("value")?.extract()
    };
    let (lasti, back) = (address("PyFrame_GetLasti")?, address("PyFrame_GetBack")?);
    let pointer = std::ptr::with_exposed_provenance::<c_void>;
    // SAFETY: CPython declares the functions with these signatures since 3.11, and a function that `ctypes` has found
    // is not null.
    Ok(unsafe {
        (
            std::mem::transmute::<*const c_void, GetLasti>(pointer(lasti)),
            std::mem::transmute::<*const c_void, GetBack>(pointer(back)),
        )
    })
}

/// The site of the running Python frame, or of the nearest one outside this library. It is called only where the GIL
/// is held: the engine's own threads have the caller's site in their modes (`Modes::install`). Frame objects are made
/// here, so the garbage collector, which could run the user's code, is switched off meanwhile.
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

/// Whether the running Python frame is one of the library's own code.
pub fn is_own_code() -> bool {
    let Some(Some((lasti, _))) = FRAMES.get() else { return false };
    // SAFETY: the GIL is held; the frame is borrowed.
    let frame = unsafe { ffi::PyEval_GetFrame() };
    if frame.is_null() {
        return false;
    }
    // SAFETY: as above; the code object is a new reference.
    let (code, last) = unsafe { (ffi::PyFrame_GetCode(frame).cast::<ffi::PyObject>(), lasti(frame)) };
    let id = known(code, last).unwrap_or_else(|| intern(frame, code, last));
    // SAFETY: this function owns the reference.
    unsafe { ffi::Py_DECREF(code) };
    id == OWN
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
            break Site(within(id, scope::current()));
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
    let id = guard.as_ref()?.places.get(&(code as usize, last)).copied()?;
    place.store(code as usize, Relaxed);
    found.store((last as u64) << 32 | u64::from(id), Relaxed);
    Some(id)
}

/// The numbers of lines in scopes met last: the line with the scope, and the number. They are read and written only where
/// the GIL is held.
static LATELY_SCOPED: [(AtomicU64, AtomicU32); 512] = [const { (AtomicU64::new(0), AtomicU32::new(0)) }; 512];

/// The number in a scope of a line with this number outside of all.
#[inline]
fn within(line: u32, scope: u32) -> u32 {
    if scope == 0 || line == 0 {
        return line;
    }
    let key = u64::from(line) << 32 | u64::from(scope);
    let (place, found) = &LATELY_SCOPED[(line.wrapping_mul(31) ^ scope) as usize % LATELY_SCOPED.len()];
    if place.load(Relaxed) == key {
        return found.load(Relaxed);
    }
    let mut guard = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    let number = guard.get_or_insert_default().number_within(line, scope);
    place.store(key, Relaxed);
    found.store(number, Relaxed);
    number
}

/// Gives a number to a place that is not in the table. No code of the user's runs here: the attributes are those of a
/// code object, whose class is final, and letting go of code objects is put off.
#[cold]
fn intern(frame: *mut ffi::PyFrameObject, code: *mut ffi::PyObject, last: i32) -> u32 {
    // SAFETY: the GIL is held; the caller owns both references.
    let (line, held) = unsafe {
        let py = Python::assume_attached();
        (ffi::PyFrame_GetLineNumber(frame), Bound::from_borrowed_ptr(py, code))
    };
    let file = held.getattr("co_filename").ok().and_then(|name| name.cast_into::<PyString>().ok());
    let file = file.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut guard = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    let sites = guard.get_or_insert_default();
    let id = match &sites.own {
        Some(own) if file.starts_with(own) => OWN,
        _ => sites.number(file, u32::try_from(line).unwrap_or(0)),
    };
    if sites.places.len() >= MOST_PLACES && let_go_later(&mut sites.codes) {
        sites.places.clear();
        LATELY.iter().for_each(|(place, _)| place.store(0, Relaxed));
    }
    sites.codes.entry(code as usize).or_insert_with(|| held.unbind());
    sites.places.insert((code as usize, last), id);
    id
}

impl Sites {
    fn number(&mut self, file: String, line: u32) -> u32 {
        let key = (Arc::from(file), line);
        if let Some(&known) = self.numbers.get(&key) {
            return known;
        }
        if self.lines.len() >= MOST_LINES {
            return 0;
        }
        self.lines.push((key.0.clone(), line, 0));
        let number = self.lines.len() as u32;
        self.numbers.insert(key, number);
        number
    }

    fn number_within(&mut self, line: u32, scope: u32) -> u32 {
        if let Some(&known) = self.scoped.get(&(line, scope)) {
            return known;
        }
        let Some((file, at, _)) = self.lines.get(line as usize - 1).filter(|_| self.lines.len() < MOST_LINES)
        else {
            return line;
        };
        let new = (file.clone(), *at, scope);
        self.lines.push(new);
        let number = self.lines.len() as u32;
        self.scoped.insert((line, scope), number);
        number
    }
}

/// Asks the interpreter to let go of these code objects soon, between two instructions. Code of the user's may run
/// then, and here a tensor may be locked. Returns false if the interpreter has too much to do already.
fn let_go_later(codes: &mut FxHashMap<usize, Py<PyAny>>) -> bool {
    extern "C" fn let_go(codes: *mut c_void) -> c_int {
        // SAFETY: the pointer comes from the call of `Box::into_raw` below, and the interpreter calls this once.
        let codes = unsafe { Box::from_raw(codes.cast::<FxHashMap<usize, Py<PyAny>>>()) };
        attached(|_| drop(codes));
        0
    }
    let taken = Box::into_raw(Box::new(std::mem::take(codes)));
    // SAFETY: the function takes what it is given here.
    if unsafe { ffi::Py_AddPendingCall(Some(let_go), taken.cast()) } == 0 {
        return true;
    }
    // SAFETY: the interpreter has not taken the pointer.
    *codes = *unsafe { Box::from_raw(taken) };
    false
}

/// The name of the module whose code asked for what runs now: the nearest one that is neither this library nor NumPy.
pub fn asking_module(py: Python<'_>) -> PyResult<String> {
    let mut frame = py.import("sys")?.call_method0("_getframe")?;
    while !frame.is_none() {
        let name = frame.getattr("f_globals")?.call_method1("get", ("__name__", ""))?.extract::<String>()?;
        if !matches!(name.split('.').next(), Some("ferrograd" | "numpy")) {
            return Ok(name);
        }
        frame = frame.getattr("f_back")?;
    }
    Ok(String::new())
}

/// `file:line` of a site.
fn describe(site: Site) -> Option<String> {
    let guard = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    let (file, line, _) = guard.as_ref()?.lines.get(site.0 as usize - 1)?;
    Some(format!("{file}:{line}"))
}

/// By number of a site: `file:line` or none, and the modules that recorded there, the outermost first, each with its name
/// and its class.
pub fn places<'py>(py: Python<'py>, sites: impl Iterator<Item = Site>) -> PyResult<Bound<'py, PyDict>> {
    let places = PyDict::new(py);
    for site in sites {
        if !places.contains(site.0)? {
            let scope = {
                let guard = SITES.lock().unwrap_or_else(PoisonError::into_inner);
                let line =
                    guard.as_ref().and_then(|sites| sites.lines.get((site.0 as usize).checked_sub(1)?));
                line.map_or(0, |&(_, _, scope)| scope)
            };
            let modules = scope::modules(scope);
            let modules: Vec<_> = modules.iter().map(|(name, class)| (&**name, &**class)).collect();
            places.set_item(site.0, (site.describe(), PyTuple::new(py, modules)?))?;
        }
    }
    Ok(places)
}
