//! The ends of a request: tensors, or places in the graph; and what errors say of them.

use std::sync::Arc;

use pyo3::prelude::*;
use rustc_hash::FxHashSet;

use super::accumulate::Slot;
use super::dialect::Dialect;
use super::error::raise;
use super::node::GradientEdge;
use super::var::Var;
use crate::engine;
use crate::graph::{DetachReason, Edge, Meta};

/// What can be differentiated, and asked for: a tensor, or a place in the graph.
#[derive(FromPyObject)]
pub enum End<'py> {
    Tensor(Bound<'py, Var>),
    Place(Bound<'py, GradientEdge>),
}

impl End<'_> {
    /// What the user calls the tensor.
    pub fn name(&self, py: Python<'_>) -> Option<String> {
        let tensor = match self {
            End::Tensor(v) => v.clone(),
            End::Place(e) => Slot::of(&e.get().edge.node)?.tensor(py)?,
        };
        tensor.get().given_name(py).map(|name| name.to_string())
    }

    /// What it is and where it was made, for the texts of errors: `float32[3], made at file:line`.
    fn facts(&self) -> String {
        match (self, self.edge()) {
            (_, Some(edge)) => {
                let made = edge.node.site().describe().map_or(String::new(), |at| format!(", made at {at}"));
                format!("{}{made}", edge.meta())
            }
            (End::Tensor(v), None) => Meta::of(&v.get().tensor()).to_string(),
            (End::Place(_), None) => unreachable!("a place in the graph has an edge"),
        }
    }

    /// What cut it off, as far as that is known.
    fn detach_reason(&self) -> DetachReason {
        match self {
            End::Tensor(v) => match v.get().tensor() {
                t if t.is_tracked() => DetachReason::default(),
                t if t.dtype().is_float() => t.detach_reason,
                _ => DetachReason::by_dtype(),
            },
            End::Place(_) => DetachReason::default(),
        }
    }

    fn why_cut(&self) -> Option<String> {
        self.detach_reason().describe()
    }

    /// What it is, and why it is not tracked.
    pub fn why_untracked(&self, py: Python<'_>) -> String {
        let what = self.name(py).map_or_else(|| self.facts(), |name| format!("'{name}' ({})", self.facts()));
        self.why_cut().map_or(what.clone(), |why| format!("{what}: {why}"))
    }

    pub fn edge(&self) -> Option<Edge> {
        match self {
            End::Tensor(v) => v.get().tensor().edge,
            End::Place(e) => Some(e.get().edge.clone()),
        }
    }

    /// Where a gradient that is asked for here is added up; none for the inner edge of a graph.
    pub fn slot(&self) -> Option<Arc<Slot>> {
        match self {
            End::Tensor(v) => Some(v.get().lock().slot.get_or_insert_default().clone()),
            End::Place(e) => Slot::of(&e.get().edge.node),
        }
    }
}

/// The ends that an argument of this name gives: one, or those of something that can be walked through.
pub fn ends<'py>(given: &Bound<'py, PyAny>, name: &str) -> PyResult<Vec<End<'py>>> {
    if let Ok(tensor) = given.cast::<Var>() {
        return Ok(vec![End::Tensor(tensor.clone())]);
    }
    if let Ok(place) = given.cast::<GradientEdge>() {
        return Ok(vec![End::Place(place.clone())]);
    }
    let refused = |what: &str, of: &Bound<'py, PyAny>, not: &str| {
        let class =
            of.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
        raise(given.py(), "ArgumentError", format!("{name}: {what} {class}{not}"))
    };
    let Ok(walk) = given.try_iter() else {
        return Err(refused("a Tensor, a GradientEdge or a sequence of them, not", given, ""));
    };
    let mut found = Vec::with_capacity(1);
    for (i, one) in walk.enumerate() {
        let one = one?;
        let end = one.extract();
        found
            .push(end.map_err(|_| refused(&format!("the element at index {i} is"), &one, ", not a Tensor"))?);
    }
    Ok(found)
}

/// The dialect of the first output that has one.
pub fn dialect_of(outputs: &[End<'_>]) -> Option<Dialect> {
    outputs.iter().find_map(|e| match e {
        End::Tensor(v) => Some(v.get().dialect()),
        End::Place(_) => None,
    })
}

/// Why no gradient reached an input, with what cut paths off below the outputs.
pub fn why_unused(py: Python<'_>, input: &End<'_>, blocked: &[End<'_>], outputs: &[End<'_>]) -> String {
    let name = input.name(py).map_or("it".to_owned(), |name| format!("'{name}'"));
    let it = format!("{name} ({})", input.facts());
    let Some(edge) = input.edge() else {
        let why = input.why_cut().map_or(String::new(), |why| format!(": {why}"));
        return format!("{it} is not tracked (stop_gradient is True, requires_grad is False){why}");
    };
    if blocked.iter().filter_map(End::edge).any(|b| b.is_same(&edge)) {
        return format!("{it} is among no_grad_vars");
    }
    let roots: Vec<Edge> = outputs.iter().filter_map(End::edge).collect();
    let mut cuts: Vec<DetachReason> =
        outputs.iter().map(End::detach_reason).chain(engine::cuts(&roots)).collect();
    let mut met = FxHashSet::default();
    cuts.retain(|c| met.insert(*c));
    let why: Vec<String> = cuts.into_iter().filter_map(DetachReason::describe).take(3).collect();
    let ends = match why.as_slice() {
        [] => String::new(),
        why => format!(". Below the outputs paths end: {}", why.join("; ")),
    };
    format!("no output depends on {it} in a way that is recorded{ends}")
}
