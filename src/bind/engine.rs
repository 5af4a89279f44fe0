//! The engine as Python meets it: requests run with the GIL released and Ctrl-C heard, threads and tangents.

use std::cell::Cell;
use std::sync::OnceLock;

use pyo3::prelude::*;

use super::convert::lift;
use super::dialect::Dialect;
use super::enter::detached;
use super::error::raise;
use super::var::Var;
use crate::engine::{Answer, Request};
use crate::error::Result;
use crate::graph::{Edge, Tensor};
use crate::kernel::par;
use crate::ops::alias::alias;
use crate::transform;

thread_local! {
    static THREADS_OF_LAST_RUN: Cell<usize> = const { Cell::new(0) };
}

/// Runs a request while other Python threads run, and hears Ctrl-C. With `batched` the seeds have one more axis, the
/// first, and so have the gradients.
pub fn run(py: Python<'_>, request: Request<'_>, batched: bool) -> PyResult<Answer> {
    // Python hears signals on its main thread only; another thread need not take the GIL to ask.
    let elsewhere = OnceLock::new();
    let tick = || -> Result<()> {
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
    let request = Request { tick: Some(&tick), ..request };
    let answer = lift(detached(py, || if batched { transform::batched(request) } else { request.run() }))?;
    THREADS_OF_LAST_RUN.set(answer.threads);
    Ok(answer)
}

/// Sets how many threads work, the calling one among them. No result depends on it.
#[pyfunction]
fn set_num_threads(py: Python<'_>, n: i64) -> PyResult<()> {
    match usize::try_from(n) {
        Ok(n @ 1..=par::MAX_THREADS) => par::set_threads(n),
        _ => {
            let text = format!("set_num_threads: {n} is not between 1 and {}", par::MAX_THREADS);
            return Err(raise(py, "ArgumentError", text));
        }
    }
    Ok(())
}

/// How many threads work, the calling one among them.
#[pyfunction]
fn num_threads() -> usize {
    par::threads()
}

/// How many threads ran nodes in the last backward pass that this thread asked for.
#[pyfunction]
fn threads_of_last_run() -> usize {
    THREADS_OF_LAST_RUN.get()
}

/// Gives the memory that is kept for new arrays back to the system. Returns how many bytes that were.
#[pyfunction]
fn empty_cache() -> usize {
    crate::array::empty_cache()
}

/// Sets how many bytes of memory may be kept for new arrays (256 MiB unless set). Returns how many it were before.
#[pyfunction]
fn set_cache_limit(py: Python<'_>, bytes: i64) -> PyResult<usize> {
    match usize::try_from(bytes) {
        Ok(bytes) => Ok(crate::array::set_cache_limit(bytes)),
        Err(_) => {
            Err(raise(py, "ArgumentError", format!("set_cache_limit: {bytes} is not a number of bytes")))
        }
    }
}

/// How many nodes of graphs exist in this process.
#[pyfunction]
fn live_nodes() -> usize {
    crate::graph::live_nodes()
}

/// The tensor itself as a new place in the graph, tracked in any case: what can be differentiated for without what
/// it was computed from.
#[pyfunction]
fn fresh<'py>(py: Python<'py>, x: &Bound<'py, Var>) -> PyResult<Bound<'py, Var>> {
    Var::result(py, lift(alias(&x.get().operand()))?, x.get().dialect())
}

/// The tangents of `outputs` where `inputs` move along `tangents`: a tensor each, or None where nothing arrives.
#[pyfunction]
fn push<'py>(
    py: Python<'py>,
    outputs: Vec<Bound<'py, Var>>,
    inputs: Vec<Bound<'py, Var>>,
    tangents: Vec<Bound<'py, Var>>,
    create_graph: bool,
) -> PyResult<Vec<Option<Bound<'py, Var>>>> {
    let moved = moves(py, &inputs, &tangents)?;
    let edges: Vec<Option<Edge>> = outputs.iter().map(|v| v.get().tensor().edge).collect();
    let tracked: Vec<Edge> = edges.iter().flatten().cloned().collect();
    let found = lift(detached(py, || crate::engine::push(&tracked, &moved, create_graph)))?;
    let dialect = outputs.first().map_or(Dialect::Native, |v| v.get().dialect());
    by_output(py, &edges, found, dialect)
}

/// The places that move, each with its tangent.
fn moves(
    py: Python<'_>,
    inputs: &[Bound<'_, Var>],
    tangents: &[Bound<'_, Var>],
) -> PyResult<Vec<(Edge, Tensor)>> {
    if inputs.len() != tangents.len() {
        let text = format!("jvp: got {} inputs and {} tangents", inputs.len(), tangents.len());
        return Err(raise(py, "ArgumentError", text));
    }
    let mut moved = vec![];
    for (i, (x, t)) in inputs.iter().zip(tangents).enumerate() {
        let (x, t) = (x.get().tensor(), t.get().tensor());
        if x.dims() != t.dims() {
            let text = format!("jvp: tangent {i} has shape {:?}, its input {:?}", t.dims(), x.dims());
            return Err(raise(py, "ShapeError", text));
        }
        moved.extend(x.edge.map(|e| (e, t)));
    }
    Ok(moved)
}

/// What was found for the tracked outputs, by output.
fn by_output<'py>(
    py: Python<'py>,
    edges: &[Option<Edge>],
    found: Vec<Option<Tensor>>,
    dialect: Dialect,
) -> PyResult<Vec<Option<Bound<'py, Var>>>> {
    let mut found = found.into_iter();
    let result = |edge: &Option<Edge>| {
        let t: Option<Tensor> = edge.as_ref().and_then(|_| found.next().flatten());
        t.map(|t| Var::result(py, t, dialect)).transpose()
    };
    edges.iter().map(result).collect()
}

/// By order, from the first on: the derivatives of `outputs` by a number that `tangents` are multiplied with and added
/// to `inputs`, a tensor each, or None where nothing arrives.
#[pyfunction]
fn taylor<'py>(
    py: Python<'py>,
    outputs: Vec<Bound<'py, Var>>,
    inputs: Vec<Bound<'py, Var>>,
    tangents: Vec<Bound<'py, Var>>,
    order: usize,
    create_graph: bool,
) -> PyResult<Vec<Vec<Option<Bound<'py, Var>>>>> {
    let moved = moves(py, &inputs, &tangents)?;
    let edges: Vec<Option<Edge>> = outputs.iter().map(|v| v.get().tensor().edge).collect();
    let tracked: Vec<Edge> = edges.iter().flatten().cloned().collect();
    let found = lift(detached(py, || crate::engine::taylor(&tracked, &moved, order, create_graph)))?;
    let dialect = outputs.first().map_or(Dialect::Native, |v| v.get().dialect());
    found.into_iter().map(|row| by_output(py, &edges, row, dialect)).collect()
}

/// Whether the record below `outputs` goes on beyond `places`: to a leaf that is none of them.
#[pyfunction]
fn leads_beyond(py: Python<'_>, outputs: Vec<Bound<'_, Var>>, places: Vec<Bound<'_, Var>>) -> PyResult<bool> {
    let edges = |vars: Vec<Bound<'_, Var>>| -> Vec<Edge> {
        vars.iter().filter_map(|v| v.get().tensor().edge).collect()
    };
    let (outputs, places) = (edges(outputs), edges(places));
    lift(detached(py, || Ok(crate::engine::leads_beyond(&outputs, &places))))
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(set_num_threads, m)?)?;
    m.add_function(wrap_pyfunction!(num_threads, m)?)?;
    m.add_function(wrap_pyfunction!(threads_of_last_run, m)?)?;
    m.add_function(wrap_pyfunction!(empty_cache, m)?)?;
    m.add_function(wrap_pyfunction!(set_cache_limit, m)?)?;
    m.add_function(wrap_pyfunction!(live_nodes, m)?)?;
    m.add_function(wrap_pyfunction!(fresh, m)?)?;
    m.add_function(wrap_pyfunction!(push, m)?)?;
    m.add_function(wrap_pyfunction!(taylor, m)?)?;
    m.add_function(wrap_pyfunction!(leads_beyond, m)?)
}
