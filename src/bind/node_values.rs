//! What a node keeps and what its function noted, as attributes under torch's names.

use std::any::Any;

use pyo3::PyTraverseError;
use pyo3::exceptions::PyAttributeError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;

use super::accumulate::Slot;
use super::convert::lift;
use super::dialect::Dialect;
use super::garbage;
use super::hook_methods::callable;
use super::node::Node;
use super::saved::packer;
use super::var::Var;
use crate::graph::{Edge, NodeKind};

/// What the rules of a node read.
#[derive(Clone, Copy)]
enum Part {
    Input(usize),
    Output(usize),
}

impl Part {
    fn named(name: &str) -> Option<Part> {
        match name {
            "_saved_self" => Some(Part::Input(0)),
            "_saved_other" => Some(Part::Input(1)),
            "_saved_result" => Some(Part::Output(0)),
            _ => None,
        }
    }
}

/// A tensor that a node keeps, as a place for hooks.
#[pyclass(frozen, module = "ferrograd")]
pub struct SavedPlace {
    edge: Edge,
    at: usize,
    dialect: Dialect,
}

#[pymethods]
impl SavedPlace {
    /// Calls `pack_hook` with the tensor at once, and keeps what it returns instead; `unpack_hook` makes the tensor of
    /// that again, each time that it is read. A tensor takes one pair of hooks.
    fn register_hooks(&self, pack_hook: &Bound<'_, PyAny>, unpack_hook: &Bound<'_, PyAny>) -> PyResult<()> {
        callable("register_hooks", pack_hook)?;
        callable("register_hooks", unpack_hook)?;
        let packer = packer(pack_hook, unpack_hook, self.dialect)?;
        lift(self.edge.node.pack_at(self.at, &packer)).map(|_| ())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        garbage::visit_edge(&self.edge, &visit)
    }

    fn __clear__(&self) {
        garbage::clear_edge(&self.edge);
    }
}

impl Node {
    /// A tensor that the node keeps, as it was; a leaf itself while it still has that value.
    ///
    /// # Errors
    /// [`crate::Error::Freed`] once the graph is freed.
    fn kept<'py>(&self, py: Python<'py>, part: Part) -> PyResult<Option<Bound<'py, Var>>> {
        let node = &self.edge.node;
        let edge = match part {
            Part::Input(i) => node.inputs.get(i).cloned().flatten(),
            Part::Output(i) => Some(Edge { node: node.clone(), out: i as u32 }),
        };
        let list = lift(node.take_saved(None))?;
        let Some(keep) = list.into_iter().nth(self.place(part)).flatten() else { return Ok(None) };
        let leaf = edge.as_ref().and_then(|e| Slot::of(&e.node)).and_then(|slot| slot.tensor(py));
        if let Some(leaf) = leaf.filter(|v| v.get().tensor().array.is_same(&keep.array())) {
            return Ok(Some(leaf));
        }
        Var::result(py, keep.tensor(edge), self.dialect).map(Some)
    }

    /// Where in what the node keeps a part of it stands.
    fn place(&self, part: Part) -> usize {
        match part {
            Part::Input(i) => i,
            Part::Output(i) => self.edge.node.inputs.len() + i,
        }
    }

    /// The context of a function that the user defined.
    fn context(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let NodeKind::Op(op) = &self.edge.node.kind else { return None };
        let mut context = None;
        op.held(&mut |held: &dyn Any| {
            context = held.downcast_ref::<Py<PyAny>>().map(|o| o.clone_ref(py));
        });
        context
    }
}

#[pymethods]
impl Node {
    /// Of a function that the user defined, what its context has; of any op `_saved_self` and `_saved_other`, its first
    /// and second tensor, and `_saved_result`, where its gradient reads them. `_raw_saved_self` and its like are places
    /// for hooks.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if !name.starts_with("__") {
            if let Some(context) = self.context(py) {
                return context.bind(py).getattr(name);
            }
            if let Some(part) = name.strip_prefix("_raw").and_then(Part::named)
                && self.edge.node.saves_at(self.place(part))
            {
                let (edge, at) = (self.edge.clone(), self.place(part));
                return Ok(Bound::new(py, SavedPlace { edge, at, dialect: self.dialect })?.into_any());
            }
            if let Some(part) = Part::named(name)
                && let Some(kept) = self.kept(py, part)?
            {
                return Ok(kept.into_any());
            }
        }
        let text =
            format!("'{}' object has no attribute '{name}'", self.dialect.node_name(&self.edge.node).1);
        Err(PyAttributeError::new_err(text))
    }
}
