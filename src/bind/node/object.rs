//! Nodes and edges of the graph as Python objects.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use pyo3::exceptions::{PyAttributeError, PyIndexError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple, PyType, PyWeakrefReference};
use pyo3::{PyTraverseError, PyVisit};

use crate::bind::convert::numpy::dtype_object;
use crate::bind::hooks::collector;
use crate::bind::hooks::handle::{RemovableHandle, add_hook};
use crate::bind::hooks::list::{HookKind, HookList};
use crate::bind::python::capi::track;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{check_callable, raise};
use crate::bind::python::facade;
use crate::bind::python::once::once;
use crate::bind::value::var::{Slot, Var};
use crate::graph::{self, Edge};

/// One output of a node of the graph. Its gradient can be asked for without the tensor.
///
///     >>> x = fg.tensor(2.0, requires_grad=True)
///     >>> y = x * x
///     >>> edge = fg.get_gradient_edge(y)
///     >>> fg.grad(y * y, [edge])[0].item()
///     8.0
#[pyclass(frozen, module = "ferrograd")]
pub struct GradientEdge {
    pub edge: Edge,
    dialect: Dialect,
}

#[pymethods]
impl GradientEdge {
    /// Output `output_nr` of a node.
    #[new]
    #[pyo3(signature = (node, output_nr=0, ownership_token=None))]
    fn new(
        node: &Bound<'_, Node>,
        output_nr: usize,
        ownership_token: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<GradientEdge> {
        let _ = ownership_token;
        let (own, dialect) = (&node.get().edge.node, node.get().dialect);
        if output_nr >= own.outs.len() {
            let text = format!(
                "GradientEdge: the node has {} outputs, and {output_nr} is none of them",
                own.outs.len()
            );
            return Err(raise(node.py(), "IndexOutOfRange", text));
        }
        Ok(GradientEdge { edge: Edge { node: own.clone(), out: output_nr as u32 }, dialect })
    }

    /// The node.
    #[getter]
    fn node<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object(py, &self.edge, self.dialect)
    }

    /// Which output of its node this is.
    #[getter]
    fn output_nr(&self) -> u32 {
        self.edge.out
    }

    /// None: the edge itself keeps the graph alive.
    #[getter]
    fn ownership_token(&self) -> Option<bool> {
        None
    }

    fn __len__(&self) -> usize {
        3
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        (self.node(py)?, self.edge.out, py.None()).into_pyobject(py)?.try_iter()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, i: isize) -> PyResult<Bound<'py, PyAny>> {
        match i {
            0 | -3 => self.node(py),
            1 | -2 => Ok(self.edge.out.into_pyobject(py)?.into_any()),
            2 | -1 => Ok(py.None().into_bound(py)),
            _ => Err(PyIndexError::new_err("an edge has a node, an output and no token")),
        }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<GradientEdge>().is_ok_and(|o| o.get().edge.is_same(&self.edge))
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (Arc::as_ptr(&self.edge.node), self.edge.out).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!("GradientEdge({}, output_nr={})", self.edge.node.name(), self.edge.out)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        collector::visit_edge(&self.edge, &visit)
    }

    fn __clear__(&self) {
        collector::clear_edge(&self.edge);
    }
}

/// The edge at which a tensor's gradient arrives.
///
///     >>> x = fg.tensor(2.0, requires_grad=True)
///     >>> fg.get_gradient_edge(x * x)
///     GradientEdge(multiply, output_nr=0)
#[pyfunction]
fn gradient_edge(tensor: &Bound<'_, Var>) -> PyResult<GradientEdge> {
    let dialect = tensor.get().dialect();
    tensor.get().look().edge.map(|edge| GradientEdge { edge, dialect }).ok_or_else(|| {
        let text = "It is not possible to get the gradient edge for a Tensor that does not require gradients";
        raise(tensor.py(), "ArgumentError", text)
    })
}

/// A node of the graph: one application of an op, or a leaf, which adds up gradients. It keeps the graph below it
/// alive. A node has one Python object as long as somebody holds that object.
///
///     >>> x = fg.tensor(2.0, requires_grad=True)
///     >>> y = fg.sin(x)
///     >>> isinstance(y.grad_fn, fg.Node), y.grad_fn.name()
///     (True, 'sin')
#[pyclass(frozen, subclass, weakref, module = "ferrograd")]
pub struct Node {
    pub edge: Edge,
    pub dialect: Dialect,
}

impl Node {
    fn of(&self, edge: Option<&Edge>, py: Python<'_>) -> PyResult<Py<PyAny>> {
        edge.map_or_else(|| Ok(py.None()), |e| object(py, e, self.dialect).map(Bound::unbind))
    }

    fn add_hook(&self, kind: HookKind, name: &str, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
        check_callable(name, hook)?;
        Ok(RemovableHandle::new(vec![add_hook(&self.edge, kind, self.dialect, hook)], self.dialect))
    }
}

#[pymethods]
impl Node {
    /// The node of an edge.
    #[new]
    fn new(edge: &Bound<'_, GradientEdge>) -> Node {
        let edge = edge.get();
        Node { edge: Edge { node: edge.edge.node.clone(), out: 0 }, dialect: edge.dialect }
    }

    /// The name of the op, as the dialect writes it.
    fn name(&self) -> String {
        self.dialect.node_name(&self.edge.node).0
    }

    /// For each input of the op: the node that it came from (None where no gradient is wanted) and which output of that
    /// node it is. In the Paddle dialect: the list of the nodes, `[None]` for a leaf.
    #[getter]
    fn next_functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let inputs = self.edge.node.inputs.iter().map(Option::as_ref);
        if self.dialect.next_nodes_are_a_list() {
            let mut nodes = inputs.flatten().map(|e| self.of(Some(e), py)).collect::<PyResult<Vec<_>>>()?;
            if self.edge.node.is_leaf() {
                nodes.push(py.None());
            }
            return Ok(PyList::new(py, nodes)?.into_any());
        }
        let pairs =
            inputs.map(|e| Ok((self.of(e, py)?, e.map_or(0, |e| e.out)))).collect::<PyResult<Vec<_>>>()?;
        Ok(PyTuple::new(py, pairs)?.into_any())
    }

    /// A dict for the user's own data, the same one as long as the node lives.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        HookList::of(&self.edge.node).metadata(py)
    }

    /// The tensor whose gradient is added up here, or None once it is gone. Only leaves have this attribute.
    #[getter]
    fn variable<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, Var>>> {
        if !self.edge.node.is_leaf() {
            let text = format!("'{}' object has no attribute 'variable': it is no leaf", self.name());
            return Err(PyAttributeError::new_err(text));
        }
        Ok(Slot::of(&self.edge.node).and_then(|slot| slot.tensor(py)))
    }

    /// Always true: gradients flow through every node.
    #[getter]
    fn requires_grad(&self) -> bool {
        true
    }

    /// Where the op was called: `file:line`, or None.
    #[getter]
    fn site(&self) -> Option<String> {
        self.edge.node.site().describe()
    }

    /// The shape and dtype of each output of the op.
    #[getter]
    fn _input_metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let space = py.import("types")?.getattr("SimpleNamespace")?;
        let one = |m: &graph::Meta| {
            let fields = PyDict::new(py);
            fields.set_item("shape", facade::shape(py, &m.dims, self.dialect)?)?;
            fields.set_item("dtype", dtype_object(py, m.dtype, self.dialect)?)?;
            space.call((), Some(&fields))
        };
        PyTuple::new(py, self.edge.node.outs.iter().map(one).collect::<PyResult<Vec<_>>>()?)
    }

    /// Calls `hook(grad_inputs, grad_outputs)` after the node's rule has run, with a tuple of the gradients that the
    /// rule found for the inputs and a tuple of those of the outputs. If the hook returns a tuple, that takes the place
    /// of the first. Returns a handle with `remove()`.
    fn register_hook(&self, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
        self.add_hook(HookKind::Post, "register_hook", hook)
    }

    /// Calls `hook(grad_outputs)` before the node's rule runs, with a tuple of the gradients of its outputs. If the
    /// hook returns a tuple, that takes its place. Returns a handle with `remove()`.
    fn register_prehook(&self, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
        self.add_hook(HookKind::Pre, "register_prehook", hook)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Node>().is_ok_and(|o| Arc::ptr_eq(&o.get().edge.node, &self.edge.node))
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        Arc::as_ptr(&self.edge.node).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let (name, class) = self.dialect.node_name(&self.edge.node);
        let what =
            if self.dialect == Dialect::Native { format!("{name} node") } else { format!("{class} object") };
        format!("<{what} at {:p}>", Arc::as_ptr(&self.edge.node))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        collector::visit_edge(&self.edge, &visit)
    }

    fn __clear__(&self) {
        collector::clear_edge(&self.edge);
    }
}

/// The classes of nodes by name: subclasses of [`Node`] that add nothing.
static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let classes = once(&CLASSES, py, || Ok::<_, PyErr>(PyDict::new(py).unbind()))?.bind(py);
    if let Some(known) = classes.get_item(name)? {
        return Ok(known);
    }
    let own = PyDict::new(py);
    own.set_item("__module__", "ferrograd")?;
    own.set_item("__slots__", PyTuple::empty(py))?;
    let made = py.get_type::<PyType>().call1((name, (py.get_type::<Node>(),), own))?;
    classes.set_item(name, &made)?;
    Ok(made)
}

/// The class of the nodes of a name, such as `AccumulateGrad`, of whatever dialect.
#[pyfunction]
fn node_class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    class(py, name)
}

/// The Python object of the node at an edge, the same one as long as somebody holds it.
pub fn object<'py>(py: Python<'py>, edge: &Edge, dialect: Dialect) -> PyResult<Bound<'py, PyAny>> {
    let list = HookList::of(&edge.node);
    if let Some(known) = list.object(py).and_then(|o| o.upgrade()) {
        return Ok(known);
    }
    let at = Bound::new(py, GradientEdge { edge: edge.clone(), dialect })?;
    let made = class(py, &dialect.node_name(&edge.node).1)?.call1((at,))?;
    list.set_object(PyWeakrefReference::new(&made)?);
    Ok(made)
}

#[pymethods]
impl Var {
    /// Which output of its node this tensor is.
    #[getter]
    fn output_nr(&self) -> u32 {
        self.look().edge.map_or(0, |e| e.out)
    }

    /// The node that computed this tensor. None for a tensor that is not tracked and for a leaf; in the Paddle dialect
    /// the node that adds up the gradient of a leaf.
    #[getter]
    fn grad_fn<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (edge, dialect) = (slf.get().look().edge, slf.get().dialect());
        let edge = edge.filter(|e| !e.node.is_leaf() || dialect.leaves_have_a_node());
        // Hooks that will be added to the node may lead back to the tensor.
        track(slf);
        edge.map(|e| object(slf.py(), &e, dialect)).transpose()
    }
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<GradientEdge>()?;
    m.add_class::<Node>()?;
    m.add_function(wrap_pyfunction!(node_class, m)?)?;
    m.add_function(wrap_pyfunction!(gradient_edge, m)?)
}
