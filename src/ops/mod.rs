//! The ops, one file a family. An op is one `impl` (usually one row) and one entry, both in its family's file.

pub mod entry;
mod operators;

pub mod alias;
pub mod arithmetic;
pub mod contract;
pub mod create;
mod diagonal;
pub mod einsum;
pub mod index;
pub mod lanes;
pub mod movement;
pub mod pointwise;
pub mod reduce;

pub use entry::{Axes, Entry, Operand};
pub use index::Index;

/// Every public function, family by family.
pub fn registry() -> impl Iterator<Item = &'static Entry> {
    [
        arithmetic::ENTRIES,
        contract::ENTRIES,
        create::ENTRIES,
        einsum::ENTRIES,
        index::ENTRIES,
        movement::ENTRIES,
        pointwise::ENTRIES,
        reduce::ENTRIES,
    ]
    .into_iter()
    .flatten()
}
