//! Runs requests to the engine with the GIL released, so that other Python threads run and Ctrl-C is heard.

use std::cell::Cell;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

use crate::bind::python::error::OrRaise;
use crate::bind::python::gil::{ask, without_gil};
use crate::bind::value::capture::Captures;
use crate::engine::{Answer, Request};
use crate::graph::modes;
use crate::ops::linalg::spectrum::take_undetermined;
use ferrograd::transform;

thread_local! {
    static THREADS_OF_LAST_RUN: Cell<usize> = const { Cell::new(0) };
}

/// Runs a request. With `batched` every seed, and every gradient, has one more axis, the first.
pub fn run_request(py: Python<'_>, request: Request<'_>, batched: bool) -> PyResult<Answer> {
    let request = Request { interrupt: Some(&ask), ..request };
    if let Some(trace) = modes::trace() {
        Captures::of(&trace).differentiates = true;
    }
    let answer =
        without_gil(py, || if batched { transform::batched(request) } else { request.run() }).or_raise()?;
    THREADS_OF_LAST_RUN.set(answer.threads);
    warn_of_vectors(py)?;
    Ok(answer)
}

/// Warns where a gradient is NaN because it depends on how vectors of equal values turn.
pub fn warn_of_vectors(py: Python<'_>) -> PyResult<()> {
    if !take_undetermined() {
        return Ok(());
    }
    let text = c"a gradient is NaN: it comes through eigenvectors and eigenvalues (or singular ones), of which some are equal, \
                 and those of linalg.eigh, eig and svd do not tell it. linalg.matrix_sqrth, matrix_inv_sqrth, matrix_logh, \
                 matrix_exph, matrix_powerh and polar have derivatives there";
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), text, 1)
}

/// How many threads ran nodes in the last backward pass that this thread asked for.
#[pyfunction]
fn threads_of_last_run() -> usize {
    THREADS_OF_LAST_RUN.get()
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(threads_of_last_run, m)?)
}
