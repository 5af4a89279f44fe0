//! The Python module, and the only room that knows Python. It computes nothing.

extern crate self as bind;
use ferrograd::{array, dtype, engine, error, graph, ops, program, shape};
use ferrograd_base::{fork, host, kernel, memory};

mod call;
mod convert;
mod function;
mod grad;
mod hooks;
mod node;
mod python;
mod tensor;
mod transform;
mod value;

use pyo3::prelude::*;

/// Fills the module.
///
/// # Errors
///
/// NumPy may not import, and memory may end.
pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    host::set_present();
    // Ctrl-C during the first use of NumPy would be a panic there.
    m.py().import("numpy")?;
    numpy::dtype::<f64>(m.py());
    python::site::add(m)?;
    python::scope::add(m)?;
    python::error::add(m)?;
    python::facade::add(m)?;
    python::modes::add(m)?;
    python::settings::add(m)?;
    python::watch::add(m)?;
    value::classes::add(m)?;
    value::transformed::add(m)?;
    convert::device::add(m)?;
    convert::tensor::add(m)?;
    call::register::add(m)?;
    call::inplace::add(m)?;
    call::indexing::add(m)?;
    call::out::add(m)?;
    call::overrides::add(m)?;
    hooks::handle::add(m)?;
    hooks::methods::add(m)?;
    hooks::saved::add(m)?;
    node::object::add(m)?;
    node::observer::add(m)?;
    node::saved::add(m)?;
    grad::backward::add(m)?;
    grad::callbacks::add(m)?;
    grad::run::add(m)?;
    grad::snapshot::add(m)?;
    grad::tracking::add(m)?;
    transform::forward::add(m)?;
    transform::aliases::add(m)?;
    transform::callback::add(m)?;
    transform::calls::add(m)?;
    transform::result::add(m)?;
    transform::control::add(m)?;
    transform::program::add(m)?;
    transform::tracer::add(m)?;
    transform::host::add(m)?;
    transform::print::add(m)?;
    transform::saved::add(m)?;
    transform::vmap::add(m)?;
    function::call::add(m)?;
    tensor::create::add(m)?;
    tensor::dlpack::add(m)?;
    tensor::step::add(m)?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))
}
