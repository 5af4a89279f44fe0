//! Reductions over axes.

pub(crate) mod covariance;
pub(crate) mod extreme;
mod fold;
pub(crate) mod logic;
pub(crate) mod moments;
pub(crate) mod nan;
pub(crate) mod norm;
pub(crate) mod product;
pub(crate) mod selected;
mod sum;

pub use extreme::{argmax, argmin, max, max_with_index, median, median_with_index, min, min_with_index};
pub(super) use fold::{Folded, in_bool, wide};
pub use logic::{all, any, count_nonzero};
pub use moments::{std, var};
pub use norm::norm;
pub use product::prod;
pub use sum::{mean, sum};
