//! Batching, as Python functions use it: a level is made and entered, or found at a tensor that has it.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::bind::python::error::raise;
use crate::bind::python::stack;
use crate::bind::value::var::Var;
use crate::graph::{self, LiveLevel, Modes, Randomness, modes};
use crate::transform;

/// A level of batching. It is live from ``__enter__``, which returns its batch, to ``__exit__``, on the thread that
/// entered it.
#[pyclass(frozen, module = "ferrograd._core")]
pub struct Level {
    batch_size: usize,
    randomness: Randomness,
    live: Mutex<Option<graph::Level>>,
}

#[pymethods]
impl Level {
    /// `randomness` says whether random numbers are the "same" or "different" for all members of the batch, or drawing
    /// them is an "error".
    #[new]
    #[pyo3(signature = (batch_size, randomness=None))]
    fn new(py: Python<'_>, batch_size: usize, randomness: Option<&str>) -> PyResult<Level> {
        stack::check()?;
        let randomness = match randomness {
            None => Randomness::ByOperand,
            Some("same") => Randomness::Same,
            Some("different") => Randomness::Different,
            Some("error") => Randomness::Refused,
            Some(other) => {
                let text = format!(
                    "Only allowed values for randomness are 'error', 'different', or 'same'. Got {other}"
                );
                return Err(raise(py, "ArgumentError", text));
            }
        };
        Ok(Level { batch_size, randomness, live: Mutex::new(None) })
    }

    fn __enter__(&self) -> Batch {
        let level = graph::Level::new(self.batch_size);
        Modes::update(|m| m.live_levels.push(LiveLevel { level, randomness: self.randomness }));
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
        Batch(level)
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        let level = self.live.lock().unwrap_or_else(PoisonError::into_inner).take();
        Modes::update(|m| m.live_levels.retain(|l| Some(l.level) != level));
    }
}

/// The batch of a level, live or closed.
#[pyclass(frozen, module = "ferrograd._core")]
pub struct Batch(graph::Level);

#[pymethods]
impl Batch {
    /// The number of members of the batch.
    fn __len__(&self) -> usize {
        self.0.batch_size
    }

    /// Whether random numbers drawn here are the "same" or "different" for all members, or drawing them is an "error".
    /// "different" if nothing was said.
    #[getter]
    fn randomness(&self) -> &'static str {
        match modes::randomness(self.0) {
            Randomness::ByOperand | Randomness::Different => "different",
            Randomness::Same => "same",
            Randomness::Refused => "error",
        }
    }

    /// Whether its call is running.
    #[getter]
    fn is_live(&self) -> bool {
        modes::live_levels().contains(self.0)
    }

    /// Whether the tensor is batched at this level.
    fn has(&self, x: &Bound<'_, Var>) -> bool {
        x.get().tensor().levels.contains(self.0)
    }

    /// The tensor with an axis made the batch, which ops then do not see.
    fn enter<'py>(&self, py: Python<'py>, x: &Bound<'py, Var>, axis: i64) -> PyResult<Bound<'py, Var>> {
        let t = transform::enter_at(&x.get().operand(), self.0, axis)?;
        Var::result(py, t, x.get().dialect())
    }

    /// The tensor with the batch as an axis. A tensor that is not batched is repeated.
    fn leave<'py>(&self, py: Python<'py>, x: &Bound<'py, Var>, axis: i64) -> PyResult<Bound<'py, Var>> {
        let t = transform::leave_at(&x.get().operand(), self.0, axis)?;
        Var::result(py, t, x.get().dialect())
    }
}

/// The batches that any of the tensors has, the innermost one first.
#[pyfunction]
fn batches(tensors: Vec<Bound<'_, Var>>) -> Vec<Batch> {
    let mut levels: Vec<graph::Level> = vec![];
    tensors.iter().for_each(|v| levels.extend_from_slice(v.get().tensor().levels.as_slice()));
    levels.sort_unstable_by(|a, b| b.cmp(a));
    levels.dedup();
    levels.into_iter().map(Batch).collect()
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Level>()?;
    m.add_class::<Batch>()?;
    m.add_function(wrap_pyfunction!(batches, m)?)
}
