//! Programs that are the steps of loops.

use super::Program;
use super::parts::{Id, Origin, Schedule};
use crate::array::Array;
use crate::error::Result;
use crate::graph::watch;
use crate::kernel::sequence::{From, StepOut, Steps};
use crate::shape;

impl Program {
    /// Runs the steps of a loop all at once: see `Loop::run`. The inputs are those of the first step, with whole columns; the
    /// carries and columns are contiguous. None if the program does more in a step than to compute, or is not for these inputs.
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
        let Some(repeated) = &self.repeated else { return Ok(None) };
        let Schedule { sequence, reads, .. } = &self.schedule;
        let mut given = inputs.to_vec();
        if !self.takes_rows(inputs, [carries, columns]) {
            return Ok(None);
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
        let Some(reads) = reads.iter().map(|&id| place(id)).collect::<Option<Vec<usize>>>() else {
            return Ok(None);
        };
        let mut outs = vec![];
        for (k, &id) in self.outputs.iter().enumerate() {
            let whole = self.values[id as usize].whole(id);
            let made = self.places[k].map(From::Result);
            let Some(from) = made.or_else(|| place(whole).map(From::Given)) else { return Ok(None) };
            let carry = inputs[..carries].get(k).copied();
            let Some(out) = self.out_of_step(id, from, carry) else { return Ok(None) };
            outs.push(out);
        }
        let steps = Steps { op, carries, columns, length, reverse, keeps, reads: &reads, outs: &outs };
        self.watched(watch::profiles(), |done| repeated.run(sequence, &given, &steps, done))
    }

    /// Whether a step can read its carries, rows of its columns, and the other inputs where they lie.
    fn takes_rows(&self, inputs: &[&Array], [carries, columns]: [usize; 2]) -> bool {
        inputs.iter().zip(&self.values).enumerate().all(|(id, (x, value))| {
            let is_row = (carries..carries + columns).contains(&id);
            let dims = if is_row { &x.dims()[1..] } else { x.dims() };
            let is_laid_out = if id < carries + columns {
                x.is_contiguous() && shape::are_contiguous(&value.dims, &value.strides)
            } else {
                x.has_strides(&value.strides)
            };
            is_laid_out && dims == value.dims.as_slice() && x.dtype() == value.dtype
        })
    }

    /// What a step makes of an output, which lies in this array. None if its elements are not adjacent there, or if it is not like
    /// the carry whose place it takes.
    fn out_of_step(&self, id: Id, from: From, carry: Option<&Array>) -> Option<StepOut> {
        let value = &self.values[id as usize];
        let all = &self.values[value.whole(id) as usize];
        let offset = usize::try_from(value.begin()).ok()?;
        let are_adjacent = [value, all].iter().all(|x| shape::are_contiguous(&x.dims, &x.strides));
        let is_like = |first: &Array| first.dims() == value.dims.as_slice() && first.dtype() == value.dtype;
        (are_adjacent && value.dtype == all.dtype && carry.is_none_or(is_like)).then(|| StepOut {
            from,
            start: offset * value.dtype.size(),
            dtype: value.dtype,
            dims: value.dims.clone(),
        })
    }
}
