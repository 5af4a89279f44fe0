//! Runs of loops that are split: all phases run for the steps of a tile, and then for those of the next one.

use std::ops::Range;

use smallvec::SmallVec;

use super::{Copied, Operand, Phase, Split};
use crate::array::{Array, Unwritten};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::interrupt;
use crate::kernel::num::Field;
use crate::kernel::par::SendPtr;
use crate::kernel::pointwise::cluster::{ALIGNMENT, copy_number};
use crate::kernel::pointwise::row::Address;
use crate::kernel::sequence::items::Part;
use crate::kernel::sequence::run::{Failure, Sequence};
use crate::kernel::sequence::steps::{Steps, Strided, bytes_of};

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
        mut done: Option<&mut dyn FnMut(usize)>,
    ) -> std::result::Result<Vec<Array>, Failure> {
        let run = Run::new(self, sequence, given, steps).map_err(Failure::first)?;
        run.begin();
        let mut ins: Vec<SendPtr> = vec![];
        let mut start = 0;
        while start < steps.length {
            interrupt::check().map_err(Failure::first)?;
            let n = self.tile.steps.min(steps.length - start);
            run.run_tile(start, n, &mut ins)?;
            start += n;
            if let Some(done) = &mut done {
                (0..n).for_each(|_| (0..sequence.items.len()).for_each(&mut *done));
            }
        }
        run.finish().map_err(Failure::first)
    }
}

/// A number that is copied between a tile and the rows of an array, and where it lies in these.
type InRows<'a> = (&'a Copied, Strided);

/// An operand of a kernel.
struct KernelOperand {
    /// Where it lies in the steps of the first tile.
    first: Strided,
    /// How far it moves on from tile to tile, for each step of a tile. What is in the tile itself does not move.
    apart: isize,
}

impl KernelOperand {
    /// Where it lies in the steps of the tile that begins with step `start`.
    fn from(&self, start: usize) -> Strided {
        self.first.after(self.apart * start as isize)
    }
}

/// A loop that runs.
struct Run<'a> {
    split: &'a Split,
    sequence: &'a Sequence,
    given: &'a [&'a Array],
    steps: &'a Steps<'a>,
    /// A tile, and the scratch memory of kernels after it.
    _memory: Unwritten,
    tile: *mut u8,
    scratch: *mut u8,
    /// The results, and the carries before each step if the loop keeps them.
    columns: Vec<Unwritten>,
    /// The numbers that are read from rows, and those that are written to rows of the columns.
    rows: Vec<InRows<'a>>,
    results: Vec<InRows<'a>>,
    /// By phase that calls a kernel: its operands.
    operands: Vec<Vec<KernelOperand>>,
}

impl<'a> Run<'a> {
    /// A loop before its first step, with an empty tile.
    ///
    /// # Errors
    /// For want of memory.
    ///
    /// # Panics
    /// If an array is too small for what is read of it.
    fn new(
        split: &'a Split,
        sequence: &'a Sequence,
        given: &'a [&'a Array],
        steps: &'a Steps<'a>,
    ) -> Result<Run<'a>> {
        let numbers = split.tile.bytes();
        let scratch = sequence.parts().map(Part::scratch).max().unwrap_or(0);
        // Small arrays begin anywhere in a cache line. The numbers are whole lines.
        let all = numbers.checked_add(scratch).and_then(|all| all.checked_add(ALIGNMENT));
        let all = all.ok_or_else(|| Error::memory(steps.op, vec![numbers, scratch], DType::U8))?;
        let mut memory = Array::unwritten(steps.op, DType::U8, &[all])?;
        let tile = memory.ptr();
        let tile = tile.wrapping_add(tile.align_offset(ALIGNMENT));
        let mut run = Run {
            split,
            sequence,
            given,
            steps,
            _memory: memory,
            tile,
            scratch: tile.wrapping_add(numbers),
            columns: vec![],
            rows: vec![],
            results: vec![],
            operands: vec![],
        };
        run.add_columns()?;
        let row = |part: &'a Copied| (part, run.source(part.array, part.start, 0..part.size as isize));
        run.rows = split.rows.iter().map(row).collect();
        run.operands = run.operands_of_kernels();
        Ok(run)
    }

    /// Makes the columns.
    ///
    /// # Errors
    /// For want of memory.
    fn add_columns(&mut self) -> Result<()> {
        let Run { split, given, steps, .. } = *self;
        for (k, out) in steps.outs[steps.carries..].iter().enumerate() {
            self.add_column(k, out.dtype, &out.dims, &split.results)?;
        }
        for (k, x) in given[..steps.carries].iter().enumerate().filter(|_| steps.keeps) {
            self.add_column(k, x.dtype(), x.dims(), &split.before)?;
        }
        Ok(())
    }

    /// Makes a column, to which those of `parts` are copied that are for array `k`.
    ///
    /// # Errors
    /// For want of memory.
    fn add_column(&mut self, k: usize, dtype: DType, dims: &[usize], parts: &'a [Copied]) -> Result<()> {
        let (column, rows) = self.steps.column(dtype, dims)?;
        self.columns.push(column);
        let own = parts.iter().filter(|part| part.array == k);
        self.results.extend(own.map(|part| (part, rows.after(part.start))));
        Ok(())
    }

    /// What begins so many bytes after the beginning of an array that is no carry, or of its row, and of which these bytes are read.
    ///
    /// # Panics
    /// If the array does not have them.
    fn source(&self, array: usize, start: isize, reach: Range<isize>) -> Strided {
        self.steps.source(self.given, array, start + reach.start..start + reach.end).after(start)
    }

    /// # Panics
    /// If an array is too small for what is read of it.
    fn operands_of_kernels(&self) -> Vec<Vec<KernelOperand>> {
        let operand = |operand: &Operand<Address>| match operand {
            Operand::Number(at) => KernelOperand { first: self.numbers(*at), apart: 0 },
            Operand::Given(array, start, reach) => {
                let first = self.source(*array, *start, reach.clone());
                KernelOperand { first, apart: first.step }
            }
        };
        let operands = |phase: &Phase| match phase {
            Phase::Call(_, operands, _) => Some(operands.iter().map(operand).collect()),
            _ => None,
        };
        self.split.phases.iter().filter_map(operands).collect()
    }

    /// Where a number of the tile lies.
    #[inline(always)]
    fn place(&self, at: Address) -> *mut u8 {
        self.tile.wrapping_add(at as usize * self.split.tile.width)
    }

    /// The numbers of all steps of the tile that begin there.
    fn numbers(&self, at: Address) -> Strided {
        Strided { first: self.place(at), step: self.split.tile.width as isize }
    }

    /// Puts the numbers that are the same in all steps into the tile, and the carries before the first one.
    ///
    /// # Panics
    /// If an array is too small for what is read of it.
    fn begin(&self) {
        let most = self.split.tile.steps.min(self.steps.length);
        for part in &self.split.constants {
            let end = part.start + part.size as isize;
            let x = self.given[part.array].bytes(0, part.start.min(0)..end.max(1));
            let x = Strided::fixed(x.cast_mut().wrapping_offset(part.start));
            // SAFETY: `bytes` checked that the number lies in the array, and the tile has room for as many steps.
            unsafe { copy(x, self.numbers(part.at), part.size, most) };
        }
        for part in &self.split.carried {
            let x = self.given[part.array];
            assert!(part.start as usize + part.size <= bytes_of(x), "a read leaves the carry");
            // SAFETY: the number lies in the carry, which is contiguous, and the tile has a place for it.
            unsafe { copy_number(x.ptr().offset(part.start), self.place(part.at), part.size) };
        }
    }

    /// Runs `n` steps from step `start` on, of which the first one has its carries in the tile. `ins` is a list for operands.
    ///
    /// # Errors
    /// Those of kernels.
    fn run_tile(&self, start: usize, n: usize, ins: &mut Vec<SendPtr>) -> std::result::Result<(), Failure> {
        for &(part, x) in &self.rows {
            // SAFETY: the array has a row for each step, in which `source` found the number to lie.
            unsafe { copy(x.from(start), self.numbers(part.at), part.size, n) };
        }
        let mut operands = self.operands.iter();
        for phase in &self.split.phases {
            // SAFETY: the schedule gave each number that is read or made a place with room for all steps of a tile. What a phase
            // reads is the same in all steps, is in a row, was copied above, or is made by an earlier phase, by a formula before
            // in this one or in the step before.
            unsafe {
                match phase {
                    Phase::Together(formula) => formula.run(n, |at| self.place(at)),
                    Phase::Code(list, places) => {
                        let addresses: SmallVec<[_; 32]> = places.iter().map(|&at| self.place(at)).collect();
                        let code = self.split.code.as_ref().expect("the list is there");
                        code.run(*list, n, addresses.as_ptr());
                    }
                    Phase::Sums(DType::F32, list) => self.add_up::<f32>(list, n),
                    Phase::Sums(_, list) => self.add_up::<f64>(list, n),
                    Phase::InTurn(formulas) => formulas.run(n, self.tile),
                    Phase::Call(item, _, to) => {
                        let operands = operands.next().expect("each call has its operands");
                        self.call(*item, operands, *to, start..start + n, ins)
                            .map_err(|error| Failure { item: *item, error })?;
                    }
                }
            }
        }
        for &(part, x) in &self.results {
            // SAFETY: the column has a row for each step, in which the number lies.
            unsafe { copy(self.numbers(part.at), x.from(start), part.size, n) };
        }
        for part in &self.split.carried {
            // SAFETY: a tile has a place for the carry after its last step.
            unsafe { copy_number(self.place(part.at + n as Address), self.place(part.at), part.size) };
        }
        Ok(())
    }

    /// Runs the kernel of an item for these steps of the loop, which are those in the tile. Its results begin at address `to`.
    ///
    /// # Errors
    /// Those of the kernel.
    ///
    /// # Safety
    /// The tile has the operands that are numbers of the step, and room for the results, for as many steps. Nobody else uses it.
    unsafe fn call(
        &self,
        item: usize,
        operands: &[KernelOperand],
        to: Address,
        steps: Range<usize>,
        ins: &mut Vec<SendPtr>,
    ) -> Result<()> {
        let Part::Kernel(kernel) = &self.sequence.items[item].item.part else { return Ok(()) };
        let at = |operand: &KernelOperand| operand.from(steps.start);
        if let Some(kernel) = kernel.times() {
            let ins = operands.iter().map(|operand| (SendPtr(at(operand).first), at(operand).step));
            let ins: SmallVec<[_; 4]> = ins.collect();
            let out = self.numbers(to);
            // SAFETY: as the function's `# Safety` section requires; `source` checked the bounds of operands outside of the tile.
            return unsafe { kernel.run_times(steps.len(), &ins, (SendPtr(out.first), out.step)) };
        }
        for t in 0..steps.len() {
            ins.clear();
            operands.iter().for_each(|operand| ins.push(SendPtr(at(operand).at(t))));
            let out = SendPtr(self.place(to + t as Address));
            // SAFETY: as above, and the scratch memory is as large as the largest that an item needs.
            unsafe { kernel.run(ins, &[out], self.scratch)? };
        }
        Ok(())
    }

    /// Adds up numbers over `n` steps of the tile: each sum has a place before the first step, and one after each step.
    ///
    /// # Safety
    /// All these numbers are of type `T`, the tile has as many steps, and nobody else uses it.
    #[inline(never)]
    unsafe fn add_up<T: Field>(&self, list: &[(Address, Address)], n: usize) {
        let width = self.split.tile.width;
        for list in list.chunks(AT_ONCE) {
            // Fewer sums are computed several times.
            let own: [_; AT_ONCE] = std::array::from_fn(|k| list[k.min(list.len() - 1)]);
            let own = own.map(|(sum, added)| (self.place(sum), self.place(added)));
            // SAFETY: as the function's `# Safety` section requires; the schedule gave the tile these places.
            unsafe {
                let mut all = own.map(|(sum, _)| *sum.cast::<T>());
                for at in (0..n).map(|t| t * width) {
                    for (all, (sum, added)) in all.iter_mut().zip(own) {
                        *all = all.add(*added.wrapping_add(at).cast::<T>());
                        *sum.wrapping_add(at + width).cast::<T>() = *all;
                    }
                }
            }
        }
    }

    /// The carries that the last tile has left, and the columns.
    ///
    /// # Errors
    /// For want of memory.
    fn finish(self) -> Result<Vec<Array>> {
        let mut all = vec![];
        for (k, x) in self.given[..self.steps.carries].iter().enumerate() {
            let mut z = Array::unwritten(self.steps.op, x.dtype(), x.dims())?;
            if self.split.kept.contains(&k) {
                // SAFETY: the new array has as many bytes as the carry, which is contiguous.
                unsafe { z.ptr().copy_from_nonoverlapping(x.ptr(), bytes_of(x)) };
            }
            for part in self.split.carried.iter().filter(|part| part.array == k) {
                // SAFETY: the new array has as many bytes as the carry, in which the number lies.
                unsafe { copy_number(self.place(part.at), z.ptr().offset(part.start), part.size) };
            }
            all.push(z.written());
        }
        all.extend(self.columns.into_iter().map(Unwritten::written));
        Ok(all)
    }
}

/// How many sums are computed at a time, because each waits for its last addition.
const AT_ONCE: usize = 4;

/// Copies a number of `size` bytes in each of `n` steps.
///
/// # Safety
/// The numbers can be read and written there, and nobody else uses those that are written.
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
