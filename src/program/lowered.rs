//! The ops of steps as loops.

use smallvec::SmallVec;

use super::parts::{Id, Step, Value};
use super::way::{Pointwise, Way};
use crate::dtype::DType;
use crate::error::Error;
use crate::graph::trace::Call;
use crate::graph::{Loops, Op, Operands};

/// What an op computes of operands of these dtypes and shapes, and what `read` makes of that. None if it does not tell.
fn lowered<'a, R>(
    op: &dyn Op,
    ins: impl Iterator<Item = (DType, &'a [usize])>,
    batch_ndim: usize,
    read: impl FnOnce(Loops, &Operands<'_>) -> R,
) -> Option<R> {
    let (dtypes, dims): (SmallVec<[DType; 4]>, SmallVec<[&[usize]; 4]>) = ins.unzip();
    if dims.is_empty() {
        return None;
    }
    let operands = Operands { dtypes: &dtypes, dims: &dims, batch_ndim };
    // Where a file says what no trace says, an op may find that out by a panic.
    let loops = Error::catch(|| Ok(op.lower(&operands))).ok()??;
    Some(read(loops, &operands))
}

/// What the op of a call computes. None if it does not tell.
pub(super) fn loops_of(call: &Call) -> Option<Loops> {
    let ins = call.ins.iter().map(|x| (x.dtype(), x.dims()));
    lowered(&*call.op, ins, call.batch_ndim, |loops, _| loops)
}

impl Step {
    /// What its op computes of these values. None if it does not tell.
    pub fn lowered(&self, values: &[Value]) -> Option<Loops> {
        self.lowered_with(values, |loops, _| loops)
    }

    fn lowered_with<R>(&self, values: &[Value], read: impl FnOnce(Loops, &Operands<'_>) -> R) -> Option<R> {
        let operand = |&id: &Id| (values[id as usize].dtype, &values[id as usize].dims[..]);
        lowered(&*self.op, self.ins.iter().map(operand), self.batch_ndim, read)
    }

    /// How a program runs the step as it is. None if its op makes no such result of these values.
    pub fn way(&self, values: &[Value]) -> Option<Way> {
        let made = self.lowered_with(values, |loops, operands| {
            let &[out] = &self.outs[..] else { return None };
            let out = &values[out as usize];
            loops.can_make(operands, out.dtype, &out.dims).then_some((loops, out))
        });
        let Some(made) = made else { return Some(Way::Op) };
        let (loops, out) = made?;
        let ins: SmallVec<[_; 4]> = self.ins.iter().map(|&id| values[id as usize].laid_out()).collect();
        let way = match (loops, &ins[..]) {
            (Loops::Pointwise(row), [_] | [_, _] | [_, _, _]) => {
                Pointwise::new(row, &ins, &self.ins, &out.laid_out(), self.batch_ndim).map(Way::Pointwise)
            }
            (Loops::Fold(table, axes), [x]) => Way::fold((table, &axes), x, &out.laid_out()),
            _ => None,
        };
        Some(way.unwrap_or(Way::Op))
    }
}
