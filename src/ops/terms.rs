//! Sums in rules: a cotangent or tangent that is zero is missing.

use crate::graph::Tensor;

/// The sum of the terms that are there. None is zero.
pub(in crate::ops) fn add_terms(terms: impl IntoIterator<Item = Option<Tensor>>) -> Option<Tensor> {
    terms.into_iter().flatten().reduce(|a, b| a + b)
}
