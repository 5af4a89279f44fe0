//! What a cluster reads, writes and folds.

use super::walk::Walk;
use crate::dtype::DType;
use crate::kernel::pointwise::row::Address;
use crate::kernel::reduce::tiles::RowFold;

/// In which order a cluster reads an array.
pub enum Reading {
    /// Element by element.
    Along,
    /// One element.
    Once,
    /// In another order than that of the results. A tile of it is copied into this register first.
    Walk(Walk, Address),
}

/// What a cluster reads.
pub struct Read {
    pub reading: Reading,
    pub dtype: DType,
    /// How many bytes after the first element of the array it begins.
    pub start: isize,
}

impl Read {
    /// The register that its elements are copied into.
    pub fn register(&self) -> Option<Address> {
        match self.reading {
            Reading::Walk(_, register) => Some(register),
            _ => None,
        }
    }
}

/// A result of a cluster.
pub struct Write {
    pub dtype: DType,
    /// Where single numbers become an array: the addresses of its elements. None for a result of one instruction, which has all
    /// elements of the cluster.
    pub from: Option<Box<[Address]>>,
}

/// A fold of the results of an instruction.
pub struct End {
    pub fold: RowFold,
    /// The number of the instruction.
    pub of: usize,
    /// Where the results are.
    pub address: Address,
}
