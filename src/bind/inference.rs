//! Inference mode: what is made in it is never part of a graph, and says so where somebody tries.

use std::cell::RefCell;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use smallvec::SmallVec;

use super::var::Var;
use crate::array::Array;
use crate::graph::modes::{self, Flags};
use crate::graph::{Edge, Modes, Tensor};

thread_local! {
    /// Values of inference tensors that an op of this thread is about to read while recording.
    static READ: RefCell<Vec<Array>> = const { RefCell::new(Vec::new()) };
}

/// The nodes that one function makes, at most, are looked through for what they keep.
const NODES: usize = 64;

/// Whether this thread is in inference mode.
#[inline]
#[pyfunction(name = "is_inference_mode_enabled")]
pub fn enabled() -> bool {
    modes::flags().has(Flags::INFERENCE)
}

/// Sets whether this thread is in inference mode; returns whether it was.
#[pyfunction]
fn set_inference_mode(on: bool) -> bool {
    Modes::update(|m| std::mem::replace(&mut m.inference, on))
}

/// Whether there may be inference tensors.
#[inline]
pub fn is_used() -> bool {
    modes::flags().has(Flags::INFERENCE_TENSORS)
}

/// Notes that an op reads an inference tensor while recording.
#[cold]
pub fn reads(x: &mut Tensor) {
    // Whatever is made of it by moving elements is then known to lie in the same memory.
    if let Ok(array) = x.array.shareable() {
        x.array = array;
    }
    READ.with_borrow_mut(|read| read.push(x.array.clone()));
}

/// That a result's nodes keep no inference tensor which the op has read.
///
/// # Errors
/// torch's, where they do.
#[inline]
pub fn check(result: &Tensor) -> PyResult<()> {
    if is_used() { look_through(result.edge.as_ref()) } else { Ok(()) }
}

#[cold]
fn look_through(edge: Option<&Edge>) -> PyResult<()> {
    let read = READ.with_borrow_mut(std::mem::take);
    if read.is_empty() {
        return Ok(());
    }
    let ids: SmallVec<[usize; 2]> = read.iter().map(|a| a.memory().0).collect();
    let mut work: SmallVec<[&Edge; 8]> = edge.into_iter().collect();
    for _ in 0..NODES {
        let Some(Edge { node, .. }) = work.pop() else { break };
        let mut kept = false;
        node.kept_memory(&mut |memory, _| kept |= ids.contains(&memory));
        if kept {
            return Err(PyRuntimeError::new_err(
                "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal \
                 tensor and use it in autograd.",
            ));
        }
        work.extend(node.inputs.iter().flatten());
    }
    Ok(())
}

/// That a tensor may be changed here: an inference tensor only in inference mode.
///
/// # Errors
/// torch's, where it may not.
pub fn may_change(x: &Var, what: &str) -> PyResult<()> {
    if !is_used() || enabled() || !x.lock().is_inference() {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(format!(
        "{what} inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal tensor \
         before."
    )))
}

#[pymethods]
impl Var {
    /// Whether the tensor was made in inference mode, or is a view of one that was.
    fn is_inference(&self) -> bool {
        self.lock().is_inference()
    }
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(enabled, m)?)?;
    m.add_function(wrap_pyfunction!(set_inference_mode, m)?)
}
