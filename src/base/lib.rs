//! The lower floors of ferrograd: arrays and their dtypes, the kernels that compute with them, errors, and what happens when
//! memory ends.
//!
//! This crate is a part of `ferrograd`, which re-exports what is meant for users. Its own interface may change with any
//! version.

#![allow(rustdoc::private_intra_doc_links, reason = "its documentation is for those who change it")]
#![allow(clippy::len_without_is_empty, reason = "the crates of the house do not ask for it")]

pub mod array;
pub mod dtype;
pub mod error;
pub mod fork;
pub mod host;
pub mod kernel;
pub mod memory;
pub mod shape;
pub mod stored;
pub mod sync;

pub use array::Array;
pub use dtype::DType;
pub use error::{Error, Result};
pub use ndarray;
