//! Whether an array holds a value that is not a finite number.

use super::num::Real;
use crate::array::Array;
use crate::dtype::dispatch;

/// What is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Nan,
    NotFinite,
}

/// Whether an array has such an element.
pub fn has(x: &Array, kind: Kind) -> bool {
    fn any<T: Real>(x: &[T], kind: Kind) -> bool {
        // No early end inside a block: the loop is one of vectors.
        x.chunks(4096).any(|block| match kind {
            Kind::Nan => block.iter().fold(false, |found, v| found | v.nan()),
            Kind::NotFinite => block.iter().fold(false, |found, v| found | !v.is_finite()),
        })
    }
    dispatch!(x.dtype(), float T => match x.as_slice::<T>() {
        Some(x) => any(x, kind),
        None => any(&x.to_vec::<T>(), kind),
    }, else false)
}
