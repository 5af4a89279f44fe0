//! Nodes as functions, as in torch.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::object::Node;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::gil::without_gil;
use crate::bind::python::modes::grad_enabled;
use crate::bind::value::accumulate::accumulate_grad;
use crate::bind::value::var::{Slot, Var};
use crate::engine;
use crate::graph::{Edge, Tensor};

impl Node {
    /// The gradients of the node's outputs: each is None, or a tensor that must have the shape of the output.
    fn cotangents(&self, grads: &Bound<'_, PyTuple>) -> PyResult<Vec<Option<Tensor>>> {
        let node = &self.edge.node;
        if grads.len() != node.outs.len() {
            let text = format!("expected {} arguments, got {} instead", node.outs.len(), grads.len());
            return Err(PyTypeError::new_err(text));
        }
        let one = |(i, g): (usize, Bound<'_, PyAny>)| {
            if g.is_none() {
                return Ok(None);
            }
            let Ok(g) = g.cast::<Var>() else {
                let text = format!("argument {i} is not a Variable but {}", g.get_type().name()?);
                return Err(PyTypeError::new_err(text));
            };
            let (g, dims) = (g.get().operand(), &node.outs[i].dims);
            if g.dims() != dims.as_slice() {
                let text = self.dialect.seed_mismatch(i, g.dims(), dims);
                return Err(raise(grads.py(), "ShapeError", text));
            }
            Ok(Some(engine::seed(&Edge { node: node.clone(), out: i as u32 }, &g).or_raise()?))
        };
        grads.iter().enumerate().map(one).collect()
    }
}

#[pymethods]
impl Node {
    /// The gradient of the node's input, or a tuple of those of its inputs, for the gradients of its outputs (tensors
    /// or None). A leaf adds the gradient to the `.grad` of its tensor.
    #[pyo3(signature = (*grad_outputs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        grad_outputs: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (node, mut grads) = (&self.edge.node, self.cotangents(grad_outputs)?);
        if node.is_leaf() {
            if let (Some(slot), Some(g)) = (Slot::of(node), grads[0].take()) {
                let recorded = g.is_tracked();
                accumulate_grad(py, vec![(slot, g)], recorded, self.dialect)?;
            }
            return Ok(PyTuple::empty(py).into_any());
        }
        let record = grad_enabled();
        let found = without_gil(py, || engine::single(node, grads, record)).or_raise()?;
        let var = |g: Option<Tensor>| g.map(|g| Var::result(py, g, self.dialect)).transpose();
        let made = PyTuple::new(py, found.into_iter().map(var).collect::<PyResult<Vec<_>>>()?)?;
        if made.len() == 1 { made.get_item(0) } else { Ok(made.into_any()) }
    }
}
