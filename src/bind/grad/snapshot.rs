//! The graph as plain data for Python: columns with a row for each node.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use rustc_hash::FxHashMap;

use super::endpoint::{Endpoint, dialect_of};
use crate::bind::convert::list::list;
use crate::bind::convert::numpy::dtype_object;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::gil::without_gil;
use crate::bind::python::site;
use crate::bind::value::var::Slot;
use crate::engine::{self, GraphSnapshot};
use crate::graph::{Meta, SavedKind};

/// The graph below `outputs` (tensors or gradient edges), inputs before their consumers. Nodes have the names of the
/// dialect, by default that of the first output. The columns are those of `ferrograd._graph.nodes.Record`.
#[pyfunction]
#[pyo3(signature = (outputs, dialect=None))]
fn snapshot<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = list)] outputs: Vec<Endpoint<'py>>,
    dialect: Option<Dialect>,
) -> PyResult<Bound<'py, PyTuple>> {
    let dialect = dialect.or_else(|| dialect_of(&outputs)).unwrap_or(Dialect::Native);
    let mut roots = Vec::with_capacity(outputs.len());
    for (i, out) in outputs.iter().enumerate() {
        let Some(edge) = out.edge() else {
            let text = format!(
                "graph: output {i} does not require grad, nothing below it was recorded: {}",
                out.why_untracked(py)
            );
            return Err(raise(py, "ArgumentError", text));
        };
        roots.push(edge);
    }
    let found = without_gil(py, || engine::snapshot(&roots)).or_raise()?;
    columns(py, &outputs, &found, dialect)
}

fn columns<'py>(
    py: Python<'py>,
    outputs: &[Endpoint<'py>],
    s: &GraphSnapshot,
    dialect: Dialect,
) -> PyResult<Bound<'py, PyTuple>> {
    let nodes = &s.nodes;
    let mut titles = FxHashMap::default();
    let titles = nodes.iter().map(|n| {
        let known = titles.entry((n.node.name(), n.node.is_leaf()));
        known.or_insert_with(|| PyString::new(py, &dialect.node_name(&n.node).0)).clone()
    });
    let titles = PyList::new(py, titles.collect::<Vec<_>>())?;
    let ops = PyList::new(py, nodes.iter().map(|n| PyString::intern(py, n.node.name())))?;
    let inputs = nodes.iter().map(|n| PyTuple::new(py, n.inputs.iter().copied()));
    let values = nodes.iter().map(|n| {
        let outs = n.node.outs.iter().map(|m| value(py, m));
        PyTuple::new(py, outs.collect::<PyResult<Vec<_>>>()?)
    });
    let holding = nodes.iter().map(|n| match n.saved_kind {
        SavedKind::Live => "live",
        SavedKind::Packed => "packed",
        SavedKind::Freed => "freed",
    });
    let places = site::places(py, nodes.iter().map(|n| n.node.site()))?;
    let names = PyDict::new(py);
    for (i, n) in nodes.iter().enumerate().filter(|(_, n)| n.node.is_leaf()) {
        let tensor = Slot::of(&n.node).and_then(|slot| slot.tensor(py));
        if let Some(name) = tensor.and_then(|v| v.get().given_name(py)) {
            names.set_item((i, 0), name)?;
        }
    }
    for (out, place) in outputs.iter().zip(&s.roots) {
        if let Some(name) = out.name(py) {
            names.set_item(place, name)?;
        }
    }
    let keys = nodes.iter().map(|n| std::sync::Arc::as_ptr(&n.node) as usize);
    let columns = [
        PyList::new(py, s.roots.iter().copied())?.into_any(),
        ops.into_any(),
        titles.into_any(),
        PyList::new(py, inputs.collect::<PyResult<Vec<_>>>()?)?.into_any(),
        PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_any(),
        PyList::new(py, nodes.iter().map(|n| n.saved_bytes))?.into_any(),
        PyList::new(py, holding.map(|h| PyString::intern(py, h)))?.into_any(),
        PyList::new(py, nodes.iter().map(|n| n.node.site().0))?.into_any(),
        PyList::new(py, keys)?.into_any(),
        places.into_any(),
        names.into_any(),
        s.saved_bytes.into_pyobject(py)?.into_any(),
    ];
    PyTuple::new(py, columns)
}

/// A value's shape, its dtype, and the batch size of each level of batching.
fn value<'py>(py: Python<'py>, meta: &Meta) -> PyResult<Bound<'py, PyTuple>> {
    let batch_sizes: Vec<usize> = meta.levels.as_slice().iter().map(|l| l.batch_size).collect();
    let shape = PyTuple::new(py, meta.dims.as_slice())?;
    PyTuple::new(
        py,
        [
            shape.into_any(),
            dtype_object(py, meta.dtype, Dialect::Native)?,
            PyTuple::new(py, batch_sizes)?.into_any(),
        ],
    )
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(snapshot, m)?)
}
