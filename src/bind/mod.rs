//! The Python module, and the only room that knows Python. It computes nothing.

mod autograd;
mod convert;
mod dialect;
mod enter;
mod entry;
mod error;
mod operators;
mod site;
mod var;

use pyo3::prelude::*;

#[pymodule(name = "_core", gil_used = true)]
fn core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    site::install(m.py());
    error::add(m)?;
    m.add_class::<var::Var>()?;
    m.add_class::<autograd::GradientEdge>()?;
    entry::add_methods(m.py())?;
    for dialect in dialect::Dialect::ALL {
        m.add(dialect.name(), entry::functions(m.py(), dialect)?)?;
    }
    m.add_function(wrap_pyfunction!(entry::listed, m)?)?;
    autograd::add(m)
}
