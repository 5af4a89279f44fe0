//! Where some examples of `vmap` take a side of a branch, or the next step of a loop, and others do not.

use std::sync::Arc;

use smallvec::SmallVec;

use super::modes::{self, Flags, Modes, ModesGuard, Takers};
use super::record::Tensor;
use crate::error::Result;

/// The takers of what this thread computes; none where all examples are.
#[doc(hidden)]
pub fn takers() -> Option<Arc<dyn Takers>> {
    if modes::flags().has(Flags::TAKERS) { modes::with(|m| m.takers.clone()) } else { None }
}

/// The tensor as an operand of an op that this thread applies: see [`Takers::operand`].
///
/// # Errors
/// For want of memory.
#[doc(hidden)]
pub fn operand(x: &Tensor) -> Result<Tensor> {
    Ok(takers().map(|takers| takers.operand(x)).transpose()?.flatten().unwrap_or_else(|| x.clone()))
}

/// Lets ops of this thread compute on operands of all examples, until the guard is dropped.
#[doc(hidden)]
#[must_use]
pub fn for_all() -> ModesGuard {
    Modes::enter(|m| m.takers = None)
}

/// [`operand`] of each.
pub(super) fn operands(ins: &[&Tensor]) -> Result<SmallVec<[Tensor; 4]>> {
    ins.iter().map(|x| operand(x)).collect()
}
