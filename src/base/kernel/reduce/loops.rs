//! The loops of a fold, and the cuts of what they fold.

use crate::dtype::{DTYPES, DType, DTypeKind};
use crate::kernel::par;
use crate::kernel::reduce::pairwise::COLUMNS;

/// The part of an array that a loop folds: `outer` blocks of `n` rows of `inner` elements, with rows `stride`
/// elements apart.
#[derive(Clone, Copy, Debug)]
pub struct Slab {
    pub outer: usize,
    pub n: usize,
    pub inner: usize,
    pub stride: usize,
}

/// Folds each block of a slab into one row; the rows of the output are adjacent.
pub type ReduceLoop = unsafe fn(slab: Slab, x: *const u8, out: *mut u8);

/// The loops of one fold by the input's dtype: `loops` fold elements, `combines` fold results of `loops`. `out` is
/// the dtype of the results (`None`: that of the input).
pub struct ReduceLoops {
    pub loops: [Option<ReduceLoop>; DTYPES],
    pub combines: [Option<ReduceLoop>; DTYPES],
    pub out: Option<DType>,
    /// The loops of long rows that come in tiles, for a sum. `None`: such rows have to be in memory as a whole.
    pub sums: Option<fn(DType) -> Option<TileLoops>>,
}

impl ReduceLoops {
    /// The dtype of the results of elements of this one, which may be folded as 64-bit integers. None if they are not folded.
    pub fn makes(&self, dtype: DType) -> Option<DType> {
        match self.loops[dtype as usize] {
            Some(_) => Some(self.out.unwrap_or(dtype)),
            None if dtype.kind() == DTypeKind::Int => self.loops[DType::I64 as usize].map(|_| dtype),
            None => None,
        }
    }

    pub const fn of_sums(&self, sums: fn(DType) -> Option<TileLoops>) -> ReduceLoops {
        ReduceLoops { loops: self.loops, combines: self.combines, out: self.out, sums: Some(sums) }
    }
}

/// Folds a tile of `n` elements into the accumulators of a leaf, which are new where it begins. Where the leaf ends, its
/// result is put in place of the first accumulator.
pub type AddTile = unsafe fn(n: usize, x: *const u8, lanes: *mut u8, begins: bool, ends: bool);
/// Folds the results of leaves, [`LANES`](super::pairwise::LANES) elements apart, into one element.
pub type EndRow = unsafe fn(leaves: usize, x: *const u8, out: *mut u8);

/// The loops of a fold of long rows.
#[derive(Clone, Copy)]
pub struct TileLoops {
    pub add: AddTile,
    pub end: EndRow,
}

/// With at least this many blocks, threads share the blocks whole.
pub const WIDE: usize = 16;
/// Elements in one part of a fold that is split for threads.
const PART: usize = 1 << 17;

/// The columns of a part of a fold that is split for threads.
pub fn width_of_part(inner: usize) -> usize {
    inner.min(4 * COLUMNS)
}

/// How many of the `n` rows of `inner` elements in each of `outer` blocks are folded together. The results of these parts
/// are folded afterwards.
pub fn height_of_part(outer: usize, n: usize, inner: usize, size: usize) -> usize {
    if outer >= WIDE || outer * n * inner * size < par::MIN_BYTES {
        n
    } else {
        n.min((PART / width_of_part(inner)).max(1))
    }
}
