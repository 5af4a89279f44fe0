//! The ops of steps as loops.

use smallvec::SmallVec;

use super::parts::{Step, Value};
use crate::dtype::DType;
use crate::error::Error;
use crate::graph::trace::Call;
use crate::graph::{Loops, Op, Operands};
use crate::shape;

/// What an op computes of operands of these dtypes and shapes. None if it does not tell.
pub(super) fn lowered<'a>(
    op: &dyn Op,
    ins: impl Iterator<Item = (DType, &'a [usize])>,
    batch_ndim: usize,
) -> Option<Loops> {
    let (dtypes, dims): (SmallVec<[DType; 4]>, SmallVec<[&[usize]; 4]>) = ins.unzip();
    if dims.is_empty() {
        return None;
    }
    // Where a file says what no trace says, an op may find that out by a panic.
    Error::catch(|| Ok(op.lower(&Operands { dtypes: &dtypes, dims: &dims, batch_ndim }))).ok()?
}

/// What the op of a call computes. None if it does not tell.
pub(super) fn loops_of(call: &Call) -> Option<Loops> {
    lowered(&*call.op, call.ins.iter().map(|x| (x.dtype(), x.dims())), call.batch_ndim)
}

impl Step {
    /// What its op computes of these values. None if it does not tell.
    pub fn lowered(&self, values: &[Value]) -> Option<Loops> {
        let operand = |&id: &u32| (values[id as usize].dtype, &values[id as usize].dims[..]);
        lowered(&*self.op, self.ins.iter().map(operand), self.batch_ndim)
    }

    /// By element of the one result, in C order: the input that it comes from, and its place there in C order; None for a zero.
    /// None if the step does more than to move elements.
    pub fn moved(&self, values: &[Value]) -> Option<Vec<Option<(usize, usize)>>> {
        let Loops::Moves(map) = self.lowered(values)? else { return None };
        map.places(self.ins.iter().map(|&id| shape::len(&values[id as usize].dims)))
    }
}
