//! The ends of a request to the engine, which are tensors or gradient edges, and how errors describe them.

use std::sync::Arc;

use pyo3::prelude::*;
use rustc_hash::FxHashSet;

use crate::bind::convert::tensor::package_of;
use crate::bind::node::object::GradientEdge;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::raise;
use crate::bind::value::var::{Slot, Var};
use crate::engine;
use crate::graph::site::Site;
use crate::graph::{DetachReason, Edge};

/// An output or an input of a request.
#[derive(FromPyObject)]
pub enum Endpoint<'py> {
    Tensor(Bound<'py, Var>),
    Edge(Bound<'py, GradientEdge>),
}

impl Endpoint<'_> {
    /// The name that the user gave the tensor.
    pub fn name(&self, py: Python<'_>) -> Option<String> {
        let tensor = match self {
            Endpoint::Tensor(v) => v.clone(),
            Endpoint::Edge(e) => Slot::of(&e.get().edge.node)?.tensor(py)?,
        };
        tensor.get().given_name(py).map(|name| name.to_string())
    }

    /// The value and where it was made, for errors: `float32[3], made at file:line`.
    fn facts(&self) -> String {
        match (self, self.edge()) {
            (_, Some(edge)) => {
                let made = edge.node.site().describe().map_or(String::new(), |at| format!(", made at {at}"));
                format!("{}{made}", edge.meta())
            }
            (Endpoint::Tensor(v), None) => v.get().look().meta().to_string(),
            (Endpoint::Edge(_), None) => unreachable!("a place in the graph has an edge"),
        }
    }

    /// The reason why it has no edge, if that is known.
    fn detach_reason(&self) -> DetachReason {
        match self {
            Endpoint::Tensor(v) => match v.get().look() {
                t if t.is_tracked() => DetachReason::default(),
                t if t.dtype().is_differentiable() || t.detach_reason.is_known() => t.detach_reason,
                _ => DetachReason::by_dtype(Site::default()),
            },
            Endpoint::Edge(_) => DetachReason::default(),
        }
    }

    fn tracking_argument(&self) -> &'static str {
        match self {
            Endpoint::Tensor(v) => v.get().dialect(),
            Endpoint::Edge(_) => Dialect::Native,
        }
        .tracking_argument()
    }

    fn why_cut(&self) -> Option<String> {
        self.detach_reason().describe()
    }

    /// A description of the value, and the reason why it is not tracked.
    pub fn why_untracked(&self, py: Python<'_>) -> String {
        let what = self.name(py).map_or_else(|| self.facts(), |name| format!("'{name}' ({})", self.facts()));
        let why = self
            .why_cut()
            .unwrap_or_else(|| format!("nothing below it was made with {}", self.tracking_argument()));
        format!("{what}: {why}")
    }

    pub fn edge(&self) -> Option<Edge> {
        match self {
            Endpoint::Tensor(v) => v.get().look().edge,
            Endpoint::Edge(e) => Some(e.get().edge.clone()),
        }
    }

    /// The slot that adds up the gradient of this input. None for an edge that is not a leaf's.
    pub fn slot(&self) -> Option<Arc<Slot>> {
        match self {
            Endpoint::Tensor(v) => Some(v.get().lock().slot.get_or_insert_default().clone()),
            Endpoint::Edge(e) => Slot::of(&e.get().edge.node),
        }
    }
}

/// The endpoints in an argument of this name: one, or those that iterating over it gives.
pub fn endpoints<'py>(given: &Bound<'py, PyAny>, name: &str) -> PyResult<Vec<Endpoint<'py>>> {
    if let Ok(tensor) = given.cast::<Var>() {
        return Ok(vec![Endpoint::Tensor(tensor.clone())]);
    }
    if let Ok(place) = given.cast::<GradientEdge>() {
        return Ok(vec![Endpoint::Edge(place.clone())]);
    }
    let refused = |what: &str, of: &Bound<'py, PyAny>, not: &str| {
        if let Ok(Some(package)) = package_of(of) {
            let text = Dialect::of_package(package).foreign_tensor("each", package);
            return raise(given.py(), "ArgumentError", format!("{name}: {text}"));
        }
        let class =
            of.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
        raise(given.py(), "ArgumentError", format!("{name}: {what} {class}{not}"))
    };
    let Ok(walk) = given.try_iter() else {
        let way_out = if given.is_callable() { "; for a function use ferrograd.func.grad(f)(x)" } else { "" };
        return Err(refused("a Tensor, a GradientEdge or a sequence of them, not", given, way_out));
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

/// The dialect of the first output that is a tensor.
pub fn dialect_of(outputs: &[Endpoint<'_>]) -> Option<Dialect> {
    outputs.iter().find_map(|e| match e {
        Endpoint::Tensor(v) => Some(v.get().dialect()),
        Endpoint::Edge(_) => None,
    })
}

/// The reason why no gradient has reached an input, with the places where paths below the outputs end.
pub fn why_unused(
    py: Python<'_>,
    input: &Endpoint<'_>,
    blocked: &[Endpoint<'_>],
    outputs: &[Endpoint<'_>],
) -> String {
    let name = input.name(py).map_or("it".to_owned(), |name| format!("'{name}'"));
    let it = format!("{name} ({})", input.facts());
    let Some(edge) = input.edge() else {
        let why = input.why_cut().map_or(String::new(), |why| format!(": {why}"));
        return format!("{it} is not tracked (stop_gradient is True, requires_grad is False){why}");
    };
    if blocked.iter().filter_map(Endpoint::edge).any(|b| b.is_same(&edge)) {
        return format!("{it} is among no_grad_vars");
    }
    let roots: Vec<Edge> = outputs.iter().filter_map(Endpoint::edge).collect();
    let mut cuts: Vec<DetachReason> =
        outputs.iter().map(Endpoint::detach_reason).chain(engine::detach_reasons(&roots)).collect();
    let mut met = FxHashSet::default();
    cuts.retain(|c| met.insert(*c));
    let why: Vec<String> = cuts.into_iter().filter_map(DetachReason::describe).take(3).collect();
    let ends = match why.as_slice() {
        [] => String::new(),
        why => format!(". Below the outputs paths end: {}", why.join("; ")),
    };
    format!("no output depends on {it} in a way that is recorded{ends}")
}
