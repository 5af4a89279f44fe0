//! Where a step that only moves elements gets each of them from.

use smallvec::SmallVec;

use super::parts::{Step, Value};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::Error;
use crate::graph::computed;
use crate::shape;

/// By element of the one result, in C order: the input that it comes from, and its place there in C order; None for a zero.
/// The op is asked where it moves the numbers from 1 on. None if it does not tell.
pub(super) fn moved(values: &[Value], step: &Step) -> Option<Vec<Option<(usize, usize)>>> {
    let mut places: Vec<(usize, usize)> = vec![];
    let mut ins: SmallVec<[Array; 4]> = SmallVec::new();
    for (k, &id) in step.ins.iter().enumerate() {
        let dims = &values[id as usize].dims;
        let n = shape::len(dims);
        let numbers: Vec<f64> = (0..n).map(|i| (places.len() + 1 + i) as f64).collect();
        // The op may take another way where elements lie in another order, but not to other elements.
        ins.push(Array::from_slice(&numbers, dims).ok()?);
        places.extend((0..n).map(|i| (k, i)));
    }
    // Where a file says what no trace says, an op may find that out by a panic.
    let refs: SmallVec<[&Array; 4]> = ins.iter().collect();
    let outs = Error::catch(|| computed(&*step.op, &refs, step.batch_ndim)).ok()?;
    let out = outs.iter().next().filter(|out| out.dtype() == DType::F64)?;
    let place = |v: f64| match v {
        0.0 => Some(None),
        _ => places.get((v as usize).checked_sub(1)?).map(|&place| Some(place)),
    };
    out.to_vec::<f64>().into_iter().map(place).collect()
}
