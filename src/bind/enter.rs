//! Leaving Python for long work: the GIL released, the call site carried along, panics turned into errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::graph::site::Site;

/// Runs `f` while other Python threads run. What it records carries the site of the current call.
pub fn detached<T: Send>(py: Python<'_>, f: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let site = Site::current();
    py.detach(|| catch_unwind(AssertUnwindSafe(|| site.within(f))))
        .unwrap_or_else(|p| Err(Error::from_panic(p)))
}
