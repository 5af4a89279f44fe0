//! The steps of a loop: what they read, and what they make.

use std::ops::Range;

use super::items::{Item, Part, Source};
use super::run::Sequence;
use crate::array::{Array, Unwritten};
use crate::dtype::DType;
use crate::error::Result;
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

/// Bytes of each step: the address of those of the first step, and how far those of the next one are from there.
#[derive(Clone, Copy)]
pub(super) struct Strided {
    pub first: *mut u8,
    pub step: isize,
}

impl Strided {
    /// Bytes that are the same ones in all steps.
    pub fn fixed(first: *mut u8) -> Strided {
        Strided { first, step: 0 }
    }

    /// Their address in step `t`.
    #[inline(always)]
    pub fn at(self, t: usize) -> *mut u8 {
        self.first.wrapping_offset(self.step * t as isize)
    }

    /// Those that begin so many bytes after these.
    pub fn after(self, bytes: isize) -> Strided {
        Strided { first: self.first.wrapping_offset(bytes), ..self }
    }

    /// Those from step `t` on.
    #[inline(always)]
    pub fn from(self, t: usize) -> Strided {
        Strided { first: self.at(t), ..self }
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
        Ok((column, Strided { first, step }))
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
        Strided { first: x.ptr().cast_mut().wrapping_offset(begin), step }
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
