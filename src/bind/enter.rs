//! Leaving Python for long work, and coming back in the midst of it: the GIL released and taken again, the call site
//! carried along, panics turned into errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::graph::{Modes, Node, Recording, modes};

/// Runs `f` while other Python threads run. What it records carries the site of the current call.
pub fn detached<T: Send>(py: Python<'_>, f: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let _site = modes::fix_site();
    py.detach(|| catch_unwind(AssertUnwindSafe(f))).unwrap_or_else(|p| Err(Error::from_panic(p)))
}

/// Runs Python code inside [`detached`], for a node: recorded or not, as an ordinary call of the thread. An exception
/// goes on as it is, with a note that says which node it was (`what` begins the sentence).
pub fn called_back<T>(
    node: &Node,
    what: &str,
    name: impl FnOnce() -> String,
    record: bool,
    f: impl FnOnce(Python<'_>) -> PyResult<T>,
) -> Result<T> {
    let run = |py: Python<'_>| {
        f(py).inspect_err(|e| {
            let made = node.site().describe().map_or(String::new(), |at| format!(", made at {at}"));
            // An exception that takes no notes goes on without one.
            let _ = e.value(py).call_method1("add_note", (format!("{what} {}{made}", name()),));
        })
    };
    let _modes = Modes::enter(|m| (m.site, m.recording) = (None, Recording::from(record)));
    Ok(Python::attach(run)?)
}
