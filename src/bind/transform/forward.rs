//! Forward mode: tangents and Taylor coefficients, pushed through the graph.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::bind::convert::list::list;
use crate::bind::grad::endpoint::Endpoint;
use crate::bind::grad::run::warn_of_vectors;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::gil::without_gil;
use crate::bind::python::stack;
use crate::bind::value::var::Var;
use crate::engine::{self, By, Differentiating};
use crate::error::{Result, interned};
use crate::graph::{Edge, Tensor, operand};
use crate::ops::copy::alias;

/// The tensor as an op of its own in the graph, always tracked. Derivatives with respect to it leave out what it was
/// computed from.
#[pyfunction]
fn fresh<'py>(py: Python<'py>, x: &Bound<'py, Var>) -> PyResult<Bound<'py, Var>> {
    stack::check().or_raise()?;
    let t = operand(&x.get().operand()).or_raise()?;
    let is_tracked = t.is_tracked();
    let own = if is_tracked { alias(&t).or_raise()? } else { t };
    let v = Var::result(py, own, x.get().dialect())?;
    if !is_tracked {
        Var::make_leaf(&v)?;
    }
    if let Some(edge) = v.get().look().edge {
        edge.node.begin_tangents();
    }
    Ok(v)
}

/// Whether a tensor depends on one that [`fresh`] has made.
#[pyfunction]
fn may_have_tangent(x: &Bound<'_, Var>) -> bool {
    x.get().look().edge.is_some_and(|e| e.node.may_have_tangents())
}

/// The tangents of `outputs` if `inputs`, tensors or edges, have these tangents: a tensor each, or None where no tangent arrives.
#[pyfunction]
fn push<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = list)] outputs: Vec<Bound<'py, Var>>,
    #[pyo3(from_py_with = list)] inputs: Vec<Endpoint<'py>>,
    #[pyo3(from_py_with = list)] tangents: Vec<Bound<'py, Var>>,
    create_graph: bool,
) -> PyResult<Vec<Option<Bound<'py, Var>>>> {
    let push = |outputs: &[Edge], moved: &[_]| Ok(vec![engine::push(outputs, moved, create_graph)?]);
    Ok(pushed(py, &outputs, moves(py, &inputs, &tangents)?, push)?.remove(0))
}

/// The edges of the tracked inputs, each with its tangent.
fn moves(
    py: Python<'_>,
    inputs: &[Endpoint<'_>],
    tangents: &[Bound<'_, Var>],
) -> PyResult<Vec<(Edge, Tensor)>> {
    if inputs.len() != tangents.len() {
        let text = format!("jvp: got {} inputs and {} tangents", inputs.len(), tangents.len());
        return Err(raise(py, "ArgumentError", text));
    }
    let mut moved = vec![];
    for (i, (x, t)) in inputs.iter().zip(tangents).enumerate() {
        let (Some(edge), t) = (x.edge(), t.get().tensor()) else { continue };
        if edge.meta().dims[..] != *t.dims() {
            let text = format!("jvp: tangent {i} has shape {:?}, its input {:?}", t.dims(), edge.meta().dims);
            return Err(raise(py, "ShapeError", text));
        }
        moved.push((edge, t));
    }
    Ok(moved)
}

/// Rows of what `push` makes of the tracked outputs and the moved inputs: a tensor for each output, or None where it is
/// not tracked or no tangent arrives.
fn pushed<'py>(
    py: Python<'py>,
    outputs: &[Bound<'py, Var>],
    moved: Vec<(Edge, Tensor)>,
    push: impl FnOnce(&[Edge], &[(Edge, Tensor)]) -> Result<Vec<Vec<Option<Tensor>>>> + Send,
) -> PyResult<Vec<Vec<Option<Bound<'py, Var>>>>> {
    let edges: Vec<Option<Edge>> = outputs.iter().map(|v| v.get().look().edge).collect();
    let tracked: Vec<Edge> = edges.iter().flatten().cloned().collect();
    let found = without_gil(py, || push(&tracked, &moved)).or_raise()?;
    warn_of_vectors(py)?;
    let dialect = outputs.first().map_or(Dialect::Native, |v| v.get().dialect());
    let by_output = |row: Vec<Option<Tensor>>| {
        let mut row = row.into_iter();
        let result = |edge: &Option<Edge>| {
            let t: Option<Tensor> = edge.as_ref().and_then(|_| row.next().flatten());
            t.map(|t| Var::result(py, t, dialect)).transpose()
        };
        edges.iter().map(result).collect()
    };
    found.into_iter().map(by_output).collect()
}

/// The derivatives of `outputs` with respect to a number `t`, if `inputs` are moved by `t` times `tangents`. For each
/// order from the first on: a tensor for each output, or None where no tangent arrives.
#[pyfunction]
fn taylor<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = list)] outputs: Vec<Bound<'py, Var>>,
    #[pyo3(from_py_with = list)] inputs: Vec<Endpoint<'py>>,
    #[pyo3(from_py_with = list)] tangents: Vec<Bound<'py, Var>>,
    order: usize,
    create_graph: bool,
) -> PyResult<Vec<Vec<Option<Bound<'py, Var>>>>> {
    let push = |outputs: &[Edge], moved: &[_]| engine::taylor(outputs, moved, order, create_graph);
    pushed(py, &outputs, moves(py, &inputs, &tangents)?, push)
}

/// Whether the graph below `outputs` leads to a leaf that is not among `places`.
#[pyfunction]
fn reaches_other_leaves(
    py: Python<'_>,
    #[pyo3(from_py_with = list)] outputs: Vec<Bound<'_, Var>>,
    #[pyo3(from_py_with = list)] places: Vec<Bound<'_, Var>>,
) -> PyResult<bool> {
    let edges = |vars: Vec<Bound<'_, Var>>| -> Vec<Edge> {
        vars.iter().filter_map(|v| v.get().look().edge).collect()
    };
    let (outputs, places) = (edges(outputs), edges(places));
    without_gil(py, || Ok(engine::reaches_other_leaves(&outputs, &places))).or_raise()
}

/// A context in which derivatives with respect to some tensors are being computed, by a transform of the name `by`: a
/// value that depends on them gives no numbers.
#[pyclass(frozen, name = "Differentiating", module = "ferrograd._core")]
pub struct Scope {
    places: Vec<Py<Var>>,
    by: &'static str,
    running: Mutex<Vec<Differentiating>>,
}

#[pymethods]
impl Scope {
    #[new]
    fn new(places: Vec<Py<Var>>, by: &str) -> Scope {
        Scope { places, by: interned(by), running: Mutex::default() }
    }

    fn __enter__(&self) {
        let edges = self.places.iter().filter_map(|v| v.get().look().edge).collect();
        let entered = Differentiating::new(edges, By::Transform(self.by));
        self.running.lock().unwrap_or_else(PoisonError::into_inner).push(entered);
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        let left = self.running.lock().unwrap_or_else(PoisonError::into_inner).pop();
        drop(left);
    }
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Scope>()?;
    m.add_function(wrap_pyfunction!(fresh, m)?)?;
    m.add_function(wrap_pyfunction!(may_have_tangent, m)?)?;
    m.add_function(wrap_pyfunction!(push, m)?)?;
    m.add_function(wrap_pyfunction!(taylor, m)?)?;
    m.add_function(wrap_pyfunction!(reaches_other_leaves, m)?)
}
