//! Shape, dtype and levels of a node's outputs.

use super::levels::Levels;
use super::one_or_many::OneOrMany;
use crate::array::Array;
use crate::dtype::DType;
use crate::shape::{self, Dims};

/// Shape (without hidden axes), dtype and levels of one output of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    pub dims: Dims,
    pub dtype: DType,
    pub levels: Levels,
}

impl std::fmt::Display for Meta {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.dims.as_slice())
    }
}

impl Meta {
    /// Of an array whose first axes are those of the levels.
    #[inline]
    pub(super) fn of(array: &Array, levels: &Levels) -> Meta {
        let dims = shape::dims(&array.dims()[levels.len()..]);
        Meta { dims, dtype: array.dtype(), levels: levels.clone() }
    }
}

/// By output of a node.
pub type Metas = OneOrMany<Meta>;

impl Metas {
    /// Fills an empty list with those of arrays whose first axes are those of the levels. The shape of one array is
    /// written where it stays.
    #[inline]
    pub(super) fn fill(&mut self, arrays: &[Array], levels: &Levels) {
        let [one] = arrays else {
            *self = arrays.iter().map(|a| Meta::of(a, levels)).collect();
            return;
        };
        *self = OneOrMany::One(Meta { dims: Dims::new(), dtype: one.dtype(), levels: levels.clone() });
        one.dims()[levels.len()..].iter().for_each(|&d| self[0].dims.push(d));
    }
}
