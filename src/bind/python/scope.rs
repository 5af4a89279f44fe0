//! Scopes: the calls of modules that a thread is in, as a number. Call sites have it, so a picture of the graph can say
//! which module recorded a node.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use super::once::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType, PyWeakrefMethods, PyWeakrefReference};
use rustc_hash::{FxHashMap, FxHashSet};

/// This many modules are remembered. Then all are forgotten, and looked for again when they are called again.
const MOST_MODULES: usize = 1 << 13;
/// This many scopes have a number. Further calls have the scope that they are made in.
const MOST_SCOPES: usize = 1 << 16;

/// A module that was called: its name among those of `named_modules()` of the outermost module, and its class.
pub type Called = (Arc<str>, Arc<str>);

/// The scopes by number - 1, each with the one that it is in, and their numbers.
#[derive(Default)]
struct Scopes {
    all: Vec<(u32, Called)>,
    numbers: FxHashMap<(u32, Called), u32>,
}

/// A module that was called in a scope: its class, where it was found, and the scope of its calls.
struct Known {
    class: Py<PyType>,
    place: Place,
    scope: u32,
}

enum Place {
    /// The names that lead from the module around the call to this one.
    Below(Vec<Py<PyString>>),
    /// Another place than the tree of the module around the call.
    Elsewhere(Py<PyWeakrefReference>),
}

type Modules = FxHashMap<(u32, usize), Arc<Known>>;

static SCOPES: Mutex<Option<Scopes>> = Mutex::new(None);
/// By scope and address of a module. An entry is believed only after a look at the module itself.
static MODULES: Mutex<Option<Modules>> = Mutex::new(None);

/// Holds the tables while the process forks: see [`crate::fork`].
pub fn hold() -> Option<Box<dyn Any>> {
    Some(Box::new((SCOPES.try_lock().ok()?, MODULES.try_lock().ok()?)))
}

/// How many threads are in a module. While it is zero, an op finds its scope with this one load.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SCOPE: Cell<u32> = const { Cell::new(0) };
    /// The module of the scope.
    static MODULE: RefCell<Option<Py<PyAny>>> = const { RefCell::new(None) };
}

/// The scope of this thread; zero outside of all modules.
#[inline]
pub fn current() -> u32 {
    if THREADS.load(Relaxed) == 0 { 0 } else { SCOPE.get() }
}

/// The modules of a scope, the outermost first.
pub fn modules(mut scope: u32) -> Vec<Called> {
    let guard = SCOPES.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found = vec![];
    while let Some((outer, called)) = guard.as_ref().and_then(|s| s.all.get((scope as usize).checked_sub(1)?))
    {
        found.push(called.clone());
        scope = *outer;
    }
    found.reverse();
    found
}

/// Puts the scope of the thread back when dropped.
struct Guard(u32, Option<Py<PyAny>>);

impl Guard {
    fn enter(scope: u32, module: Option<Py<PyAny>>) -> Guard {
        Guard(set(scope), MODULE.replace(module))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        set(self.0);
        drop(MODULE.replace(self.1.take()));
    }
}

/// Sets the scope of this thread. Returns the one before.
fn set(scope: u32) -> u32 {
    let before = SCOPE.replace(scope);
    match (before, scope) {
        (0, 1..) => _ = THREADS.fetch_add(1, Relaxed),
        (1.., 0) => _ = THREADS.fetch_sub(1, Relaxed),
        _ => {}
    }
    before
}

/// Calls a function in the scope of a module.
#[pyfunction]
#[pyo3(signature = (module, function, args, kwargs=None))]
fn call_module<'py>(
    module: &Bound<'py, PyAny>,
    function: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let before = Guard::enter(current(), Some(module.clone().unbind()));
    let around = before.1.as_ref().map(|module_around| module_around.bind(module.py()));
    set(of_module(module, around)?);
    function.call(args, kwargs)
}

/// The scope of this thread, for `call_in_scope`.
#[pyfunction]
fn scope(py: Python<'_>) -> (u32, Option<Py<PyAny>>) {
    (current(), MODULE.with_borrow(|m| m.as_ref().map(|m| m.clone_ref(py))))
}

/// Calls a function in a scope that was asked for before.
#[pyfunction]
fn call_in_scope<'py>(
    scope: (u32, Option<Py<PyAny>>),
    function: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let _scope = Guard::enter(scope.0, scope.1);
    function.call(args, Some(kwargs))
}

/// The scope of a call of `module` by `around`.
fn of_module<'py>(module: &Bound<'py, PyAny>, around: Option<&Bound<'py, PyAny>>) -> PyResult<u32> {
    let outer = current();
    if around.is_some_and(|around| around.is(module)) {
        return Ok(outer);
    }
    let key = (outer, module.as_ptr() as usize);
    let known = {
        let guard = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
        guard.as_ref().and_then(|modules| modules.get(&key).cloned())
    };
    match known {
        Some(known) if is_still(&known, module, around)? => Ok(known.scope),
        _ => look(key, module, around),
    }
}

/// Whether what is known of the module at its address is known of this module, and true.
fn is_still<'py>(
    known: &Known,
    module: &Bound<'py, PyAny>,
    around: Option<&Bound<'py, PyAny>>,
) -> PyResult<bool> {
    if module.get_type_ptr() != known.class.as_ptr().cast() {
        return Ok(false);
    }
    match (&known.place, around) {
        (Place::Elsewhere(reference), _) => {
            Ok(reference.bind(module.py()).upgrade().is_some_and(|found| found.is(module)))
        }
        (Place::Below(_), None) => Ok(true),
        (Place::Below(names), Some(around)) => {
            let mut at = around.clone();
            for name in names {
                match below(&at)?.and_then(|modules| modules.get_item(name).transpose()).transpose()? {
                    Some(next) => at = next,
                    None => return Ok(false),
                }
            }
            Ok(at.is(module))
        }
    }
}

/// The modules directly below a module by name.
fn below<'py>(module: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let modules = module.getattr(intern!(module.py(), "_modules"))?;
    Ok(modules.cast_into().ok())
}

/// Looks for a module below the one around its call, and remembers what it finds.
#[cold]
fn look<'py>(
    key: (u32, usize),
    module: &Bound<'py, PyAny>,
    around: Option<&Bound<'py, PyAny>>,
) -> PyResult<u32> {
    let class = module.get_type();
    let class_name: Arc<str> = class.name()?.to_string_lossy().as_ref().into();
    let names = around.map_or(Ok(Some(vec![])), |around| names_to(module, around))?;
    let own = match &names {
        Some(names) => {
            names.iter().map(|name| name.to_string_lossy().into_owned()).collect::<Vec<_>>().join(".")
        }
        None => format!("<{class_name}>"),
    };
    let path = match modules(key.0).last() {
        Some((path, _)) if !path.is_empty() => format!("{path}.{own}"),
        _ => own,
    };
    let scope = number(key.0, (path.into(), class_name));
    let place = match names {
        Some(names) => Place::Below(names.into_iter().map(Bound::unbind).collect()),
        None => Place::Elsewhere(PyWeakrefReference::new(module)?.unbind()),
    };
    let known = Arc::new(Known { class: class.unbind(), place, scope });
    let mut guard = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    let modules = guard.get_or_insert_default();
    let forgotten = if modules.len() >= MOST_MODULES { std::mem::take(modules) } else { Modules::default() };
    let replaced = modules.insert(key, known);
    drop(guard);
    // Letting go of classes may run the user's code, which must find the lock free.
    drop((forgotten, replaced));
    Ok(scope)
}

/// The names that lead from `around` down to `module`: those that `named_modules()` gives it. None if it is not there.
fn names_to<'py>(
    module: &Bound<'py, PyAny>,
    around: &Bound<'py, PyAny>,
) -> PyResult<Option<Vec<Bound<'py, PyString>>>> {
    let mut seen = FxHashSet::default();
    let mut waiting = vec![(around.clone(), vec![])];
    while let Some((at, names)) = waiting.pop() {
        if at.is(module) {
            return Ok(Some(names));
        }
        if !seen.insert(at.as_ptr() as usize) {
            continue;
        }
        let Some(modules) = below(&at)? else { continue };
        let children = modules.iter().filter_map(|(name, child)| Some((name.cast_into().ok()?, child)));
        let first = waiting.len();
        for (name, child) in children.filter(|(_, child)| !child.is_none()) {
            let mut names = names.clone();
            names.push(name);
            waiting.push((child, names));
        }
        waiting[first..].reverse();
    }
    Ok(None)
}

/// The number of the scope of a module that is called in the scope `outer`.
fn number(outer: u32, called: Called) -> u32 {
    let mut guard = SCOPES.lock().unwrap_or_else(PoisonError::into_inner);
    let scopes = guard.get_or_insert_default();
    let key = (outer, called);
    if let Some(&known) = scopes.numbers.get(&key) {
        return known;
    }
    if scopes.all.len() >= MOST_SCOPES {
        return outer;
    }
    scopes.all.push(key.clone());
    let number = scopes.all.len() as u32;
    scopes.numbers.insert(key, number);
    number
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(call_module, m)?)?;
    m.add_function(wrap_pyfunction!(scope, m)?)?;
    m.add_function(wrap_pyfunction!(call_in_scope, m)?)
}
