//! What small computations cost, in tenths of a nanosecond. Passes compare sums of these, so what counts is how they are related,
//! which is alike on all processors with vectors. `cargo bench --bench costs` measures them.

/// A step of arithmetic on few elements, with its share of the cluster that it is in.
pub(super) const STEP: i64 = 40;
/// An instruction of arithmetic on single numbers.
pub(super) const NUMBER: i64 = 8;
/// A step that calls a function for few elements, without what it takes for each of them.
pub(super) const STEP_OF_CALLS: i64 = 150;
/// An instruction that calls a function for a number, less what a step takes for an element.
pub(super) const NUMBER_OF_CALLS: i64 = 70;
/// A kernel or a cluster.
pub(super) const ITEM: i64 = 60;
/// An element that a kernel moves.
pub(super) const MOVED: i64 = 2;
