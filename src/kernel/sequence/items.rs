//! What a sequence consists of.

use std::ops::Range;

use super::arrays::{Arrays, Out};
use crate::error::Result;
use crate::kernel::par::SendPtr;
use crate::kernel::pointwise::cluster::Cluster;

/// A computation from operands whose layouts were known when it was made.
pub trait Kernel: Send + Sync {
    /// How many results it has.
    fn results(&self) -> usize {
        1
    }

    /// Which bytes it reads of an operand, counted from the first element.
    fn reach(&self, operand: usize) -> Range<isize>;

    /// How many bytes of memory it works in.
    fn room(&self) -> usize {
        0
    }

    /// Computes the results.
    ///
    /// # Errors
    /// If the numbers of an operand are not for it, such as an index outside its axis.
    ///
    /// # Safety
    /// `ins` are the addresses of the operands' first elements. `outs` have room for the results, and `room` as many bytes
    /// as [`room`](Kernel::room) says, aligned to a cache line. Nobody else uses them.
    unsafe fn run(&self, ins: &[SendPtr], outs: &[SendPtr], room: *mut u8) -> Result<()>;

    /// The kernel as one that runs many times at a time.
    fn times(&self) -> Option<&dyn Times> {
        None
    }
}

/// A kernel with one result that takes less time if it runs many times at a time.
pub trait Times {
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
            Part::Kernel(kernel) => kernel.reach(operand),
            Part::Arrays(arrays) => arrays.reach(operand),
        }
    }

    /// How many bytes of memory it works in.
    pub(super) fn room(&self) -> usize {
        match self {
            Part::Cluster(cluster) => cluster.room(),
            Part::Kernel(kernel) => kernel.room(),
            Part::Arrays(_) => 0,
        }
    }

    /// Whether it makes results of these sizes from so many operands.
    pub(super) fn is_for(&self, ins: usize, outs: &[Out]) -> bool {
        match self {
            Part::Cluster(cluster) => {
                cluster.reads() == ins && cluster.result_bytes().eq(outs.iter().map(Out::bytes))
            }
            Part::Kernel(kernel) => outs.len() == kernel.results(),
            Part::Arrays(arrays) => arrays.is_for(ins, outs),
        }
    }
}
