//! Runs requests to the engine with the GIL released, so that other Python threads run and Ctrl-C is heard.

use std::cell::Cell;

use pyo3::prelude::*;

use crate::bind::python::gil::{ask, without_gil};
use crate::bind::value::capture::Captures;
use crate::engine::{Answer, Request};
use crate::graph::modes;
use crate::transform;

thread_local! {
    static THREADS_OF_LAST_RUN: Cell<usize> = const { Cell::new(0) };
}

/// Runs a request. With `batched` every seed, and every gradient, has one more axis, the first.
pub fn run_request(py: Python<'_>, request: Request<'_>, batched: bool) -> PyResult<Answer> {
    let request = Request { interrupt: Some(&ask), ..request };
    if let Some(trace) = modes::trace() {
        Captures::of(&trace).differentiates = true;
    }
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
