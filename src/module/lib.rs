//! The Python module as a library to load. What is in it is the crate `ferrograd_bind`, which the compiler works at while it makes
//! code for `ferrograd`: a library to load would have to wait for that.

use ferrograd_base::memory;
use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: memory::WithReserve = memory::WithReserve::new();

#[pymodule(name = "_core", gil_used = true)]
fn core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    ferrograd_bind::add(m)
}
