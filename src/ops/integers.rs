//! Gradients of integers, which the dialect of Paddle has.

use smallvec::SmallVec;

use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Cotangents, Grads, Op, Saved, SavedArray, SavedList, Tensor, no_rule_of_integers};
use crate::ops::movement::{cast, tracked_cast};

/// The gradients of an op's integers by its rule for floats, computed in float64 and rounded towards 0.
///
/// # Errors
/// Those of the rule; [`crate::Error::Dtype`] where the gradient is recorded and the rule reads results, which would be
/// constants.
pub(in crate::ops) fn in_floats(op: &dyn Op, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
    let inputs = s.inputs();
    if s.record && s.arrays.iter().skip(inputs).any(Option::is_some) {
        return no_rule_of_integers(op.name());
    }
    let mut arrays: SavedList = s.arrays.iter().map(|_| None).collect();
    let mut edges: SmallVec<[_; 4]> = s.edges.iter().cloned().collect();
    for (slot, _) in s.arrays.iter().enumerate().filter(|(_, saved)| saved.is_some()) {
        let saved = if slot < inputs { s.input(slot) } else { s.output(slot - inputs) };
        let saved = cast(&saved, DType::F64)?;
        arrays[slot] = Some(SavedArray::new(saved.array, &saved.levels));
        if s.record && slot < inputs {
            edges[slot] = saved.edge;
        }
    }
    let float = |g: &Option<Tensor>| g.as_ref().map(|g| cast(g, DType::F64)).transpose();
    let g: SmallVec<[_; 2]> = g.iter().map(float).collect::<Result<_>>()?;
    let grads = op.vjp(&g, &Saved { arrays: &arrays, edges: &edges, ..*s })?;
    let rounded = |(i, g): (usize, Option<Tensor>)| {
        g.filter(|_| s.needs(i)).map(|g| tracked_cast(&g, s.dtype(i))).transpose()
    };
    grads.into_iter().enumerate().map(rounded).collect()
}
