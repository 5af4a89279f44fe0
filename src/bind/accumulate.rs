//! Where the gradients of leaves are put, and how they are added up there.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;
use pyo3::{PyTraverseError, PyVisit};

use super::convert::{lift, track};
use super::dialect::Dialect;
use super::hooks::List;
use super::var::Var;
use crate::graph::site::Site;
use crate::graph::{DetachReason, Edge, Meta, Node, NodeKind, Tensor};
use crate::ops::arithmetic::{add_in_place, add_same, can_add_in_place};

/// What a tensor has as the start of a graph: its gradient, and its node. The node holds the slot weakly, and the
/// slot the node, so no cycle exists.
#[derive(Default)]
pub struct Slot(Mutex<Place>);

#[derive(Default)]
pub struct Place {
    pub grad: Option<Py<Var>>,
    node: Weak<Node>,
    /// The tensor, once it has been a leaf.
    tensor: Option<Py<PyWeakrefReference>>,
    /// What hung on its node, while it is no leaf.
    hooks: Option<Arc<List>>,
    /// Where its value came from before it was stopped, and its version then.
    before: Option<(Edge, u32)>,
}

impl Slot {
    /// The gradient and the hooks in a slot that no graph knows of.
    pub fn forgotten(&self) -> Slot {
        let mut place = self.lock();
        let (grad, hooks) = (place.grad.take(), place.hooks.take());
        Slot(Mutex::new(Place { grad, hooks, ..Place::default() }))
    }

    /// Saves what hangs on a leaf that its tensor lets go.
    pub fn keep_hooks(&self, leaf: &Node) {
        self.lock().hooks = List::known(leaf).cloned();
    }

    /// Remembers where a value of a version came from.
    pub fn remember(&self, edge: Edge, version: u32) {
        let old = self.lock().before.replace((edge, version));
        drop(old);
    }

    /// What was remembered, once.
    pub fn recall(&self) -> Option<(Edge, u32)> {
        self.lock().before.take()
    }

    pub fn hooks(&self) -> Option<Arc<List>> {
        self.lock().hooks.clone()
    }

    /// Shows the garbage collector the gradient.
    pub fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(place) = self.0.try_lock() else { return Ok(()) };
        place.grad.as_ref().map_or(Ok(()), |g| visit.call(g))
    }

    pub fn set_tensor(&self, tensor: Py<PyWeakrefReference>) {
        let old = self.lock().tensor.replace(tensor);
        drop(old);
    }

    /// The tensor, if it still exists and has been a leaf.
    pub fn tensor<'py>(&self, py: Python<'py>) -> Option<Bound<'py, Var>> {
        let tensor = self.lock().tensor.as_ref().map(|t| t.clone_ref(py))?;
        tensor.bind(py).upgrade_as().ok().flatten()
    }

    pub fn lock(&self) -> MutexGuard<'_, Place> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn grad(&self, py: Python<'_>) -> Option<Py<Var>> {
        self.lock().grad.as_ref().map(|g| g.clone_ref(py))
    }

    /// Another gradient, or none; the old one is dropped unlocked.
    pub fn put(&self, grad: Option<Py<Var>>) {
        let old = std::mem::replace(&mut self.lock().grad, grad);
        drop(old);
    }

    /// The value as a leaf of this slot: the same leaf as before, as long as a graph holds it.
    pub fn leaf(self: &Arc<Slot>, t: &Tensor) -> Tensor {
        let known = self.lock().node.upgrade().filter(|n| n.outs[0] == Meta::of(t));
        let owner: Weak<dyn Any + Send + Sync> =
            Arc::downgrade(&(self.clone() as Arc<dyn Any + Send + Sync>));
        let leaf = match known {
            Some(node) => Tensor { edge: Some(Edge { node, out: 0 }), ..t.clone() },
            None => t.leaf_of(Some(owner)),
        };
        let node = leaf.edge.as_ref().map(|e| &e.node);
        let mut place = self.lock();
        if let (Some(hooks), Some(node)) = (place.hooks.take(), node) {
            List::on(node, || hooks);
        }
        place.node = node.map_or_else(Weak::new, Arc::downgrade);
        drop(place);
        leaf
    }

    /// The slot of a leaf's node, if its tensor still exists.
    pub fn of(leaf: &Node) -> Option<Arc<Slot>> {
        let NodeKind::Leaf(Some(owner)) = &leaf.kind else { return None };
        owner.upgrade()?.downcast().ok()
    }
}

/// One gradient on its way: made before anything is written, so that either all are or none.
enum Deposit {
    Fresh(Py<Var>),
    /// Into the tensor that is there, in place.
    Add(Tensor),
    /// Into the tensor that is there, whose array somebody else holds too.
    Sum(Tensor),
}

/// Adds gradients to the places of their tensors: all of them, or none where one fails.
pub fn accumulate_grad(
    py: Python<'_>,
    gradients: Vec<(Arc<Slot>, Tensor)>,
    create_graph: bool,
    dialect: Dialect,
) -> PyResult<()> {
    let detach_reason = DetachReason::gradient(Site::current());
    let ready = gradients
        .into_iter()
        .map(|(slot, g)| {
            let g = if g.is_tracked() { g } else { Tensor { detach_reason, ..g } };
            let made = prepare(py, &slot, g, create_graph, dialect)?;
            Ok((slot, made))
        })
        .collect::<PyResult<Vec<_>>>()?;
    for (slot, made) in ready {
        match (made, slot.grad(py)) {
            (Deposit::Fresh(v), _) => {
                slot.put(Some(v));
                if let Some(tensor) = slot.tensor(py) {
                    track(&tensor);
                }
            }
            (Deposit::Sum(t), Some(old)) => lift(old.get().lock().assign(&t, false)).map(drop)?,
            (Deposit::Add(g), Some(old)) => {
                let written = old.get().lock().all(|a| add_in_place(a, &g.array));
                assert!(
                    written == Some(true),
                    "the interpreter's lock is held since this was found to be possible"
                );
            }
            (_, None) => {}
        }
    }
    Ok(())
}

fn prepare(
    py: Python<'_>,
    slot: &Slot,
    g: Tensor,
    create_graph: bool,
    dialect: Dialect,
) -> PyResult<Deposit> {
    let fresh = |t: Tensor| -> PyResult<Deposit> {
        let v = Var::result(py, t, dialect)?;
        if dialect.tracks_fresh_grad() {
            Var::track(&v, true)?;
        }
        Ok(Deposit::Fresh(v.unbind()))
    };
    let Some(old) = slot.grad(py) else { return fresh(g) };
    let sum = old.get().tensor();
    let recorded = sum.edge.as_ref().is_some_and(|e| !e.node.is_leaf());
    if create_graph || recorded || sum.levels != g.levels {
        // The old gradient may stand in graphs: the sum is another tensor.
        return fresh(lift(add_same(&sum, &g))?);
    }
    drop(sum);
    if old.get().lock().all(|a| can_add_in_place(a, &g.array)) == Some(true) {
        return Ok(Deposit::Add(g));
    }
    Ok(Deposit::Sum(lift(add_same(&old.get().tensor().detach(), &g))?))
}
