//! The backward passes that a thread runs, and functions that are called at the end of one.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::bind::node::object::object;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{check_callable, raise};
use crate::engine::Request;
use crate::graph::Edge;

/// A pass that runs.
struct Task {
    number: u64,
    keeps_graph: bool,
    /// The functions that are called at its end.
    callbacks: Vec<Py<PyAny>>,
    ends: Ends,
}

/// Where a pass begins and where it leads.
#[derive(Default)]
struct Ends {
    roots: SmallVec<[Edge; 1]>,
    wanted: SmallVec<[Edge; 1]>,
    /// Whether it leads to all leaves.
    leaves: bool,
    /// Whether it is one of `grad`, which returns gradients.
    returns: bool,
}

thread_local! {
    /// The passes that run on this thread, the innermost last.
    static TASKS: RefCell<Vec<Task>> = const { RefCell::new(Vec::new()) };
}

/// The number of the next pass of the process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// One pass that this thread asked for, until its gradients are stored.
pub struct Queue(());

impl Queue {
    /// A pass that keeps the graph, or frees it.
    pub fn begin(keeps_graph: bool) -> Queue {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        TASKS.with_borrow_mut(|tasks| {
            tasks.push(Task { number, keeps_graph, callbacks: vec![], ends: Ends::default() })
        });
        Queue(())
    }

    /// Notes what the pass that was begun last asks for.
    pub fn note(request: &Request<'_>) {
        let ends = Ends {
            roots: request.roots.iter().map(|(edge, _)| edge.clone()).collect(),
            wanted: request.wanted.iter().cloned().collect(),
            leaves: request.leaves,
            returns: !request.leaves && !request.accumulates,
        };
        TASKS.with_borrow_mut(|tasks| tasks.last_mut().map(|task| task.ends = ends));
    }

    /// Calls the functions in order, and those that are queued meanwhile. A pass that fails calls none.
    pub fn finish(self, py: Python<'_>) -> PyResult<()> {
        for i in 0.. {
            let at = |tasks: &Vec<Task>| Some(tasks.last()?.callbacks.get(i)?.clone_ref(py));
            match TASKS.with_borrow(at) {
                Some(callback) => callback.call0(py)?,
                None => break,
            };
        }
        Ok(())
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let done = TASKS.with_borrow_mut(Vec::pop);
        drop(done);
    }
}

/// Calls a function without arguments at the end of the backward pass that is running on this thread.
#[pyfunction]
fn queue_callback(callback: Bound<'_, PyAny>) -> PyResult<()> {
    check_callable("queue_callback", &callback)?;
    let (py, callback) = (callback.py(), callback.unbind());
    let queued = TASKS.with_borrow_mut(|tasks| tasks.last_mut().map(|task| task.callbacks.push(callback)));
    queued.ok_or_else(|| {
        raise(
            py,
            "ArgumentError",
            "Final callbacks can only be installed during backward pass: none is running",
        )
    })
}

/// The number of the backward pass that is running on this thread, and whether it keeps the graph; None outside of one.
#[pyfunction]
fn graph_task() -> Option<(u64, bool)> {
    TASKS.with_borrow(|tasks| tasks.last().map(|task| (task.number, task.keeps_graph)))
}

/// The nodes at which the backward pass begins that is running on this thread, those whose gradients are wanted, whether
/// it leads to all leaves, and whether it is one of `grad`; None outside of one.
#[pyfunction]
fn graph_task_ends(py: Python<'_>, dialect: Dialect) -> PyResult<Option<TaskEnds<'_>>> {
    let found = TASKS.with_borrow(|tasks| {
        let ends = &tasks.last()?.ends;
        Some((ends.roots.to_vec(), ends.wanted.to_vec(), ends.leaves, ends.returns))
    });
    let Some((roots, wanted, leaves, returns)) = found else { return Ok(None) };
    let nodes = |edges: Vec<Edge>| edges.iter().map(|e| object(py, e, dialect)).collect::<PyResult<Vec<_>>>();
    Ok(Some((nodes(roots)?, nodes(wanted)?, leaves, returns)))
}

type TaskEnds<'py> = (Vec<Bound<'py, PyAny>>, Vec<Bound<'py, PyAny>>, bool, bool);

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(graph_task, m)?)?;
    m.add_function(wrap_pyfunction!(graph_task_ends, m)?)?;
    m.add_function(wrap_pyfunction!(queue_callback, m)?)
}
