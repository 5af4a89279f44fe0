//! The ops, one file a family. An op is one `impl` (usually one row) and one entry, both in its family's file.

use std::sync::LazyLock;

mod args;
pub mod entry;
mod operators;

pub mod activation;
pub mod alias;
mod along;
pub mod arithmetic;
pub mod compare;
pub mod contract;
pub mod conv;
pub mod copy;
pub mod create;
mod curve;
pub mod einsum;
pub mod index;
pub mod lanes;
pub mod likeness;
pub mod linalg;
pub mod loss;
pub mod movement;
pub mod norm;
pub mod normalize;
pub mod pointwise;
pub mod pool;
pub mod promote;
pub mod random;
pub mod rectifier;
pub mod reduce;
pub mod residual;
pub mod scan;
pub mod select;
pub mod sort;
mod spatial;
mod standardize;
mod terms;

pub use entry::{Axes, Entry, Operand};
pub use index::Index;

/// Every public function, by its first name.
pub fn registry() -> impl Iterator<Item = &'static Entry> {
    static ENTRIES: LazyLock<Vec<&'static Entry>> = LazyLock::new(|| {
        let mut entries: Vec<&Entry> = inventory::iter::<Entry>.into_iter().collect();
        entries.sort_unstable_by_key(|entry| entry.names[0]);
        entries
    });
    ENTRIES.iter().copied()
}
