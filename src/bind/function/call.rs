//! One call of a function defined in Python, and the link from its context to its node.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use super::op::{OnceDifferentiable, PythonOp, saved_by};
use crate::array::Array;
use crate::bind::convert::list::list;
use crate::bind::node::saved::RawSavedTensor;
use crate::bind::python::capi::track;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::stack;
use crate::bind::value::storage::OldEdge;
use crate::bind::value::var::{Value, Var};
use crate::dtype::DType;
use crate::engine::differentiated_by;
use crate::error::interned;
use crate::graph::site::Site;
use crate::graph::{
    self, DetachReason, Edge, HostCall, Levels, Meta, Modes, Node, Recording, SavedArray, SavedList, Stems,
    Tensor, align,
};
use crate::shape::Dims;

/// Where the edge of a saved tensor comes from.
enum Source {
    Input(usize),
    Output(usize),
    /// It has an edge of its own, or none for that reason.
    Own(Option<Edge>, DetachReason),
}

/// How the caller gets an output of a function.
#[derive(Clone, Copy, PartialEq)]
enum OutputKind {
    /// The object itself, which becomes tracked.
    Result,
    /// A new tensor of the same value, because the output is an input that was returned as it was.
    Alias,
    /// The object itself with another history: an input that was written to.
    Written,
    /// The object itself, untracked.
    Fixed,
    /// A new tensor, untracked.
    FixedAlias,
}

impl OutputKind {
    const ALL: [OutputKind; 5] = [
        OutputKind::Result,
        OutputKind::Alias,
        OutputKind::Written,
        OutputKind::Fixed,
        OutputKind::FixedAlias,
    ];
}

/// One call of a function defined in Python. At first it holds the tensors among the arguments, as they were before the
/// function ran. If the call was recorded, it then leads to the tensors that the node has saved.
#[pyclass(frozen, module = "ferrograd._core")]
pub struct FunctionCall {
    inputs: Mutex<Vec<(Py<Var>, Tensor)>>,
    /// The call, for the values that the function reads, until it is finished. It holds the inputs' edges.
    host: Mutex<Option<Arc<HostCall>>>,
    /// The modes before the function ran: whether ops were recorded, and the call that ran.
    before: Mutex<Option<(Recording, Option<Arc<HostCall>>)>>,
    recorded: OnceLock<Recorded>,
}

/// The link from a context to its node. It does not keep the node alive, because the node holds the context.
struct Recorded {
    node: Weak<Node>,
    /// One for each saved tensor.
    sources: Vec<Source>,
    /// The outputs that are attributes of the context, by their index.
    outputs: Vec<(usize, Array)>,
    dialect: Dialect,
}

#[pymethods]
impl FunctionCall {
    #[new]
    fn new(#[pyo3(from_py_with = list)] inputs: Vec<Bound<'_, Var>>) -> PyResult<FunctionCall> {
        stack::check().or_raise()?;
        let inputs: Vec<_> = inputs.into_iter().map(|v| (v.clone().unbind(), v.get().operand())).collect();
        let argument = |(v, t): &(Py<Var>, Tensor)| (std::ptr::from_ref(v.get()).addr(), t.edge.clone());
        let host = Mutex::new(Some(Arc::new(HostCall::new(inputs.iter().map(argument).collect()))));
        Ok(FunctionCall {
            inputs: Mutex::new(inputs),
            host,
            before: Mutex::default(),
            recorded: OnceLock::new(),
        })
    }

    /// Begins the function: nothing is recorded from now on. What it computes knows from which inputs, if the call itself
    /// can be recorded; otherwise it knows from which inputs of the call around this one.
    fn begin(&self) {
        let off = Recording::off(DetachReason::in_function(Site::current()));
        let is_tracked = self.needs().contains(&true);
        let host = self.host.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let before = Modes::update(|m| {
            let before = (m.recording, m.host_call.clone());
            if m.recording == Recording::On {
                m.recording = off;
                if is_tracked || m.host_call.is_none() {
                    m.host_call = host;
                }
            }
            before
        });
        *self.before.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
    }

    /// Puts the modes back that were before the function.
    fn end(&self) {
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((recording, call)) = before {
            Modes::update(|m| (m.recording, m.host_call) = (recording, call));
        }
    }

    /// For each of the tensors: whether a gradient can flow into it.
    #[getter]
    fn needs(&self) -> Vec<bool> {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|x| x.1.is_tracked()).collect()
    }

    /// Records the call, if a gradient can flow through it, and returns its tensors. `outputs` are those that the
    /// function returned, each with the number of its kind. `saved` are those that it saved, each with a copy from that
    /// moment. `materialize` and `any_dtype` are those of [`PythonOp`]. `own` are the indices of the outputs that the
    /// context wants back from [`FunctionCall::output`].
    #[allow(clippy::too_many_arguments)]
    fn finish<'py>(
        &self,
        py: Python<'py>,
        context: Bound<'py, PyAny>,
        name: &str,
        #[pyo3(from_py_with = list)] places: Vec<usize>,
        materialize: bool,
        any_dtype: bool,
        #[pyo3(from_py_with = list)] outputs: Vec<(Bound<'py, Var>, usize)>,
        #[pyo3(from_py_with = list)] saved: Vec<(Bound<'py, Var>, Bound<'py, Var>)>,
        #[pyo3(from_py_with = list)] own: Vec<usize>,
    ) -> PyResult<Vec<Bound<'py, Var>>> {
        let Some(host) = self.host.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return Err(raise(py, "ArgumentError", format!("{name}: the call is over")));
        };
        check_not_lost(py, name, &host)?;
        let inputs = std::mem::take(&mut *self.inputs.lock().unwrap_or_else(PoisonError::into_inner));
        let outs: Vec<Out<'py>> =
            outputs.into_iter().map(|(object, role)| Out::new(object, OutputKind::ALL[role])).collect();
        let flows = inputs.iter().any(|x| x.1.is_tracked()) && outs.iter().any(Out::is_tracked);
        if !flows {
            return outs.into_iter().map(|out| out.result(py, None)).collect();
        }
        outs.iter().for_each(|out| out.note_lost(&host));
        check_not_lost(py, name, &host)?;
        let dialect = outs[0].object.get().dialect();
        let (mut list, mut sources) = (SavedList::new(), vec![]);
        for (object, copy) in &saved {
            let t = copy.get().tensor();
            sources.push(source(object, &t, &inputs, &outs));
            list.push(Some(SavedArray::new(t.array, &t.levels)));
        }
        let levels = outs.iter().fold(Levels::default(), |all, o| all.union(&o.tensor.levels));
        let arrays: Vec<Array> = outs.iter().map(|o| over(&o.tensor, &levels)).collect();
        let ins: Vec<&Tensor> = inputs.iter().map(|x| &x.1).collect();
        let like = |t: &&Tensor| (Dims::from_slice(t.dims()), t.dtype());
        let op = PythonOp {
            context: context.unbind(),
            name: interned(name),
            places,
            inputs: ins.iter().map(like).collect(),
            materialize,
            any_dtype,
            dialect,
            call: host.number(),
            leaves: host.take_leaves().into(),
        };
        let state = graph::saved_state(list, |_| false).or_raise()?;
        let node =
            graph::Node::of_op(Box::new(op), &ins, &arrays, &levels, Site::current(), |saved| *saved = state);
        let outputs = own.into_iter().map(|i| (i, arrays[i].clone())).collect();
        let recorded = Recorded { node: Arc::downgrade(&node), sources, outputs, dialect };
        let _ = self.recorded.set(recorded);
        let recorded = |(i, (out, array)): (usize, (Out<'py>, Array))| {
            let edge = out.is_tracked().then(|| Edge { node: node.clone(), out: i as u32 });
            out.result(py, edge.map(|edge| Tensor::made(array, Some(edge), levels.clone())))
        };
        outs.into_iter().zip(arrays).enumerate().map(recorded).collect()
    }

    /// The tensors that the function saved.
    fn saved<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, Var>>> {
        let Some((Recorded { sources, dialect, .. }, node)) = self.node() else { return Ok(vec![]) };
        let tensors = saved_by(&node).or_raise()?.into_iter().zip(sources).map(|(saved, source)| {
            let edge = match source {
                Source::Input(i) => node.inputs[*i].clone(),
                Source::Output(i) => Some(Edge { node: node.clone(), out: *i as u32 }),
                Source::Own(edge, _) => edge.clone(),
            };
            let t = Tensor::of_saved(&saved.expect("each is saved"), edge);
            let detach_reason = if let Source::Own(_, reason) = source { *reason } else { t.detach_reason };
            Var::result(py, Tensor { detach_reason, ..t }, *dialect)
        });
        tensors.collect()
    }

    /// The tensor at an index of those that the function saved, for hooks of its own; None for one that it saved as None.
    #[pyo3(signature = (at))]
    fn raw_saved(&self, at: Option<usize>) -> PyResult<RawSavedTensor> {
        let Some((Recorded { dialect, .. }, node)) = self.node() else {
            return Err(PyRuntimeError::new_err("the call has no node that saves tensors"));
        };
        // Raises once they are freed.
        saved_by(&node).or_raise()?;
        Ok(RawSavedTensor::new(Edge { node, out: 0 }, at, *dialect))
    }

    /// Whether the call was recorded.
    #[getter]
    fn is_recorded(&self) -> bool {
        self.recorded.get().is_some()
    }

    /// An output as it was returned, with its history while there is one. None if it is not in `own`.
    fn output<'py>(&self, py: Python<'py>, i: usize) -> PyResult<Option<Bound<'py, Var>>> {
        let Some(Recorded { node, outputs, dialect, .. }) = self.recorded.get() else { return Ok(None) };
        let Some((_, array)) = outputs.iter().find(|o| o.0 == i) else { return Ok(None) };
        let node = node.upgrade();
        let levels = node.as_ref().map_or_else(Levels::default, |n| n.outs[i].levels.clone());
        let edge =
            node.filter(|_| has_history(array.dtype(), *dialect)).map(|node| Edge { node, out: i as u32 });
        Var::result(py, Tensor::made(array.clone(), edge, levels), *dialect).map(Some)
    }

    /// Makes gradients that a rule computed without recording depend on all that they were computed from, and refuses
    /// to differentiate them for the reason `why`. `g` are the gradients that the rule got.
    fn refuse_twice<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = list)] grads: Vec<Option<Bound<'py, Var>>>,
        #[pyo3(from_py_with = list)] g: Vec<Bound<'py, Var>>,
        why: &str,
    ) -> PyResult<Vec<Option<Bound<'py, Var>>>> {
        let Some((Recorded { dialect, .. }, node)) = self.node() else { return Ok(grads) };
        let why = interned(why);
        let place = |edge: &Edge| Tensor { edge: Some(edge.clone()), ..Tensor::scalar(0.0) };
        let mut ins: Vec<Tensor> = node.inputs.iter().flatten().map(place).collect();
        ins.extend(g.iter().map(|v| v.get().tensor()));
        let ins: Vec<&Tensor> = ins.iter().collect();
        let refusing = |v: Bound<'py, Var>| {
            let Tensor { array, levels, .. } = v.get().tensor();
            let op = OnceDifferentiable { name: node.name(), why };
            let (outs, site) = (std::slice::from_ref(&array), Site::current());
            let node = Node::of_op(Box::new(op), &ins, outs, &levels, site, |_| {});
            Var::result(py, Tensor::made(array, Some(Edge { node, out: 0 }), levels), *dialect)
        };
        grads.into_iter().map(|v| v.map(refusing).transpose()).collect()
    }

    /// For each output: a leaf of zeros in its shape, or None if it has no gradient.
    fn seeds<'py>(&self, py: Python<'py>) -> PyResult<Vec<Option<Bound<'py, Var>>>> {
        let Some((Recorded { dialect, .. }, node)) = self.node() else { return Ok(vec![]) };
        let seed = |meta: &Meta| {
            if meta.dtype.is_differentiable() {
                Var::result(py, Tensor::zeros_of(meta).leaf(), *dialect).map(Some)
            } else {
                Ok(None)
            }
        };
        node.outs.iter().map(seed).collect()
    }
}

impl FunctionCall {
    /// The call that a node records, which has saved this many arrays and none of its inputs and outputs.
    pub fn of_node(node: &Arc<Node>, saved: usize, dialect: Dialect) -> FunctionCall {
        let sources = (0..saved).map(|_| Source::Own(None, DetachReason::default())).collect();
        let recorded = Recorded { node: Arc::downgrade(node), sources, outputs: vec![], dialect };
        FunctionCall {
            inputs: Mutex::default(),
            host: Mutex::default(),
            before: Mutex::default(),
            recorded: OnceLock::from(recorded),
        }
    }

    fn node(&self) -> Option<(&Recorded, Arc<Node>)> {
        let recorded = self.recorded.get()?;
        Some((recorded, recorded.node.upgrade()?))
    }
}

/// One tensor that the function returned.
struct Out<'py> {
    object: Bound<'py, Var>,
    tensor: Tensor,
    role: OutputKind,
}

impl<'py> Out<'py> {
    fn new(object: Bound<'py, Var>, role: OutputKind) -> Out<'py> {
        let tensor = object.get().tensor();
        Out { object, tensor, role }
    }

    fn is_tracked(&self) -> bool {
        !matches!(self.role, OutputKind::Fixed | OutputKind::FixedAlias)
            && has_history(self.tensor.dtype(), self.object.get().dialect())
    }

    /// Notes if the function has returned a value that is differentiated and depends on no argument: in the place of its own
    /// history it gets that of the call.
    fn note_lost(&self, host: &HostCall) {
        if let Some(edge) = self.tensor.edge.as_ref().filter(|_| self.is_tracked())
            && let Some(by) = differentiated_by(edge)
            && host.stems_of(std::ptr::from_ref(self.object.get()).addr(), edge) == Stems::default()
        {
            host.note_lost(by);
        }
    }

    /// The tensor that the caller gets, with its place in the graph if it was recorded.
    fn result(self, py: Python<'py>, recorded: Option<Tensor>) -> PyResult<Bound<'py, Var>> {
        let dialect = self.object.get().dialect();
        let Some(new) = recorded else {
            return match self.role {
                OutputKind::Alias | OutputKind::FixedAlias => Var::result(py, self.tensor.detach(), dialect),
                OutputKind::Fixed if self.tensor.is_tracked() => {
                    Var::result(py, self.tensor.detach(), dialect)
                }
                _ => Ok(self.object),
            };
        };
        let mut state = self.object.get().lock();
        let old = match (&mut state.value, self.role) {
            (_, OutputKind::Written) => state.assign(&new, true).or_raise()?,
            // A result with a history of its own keeps it, and so does a view.
            (Value::Own(t), OutputKind::Result) if is_new(&t.edge, &new.edge) => {
                OldEdge(std::mem::replace(t, new).edge)
            }
            (Value::Shared(p), OutputKind::Result)
                if p.base.is_none()
                    && !p.layout.overlaps()
                    && is_new(p.last_edge(), &new.edge)
                    && new.levels == self.tensor.levels =>
            {
                p.restart(new.edge)
            }
            _ => {
                drop(state);
                return Var::result(py, new, dialect);
            }
        };
        drop(state);
        drop(old);
        track(&self.object);
        Ok(self.object)
    }
}

/// Whether an output of this dtype has a history where the call is recorded.
fn has_history(dtype: DType, dialect: Dialect) -> bool {
    dtype.is_differentiable() || dialect.tracks_integers()
}

/// Whether a result has no edge yet, or that of this call.
fn is_new(edge: &Option<Edge>, call: &Option<Edge>) -> bool {
    match (edge, call) {
        (Some(edge), Some(call)) => Arc::ptr_eq(&edge.node, &call.node),
        (edge, _) => edge.is_none(),
    }
}

/// Refuses a call whose function has read a value that is differentiated and no argument.
fn check_not_lost(py: Python<'_>, name: &str, host: &HostCall) -> PyResult<()> {
    let Some(by) = host.lost() else { return Ok(()) };
    let text = format!(
        "{name}: forward reads a Tensor that is none of its arguments and that {by} differentiates, and the derivative \
         would be lost. Make it an argument; detach() it before if it is meant as a constant"
    );
    Err(raise(py, "UnusedInputError", text))
}

/// Finds where the edge of a saved tensor comes from: from an input that is as it was, from an output that is as it was
/// returned, or from neither.
fn source(object: &Bound<'_, Var>, saved: &Tensor, inputs: &[(Py<Var>, Tensor)], outs: &[Out<'_>]) -> Source {
    // A view makes a new array each time. A write since then would have moved it to another buffer.
    let same = |t: &Tensor| {
        let (own, kept) = (&t.array, &saved.array);
        let place = |a: &Array| (a.unsealed().ptr(), a.dtype(), a.layout());
        own.shares_memory(kept) && place(own) == place(kept)
    };
    if let Some(i) = inputs.iter().position(|(x, t)| x.is(object) && same(t)) {
        return Source::Input(i);
    }
    match outs.iter().position(|o| o.object.is(object) && same(&o.tensor)) {
        Some(i) if outs[i].is_tracked() => Source::Output(i),
        Some(_) => Source::Own(None, DetachReason::default()),
        None => Source::Own(saved.edge.clone(), saved.detach_reason),
    }
}

/// The tensor's array over the batches of all `levels`.
fn over(t: &Tensor, levels: &Levels) -> Array {
    if t.levels == *levels {
        return t.array.clone();
    }
    let dims: Dims = levels.as_slice().iter().map(|l| l.batch_size).chain(t.dims().iter().copied()).collect();
    align(t, levels).expand(&dims, levels.len())
}

/// A tensor of the same value and history. Later writes to `x` do not change it.
#[pyfunction]
fn copy_of<'py>(py: Python<'py>, x: &Bound<'py, Var>) -> PyResult<Bound<'py, Var>> {
    stack::check().or_raise()?;
    Var::result(py, x.get().tensor(), x.get().dialect())
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<FunctionCall>()?;
    m.add_function(wrap_pyfunction!(copy_of, m)?)
}
