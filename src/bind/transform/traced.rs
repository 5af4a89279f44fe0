//! What a trace becomes: a program, with all that it reads, writes and returns.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, MutexGuard};

use pyo3::prelude::*;
use rustc_hash::FxHashSet;

use super::control::Subprogram;
use super::host::Source;
use super::inputs::{hooks_of, is_part, key_of, only_reads, same_memory, shared_layouts};
use super::program::{Compiled, GradInput, GradWrite, Input, Origin, Output};
use super::tracer::{Gradients, Tracer};
use crate::array::Array;
use crate::bind::python::capi::attached;
use crate::bind::value::capture::{Captured, Captures, Cell, GradCell, is_same_edge, is_same_view};
use crate::bind::value::storage::Place;
use crate::bind::value::var::{Slot, Value, Var};
use crate::graph::trace::Call;
use crate::graph::{Edge, Tensor};
use crate::program::Program;

/// Whether an array has another buffer than `part`, or lies between the first and the last element of it.
fn lies_in(x: &Array, part: &Array) -> bool {
    let ends = |x: &Array| {
        let (low, high) = x.layout().reach().expect("the array exists");
        let (size, start) = (x.dtype().size() as isize, x.place().1 as isize);
        (start + low * size, start + (high + 1) * size)
    };
    if !x.has_place() || x.place().0 != part.place().0 || x.len() == 0 {
        return true;
    }
    let ((first, end), (low, high)) = (ends(x), ends(part));
    low <= first && end <= high
}

fn is_tracked(v: &Bound<'_, Var>) -> bool {
    v.get().look().is_tracked()
}

/// A program in the making.
struct Draft<'a> {
    tracer: &'a Tracer,
    captured: MutexGuard<'a, Captured>,
    differentiates: bool,
    inputs: Vec<Input>,
    /// The arrays of the inputs when the trace began.
    starts: Vec<Array>,
    /// The arrays that the program computes for the results, and for what it writes.
    results: Vec<Array>,
    /// The arguments that the function makes leaves.
    becomes_leaf: Vec<usize>,
}

impl Draft<'_> {
    /// A value that the program can compute: one of the trace, whose array is without its seal.
    fn value(&self, t: &Tensor) -> Option<Array> {
        let known = t.levels.is_empty() && t.array.trace() == self.tracer.trace.number();
        known.then(|| t.array.unsealed().clone())
    }

    /// Has the program compute an array.
    fn computes(&mut self, array: Array) -> usize {
        self.results.push(array);
        self.results.len() - 1
    }

    /// Adds an input of the kind that an array and an edge are of.
    fn reads(&mut self, source: Origin, x: Array, edge: Option<&Edge>, written: Option<usize>) {
        self.inputs.push(Input {
            source,
            dtype: x.dtype(),
            dims: x.dims().into(),
            strides: x.strides(),
            tracked: edge.is_some(),
            hooks: self.differentiates.then(|| hooks_of(edge)),
            written,
        });
        self.starts.push(x);
    }

    /// The tensor from outside that has the memory of a cell, if it is known: an argument, or one that has a gradient.
    fn tensor_of<'py>(&self, py: Python<'py>, cell: &Cell) -> Option<Bound<'py, Var>> {
        if let Some(i) = cell.argument {
            let argument = &self.tracer.begun()[i];
            return argument.used.is(&argument.given).then(|| argument.used.bind(py).clone());
        }
        let tensors = self.captured.slots.iter().filter_map(|s| s.slot.tensor(py));
        tensors.into_iter().find(|v| key_of(v.get()) == cell.place.key())
    }

    /// Reads the memory from outside, and writes to that which the function has changed. `kept` are the gradients that the
    /// program knows.
    fn read_memory(&mut self, py: Python<'_>, kept: &[usize], has_tracked_parts: bool) -> Option<()> {
        for i in 0..self.captured.cells.len() {
            let cell = &self.captured.cells[i];
            let mut place = cell.place.clone();
            // A tensor that the function has stopped to track has another history.
            if self.captured.stops_tracking
                && let Some(v) = self.tensor_of(py, cell)
                && let Some(now) = v.get().lock().shared().place()
            {
                place = now;
            }
            let now = place.read();
            let array = self.value(&now)?;
            let edge = now.edge.as_ref();
            let same_edge = is_same_edge(edge, cell.edges[0].as_ref());
            if edge.is_some_and(|e| !e.node.is_leaf()) && (cell.argument.is_none() || !same_edge) {
                return None;
            }
            if edge.is_some() != cell.edges[0].is_some() {
                match cell.argument {
                    Some(i) if edge.is_some() => self.becomes_leaf.push(i),
                    _ => {
                        self.tracer.changes_tracking.store(true, Relaxed);
                        return None;
                    }
                }
            }
            let source = match (cell.argument, cell.grad_of) {
                (Some(i), _) if is_part(self.tracer.begun()[i].given.get()) => Origin::Larger(i),
                (Some(i), _) => Origin::Argument(i),
                (_, Some(slot)) => Origin::Grad(kept.iter().position(|&k| k == slot)?),
                _ => Origin::Memory(place.downgrade()),
            };
            let before = cell.before.clone();
            let written = (!is_same_view(&array, &before)).then(|| self.computes(array));
            if written.is_some() && matches!(source, Origin::Larger(_)) && has_tracked_parts {
                return None;
            }
            self.reads(source, before, edge, written);
        }
        Some(())
    }

    /// Reads the arguments that are parts of larger tensors, by their values.
    fn read_parts(&mut self, calls: &[Call]) -> Option<()> {
        let tracer = self.tracer;
        for (i, a) in tracer.begun().iter().enumerate().filter(|(_, a)| !a.used.is(&a.given)) {
            let t = a.used.get().tensor();
            if a.used.get().lock().version() != 0 {
                return None;
            }
            let x = self.value(&t)?;
            let read = calls.iter().flat_map(|call| call.ins.iter().chain(&call.outs));
            if !read.chain(&self.results).all(|other| lies_in(other, &x)) {
                return None;
            }
            if t.is_tracked() && !a.given.get().look().is_tracked() {
                self.becomes_leaf.push(i);
            }
            self.reads(Origin::Value(i), x, t.edge.as_ref(), None);
        }
        Some(())
    }

    /// What becomes of the gradients of tensors, by the number of their slots.
    fn gradients(&mut self, py: Python<'_>, kept: &[usize]) -> Option<Vec<GradInput>> {
        let mut slots = vec![];
        for &i in kept {
            let s = &self.captured.slots[i];
            let slot = s.slot_now(py).unwrap_or_else(|| s.slot.clone());
            let (argument, present) = (self.tracer.argument_of(s), s.before.is_some());
            let written = match (&s.before, slot.grad(py)) {
                (Some(a), Some(b)) if a.is(&b) => GradWrite::Keep,
                (None, None) => GradWrite::Keep,
                (Some(_), None) => GradWrite::Clear,
                (_, Some(g)) => {
                    let t = g.get().tensor();
                    let edge = t.edge.as_ref();
                    if edge.is_some_and(|e| !e.node.is_leaf()) {
                        return None;
                    }
                    let array = self.value(&t)?;
                    GradWrite::Set(self.computes(array), g.get().dialect(), edge.is_some())
                }
            };
            slots.push(GradInput { slot: argument.is_none().then_some(slot), argument, present, written });
        }
        Some(slots)
    }

    /// What the program returns.
    fn outputs(&mut self, outputs: &[Bound<'_, Var>]) -> Option<Vec<Output>> {
        let mut out = vec![];
        let mut returned: Vec<(usize, usize)> = vec![];
        for (j, o) in outputs.iter().enumerate() {
            if let Some(i) = self.tracer.begun().iter().position(|a| a.used.is(o)) {
                out.push(Output::Argument(i));
                continue;
            }
            if let Some(i) = outputs[..j].iter().position(|p| p.is(o)).filter(|_| !is_tracked(o)) {
                out.push(Output::Again(i));
                continue;
            }
            let dialect = o.get().dialect();
            let place = match &o.get().lock().value {
                Value::Own(_) => None,
                Value::Shared(p) => Some((p.place_of_part().key(), p.place().is_some(), p.layout.clone())),
            };
            if let Some((key, all, layout)) = place {
                let from_outside = self.captured.knows(key);
                if from_outside && all && o.get().lock().slot.is_some() {
                    out.push(Output::Object(o.clone().into_any().unbind()));
                    continue;
                }
                if from_outside {
                    // Only a view of an argument can be made anew.
                    let cell = self.captured.cells.iter().position(|c| c.place.key() == key)?;
                    let (Input { source: Origin::Argument(i), written: None, tracked: false, .. }, false) =
                        (&self.inputs[cell], is_tracked(o))
                    else {
                        return None;
                    };
                    out.push(Output::ViewOfArgument(*i, layout, dialect));
                    continue;
                }
                if let Some(&(_, first)) = returned.iter().find(|(known, _)| *known == key) {
                    if is_tracked(o) || is_tracked(&outputs[first]) {
                        return None;
                    }
                    out.push(Output::ViewOfEarlier(first, layout, dialect));
                    continue;
                }
                returned.push((key, j));
                if !all && outputs[j + 1..].iter().any(|later| key_of(later.get()) == key) {
                    if is_tracked(o) {
                        return None;
                    }
                    let whole = o.get().lock().shared().place_of_part().read();
                    let array = self.value(&whole)?;
                    out.push(Output::ViewOfNew(self.computes(array), layout, dialect));
                    continue;
                }
                if !all && layout.overlaps() && !is_tracked(o) {
                    // A write to one place of the output is seen at others.
                    let whole = self.value(&o.get().lock().shared().place_of_part().read())?;
                    let array = self.value(&o.get().tensor())?;
                    let (array, whole) = (self.computes(array), self.computes(whole));
                    out.push(Output::Expanded(array, whole, layout, dialect));
                    continue;
                }
            }
            let array = self.value(&o.get().tensor())?;
            out.push(Output::New(self.computes(array), dialect));
        }
        Some(out)
    }

    /// The places of the gradients among those that there are, and these.
    fn found(&self, grads: Vec<Option<Bound<'_, Var>>>) -> Option<(Vec<Option<usize>>, Vec<Array>)> {
        let (mut places, mut found) = (vec![], vec![]);
        for g in grads {
            places.push(g.is_some().then_some(found.len()));
            if let Some(g) = g {
                found.push(self.value(&g.get().tensor())?);
            }
        }
        Some((places, found))
    }
}

/// Whether a program can read all that it needs of `made` from `saved`: it reads the values that another part of the trace
/// or the inputs have, which are in `read`.
fn reads_saved_only(
    made: &[Call],
    read: &[Array],
    saved: &[Array],
    calls: &[Call],
    results: &[Array],
) -> bool {
    let buffers = |list: &[Array]| list.iter().map(|x| x.place().0).collect::<FxHashSet<usize>>();
    let own = made.iter().flat_map(|call| &call.outs).filter(|x| x.has_place()).map(|x| x.place().0);
    let others: FxHashSet<usize> = own.chain(buffers(read)).collect();
    let known = buffers(saved);
    let outside = calls.iter().flat_map(|call| &call.ins).chain(results).filter(|x| x.has_place());
    outside.map(|x| x.place().0).all(|b| known.contains(&b) || !others.contains(&b))
}

impl Tracer {
    /// The program of the trace, for [`Tracer::finish`].
    pub(super) fn compile(
        &self,
        py: Python<'_>,
        outputs: &[Bound<'_, Var>],
        grads: Option<Vec<Option<Bound<'_, Var>>>>,
        some: Option<Vec<Option<Bound<'_, Var>>>>,
    ) -> Option<Compiled> {
        let calls = self.trace.end()?;
        let captured = Captures::of(&self.trace);
        let differentiates = self.gradients().as_ref().map_or(captured.differentiates, |g| g.differentiates);
        let same_memory = same_memory(self.begun().iter().map(|a| a.given.get()));
        let shared = shared_layouts(self.begun().iter().map(|a| a.given.get()), &same_memory);
        let mut slots: Vec<Arc<Slot>> = captured.slots.iter().map(|s| s.slot.clone()).collect();
        if captured.stops_tracking {
            for (slot, s) in slots.iter_mut().zip(&captured.slots) {
                *slot = s.slot_now(py).unwrap_or_else(|| s.slot.clone());
            }
        }
        // The gradient of a tensor that the function has made goes with it, and of several slots of one tensor the first counts.
        let is_again =
            |i: usize| captured.stops_tracking && slots[..i].iter().any(|s| Arc::ptr_eq(s, &slots[i]));
        let kept: Vec<usize> =
            (0..slots.len()).filter(|&i| !slots[i].is_orphan(py) && !is_again(i)).collect();
        let mut draft = Draft {
            tracer: self,
            captured,
            differentiates,
            inputs: vec![],
            starts: vec![],
            results: vec![],
            becomes_leaf: vec![],
        };
        draft.read_memory(py, &kept, shared.iter().any(|(.., tracked)| *tracked))?;
        draft.read_parts(&calls)?;
        let hosts: Vec<Source> = draft.captured.hosts.iter().map(|h| Source::of(h, py)).collect();
        let numbers = draft.captured.hosts.iter().map(|h| h.numbers.clone()).filter(|x| x.len() > 0);
        draft.starts.extend(numbers);
        let slots = draft.gradients(py, &kept)?;
        let outputs = draft.outputs(outputs)?;
        let saved_from = draft.results.len();
        let (mut first, mut backward, mut places) = (&calls[..], None, vec![]);
        if let Some(grads) = grads {
            let Gradients { boundary, last, seeds, .. } = self.gradients().take()?;
            let mut gradients;
            (places, gradients) = draft.found(grads)?;
            let mut second;
            (first, second) = calls.split_at(boundary);
            let of_all = if some.is_some() { &second[..last - boundary] } else { second };
            let saved = Program::read_by(&draft.starts, first, of_all, &gradients);
            draft.results.extend(saved.iter().cloned());
            if let Some(some) = some {
                (places, gradients) = draft.found(some)?;
                second = &second[last - boundary..];
                let read = Program::read_by(&draft.starts, first, second, &gradients);
                if !reads_saved_only(of_all, &read, &saved, second, &gradients) {
                    return None;
                }
            }
            let begins: Vec<Array> = saved.into_iter().chain(seeds).collect();
            backward = Some(Arc::new(Program::new(&begins, second, &gradients)?));
        }
        Some(Compiled {
            forward: Arc::new(Program::new(&draft.starts, first, &draft.results)?),
            backward,
            is_fresh: AtomicBool::new(true),
            draws: first.iter().any(Call::may_draw),
            only_reads: slots.is_empty() && shared.is_empty() && only_reads(&draft.inputs, &outputs),
            inputs: draft.inputs,
            hosts,
            slots,
            same_memory,
            shared,
            outputs,
            saved_from,
            grads: places,
            stops_tracking: draft.captured.stops_tracking,
            becomes_leaf: draft.becomes_leaf,
        })
    }

    /// The tensor with this memory, if it stands for a part of a larger tensor in a trace around this one.
    fn outer_part<'py>(&self, py: Python<'py>, place: &Place) -> Option<Bound<'py, Var>> {
        let mut trace = Captures::outer(&self.trace)?;
        loop {
            if let Some(part) = Captures::of(trace).parts.iter().find(|part| part.has(place.key())) {
                return Some(part.used.bind(py).clone());
            }
            trace = Captures::outer(trace)?;
        }
    }

    /// The program of a step or a branch, and for each of its constants the tensor that stands for a part of a larger one, if the
    /// constant is that.
    pub(super) fn inner<'py>(
        &self,
        py: Python<'py>,
        outputs: &[Bound<'py, Var>],
    ) -> Option<(Subprogram, Vec<Option<Bound<'py, Var>>>)> {
        let number = self.trace.number();
        let value = |o: &Bound<'_, Var>| {
            let t = o.get().tensor();
            (t.levels.is_empty() && t.array.trace() == number).then(|| t.array.unsealed().clone())
        };
        let results = outputs.iter().map(value).collect::<Option<Vec<Array>>>()?;
        let captured = Captures::of(&self.trace);
        let is_read = |cell: &Cell| {
            (cell.argument.is_some() || cell.edges.iter().flatten().count() < 2)
                && is_same_view(cell.place.read().array.unsealed(), &cell.before)
        };
        let is_kept = |slot: &GradCell| match (&slot.before, attached(|py| slot.slot.grad(py))) {
            (Some(before), Some(after)) => before.is(&after),
            (before, after) => before.is_none() && after.is_none(),
        };
        if !captured.cells.iter().all(is_read)
            || !captured.slots.iter().all(is_kept)
            || !captured.hosts.is_empty()
            || !captured.parts.is_empty()
        {
            return None;
        }
        let (arguments, others): (Vec<&Cell>, Vec<&Cell>) =
            captured.cells.iter().partition(|cell| cell.argument.is_some());
        if arguments.len() != self.begun().len() {
            return None;
        }
        let count = arguments.len();
        let constants = others.iter().map(|cell| cell.place.clone()).collect();
        let parts: Vec<_> = others.iter().map(|cell| self.outer_part(py, &cell.place)).collect();
        let arguments = arguments.iter().map(|cell| cell.before.clone());
        let mut inputs: Vec<Array> = arguments.chain(others.iter().map(|cell| cell.before.clone())).collect();
        drop(captured);
        for (x, part) in inputs[count..].iter_mut().zip(&parts) {
            if let Some(part) = part {
                *x = part.get().tensor().array.unsealed().clone();
            }
        }
        let calls = self.trace.end()?;
        // A program that reads a part finds no more than that.
        let reads = || calls.iter().flat_map(|call| call.ins.iter().chain(&call.outs)).chain(&results);
        let lies_in_part = |(x, part): (&Array, &Option<_>)| part.is_none() || reads().all(|y| lies_in(y, x));
        if !inputs[count..].iter().zip(&parts).all(lies_in_part) {
            return None;
        }
        // Each step draws other random numbers, and a derivative would need the same ones. What decides by numbers takes
        // another program for some of them, which a step or a branch does not have.
        if calls.iter().any(|call| call.may_draw() || call.op.decides()) {
            return None;
        }
        let dialects = outputs.iter().map(|o| o.get().dialect()).collect();
        let program = Arc::new(Program::new(&inputs, &calls, &results)?);
        let hoisted = Program::hoisted(&inputs, count, &calls, &results).map(|both| both.map(Arc::new));
        Some((Subprogram { program, hoisted, dialects, arguments: count, constants }, parts))
    }
}
