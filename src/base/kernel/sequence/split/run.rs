//! Runs of loops that are split: all phases run for the steps of a tile, and then for those of the next one.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::{Cell, Copied, Operand, Phase, Split};
use crate::array::{Array, Unwritten};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::par::SendPtr;
use crate::kernel::pointwise::cluster::ALIGNMENT;
use crate::kernel::sequence::blocks::{Blocks, Last, Task, Work};
use crate::kernel::sequence::items::Part;
use crate::kernel::sequence::run::{Failure, Lists, Sequence};
use crate::kernel::sequence::steps::{Move, Steps, Strided, bytes_of};

impl Split {
    /// What [`Loop::run`](super::Loop::run) returns.
    ///
    /// # Errors
    /// For want of memory, those of kernels, and if the loop is interrupted.
    ///
    /// # Panics
    /// If an array is too small for what is read of it.
    pub(super) fn run(
        &self,
        sequence: &Sequence,
        given: &[&Array],
        steps: &Steps<'_>,
        done: Option<&mut dyn FnMut(usize)>,
    ) -> std::result::Result<Vec<Array>, Failure> {
        let (_memory, tile, scratch) = self.memory(sequence, steps).map_err(Failure::first)?;
        let places = Places { split: self, sequence, given, steps, tile };
        let cells: Vec<_> =
            (0..).take(self.places.len()).map(|cell| MaybeUninit::new(places.place(cell))).collect();
        let mut run = Blocks::new(sequence, given, steps, self.tile.steps, SendPtr(scratch));
        places.add_moves(&mut run).map_err(Failure::first)?;
        run.tasks = self.phases.iter().map(|phase| places.task(phase, &cells)).collect();
        places.begin();
        // SAFETY: the schedule gave each number that is read or made a place with room for all steps of a tile. What a phase reads is
        // the same in all steps, is in a row, is copied to the tile before, or is made by an earlier phase, by a formula before in
        // this one or in the step before. `source` checked the bounds of what is read elsewhere. A carry has only such parts, or
        // stays as it is.
        unsafe {
            run.run(done)?;
            run.finish(places.last()).map_err(Failure::first)
        }
    }

    /// A tile, and scratch memory for the kernels behind it: the memory, and where the two begin.
    ///
    /// # Errors
    /// For want of memory.
    fn memory(&self, sequence: &Sequence, steps: &Steps<'_>) -> Result<(Unwritten, *mut u8, *mut u8)> {
        let numbers = self.tile.bytes();
        let scratch = sequence.parts().map(Part::scratch).max().unwrap_or(0);
        // Small arrays begin anywhere in a cache line. The numbers are whole lines.
        let all = numbers.checked_add(scratch).and_then(|all| all.checked_add(ALIGNMENT));
        let all = all.ok_or_else(|| Error::memory(steps.op, vec![numbers, scratch], DType::U8))?;
        let mut memory = Array::unwritten(steps.op, DType::U8, &[all])?;
        let tile = memory.ptr();
        let tile = tile.wrapping_add(tile.align_offset(ALIGNMENT));
        Ok((memory, tile, tile.wrapping_add(numbers)))
    }
}

/// Where the things of a tile of steps lie.
struct Places<'a> {
    split: &'a Split,
    sequence: &'a Sequence,
    given: &'a [&'a Array],
    steps: &'a Steps<'a>,
    tile: *mut u8,
}

impl<'a> Places<'a> {
    /// Where the number of a cell lies in the first step of the tile.
    fn place(&self, cell: Cell) -> *mut u8 {
        self.tile.wrapping_add(self.split.places[cell as usize] as usize * self.split.tile.width)
    }

    /// The numbers of a cell in all steps of the tile.
    fn numbers(&self, cell: Cell) -> Strided {
        Strided { first: self.place(cell), step: self.split.tile.width as isize, apart: 0 }
    }

    /// What begins so many bytes after the beginning of an array that is no carry, or of its row, and of which these bytes are read.
    ///
    /// # Panics
    /// If the array does not have them.
    fn source(&self, array: usize, start: isize, reach: &Range<isize>) -> Strided {
        self.steps.source(self.given, array, start + reach.start..start + reach.end).after(start)
    }

    /// Adds to a loop what is copied between the tile and arrays.
    ///
    /// # Errors
    /// For want of memory.
    ///
    /// # Panics
    /// If an array is too small for what is read of it.
    fn add_moves(&self, run: &mut Blocks<'_>) -> Result<()> {
        let Places { split, given, steps, .. } = *self;
        run.before.extend(split.rows.iter().map(|part| self.moved(part)));
        for (k, out) in steps.outs[steps.carries..].iter().enumerate() {
            let rows = run.column(out.dtype, &out.dims)?;
            self.add_results(run, k, rows, &split.results);
        }
        for (k, x) in given[..steps.carries].iter().enumerate().filter(|_| steps.keeps) {
            let rows = run.column(x.dtype(), x.dims())?;
            self.add_results(run, k, rows, &split.before);
        }
        // The next carry is one place behind the carry.
        let next = |part: &Copied| {
            let carry = self.numbers(part.cell);
            Move { from: carry.after(carry.step), to: Strided::fixed(carry.first), bytes: part.size }
        };
        run.next.extend(split.carried.iter().map(next));
        Ok(())
    }

    /// What is copied from an array or its rows to the tile.
    fn moved(&self, part: &Copied) -> Move {
        let from = self.source(part.array, part.start, &(0..part.size as isize));
        Move { from, to: self.numbers(part.cell), bytes: part.size }
    }

    /// Adds the copies to column `k` of those parts that are for it.
    fn add_results(&self, run: &mut Blocks<'_>, k: usize, rows: Strided, parts: &[Copied]) {
        let own = parts.iter().filter(|part| part.array == k);
        let moved = own.map(|part| Move {
            from: self.numbers(part.cell),
            to: rows.after(part.start),
            bytes: part.size,
        });
        run.after.extend(moved);
    }

    /// Puts the numbers that are the same in all steps into the tile, and the carries before the first one.
    ///
    /// # Panics
    /// If an array is too small for what is read of it.
    fn begin(&self) {
        let Places { split, given, steps, .. } = *self;
        let most = split.tile.steps.min(steps.length);
        for part in &split.constants {
            // A carry that no step changes is read as an array that is no carry.
            let x = given[part.array];
            let end = part.start + part.size as isize;
            let x = x.bytes(0, part.start.min(0)..end.max(1)).cast_mut().wrapping_offset(part.start);
            let moved = Move { from: Strided::fixed(x), to: self.numbers(part.cell), bytes: part.size };
            // SAFETY: `bytes` checked that the number lies in the array, and the tile has room for as many steps.
            unsafe { moved.run(0, most) };
        }
        for part in &split.carried {
            let x = given[part.array];
            assert!(part.start as usize + part.size <= bytes_of(x), "a read leaves the carry");
            let from = Strided::fixed(x.ptr().cast_mut().wrapping_offset(part.start));
            let moved = Move { from, to: self.numbers(part.cell), bytes: part.size };
            // SAFETY: the number lies in the carry, which is contiguous, and the tile has a place for it.
            unsafe { moved.run(0, 1) };
        }
    }

    /// The task of a phase. `cells` has the address of each cell.
    ///
    /// # Panics
    /// If an array is too small for what is read of it.
    fn task(&self, phase: &'a Phase, cells: &'a [MaybeUninit<*mut u8>]) -> Task<'a> {
        let (item, operands, to) = match phase {
            Phase::Together(formulas) => return Task::new(Work::Together(formulas, cells)),
            Phase::InTurn(formulas) => return Task::new(Work::InTurn(formulas, self.tile)),
            Phase::Call(item, operands, to) => (*item, operands, self.numbers(*to)),
        };
        let Part::Kernel(kernel) = &self.sequence.items[item].item.part else {
            unreachable!("a phase calls kernels")
        };
        let operands: Vec<Strided> = operands.iter().map(|operand| self.operand(operand)).collect();
        let steps = operands.iter().map(|x| x.step).chain([to.step]).collect();
        let mut lists = Lists::default();
        lists.ins.extend(operands.iter().map(|x| SendPtr(x.first)));
        lists.outs.push(SendPtr(to.first));
        let moving = operands.iter().map(|x| x.apart).enumerate().filter(|(_, apart)| *apart != 0).collect();
        Task { work: Work::Kernel(&**kernel, steps), item, lists, moving }
    }

    /// Where an operand of a kernel lies.
    ///
    /// # Panics
    /// If an array is too small for what is read of it.
    fn operand(&self, operand: &Operand) -> Strided {
        match operand {
            Operand::Number(cell) => self.numbers(*cell),
            Operand::Given(array, start, reach) => self.source(*array, *start, reach),
        }
    }

    /// Where the carries lie after the last step.
    fn last(&self) -> impl Iterator<Item = Last> {
        let Places { split, given, .. } = *self;
        let kept = split.kept.iter().map(move |&carry| {
            let x = given[carry];
            Last { carry, start: 0, from: x.ptr(), bytes: bytes_of(x) }
        });
        let carried = split.carried.iter().map(move |part| Last {
            carry: part.array,
            start: part.start,
            from: self.place(part.cell),
            bytes: part.size,
        });
        kept.chain(carried)
    }
}
