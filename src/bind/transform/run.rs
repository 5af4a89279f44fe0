//! Runs of programs.

use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;

use pyo3::prelude::*;
use smallvec::SmallVec;

use super::gradient::ProgramOp;
use super::host::Advanced;
use super::inputs::Arrays;
use super::print::{Silence, with_line};
use super::program::{Compiled, GradWrite, Output};
use crate::array::{Array, Layout};
use crate::bind::convert::list::list;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::OrRaise;
use crate::bind::python::gil::without_gil;
use crate::bind::value::stems::mark_results;
use crate::bind::value::storage::Place;
use crate::bind::value::var::{Value, Var};
use crate::graph::site::Site;
use crate::graph::{self, DetachReason, Edge, Levels, Node, SavedArray, Tensor};
use crate::ops::random;
use crate::program::Misfit;

/// A view of untracked memory.
fn view<'py>(of: &Bound<'py, Var>, layout: &Layout, dialect: Dialect) -> PyResult<Bound<'py, PyAny>> {
    of.get().share().or_raise()?;
    let base = of.clone().into_any().unbind();
    let view = of.get().lock().shared().view(layout.clone(), None, DetachReason::default(), base);
    Ok(Var::object(of.py(), Value::Shared(Box::new(view)), dialect)?.into_any())
}

/// The outputs of a run.
pub(super) type Made<'py> = SmallVec<[Bound<'py, PyAny>; 2]>;

/// What came of a run.
enum Outcome {
    Done,
    /// The program is not for these arguments, or not for their numbers.
    OtherArguments,
    /// The shape of a value depends on numbers.
    OtherLayout,
}

/// Arguments that were made leaves for a run. Unless it ends well, the drop takes that back.
struct Leaves<'a, 'py>(SmallVec<[&'a Bound<'py, Var>; 2]>);

impl Drop for Leaves<'_, '_> {
    fn drop(&mut self) {
        self.0.drain(..).for_each(Var::stop_tracking);
    }
}

impl Compiled {
    /// Makes those arguments leaves that the function makes leaves. None if one of them is tracked already: then gradients
    /// may flow to it from ops before, too.
    fn leaves<'a, 'py>(&self, arguments: &'a [Bound<'py, Var>]) -> PyResult<Option<Leaves<'a, 'py>>> {
        let mut leaves = Leaves(SmallVec::new());
        for v in self.becomes_leaf.iter().map(|&i| &arguments[i]) {
            let t = v.get().look();
            if t.is_tracked() || !t.dtype().is_differentiable() {
                return Ok(None);
            }
            Var::make_leaf(v)?;
            leaves.0.push(v);
        }
        Ok(Some(leaves))
    }

    /// The outputs. None where the program is not for these arguments.
    pub fn results<'py>(
        &self,
        py: Python<'py>,
        arguments: &[Bound<'py, Var>],
    ) -> PyResult<Option<Made<'py>>> {
        let Some(mut leaves) = self.leaves(arguments)? else { return Ok(None) };
        let mut outputs = Made::new();
        let outcome = self.outcome(py, arguments, &mut outputs, &mut vec![])?;
        Ok(matches!(outcome, Outcome::Done).then(|| {
            leaves.0.clear();
            outputs
        }))
    }

    /// Adds the outputs to `outputs`, and what is saved for the gradients to `saved`.
    fn outcome<'py>(
        &self,
        py: Python<'py>,
        arguments: &[Bound<'py, Var>],
        outputs: &mut Made<'py>,
        saved: &mut Vec<Array>,
    ) -> PyResult<Outcome> {
        let mut arrays = Arrays::new();
        let mut places: SmallVec<[Option<Place>; 8]> = SmallVec::new();
        if self.only_reads {
            if !self.read_only(arguments, &mut arrays) {
                return Ok(Outcome::OtherArguments);
            }
        } else {
            let Some(read) = self.read(py, arguments)? else { return Ok(Outcome::OtherArguments) };
            (arrays, places) = read.into_iter().unzip();
        }
        let mut advanced = None;
        if !self.hosts.is_empty() {
            let Some(mut now) = Advanced::of(py, &self.hosts)? else { return Ok(Outcome::OtherArguments) };
            arrays.append(&mut now.arrays);
            advanced = Some(now);
        }
        let is_fresh = self.is_fresh.load(Relaxed) && self.is_fresh.swap(false, Relaxed);
        let _silence = is_fresh.then(Silence::new);
        let position = self.draws.then(random::position);
        let ran = if self.forward.is_short() {
            self.forward.attempt(&arrays)
        } else {
            without_gil(py, || self.forward.attempt(&arrays))
        };
        let dialect = arguments.first().map_or(Dialect::Native, |x| x.get().dialect());
        let ran = ran.map_err(|error| with_line(py, dialect.in_its_words(error)))?;
        let mut results = match ran {
            Ok(results) => results,
            Err(misfit) => {
                // Whoever computes it now draws the same numbers.
                position.into_iter().for_each(random::go_to);
                let is_another = misfit == Misfit::Decision && !self.forward.is_from_file();
                return Ok(if is_another { Outcome::OtherArguments } else { Outcome::OtherLayout });
            }
        };
        drop(arrays);
        saved.extend(results.drain(self.saved_from..));
        for o in &self.outputs {
            outputs.push(match o {
                Output::New(i, dialect) => {
                    Var::result(py, Tensor::constant(results[*i].clone()), *dialect)?.into_any()
                }
                Output::Argument(i) => arguments[*i].clone().into_any(),
                Output::Object(o) => o.bind(py).clone(),
                Output::ViewOfArgument(i, layout, dialect) => view(&arguments[*i], layout, *dialect)?,
                Output::ViewOfNew(i, layout, dialect) | Output::Expanded(_, i, layout, dialect) => {
                    let whole = Var::result(py, Tensor::constant(results[*i].clone()), *dialect)?;
                    view(&whole, layout, *dialect)?
                }
                Output::ViewOfEarlier(i, layout, dialect) => {
                    view(outputs[*i].cast::<Var>().expect("it is a tensor"), layout, *dialect)?
                }
                Output::Again(i) => outputs[*i].clone(),
            });
        }
        mark_results(outputs);
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
        if let Some(advanced) = advanced {
            advanced.keep();
        }
        Ok(Outcome::Done)
    }
}

/// What came of a run, for Python.
#[derive(IntoPyObject)]
enum Run<'py> {
    Done((Vec<Bound<'py, PyAny>>,)),
    #[pyo3(transparent)]
    Other(Option<bool>),
}

#[pymethods]
impl Compiled {
    /// Runs the program. Returns the outputs in a tuple; None where the program is not for these arguments, and False where the
    /// shape of a value depends on numbers, so that no program can compute it.
    fn run<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = list)] arguments: Vec<Bound<'py, Var>>,
    ) -> PyResult<Run<'py>> {
        let Some(mut leaves) = self.leaves(&arguments)? else { return Ok(Run::Other(None)) };
        let mut outputs = Made::new();
        Ok(match self.outcome(py, &arguments, &mut outputs, &mut vec![])? {
            Outcome::Done => {
                leaves.0.clear();
                Run::Done((outputs.into_vec(),))
            }
            Outcome::OtherArguments => Run::Other(None),
            Outcome::OtherLayout => Run::Other(Some(false)),
        })
    }

    /// Runs the program as [`Compiled::run`] does, and records the run as one node. Its inputs are the leaves and its outputs
    /// those in `tracked`. `call` and `materialize` are those of [`ProgramOp`].
    fn run_recorded<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = list)] arguments: Vec<Bound<'py, Var>>,
        #[pyo3(from_py_with = list)] leaves: Vec<Bound<'py, Var>>,
        #[pyo3(from_py_with = list)] tracked: Vec<usize>,
        call: Py<PyAny>,
        materialize: bool,
    ) -> PyResult<Run<'py>> {
        let Some(mut made_leaves) = self.leaves(&arguments)? else { return Ok(Run::Other(None)) };
        // The program may write to the leaves.
        let ins: Vec<Tensor> = leaves.iter().map(|v| v.get().operand()).collect();
        let (mut outputs, mut saved) = (Made::new(), vec![]);
        match self.outcome(py, &arguments, &mut outputs, &mut saved)? {
            Outcome::Done => made_leaves.0.clear(),
            Outcome::OtherArguments => return Ok(Run::Other(None)),
            Outcome::OtherLayout => return Ok(Run::Other(Some(false))),
        }
        let Some(backward) = self.backward.clone().filter(|_| ins.iter().any(Tensor::is_tracked)) else {
            return Ok(Run::Done((outputs.into_vec(),)));
        };
        let leaf =
            |(v, t): (&Bound<'_, Var>, &Tensor)| (t.dims().into(), t.dtype(), v.get().lock().version());
        let made = |&i: &usize| outputs[i].cast::<Var>().expect("it is a tensor").get();
        let op = ProgramOp {
            backward,
            grads: self.grads.clone(),
            leaves: leaves.iter().zip(&ins).map(leaf).collect(),
            call,
            materialize,
            dialect: tracked.first().map_or(Dialect::Native, |i| made(i).dialect()),
            rules: OnceLock::new(),
        };
        let none = Levels::default();
        let list = saved.into_iter().map(|array| Some(SavedArray::new(array, &none))).collect();
        let state = graph::saved_state(list, |_| false).or_raise()?;
        let arrays: Vec<Array> = tracked.iter().map(|i| made(i).tensor().array).collect();
        let ins: Vec<&Tensor> = ins.iter().collect();
        let node = Node::of_op(Box::new(op), &ins, &arrays, &none, Site::current(), |saved| *saved = state);
        for (k, (&i, array)) in tracked.iter().zip(arrays).enumerate() {
            let edge = Edge { node: node.clone(), out: k as u32 };
            let dialect = outputs[i].cast::<Var>().expect("it is a tensor").get().dialect();
            outputs[i] = Var::result(py, Tensor::made(array, Some(edge), none.clone()), dialect)?.into_any();
        }
        Ok(Run::Done((outputs.into_vec(),)))
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
            arrays.push(seed.get().tensor().array.contiguous().or_raise()?);
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
}
