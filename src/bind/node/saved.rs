//! The tensors that a node has saved, and the attributes of a function's context, as attributes of the node.

use std::any::Any;

use pyo3::PyTraverseError;
use pyo3::exceptions::{PyAttributeError, PyRuntimeError, PyTypeError};
use pyo3::gc::PyVisit;
use pyo3::prelude::*;

use super::object::Node;
use crate::bind::hooks::collector;
use crate::bind::hooks::saved::packer;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::OrRaise;
use crate::bind::value::var::{Slot, Var};
use crate::graph::{Edge, NodeKind, Tensor};

/// An operand of a node's rule.
#[derive(Clone, Copy)]
enum Operand {
    Input(usize),
    Output(usize),
}

impl Operand {
    fn named(name: &str) -> Option<Operand> {
        match name {
            "_saved_self" => Some(Operand::Input(0)),
            "_saved_other" => Some(Operand::Input(1)),
            "_saved_result" => Some(Operand::Output(0)),
            _ => None,
        }
    }
}

/// A tensor that a node has saved, for hooks of its own.
#[pyclass(frozen, module = "ferrograd")]
pub struct RawSavedTensor {
    edge: Edge,
    /// Its index among the tensors that the node has saved; none for a None.
    at: Option<usize>,
    dialect: Dialect,
}

impl RawSavedTensor {
    pub fn new(edge: Edge, at: Option<usize>, dialect: Dialect) -> RawSavedTensor {
        RawSavedTensor { edge, at, dialect }
    }
}

#[pymethods]
impl RawSavedTensor {
    /// Raises: nodes make them.
    #[new]
    fn refuse() -> PyResult<RawSavedTensor> {
        Err(PyRuntimeError::new_err(
            "Trying to create a SavedTensor object from Python is forbidden: nodes make them",
        ))
    }

    /// Calls `pack_hook` with the tensor at once and keeps the value that it returns. `unpack_hook` turns that value
    /// into the tensor again, each time that it is read. A tensor takes one pair of hooks.
    #[pyo3(signature = (pack_hook=None, unpack_hook=None))]
    fn register_hooks(
        &self,
        pack_hook: Option<&Bound<'_, PyAny>>,
        unpack_hook: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (Some(pack), Some(unpack)) =
            (pack_hook.filter(|f| f.is_callable()), unpack_hook.filter(|f| f.is_callable()))
        else {
            let text = "register_hooks(): incompatible function arguments: two functions are wanted, one that packs \
                        the tensor and one that unpacks it";
            return Err(PyTypeError::new_err(text));
        };
        let Some(at) = self.at else {
            let text = "Calling register_hooks on a saved tensor with value None is forbidden";
            return Err(PyRuntimeError::new_err(text));
        };
        self.edge.node.pack_at(at, &packer(pack, unpack, self.dialect)?).or_raise()?;
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        collector::visit_edge(&self.edge, &visit)
    }

    fn __clear__(&self) {
        collector::clear_edge(&self.edge);
    }
}

impl Node {
    /// A tensor that the node has saved, with the value that it had; the leaf itself while that still has the value.
    ///
    ///  # Errors
    ///  [`crate::Error::Freed`] once the graph is freed.
    fn saved<'py>(&self, py: Python<'py>, operand: Operand) -> PyResult<Option<Bound<'py, Var>>> {
        let node = &self.edge.node;
        let edge = match operand {
            Operand::Input(i) => node.inputs.get(i).cloned().flatten(),
            Operand::Output(i) => Some(Edge { node: node.clone(), out: i as u32 }),
        };
        let list = node.take_saved(None).or_raise()?;
        let Some(saved) = list.into_iter().nth(self.saved_index(operand)).flatten() else { return Ok(None) };
        let leaf = edge.as_ref().and_then(|e| Slot::of(&e.node)).and_then(|slot| slot.tensor(py));
        if let Some(leaf) = leaf.filter(|v| v.get().tensor().array.is_same(&saved.array())) {
            return Ok(Some(leaf));
        }
        Var::result(py, Tensor::of_saved(&saved, edge), self.dialect).map(Some)
    }

    /// The index of an operand among the tensors that the node has saved.
    fn saved_index(&self, operand: Operand) -> usize {
        match operand {
            Operand::Input(i) => i,
            Operand::Output(i) => self.edge.node.inputs.len() + i,
        }
    }

    fn no_attribute(&self, name: &str) -> PyErr {
        let class = self.dialect.node_name(&self.edge.node).1;
        PyAttributeError::new_err(format!("'{class}' object has no attribute '{name}'"))
    }

    /// The context of a function that the user defined.
    fn context(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let NodeKind::Op(op) = &self.edge.node.kind else { return None };
        let mut context = None;
        op.visit_host_objects(&mut |held: &dyn Any| {
            context = held.downcast_ref::<Py<PyAny>>().map(|o| o.clone_ref(py));
        });
        context
    }
}

#[pymethods]
impl Node {
    /// An attribute of the context, for a function that the user defined. For other ops `_saved_self` and
    /// `_saved_other` (the first and the second tensor) and `_saved_result`, if the gradient of the op reads them;
    /// `_raw_saved_self` and its like take hooks.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if !name.starts_with("__") {
            if let Some(context) = self.context(py) {
                return context.bind(py).getattr(name);
            }
            if let Some(operand) = name.strip_prefix("_raw").and_then(Operand::named)
                && self.edge.node.saves_at(self.saved_index(operand))
            {
                let (edge, at) = (self.edge.clone(), self.saved_index(operand));
                return Ok(Bound::new(py, RawSavedTensor::new(edge, Some(at), self.dialect))?.into_any());
            }
            if let Some(operand) = Operand::named(name)
                && let Some(saved) = self.saved(py, operand)?
            {
                return Ok(saved.into_any());
            }
        }
        Err(self.no_attribute(name))
    }

    /// Sets an attribute of the context, for a function that the user defined. Other nodes have none that can be set.
    fn __setattr__(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        match self.context(py) {
            Some(context) if !name.starts_with("__") => context.bind(py).setattr(name, value),
            _ => Err(self.no_attribute(name)),
        }
    }
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<RawSavedTensor>()
}
