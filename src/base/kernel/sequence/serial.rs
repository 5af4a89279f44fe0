//! The steps of a loop one after the other. All of them use the same memory; only the addresses of rows move on.

use std::ops::Range;

use smallvec::SmallVec;

use super::items::Part;
use super::run::{Address, Failure, Few, Lists, Sequence};
use super::steps::{From, Out, Steps, Strided, bytes_of};
use crate::array::{Array, Unwritten};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernel::interrupt;
use crate::kernel::par::SendPtr;
use crate::kernel::pointwise::cluster::{ALIGNMENT, copy_number};
use crate::memory::NoMemory;

/// After so many steps a loop looks for an interrupt.
const STRETCH: usize = 256;

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

/// Bytes that each step copies.
#[derive(Clone, Copy)]
struct Move {
    from: Strided,
    to: Strided,
    bytes: usize,
}

/// Copies what step `t` copies.
///
/// # Safety
/// In that step the bytes can be read and written, and nobody else uses those that are written.
#[inline(never)]
unsafe fn copy(moves: &[Move], t: usize) {
    for m in moves {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe { copy_number(m.from.at(t), m.to.at(t), m.bytes) };
    }
}

/// What each step copies besides what its items do, and the columns that it copies to.
#[derive(Default)]
struct Moves {
    before: Vec<Move>,
    after: Vec<Move>,
    columns: Vec<Unwritten>,
}

impl Moves {
    /// The rows of a new column.
    ///
    /// # Errors
    /// For want of memory.
    fn column(&mut self, steps: &Steps<'_>, dtype: DType, dims: &[usize]) -> Result<Strided> {
        let (column, rows) = steps.column(dtype, dims)?;
        self.columns.push(column);
        Ok(rows)
    }
}

/// The operands of an item that lie elsewhere in the next step, each with how far.
struct Moving(Vec<(usize, isize)>);

impl Moving {
    /// Those whose base is so far away from that of the step before.
    fn new(operands: &[Address], apart: impl Fn(u32) -> isize) -> Moving {
        let all = operands.iter().enumerate().map(|(k, a)| (k, apart(a.base)));
        Moving(all.filter(|(_, step)| *step != 0).collect())
    }

    /// Makes the addresses of a step those of the next one.
    fn go_on(&self, Lists { ins, all, .. }: &mut Lists) {
        for &(k, step) in &self.0 {
            match all {
                Some(all) => all.move_on(k, step),
                None => ins[k] = SendPtr(ins[k].get().wrapping_offset(step)),
            }
        }
    }
}

/// A loop that runs.
struct Run<'a> {
    sequence: &'a Sequence,
    given: &'a [&'a Array],
    steps: &'a Steps<'a>,
    memory: Memory,
    /// By what the sequence reads: where it lies.
    reads: Vec<Strided>,
}

impl<'a> Run<'a> {
    /// A loop before its first step.
    ///
    /// # Errors
    /// For want of memory.
    ///
    /// # Panics
    /// If an array is too small for what is read of it.
    fn new(sequence: &'a Sequence, given: &'a [&'a Array], steps: &'a Steps<'a>) -> Result<Run<'a>> {
        let memory = Memory::new(sequence, given, steps)?;
        for (x, &to) in given.iter().zip(memory.carries()) {
            // SAFETY: the array is contiguous and has as many bytes, for which the carry has room.
            unsafe { to.copy_from_nonoverlapping(x.ptr(), bytes_of(x)) };
        }
        let mut run = Run { sequence, given, steps, memory, reads: vec![] };
        let pairs = sequence.reads.iter().zip(steps.reads);
        run.reads = pairs.map(|(range, &g)| run.source(g, range.clone())).collect();
        Ok(run)
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

    /// What the steps copy: rows of results, and the next carries.
    ///
    /// # Errors
    /// For want of memory.
    ///
    /// # Panics
    /// If an array that a step makes leaves the memory that it lies in, or a carry is not like the last one.
    fn moves(&self) -> Result<Moves> {
        let Run { given, steps, memory, .. } = self;
        let (carries, state) = (steps.carries, memory.carries());
        let mut moves = Moves::default();
        let mut next: Vec<Move> = vec![];
        let mut copies = memory.copies().iter();
        for (k, out) in steps.outs.iter().enumerate() {
            let bytes = out.bytes();
            let to = match state.get(k) {
                Some(&carry) => Strided::fixed(carry),
                None => moves.column(steps, out.dtype, &out.dims)?,
            };
            assert!(k >= carries || bytes == bytes_of(given[k]), "the next carry is like the last one");
            let moved = Move { from: self.made(out), to, bytes };
            match out.from {
                // The carry stays as it is.
                From::Given(g) if g == k && k < carries && out.start == 0 => {}
                // The value of another carry before the step, which may have its next value when this one gets it.
                From::Given(g) if g < carries && k < carries => {
                    let copy = Strided::fixed(*copies.next().expect("each has its place"));
                    moves.before.push(Move { to: copy, ..moved });
                    next.push(Move { from: copy, ..moved });
                }
                From::Given(g) if g < carries => moves.before.push(moved),
                _ if k < carries => next.push(moved),
                _ => moves.after.push(moved),
            }
        }
        for (x, &carry) in given.iter().zip(state).filter(|_| steps.keeps) {
            let to = moves.column(steps, x.dtype(), x.dims())?;
            moves.before.push(Move { from: Strided::fixed(carry), to, bytes: bytes_of(x) });
        }
        moves.after.append(&mut next);
        Ok(moves)
    }

    /// The items with their addresses in the first step, and what changes from step to step. `scratch` is the scratch memory.
    fn items(&self, scratch: SendPtr) -> Vec<(Lists, Moving)> {
        let mut bases: SmallVec<[SendPtr; 16]> = SmallVec::new();
        bases.push(scratch);
        bases.extend(self.reads.iter().map(|read| SendPtr(read.first)));
        bases.extend(self.memory.owns().iter().map(|&w| SendPtr(w)));
        // By base: how far the next step reads from there.
        let apart = |base: u32| {
            let read = (base as usize).checked_sub(1).and_then(|r| self.reads.get(r));
            read.map_or(0, |read| read.step)
        };
        let mut items = vec![];
        for placed in &self.sequence.items {
            let mut lists = Lists::default();
            placed.addresses(&bases, &mut lists);
            if let Part::Cluster(cluster) = &placed.item.part {
                let own = scratch.get().wrapping_add(placed.scratch);
                lists.all = cluster.addresses_of(&lists.ins, &lists.outs, own);
            }
            items.push((lists, Moving::new(&placed.ins, apart)));
        }
        items
    }

    /// Runs all steps. False if a result has another layout in some step.
    ///
    /// # Errors
    /// Those of kernels and of functions of arrays, and if the loop is interrupted.
    fn run(
        &self,
        moves: &Moves,
        scratch: SendPtr,
        mut done: Option<&mut dyn FnMut(usize)>,
    ) -> std::result::Result<bool, Failure> {
        let Run { sequence, given, steps, .. } = *self;
        let is_whole = |g: usize| g >= steps.carries + steps.columns;
        let whole = |r: usize| given.get(steps.reads[r]).filter(|_| is_whole(steps.reads[r])).copied();
        let mut items = self.items(scratch);
        for t in 0..steps.length {
            if t % STRETCH == STRETCH - 1 {
                interrupt::check().map_err(Failure::first)?;
            }
            // SAFETY: `made` and `column` checked or made the memory of all steps, of which this is one. These moves go from a carry
            // to a result or to a copy.
            unsafe { copy(&moves.before, t) };
            for (i, (lists, moving)) in items.iter_mut().enumerate() {
                // SAFETY: the addresses are those of what the sequence reads and of room for what it writes, in memory of this
                // run or of arrays that outlive it. `source` checked the bounds of what is read, and `Sequence::new` those of
                // results. The scratch memory is that of the sequence.
                if !unsafe { sequence.run_item(i, lists, scratch, whole)? } {
                    return Ok(false);
                }
                moving.go_on(lists);
                if let Some(done) = &mut done {
                    done(i);
                }
            }
            // SAFETY: as before the items, but these go from a copy, or from what is given or written, to a carry or to a result.
            unsafe { copy(&moves.after, t) };
        }
        Ok(true)
    }

    /// The carries as arrays.
    ///
    /// # Errors
    /// For want of memory.
    fn carries(&self) -> Result<Vec<Array>> {
        let mut all = vec![];
        for (x, &from) in self.given.iter().zip(self.memory.carries()) {
            let mut z = Array::unwritten(self.steps.op, x.dtype(), x.dims())?;
            // SAFETY: the new array has as many bytes as the carry.
            unsafe { z.ptr().copy_from_nonoverlapping(from, bytes_of(x)) };
            all.push(z.written());
        }
        Ok(all)
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
        let run = Run::new(self, given, steps).map_err(Failure::first)?;
        let moves = run.moves().map_err(Failure::first)?;
        let mut few = Few::new();
        let mut many = self.many().map_err(Failure::first)?;
        let scratch = SendPtr(many.as_mut().map_or_else(|| few.scratch_for(self), Unwritten::ptr));
        if !run.run(&moves, scratch, done)? {
            return Ok(None);
        }
        let mut results = run.carries().map_err(Failure::first)?;
        results.extend(moves.columns.into_iter().map(Unwritten::written));
        Ok(Some(results))
    }
}
