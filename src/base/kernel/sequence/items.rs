//! What a sequence consists of.

use std::ops::Range;

use smallvec::SmallVec;

use super::arrays::{Arrays, Out};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernel::par::SendPtr;
use crate::kernel::pointwise::cluster::{Cluster, ScalarProgram};
use crate::shape;

/// By result: its dtype and its number of elements.
pub type Writes = SmallVec<[(DType, usize); 1]>;

/// A computation from operands whose layouts were known when it was made.
///
/// # Safety
/// [`run`](Kernel::run) reads of the operands what [`reach`](Kernel::reach) says, and writes the results that
/// [`writes`](Kernel::writes) says, and touches no other memory but its [`scratch`](Kernel::scratch). A sequence compares what these
/// say with what it has, once, when it is made.
pub unsafe trait Kernel: Send + Sync {
    /// What it writes: the dtype and the number of elements of each result, which lie one after the other.
    fn writes(&self) -> Writes;

    /// Which bytes it reads of an operand, counted from the first element.
    fn reach(&self, operand: usize) -> Range<isize>;

    /// How many bytes of scratch memory it needs.
    fn scratch(&self) -> usize {
        0
    }

    /// Computes the results.
    ///
    /// # Errors
    /// If the numbers of an operand are not for it, such as an index outside its axis.
    ///
    /// # Safety
    /// `ins` are the addresses of the operands' first elements, each with the bytes that [`reach`](Kernel::reach) says. `outs` have
    /// room for what [`writes`](Kernel::writes) says, and `scratch` has as many bytes as [`scratch`](Kernel::scratch) says, aligned to
    /// a cache line. Nobody else uses them.
    unsafe fn run(&self, ins: &[SendPtr], outs: &[SendPtr], scratch: *mut u8) -> Result<()>;

    /// The kernel as one that runs many times at a time.
    fn times(&self) -> Option<&dyn Times> {
        None
    }
}

/// A kernel with one result that takes less time if it runs many times at a time.
///
/// # Safety
/// As [`Kernel`], each time.
pub unsafe trait Times {
    /// Runs the kernel `times` times. From one time to the next, each operand and the result move on by its number of bytes.
    ///
    /// # Errors
    /// As [`run`](Kernel::run).
    ///
    /// # Safety
    /// As [`run`](Kernel::run), each time.
    unsafe fn run_times(&self, times: usize, ins: &[(SendPtr, isize)], out: (SendPtr, isize)) -> Result<()>;
}

/// How results are computed.
pub enum Part {
    Cluster(Box<Cluster>),
    Scalars(Box<ScalarProgram>),
    Kernel(Box<dyn Kernel>),
    Arrays(Arrays),
}

/// Where an operand lies: in an array that the sequence reads, or in a result, which are numbered in the order in which they
/// are made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    Read(usize),
    Made(usize),
}

/// A computation in a sequence.
pub struct Item {
    pub part: Part,
    /// The operands, each with the number of bytes from the beginning of its source.
    pub ins: Vec<(Source, isize)>,
    pub outs: Vec<Out>,
}

impl Part {
    /// Which bytes are read of an operand, counted from its first element.
    pub(super) fn reach(&self, operand: usize) -> Range<isize> {
        match self {
            Part::Cluster(cluster) => cluster.reach(operand),
            Part::Scalars(program) => program.reach(operand),
            Part::Kernel(kernel) => kernel.reach(operand),
            Part::Arrays(arrays) => arrays.reach(operand),
        }
    }

    /// How many bytes of scratch memory it needs.
    pub(super) fn scratch(&self) -> usize {
        match self {
            Part::Cluster(cluster) => cluster.room(),
            Part::Scalars(program) => program.room(),
            Part::Kernel(kernel) => kernel.scratch(),
            Part::Arrays(_) => 0,
        }
    }

    /// Whether it makes these results, and no others, from so many operands.
    pub(super) fn is_for(&self, ins: usize, outs: &[Out]) -> bool {
        match self {
            Part::Cluster(cluster) => {
                cluster.reads() == ins && cluster.result_bytes().eq(outs.iter().map(Out::bytes))
            }
            Part::Scalars(program) => {
                program.loads.len() == ins && program.results.iter().copied().eq(outs.iter().map(Out::bytes))
            }
            Part::Kernel(kernel) => {
                kernel.writes().into_iter().eq(outs.iter().map(|out| (out.dtype, shape::len(&out.dims))))
            }
            Part::Arrays(arrays) => arrays.ins.len() == ins,
        }
    }
}
