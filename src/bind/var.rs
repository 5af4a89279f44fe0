//! `Var`: what Python holds. A lock around a value and the place of its gradient; and its dialect.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::accumulate::Slot;
use super::autograd::{grad_enabled, unrecorded};
use super::convert;
use super::dialect::Dialect;
use super::inference;
use super::retain::Retained;
use super::storage::{Mark, Old, Part};
use crate::array::{Array, Layout};
use crate::error::Result;
use crate::graph::modes::{self, Flags};
use crate::graph::{DetachReason, Edge, Tensor};
use crate::ops::{Index, index};

/// The value of a tensor.
pub enum Value {
    /// Nobody else's.
    Own(Tensor),
    /// In memory that views or detached tensors see too.
    Part(Box<Part>),
}

impl Value {
    /// Whether it may lead to objects of Python's: those that hang on the graph below, and what a view is of.
    #[inline]
    fn has_host_parts(&self) -> bool {
        match self {
            Value::Own(t) => t.edge.as_ref().is_some_and(|e| e.node.has_host_parts()),
            Value::Part(_) => true,
        }
    }
}

pub struct State {
    pub value: Value,
    /// Where its gradient is put, once it is a leaf.
    pub slot: Option<Arc<Slot>>,
    /// What few tensors have.
    pub extras: Option<Box<Extras>>,
    /// How often a value of its own was written to.
    version: u32,
    /// Whether a value of its own was made in inference mode.
    inference: bool,
}

#[derive(Default)]
pub struct Extras {
    /// That its gradient is kept although it is no leaf.
    retained: Option<Retained>,
    /// What the user calls it.
    pub name: Option<Py<PyString>>,
    /// What the user put on it.
    pub attributes: Option<Py<PyDict>>,
}

/// A tensor as an op takes it.
pub enum Reading<'a> {
    /// The value itself, nobody else's.
    Locked(MutexGuard<'a, State>),
    Copied(Tensor),
}

impl Deref for Reading<'_> {
    type Target = Tensor;

    #[inline]
    fn deref(&self) -> &Tensor {
        match self {
            Reading::Copied(t) => t,
            Reading::Locked(state) => match &state.value {
                Value::Own(t) => t,
                Value::Part(_) => unreachable!("only values of one's own are locked"),
            },
        }
    }
}

/// An n-dimensional array that knows how it was computed.
#[pyclass(frozen, subclass, weakref, name = "Tensor", module = "ferrograd")]
pub struct Var {
    state: Mutex<State>,
    dialect: Dialect,
}

impl Var {
    pub fn new(value: Value, dialect: Dialect) -> Var {
        let inference = inference::enabled();
        Var { state: Mutex::new(State { value, slot: None, extras: None, version: 0, inference }), dialect }
    }

    /// A result of an op.
    #[inline]
    pub fn result(py: Python<'_>, tensor: Tensor, dialect: Dialect) -> PyResult<Bound<'_, Var>> {
        Var::object(py, Value::Own(tensor), dialect)
    }

    #[inline]
    pub fn object(py: Python<'_>, value: Value, dialect: Dialect) -> PyResult<Bound<'_, Var>> {
        if let Value::Own(t) = &value {
            inference::check(t)?;
        }
        let hosts = value.has_host_parts();
        let var = dialect.object(py, Var::new(value, dialect))?;
        if !hosts {
            convert::untrack(&var);
        }
        Ok(var)
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock, unless somebody has it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, State>> {
        self.state.try_lock().ok()
    }

    /// The value as it is now, with its edge.
    #[inline]
    pub fn tensor(&self) -> Tensor {
        let mut state = self.lock();
        let (tensor, old) = match &mut state.value {
            Value::Own(t) => return t.clone(),
            Value::Part(p) => p.read(),
        };
        state.follow(tensor.edge.as_ref());
        drop(state);
        drop(old);
        tensor
    }

    /// The tensor as an op takes it: without its edge where recording is off.
    #[inline]
    pub fn operand(&self) -> Tensor {
        let mut t = self.tensor();
        if grad_enabled() {
            if inference::is_used() && self.lock().is_inference() {
                inference::reads(&mut t);
            }
            return t;
        }
        if t.edge.is_none() {
            return t;
        }
        Tensor { edge: None, detach_reason: unrecorded(), ..t }
    }

    /// The tensor as an op takes it, not copied if it can be helped: for an op that calls no code of the user's, since
    /// the value is locked until the op has read it.
    #[inline]
    pub fn reading(&self) -> Reading<'_> {
        const COPIED: Flags = Flags::NOT_RECORDING.and(Flags::PACKING).and(Flags::INFERENCE_TENSORS);
        if !modes::flags().has(COPIED)
            && let Some(state) = self.try_lock()
            && matches!(state.value, Value::Own(_))
        {
            return Reading::Locked(state);
        }
        Reading::Copied(self.operand())
    }

    /// Where the elements lie, if others may see them.
    pub fn mark(&self) -> Option<Mark> {
        match &self.lock().value {
            Value::Own(_) => None,
            Value::Part(p) => Some(p.mark()),
        }
    }

    /// What the user calls it.
    pub fn given_name(&self, py: Python<'_>) -> Option<Py<PyString>> {
        self.lock().extras.as_ref()?.name.as_ref().map(|name| name.clone_ref(py))
    }

    pub fn dialect(&self) -> Dialect {
        self.dialect
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

    /// Whether the value was made in inference mode.
    pub fn is_inference(&self) -> bool {
        match &self.value {
            Value::Own(_) => self.inference,
            Value::Part(p) => p.is_inference(),
        }
    }

    /// The value as a part of memory that others may see.
    pub fn part(&mut self) -> &mut Part {
        if let Value::Own(t) = &self.value {
            self.value = Value::Part(Box::new(Part::whole(t, self.version, self.inference)));
        }
        match &mut self.value {
            Value::Part(p) => p,
            Value::Own(_) => unreachable!("just made a part"),
        }
    }

    /// Saves the gradient: after all hooks and wherever the history goes (`last`), or in the order of registration.
    pub fn retain(&mut self, edge: &Edge, last: bool, dialect: Dialect) {
        if !self.is_retained() {
            self.slot.get_or_insert_default();
            self.extras().retained = Some(Retained::new(last, dialect));
            self.follow(Some(edge));
        }
    }

    pub fn is_retained(&self) -> bool {
        self.extras.as_ref().is_some_and(|e| e.retained.is_some())
    }

    /// What few tensors have, made if it is not there.
    pub fn extras(&mut self) -> &mut Extras {
        self.extras.get_or_insert_default()
    }

    #[inline]
    fn follow(&mut self, edge: Option<&Edge>) {
        if let (Some(extras), Some(slot)) = (&mut self.extras, &self.slot)
            && let Some(retained) = &mut extras.retained
        {
            retained.follow(edge, slot);
        }
    }

    /// Begins a new history with this edge: a leaf, or untracked.
    pub fn restart(&mut self, edge: Option<Edge>) -> Old {
        match &mut self.value {
            Value::Own(t) => Old(std::mem::replace(&mut t.edge, edge)),
            Value::Part(p) => p.restart(edge),
        }
    }

    /// Remembers what cut this tensor off.
    pub fn cut_off(&mut self, detach_reason: DetachReason) {
        match &mut self.value {
            Value::Own(t) => t.detach_reason = detach_reason,
            Value::Part(p) => p.detach_reason = detach_reason,
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
        let after = t.edge.clone();
        self.version = self.version.wrapping_add(1);
        self.follow(after.as_ref());
        Ok(Old(before))
    }

    /// Makes another value of the same shape and dtype this one's. Over a tracked value one that is not is written like
    /// any constant: the result is tracked, with the derivative zero.
    pub fn assign(&mut self, new: &Tensor, record: bool) -> Result<Old> {
        let packs = matches!(self.value, Value::Part(_));
        self.write(record, |t, layout| match layout {
            None if t.edge.is_none() || new.edge.is_some() => {
                t.array = if packs { new.array.contiguous()? } else { new.array.clone() };
                t.edge.clone_from(&new.edge);
                t.detach_reason = new.detach_reason;
                Ok(())
            }
            _ => index::put_at(t, layout, &[Index::Ellipsis], new.into()),
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
            self.inference = self.is_inference();
            self.follow(new.edge.as_ref());
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
