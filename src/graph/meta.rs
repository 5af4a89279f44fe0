//! What is known of the outputs of a node without their values.

use super::one_or_many::OneOrMany;
use super::{Levels, Tensor};
use crate::array::Array;
use crate::dtype::DType;
use crate::shape::{self, Dims};

/// Shape (as ops see it), dtype and levels of one output of a node.
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
    pub fn of(t: &Tensor) -> Meta {
        Meta::of_array(&t.array, &t.levels)
    }

    /// Of an array whose first axes are those of the levels.
    #[inline]
    fn of_array(array: &Array, levels: &Levels) -> Meta {
        Meta {
            dims: shape::dims(&array.dims()[levels.len()..]),
            dtype: array.dtype(),
            levels: levels.clone(),
        }
    }
}

/// Of all outputs of a node.
pub type Metas = OneOrMany<Meta>;

impl Metas {
    /// Of arrays whose first axes are those of the levels.
    #[inline]
    pub(super) fn of(arrays: &[Array], levels: &Levels) -> Metas {
        match arrays {
            [one] => OneOrMany::One(Meta::of_array(one, levels)),
            several => several.iter().map(|a| Meta::of_array(a, levels)).collect(),
        }
    }
}
