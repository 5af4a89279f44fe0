//! The library that Python loads. Its classes and functions are the crate `ferrograd_bind`, which is compiled beside the machine
//! code of `ferrograd`. This crate, as a library that is loaded, is compiled after both.

use ferrograd_base::memory;
use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: memory::WithReserve = memory::WithReserve::new();

#[pymodule(name = "_core", gil_used = true)]
fn core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    ferrograd_bind::add(m)
}
