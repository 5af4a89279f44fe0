//! Leaving Python for long work, and coming back in the middle of it: the GIL is released and taken again, the call
//! site is carried along, and panics become errors.

use std::cell::Cell;

use pyo3::prelude::*;

use super::capi::{attached, detached};
use super::stack;
use crate::bind::python::error::OrForeign;
use crate::error::{Error, Result};
use crate::graph::{Modes, Node, modes};
use crate::kernel::interrupt::{Ask, listen_to};

/// Runs `f` without the GIL, while other Python threads run. Nodes that it records carry the site of the current call.
/// Kernels in it listen for Ctrl-C.
pub fn without_gil<T: Send>(py: Python<'_>, f: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    stack::check()?;
    let _site = modes::fix_site();
    detached(py, || {
        Error::catch(|| {
            let _listening = listen_to(Some(ask));
            f()
        })
    })
}

/// Runs `f` with the GIL. Kernels in it listen for Ctrl-C by `ask`.
pub fn listening<T>(ask: Ask, f: impl FnOnce() -> Result<T>) -> Result<T> {
    Error::catch(|| {
        let _listening = listen_to(Some(ask));
        f()
    })
}

/// [`ask`] with the GIL, which other threads may have in between. The caller holds no lock.
pub fn ask_in_turn() -> Result<()> {
    attached(|py| detached(py, || ()));
    ask()
}

/// Asks Python whether a signal has come, on the only thread where it handles them. Other threads do not take the GIL.
pub fn ask() -> Result<()> {
    thread_local! {
        /// A process, and whether this is its main thread. A fork makes another thread the main one.
        static IS_MAIN: Cell<Option<(u32, bool)>> = const { Cell::new(None) };
    }
    let process = std::process::id();
    let known = IS_MAIN.get().filter(|(of, _)| *of == process);
    if known == Some((process, false)) {
        return Ok(());
    }
    attached(|py| {
        if known.is_none() {
            let threading = py.import("threading")?;
            let here = threading.call_method0("current_thread")?;
            IS_MAIN.set(Some((process, here.is(&threading.call_method0("main_thread")?))));
        }
        py.check_signals()
    })
    .or_foreign()
}

/// Runs Python code that the core calls. The sites of the ops in it are its own lines. `change` sets the other modes
/// that it runs in, such as whether its ops are recorded.
pub fn call_python<T>(
    change: impl FnOnce(&mut Modes),
    f: impl FnOnce(Python<'_>) -> PyResult<T>,
) -> Result<T> {
    stack::check()?;
    // An op of the user's may hold the lock of a tensor while it runs.
    let _listening = listen_to(None);
    let _modes = Modes::enter(|m| {
        m.site = None;
        change(m);
    });
    attached(f).or_foreign()
}

/// Runs Python code that the core calls for a node, in the modes that `change` makes. An exception goes on as it is, with a
/// note that says which node it was: `what` begins the sentence and `name` is the node's.
pub fn call_python_for<T>(
    node: &Node,
    what: &str,
    name: impl FnOnce() -> String,
    change: impl FnOnce(&mut Modes),
    f: impl FnOnce(Python<'_>) -> PyResult<T>,
) -> Result<T> {
    let call = |py: Python<'_>| {
        f(py).inspect_err(|e| {
            let made = node.site().describe().map_or(String::new(), |at| format!(", made at {at}"));
            // An exception that takes no notes goes on without one.
            let _ = e.value(py).call_method1("add_note", (format!("{what} {}{made}", name()),));
        })
    };
    call_python(change, call)
}
