//! The steps of a loop one after the other. All of them use the same memory; only the addresses of rows move on.

use std::ops::Range;

use smallvec::SmallVec;

use super::blocks::{Blocks, Last, Task, Work};
use super::items::Part;
use super::run::{Address, Failure, Few, Lists, Sequence};
use super::steps::{From, Move, Out, Steps, Strided, bytes_of};
use crate::array::{Array, Unwritten};
use crate::error::Result;
use crate::kernel::par::SendPtr;
use crate::kernel::pointwise::cluster::ALIGNMENT;
use crate::memory::NoMemory;

/// A cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; ALIGNMENT]);

/// Memory of a loop, in which each place has cache lines of its own.
struct Memory {
    /// The places of the carries, then of the arrays that the sequence makes, and then of the copies of carries that become other
    /// carries.
    places: Vec<*mut u8>,
    carries: usize,
    owns: usize,
    /// What the places lie in.
    _lines: Vec<Line>,
}

impl Memory {
    /// Memory of zeros for these steps.
    ///
    /// # Errors
    /// For want of memory.
    fn new(sequence: &Sequence, given: &[&Array], steps: &Steps<'_>) -> Result<Memory> {
        let carries = steps.carries;
        let state = given[..carries].iter().map(|x| bytes_of(x));
        let made = sequence.owns.iter().copied();
        let becomes_another = |(k, out): &(usize, &Out)| match out.from {
            From::Given(g) => g < carries && (g != *k || out.start > 0),
            From::Result(_) => false,
        };
        let copied = steps.outs[..carries].iter().enumerate().filter(becomes_another);
        let copied = copied.map(|(_, out)| out.bytes());
        let sizes: Vec<usize> = state.chain(made).chain(copied).collect();
        let all: usize = sizes.iter().map(|&bytes| bytes.div_ceil(ALIGNMENT)).sum();
        let mut lines: Vec<Line> = Vec::new();
        lines.try_reserve_exact(all).map_err(NoMemory::from)?;
        lines.resize(all, Line([0; ALIGNMENT]));
        let mut at = lines.as_mut_ptr();
        let mut places: Vec<*mut u8> = vec![];
        for &bytes in &sizes {
            places.push(at.cast());
            at = at.wrapping_add(bytes.div_ceil(ALIGNMENT));
        }
        Ok(Memory { places, carries, owns: sequence.owns.len(), _lines: lines })
    }

    fn carries(&self) -> &[*mut u8] {
        &self.places[..self.carries]
    }

    fn owns(&self) -> &[*mut u8] {
        &self.places[self.carries..][..self.owns]
    }

    fn copies(&self) -> &[*mut u8] {
        &self.places[self.carries + self.owns..]
    }
}

/// Where the things of a step lie.
struct Places<'a> {
    sequence: &'a Sequence,
    given: &'a [&'a Array],
    steps: &'a Steps<'a>,
    memory: Memory,
    /// By what the sequence reads: where it lies.
    reads: Vec<Strided>,
}

impl<'a> Places<'a> {
    /// Those of a loop before its first step.
    ///
    /// # Errors
    /// For want of memory.
    ///
    /// # Panics
    /// If an array is too small for what is read of it.
    fn new(sequence: &'a Sequence, given: &'a [&'a Array], steps: &'a Steps<'a>) -> Result<Places<'a>> {
        let memory = Memory::new(sequence, given, steps)?;
        for (x, &to) in given.iter().zip(memory.carries()) {
            // SAFETY: the array is contiguous and has as many bytes, for which the carry has room.
            unsafe { to.copy_from_nonoverlapping(x.ptr(), bytes_of(x)) };
        }
        let mut places = Places { sequence, given, steps, memory, reads: vec![] };
        let pairs = sequence.reads.iter().zip(steps.reads);
        places.reads = pairs.map(|(range, &g)| places.source(g, range.clone())).collect();
        Ok(places)
    }

    /// Where array number `g` lies, of which these bytes are read.
    ///
    /// # Panics
    /// If it does not have them.
    fn source(&self, g: usize, range: Range<isize>) -> Strided {
        let Some(&carry) = self.memory.carries().get(g) else {
            return self.steps.source(self.given, g, range);
        };
        let bytes = bytes_of(self.given[g]) as isize;
        assert!(range.start >= 0 && range.end <= bytes, "a read leaves the carry");
        Strided::fixed(carry)
    }

    /// Where an array that a step makes lies after its items.
    ///
    /// # Panics
    /// If it leaves the memory that it lies in.
    fn made(&self, out: &Out) -> Strided {
        let end = out.start.checked_add(out.bytes()).expect("a read lies in memory");
        let whole = match out.from {
            From::Result(r) => {
                let own = self.sequence.results[r];
                assert!(end <= self.sequence.owns[own]);
                Strided::fixed(self.memory.owns()[own])
            }
            From::Given(g) => self.source(g, out.start as isize..end as isize),
        };
        whole.after(out.start as isize)
    }

    /// Adds to a loop what the steps copy: rows of results, and the next carries.
    ///
    /// # Errors
    /// For want of memory.
    ///
    /// # Panics
    /// If an array that a step makes leaves the memory that it lies in, or a carry is not like the last one.
    fn add_moves(&self, run: &mut Blocks<'_>) -> Result<()> {
        let Places { given, steps, memory, .. } = self;
        let (carries, state) = (steps.carries, memory.carries());
        let mut copies = memory.copies().iter();
        for (k, out) in steps.outs.iter().enumerate() {
            let bytes = out.bytes();
            let to = match state.get(k) {
                Some(&carry) => Strided::fixed(carry),
                None => run.column(out.dtype, &out.dims)?,
            };
            assert!(k >= carries || bytes == bytes_of(given[k]), "the next carry is like the last one");
            let moved = Move { from: self.made(out), to, bytes };
            match out.from {
                // The carry stays as it is.
                From::Given(g) if g == k && k < carries && out.start == 0 => {}
                // The value of another carry before the step, which may have its next value when this one gets it.
                From::Given(g) if g < carries && k < carries => {
                    let copy = Strided::fixed(*copies.next().expect("each has its place"));
                    run.before.push(Move { to: copy, ..moved });
                    run.next.push(Move { from: copy, ..moved });
                }
                From::Given(g) if g < carries => run.before.push(moved),
                _ if k < carries => run.next.push(moved),
                _ => run.after.push(moved),
            }
        }
        for (x, &carry) in given.iter().zip(state).filter(|_| steps.keeps) {
            let to = run.column(x.dtype(), x.dims())?;
            run.before.push(Move { from: Strided::fixed(carry), to, bytes: bytes_of(x) });
        }
        Ok(())
    }

    /// The items with their addresses in the first step, and what changes from step to step. `scratch` is the scratch memory.
    fn tasks(&self, scratch: SendPtr) -> Vec<Task<'a>> {
        let mut bases: SmallVec<[SendPtr; 16]> = SmallVec::new();
        bases.push(scratch);
        bases.extend(self.reads.iter().map(|read| SendPtr(read.first)));
        bases.extend(self.memory.owns().iter().map(|&w| SendPtr(w)));
        // By operand: how far the next step reads from there.
        let apart = |at: &Address| {
            let read = (at.base as usize).checked_sub(1).and_then(|r| self.reads.get(r));
            read.map_or(0, |read| read.apart)
        };
        let mut tasks = vec![];
        for (item, placed) in self.sequence.items.iter().enumerate() {
            let mut lists = Lists::default();
            placed.addresses(&bases, &mut lists);
            if let Part::Cluster(cluster) = &placed.item.part {
                let own = scratch.get().wrapping_add(placed.scratch);
                lists.all = cluster.addresses_of(&lists.ins, &lists.outs, own);
            }
            let moving = placed.ins.iter().map(apart).enumerate().filter(|(_, step)| *step != 0).collect();
            tasks.push(Task { work: Work::Item, item, lists, moving });
        }
        tasks
    }

    /// Where the carries lie after the last step.
    fn last(&self) -> impl Iterator<Item = Last> {
        let carries = self.given.iter().zip(self.memory.carries()).enumerate();
        carries.map(|(carry, (x, &from))| Last { carry, start: 0, from, bytes: bytes_of(x) })
    }
}

impl Sequence {
    /// Runs the steps of a loop, for which it is fit, one after the other: see [`Loop::run`](super::Loop::run).
    ///
    /// # Errors
    /// As there.
    pub(super) fn run_in_turn(
        &self,
        given: &[&Array],
        steps: &Steps<'_>,
        done: Option<&mut dyn FnMut(usize)>,
    ) -> std::result::Result<Option<Vec<Array>>, Failure> {
        let places = Places::new(self, given, steps).map_err(Failure::first)?;
        let mut few = Few::new();
        let mut many = self.many().map_err(Failure::first)?;
        let scratch = SendPtr(many.as_mut().map_or_else(|| few.scratch_for(self), Unwritten::ptr));
        let mut run = Blocks::new(self, given, steps, 1, scratch);
        places.add_moves(&mut run).map_err(Failure::first)?;
        run.tasks = places.tasks(scratch);
        // SAFETY: the addresses are those of what the sequence reads and of room for what it writes, in memory of this run or of
        // arrays that outlive it. `source` and `made` checked the bounds of what is read, and `Sequence::new` those of results. The
        // scratch memory is that of the sequence. What is copied before the items goes from a carry to a result or to a copy, and
        // what is copied after them from a copy, or from what is given or made, to a carry or a result. The memory has all carries.
        unsafe {
            if !run.run(done)? {
                return Ok(None);
            }
            run.finish(places.last()).map(Some).map_err(Failure::first)
        }
    }
}
