//! What a trace captures: the tensors from outside that the traced function reads. A program reads and writes them where
//! they are, so a later write to them is seen.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::storage::Place;
use super::var::{Slot, Value, Var};
use crate::array::Array;
use crate::bind::python::capi::attached;
use crate::graph::{Edge, Levels, Modes, Tensor, Trace, modes};
use crate::ops::copy::apart;

/// Memory that a program reads, and may write to.
pub struct Cell {
    pub place: Place,
    /// The argument that has the memory; None for a tensor that the function found elsewhere.
    pub argument: Option<usize>,
    /// The tensor whose gradient has the memory, as an index of [`Captured::slots`].
    pub grad_of: Option<usize>,
    /// The elements when the trace met them.
    pub before: Array,
    /// The same as they were found, under the seal of an outer trace if there is one.
    pub found: Array,
    /// A copy by the outer trace, which the program reads in their place: the trace has met the memory in another tensor.
    pub read: Option<Array>,
    /// The levels of `vmap` whose batches are the first axes of the elements.
    pub levels: Levels,
    /// The edges of the tensors that have the memory and were met: at first that of all its elements.
    pub edges: SmallVec<[Option<Edge>; 1]>,
}

/// A tensor with a gradient that the function may change.
pub struct GradCell {
    pub slot: Arc<Slot>,
    pub argument: Option<usize>,
    pub before: Option<Py<Var>>,
}

/// An argument that is part of a larger tensor. The function gets a view of a storage of its own, so that the program
/// does not depend on where in the larger tensor the elements lie.
pub struct Part {
    pub given: Py<Var>,
    pub used: Py<Var>,
    /// The storage of the larger tensor.
    pub key: usize,
}

/// Numbers that Python gives to each run.
pub struct HostCell {
    pub source: Py<PyAny>,
    /// The token with which the source undoes its count for the trace.
    pub token: Py<PyAny>,
    /// The numbers of the trace.
    pub numbers: Array,
}

impl GradCell {
    /// The slot that its tensor has now, if that is another one: the function has frozen the tensor.
    pub fn slot_now(&self, py: Python<'_>) -> Option<Arc<Slot>> {
        let now = self.slot.tensor(py)?.get().lock().slot.clone();
        now.filter(|now| !Arc::ptr_eq(now, &self.slot))
    }
}

#[derive(Default)]
pub struct Captured {
    pub cells: Vec<Cell>,
    pub slots: Vec<GradCell>,
    pub hosts: Vec<HostCell>,
    pub parts: Vec<Part>,
    /// Whether the function runs backward passes.
    pub differentiates: bool,
    /// Whether a tensor that the function makes of a NumPy array is a constant: it finds no such array outside, so that the
    /// numbers follow from what calls are compared by.
    pub makes_constants: bool,
    /// Whether the gradients of the results are being traced, from cotangents that stand for others, or a call that has been
    /// made.
    pub seeded: bool,
    /// Whether a tensor was tracked and is not any more, so that it has another history.
    pub stops_tracking: bool,
    /// By storage: its cell.
    known: FxHashMap<usize, usize>,
    /// The addresses of the slots.
    known_slots: FxHashSet<usize>,
    /// The buffers of all cells and parts.
    buffers: FxHashSet<usize>,
    /// The tensors that were made while the trace was taken, as weak references.
    made: Vec<Py<PyWeakrefReference>>,
}

impl Captured {
    /// Notes that a value that is captured lies in this buffer. Whether an earlier one does too.
    pub fn meets_again(&mut self, buffer: usize) -> bool {
        !self.buffers.insert(buffer)
    }

    /// Whether a storage was captured.
    pub fn knows(&self, storage: usize) -> bool {
        self.known.contains_key(&storage)
    }

    /// The tensors made while the trace was taken that still exist.
    pub fn alive<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, Var>> {
        self.made.iter().filter_map(|w| w.bind(py).upgrade_as().ok().flatten()).collect()
    }
}

impl Part {
    /// Whether what the function got has this memory.
    pub fn has(&self, key: usize) -> bool {
        matches!(&self.used.get().lock().value, Value::Shared(p) if p.place_of_part().key() == key)
    }

    /// Makes what the function got the same part of the larger tensor again, and writes there what it has written.
    pub fn rejoin(&self, py: Python<'_>) {
        let written = match &self.used.get().lock().value {
            Value::Shared(p) if p.writes() != 0 => Some(p.again(py)),
            _ => None,
        };
        let mut given = self.given.get().lock();
        let Value::Shared(p) = &mut given.value else { return };
        let old = written.as_ref().map(|written| p.rejoin(written));
        let again = Value::Shared(Box::new(p.again(py)));
        drop(given);
        let leaf = self.leaf();
        let before = std::mem::replace(&mut self.used.get().lock().value, again);
        drop((old, before));
        let (Some((slot, edge)), Ok(weak)) = (leaf, PyWeakrefReference::new(self.given.bind(py))) else {
            return;
        };
        slot.set_tensor(weak.unbind());
        let mut given = self.given.get().lock();
        let old = (given.slot.replace(slot), given.restart(Some(edge)));
        drop(given);
        drop(old);
    }

    /// The slot and the edge of what the function got, if it has made that a leaf.
    fn leaf(&self) -> Option<(Arc<Slot>, Edge)> {
        let edge = self.used.get().uncaptured().edge.filter(|e| e.node.is_leaf())?;
        let is_new = self.given.get().uncaptured().edge.is_none();
        Some((self.used.get().lock().slot.clone().filter(|_| is_new)?, edge))
    }
}

/// What the traces of this module keep.
#[derive(Default)]
pub struct Captures {
    captured: Mutex<Captured>,
    /// The trace that goes on when this one has ended.
    pub outer: Option<Arc<Trace>>,
}

impl Captures {
    /// With the trace that this thread takes, if it takes one, as the outer trace.
    pub fn inside() -> Captures {
        Captures { captured: Mutex::default(), outer: modes::trace() }
    }

    pub fn of(trace: &Trace) -> MutexGuard<'_, Captured> {
        Captures::host(trace).captured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The trace that goes on when this one has ended.
    pub fn outer(trace: &Trace) -> Option<&Arc<Trace>> {
        Captures::host(trace).outer.as_ref()
    }

    fn host(trace: &Trace) -> &Captures {
        trace.host.downcast_ref().expect("this module begins all traces")
    }
}

/// Whether both are the same edge, or none.
pub fn is_same_edge(a: Option<&Edge>, b: Option<&Edge>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.is_same(b),
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// Whether two arrays are the same view of the same memory.
pub fn is_same_view(a: &Array, b: &Array) -> bool {
    a.place() == b.place() && a.dims() == b.dims() && a.strides() == b.strides() && a.dtype() == b.dtype()
}

/// Remembers a new tensor, if a trace is taken.
#[cold]
pub fn note_made(var: &Bound<'_, Var>) -> PyResult<()> {
    if let Some(trace) = modes::trace() {
        let weak = PyWeakrefReference::new(var)?.unbind();
        Captures::of(&trace).made.push(weak);
    }
    Ok(())
}

impl Var {
    /// Makes the memory of this tensor an input of the trace, unless the trace knows its value already.
    #[cold]
    pub fn capture(&self, trace: &Arc<Trace>) {
        self.capture_as(trace, None);
    }

    /// Captures this tensor, if a trace is taken, before its gradient is read or set, or its memory gets another history.
    pub fn meet_trace(&self) {
        if let Some(trace) = modes::trace() {
            self.capture(&trace);
        }
    }

    /// Gives up the trace that this thread takes, before a tensor from outside gets another shape in place: a program
    /// writes numbers only.
    pub fn meet_reshape(&self) {
        let Some(trace) = modes::trace() else { return };
        let key = match &self.lock().value {
            Value::Shared(p) => p.place_of_part().key(),
            Value::Own(_) => return,
        };
        let captured = Captures::of(&trace);
        if captured.knows(key) || captured.parts.iter().any(|part| part.has(key)) {
            drop(captured);
            trace.give_up("it changes the shape of a tensor in place");
        }
    }

    /// Whether a trace knows the value of this tensor.
    fn is_known_by(&self, trace: &Trace) -> bool {
        match &self.lock().value {
            Value::Own(t) => trace.knows(&t.array),
            Value::Shared(p) => trace.knows(&p.place_of_part().read().array),
        }
    }

    /// [`Var::capture`] of an argument.
    pub fn capture_as(&self, trace: &Arc<Trace>, argument: Option<usize>) {
        if let Some(outer) =
            Captures::outer(trace).filter(|outer| outer.is_open() && !self.is_known_by(trace))
        {
            self.capture_as(outer, None);
        }
        let mut state = self.lock();
        if matches!(&state.value, Value::Own(t) if trace.knows(&t.array)) {
            return;
        }
        let shared = state.shared();
        let place = shared.place_of_part();
        let all = place.read();
        let slot = state.slot.clone();
        drop(state);
        let mut captured = Captures::of(trace);
        if argument.is_none() && captured.parts.iter().any(|p| p.key == place.key()) {
            let parts = std::mem::take(&mut captured.parts);
            drop(captured);
            trace.give_up("it reads a tensor of which an argument is a part");
            return attached(|py| parts.iter().for_each(|part| part.rejoin(py)));
        }
        if !trace.knows(&all.array) {
            let grad_of = captured.slots.iter().position(|s| {
                s.before.as_ref().is_some_and(|g| {
                    matches!(&g.get().lock().value, Value::Shared(p) if p.place_of_part().key() == place.key())
                })
            });
            if Place::overlap(captured.cells.iter().map(|cell| &cell.place).chain([&place])) {
                return trace.give_up("two tensors that it reads lie in memory that NumPy has too");
            }
            let mut sealed = trace.seal(all.array.unsealed().clone());
            // An array that a trace sealed which was given up since is like any other.
            let is_outer =
                Captures::outer(trace).is_some_and(|outer| outer.is_open() && outer.knows(&all.array));
            let mut found = if is_outer { all.array } else { all.array.unsealed().clone() };
            let mut read = None;
            if captured.meets_again(sealed.unsealed().place().0) {
                // Tensors that have equal numbers now may have others in the next run.
                let copied = if found.is_sealed() {
                    let outer = Captures::outer(trace).cloned();
                    // The copy is one of all examples of a batch, also where fewer take the branch that reads it.
                    let _guard = Modes::enter(|m| (m.trace, m.takers) = (outer, None));
                    let whole = Tensor { levels: all.levels.clone(), ..Tensor::constant(found.clone()) };
                    apart(&whole).map(|copy| copy.array)
                } else {
                    sealed.unsealed().packed()
                };
                let Ok(copy) = copied else {
                    return trace.give_up("memory has run out");
                };
                sealed = trace.seal(copy.unsealed().clone());
                captured.meets_again(sealed.unsealed().place().0);
                if found.is_sealed() {
                    read = Some(copy);
                } else {
                    found = copy;
                }
            }
            let before = sealed.unsealed().clone();
            place.put(sealed);
            let index = captured.cells.len();
            captured.known.insert(place.key(), index);
            let edges = [all.edge].into_iter().collect();
            let levels = all.levels;
            captured.cells.push(Cell {
                place: place.clone(),
                argument,
                grad_of,
                before,
                found,
                read,
                levels,
                edges,
            });
        } else if let Some(&index) = captured.known.get(&place.key()) {
            let cell = &mut captured.cells[index];
            if !cell.edges.iter().any(|known| is_same_edge(known.as_ref(), all.edge.as_ref())) {
                cell.edges.push(all.edge);
            }
        }
        let is_known = |captured: &Captured| {
            captured.knows(place.key()) || captured.parts.iter().any(|p| std::ptr::eq(p.used.get(), self))
        };
        let Some(slot) = slot.filter(|_| is_known(&captured)) else { return };
        if !captured.known_slots.insert(Arc::as_ptr(&slot).addr()) {
            return;
        }
        let before = attached(|py| slot.grad(py));
        if let Some(grad) = &before {
            // Its memory can be shared from now on, so it is found when the trace meets it.
            grad.get().lock().shared();
        }
        captured.slots.push(GradCell { slot, argument, before });
    }
}
