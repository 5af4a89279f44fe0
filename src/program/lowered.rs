//! The ops of steps as loops.

use smallvec::SmallVec;

use super::parts::{Id, Step, Value};
use super::way::{Pointwise, Way};
use crate::array::Layout;
use crate::dtype::DType;
use crate::graph::trace::Call;
use crate::graph::{Loops, Made, Operands, made_by};

/// What `read` says of operands of these dtypes and shapes.
fn with_operands<'a, R>(
    ins: impl Iterator<Item = (DType, &'a [usize])>,
    batch_ndim: usize,
    read: impl FnOnce(&Operands<'_>) -> R,
) -> R {
    let (dtypes, dims): (SmallVec<[DType; 4]>, SmallVec<[&[usize]; 4]>) = ins.unzip();
    read(&Operands { dtypes: &dtypes, dims: &dims, batch_ndim })
}

/// What the op of a call computes. None if it does not tell.
pub(super) fn loops_of(call: &Call) -> Option<Loops> {
    let ins = call.ins.iter().map(|x| (x.dtype(), x.dims()));
    with_operands(ins, call.batch_ndim, |operands| call.op.lower(operands))
}

/// How a program runs loops over these values, whose one result has this dtype and layout.
pub(super) fn way_of(
    values: &[Value],
    loops: &Loops,
    ids: &[Id],
    out: &(DType, Layout),
    batch_ndim: usize,
) -> Way {
    let ins: SmallVec<[_; 4]> = ids.iter().map(|&id| values[id as usize].laid_out()).collect();
    let way = match (loops, &ins[..]) {
        (Loops::Pointwise(row), ins) => Pointwise::new(*row, ins, ids, out, batch_ndim)
            .map(|p| Way::Pointwise(p.with_exponent(|k, number| values[ids[k] as usize].is_all(number)))),
        (Loops::Fold(table, axes, _), [x]) => Way::fold((table, axes), x, out),
        _ => None,
    };
    way.unwrap_or(Way::Op)
}

impl Step {
    fn with_operands<R>(&self, values: &[Value], read: impl FnOnce(&Operands<'_>) -> R) -> R {
        let operand = |&id: &Id| (values[id as usize].dtype, &values[id as usize].dims[..]);
        with_operands(self.ins.iter().map(operand), self.batch_ndim, read)
    }

    /// What its op computes of these values. None if it does not tell.
    pub fn lowered(&self, values: &[Value]) -> Option<Loops> {
        self.with_operands(values, |operands| self.op.lower(operands))
    }

    /// Whether its op makes such results of these values, as far as dtypes and shapes tell that.
    pub fn is_so(&self, values: &[Value]) -> bool {
        let is_so = |made: Made| {
            let outs = self.outs.iter().map(|&id| &values[id as usize]);
            made.len() == outs.len()
                && made.iter().zip(outs).all(|(made, out)| made.0 == out.dtype && made.1 == out.dims)
        };
        self.op.decides() || self.with_operands(values, |ins| made_by(&*self.op, ins)).is_some_and(is_so)
    }

    /// How a program runs the step as it is. None if its op makes no such result of these values.
    pub fn way(&self, values: &[Value]) -> Option<Way> {
        let Some(loops) = self.lowered(values) else { return Some(Way::Op) };
        let &[out] = &self.outs[..] else { return None };
        let out = &values[out as usize];
        if !self.with_operands(values, |ins| loops.can_make(ins, out.dtype, &out.dims)) {
            return None;
        }
        Some(way_of(values, &loops, &self.ins, &out.laid_out(), self.batch_ndim))
    }
}
