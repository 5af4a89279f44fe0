//! `Var`: what Python holds. A lock around a value, the place of its gradient and its dialect.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use smallvec::SmallVec;

use super::autograd::grad_enabled;
use super::deposit::Slot;
use super::dialect::Dialect;
use super::storage::{Mark, Old, Part};
use crate::array::{Array, Layout};
use crate::error::Result;
use crate::graph::{Edge, Tensor, held_by};
use crate::ops::{Index, index};

/// The value of a tensor.
pub enum Value {
    /// Nobody else's.
    Own(Tensor),
    /// In memory that views or detached tensors see too.
    Part(Box<Part>),
}

impl Value {
    /// Whether objects of Python's hang on the graph below.
    #[inline]
    fn has_host_parts(&self) -> bool {
        let edge = match self {
            Value::Own(t) => &t.edge,
            Value::Part(p) => p.edge_seen(),
        };
        edge.as_ref().is_some_and(|e| e.node.has_host_parts())
    }
}

pub struct State {
    pub value: Value,
    /// Where its gradient is put, once it is a leaf.
    pub slot: Option<Arc<Slot>>,
    pub dialect: Dialect,
    /// What the user calls it.
    pub name: Option<Box<str>>,
    /// How often a value of its own was written to.
    version: u32,
}

/// An n-dimensional array that knows how it was computed.
#[pyclass(frozen, subclass, weakref, name = "Tensor", module = "ferrograd")]
pub struct Var {
    state: Mutex<State>,
}

impl Var {
    pub fn new(value: Value, dialect: Dialect) -> Var {
        Var { state: Mutex::new(State { value, slot: None, dialect, name: None, version: 0 }) }
    }

    /// A result of an op.
    #[inline]
    pub fn result(py: Python<'_>, tensor: Tensor, dialect: Dialect) -> PyResult<Bound<'_, Var>> {
        Var::object(py, Value::Own(tensor), dialect)
    }

    #[inline]
    pub fn object(py: Python<'_>, value: Value, dialect: Dialect) -> PyResult<Bound<'_, Var>> {
        let hosts = value.has_host_parts();
        let var = dialect.object(py, Var::new(value, dialect))?;
        if !hosts {
            super::convert::untrack(&var);
        }
        Ok(var)
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value as it is now, with its edge.
    #[inline]
    pub fn tensor(&self) -> Tensor {
        let mut state = self.lock();
        let (tensor, old) = match &mut state.value {
            Value::Own(t) => return t.clone(),
            Value::Part(p) => p.read(),
        };
        drop(state);
        drop(old);
        tensor
    }

    /// The tensor as an op takes it: without its edge where recording is off.
    #[inline]
    pub fn operand(&self) -> Tensor {
        let t = self.tensor();
        if grad_enabled() { t } else { t.detach() }
    }

    /// Where the elements lie, if others may see them.
    pub fn mark(&self) -> Option<Mark> {
        match &self.lock().value {
            Value::Own(_) => None,
            Value::Part(p) => Some(p.mark()),
        }
    }

    pub fn dialect(&self) -> Dialect {
        self.lock().dialect
    }

    pub fn dialect_of(o: &Bound<'_, PyAny>) -> Option<Dialect> {
        o.cast::<Var>().ok().map(|v| v.get().dialect())
    }
}

impl State {
    /// How often the value was written to, by whomever.
    pub fn version(&self) -> u32 {
        match &self.value {
            Value::Own(_) => self.version,
            Value::Part(p) => p.writes(),
        }
    }

    /// The value as a part of memory that others may see.
    pub fn part(&mut self) -> &mut Part {
        if let Value::Own(t) = &self.value {
            self.value = Value::Part(Box::new(Part::whole(t, self.version)));
        }
        match &mut self.value {
            Value::Part(p) => p,
            Value::Own(_) => unreachable!("just made a part"),
        }
    }

    /// Begins a new history with this edge: a leaf, or untracked.
    pub fn restart(&mut self, edge: Option<Edge>) -> Old {
        match &mut self.value {
            Value::Own(t) => Old(std::mem::replace(&mut t.edge, edge)),
            Value::Part(p) => p.restart(edge),
        }
    }

    /// Writes: `f` changes a tensor, at the layout if one is given. Only if `record` does it see and change the edge;
    /// else the edge stays. An error leaves everything as it was, as `f` must.
    pub fn write(
        &mut self,
        record: bool,
        f: impl FnOnce(&mut Tensor, Option<&Layout>) -> Result<()>,
    ) -> Result<Old> {
        let t = match &mut self.value {
            Value::Own(t) => t,
            Value::Part(p) => return p.write(record, f),
        };
        let before = t.edge.clone();
        if !record {
            t.edge = None;
        }
        let done = f(t, None);
        if !record {
            t.edge.clone_from(&before);
        }
        done?;
        self.version = self.version.wrapping_add(1);
        Ok(Old(before))
    }

    /// Makes another value of the same shape and dtype this one's.
    pub fn assign(&mut self, new: &Tensor, record: bool) -> Result<Old> {
        let packs = matches!(self.value, Value::Part(_));
        self.write(record, |t, layout| match layout {
            None => {
                t.array = if packs { new.array.contiguous()? } else { new.array.clone() };
                t.edge.clone_from(&new.edge);
                Ok(())
            }
            Some(_) => index::put_at(t, layout, &[Index::Ellipsis], new.into()),
        })
    }

    /// Makes the result of an op that moves elements about this tensor's value. `mark` is where its elements lie, if it
    /// is a view.
    pub fn reshape(&mut self, mut new: Tensor, mark: Option<Mark>) -> Old {
        let edge = match &self.value {
            Value::Own(t) => t.edge.clone(),
            Value::Part(p) => p.edge(),
        };
        if let (Some(_), Some(slot)) = (edge.as_ref().filter(|e| e.node.is_leaf()), &self.slot) {
            new = slot.leaf(&new);
        }
        let moved = match (&mut self.value, mark) {
            (Value::Part(p), Some(mark)) => p.move_to(&mark, new.edge.clone()),
            _ => None,
        };
        if moved.is_none() {
            self.version = self.version().wrapping_add(1);
            self.value = Value::Own(new);
        }
        Old(edge)
    }

    /// The place of an array that lies in this tensor's memory.
    pub fn see(&mut self, t: &Tensor) -> Option<(&mut Part, Layout)> {
        let layout = match &self.value {
            Value::Own(own) if own.levels != t.levels => None,
            Value::Own(own) => t.array.layout_in(&own.array, t.levels.len()),
            Value::Part(p) => p.layout_of(t),
        }?;
        Some((self.part(), layout))
    }

    /// The elements for writing in place, if they fill their memory.
    pub fn all<R>(&mut self, f: impl FnOnce(&mut Array) -> R) -> Option<R> {
        match &mut self.value {
            Value::Own(t) => Some(f(&mut t.array)),
            Value::Part(p) => p.all(f),
        }
    }
}

#[pymethods]
impl Var {
    /// Shows Python's objects that live through this tensor alone to the garbage collector. Where another thread
    /// is at the tensor it shows none: they are in use.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(state) = self.state.try_lock() else { return Ok(()) };
        let mut done = Ok(());
        let mut see = |object: &dyn std::any::Any| {
            if let (Some(object), true) = (object.downcast_ref::<Py<PyAny>>(), done.is_ok()) {
                done = visit.call(object);
            }
        };
        match &state.value {
            Value::Own(t) => held_by(&t.edge.iter().collect::<SmallVec<[&Edge; 1]>>(), &mut see),
            Value::Part(p) => {
                p.own_edges(|edges| held_by(edges, &mut see));
                done.and_then(|()| visit.call(&p.base))?;
                return Ok(());
            }
        }
        done
    }

    fn __clear__(&self) {
        let old = self.lock().restart(None);
        drop(old);
    }
}
