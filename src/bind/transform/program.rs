//! Compiled programs: a trace of a function's ops, and the program that runs in the function's place.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::array::{Array, Layout};
use crate::bind::convert::list::list;
use crate::bind::hooks::list::HookList;
use crate::bind::python::capi::attached;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::gil::without_gil;
use crate::bind::python::stack;
use crate::bind::transform::control::Subprogram;
use crate::bind::transform::host::{Advanced, Source, undo_all};
use crate::bind::transform::print::{Silence, with_line};
use crate::bind::value::capture::{Captured, Captures, Cell, GradCell, Part, is_same_edge};
use crate::bind::value::storage::{Place, WeakPlace};
use crate::bind::value::var::{Slot, Value, Var};
use crate::dtype::DType;
use crate::error::interned;
use crate::graph::modes::{self, Flags, Watch};
use crate::graph::site::Site;
use crate::graph::{DetachReason, Edge, Levels, Modes, Tensor, Trace};
use crate::ops::movement::broadcast_to;
use crate::ops::promote::default_float;
use crate::ops::random;
use crate::program::{Misfit, Program};
use crate::shape::{Dims, Strides};

/// Takes the trace of a function on this thread, from ``arguments`` until ``finish`` or ``cancel``. Python calls
/// ``arguments`` where it cancels the trace whatever happens, Ctrl-C included.
#[pyclass(frozen, module = "ferrograd._core")]
pub struct Tracer {
    trace: Arc<Trace>,
    given: Vec<Py<Var>>,
    begun: OnceLock<Vec<Argument>>,
    /// What `finish` needs of the gradients, once they are asked for.
    gradients: Mutex<Option<Gradients>>,
    /// The state of the random numbers when the trace began.
    random: (u64, u64),
}

struct Argument {
    given: Py<Var>,
    /// What the function gets.
    used: Py<Var>,
}

/// The second part of a trace, which computes gradients, and perhaps a third one, which computes those of some outputs.
struct Gradients {
    /// How many ops the function itself applied.
    boundary: usize,
    /// How many ops came before the last part.
    last: usize,
    /// The seeds of the last part.
    seeds: Vec<Array>,
    /// Whether the function itself runs backward passes.
    differentiates: bool,
}

/// Where a program reads an input and writes it back.
pub(super) enum Origin {
    Argument(usize),
    /// An argument by its value, wherever and however it lies: the program is from a file.
    Given(usize),
    /// The whole tensor that an argument is a part of. Another argument shares its memory.
    Larger(usize),
    /// An argument that is part of a larger tensor, by its value.
    Value(usize),
    Memory(WeakPlace),
    /// The gradient of a tensor, by the index of its slot.
    Grad(usize),
}

pub(super) struct Input {
    pub(super) source: Origin,
    pub(super) dtype: DType,
    pub(super) dims: Dims,
    pub(super) strides: Strides,
    pub(super) tracked: bool,
    /// The hooks that its gradient met, in a function that runs backward passes.
    pub(super) hooks: Option<SmallVec<[u64; 1]>>,
    /// The output that is written back.
    pub(super) written: Option<usize>,
}

pub(super) struct GradInput {
    pub(super) slot: Option<Arc<Slot>>,
    pub(super) argument: Option<usize>,
    pub(super) present: bool,
    pub(super) written: GradWrite,
}

pub(super) enum GradWrite {
    Keep,
    Clear,
    /// A new tensor with an output as its value, and whether it requires a gradient itself.
    Set(usize, Dialect, bool),
}

pub(super) enum Output {
    /// A new tensor with an output of the program as its value.
    New(usize, Dialect),
    Argument(usize),
    Object(Py<PyAny>),
    /// Some elements of the memory of an argument.
    ViewOfArgument(usize, Layout, Dialect),
    /// Some elements of new memory with an output of the program as its value. Later outputs have it too.
    ViewOfNew(usize, Layout, Dialect),
    /// Some elements of the memory of an earlier output.
    ViewOfEarlier(usize, Layout, Dialect),
    /// The earlier output itself.
    Again(usize),
}

/// What runs in the place of a function for arguments of one kind.
#[pyclass(frozen, module = "ferrograd._core")]
pub struct Compiled {
    pub(super) forward: Arc<Program>,
    /// The gradients of the leaves, computed from what `forward` saves and the gradients of the results.
    pub(super) backward: Option<Arc<Program>>,
    /// Whether the program was never run. Its trace has shown the user what the first run would show again.
    pub(super) is_fresh: AtomicBool,
    pub(super) inputs: Vec<Input>,
    /// The sources of the last inputs. Each run asks them for numbers.
    pub(super) hosts: Vec<Source>,
    pub(super) slots: Vec<GradInput>,
    /// By argument: the first one that has the same memory.
    pub(super) same_memory: SmallVec<[usize; 8]>,
    pub(super) shared: Vec<(usize, Layout, bool)>,
    pub(super) outputs: Vec<Output>,
    /// Which outputs of `forward` are saved for `backward`: all from this index on.
    pub(super) saved_from: usize,
    /// By leaf: the output of `backward` that is its gradient.
    pub(super) grads: Vec<Option<usize>>,
}

impl Tracer {
    /// The arguments, once the trace has begun.
    fn begun(&self) -> &[Argument] {
        self.begun.get().map_or(&[], Vec::as_slice)
    }

    fn gradients(&self) -> MutexGuard<'_, Option<Gradients>> {
        self.gradients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the trace on this thread.
    fn leave(&self) {
        let outer = Captures::outer(&self.trace).cloned();
        drop(Modes::update(|m| std::mem::replace(&mut m.trace, outer)));
    }

    /// Takes the seals off the memory from outside. The values are those that the function left there.
    fn unseal(py: Python<'_>, captured: &Captured) {
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
            sealed = trace.seal(sealed.unsealed().packed()?);
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

/// A number that tells the memory of a tensor from all other.
fn key_of(v: &Var) -> usize {
    v.lock().shared().place_of_part().key()
}

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

/// Whether two arrays are the same view of the same memory.
fn is_same_view(a: &Array, b: &Array) -> bool {
    a.place() == b.place() && a.dims() == b.dims() && a.strides() == b.strides() && a.dtype() == b.dtype()
}

#[pymethods]
impl Tracer {
    /// The arguments are inputs of the program. `again` is a trace of a call that has been made: it prints nothing. With
    /// `constants`, a tensor that is made of a NumPy array is a constant; a trace inside of another one does as the other one
    /// does.
    #[new]
    #[pyo3(signature = (arguments, again=false, constants=false))]
    fn new(
        #[pyo3(from_py_with = list)] arguments: Vec<Bound<'_, Var>>,
        again: bool,
        constants: bool,
    ) -> PyResult<Tracer> {
        stack::check()?;
        let trace = Trace::new(Box::new(Captures::inside()));
        let outer = Captures::outer(&trace).map(|outer| Captures::of(outer).makes_constants);
        let mut captured = Captures::of(&trace);
        (captured.seeded, captured.makes_constants) = (again, outer.unwrap_or(constants));
        drop(captured);
        let given = arguments.into_iter().map(Bound::unbind).collect();
        Ok(Tracer {
            trace,
            given,
            begun: OnceLock::new(),
            gradients: Mutex::new(None),
            random: random::position(),
        })
    }

    /// Begins the trace. Returns the arguments that the function is called with. Those in ``found`` are the given ones: the
    /// function finds them elsewhere, too.
    #[pyo3(signature = (found=vec![]))]
    fn arguments(&self, py: Python<'_>, found: Vec<usize>) -> PyResult<Vec<Py<Var>>> {
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

    /// Gives the trace up.
    fn give_up(&self) {
        self.trace.give_up("");
    }

    /// The tracked tensors from outside that the function read: first the arguments.
    fn leaves<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, Var>> {
        let arguments = self.begun().iter().map(|a| a.used.bind(py).clone());
        let arguments = arguments.filter(|a| a.get().tensor().is_tracked());
        let captured = Captures::of(&self.trace);
        let slots: Vec<Arc<Slot>> =
            captured.slots.iter().filter(|s| s.argument.is_none()).map(|s| s.slot.clone()).collect();
        drop(captured);
        let others = slots.into_iter().filter_map(|s| s.tensor(py));
        arguments.chain(others.filter(|v| v.get().tensor().is_tracked())).collect()
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
            let ones = broadcast_to(&Tensor::scalar_of(t.dtype(), 1.0), t.dims())?.array.packed()?;
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
            return Ok(());
        }
        Tracer::unseal(py, &captured);
        Ok(())
    }

    /// Ends the trace. Returns the program, and puts everything from outside back as it was before the trace. None where
    /// there is no program: then everything stays as the function left it.
    ///
    /// `grads` are the gradients of the leaves where those of the outputs are the seeds, None where a leaf has none. Where
    /// only some outputs have gradients, those of the leaves follow in `some`: then the program of the gradients is for
    /// these, and reads what the program for all saves.
    #[pyo3(signature = (outputs, grads=None, some=None))]
    fn finish(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = list)] outputs: Vec<Bound<'_, Var>>,
        grads: Option<Vec<Option<Bound<'_, Var>>>>,
        some: Option<Vec<Option<Bound<'_, Var>>>>,
    ) -> PyResult<Option<Compiled>> {
        self.leave();
        let all: Vec<_> = grads.iter().chain(&some).flatten().flatten().cloned().collect();
        let escaped = self.has_escaped(py, &outputs, &all);
        if escaped {
            self.trace.give_up("a tensor that it computes is kept after it has returned");
        }
        let compiled = self.compile(py, &outputs, grads, some);
        let captured = std::mem::take(&mut *Captures::of(&self.trace));
        if compiled.is_none() {
            Tracer::unseal(py, &captured);
            return Ok(None);
        }
        self.undo(py, captured);
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
        if self.has_escaped(py, &outputs, &[]) {
            return Ok(None);
        }
        let Some(inner) = self.inner(&outputs) else { return Ok(None) };
        let captured = std::mem::take(&mut *Captures::of(&self.trace));
        let mut constants = vec![];
        for cell in captured.cells.iter().filter(|cell| cell.argument.is_none()) {
            let edge = cell.edges.iter().flatten().next().cloned();
            constants.push(Var::result(
                py,
                Tensor::made(cell.found.clone(), edge, Levels::default()),
                Dialect::Native,
            )?);
        }
        self.leave();
        self.undo(py, captured);
        Ok(Some((inner, constants)))
    }
}

impl Tracer {
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
        undo_all(py, captured.hosts);
        random::go_to(self.random);
    }

    /// The program of a step or a branch.
    fn inner(&self, outputs: &[Bound<'_, Var>]) -> Option<Subprogram> {
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
        let inputs: Vec<Array> = arguments.iter().chain(&others).map(|cell| cell.before.clone()).collect();
        drop(captured);
        let calls = self.trace.end()?;
        // Each step draws other random numbers, and a derivative would need the same ones.
        if calls.iter().any(|call| call.ins.is_empty() || call.op.calls_host()) {
            return None;
        }
        let dialects = outputs.iter().map(|o| o.get().dialect()).collect();
        let program = Arc::new(Program::new(&inputs, &calls, &results)?);
        Some(Subprogram { program, dialects, arguments: count, constants })
    }
}

impl Tracer {
    /// Whether a tensor that was made while the trace was taken still exists, besides those that the program makes anew.
    fn has_escaped(&self, py: Python<'_>, outputs: &[Bound<'_, Var>], grads: &[Bound<'_, Var>]) -> bool {
        let captured = Captures::of(&self.trace);
        let alive = captured.alive(py);
        let stored: Vec<_> = captured.slots.iter().filter_map(|s| s.slot.grad(py)).collect();
        drop(captured);
        let returned: Vec<usize> = outputs.iter().map(|o| key_of(o.get())).collect();
        alive.iter().any(|v| {
            !(returned.contains(&key_of(v.get()))
                || outputs.iter().chain(grads).any(|o| o.is(v))
                || stored.iter().any(|g| g.is(v))
                || self.begun().iter().any(|a| a.used.is(v)))
        })
    }

    fn compile(
        &self,
        py: Python<'_>,
        outputs: &[Bound<'_, Var>],
        grads: Option<Vec<Option<Bound<'_, Var>>>>,
        some: Option<Vec<Option<Bound<'_, Var>>>>,
    ) -> Option<Compiled> {
        let calls = self.trace.end()?;
        let captured = Captures::of(&self.trace);
        let number = self.trace.number();
        // A value that the program can compute: one of the trace, whose array is without its seal.
        let value = |t: &Tensor| {
            let known = t.levels.is_empty() && t.array.trace() == number;
            known.then(|| t.array.unsealed().clone())
        };
        let differentiates = self.gradients().as_ref().map_or(captured.differentiates, |g| g.differentiates);
        let hooks = |edge: Option<&Edge>| differentiates.then(|| hooks_of(edge));
        let same_memory = same_memory(self.begun().iter().map(|a| a.given.get()));
        let shared = shared_layouts(self.begun().iter().map(|a| a.given.get()), &same_memory);
        // The gradient of a tensor that the function has made goes with it.
        let kept: Vec<&GradCell> = captured.slots.iter().filter(|s| !s.slot.is_orphan(py)).collect();
        let (mut inputs, mut starts, mut results) = (vec![], vec![], vec![]);
        for cell in &captured.cells {
            let now = cell.place.read();
            let array = value(&now)?;
            let edge = now.edge.as_ref();
            let same_edge = is_same_edge(edge, cell.edges[0].as_ref());
            if edge.is_some_and(|e| !e.node.is_leaf()) && (cell.argument.is_none() || !same_edge) {
                return None;
            }
            let source = match (cell.argument, cell.grad_of) {
                (Some(i), _) if is_part(self.begun()[i].given.get()) => Origin::Larger(i),
                (Some(i), _) => Origin::Argument(i),
                (_, Some(i)) => Origin::Grad(kept.iter().position(|s| std::ptr::eq(*s, &captured.slots[i]))?),
                _ => Origin::Memory(cell.place.downgrade()),
            };
            let written = (!is_same_view(&array, &cell.before)).then(|| {
                results.push(array);
                results.len() - 1
            });
            if written.is_some()
                && matches!(source, Origin::Larger(_))
                && shared.iter().any(|(.., tracked)| *tracked)
            {
                return None;
            }
            let x = &cell.before;
            let (dtype, dims, strides) = (x.dtype(), x.dims().into(), x.strides());
            let tracked = edge.is_some();
            inputs.push(Input { source, dtype, dims, strides, tracked, hooks: hooks(edge), written });
            starts.push(x.clone());
        }
        for (i, a) in self.begun().iter().enumerate().filter(|(_, a)| !a.used.is(&a.given)) {
            let t = a.used.get().tensor();
            if a.used.get().lock().version() != 0 {
                return None;
            }
            let x = value(&t)?;
            let read = calls.iter().flat_map(|call| call.ins.iter().chain(&call.outs));
            if !read.chain(&results).all(|other| lies_in(other, &x)) {
                return None;
            }
            let (dtype, dims, strides) = (x.dtype(), x.dims().into(), x.strides());
            inputs.push(Input {
                source: Origin::Value(i),
                dtype,
                dims,
                strides,
                tracked: t.is_tracked(),
                hooks: hooks(t.edge.as_ref()),
                written: None,
            });
            starts.push(x);
        }
        let hosts: Vec<Source> = captured.hosts.iter().map(|h| Source::of(h, py)).collect();
        starts.extend(captured.hosts.iter().map(|h| h.numbers.clone()).filter(|x| x.len() > 0));
        let mut slots = vec![];
        for s in &kept {
            let after = s.slot.grad(py);
            let written = match (&s.before, &after) {
                (Some(a), Some(b)) if a.is(b) => GradWrite::Keep,
                (None, None) => GradWrite::Keep,
                (Some(_), None) => GradWrite::Clear,
                (_, Some(g)) => {
                    let t = g.get().tensor();
                    let edge = t.edge.as_ref();
                    if edge.is_some_and(|e| !e.node.is_leaf()) {
                        return None;
                    }
                    results.push(value(&t)?);
                    GradWrite::Set(results.len() - 1, g.get().dialect(), edge.is_some())
                }
            };
            slots.push(GradInput {
                slot: s.argument.is_none().then(|| s.slot.clone()),
                argument: s.argument,
                present: s.before.is_some(),
                written,
            });
        }
        let mut out = vec![];
        let mut returned: Vec<(usize, usize)> = vec![];
        for (j, o) in outputs.iter().enumerate() {
            if let Some(i) = self.begun().iter().position(|a| a.used.is(o)) {
                out.push(Output::Argument(i));
                continue;
            }
            let is_tracked = |o: &Bound<'_, Var>| o.get().tensor().is_tracked();
            if let Some(i) = outputs[..j].iter().position(|p| p.is(o)).filter(|_| !is_tracked(o)) {
                out.push(Output::Again(i));
                continue;
            }
            let place = match &o.get().lock().value {
                Value::Own(_) => None,
                Value::Shared(p) => Some((p.place_of_part().key(), p.place().is_some())),
            };
            if let Some((key, all)) = place {
                let from_outside = captured.knows(key);
                if from_outside && all && o.get().lock().slot.is_some() {
                    out.push(Output::Object(o.clone().into_any().unbind()));
                    continue;
                }
                let layout = match &o.get().lock().value {
                    Value::Shared(p) => p.layout.clone(),
                    Value::Own(_) => return None,
                };
                if from_outside {
                    // Only a view of an argument can be made anew.
                    let cell = captured.cells.iter().position(|c| c.place.key() == key)?;
                    let (Input { source: Origin::Argument(i), written: None, tracked: false, .. }, false) =
                        (&inputs[cell], is_tracked(o))
                    else {
                        return None;
                    };
                    out.push(Output::ViewOfArgument(*i, layout, o.get().dialect()));
                    continue;
                }
                if let Some(&(_, first)) = returned.iter().find(|(known, _)| *known == key) {
                    if is_tracked(o) || is_tracked(&outputs[first]) {
                        return None;
                    }
                    out.push(Output::ViewOfEarlier(first, layout, o.get().dialect()));
                    continue;
                }
                returned.push((key, j));
                if !all && outputs[j + 1..].iter().any(|later| key_of(later.get()) == key) {
                    if is_tracked(o) {
                        return None;
                    }
                    let whole = o.get().lock().shared().place_of_part().read();
                    results.push(value(&whole)?);
                    out.push(Output::ViewOfNew(results.len() - 1, layout, o.get().dialect()));
                    continue;
                }
            }
            let array = value(&o.get().tensor())?;
            results.push(array);
            out.push(Output::New(results.len() - 1, o.get().dialect()));
        }
        let saved_from = results.len();
        let Some(grads) = grads else {
            let forward = Arc::new(Program::new(&starts, &calls, &results)?);
            let (backward, grads) = (None, vec![]);
            return Some(Compiled {
                forward,
                backward,
                is_fresh: AtomicBool::new(true),
                inputs,
                hosts,
                slots,
                same_memory,
                shared,
                outputs: out,
                saved_from,
                grads,
            });
        };
        let Gradients { boundary, last, seeds, .. } = self.gradients().take()?;
        // The places of the gradients among those that there are, and these.
        let found = |grads: Vec<Option<Bound<'_, Var>>>| {
            let (mut places, mut found) = (vec![], vec![]);
            for g in grads {
                places.push(g.is_some().then_some(found.len()));
                if let Some(g) = g {
                    found.push(value(&g.get().tensor())?);
                }
            }
            Some((places, found))
        };
        let (mut places, mut gradients) = found(grads)?;
        let (first, mut second) = calls.split_at(boundary);
        let of_all = if some.is_some() { &second[..last - boundary] } else { second };
        let saved = Program::read_by(&starts, first, of_all, &gradients);
        results.extend(saved.iter().cloned());
        let forward = Arc::new(Program::new(&starts, first, &results)?);
        if let Some(some) = some {
            (places, gradients) = found(some)?;
            // Only what the program for all saves can be read.
            let made: Vec<&Array> = of_all.iter().flat_map(|call| &call.outs).collect();
            second = &second[last - boundary..];
            let read = Program::read_by(&starts, first, second, &gradients);
            let buffers = |list: &[Array]| list.iter().map(|x| x.place().0).collect::<FxHashSet<usize>>();
            let own = made.into_iter().filter(|x| x.has_place()).map(|x| x.place().0);
            let others: FxHashSet<usize> = own.chain(buffers(&read)).collect();
            let known = buffers(&saved);
            let outside =
                second.iter().flat_map(|call| &call.ins).chain(&gradients).filter(|x| x.has_place());
            if outside.map(|x| x.place().0).any(|b| others.contains(&b) && !known.contains(&b)) {
                return None;
            }
        }
        let begins: Vec<Array> = saved.into_iter().chain(seeds).collect();
        let backward = Some(Arc::new(Program::new(&begins, second, &gradients)?));
        Some(Compiled {
            forward,
            backward,
            is_fresh: AtomicBool::new(true),
            inputs,
            hosts,
            slots,
            same_memory,
            shared,
            outputs: out,
            saved_from,
            grads: places,
        })
    }
}

/// By tensor: the first one that has the same memory.
fn same_memory<'a>(tensors: impl Iterator<Item = &'a Var>) -> SmallVec<[usize; 8]> {
    let key = |v: &Var| match &v.lock().value {
        // Nobody shares its memory.
        Value::Own(_) => std::ptr::from_ref(v).addr(),
        Value::Shared(p) => p.place_of_part().key(),
    };
    let keys: SmallVec<[usize; 8]> = tensors.map(key).collect();
    if keys.len() <= FEW {
        return keys.iter().map(|key| keys.iter().position(|k| k == key).expect("it is there")).collect();
    }
    let mut first = FxHashMap::default();
    keys.iter().enumerate().map(|(i, &key)| *first.entry(key).or_insert(i)).collect()
}

/// So many tensors are compared one by one rather than by a table.
pub(super) const FEW: usize = 16;

impl Input {
    /// Whether a value is of the kind that the program reads.
    #[inline]
    fn takes(&self, t: &Tensor) -> bool {
        t.dtype() == self.dtype
            && t.levels.is_empty()
            && t.array.dims() == self.dims.as_slice()
            && t.array.has_strides(&self.strides)
            && (t.is_tracked() == self.tracked || matches!(self.source, Origin::Given(_)))
            && self.hooks.as_ref().is_none_or(|hooks| *hooks == hooks_of(t.edge.as_ref()))
            && !t.array.is_sealed()
    }
}

/// By tensor that is the first one that has its memory: how many have it.
fn counts(same_memory: &[usize]) -> SmallVec<[usize; 8]> {
    let mut counts = SmallVec::from_elem(0, same_memory.len());
    same_memory.iter().for_each(|&first| counts[first] += 1);
    counts
}

/// The arguments that share memory with others: the index of each, its layout in that memory, and whether it is tracked.
fn shared_layouts<'a>(
    arguments: impl Iterator<Item = &'a Var>,
    same_memory: &[usize],
) -> Vec<(usize, Layout, bool)> {
    let mut found = vec![];
    let counts = counts(same_memory);
    for (i, v) in arguments.enumerate() {
        if counts[same_memory[i]] > 1
            && let Value::Shared(p) = &v.lock().value
        {
            let layout = p.layout.clone();
            found.push((i, layout, p.last_edge().is_some()));
        }
    }
    found
}

/// Whether a tensor is a part of a larger one.
fn is_part(v: &Var) -> bool {
    matches!(&v.lock().value, Value::Shared(p) if p.place().is_none())
}

/// The hooks on the gradient of a value.
fn hooks_of(edge: Option<&Edge>) -> SmallVec<[u64; 1]> {
    edge.map_or_else(SmallVec::new, |e| HookList::ids(&e.node))
}

/// The memory of a tensor that a program reads as a whole.
fn place_of(v: &Var) -> Option<Place> {
    v.lock().shared().place()
}

/// The array of an argument in the layout that the program reads: copied if it lies otherwise. None if the argument has
/// another shape or dtype, or the layout is not one that a copy can have.
pub(super) fn laid_out(x: &Array, input: &Input) -> crate::error::Result<Option<Array>> {
    let fits = x.dtype() == input.dtype && x.dims() == input.dims.as_slice();
    if fits { x.with_strides(&input.strides) } else { Ok(None) }
}

impl Compiled {
    /// The input arrays, with the memory that they lie in where it is shared. None where the arguments or the tensors from
    /// outside are not of the kind that the program is for.
    fn read(&self, py: Python<'_>, arguments: &[Bound<'_, Var>]) -> PyResult<Option<ReadInputs>> {
        let mut inputs = ReadInputs::new();
        for input in &self.inputs {
            let (t, place) = match &input.source {
                Origin::Value(i) => {
                    let v = arguments[*i].get();
                    let place = match &v.lock().value {
                        Value::Shared(p) if p.place().is_none() => p.place_of_part(),
                        _ => return Ok(None),
                    };
                    (v.tensor(), Some(place))
                }
                Origin::Given(i) => {
                    let v = arguments[*i].get();
                    if let Some(trace) = modes::trace() {
                        trace.give_up("it calls a program from a file");
                    }
                    let t = v.tensor();
                    // Without a program for its gradient, none may be asked for.
                    if t.is_tracked() && !input.tracked && modes::is_recording() || !t.levels.is_empty() {
                        return Ok(None);
                    }
                    let place = match &v.lock().value {
                        Value::Own(_) => None,
                        Value::Shared(p) => Some(p.place_of_part()),
                    };
                    let Some(array) = laid_out(t.array.unsealed(), input)? else { return Ok(None) };
                    (Tensor::constant(array), place)
                }
                Origin::Argument(i) => {
                    let mut state = arguments[*i].get().lock();
                    match &state.value {
                        Value::Own(t) if input.written.is_none() => (t.clone(), None),
                        _ => {
                            let Some(place) = state.shared().place() else { return Ok(None) };
                            (place.read(), Some(place))
                        }
                    }
                }
                Origin::Larger(i) => {
                    let place = arguments[*i].get().lock().shared().place_of_part();
                    (place.read(), Some(place))
                }
                Origin::Memory(place) => {
                    let Some(place) = place.upgrade() else { return Ok(None) };
                    (place.read(), Some(place))
                }
                Origin::Grad(i) => {
                    let grad = self.slot(*i, arguments).and_then(|slot| slot.grad(py));
                    let Some(place) = grad.and_then(|g| place_of(g.get())) else { return Ok(None) };
                    (place.read(), Some(place))
                }
            };
            if !input.takes(&t) {
                return Ok(None);
            }
            inputs.push((t.array, place));
        }
        // Arguments that are read by their values may share memory.
        let by_place = |input: &Input| !matches!(input.source, Origin::Given(_) | Origin::Memory(_));
        if self.inputs.iter().any(by_place)
            && (same_memory(arguments.iter().map(Bound::get)) != self.same_memory
                || shared_layouts(arguments.iter().map(Bound::get), &self.same_memory) != self.shared)
        {
            return Ok(None);
        }
        // An argument may have the memory of a tensor from outside.
        let of_arguments: SmallVec<[(usize, &Input); 8]> = std::iter::zip(&self.inputs, &inputs)
            .filter(|(other, _)| !matches!(other.source, Origin::Memory(_)))
            .filter_map(|(other, (_, place))| Some((place.as_ref()?.key(), other)))
            .collect();
        for (input, (_, place)) in self.inputs.iter().zip(&inputs) {
            let (Some(place), Origin::Memory(_)) = (place, &input.source) else { continue };
            let clashes = |(key, other): &(usize, &Input)| {
                let by_value = matches!(other.source, Origin::Value(_) | Origin::Given(_));
                *key == place.key() && (input.written.is_some() || !by_value)
            };
            if of_arguments.iter().any(clashes) {
                return Ok(None);
            }
        }
        for (i, s) in self.slots.iter().enumerate() {
            let Some(slot) = self.slot(i, arguments) else { return Ok(None) };
            if slot.grad(py).is_some() != s.present {
                return Ok(None);
            }
        }
        Ok(Some(inputs))
    }

    /// The input arrays of a program that only reads its arguments. None where they are not of the kind that it is for.
    fn read_arguments(&self, arguments: &[Bound<'_, Var>]) -> Option<SmallVec<[Array; 8]>> {
        let mut arrays = SmallVec::new();
        for input in &self.inputs {
            let Origin::Argument(i) = input.source else { return None };
            // Whoever shares the memory sees no difference.
            let t = arguments[i].get().uncaptured();
            if !input.takes(&t) {
                return None;
            }
            arrays.push(t.array);
        }
        Some(arrays)
    }

    /// Whether a run changes no memory, differentiates nothing and returns no views, and all that it reads are arguments,
    /// which shared no memory in the trace.
    fn only_reads(&self) -> bool {
        let is_read = |input: &Input| {
            !input.tracked && input.written.is_none() && matches!(input.source, Origin::Argument(_))
        };
        let is_new = |output: &Output| {
            matches!(output, Output::New(..) | Output::Argument(_) | Output::Object(_) | Output::Again(_))
        };
        self.slots.is_empty()
            && self.shared.is_empty()
            && self.inputs.iter().all(is_read)
            && self.outputs.iter().all(is_new)
    }

    fn slot(&self, i: usize, arguments: &[Bound<'_, Var>]) -> Option<Arc<Slot>> {
        match &self.slots[i] {
            GradInput { slot: Some(slot), .. } => Some(slot.clone()),
            GradInput { argument: Some(i), .. } => arguments[*i].get().lock().slot.clone(),
            GradInput { .. } => None,
        }
    }
}

/// A view of untracked memory.
fn view<'py>(of: &Bound<'py, Var>, layout: &Layout, dialect: Dialect) -> PyResult<Bound<'py, PyAny>> {
    of.get().share()?;
    let base = of.clone().into_any().unbind();
    let view = of.get().lock().shared().view(layout.clone(), None, DetachReason::default(), base);
    Ok(Var::object(of.py(), Value::Shared(Box::new(view)), dialect)?.into_any())
}

/// The inputs of a run, with the memory that they lie in where it is shared.
type ReadInputs = SmallVec<[(Array, Option<Place>); 8]>;

/// What came of a run: the outputs and what is saved for the gradients, or why there are none.
enum Outcome<'py> {
    Done(Vec<Bound<'py, PyAny>>, Vec<Bound<'py, Var>>),
    /// The program is not for these arguments, or not for their numbers.
    OtherArguments,
    /// The shape of a value depends on numbers.
    OtherLayout,
}

impl Compiled {
    /// The outputs. None where the program is not for these arguments.
    pub fn results<'py>(
        &self,
        py: Python<'py>,
        arguments: &[Bound<'py, Var>],
    ) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        Ok(match self.outcome(py, arguments)? {
            Outcome::Done(outputs, _) => Some(outputs),
            Outcome::OtherArguments | Outcome::OtherLayout => None,
        })
    }

    fn outcome<'py>(&self, py: Python<'py>, arguments: &[Bound<'py, Var>]) -> PyResult<Outcome<'py>> {
        let mut arrays: SmallVec<[Array; 8]>;
        let mut places: SmallVec<[Option<Place>; 8]> = SmallVec::new();
        if self.only_reads() {
            let Some(read) = self.read_arguments(arguments) else { return Ok(Outcome::OtherArguments) };
            arrays = read;
        } else {
            let Some(read) = self.read(py, arguments)? else { return Ok(Outcome::OtherArguments) };
            (arrays, places) = read.into_iter().unzip();
        }
        let Some(mut advanced) = Advanced::of(py, &self.hosts)? else { return Ok(Outcome::OtherArguments) };
        arrays.append(&mut advanced.arrays);
        let _silence = self.is_fresh.swap(false, Relaxed).then(Silence::new);
        let position = random::position();
        let ran = if self.forward.is_short() {
            self.forward.attempt(&arrays)
        } else {
            without_gil(py, || self.forward.attempt(&arrays))
        };
        let dialect = arguments.first().map_or(Dialect::Native, |x| x.get().dialect());
        let ran = ran.map_err(|error| with_line(py, dialect.index_error(error)))?;
        let mut results = match ran {
            Ok(results) => results,
            Err(misfit) => {
                // Whoever computes it now draws the same numbers.
                random::go_to(position);
                let is_another = misfit == Misfit::Decision && !self.forward.is_from_file();
                return Ok(if is_another { Outcome::OtherArguments } else { Outcome::OtherLayout });
            }
        };
        drop(arrays);
        let mut saved = vec![];
        for array in results.split_off(self.saved_from) {
            saved.push(Var::object(py, Value::Own(Tensor::constant(array)), Dialect::Native)?);
        }
        let mut outputs: Vec<Bound<'py, PyAny>> = Vec::with_capacity(self.outputs.len());
        for o in &self.outputs {
            outputs.push(match o {
                Output::New(i, dialect) => {
                    Var::result(py, Tensor::constant(results[*i].clone()), *dialect)?.into_any()
                }
                Output::Argument(i) => arguments[*i].clone().into_any(),
                Output::Object(o) => o.bind(py).clone(),
                Output::ViewOfArgument(i, layout, dialect) => view(&arguments[*i], layout, *dialect)?,
                Output::ViewOfNew(i, layout, dialect) => {
                    let whole = Var::result(py, Tensor::constant(results[*i].clone()), *dialect)?;
                    view(&whole, layout, *dialect)?
                }
                Output::ViewOfEarlier(i, layout, dialect) => {
                    view(outputs[*i].cast::<Var>().expect("it is a tensor"), layout, *dialect)?
                }
                Output::Again(i) => outputs[*i].clone(),
            });
        }
        for (input, place) in self.inputs.iter().zip(places) {
            if let (Some(i), Some(place)) = (input.written, place) {
                place.write(results[i].clone());
            }
        }
        for (i, s) in self.slots.iter().enumerate() {
            let Some(slot) = self.slot(i, arguments) else { continue };
            match &s.written {
                GradWrite::Keep => {}
                GradWrite::Clear => slot.set_grad(None),
                GradWrite::Set(i, dialect, requires_grad) => {
                    let grad = Var::result(py, Tensor::constant(results[*i].clone()), *dialect)?;
                    if *requires_grad {
                        Var::make_leaf(&grad)?;
                    }
                    slot.set_grad(Some(grad.unbind()));
                }
            }
        }
        advanced.keep();
        Ok(Outcome::Done(outputs, saved))
    }
}

/// A program for people: see [`Compiled::parts`].
type Described = ((usize, usize, usize), Vec<Vec<(&'static str, Option<String>)>>, usize);

/// What came of a run, for Python.
#[derive(IntoPyObject)]
enum Run<'py> {
    Done(Vec<Bound<'py, PyAny>>, Vec<Bound<'py, Var>>),
    #[pyo3(transparent)]
    Other(Option<bool>),
}

#[pymethods]
impl Compiled {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.hosts.iter().try_for_each(|source| source.visit(&visit))?;
        self.outputs.iter().try_for_each(|output| match output {
            Output::Object(object) => visit.call(object),
            _ => Ok(()),
        })
    }

    /// Runs the program. Returns the outputs and what is saved for the gradients; None where the program is not for
    /// these arguments, and False where the shape of a value depends on numbers, so that no program can compute it.
    fn run<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = list)] arguments: Vec<Bound<'py, Var>>,
    ) -> PyResult<Run<'py>> {
        Ok(match self.outcome(py, &arguments)? {
            Outcome::Done(outputs, saved) => Run::Done(outputs, saved),
            Outcome::OtherArguments => Run::Other(None),
            Outcome::OtherLayout => Run::Other(Some(false)),
        })
    }

    /// The gradients of the leaves, None where there is none, given what `run` saved and the gradients of the outputs. None
    /// where the shape of a value depends on numbers.
    fn gradients<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = list)] saved: Vec<Bound<'py, Var>>,
        #[pyo3(from_py_with = list)] seeds: Vec<Bound<'py, Var>>,
    ) -> PyResult<Option<Vec<Option<Bound<'py, Var>>>>> {
        let Some(backward) = self.backward.as_ref().filter(|p| p.inputs() == saved.len() + seeds.len())
        else {
            return Ok(None);
        };
        let mut arrays: Vec<Array> = saved.iter().map(|v| v.get().tensor().array).collect();
        for seed in &seeds {
            arrays.push(seed.get().tensor().array.contiguous()?);
        }
        let Some(grads) = without_gil(py, || backward.run(&arrays)).map_err(|error| with_line(py, error))?
        else {
            return Ok(None);
        };
        let grad = |i: &Option<usize>| {
            i.map(|i| Var::result(py, Tensor::constant(grads[i].clone()), Dialect::Native)).transpose()
        };
        self.grads.iter().map(grad).collect::<PyResult<_>>().map(Some)
    }

    /// A description of the program, and of the program for its gradients if there is one. Each has three parts: how many
    /// ops the trace recorded, how many of them are distinct, and how many are needed; for each pass over memory the
    /// names of its ops and the lines that applied them; and the most bytes that values take at a time.
    fn parts(&self) -> Vec<Described> {
        let both = std::iter::once(&self.forward).chain(&self.backward);
        both.map(|program| {
            let counts = program.counts();
            let line = |(name, site): (&'static str, Site)| (name, site.describe());
            let passes = program.passes().map(|ops| ops.into_iter().map(line).collect());
            ((counts.recorded, counts.distinct, counts.needed), passes.collect(), program.peak_bytes())
        })
        .collect()
    }

    /// How many tensors from outside the program reads, and how many values it writes back.
    #[getter]
    fn captured(&self) -> (usize, usize) {
        let outside = self.inputs.iter().filter(|i| matches!(i.source, Origin::Memory(_) | Origin::Grad(_)));
        (outside.count(), self.inputs.iter().filter(|i| i.written.is_some()).count())
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

/// Whether gradients are recorded, inference mode, the dtype of autocast, and the default dtype.
pub type ProgramModes = (bool, bool, Option<&'static str>, &'static str);

/// The modes of this thread that a program depends on, while no trace is taken.
pub fn modes_of_programs() -> Option<ProgramModes> {
    program_modes(false, false)
}

/// The modes of this thread that a program depends on. None where functions run as they are: while a trace is taken,
/// inside vmap, and while ops are watched. With `tracing` they are those of a trace, and with `inner` those of a trace of a
/// step or a branch, which may be inside vmap.
#[pyfunction]
#[pyo3(signature = (tracing=false, inner=false))]
fn program_modes(tracing: bool, inner: bool) -> Option<ProgramModes> {
    let flags = modes::flags();
    // A program can be profiled, but not watched otherwise.
    let is_watched = || modes::with(|m| m.watch.without_profile() != Watch::NOTHING);
    if flags.has(Flags::PACKING)
        || flags.has(Flags::WATCHING) && is_watched()
        || !inner && flags.has(Flags::LIVE_LEVELS)
        || !tracing && !inner && flags.has(Flags::TRACING)
    {
        return None;
    }
    let autocast =
        if flags.has(Flags::AUTOCAST) { modes::with(|m| m.autocast).map(DType::name) } else { None };
    let records = !flags.has(Flags::NOT_RECORDING);
    Some((records, flags.has(Flags::INFERENCE), autocast, default_float().name()))
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(program_modes, m)?)?;
    m.add_function(wrap_pyfunction!(is_tracing, m)?)?;
    m.add_function(wrap_pyfunction!(give_up_trace, m)?)?;
    m.add_class::<Tracer>()?;
    m.add_class::<Compiled>()
}
