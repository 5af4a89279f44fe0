//! The Python module, and the only room that knows Python. It computes nothing.

mod accumulate;
mod attributes;
mod autograd;
mod buffer;
mod call;
mod callbacks;
mod convert;
mod dialect;
mod dlpack;
mod end;
mod engine;
mod enter;
mod entry;
mod error;
mod function;
mod garbage;
mod grad_methods;
mod graph;
mod hook_methods;
mod hooks;
mod indexing;
mod inference;
mod inplace;
mod interop;
mod lanes;
mod multi;
mod node;
mod node_call;
mod node_values;
mod notes;
mod observe;
mod operators;
mod protocol;
mod retain;
mod rules;
mod saved;
mod sequence;
mod site;
mod step;
mod storage;
mod subscript;
mod var;
mod view;
mod watch;

use pyo3::prelude::*;

#[pymodule(name = "_core", gil_used = true)]
fn core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    site::install(m.py());
    error::add(m)?;
    m.add_class::<var::Var>()?;
    m.add("PaddleTensor", m.py().get_type::<dialect::PaddleTensor>())?;
    m.add("TorchTensor", m.py().get_type::<dialect::TorchTensor>())?;
    entry::add_methods(m.py())?;
    for dialect in dialect::Dialect::ALL {
        entry::add_namespace(m, dialect)?;
    }
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_function(wrap_pyfunction!(entry::listed, m)?)?;
    m.add_function(wrap_pyfunction!(inplace::overwrite, m)?)?;
    engine::add(m)?;
    inference::add(m)?;
    dlpack::add(m)?;
    function::add(m)?;
    saved::add(m)?;
    lanes::add(m)?;
    step::add(m)?;
    watch::add(m)?;
    node::add(m)?;
    hook_methods::add(m)?;
    graph::add(m)?;
    observe::add(m)?;
    callbacks::add(m)?;
    autograd::add(m)
}
