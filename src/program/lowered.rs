//! The ops of steps as loops.

use smallvec::SmallVec;

use super::parts::{Id, Step, Value};
use super::way::{Pointwise, Way};
use crate::dtype::DType;
use crate::error::Error;
use crate::graph::trace::Call;
use crate::graph::{Loops, Op, Operands};

/// What an op computes of operands of these dtypes and shapes. None if it does not tell.
fn lowered<'a>(
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

    /// How a program runs the step as it is. None if its op makes no such result of these values.
    pub fn way(&self, values: &[Value]) -> Option<Way> {
        let Some(loops) = self.lowered(values) else { return Some(Way::Op) };
        let &[out] = &self.outs[..] else { return None };
        let of = |&id: &Id| values[id as usize].laid_out();
        let (ins, out): (SmallVec<[_; 4]>, _) = (self.ins.iter().map(of).collect(), of(&out));
        let (dtypes, dims): (SmallVec<[DType; 4]>, SmallVec<[&[usize]; 4]>) =
            ins.iter().map(|(dtype, x)| (*dtype, &x.dims[..])).unzip();
        let operands = Operands { dtypes: &dtypes, dims: &dims, batch_ndim: self.batch_ndim };
        if !loops.make(&operands, out.0, &out.1.dims) {
            return None;
        }
        let way = match (loops, &ins[..]) {
            (Loops::Pointwise(row), [_] | [_, _] | [_, _, _]) => {
                Pointwise::new(row, &ins, &self.ins, &out, self.batch_ndim).map(Way::Pointwise)
            }
            (Loops::Fold(table, axes), [x]) => Way::fold((table, &axes), x, &out),
            _ => None,
        };
        Some(way.unwrap_or(Way::Op))
    }
}
