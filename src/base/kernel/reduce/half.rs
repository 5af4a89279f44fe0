//! Folds of float16 and bfloat16, which are widened a tile at a time and folded in float32.

use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::par::SendPtr;
use crate::kernel::pointwise::cast;
use crate::kernel::pointwise::cluster::{ALIGNMENT, Cluster, End, Read, Reading};
use crate::kernel::pointwise::row::{Instruction, Operand};
use crate::kernel::reduce::loops::ReduceLoops;
use crate::kernel::reduce::tiles::{Lengths, RowFold};
use crate::shape;

/// Fewer elements are widened as a whole, in less time than it takes to prepare tiles.
const MANY: usize = 1 << 16;

/// The memory that a cluster works in.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([u8; ALIGNMENT]);

/// The fold of the last axes of an array of a half dtype, with the bits of that of float32. None where other axes are folded, or the
/// elements cannot come in tiles.
pub fn by_tiles(op: &'static str, table: &ReduceLoops, x: &Array, axes: &[usize]) -> Option<Result<Array>> {
    let kept = x.rank() - axes.len();
    let row = cast::row(x.dtype(), DType::F32)?;
    if !x.is_contiguous() || x.len() < MANY || !axes.iter().copied().eq(kept..x.rank()) {
        return None;
    }
    let (dims, folded) = x.dims().split_at(kept);
    let fold = RowFold::new(table, DType::F32, (shape::len(dims), shape::len(folded)))?;
    Lengths::ANY.with(&fold)?;
    let out = table.out.unwrap_or(DType::F32);
    // The array has the address 0, and a tile of it in float32 the address 1.
    let from = [Operand { address: 0, step: 1 }; 3];
    let instruction = Instruction { row, from, to: 1, also: 1 };
    let read = Read { reading: Reading::Along, dtype: x.dtype(), start: 0 };
    let end = End { fold, of: 0, address: 1 };
    let cluster = Cluster::new(x.len(), vec![instruction], vec![read], vec![], vec![end], 1);
    let lines = cluster.room().div_ceil(ALIGNMENT);
    Error::ensure_memory(lines * ALIGNMENT);
    let mut room = vec![Line([0; ALIGNMENT]); lines];
    Some(Array::build_raw(op, out, dims, |to| {
        // SAFETY: the array has the elements that the cluster reads, there is a result of each row, and so much room.
        unsafe { cluster.run(&[SendPtr(x.ptr().cast_mut())], &[SendPtr(to)], room.as_mut_ptr().cast()) }
    }))
}
