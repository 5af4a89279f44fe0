//! `grad`, `backward` and the grad mode.

use std::cell::Cell;
use std::sync::Arc;

use pyo3::prelude::*;

use super::convert::lift;
use super::dialect::Dialect;
use super::var::{Slot, Var};
use crate::engine::Request;
use crate::graph::{Edge, Kind, Node, Tensor};
use crate::ops::arithmetic::{add_in_place, add_same};
use crate::ops::movement::broadcast_to;

thread_local! {
    static ENABLED: Cell<bool> = const { Cell::new(true) };
}

/// Whether ops are being recorded on this thread.
#[inline]
pub fn grad_enabled() -> bool {
    ENABLED.get()
}

/// One output of a node of the graph: where a gradient can be asked for without the tensor.
#[pyclass(frozen, module = "ferrograd")]
pub struct GradientEdge {
    pub edge: Edge,
}

/// Differentiates `outputs` (tensors) from `seeds` (tensors or None for ones) with respect to `inputs`.
#[pyfunction]
#[pyo3(signature = (outputs, inputs, seeds, retain_graph, create_graph, leaves, blocked))]
#[allow(clippy::too_many_arguments)]
fn run<'py>(
    py: Python<'py>,
    outputs: Vec<Bound<'py, Var>>,
    inputs: Vec<Bound<'py, Var>>,
    seeds: Vec<Option<Bound<'py, Var>>>,
    retain_graph: bool,
    create_graph: bool,
    leaves: bool,
    blocked: Vec<Bound<'py, Var>>,
) -> PyResult<(Vec<Option<Bound<'py, Var>>>, Vec<bool>)> {
    let mut request = Request { retain_graph, create_graph, leaves, ..Request::default() };
    let dialect = outputs.first().map_or(Dialect::Native, |v| v.get().lock().dialect);
    for (out, seed) in outputs.iter().zip(&seeds) {
        let t = out.get().tensor();
        let Some(edge) = t.edge.clone() else { continue };
        let g = match seed {
            Some(g) => g.get().tensor(),
            None => lift(broadcast_to(&Tensor::scalar_of(t.dtype(), 1.0), t.dims()))?,
        };
        request.roots.push((edge, g));
    }
    request.wanted = inputs
        .iter()
        .filter_map(|v| {
            let t = v.get().tensor();
            t.edge.clone().or_else(|| t.leaf().edge)
        })
        .collect();
    request.blocked = blocked.iter().filter_map(|v| v.get().tensor().edge).collect();
    let answer = lift(super::enter::detached(py, || request.run()))?;
    for (node, g) in answer.leaves {
        deposit(py, &node, g, create_graph, dialect)?;
    }
    let wanted = answer.wanted.into_iter().map(|t| t.map(|t| Var::result(py, t, dialect)).transpose());
    Ok((wanted.collect::<PyResult<_>>()?, answer.reached))
}

/// Adds a leaf's gradient to its tensor's `.grad`.
fn deposit(
    py: Python<'_>,
    leaf: &Arc<Node>,
    g: Tensor,
    create_graph: bool,
    dialect: Dialect,
) -> PyResult<()> {
    let Kind::Leaf(owner) = &leaf.kind else { return Ok(()) };
    let Some(slot) = owner.upgrade().and_then(|o| o.downcast::<Slot>().ok()) else { return Ok(()) };
    let mut place = slot.get();
    match &*place {
        None => *place = Some(Var::result(py, g, dialect)?.unbind()),
        Some(old) => {
            let mut state = old.get().lock();
            if create_graph || state.tensor.is_tracked() || !add_in_place(&mut state.tensor.array, &g.array) {
                state.tensor = lift(add_same(&state.tensor, &g))?;
            }
        }
    }
    Ok(())
}

/// Sets whether ops are recorded on this thread; returns what it was.
#[pyfunction]
fn set_grad_mode(on: bool) -> bool {
    ENABLED.replace(on)
}

/// Makes a tensor from numbers, nested lists, arrays or tensors.
#[pyfunction]
#[pyo3(signature = (data, dtype, track, dialect))]
fn make<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    track: bool,
    dialect: usize,
) -> PyResult<Bound<'py, Var>> {
    let dtype = dtype.map(super::convert::dtype).transpose()?.flatten();
    let v = Var::result(
        py,
        Tensor::constant(super::convert::from_object(data, dtype)?),
        Dialect::from_index(dialect),
    )?;
    v.get().track(track);
    Ok(v)
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(run, m)?)?;
    m.add_function(wrap_pyfunction!(make, m)?)?;
    m.add_function(wrap_pyfunction!(set_grad_mode, m)?)
}
