//! Programs: a trace that runs again with other numbers, without the host language and without a graph. The bits of
//! its results are those of the ops applied one by one.

mod apart;
mod beside;
mod bound;
mod build;
mod compile;
mod costs;
mod drawn;
mod explained;
pub mod file;
mod gather;
mod hoisted;
mod lowered;
mod order;
mod outer;
mod parts;
mod plan;
mod repeated;
mod saved;
mod schedule;
mod way;

use std::cell::Cell;
use std::time::Instant;

use smallvec::SmallVec;

use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::site::Site;
use crate::graph::watch;
use crate::kernel::sequence::{Failure, Loop};
pub use drawn::{Drawn, DrawnNode, Source};
pub use explained::Pass;
use parts::{Applied, Id, Made, Origin, Schedule, Step, Value};
pub use saved::{SavedProgram, TensorKind};

/// A list of ops and clusters of ops that computes outputs from inputs.
pub struct Program {
    inputs: usize,
    values: Vec<Value>,
    /// In the order of the trace. What runs is `schedule`.
    steps: Vec<Step>,
    schedule: Schedule,
    /// Its sequence as the steps of loops. None if a step decides, or stays in order.
    repeated: Option<Loop>,
    outputs: Vec<Id>,
    /// By output: the result of the schedule that it lies in, if it lies in one.
    places: Vec<Option<usize>>,
    is_short: bool,
    /// Whether a file said what its ops are.
    is_from_file: bool,
    counts: Counts,
}

/// How many ops a program had at each stage of its making.
#[derive(Clone, Copy)]
pub struct Counts {
    /// Those of the trace.
    pub recorded: usize,
    /// Those that are no views, equal to no earlier one, and depend on more than constants.
    pub distinct: usize,
    /// Those that an output depends on.
    pub needed: usize,
}

thread_local! {
    /// The op that failed last in a program on this thread, and the line that applied it.
    static FAILED: Cell<Option<(&'static str, Site)>> = const { Cell::new(None) };
}

/// The op that failed in a program on this thread since this was last called, and the line that applied it.
pub fn take_failed() -> Option<(&'static str, Site)> {
    FAILED.take()
}

/// Why a program is not for its inputs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Misfit {
    /// An op [decides](crate::graph::Op::decides) on another number than in the trace.
    Decision,
    /// Another value has another layout than in the trace: an input, or one whose shape depends on numbers.
    Layout,
}

impl Program {
    /// Computes the outputs. None where the program is not for the inputs: see [`Misfit`].
    ///
    /// # Errors
    /// Those of the ops.
    pub fn run(&self, inputs: &[Array]) -> Result<Option<Vec<Array>>> {
        Ok(self.attempt(inputs)?.ok())
    }

    /// [`Program::run`] that says why there are no outputs.
    ///
    /// # Errors
    /// Those of the ops.
    pub fn attempt(&self, inputs: &[Array]) -> Result<Result<Vec<Array>, Misfit>> {
        if !self.is_from_file {
            return self.run_steps(inputs);
        }
        // Where a file says what no trace says, an op may find that out by a panic.
        Error::catch(|| self.run_steps(inputs)).map_err(|error| match *error {
            Error::Internal(_) => {
                Box::new(Error::ProgramFile("the file says what no op can compute".to_owned()))
            }
            _ => error,
        })
    }

    fn run_steps(&self, inputs: &[Array]) -> Result<Result<Vec<Array>, Misfit>> {
        assert_eq!(inputs.len(), self.inputs, "a program gets as many inputs as its trace");
        if !inputs.iter().enumerate().all(|(id, x)| self.fits(id as Id, x)) {
            return Ok(Err(Misfit::Layout));
        }
        let Schedule { sequence, reads, items, .. } = &self.schedule;
        let given = |id: Id| match &self.values[id as usize].origin {
            Origin::Constant(array) => array,
            _ => &inputs[id as usize],
        };
        let arrays: SmallVec<[&Array; 8]> = reads.iter().map(|&id| given(id)).collect();
        let made = match self.watched(watch::profiles(), |done| sequence.run(&arrays, done))? {
            Ok(made) => made,
            Err(item) => {
                let decides = items[item].ops.iter().any(|own| own.op.decides());
                return Ok(Err(if decides { Misfit::Decision } else { Misfit::Layout }));
            }
        };
        let output = |(&id, place): (&Id, &Option<usize>)| {
            let whole = || given(self.values[id as usize].whole(id));
            self.read(id, place.map_or_else(whole, |result| &made[result]))
        };
        Ok(Ok(self.outputs.iter().zip(&self.places).map(output).collect()))
    }

    /// Whether it was read from a file.
    pub fn is_from_file(&self) -> bool {
        self.is_from_file
    }

    /// How many inputs it has.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The dtype, shape and strides of an input.
    pub fn input(&self, k: usize) -> (DType, &[usize], &[isize]) {
        let value = &self.values[k];
        (value.dtype, &value.dims, &value.strides)
    }

    /// The dtype and shape of an output.
    pub fn output(&self, k: usize) -> (DType, &[usize]) {
        let value = &self.values[self.outputs[k] as usize];
        (value.dtype, &value.dims)
    }

    /// Whether an output is the same array in each run.
    pub fn gives_constant(&self, k: usize) -> bool {
        let id = self.values[self.outputs[k] as usize].whole(self.outputs[k]);
        matches!(self.values[id as usize].origin, Origin::Constant(_))
    }

    /// Whether an array can be an input.
    pub fn takes(&self, k: usize, x: &Array) -> bool {
        self.fits(k as Id, x)
    }

    /// How many bytes the constants take.
    pub fn constant_bytes(&self) -> usize {
        let bytes = |value: &Value| match &value.origin {
            Origin::Constant(x) => x.len().saturating_mul(x.dtype().size()),
            _ => 0,
        };
        self.values.iter().map(bytes).sum()
    }

    /// Whether a run takes so little time that nobody need know that it runs.
    pub fn is_short(&self) -> bool {
        self.is_short
    }

    /// Whether an array has the layout of a value in the trace.
    fn fits(&self, id: Id, x: &Array) -> bool {
        let value = &self.values[id as usize];
        x.dtype() == value.dtype && x.dims() == value.dims.as_slice() && x.has_strides(&value.strides)
    }

    /// A value, which lies in this array.
    fn read(&self, id: Id, whole: &Array) -> Array {
        let value = &self.values[id as usize];
        let Origin::View { offset, .. } = value.origin else { return whole.clone() };
        if whole.dtype() == value.dtype {
            whole.restride(&value.dims, &value.strides, offset)
        } else {
            whole.as_real().restride(&value.dims, &value.strides, offset)
        }
    }

    /// The shapes and dtypes of the outputs.
    pub fn outputs(&self) -> impl Iterator<Item = (&[usize], DType)> + '_ {
        self.outputs
            .iter()
            .map(|&id| &self.values[id as usize])
            .map(|value| (value.dims.as_slice(), value.dtype))
    }

    /// Runs the sequence. Adds what its items cost to the profile of this thread, if there is one, and notes the op that fails.
    fn watched<T>(
        &self,
        watches: bool,
        run: impl FnOnce(Option<&mut dyn FnMut(usize)>) -> std::result::Result<T, Failure>,
    ) -> Result<T> {
        let result = if watches {
            let mut start = Instant::now();
            run(Some(&mut |i: usize| {
                let Made { outs, ops } = &self.schedule.items[i];
                self.count(outs, ops.iter().map(Applied::named), start);
                start = Instant::now();
            }))
        } else {
            run(None)
        };
        result.map_err(|Failure { item, error }| {
            FAILED.set(self.schedule.items[item].ops.last().map(Applied::named));
            error
        })
    }

    /// Adds what has been done since `start` to the profile of this thread: to each of several ops the same share.
    #[cold]
    fn count(&self, made: &[Id], ops: impl DoubleEndedIterator<Item = (&'static str, Site)>, start: Instant) {
        let bytes = made.iter().map(|&id| self.values[id as usize].bytes());
        watch::count_together(ops, start, bytes.sum());
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// How many passes over memory it takes.
    pub fn passes(&self) -> usize {
        self.schedule.items.len()
    }

    /// The most bytes of computed values, outputs among them, that a run keeps at a time.
    pub fn peak_bytes(&self) -> usize {
        self.schedule.sequence.most_bytes()
    }
}
