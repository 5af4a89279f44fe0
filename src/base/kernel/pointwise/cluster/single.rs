//! Clusters of single numbers.

use rustc_hash::FxHashSet;

use super::parts::{Read, Write};
use super::walk::copy_number;
use crate::kernel::par::SendPtr;
use crate::kernel::pointwise::numbers::Numbers;
use crate::kernel::pointwise::row::{Address, Instruction};

/// How single numbers are computed.
pub(super) struct Single {
    numbers: Numbers,
    /// By what is read: how many bytes after the beginning of the array the number begins, and how many it has.
    pub loads: Box<[(isize, usize)]>,
    pub stores: Box<[Store]>,
}

/// A number that is part of a result.
pub struct Store {
    pub cell: Address,
    pub write: u32,
    /// How many bytes after the beginning of the result it begins, and how many it has.
    pub start: usize,
    pub size: usize,
}

impl Single {
    pub fn new(instructions: &[Instruction], reads: &[Read], writes: &[Write]) -> Single {
        let mut stores = vec![];
        for (i, own) in writes.iter().enumerate() {
            let (first, size) = ([(reads.len() + i) as Address], own.dtype.size());
            for (k, &cell) in own.from.as_deref().unwrap_or(&first).iter().enumerate() {
                stores.push(Store { cell, write: i as u32, start: k * size, size });
            }
        }
        let loads = reads.iter().map(|read| (read.start, read.dtype.size())).collect();
        let needed: FxHashSet<Address> = stores.iter().map(|store| store.cell).collect();
        let is_needed = |cell: Address| needed.contains(&cell);
        Single {
            numbers: Numbers::new(instructions, size_of::<u64>() as Address, false, &is_needed),
            loads,
            stores: stores.into(),
        }
    }

    /// Computes single numbers in cells.
    ///
    /// # Safety
    /// There is a cell for each address of the instructions, and `reads` and `writes` are those of [`Cluster::run`](super::Cluster::run).
    pub unsafe fn run(&self, cells: *mut u64, reads: &[SendPtr], writes: &[SendPtr]) {
        let Single { numbers, loads, stores } = self;
        for (i, (x, &(start, size))) in reads.iter().zip(loads).enumerate() {
            // SAFETY: the array has an element of this size there, and that is at most the size of a cell.
            unsafe { copy_number(x.get().offset(start), cells.add(i).cast(), size) };
        }
        // SAFETY: `new` checked that all operands have addresses, and what is read of those was written above, or is
        // written before it is read.
        unsafe { numbers.run(1, cells.cast()) };
        for &Store { cell, write, start, size } in stores {
            // SAFETY: `new` checked that the result has room for as many elements of this size.
            unsafe {
                copy_number(cells.add(cell as usize).cast(), writes[write as usize].get().add(start), size);
            }
        }
    }
}
