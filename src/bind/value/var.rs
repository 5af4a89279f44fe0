//! `Var`, the tensor object of Python: a lock around its value, and the dialect.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::kept::linked;
use super::slot::GradSlot;
use super::storage::{OldEdge, Region, SharedValue, count_write};
use crate::array::{Array, Layout, Loan};
use crate::bind::python::capi::attached;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::raise;
use crate::bind::python::modes::{not_recorded, note_inference_operand};
use crate::error::Result;
use crate::graph::modes::{self, Flags, flags};
use crate::graph::{DetachReason, Edge, Stems, Tensor};
use crate::ops::copy::shareable;
use crate::ops::tangents::with_tangent_alone;
use crate::ops::{Index, index};

/// The value of a tensor.
pub enum Value {
    /// In memory that no other tensor shares.
    Own(Tensor),
    /// In memory that views or detached tensors may share.
    Shared(Box<SharedValue>),
}

impl Value {
    /// Whether the value may lead to Python objects: those held by the graph below it, and the base of a view.
    #[inline]
    pub fn has_host_parts(&self) -> bool {
        match self {
            Value::Own(t) => t.edge.as_ref().is_some_and(|e| e.node.has_host_parts()),
            Value::Shared(_) => true,
        }
    }
}

/// Where the gradient of a tensor is stored.
pub type Slot = GradSlot<Var>;

/// What follows a tensor from edge to edge: a write gives the tensor another one.
pub trait EdgeFollower: Send + Sync {
    /// Called with the edge that the tensor has now.
    fn follow(&mut self, edge: Option<&Edge>, slot: &Arc<Slot>);
}

/// The small fields come first, so that the value is copied in whole words.
#[repr(C)]
pub struct State {
    /// How often an `Own` value was written to.
    version: u32,
    /// Where the tensor was made. It fills a word with the field above, since the compiler copies padding with the value
    /// behind it, in words that are not aligned.
    made: Made,
    pub value: Value,
    /// Where its gradient is stored. Present once it was a leaf, or a gradient was stored.
    pub slot: Option<Arc<Slot>>,
    /// What few tensors have.
    pub extras: Option<Box<Extras>>,
}

/// Where a tensor was made.
#[derive(Clone, Copy)]
struct Made(u32);

impl Made {
    const INFERENCE: u32 = 1;

    /// On this thread, at this moment.
    #[inline(always)]
    fn here() -> Made {
        #[cold]
        #[inline(never)]
        fn in_modes(modes: Flags) -> Made {
            let functions = modes::differentiated_functions().len() as u32;
            Made(functions << 1 | u32::from(modes.has(Flags::INFERENCE)))
        }
        let modes = flags();
        if modes.has(Flags::INFERENCE.and(Flags::TRANSFORMED)) { in_modes(modes) } else { Made(0) }
    }

    /// Whether an `Own` value was made in inference mode.
    fn in_inference(self) -> bool {
        self.0 & Made::INFERENCE != 0
    }

    fn set_inference(&mut self, inference: bool) {
        self.0 = self.0 & !Made::INFERENCE | u32::from(inference);
    }

    /// In how many functions, inside of each other, that transforms of torch's differentiate.
    fn functions(self) -> usize {
        (self.0 >> 1) as usize
    }

    fn set_functions(&mut self, functions: usize) {
        self.0 = self.0 & Made::INFERENCE | (functions as u32) << 1;
    }
}

#[derive(Default)]
pub struct Extras {
    /// What keeps the gradient of a tensor that is no leaf.
    retained: Option<Box<dyn EdgeFollower>>,
    /// The name that the user gave it.
    pub name: Option<Py<PyString>>,
    /// The attributes that the user put on it.
    pub attributes: Option<Py<PyDict>>,
    /// What is called with the tensor after a write to it or to a view of it.
    pub written: Option<Py<PyAny>>,
}

/// A tensor as an op reads it.
pub enum Reading<'a> {
    /// The value itself, an `Own` one, under the lock.
    Locked(MutexGuard<'a, State>),
    Copied(Tensor),
    /// A copy of a value about which an op has to know something else.
    Noted(Tensor, Notes),
}

/// What an op has to know about its operands besides their values.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Notes {
    /// Whether an array may lie in memory that another library writes to.
    pub lent: bool,
    /// Whether elements of a tensor of torch's are not in C order.
    pub strided: bool,
}

impl Notes {
    #[inline]
    pub fn any(self) -> bool {
        self != Notes::default()
    }
}

impl Reading<'_> {
    /// Gives up the lock, with a copy of the value instead.
    pub fn unlock(&mut self) {
        if let Reading::Locked(_) = self {
            *self = Reading::Copied((**self).clone());
        }
    }

    /// Gives up the lock, and tells what is noted.
    pub fn unlocked(&mut self) -> Notes {
        self.unlock();
        if let Reading::Noted(_, notes) = self { *notes } else { Notes::default() }
    }
}

impl Deref for Reading<'_> {
    type Target = Tensor;

    #[inline]
    fn deref(&self) -> &Tensor {
        match self {
            Reading::Copied(t) | Reading::Noted(t, _) => t,
            Reading::Locked(state) => match &state.value {
                Value::Own(t) => t,
                Value::Shared(_) => unreachable!("only values of one's own are locked"),
            },
        }
    }
}

/// An n-dimensional array that knows how it was computed.
///
///     >>> x = fg.tensor([1.0, 2.0], requires_grad=True)
///     >>> isinstance(x, fg.Tensor), x.shape, x.is_leaf
///     (True, (2,), True)
#[pyclass(frozen, subclass, weakref, name = "Tensor", module = "ferrograd")]
pub struct Var {
    state: Mutex<State>,
    dialect: Dialect,
}

impl Var {
    #[inline(always)]
    pub fn new(value: Value, dialect: Dialect) -> Var {
        let state = State { version: 0, made: Made::here(), value, slot: None, extras: None };
        Var { state: Mutex::new(state), dialect }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock, unless somebody holds it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, State>> {
        self.state.try_lock().ok()
    }

    /// The value as it is now, with its edge.
    #[inline]
    pub fn tensor(&self) -> Tensor {
        if let Some(trace) = modes::trace() {
            self.capture(&trace);
        }
        self.uncaptured()
    }

    /// [`Var::tensor`] for whoever keeps no array of it, because it may lie in memory that another library writes to:
    /// [`Array::is_lent`].
    #[inline]
    pub fn look(&self) -> Tensor {
        if let Some(trace) = modes::trace() {
            self.capture(&trace);
        }
        self.read(SharedValue::look)
    }

    /// [`Var::tensor`], unknown to the trace that this thread takes.
    #[inline]
    pub fn uncaptured(&self) -> Tensor {
        self.read(SharedValue::read)
    }

    #[inline]
    fn read(&self, shared: impl FnOnce(&mut SharedValue) -> (Tensor, OldEdge)) -> Tensor {
        let mut state = self.lock();
        let (tensor, old) = match &mut state.value {
            Value::Own(t) => return t.clone(),
            Value::Shared(p) => shared(p),
        };
        state.follow(tensor.edge.as_ref());
        drop(state);
        drop(old);
        tensor
    }

    /// The value as an op takes it: without its edge while ops are not recorded.
    #[inline]
    pub fn operand(&self) -> Tensor {
        self.as_operand(self.tensor(), flags())
    }

    /// [`Var::operand`] for an op that keeps no array of it, such as a view.
    pub fn operand_in_place(&self) -> Tensor {
        self.as_operand(self.look(), flags())
    }

    /// [`Var::operand`] for an op that keeps no array of it if none of its operands is tracked, and what is to be noted of it.
    /// Numbers that may be indices are copied from memory that another library writes to, since a kernel that has checked them
    /// reads them again.
    #[inline]
    pub fn operand_noting(&self, notes: &mut Notes) -> Tensor {
        self.noting(notes, flags())
    }

    #[inline]
    fn noting(&self, notes: &mut Notes, modes: Flags) -> Tensor {
        let plain = modes.without(Flags::NOT_RECORDING.and(Flags::TRANSFORMED)) == Flags::NONE;
        let look = |p: &mut SharedValue| {
            let (mut t, old) = p.look();
            if t.array.is_lent() {
                if plain && t.dtype().is_differentiable() {
                    notes.lent = true;
                } else {
                    t.array = t.array.kept().unwrap_or_else(|error| error.throw());
                }
            }
            notes.strided |= self.dialect == Dialect::Torch && !p.layout.is_contiguous();
            (t, old)
        };
        if !plain && let Some(trace) = modes::trace() {
            self.capture(&trace);
        }
        self.as_operand(self.read(look), modes)
    }

    #[inline]
    fn as_operand(&self, mut t: Tensor, modes: Flags) -> Tensor {
        if modes.has(Flags::HOST_RULE) && !t.is_tracked() {
            t = linked(t);
        }
        if !modes.has(Flags::NOT_RECORDING) {
            if modes.has(Flags::INFERENCE_TENSORS) && self.lock().is_inference() {
                note_inference_operand(&mut t);
            }
            return t;
        }
        if t.edge.is_none() {
            return t;
        }
        if modes.has(Flags::TANGENTS) && t.edge.as_ref().is_some_and(|e| e.node.may_have_tangents()) {
            return with_tangent_alone(&t).unwrap_or_else(|error| error.throw());
        }
        let stems = if modes.has(Flags::HOST_CALL) { self.stems(&t) } else { Stems::default() };
        Tensor { edge: None, detach_reason: not_recorded().with_stems(stems), ..t }
    }

    /// The value as an op takes it, without a copy where that is possible. Only for an op that runs no code of the
    /// user's, because the value stays locked until the op has read it.
    #[inline]
    pub fn reading(&self) -> Reading<'_> {
        const COPIED: Flags = Flags::NOT_RECORDING
            .and(Flags::PACKING)
            .and(Flags::INFERENCE_TENSORS)
            .and(Flags::TRACING)
            .and(Flags::HOST_RULE);
        let modes = flags();
        if !modes.has(COPIED)
            && let Some(state) = self.try_lock()
            && matches!(state.value, Value::Own(_))
        {
            return Reading::Locked(state);
        }
        let mut notes = Notes::default();
        let t = self.noting(&mut notes, modes);
        if notes.any() { Reading::Noted(t, notes) } else { Reading::Copied(t) }
    }

    /// Where the elements lie, if other tensors may share the memory.
    pub fn region(&self) -> Option<Region> {
        match &self.lock().value {
            Value::Own(_) => None,
            Value::Shared(p) => Some(p.region()),
        }
    }

    /// The tensor that this one is a view of.
    pub fn base<'py>(slf: &Bound<'py, Var>) -> Option<Bound<'py, PyAny>> {
        match &slf.get().lock().value {
            Value::Shared(p) => p.base.as_ref().map(|base| base.clone_ref(slf.py()).into_bound(slf.py())),
            Value::Own(_) => None,
        }
    }

    /// The name that the user gave it.
    pub fn given_name(&self, py: Python<'_>) -> Option<Py<PyString>> {
        self.lock().extras.as_ref()?.name.as_ref().map(|name| name.clone_ref(py))
    }

    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The gradient that is stored here.
    pub fn grad(&self, py: Python<'_>) -> Option<Py<Var>> {
        self.meet_trace();
        let slot = self.lock().slot.clone()?;
        slot.grad(py)
    }

    /// Shares the memory with another library, which may write to it as this tensor does.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn export(&self) -> Result<(Array, Loan)> {
        self.lock().shared().export()
    }

    /// The values, for a function of the name `what`.
    ///
    ///  # Errors
    ///  `VmapError`, inside a `vmap`: the tensor stands for the values of the whole batch.
    pub fn values(&self, what: &str) -> PyResult<Array> {
        Var::values_of(self.tensor(), what)
    }

    /// [`Var::values`] of a tensor that has been read.
    pub fn values_of(t: Tensor, what: &str) -> PyResult<Array> {
        if t.levels.is_empty() {
            return Ok(t.array);
        }
        let text = format!(
            "{what}: inside vmap a tensor stands for a whole batch and has no values of its own (shape {:?}), so there \
             is no {what}() on a Tensor and no data-dependent control flow: where(condition, a, b) chooses for each",
            t.dims()
        );
        Err(attached(|py| raise(py, "VmapError", text)))
    }

    pub fn dialect_of(o: &Bound<'_, PyAny>) -> Option<Dialect> {
        o.cast::<Var>().ok().map(|v| v.get().dialect())
    }
}

impl State {
    /// How often the value was written to, through any tensor of its memory.
    pub fn version(&self) -> u32 {
        match &self.value {
            Value::Own(_) => self.version,
            Value::Shared(p) => p.writes(),
        }
    }

    /// Whether the tracked value, as it was last read, comes from this edge.
    pub fn has_edge(&self, edge: Option<&Edge>) -> bool {
        let own = match &self.value {
            Value::Own(t) => &t.edge,
            Value::Shared(p) => p.last_edge(),
        };
        own.as_ref().zip(edge).is_some_and(|(own, edge)| own.is_same(edge))
    }

    /// Calls `f` with the value, if it is all of its memory and has no edge.
    pub fn with_untracked<R>(&self, f: impl FnOnce(&Tensor) -> R) -> Option<R> {
        match &self.value {
            Value::Own(t) if t.edge.is_none() => Some(f(t)),
            Value::Own(_) => None,
            Value::Shared(p) => p.with_untracked(f),
        }
    }

    /// Whether the value was made in inference mode.
    pub fn is_inference(&self) -> bool {
        match &self.value {
            Value::Own(_) => self.made.in_inference(),
            Value::Shared(p) => p.is_inference(),
        }
    }

    /// In how many functions that transforms of torch's differentiate, each inside of the one before, the tensor was made.
    pub fn differentiated_functions(&self) -> usize {
        self.made.functions()
    }

    /// Sets [`State::differentiated_functions`] and gives what it was.
    pub fn set_differentiated_functions(&mut self, functions: usize) -> usize {
        let before = self.made.functions();
        self.made.set_functions(functions);
        before
    }

    /// The value as one whose memory may be shared.
    pub fn shared(&mut self) -> &mut SharedValue {
        if let Value::Own(t) = &self.value {
            self.value =
                Value::Shared(Box::new(SharedValue::whole(t, self.version, self.made.in_inference())));
        }
        match &mut self.value {
            Value::Shared(p) => p,
            Value::Own(_) => unreachable!("just made shared"),
        }
    }

    /// Takes the value out of memory that may be shared, where nobody else has it.
    pub fn unshare(&mut self) {
        if let Value::Shared(p) = &mut self.value
            && let Some((t, writes, inference)) = p.alone()
        {
            self.version = writes;
            self.made.set_inference(inference);
            self.value = Value::Own(t);
        }
    }

    /// Makes `retained` follow this tensor's edge from now on. Only the first one of a tensor counts.
    pub fn retain(&mut self, edge: &Edge, retained: impl EdgeFollower + 'static) {
        if !self.is_retained() {
            self.slot.get_or_insert_default();
            self.extras().retained = Some(Box::new(retained));
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
    pub fn restart(&mut self, edge: Option<Edge>) -> OldEdge {
        match &mut self.value {
            Value::Own(t) => OldEdge(std::mem::replace(&mut t.edge, edge)),
            Value::Shared(p) => p.restart(edge),
        }
    }

    /// Remembers why this tensor has no edge.
    pub fn set_detach_reason(&mut self, detach_reason: DetachReason) {
        match &mut self.value {
            Value::Own(t) => t.detach_reason = detach_reason,
            Value::Shared(p) => p.detach_reason = detach_reason,
        }
    }

    /// Writes: `f` changes a tensor, at the layout if one is given. Only if `record` does `f` see the edge and change
    /// it, otherwise the edge stays. If `f` fails it must leave its tensor as it was, and so does this.
    pub fn write(
        &mut self,
        record: bool,
        f: impl FnOnce(&mut Tensor, Option<&Layout>) -> Result<()>,
    ) -> Result<OldEdge> {
        let t = match &mut self.value {
            Value::Own(t) => t,
            Value::Shared(p) => return p.write(record, f),
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
        count_write(&mut self.version);
        self.follow(after.as_ref());
        Ok(OldEdge(before))
    }

    /// Takes the value of another tensor of the same shape and dtype. An untracked value over a tracked one is written
    /// like a constant: the result stays tracked, and its derivative is zero.
    pub fn assign(&mut self, new: &Tensor, record: bool) -> Result<OldEdge> {
        let packs = matches!(self.value, Value::Shared(_));
        self.write(record, |t, layout| match layout {
            None if t.edge.is_none() || new.edge.is_some() => {
                t.array = if packs { shareable(&new.array)? } else { new.array.clone() };
                t.edge.clone_from(&new.edge);
                t.detach_reason = new.detach_reason;
                Ok(())
            }
            _ => index::put_at(t, layout, &[Index::Ellipsis], new.into()),
        })
    }

    /// Takes the result of an op that moves elements, such as a transpose. `region` is where its elements lie, if it is
    /// a view.
    pub fn reshape(&mut self, mut new: Tensor, region: Option<Region>) -> OldEdge {
        let edge = match &self.value {
            Value::Own(t) => t.edge.clone(),
            Value::Shared(p) => p.edge(),
        };
        if let (Some(_), Some(slot)) = (edge.as_ref().filter(|e| e.node.is_leaf()), &self.slot) {
            new = slot.leaf(&new);
        }
        let moved = match (&mut self.value, region) {
            (Value::Shared(p), Some(region)) => p.move_to(&region, new.edge.clone()),
            _ => None,
        };
        if moved.is_none() {
            self.version = self.version();
            count_write(&mut self.version);
            self.made.set_inference(self.is_inference());
            self.follow(new.edge.as_ref());
            self.value = Value::Own(new);
        }
        OldEdge(edge)
    }

    /// This value as one of shared memory, and the layout of a tensor that lies in that memory. None for other tensors.
    pub fn locate(&mut self, t: &Tensor) -> Option<(&mut SharedValue, Layout)> {
        let layout = match &self.value {
            Value::Own(own) if own.levels != t.levels => None,
            Value::Own(own) => t.array.layout_in(&own.array, t.levels.len()),
            Value::Shared(p) => p.layout_of(t),
        }?;
        Some((self.shared(), layout))
    }

    /// The elements for writing in place, if they are all elements of their memory.
    pub fn all<R>(&mut self, f: impl FnOnce(&mut Array) -> R) -> Option<R> {
        match &mut self.value {
            Value::Own(t) => Some(f(&mut t.array)),
            Value::Shared(p) => p.all(f),
        }
    }
}
