//! Scalar programs compute formulas of single numbers. Each number has a cell of its own.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::checks::checked;
use super::parts::{Read, Write};
use super::room::are_scalars;
use super::walk::copy_number;
use crate::kernel::par::SendPtr;
use crate::kernel::pointwise::numbers::Numbers;
use crate::kernel::pointwise::row::{Address, Instruction};

/// Instructions on single numbers of at most 8 bytes, with what is read into cells and written from them.
pub struct ScalarProgram {
    /// Their addresses are the numbers of cells.
    pub(in crate::kernel) instructions: Box<[Instruction]>,
    numbers: Numbers,
    /// How many cells it has. What is read goes to the first of them.
    pub(in crate::kernel) cells: usize,
    /// By what is read: how many bytes after the beginning of the array the number begins, and how many it has.
    pub(in crate::kernel) loads: Box<[(isize, usize)]>,
    pub(in crate::kernel) stores: Box<[Store]>,
    /// By result: how many bytes it has.
    pub(in crate::kernel) results: Box<[usize]>,
}

/// A number that is part of a result.
pub struct Store {
    pub cell: Address,
    pub write: u32,
    /// How many bytes after the beginning of the result it begins, and how many it has.
    pub start: usize,
    pub size: usize,
}

impl ScalarProgram {
    /// A program that reads one number of each array and writes results.
    ///
    /// # Panics
    /// If it has too many cells, an instruction has an operand that is not there or has not the dtype of its loop, a result has another
    /// dtype than its loop makes, or a number does not fit into a cell or is copied into a register.
    pub fn new(
        instructions: Vec<Instruction>,
        reads: &[Read],
        writes: &[Write],
        registers: usize,
    ) -> ScalarProgram {
        let (_, widest) = checked(1, &instructions, (reads, writes, &[]), registers);
        assert!(are_scalars(1, widest), "a number does not fit into a cell");
        assert!(reads.iter().all(|read| read.register().is_none()), "a number is copied into a register");
        let (mut stores, mut results) = (vec![], vec![]);
        for (i, own) in writes.iter().enumerate() {
            let (first, size) = ([(reads.len() + i) as Address], own.dtype.size());
            let cells = own.from.as_deref().unwrap_or(&first);
            results.push(cells.len() * size);
            for (k, &cell) in cells.iter().enumerate() {
                stores.push(Store { cell, write: i as u32, start: k * size, size });
            }
        }
        let needed: FxHashSet<Address> = stores.iter().map(|store| store.cell).collect();
        let is_needed = |cell: Address| needed.contains(&cell);
        ScalarProgram {
            numbers: Numbers::new(&instructions, size_of::<u64>() as Address, false, &is_needed),
            instructions: instructions.into(),
            cells: reads.len() + writes.len() + registers,
            loads: reads.iter().map(|read| (read.start, read.dtype.size())).collect(),
            stores: stores.into(),
            results: results.into(),
        }
    }

    /// Which bytes it reads of an array, counted from the first element.
    pub fn reach(&self, read: usize) -> Range<isize> {
        let (start, size) = self.loads[read];
        start..start + size as isize
    }

    /// The bytes that all instructions write.
    pub fn bytes(&self) -> usize {
        self.instructions.iter().map(|own| own.row.out.size()).sum()
    }

    /// How many bytes of memory it works in, aligned to a cell.
    pub fn room(&self) -> usize {
        self.cells * size_of::<u64>()
    }

    /// Computes all results.
    ///
    /// # Safety
    /// `reads` has the address of each array, which has the bytes that [`reach`](ScalarProgram::reach) says. `outs` has the address of
    /// memory for each result. `room` is the aligned address of as many bytes as [`room`](ScalarProgram::room) says. Nobody else uses
    /// the memory of the results and the room.
    pub unsafe fn run(&self, reads: &[SendPtr], outs: &[SendPtr], room: *mut u8) {
        let cells = room.cast::<u64>();
        for (i, (x, &(start, size))) in reads.iter().zip(&self.loads).enumerate() {
            // SAFETY: the array has an element of this size there, and that is at most the size of a cell.
            unsafe { copy_number(x.get().offset(start), cells.add(i).cast(), size) };
        }
        // SAFETY: `new` checked that all operands have cells, and what is read of those was written above, or is written before it
        // is read.
        unsafe { self.numbers.run(1, room) };
        for &Store { cell, write, start, size } in &self.stores {
            // SAFETY: the element has this size, and its place lies inside of the result.
            unsafe {
                copy_number(cells.add(cell as usize).cast(), outs[write as usize].get().add(start), size);
            }
        }
    }
}
