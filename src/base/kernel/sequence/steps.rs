//! The steps of a loop: what they read, and what they make.

use std::ops::Range;

use super::items::{Item, Part, Source};
use super::run::Sequence;
use crate::array::{Array, Unwritten};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernel::pointwise::cluster::copy_number;
use crate::shape::{self, Dims};

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
    Result(usize),
    /// In an array that is given.
    Given(usize),
}

/// The most bytes that are copied for a function of arrays.
const LARGE: usize = 32 << 10;

/// Bytes of each step of a loop, which runs block by block: a block is one step, or a tile of steps.
#[derive(Clone, Copy)]
pub(super) struct Strided {
    /// Those of the first step.
    pub first: *mut u8,
    /// How far those of the next step in a block are from there.
    pub step: isize,
    /// How far those of the next block are from there, by step of a block. What lies in the memory of a block stays there.
    pub apart: isize,
}

impl Strided {
    /// Bytes that are the same ones in all steps.
    pub fn fixed(first: *mut u8) -> Strided {
        Strided { first, step: 0, apart: 0 }
    }

    /// Those that begin so many bytes after these.
    #[inline(always)]
    pub fn after(self, bytes: isize) -> Strided {
        Strided { first: self.first.wrapping_offset(bytes), ..self }
    }

    /// Those of the block that begins with step `start`.
    #[inline(always)]
    fn of_block(self, start: usize) -> Strided {
        self.after(self.apart * start as isize)
    }

    /// Their address in step `t` of the first block.
    #[inline(always)]
    fn at(self, t: usize) -> *mut u8 {
        self.first.wrapping_offset(self.step * t as isize)
    }
}

/// Bytes that each step copies.
#[derive(Clone, Copy)]
pub(super) struct Move {
    pub from: Strided,
    pub to: Strided,
    pub bytes: usize,
}

impl Move {
    /// Copies those of `n` steps from step `start` on, which are a block.
    ///
    /// # Safety
    /// In these steps the bytes can be read and written, and nobody else uses those that are written.
    #[inline(always)]
    pub unsafe fn run(&self, start: usize, n: usize) {
        let (from, to) = (self.from.of_block(start), self.to.of_block(start));
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            match n {
                1 => self.run_one(from.first, to.first),
                _ => copy(from, to, self.bytes, n),
            }
        }
    }

    /// Copies those of the last one of these steps.
    ///
    /// # Safety
    /// As [`run`](Move::run).
    #[inline(always)]
    pub unsafe fn run_last(&self, start: usize, n: usize) {
        let (from, to) = (self.from.of_block(start), self.to.of_block(start));
        // SAFETY: as the function's `# Safety` section requires.
        unsafe { self.run_one(from.at(n - 1), to.at(n - 1)) };
    }

    /// Copies those of one step.
    ///
    /// # Safety
    /// As [`run`](Move::run).
    #[inline(always)]
    unsafe fn run_one(&self, from: *const u8, to: *mut u8) {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            // Two or four numbers take no call either.
            if self.bytes == size_of::<u128>() {
                to.cast::<u128>().write_unaligned(from.cast::<u128>().read_unaligned());
            } else {
                copy_number(from, to, self.bytes);
            }
        }
    }
}

/// Copies a number of `size` bytes in each of `n` steps of a block.
///
/// # Safety
/// As [`Move::run`].
#[inline(never)]
unsafe fn copy(from: Strided, to: Strided, size: usize, n: usize) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        if from.step == size as isize && to.step == size as isize {
            return to.first.copy_from_nonoverlapping(from.first, n * size);
        }
        // With a constant size the loop has no branches.
        match size {
            8 if from.step == 0 && to.step == 8 => {
                let number = from.first.cast::<u64>().read_unaligned();
                (0..n).for_each(
                    #[inline(always)]
                    |t| to.first.cast::<u64>().add(t).write_unaligned(number),
                );
            }
            8 => (0..n).for_each(
                #[inline(always)]
                |t| copy_number(from.at(t), to.at(t), 8),
            ),
            _ => (0..n).for_each(
                #[inline(always)]
                |t| copy_number(from.at(t), to.at(t), size),
            ),
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
    fn rows(&self, row: usize) -> (isize, isize) {
        let row = row as isize;
        if self.reverse { (row * (self.length as isize - 1), -row) } else { (0, row) }
    }

    /// A new array with a row for each step, and its rows.
    ///
    /// # Errors
    /// For want of memory.
    pub(super) fn column(&self, dtype: DType, dims: &[usize]) -> Result<(Unwritten, Strided)> {
        let all: Dims = std::iter::once(self.length).chain(dims.iter().copied()).collect();
        let mut column = Array::unwritten(self.op, dtype, &all)?;
        let (begin, step) = self.rows(shape::len(dims) * dtype.size());
        let first = column.ptr().wrapping_offset(begin);
        Ok((column, Strided { first, step, apart: step }))
    }

    /// Array number `g`, which is no carry, or its rows if it is a column. It is only read.
    ///
    /// # Panics
    /// If it has not all bytes of this range, counted from its first element or from that of a row.
    pub(super) fn source(&self, given: &[&Array], g: usize, range: Range<isize>) -> Strided {
        let x = given[g];
        if range.is_empty() {
            return Strided::fixed(x.ptr().cast_mut());
        }
        if g >= self.carries + self.columns {
            return Strided::fixed(x.bytes(0, range.start.min(0)..range.end.max(1)).cast_mut());
        }
        let row = bytes_of(x) / self.length;
        assert!(range.start >= 0 && range.end <= row as isize, "a read leaves the row");
        let (begin, step) = self.rows(row);
        Strided { first: x.ptr().cast_mut().wrapping_offset(begin), step, apart: step }
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
        // Functions of arrays get copies of what lies in a carry or a row, or is made, and their results are copied.
        let is_copied = |&(source, _): &(Source, isize)| match source {
            Source::Read(r) => steps.reads[r] < rows.end,
            Source::Made(_) => true,
        };
        let is_fit = |Item { part, ins, outs }: &Item| {
            let can_be_copied = |n: usize| (1..=LARGE).contains(&n);
            let is_fit = |(k, own)| !is_copied(own) || can_be_copied(part.reach(k).len());
            !matches!(part, Part::Arrays(_))
                || ins.iter().enumerate().all(is_fit)
                    && outs.iter().all(|out| can_be_copied(out.bytes()) && out.is_dense())
        };
        if length == 0 || !self.items.iter().all(|placed| is_fit(&placed.item)) {
            return false;
        }
        assert!(given[..rows.end].iter().all(|x| x.is_contiguous()) && steps.reads.len() == self.reads.len());
        assert!(given[rows].iter().all(|x| x.dims().first() == Some(&length)));
        true
    }
}
