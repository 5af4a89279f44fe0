//! The ops, one file a family. An op is one `impl` (usually one row) and one entry, both in its family's file.

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

pub use entry::{Axes, Entry, Operand};
pub use index::Index;

/// Every public function, family by family.
pub fn registry() -> impl Iterator<Item = &'static Entry> {
    let families = [index::FAMILY, movement::KEEPING, movement::RESHAPING, movement::OTHERS];
    let families = families.into_iter().flatten().copied();
    [
        activation::ENTRIES,
        activation::ROWS,
        arithmetic::ENTRIES,
        compare::ENTRIES,
        contract::ENTRIES,
        copy::ENTRIES,
        conv::ENTRIES,
        create::ENTRIES,
        einsum::ENTRIES,
        likeness::ENTRIES,
        loss::ENTRIES,
        linalg::cholesky::ENTRIES,
        linalg::determinant::ENTRIES,
        linalg::eigen::ENTRIES,
        linalg::norms::ENTRIES,
        linalg::qr::ENTRIES,
        linalg::solve::ENTRIES,
        linalg::svd::ENTRIES,
        norm::ENTRIES,
        normalize::ENTRIES,
        pointwise::ENTRIES,
        pointwise::ROWS,
        pool::ENTRIES,
        random::ENTRIES,
        rectifier::ENTRIES,
        rectifier::ROWS,
        residual::ENTRIES,
        reduce::ENTRIES,
        select::ENTRIES,
        reduce::extreme::ENTRIES,
        reduce::logic::ENTRIES,
        reduce::moments::ENTRIES,
        reduce::nan::ENTRIES,
        reduce::norm::ENTRIES,
        reduce::product::ENTRIES,
        scan::ENTRIES,
        sort::ENTRIES,
    ]
    .into_iter()
    .chain(families)
    .flatten()
}
