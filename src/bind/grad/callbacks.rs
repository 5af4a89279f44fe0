//! Functions that are called at the end of a backward pass.

use std::cell::RefCell;

use pyo3::prelude::*;

use crate::bind::python::error::{check_callable, raise};

thread_local! {
    /// By pass that runs on this thread, the innermost last: the functions that are called at its end.
    static QUEUES: RefCell<Vec<Vec<Py<PyAny>>>> = const { RefCell::new(Vec::new()) };
}

/// One pass that this thread asked for, until its gradients are stored.
pub struct Queue(());

impl Queue {
    pub fn begin() -> Queue {
        QUEUES.with_borrow_mut(|queues| queues.push(vec![]));
        Queue(())
    }

    /// Calls the functions in order, and those that are queued meanwhile. A pass that fails calls none.
    pub fn finish(self, py: Python<'_>) -> PyResult<()> {
        for i in 0.. {
            let at = |queues: &Vec<Vec<Py<PyAny>>>| Some(queues.last()?.get(i)?.clone_ref(py));
            match QUEUES.with_borrow(at) {
                Some(callback) => callback.call0(py)?,
                None => break,
            };
        }
        Ok(())
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let done = QUEUES.with_borrow_mut(Vec::pop);
        drop(done);
    }
}

/// Calls a function without arguments at the end of the backward pass that is running on this thread.
#[pyfunction]
fn queue_callback(callback: Bound<'_, PyAny>) -> PyResult<()> {
    check_callable("queue_callback", &callback)?;
    let (py, callback) = (callback.py(), callback.unbind());
    let queued = QUEUES.with_borrow_mut(|queues| queues.last_mut().map(|queue| queue.push(callback)));
    queued.ok_or_else(|| {
        raise(
            py,
            "ArgumentError",
            "Final callbacks can only be installed during backward pass: none is running",
        )
    })
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(queue_callback, m)?)
}
