//! Programs that are the steps of loops.

use super::Program;
use super::parts::{Id, Origin, Work};
use crate::array::Array;
use crate::error::Result;
use crate::graph::watch;
use crate::kernel::sequence::{From, StepOut, Steps};
use crate::shape;

impl Program {
    /// Runs the steps of a loop all at once: see `Loop::run`. The inputs are those of the first step, with whole columns; the
    /// carries and columns are contiguous. None if the program is more than one sequence, or is not for these inputs.
    ///
    /// # Errors
    /// For want of memory, and if the loop is interrupted.
    pub fn repeat(
        &self,
        op: &'static str,
        inputs: &[&Array],
        [carries, columns, length]: [usize; 3],
        reverse: bool,
        keeps: bool,
    ) -> Result<Option<Vec<Array>>> {
        let [Work::Sequence(group)] = &self.work[..] else { return Ok(None) };
        let mut given = inputs.to_vec();
        let is_row = |id: usize| (carries..carries + columns).contains(&id);
        for (id, x) in inputs.iter().enumerate() {
            let value = &self.values[id];
            let dims = if is_row(id) { &x.dims()[1..] } else { x.dims() };
            let is_laid_out = if id < carries + columns {
                x.is_contiguous() && shape::are_contiguous(&value.dims, &value.strides)
            } else {
                x.has_strides(&value.strides)
            };
            if !is_laid_out || dims != value.dims.as_slice() || x.dtype() != value.dtype {
                return Ok(None);
            }
        }
        // The number of the array that a value which the step does not make lies in.
        let mut place = |id: Id| match &self.values[id as usize].origin {
            Origin::Input => Some(id as usize),
            Origin::Constant(x) => {
                given.push(x);
                Some(given.len() - 1)
            }
            _ => None,
        };
        let Some(reads) = group.reads.iter().map(|&id| place(id)).collect::<Option<Vec<usize>>>() else {
            return Ok(None);
        };
        let mut outs = vec![];
        for (k, &id) in self.outputs.iter().enumerate() {
            let value = &self.values[id as usize];
            let whole = value.whole(id);
            let written = group.writes.iter().position(|&w| w == whole).map(From::Write);
            let Some(from) = written.or_else(|| place(whole).map(From::Given)) else { return Ok(None) };
            let all = &self.values[whole as usize];
            let offset = match value.origin {
                Origin::View { offset, .. } => offset,
                _ => 0,
            };
            let is_like =
                |first: &Array| first.dims() == value.dims.as_slice() && first.dtype() == value.dtype;
            if !shape::are_contiguous(&value.dims, &value.strides)
                || !shape::are_contiguous(&all.dims, &all.strides)
                || value.dtype != all.dtype
                || offset < 0
                || k < carries && !is_like(inputs[k])
            {
                return Ok(None);
            }
            let start = offset as usize * value.dtype.size();
            outs.push(StepOut { from, start, dtype: value.dtype, dims: value.dims.clone() });
        }
        let steps = Steps { op, carries, columns, length, reverse, keeps, reads: &reads, outs: &outs };
        self.watched(group, watch::profiles(), |done| {
            group.repeated.run(&group.sequence, &given, &steps, done)
        })
    }
}
