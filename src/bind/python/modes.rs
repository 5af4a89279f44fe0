//! The modes of a thread that Python sets: whether ops are recorded, and whether it is in inference mode.

use std::cell::RefCell;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use smallvec::SmallVec;

use super::error::raise;
use crate::array::Array;
use crate::dtype::DType;
use crate::graph::modes::{self, Flags};
use crate::graph::site::Site;
use crate::graph::{Conversion, DetachReason, Edge, Modes, Recording, Tensor};
use crate::kernel::matmul;

thread_local! {
    /// The values of inference tensors that an op of this thread is about to read while it is recorded.
    static READ: RefCell<Vec<Array>> = const { RefCell::new(Vec::new()) };
}

/// Whether ops are being recorded on this thread.
#[inline]
#[pyfunction(name = "is_grad_enabled")]
pub fn grad_enabled() -> bool {
    modes::is_recording()
}

/// Sets whether ops are recorded on this thread; returns what it was. With `of_function` it is a function of the library
/// that switches recording off, since what it computes has no derivative; otherwise tangents may go on
/// ([`pass_tangents`]).
#[pyfunction]
#[pyo3(signature = (on, of_function=false))]
fn set_grad_mode(on: bool, of_function: bool) -> bool {
    let before = modes::is_recording();
    if before != on {
        let why = if of_function { DetachReason::by_function } else { DetachReason::unrecorded };
        let why = why(Site::current());
        Modes::update(|m| {
            let tangents = m.passes_tangents && !of_function;
            m.recording = if on { Recording::On } else { Recording::Off { why, tangents } };
        });
    }
    before
}

/// Sets whether tangents go on where Python switches recording off on this thread; returns what it was.
#[pyfunction]
fn pass_tangents(on: bool) -> bool {
    Modes::update(|m| std::mem::replace(&mut m.passes_tangents, on))
}

/// The reason why an operand has no edge while ops are not recorded.
pub fn not_recorded() -> DetachReason {
    match modes::with(|m| m.recording) {
        Recording::On => DetachReason::default(),
        Recording::Off { why, .. } => why,
    }
}

/// Runs `f` with ops of this thread recorded or not.
pub fn with_grad_mode<R>(on: bool, f: impl FnOnce() -> R) -> R {
    let _modes = Modes::enter(|m| m.recording = Recording::from(on));
    f()
}

/// Whether this thread is in inference mode.
#[inline]
#[pyfunction(name = "is_inference_mode_enabled")]
pub fn inference_enabled() -> bool {
    modes::flags().has(Flags::INFERENCE)
}

/// Sets whether this thread is in inference mode; returns whether it was.
#[pyfunction]
fn set_inference_mode(on: bool) -> bool {
    Modes::update(|m| std::mem::replace(&mut m.inference, on))
}

/// The names of what becomes of a tracked value that is asked for its numbers.
const CONVERSIONS: [(&str, Conversion); 3] =
    [("allow", Conversion::Allow), ("warn", Conversion::Warn), ("raise", Conversion::Raise)];

/// Sets what becomes of a tracked value that is asked for its numbers on this thread; returns what it was.
#[pyfunction]
fn set_numpy_conversion(py: Python<'_>, mode: &str) -> PyResult<&'static str> {
    let Some(&(_, new)) = CONVERSIONS.iter().find(|c| c.0 == mode) else {
        let text = format!("numpy_conversion: the mode is 'allow', 'warn' or 'raise', not {mode:?}");
        return Err(raise(py, "ArgumentError", text));
    };
    let before = Modes::update(|m| std::mem::replace(&mut m.conversion, new));
    let name = CONVERSIONS.iter().find(|c| c.1 == before).map(|c| c.0);
    Ok(name.expect("each has a name"))
}

/// The name of the half dtype that autocast computes products in on this thread; None where it is off.
#[pyfunction]
fn autocast_dtype() -> Option<&'static str> {
    if modes::flags().has(Flags::AUTOCAST) { modes::with(|m| m.autocast).map(DType::name) } else { None }
}

/// Whether the processor has instructions that make products under bfloat16 autocast faster than those of float32.
#[pyfunction]
fn multiplies_bfloat16() -> bool {
    matmul::is_fast()
}

/// Sets the half dtype of autocast on this thread, by its name, or switches it off; returns what it was.
#[pyfunction]
fn set_autocast(py: Python<'_>, dtype: Option<&str>) -> PyResult<Option<&'static str>> {
    let new = match dtype.map(|name| DType::parse(name).filter(|d| d.is_half())) {
        Some(None) => return Err(raise(py, "DtypeError", "autocast: the dtype is float16 or bfloat16")),
        new => new.flatten(),
    };
    Ok(Modes::update(|m| std::mem::replace(&mut m.autocast, new)).map(DType::name))
}

/// Whether there may be inference tensors.
#[inline]
pub fn inference_is_used() -> bool {
    modes::flags().has(Flags::INFERENCE_TENSORS)
}

/// Notes that an op which is recorded reads an inference tensor.
#[cold]
pub fn note_inference_operand(x: &mut Tensor) {
    // A result that only moves the elements is then known to lie in the same memory.
    if let Ok(array) = x.array.shareable() {
        x.array = array;
    }
    READ.with_borrow_mut(|read| read.push(x.array.clone()));
}

/// Checks that the nodes of a result save no inference tensor that its op has read.
///
/// # Errors
/// torch's, where they do.
#[inline]
pub fn check_saves_no_inference(result: &Tensor) -> PyResult<()> {
    if inference_is_used() { search_saved(result.edge.as_ref()) } else { Ok(()) }
}

/// At most this many nodes are searched: one function makes no more.
const NODES: usize = 64;

#[cold]
fn search_saved(edge: Option<&Edge>) -> PyResult<()> {
    let read = READ.with_borrow_mut(std::mem::take);
    if read.is_empty() {
        return Ok(());
    }
    let ids: SmallVec<[usize; 2]> = read.iter().map(|a| a.memory().0).collect();
    let mut work: SmallVec<[&Edge; 8]> = edge.into_iter().collect();
    for _ in 0..NODES {
        let Some(Edge { node, .. }) = work.pop() else { break };
        let mut saved = false;
        node.saved_memory(&mut |memory, _| saved |= ids.contains(&memory));
        if saved {
            return Err(PyRuntimeError::new_err(
                "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal \
                 tensor and use it in autograd.",
            ));
        }
        work.extend(node.inputs.iter().flatten());
    }
    Ok(())
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(grad_enabled, m)?)?;
    m.add_function(wrap_pyfunction!(set_grad_mode, m)?)?;
    m.add_function(wrap_pyfunction!(pass_tangents, m)?)?;
    m.add_function(wrap_pyfunction!(inference_enabled, m)?)?;
    m.add_function(wrap_pyfunction!(set_inference_mode, m)?)?;
    m.add_function(wrap_pyfunction!(autocast_dtype, m)?)?;
    m.add_function(wrap_pyfunction!(multiplies_bfloat16, m)?)?;
    m.add_function(wrap_pyfunction!(set_autocast, m)?)?;
    m.add_function(wrap_pyfunction!(set_numpy_conversion, m)?)
}
