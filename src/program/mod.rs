//! Programs: a trace that runs again with other numbers, without the host language and without a graph. The bits of
//! its results are those of the ops applied one by one.

mod beside;
mod build;
mod columns;
mod compile;
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
mod sequences;
mod unroll;
mod way;

use std::cell::Cell;
use std::time::Instant;

use smallvec::{SmallVec, smallvec};

use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::computed;
use crate::graph::site::Site;
use crate::graph::watch;
use crate::kernel::interrupt;
use crate::kernel::sequence::Failure;
pub use drawn::{Drawn, DrawnNode, Source};
pub use explained::Pass;
use parts::{Applied, Group, Id, Made, Origin, Step, Value, Work};
pub use saved::{SavedProgram, TensorKind};

/// A list of ops and clusters of ops that computes outputs from inputs.
pub struct Program {
    inputs: usize,
    values: Vec<Value>,
    /// In the order of the trace. What runs is `work`.
    steps: Vec<Step>,
    work: Vec<Work>,
    outputs: Vec<Id>,
    /// By value: where a run keeps it, if it does.
    slots: Vec<u32>,
    /// How many values a run keeps.
    kept: usize,
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

/// How much work is done between two looks for an interrupt.
const STRETCH: usize = 256;

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
        let mut slots: SmallVec<[Option<Array>; 16]> = smallvec![None; self.kept];
        assert_eq!(inputs.len(), self.inputs, "a program gets as many inputs as its trace");
        for (id, x) in inputs.iter().enumerate() {
            if !self.fits(id as Id, x) {
                return Ok(Err(Misfit::Layout));
            }
            slots[self.slots[id] as usize] = Some(x.clone());
        }
        let watches = watch::profiles();
        for (i, work) in self.work.iter().enumerate() {
            if i % STRETCH == STRETCH - 1 {
                interrupt::check().inspect_err(|_| FAILED.set(work.ops().last()))?;
            }
            match work {
                Work::Op(step) => {
                    let start = watches.then(Instant::now);
                    let ins: SmallVec<[Array; 4]> =
                        step.ins.iter().map(|&id| self.read(&slots, id)).collect();
                    let refs: SmallVec<[&Array; 4]> = ins.iter().collect();
                    let outs = computed(&*step.op, &refs, step.batch_ndim)
                        .inspect_err(|_| FAILED.set(Some((step.op.name(), step.site))))?;
                    for (&id, mut out) in step.outs.iter().zip(outs) {
                        if !self.fits(id, &out) {
                            // The trace may have given it memory of its own.
                            out = out.packed()?;
                        }
                        if !self.fits(id, &out) {
                            let is_decision = step.op.decides();
                            return Ok(Err(if is_decision { Misfit::Decision } else { Misfit::Layout }));
                        }
                        slots[self.slots[id as usize] as usize] = Some(out);
                    }
                    if let Some(start) = start {
                        self.count(&step.outs, work.ops(), start);
                    }
                }
                Work::Sequence(group) => {
                    let arrays: SmallVec<[&Array; 8]> =
                        group.reads.iter().map(|&id| self.whole(&slots, id)).collect();
                    let made = self.watched(group, watches, |done| group.sequence.run(&arrays, done))?;
                    drop(arrays);
                    let Some(made) = made else { return Ok(Err(Misfit::Layout)) };
                    for (&id, array) in group.writes.iter().zip(made) {
                        slots[self.slots[id as usize] as usize] = Some(array);
                    }
                }
            }
            for &id in work.last() {
                slots[self.slots[id as usize] as usize] = None;
            }
        }
        Ok(Ok(self.outputs.iter().map(|&id| self.read(&slots, id)).collect()))
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

    /// The array of a value that is no view.
    fn whole<'a>(&'a self, slots: &'a [Option<Array>], id: Id) -> &'a Array {
        match &self.values[id as usize].origin {
            Origin::Constant(array) => array,
            _ => slots[self.slots[id as usize] as usize]
                .as_ref()
                .expect("something made it, and nothing later reads it"),
        }
    }

    fn read(&self, slots: &[Option<Array>], id: Id) -> Array {
        let value = &self.values[id as usize];
        let Origin::View { of, offset } = value.origin else { return self.whole(slots, id).clone() };
        let whole = self.whole(slots, of);
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

    /// Runs a sequence. Adds what its items cost to the profile of this thread, if there is one, and notes the op that fails.
    fn watched<T>(
        &self,
        group: &Group,
        watches: bool,
        run: impl FnOnce(Option<&mut dyn FnMut(usize)>) -> std::result::Result<T, Failure>,
    ) -> Result<T> {
        let result = if watches {
            let mut start = Instant::now();
            run(Some(&mut |i: usize| {
                let Made { outs, ops } = &group.items[i];
                self.count(outs, ops.iter().map(Applied::named), start);
                start = Instant::now();
            }))
        } else {
            run(None)
        };
        result.map_err(|Failure { item, error }| {
            FAILED.set(group.items[item].ops.last().map(Applied::named));
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
        let items = |work: &Work| match work {
            Work::Op(_) => 1,
            Work::Sequence(group) => group.items.len(),
        };
        self.work.iter().map(items).sum()
    }

    /// The most bytes of computed values, outputs among them, that a run keeps at a time.
    pub fn peak_bytes(&self) -> usize {
        let bytes = |id: &Id| {
            let value = &self.values[*id as usize];
            let is_made = matches!(value.origin, Origin::Made);
            if is_made { value.bytes() } else { 0 }
        };
        let (mut now, mut most) = (0usize, 0);
        for work in &self.work {
            now = work.outs().iter().fold(now, |sum, id| sum.saturating_add(bytes(id)));
            let own = match work {
                Work::Op(_) => 0,
                Work::Sequence(group) => group.sequence.most_bytes(),
            };
            most = most.max(now.saturating_add(own));
            now = work.last().iter().fold(now, |sum, id| sum.saturating_sub(bytes(id)));
        }
        most
    }
}
