//! Traces of functions on this thread, as Python begins and ends them.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use pyo3::prelude::*;

use super::control::Subprogram;
use super::host::undo_all;
use super::inputs::{counts, key_of, same_memory};
use super::program::Compiled;
use crate::array::Array;
use crate::bind::convert::list::list;
use crate::bind::hooks::list::HookList;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::OrRaise;
use crate::bind::python::stack;
use crate::bind::value::capture::{Captured, Captures, GradCell, Part};
use crate::bind::value::var::{Slot, Value, Var};
use crate::error::interned;
use crate::graph::{Modes, Tensor, Trace, modes};
use crate::ops::movement::broadcast_to;
use crate::ops::random;
use crate::program::Program;

/// The traces that have begun, some of which have ended by now. They are met and changed with the GIL.
static BEGUN: Mutex<Vec<Weak<Trace>>> = Mutex::new(Vec::new());

fn all_begun() -> MutexGuard<'static, Vec<Weak<Trace>>> {
    BEGUN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// To be called in the child of a fork: the traces of threads that are not there end, and leave everything as their functions
/// left it.
pub fn after_fork_in_child(py: Python<'_>) {
    let mut own = vec![];
    let mut trace = modes::trace();
    while let Some(one) = trace {
        trace = Captures::outer(&one).cloned();
        own.push(one);
    }
    let begun = std::mem::replace(&mut *all_begun(), own.iter().map(Arc::downgrade).collect());
    for trace in begun.iter().filter_map(Weak::upgrade) {
        if !own.iter().any(|own| Arc::ptr_eq(own, &trace)) {
            trace.give_up("its thread is in the parent of a fork");
            let captured = std::mem::take(&mut *Captures::of(&trace));
            Tracer::unseal(py, captured);
        }
    }
}

/// Takes the trace of a function on this thread, from ``arguments`` until ``finish`` or ``cancel``. Python calls
/// ``arguments`` where it cancels the trace whatever happens, Ctrl-C included.
#[pyclass(frozen, module = "ferrograd._core")]
pub struct Tracer {
    pub(super) trace: Arc<Trace>,
    given: Vec<Py<Var>>,
    begun: OnceLock<Vec<Argument>>,
    /// What `finish` needs of the gradients, once they are asked for.
    gradients: Mutex<Option<Gradients>>,
    /// The state of the random numbers when the trace began.
    random: random::State,
    /// Whether the function has changed for good which tensors require gradients.
    pub(super) changes_tracking: AtomicBool,
}

pub(super) struct Argument {
    pub(super) given: Py<Var>,
    /// What the function gets.
    pub(super) used: Py<Var>,
}

/// The second part of a trace, which computes gradients, and perhaps a third one, which computes those of some outputs.
pub(super) struct Gradients {
    /// How many ops the function itself applied.
    pub(super) boundary: usize,
    /// How many ops came before the last part.
    pub(super) last: usize,
    /// The seeds of the last part.
    pub(super) seeds: Vec<Array>,
    /// Whether the function itself runs backward passes.
    pub(super) differentiates: bool,
}

impl Tracer {
    /// The arguments, once the trace has begun.
    pub(super) fn begun(&self) -> &[Argument] {
        self.begun.get().map_or(&[], Vec::as_slice)
    }

    pub(super) fn gradients(&self) -> MutexGuard<'_, Option<Gradients>> {
        self.gradients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The argument that has a gradient, which it may have got in the function.
    pub(super) fn argument_of(&self, cell: &GradCell) -> Option<usize> {
        let has =
            |a: &Argument| a.used.get().lock().slot.as_ref().is_some_and(|s| Arc::ptr_eq(s, &cell.slot));
        cell.argument.or_else(|| self.begun().iter().position(has))
    }

    /// Ends the trace on this thread.
    fn leave(&self) {
        let outer = Captures::outer(&self.trace).cloned();
        drop(Modes::update(|m| std::mem::replace(&mut m.trace, outer)));
    }

    /// Takes the seals off the memory from outside. The values are those that the function left there.
    fn unseal(py: Python<'_>, captured: Captured) {
        for cell in &captured.cells {
            let array = cell.place.read().array.unsealed().clone();
            cell.place.put(array);
        }
        captured.parts.iter().for_each(|part| part.rejoin(py));
    }

    /// What the function gets in the place of an argument that is part of a larger tensor.
    fn part(trace: &Arc<Trace>, given: &Bound<'_, Var>, key: usize) -> PyResult<Py<Var>> {
        let py = given.py();
        let all = given.get().lock().shared().place_of_part().read().array.unsealed().clone();
        let mut sealed = trace.seal(all);
        if Captures::of(trace).meets_again(sealed.unsealed().place().0) {
            // Tensors that have equal numbers now may have others in the next run.
            sealed = trace.seal(sealed.unsealed().packed().or_raise()?);
        }
        // The edge is made anew, if it is an old one.
        drop(given.get().tensor());
        let used = given.get().lock().shared().apart(py, sealed);
        let used = Var::object(py, Value::Shared(Box::new(used)), given.get().dialect())?.unbind();
        let part = Part { given: given.clone().unbind(), used: used.clone_ref(py), key };
        Captures::of(trace).parts.push(part);
        Ok(used)
    }
}

#[pymethods]
impl Tracer {
    /// The arguments are inputs of the program. `again` is a trace of a call that has been made: it prints nothing. With
    /// `constants`, a tensor that is made of a NumPy array is a constant; a trace inside of another one does as the other one
    /// does. `decisions` are those of a call that is traced again.
    #[new]
    #[pyo3(signature = (arguments, again=false, constants=false, decisions=vec![]))]
    fn new(
        #[pyo3(from_py_with = list)] arguments: Vec<Bound<'_, Var>>,
        again: bool,
        constants: bool,
        decisions: Vec<usize>,
    ) -> PyResult<Tracer> {
        stack::check().or_raise()?;
        let trace = Trace::new(Box::new(Captures::inside()));
        let outer = Captures::outer(&trace).map(|outer| Captures::of(outer).makes_constants);
        let mut captured = Captures::of(&trace);
        (captured.seeded, captured.makes_constants) = (again, outer.unwrap_or(constants));
        drop(captured);
        trace.follow(decisions);
        let given = arguments.into_iter().map(Bound::unbind).collect();
        Ok(Tracer {
            trace,
            given,
            begun: OnceLock::new(),
            gradients: Mutex::new(None),
            random: random::position(),
            changes_tracking: AtomicBool::new(false),
        })
    }

    /// Begins the trace. Returns the arguments that the function is called with. Those in ``found`` are the given ones: the
    /// function finds them elsewhere, too.
    #[pyo3(signature = (found=vec![]))]
    fn arguments(&self, py: Python<'_>, found: Vec<usize>) -> PyResult<Vec<Py<Var>>> {
        let mut all = all_begun();
        all.retain(|trace| trace.strong_count() > 0);
        all.push(Arc::downgrade(&self.trace));
        drop(all);
        let mut begun = vec![];
        let same_memory = same_memory(self.given.iter().map(Py::get));
        let counts = counts(&same_memory);
        for (i, x) in self.given.iter().map(|x| x.bind(py)).enumerate() {
            let key = match &x.get().lock().value {
                Value::Shared(p) if p.place().is_none() => Some(p.place_of_part().key()),
                _ => None,
            };
            let used = if let (Some(key), 1, false) = (key, counts[same_memory[i]], found.contains(&i)) {
                Tracer::part(&self.trace, x, key)?
            } else {
                x.get().capture_as(&self.trace, Some(i));
                x.clone().unbind()
            };
            begun.push(Argument { given: x.clone().unbind(), used });
        }
        Modes::update(|m| m.trace = Some(self.trace.clone()));
        Ok(self.begun.get_or_init(|| begun).iter().map(|a| a.used.clone_ref(py)).collect())
    }

    /// Why the trace was given up, and the line of the user's program where that was. None while it is taken.
    #[getter]
    fn given_up(&self) -> Option<(&'static str, Option<String>)> {
        self.trace.given_up().map(|g| (g.reason, g.site.describe()))
    }

    /// The numbers that ops gave by which the function went on so far.
    fn decisions(&self) -> Vec<usize> {
        self.trace.decided()
    }

    /// The functions that are called with the gradients of tensors from outside, in a function that runs backward passes.
    fn hooks(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        let captured = Captures::of(&self.trace);
        if !captured.differentiates {
            return vec![];
        }
        let edges = captured.cells.iter().flat_map(|cell| cell.edges.iter().flatten());
        edges.flat_map(|e| HookList::functions(&e.node, py)).collect()
    }

    /// Whether an output is a view of an argument that the function got in the place of a part of a larger tensor, so that it is
    /// no view of what the caller has.
    fn returns_part(&self, #[pyo3(from_py_with = list)] outputs: Vec<Bound<'_, Var>>) -> bool {
        let mut replaced = self.begun().iter().filter(|a| !a.used.is(&a.given));
        replaced.any(|a| outputs.iter().any(|o| !a.used.is(o) && key_of(a.used.get()) == key_of(o.get())))
    }

    /// The tensors made while the trace was taken that still exist.
    fn alive<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, Var>> {
        Captures::of(&self.trace).alive(py)
    }

    /// Whether a tensor that was made while the trace was taken is kept by somebody: it is no output, and not `excused`.
    fn keeps_others(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = list)] outputs: Vec<Bound<'_, Var>>,
        excused: Vec<Bound<'_, Var>>,
    ) -> bool {
        self.has_escaped(py, &outputs, &excused)
    }

    /// Gives the trace up.
    fn give_up(&self) {
        self.trace.give_up("");
    }

    /// The tracked tensors from outside that the function read: first the arguments.
    fn leaves<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, Var>> {
        let arguments = self.begun().iter().map(|a| a.used.bind(py).clone());
        let arguments = arguments.filter(|a| a.get().look().is_tracked());
        let captured = Captures::of(&self.trace);
        let is_other = |s: &&GradCell| self.argument_of(s).is_none();
        let slots: Vec<Arc<Slot>> = captured.slots.iter().filter(is_other).map(|s| s.slot.clone()).collect();
        drop(captured);
        let mut others: Vec<Bound<'py, Var>> = vec![];
        for v in slots.into_iter().filter_map(|s| s.tensor(py)).filter(|v| v.get().look().is_tracked()) {
            // A tensor that the function has frozen for a while has had two slots.
            if !Captures::of(&self.trace).stops_tracking || !others.iter().any(|o| o.is(&v)) {
                others.push(v);
            }
        }
        arguments.chain(others).collect()
    }

    /// Begins the second part of the trace, which computes the gradients of the leaves, or the third one, where only
    /// some outputs have gradients. Returns tensors of ones, like each output, which stand for the gradients that will
    /// arrive there.
    fn seeds<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = list)] outputs: Vec<Bound<'py, Var>>,
    ) -> PyResult<Vec<Bound<'py, Var>>> {
        let mut seeds = vec![];
        let mut found = vec![];
        for o in &outputs {
            let t = o.get().tensor();
            let ones = broadcast_to(&Tensor::scalar_of(t.dtype(), 1.0), t.dims())
                .or_raise()?
                .array
                .packed()
                .or_raise()?;
            let sealed = self.trace.seal(ones);
            seeds.push(sealed.unsealed().clone());
            found.push(Var::result(py, Tensor::constant(sealed), o.get().dialect())?);
        }
        let last = self.trace.count();
        let mut captured = Captures::of(&self.trace);
        captured.seeded = true;
        let differentiates = captured.differentiates;
        drop(captured);
        let mut gradients = self.gradients();
        *gradients = Some(match gradients.take() {
            Some(first) => Gradients { last, seeds, ..first },
            None => Gradients { boundary: last, last, seeds, differentiates },
        });
        Ok(found)
    }

    /// Ends the trace without a program. Everything stays as the function left it, or with `undo` as it was before.
    #[pyo3(signature = (undo=false))]
    fn cancel(&self, py: Python<'_>, undo: bool) -> PyResult<()> {
        self.leave();
        self.trace.give_up("");
        let captured = std::mem::take(&mut *Captures::of(&self.trace));
        if undo {
            self.undo(py, captured);
        } else {
            Tracer::unseal(py, captured);
        }
        self.unshare();
        Ok(())
    }

    /// Ends the trace. Returns the program, and puts everything from outside back as it was before the trace. None where
    /// there is no program: then everything stays as the function left it.
    ///
    /// `grads` are the gradients of the leaves where those of the outputs are the seeds, None where a leaf has none. Where
    /// only some outputs have gradients, those of the leaves follow in `some`: then the program of the gradients is for
    /// these, and reads what the program for all saves. `views` are results that Python makes of the outputs and arguments. Of the
    /// tensors that exist still, those that are `excused` are gone with the graph of the outputs.
    #[pyo3(signature = (outputs, grads=None, some=None, *, views=vec![], excused=vec![]))]
    fn finish(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = list)] outputs: Vec<Bound<'_, Var>>,
        grads: Option<Vec<Option<Bound<'_, Var>>>>,
        some: Option<Vec<Option<Bound<'_, Var>>>>,
        views: Vec<Bound<'_, Var>>,
        excused: Vec<Bound<'_, Var>>,
    ) -> PyResult<Option<Compiled>> {
        self.trace.of_calls(Program::ensure_room).or_raise()?;
        self.leave();
        let all: Vec<_> = grads.iter().chain(&some).flatten().flatten().chain(&excused).cloned().collect();
        let returned: Vec<_> = outputs.iter().chain(&views).cloned().collect();
        let escaped = self.has_escaped(py, &returned, &all);
        if escaped {
            self.trace.give_up("a tensor that it computes is kept after it has returned");
        }
        if Captures::of(&self.trace).cells.iter().any(|cell| !cell.levels.is_empty()) {
            self.trace.give_up("it reads a tensor of a vmap that began before");
        }
        let compiled = self.compile(py, &outputs, grads, some);
        if self.changes_tracking.load(Relaxed) {
            self.trace.note("it changes which tensors require gradients, which it reads itself");
        }
        let captured = std::mem::take(&mut *Captures::of(&self.trace));
        if let Some(compiled) = &compiled {
            self.undo(py, captured);
            // The run will make them leaves.
            compiled.becomes_leaf.iter().for_each(|&i| Var::stop_tracking(self.begun()[i].given.bind(py)));
        } else {
            Tracer::unseal(py, captured);
        }
        self.unshare();
        Ok(compiled)
    }

    /// Ends the trace of a step or a branch. Returns the program, and the tensors besides the arguments that it reads, and puts
    /// everything from outside back as it was. None where there is no such program, because the function writes
    /// to something, draws random numbers or keeps a tensor: then the trace goes on, until `cancel`.
    fn finish_inner<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = list)] outputs: Vec<Bound<'py, Var>>,
    ) -> PyResult<Option<(Subprogram, Vec<Bound<'py, Var>>)>> {
        self.trace.of_calls(Program::ensure_room).or_raise()?;
        if self.has_escaped(py, &outputs, &[]) {
            return Ok(None);
        }
        let Some((inner, parts)) = self.inner(py, &outputs) else { return Ok(None) };
        let captured = std::mem::take(&mut *Captures::of(&self.trace));
        let mut wholes = vec![];
        for cell in captured.cells.iter().filter(|cell| cell.argument.is_none()) {
            let edge = cell.edges.iter().flatten().next().cloned();
            let array = cell.read.as_ref().unwrap_or(&cell.found).clone();
            wholes.push(Tensor::made(array, edge, cell.levels.clone()));
        }
        self.leave();
        self.undo(py, captured);
        let mut constants = vec![];
        for (whole, part) in wholes.into_iter().zip(parts) {
            let read = part.map_or(whole, |part| part.get().tensor());
            constants.push(Var::result(py, read, Dialect::Native)?);
        }
        Ok(Some((inner, constants)))
    }
}

impl Tracer {
    /// Takes the arguments out of the shared memory that the trace has put them into.
    fn unshare(&self) {
        self.given.iter().for_each(|x| x.get().lock().unshare());
    }

    /// Puts everything from outside back as it was before the trace.
    fn undo(&self, py: Python<'_>, captured: Captured) {
        for cell in &captured.cells {
            cell.place.put(cell.found.clone());
        }
        let slots: Vec<_> = captured
            .slots
            .iter()
            .map(|s| (s.slot.clone(), s.before.as_ref().map(|g| g.clone_ref(py))))
            .collect();
        for (slot, before) in slots {
            slot.set_grad(before);
        }
        if captured.stops_tracking {
            for cell in captured.slots.iter().rev() {
                if let Some(now) = cell.slot_now(py) {
                    now.set_grad(cell.slot.grad(py));
                }
            }
        }
        undo_all(py, captured.hosts);
        random::go_to(self.random.clone());
    }

    /// Whether a tensor that was made while the trace was taken still exists, besides those that the program makes anew, and
    /// others that are known.
    fn has_escaped(&self, py: Python<'_>, outputs: &[Bound<'_, Var>], known: &[Bound<'_, Var>]) -> bool {
        let captured = Captures::of(&self.trace);
        let alive = captured.alive(py);
        let stored: Vec<_> = captured.slots.iter().filter_map(|s| s.slot.grad(py)).collect();
        drop(captured);
        let returned: Vec<usize> = outputs.iter().map(|o| key_of(o.get())).collect();
        alive.iter().any(|v| {
            !(returned.contains(&key_of(v.get()))
                || known.iter().any(|g| g.is(v))
                || stored.iter().any(|g| g.is(v))
                || self.begun().iter().any(|a| a.used.is(v)))
        })
    }
}

/// Whether this thread takes a trace.
#[pyfunction]
fn is_tracing() -> bool {
    modes::trace().is_some()
}

/// Gives up the trace that this thread takes, if it does.
#[pyfunction]
fn give_up_trace(reason: &str) {
    if let Some(trace) = modes::trace() {
        trace.give_up(interned(reason));
    }
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(is_tracing, m)?)?;
    m.add_function(wrap_pyfunction!(give_up_trace, m)?)?;
    m.add_class::<Tracer>()
}
