//! Batching, as Python functions use it: a level is made and entered, or found at a tensor that has it.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::stack;
use crate::bind::value::var::Var;
use crate::graph::modes::Flags;
use crate::graph::{self, LiveLevel, Modes, Randomness, Tensor, modes};
use ferrograd::transform;

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
        stack::check().or_raise()?;
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

/// The batch of a level, live or closed. The innermost one of several is the greatest.
#[pyclass(frozen, eq, ord, module = "ferrograd._core")]
#[derive(PartialEq, PartialOrd)]
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
        x.get().look().levels.contains(self.0)
    }

    /// The tensor with an axis made the batch, which ops then do not see.
    fn enter<'py>(&self, py: Python<'py>, x: &Bound<'py, Var>, axis: i64) -> PyResult<Bound<'py, Var>> {
        let t = transform::enter_at(&x.get().operand(), self.0, axis).or_raise()?;
        Var::result(py, t, x.get().dialect())
    }

    /// The tensor with the batch as an axis. A tensor that is not batched is repeated.
    fn leave<'py>(&self, py: Python<'py>, x: &Bound<'py, Var>, axis: i64) -> PyResult<Bound<'py, Var>> {
        let t = transform::leave_at(&x.get().operand(), self.0, axis).or_raise()?;
        Var::result(py, t, x.get().dialect())
    }
}

/// Between ``__enter__`` and ``__exit__`` the calls of these batches run, though they may have ended: what is computed then is
/// computed for each member, gradients included.
#[pyclass(frozen, module = "ferrograd._core")]
pub struct Live {
    levels: Vec<graph::Level>,
    before: Mutex<Vec<Vec<LiveLevel>>>,
}

#[pymethods]
impl Live {
    #[new]
    fn new(batches: Vec<Bound<'_, Batch>>) -> Live {
        Live { levels: batches.iter().map(|batch| batch.get().0).collect(), before: Mutex::default() }
    }

    fn __enter__(&self) {
        let live = modes::live_levels();
        let ended = self.levels.iter().filter(|level| !live.contains(**level));
        let again = |&level: &graph::Level| LiveLevel { level, randomness: Randomness::default() };
        let before = Modes::update(|m| {
            let before = m.live_levels.clone();
            m.live_levels.extend(ended.map(again));
            before
        });
        self.before.lock().unwrap_or_else(PoisonError::into_inner).push(before);
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        if let Some(before) = self.before.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            Modes::update(|m| m.live_levels = before);
        }
    }
}

/// The examples of a batch that take a side of a branch, or the next step of a loop: those for which a truth value holds,
/// and which take what it is part of. Between ``__enter__`` and ``__exit__`` ops compute on operands of theirs alone.
/// ``Takers(None)`` are all examples.
#[pyclass(frozen, module = "ferrograd._core")]
pub struct Takers {
    mask: Option<(Tensor, Dialect)>,
    before: Mutex<Vec<Option<Arc<dyn graph::Takers>>>>,
}

#[pymethods]
impl Takers {
    /// With `joins` the examples that do not take what this is part of are none of them.
    #[new]
    #[pyo3(signature = (holds, joins=true))]
    fn new(holds: Option<&Bound<'_, Var>>, joins: bool) -> PyResult<Takers> {
        let mask = |v: &Bound<'_, Var>| {
            let holds = v.get().operand();
            Ok((if joins { transform::joined(&holds)? } else { holds }, v.get().dialect()))
        };
        Ok(Takers { mask: holds.map(mask).transpose().or_raise()?, before: Mutex::default() })
    }

    /// Whether an example is one of them, if they are not all.
    #[getter]
    fn mask<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, Var>>> {
        self.mask.as_ref().map(|(mask, dialect)| Var::result(py, mask.clone(), *dialect)).transpose()
    }

    fn __enter__(&self) -> PyResult<()> {
        let takers = self.mask.as_ref().map(|(mask, _)| transform::takers(mask)).transpose().or_raise()?;
        let before = Modes::update(|m| std::mem::replace(&mut m.takers, takers));
        self.before.lock().unwrap_or_else(PoisonError::into_inner).push(before);
        Ok(())
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        if let Some(before) = self.before.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            drop(Modes::update(|m| std::mem::replace(&mut m.takers, before)));
        }
    }
}

/// The takers of what this thread computes.
#[pyfunction]
fn takers() -> Takers {
    let mask = graph::takers().map(|takers| (takers.mask().clone(), Dialect::Native));
    Takers { mask, before: Mutex::default() }
}

/// Whether some examples of a batch are not among the takers.
#[pyfunction]
fn is_for_takers() -> bool {
    modes::flags().has(Flags::TAKERS)
}

/// The tensor as the takers of what this thread computes have it; the object itself where it is that already.
#[pyfunction]
fn operand<'py>(py: Python<'py>, x: Bound<'py, Var>) -> PyResult<Bound<'py, Var>> {
    let takers = graph::takers();
    match takers.map(|takers| takers.operand(&x.get().operand())).transpose().or_raise()?.flatten() {
        Some(taken) => Var::result(py, taken, x.get().dialect()),
        None => Ok(x),
    }
}

/// The batches that any of the tensors has, the innermost one first.
#[pyfunction]
fn batches(tensors: Vec<Bound<'_, Var>>) -> Vec<Batch> {
    let mut levels: Vec<graph::Level> = vec![];
    tensors.iter().for_each(|v| levels.extend_from_slice(v.get().look().levels.as_slice()));
    levels.sort_unstable_by(|a, b| b.cmp(a));
    levels.dedup();
    levels.into_iter().map(Batch).collect()
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Level>()?;
    m.add_class::<Batch>()?;
    m.add_class::<Live>()?;
    m.add_class::<Takers>()?;
    m.add_function(wrap_pyfunction!(takers, m)?)?;
    m.add_function(wrap_pyfunction!(operand, m)?)?;
    m.add_function(wrap_pyfunction!(is_for_takers, m)?)?;
    m.add_function(wrap_pyfunction!(batches, m)?)
}
