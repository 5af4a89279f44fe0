//! Compiled programs: what they read, compute and return.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use smallvec::SmallVec;

use super::host::Source;
use crate::array::Layout;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::exception;
use crate::bind::python::gil::without_gil;
use crate::bind::value::storage::WeakPlace;
use crate::bind::value::var::Slot;
use crate::dtype::DType;
use crate::graph::site::Site;
use crate::program::{Pass, Program};
use crate::shape::{Dims, Strides};

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
    /// Elements of new memory, some of which are in several places of the output: the output of the program that is the
    /// output, and the one that is the memory.
    Expanded(usize, usize, Layout, Dialect),
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
    /// Whether a run draws random numbers.
    pub(super) draws: bool,
    /// Whether a run does nothing else than read tensors and make results.
    pub(super) only_reads: bool,
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
    /// The arguments that a run makes leaves.
    #[pyo3(get)]
    pub(super) becomes_leaf: Vec<usize>,
    /// Whether the function has made a tracked tensor untracked, if only for a while.
    #[pyo3(get)]
    pub(super) stops_tracking: bool,
}

/// A pass over memory for people: see [`Compiled::passes`].
type Described = (Vec<(&'static str, String, Option<String>)>, usize, usize, f64);

#[pymethods]
impl Compiled {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.hosts.iter().try_for_each(|source| source.visit(&visit))?;
        self.outputs.iter().try_for_each(|output| match output {
            Output::Object(object) => visit.call(object),
            _ => Ok(()),
        })
    }

    /// What the program, and the program for its gradients if there is one, cost. Each has three parts: how many ops the trace
    /// recorded, how many of them are distinct, and how many are needed; the passes over memory; and the most bytes that values
    /// take at a time.
    fn parts(&self) -> Vec<((usize, usize, usize), usize, usize)> {
        let cost = |program: &Arc<Program>| {
            let counts = program.counts();
            ((counts.recorded, counts.distinct, counts.needed), program.passes(), program.peak_bytes())
        };
        self.programs().map(cost).collect()
    }

    /// The passes over memory of the program, and of the program for its gradients if there is one. Each has three parts: its
    /// ops, of each the name, what it computes and the line that applied it; how many bytes of values it reads, and how many
    /// it writes; and the seconds that this machine takes at least.
    ///
    /// # Errors
    /// For want of memory to measure the machine.
    fn passes(&self, py: Python<'_>) -> PyResult<Vec<Vec<Described>>> {
        let line = |(name, text, site): (&'static str, String, Site)| (name, text, site.describe());
        let pass = |own: Pass| (own.ops.into_iter().map(line).collect(), own.read, own.written, own.least);
        let explained = |program: &Arc<Program>| without_gil(py, || program.explained());
        let passes = |passes: Vec<Pass>| passes.into_iter().map(pass).collect();
        self.programs().map(|program| explained(program).map(passes).map_err(exception)).collect()
    }

    /// How many tensors from outside the program reads, and how many values it writes back.
    #[getter]
    fn captured(&self) -> (usize, usize) {
        let outside = self.inputs.iter().filter(|i| matches!(i.source, Origin::Memory(_) | Origin::Grad(_)));
        (outside.count(), self.inputs.iter().filter(|i| i.written.is_some()).count())
    }
}

impl Compiled {
    fn programs(&self) -> impl Iterator<Item = &Arc<Program>> {
        std::iter::once(&self.forward).chain(&self.backward)
    }
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Compiled>()
}
