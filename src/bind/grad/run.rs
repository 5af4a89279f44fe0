//! Runs requests to the engine with the GIL released, so that other Python threads run and Ctrl-C is heard.

use std::cell::Cell;
use std::sync::OnceLock;

use pyo3::prelude::*;

use crate::bind::python::gil::without_gil;
use crate::engine::{Answer, Request};
use crate::error::Result;
use crate::transform;

thread_local! {
    static THREADS_OF_LAST_RUN: Cell<usize> = const { Cell::new(0) };
}

/// Runs a request. With `batched` every seed, and every gradient, has one more axis, the first.
pub fn run_request(py: Python<'_>, request: Request<'_>, batched: bool) -> PyResult<Answer> {
    // Python handles signals on its main thread only, so the check does not take the GIL on another thread.
    let elsewhere = OnceLock::new();
    let interrupt = || -> Result<()> {
        if elsewhere.get() == Some(&true) {
            return Ok(());
        }
        Python::attach(|py| {
            if elsewhere.get().is_none() {
                let threading = py.import("threading")?;
                let (here, main) =
                    (threading.call_method0("current_thread")?, threading.call_method0("main_thread")?);
                let _ = elsewhere.set(!here.is(&main));
            }
            py.check_signals()
        })?;
        Ok(())
    };
    let request = Request { interrupt: Some(&interrupt), ..request };
    let answer = without_gil(py, || if batched { transform::batched(request) } else { request.run() })?;
    THREADS_OF_LAST_RUN.set(answer.threads);
    Ok(answer)
}

/// How many threads ran nodes in the last backward pass that this thread asked for.
#[pyfunction]
fn threads_of_last_run() -> usize {
    THREADS_OF_LAST_RUN.get()
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(threads_of_last_run, m)?)
}
