//! The ops, in folders by subject. An op is one `impl` (usually one row) and one function marked `#[op]`.

use std::sync::LazyLock;

pub(crate) mod args;
pub mod check;
pub mod entry;
mod integers;
mod linear;
mod operators;
pub mod promote;
mod sizes;
pub mod switch;
mod terms;

pub mod autocast;
pub mod batch;
pub mod combine;
pub mod contract;
pub mod control;
pub mod copy;
pub mod create;
pub mod distance;
pub mod fft;
mod gather;
pub mod half;
pub mod index;
pub mod linalg;
pub mod loss;
pub mod movement;
pub mod nn;
pub mod pointwise;
pub mod random;
pub mod reduce;
#[cfg(test)]
mod said;
pub mod samples;
pub mod scan;
pub mod search;
pub mod sort;
pub mod tangents;

pub use args::Index;
pub use entry::{Axes, Entry, Operand};

/// Every public function, sorted by its first name.
pub fn registry() -> impl Iterator<Item = &'static Entry> {
    static ENTRIES: LazyLock<Vec<&'static Entry>> = LazyLock::new(|| {
        let mut entries: Vec<&Entry> = inventory::iter::<Entry>.into_iter().collect();
        entries.sort_unstable_by_key(|entry| entry.names[0]);
        entries
    });
    ENTRIES.iter().copied()
}
