//! Elements picked by position, and written there.

use crate::graph::Tensor;
use crate::ops::Entry;

/// One part of an index expression `x[...]`.
#[derive(Clone)]
pub enum Index {
    Int(i64),
    Slice {
        start: Option<i64>,
        stop: Option<i64>,
        step: Option<i64>,
    },
    NewAxis,
    Ellipsis,
    /// Integers or truth values.
    Tensor(Tensor),
}

pub(crate) const ENTRIES: &[Entry] = &[];
