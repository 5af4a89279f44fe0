//! Sequences that run many times, each time with what the last one made: the steps of a loop.

use std::ops::Range;

use smallvec::SmallVec;

use super::items::{Part, Source};
use super::run::{Address, Failure, Few, Lists, Placed, Sequence};
use crate::array::{Array, Unwritten};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernel::interrupt;
use crate::kernel::par::SendPtr;
use crate::kernel::pointwise::cluster::{ALIGNMENT, copy_number};
use crate::memory::NoMemory;
use crate::shape::{self, Dims};

/// After so many steps a loop looks for an interrupt.
const STRETCH: usize = 256;

/// What the steps of a loop read and make. They read a carry, a row of each column, and other arrays, in this order.
pub struct Steps<'a> {
    pub op: &'static str,
    pub carries: usize,
    pub columns: usize,
    pub length: usize,
    /// Whether the last row comes first.
    pub reverse: bool,
    /// Whether the carries before each step are results too.
    pub keeps: bool,
    /// By what the sequence reads: the number of the array that has it.
    pub reads: &'a [usize],
    /// The next carry, and then a row of each result.
    pub outs: &'a [Out],
}

/// An array that a step makes.
pub struct Out {
    pub from: From,
    /// How many bytes after the beginning of that the array begins.
    pub start: usize,
    pub dtype: DType,
    pub dims: Dims,
}

/// Where an array that a step makes lies.
#[derive(Clone, Copy, PartialEq)]
pub enum From {
    /// In a result of the sequence.
    Write(usize),
    /// In an array that is given.
    Given(usize),
}

/// The most bytes that are copied for a function of arrays.
const LARGE: usize = 32 << 10;

/// A cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; ALIGNMENT]);

/// Bytes that a step copies. In each step the addresses move on.
#[derive(Clone, Copy)]
struct Move {
    from: *const u8,
    from_step: isize,
    to: *mut u8,
    to_step: isize,
    bytes: usize,
}

/// Copies what step `t` copies.
///
/// # Safety
/// In that step the bytes can be read and written, and nobody else uses those that are written.
#[inline(never)]
unsafe fn copy(moves: &[Move], t: usize) {
    let t = t as isize;
    for m in moves {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe { copy_number(m.from.offset(m.from_step * t), m.to.offset(m.to_step * t), m.bytes) };
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

/// The bytes of a contiguous array.
pub(super) fn bytes_of(x: &Array) -> usize {
    x.len() * x.dtype().size()
}

impl Steps<'_> {
    /// Of an array with a row of so many bytes for each step: how many bytes after its beginning the row of the first step
    /// begins, and how far the next step's row is from there.
    pub(super) fn rows(&self, row: usize) -> (isize, isize) {
        let row = row as isize;
        if self.reverse { (row * (self.length as isize - 1), -row) } else { (0, row) }
    }

    /// A new array with a row for each step, the address of the row of the first step, and how far the next one is from there.
    ///
    /// # Errors
    /// For want of memory.
    pub(super) fn column(&self, dtype: DType, dims: &[usize]) -> Result<(Unwritten, *mut u8, isize)> {
        let all: Dims = std::iter::once(self.length).chain(dims.iter().copied()).collect();
        let mut column = Array::unwritten(self.op, dtype, &all)?;
        let (begin, step) = self.rows(shape::len(dims) * dtype.size());
        let first = column.ptr().wrapping_offset(begin);
        Ok((column, first, step))
    }
}

impl Out {
    pub(super) fn bytes(&self) -> usize {
        shape::len(&self.dims) * self.dtype.size()
    }
}

impl Sequence {
    /// Whether the sequence can run as these steps of a loop.
    ///
    /// # Panics
    /// If a carry or a column is not contiguous.
    pub(super) fn fits(&self, given: &[&Array], steps: &Steps<'_>) -> bool {
        let Steps { carries, columns, length, .. } = *steps;
        let rows = carries..carries + columns;
        // Functions of arrays get copies of what lies in a carry or a row.
        let is_large = |&(source, _): &(Source, isize)| match source {
            Source::Read(r) => steps.reads[r] < rows.end && self.reads[r].len() > LARGE,
            Source::Made(_) => false,
        };
        let is_of_arrays = |placed: &&Placed| matches!(placed.item.part, Part::Arrays(_));
        if length == 0
            || self.items.iter().filter(is_of_arrays).any(|placed| placed.item.ins.iter().any(is_large))
        {
            return false;
        }
        assert!(given[..rows.end].iter().all(|x| x.is_contiguous()) && steps.reads.len() == self.reads.len());
        assert!(given[rows].iter().all(|x| x.dims().first() == Some(&length)));
        true
    }

    /// Runs the steps of a loop, for which it is fit, one after the other: see [`Loop::run`](super::Loop::run).
    ///
    /// # Errors
    /// As there.
    pub(super) fn in_turn(
        &self,
        given: &[&Array],
        steps: &Steps<'_>,
        mut done: Option<&mut dyn FnMut(usize)>,
    ) -> std::result::Result<Option<Vec<Array>>, Failure> {
        let first = |error| Failure { item: 0, error };
        let Steps { op, carries, columns, length, .. } = *steps;
        let (carry, rows) = (&given[..carries], carries..carries + columns);
        // Memory of the carry and of what the sequence writes, each in lines of its own.
        let written = self.writes.iter().map(|w| w.bytes);
        // A step keeps a copy of a carry that becomes another carry.
        let is_kept = |(k, out): &(usize, &Out)| match out.from {
            From::Given(g) => g < carries && (g != *k || out.start > 0),
            From::Write(_) => false,
        };
        let kept = steps.outs[..carries].iter().enumerate().filter(is_kept).map(|(_, out)| out.bytes());
        let sizes: Vec<usize> = carry.iter().map(|x| bytes_of(x)).chain(written).chain(kept).collect();
        let all: usize = sizes.iter().map(|&bytes| bytes.div_ceil(ALIGNMENT)).sum();
        let mut memory: Vec<Line> = Vec::new();
        memory.try_reserve_exact(all).map_err(|error| first(NoMemory::from(error).into()))?;
        memory.resize(all, Line([0; ALIGNMENT]));
        let mut at = memory.as_mut_ptr();
        let mut places: Vec<*mut u8> = vec![];
        for &bytes in &sizes {
            places.push(at.cast());
            at = at.wrapping_add(bytes.div_ceil(ALIGNMENT));
        }
        let (state, writes) = places.split_at(carries);
        let (writes, kept) = writes.split_at(self.writes.len());
        let mut kept = kept.iter();

        // The address of an array that the first step reads, and how far the next step reads from there. The bytes of the range,
        // counted from that address, are read.
        let source = |g: usize, range: Range<isize>| -> (*const u8, isize) {
            let is_inside = |most: usize| range.start >= 0 && range.end <= most as isize;
            if g < carries {
                assert!(is_inside(sizes[g]), "a read leaves the carry");
                return (state[g], 0);
            }
            if range.is_empty() {
                return (given[g].ptr(), 0);
            }
            if !rows.contains(&g) {
                return (given[g].bytes(0, range.start.min(0)..range.end.max(1)), 0);
            }
            assert!(is_inside(bytes_of(given[g]) / length), "a read leaves the row");
            let (begin, step) = steps.rows(bytes_of(given[g]) / length);
            let all = begin.min(begin + step * (length as isize - 1))..bytes_of(given[g]) as isize;
            (given[g].bytes(begin, all), step)
        };
        let pairs = self.reads.iter().zip(steps.reads);
        let reads: Vec<(*const u8, isize)> = pairs.map(|(range, &g)| source(g, range.clone())).collect();

        let mut made: Vec<Unwritten> = vec![];
        let mut before: Vec<Move> = vec![];
        let mut after: Vec<Move> = vec![];
        let mut column = |dtype: DType, dims: &[usize]| -> std::result::Result<(*mut u8, isize), Failure> {
            let (z, to, step) = steps.column(dtype, dims).map_err(first)?;
            made.push(z);
            Ok((to, step))
        };
        let mut next: Vec<Move> = vec![];
        for (k, out) in steps.outs.iter().enumerate() {
            let (to, to_step) = if k < carries { (state[k], 0) } else { column(out.dtype, &out.dims)? };
            assert!(k >= carries || out.bytes() == sizes[k], "the next carry is like the last one");
            let bytes = out.bytes();
            let (from, from_step) = match out.from {
                From::Write(w) => {
                    assert!(out.start.checked_add(bytes).is_some_and(|end| end <= sizes[carries + w]));
                    (writes[w].wrapping_add(out.start).cast_const(), 0)
                }
                From::Given(g) => {
                    let end = out.start.checked_add(bytes).expect("a read lies in memory");
                    let (x, step) = source(g, out.start as isize..end as isize);
                    (x.wrapping_add(out.start), step)
                }
            };
            let moved = Move { from, from_step, to, to_step, bytes };
            match out.from {
                // It stays as it is.
                From::Given(g) if g == k && out.start == 0 => {}
                // The carry before the step.
                From::Given(g) if g.max(k) < carries => {
                    let &place = kept.next().expect("each has its place");
                    before.push(Move { to: place, ..moved });
                    next.push(Move { from: place, from_step: 0, ..moved });
                }
                From::Given(g) if g < carries => before.push(moved),
                _ if k < carries => next.push(moved),
                _ => after.push(moved),
            }
        }
        if steps.keeps {
            for (k, x) in carry.iter().enumerate() {
                let (to, to_step) = column(x.dtype(), x.dims())?;
                before.push(Move { from: state[k], from_step: 0, to, to_step, bytes: sizes[k] });
            }
        }
        after.append(&mut next);

        for (x, &to) in carry.iter().zip(state) {
            // SAFETY: the array is contiguous and has as many bytes, for which the carry has room.
            unsafe { to.copy_from_nonoverlapping(x.ptr(), bytes_of(x)) };
        }
        let mut few = Few::new();
        let mut many = self.many().map_err(first)?;
        let mut bases: SmallVec<[SendPtr; 16]> = SmallVec::new();
        bases.push(SendPtr(many.as_mut().map_or_else(|| few.room_for(self), Unwritten::ptr)));
        bases.extend(reads.iter().map(|(x, _)| SendPtr(x.cast_mut())));
        bases.extend(writes.iter().map(|&w| SendPtr(w)));
        let whole = |r: usize| given.get(steps.reads[r]).filter(|_| steps.reads[r] >= rows.end).copied();
        // By base: how far the next step reads from there.
        let apart =
            |base: u32| (base as usize).checked_sub(1).and_then(|r| reads.get(r)).map_or(0, |read| read.1);
        let mut items: Vec<(Lists, Moving)> = vec![];
        for placed in &self.items {
            let mut lists = Lists::default();
            placed.addresses(&bases, &mut lists);
            if let Part::Cluster(cluster) = &placed.item.part {
                let room = bases[0].get().wrapping_add(placed.room);
                lists.all = cluster.addresses_of(&lists.ins, &lists.outs, room);
            }
            items.push((lists, Moving::new(&placed.ins, apart)));
        }
        for t in 0..length {
            if t % STRETCH == STRETCH - 1 {
                interrupt::check().map_err(first)?;
            }
            // SAFETY: `source` and `column` checked or made the memory of all steps, of which this is one. A move goes from what
            // is given or written to the carry or to a result, or from the carry to a result.
            unsafe { copy(&before, t) };
            for (i, (lists, moving)) in items.iter_mut().enumerate() {
                // SAFETY: the addresses are those of what the sequence reads and of room for what it writes, in memory of this
                // function or of arrays that outlive it, for which `source` and `new` checked the bounds.
                if !unsafe { self.run_item(i, lists, bases[0], whole)? } {
                    return Ok(None);
                }
                moving.go_on(lists);
                if let Some(done) = &mut done {
                    done(i);
                }
            }
            // SAFETY: as before the items.
            unsafe { copy(&after, t) };
        }
        let mut results = vec![];
        for (x, &from) in carry.iter().zip(state) {
            let mut z = Array::unwritten(op, x.dtype(), x.dims()).map_err(first)?;
            // SAFETY: the new array has as many bytes as the carry.
            unsafe { z.ptr().copy_from_nonoverlapping(from, bytes_of(x)) };
            results.push(z.written());
        }
        results.extend(made.into_iter().map(Unwritten::written));
        Ok(Some(results))
    }
}
