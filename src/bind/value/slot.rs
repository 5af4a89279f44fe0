//! Where the gradient of a tensor is stored: its `.grad`.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;
use pyo3::{PyTraverseError, PyTypeCheck, PyVisit};

use crate::error::{Result, bail};
use crate::graph::{Edge, Hooks, Node, NodeKind, Tensor};

/// What a tensor of the class `V` has as the start of a graph: its gradient and its node. The node holds the slot
/// weakly and the slot the node, so there is no cycle.
pub struct GradSlot<V>(Mutex<SlotState<V>>);

struct SlotState<V> {
    grad: Option<Py<V>>,
    node: Weak<Node>,
    /// The tensor, once it has been a leaf.
    tensor: Option<Py<PyWeakrefReference>>,
    /// The hooks of its node, while it is no leaf.
    hooks: Option<Box<dyn Hooks>>,
    /// The edge that the tensor had before its gradient was stopped, and the version of its value then.
    stopped: Option<(Edge, u32)>,
}

impl<V> Default for GradSlot<V> {
    fn default() -> GradSlot<V> {
        GradSlot::new(None, None)
    }
}

impl<V> GradSlot<V> {
    fn new(grad: Option<Py<V>>, hooks: Option<Box<dyn Hooks>>) -> GradSlot<V> {
        GradSlot(Mutex::new(SlotState { grad, node: Weak::new(), tensor: None, hooks, stopped: None }))
    }

    fn lock(&self) -> MutexGuard<'_, SlotState<V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another slot with this one's gradient and hooks: graphs that were made before do not know it.
    pub fn moved(&self) -> GradSlot<V> {
        let mut state = self.lock();
        GradSlot::new(state.grad.take(), state.hooks.take())
    }

    pub fn grad(&self, py: Python<'_>) -> Option<Py<V>> {
        self.lock().grad.as_ref().map(|g| g.clone_ref(py))
    }

    /// Stores another gradient, or none.
    pub fn set_grad(&self, grad: Option<Py<V>>) {
        // Dropped here, where the slot is no longer locked.
        let old = std::mem::replace(&mut self.lock().grad, grad);
        drop(old);
    }

    /// Keeps the hooks of a leaf that its tensor lets go. The tensor's next leaf gets them.
    pub fn keep_hooks(&self, hooks: Option<Box<dyn Hooks>>) {
        let old = std::mem::replace(&mut self.lock().hooks, hooks);
        drop(old);
    }

    /// Remembers the edge of a value whose gradient is stopped, and the version of the value.
    pub fn remember_stopped(&self, edge: Edge, version: u32) {
        let old = self.lock().stopped.replace((edge, version));
        drop(old);
    }

    /// Gives back what was remembered, once.
    pub fn take_stopped(&self) -> Option<(Edge, u32)> {
        self.lock().stopped.take()
    }

    /// Shows the gradient to the garbage collector.
    pub fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(state) = self.0.try_lock() else { return Ok(()) };
        state.grad.as_ref().map_or(Ok(()), |g| visit.call(g))
    }

    /// Shows what the kept hooks hold.
    pub fn visit_hooks(&self, see: &mut dyn FnMut(&dyn Any)) {
        if let Some(hooks) = &self.lock().hooks {
            hooks.visit_host_objects(see);
        }
    }

    pub fn set_tensor(&self, tensor: Py<PyWeakrefReference>) {
        let old = self.lock().tensor.replace(tensor);
        drop(old);
    }
}

impl<V: PyTypeCheck + 'static> GradSlot<V> {
    /// The tensor, if it still exists and has been a leaf.
    pub fn tensor<'py>(&self, py: Python<'py>) -> Option<Bound<'py, V>> {
        let tensor = self.lock().tensor.as_ref().map(|t| t.clone_ref(py))?;
        tensor.bind(py).upgrade_as().ok().flatten()
    }

    /// Whether the tensor was a leaf and exists no more.
    pub fn is_orphan(&self, py: Python<'_>) -> bool {
        let tensor = self.lock().tensor.as_ref().map(|t| t.clone_ref(py));
        tensor.is_some_and(|t| !matches!(t.bind(py).upgrade_as::<V>(), Ok(Some(_))))
    }

    /// The value as a leaf whose gradient is stored here: the same leaf as before, as long as a graph holds it.
    pub fn leaf(self: &Arc<GradSlot<V>>, t: &Tensor) -> Tensor {
        let known = self.lock().node.upgrade().filter(|n| n.outs[0] == t.meta());
        let owner: Weak<dyn Any + Send + Sync> =
            Arc::downgrade(&(self.clone() as Arc<dyn Any + Send + Sync>));
        let leaf = match known {
            Some(node) => Tensor { edge: Some(Edge { node, out: 0 }), ..t.clone() },
            None => t.leaf_of(Some(owner)),
        };
        let node = leaf.edge.as_ref().map(|e| &e.node);
        let mut state = self.lock();
        if let (Some(hooks), Some(node)) = (state.hooks.take(), node) {
            node.attached_or(|| hooks);
        }
        state.node = node.map_or_else(Weak::new, Arc::downgrade);
        drop(state);
        leaf
    }

    /// Checks that the gradient has the shape of the tensor, whose data may be other than what its graph has read.
    ///
    /// # Errors
    /// `ShapeError`, if not.
    pub fn check_fits(&self, g: &Tensor) -> Result<()> {
        match self.lock().node.upgrade() {
            Some(node) if node.outs[0].dims.as_slice() != g.dims() => bail!(
                Shape,
                "backward",
                "a gradient of shape {:?} does not fit a tensor of shape {:?}, whose data were set after the graph was recorded",
                g.dims(),
                node.outs[0].dims
            ),
            _ => Ok(()),
        }
    }

    /// The slot of a leaf's node, if its tensor still exists.
    pub fn of(leaf: &Node) -> Option<Arc<GradSlot<V>>> {
        let NodeKind::Leaf(Some(owner)) = &leaf.kind else { return None };
        owner.upgrade()?.downcast().ok()
    }
}
