//! Gradients kept for tensors that are no leaves.

use std::sync::{Arc, Weak};

use super::list::{HookKind, HookList};
use crate::bind::python::dialect::Dialect;
use crate::bind::value::var::{EdgeFollower, Slot};
use crate::graph::{Edge, Node};

/// Keeps the gradient of one tensor, by a hook of the kind [`HookKind::Retain`] at the tensor's edge.
pub struct RetainedGrad {
    /// Whether to keep the gradient after all hooks, of the value that the tensor has then. Otherwise it is the
    /// gradient of the value that the tensor had when this was asked for, in the order in which hooks were registered.
    last: bool,
    dialect: Dialect,
    hook: Option<RetainHook>,
}

/// Where the hook is.
struct RetainHook {
    node: Weak<Node>,
    out: u32,
    list: Weak<HookList>,
    id: u64,
}

impl RetainedGrad {
    pub fn new(last: bool, dialect: Dialect) -> RetainedGrad {
        RetainedGrad { last, dialect, hook: None }
    }
}

impl EdgeFollower for RetainedGrad {
    /// Moves the hook to the edge. One that is not `last` moves only where the tensor has no history any more.
    fn follow(&mut self, edge: Option<&Edge>, slot: &Arc<Slot>) {
        if !self.last && self.hook.is_some() && edge.is_some_and(|e| !e.node.is_leaf()) {
            return;
        }
        let is_here =
            |h: &RetainHook| edge.is_some_and(|e| h.out == e.out && h.node.as_ptr() == Arc::as_ptr(&e.node));
        if self.hook.as_ref().is_some_and(is_here) {
            return;
        }
        if let Some(RetainHook { list, id, .. }) = self.hook.take()
            && let Some(list) = list.upgrade()
        {
            list.remove(id);
        }
        self.hook = edge.filter(|e| !e.node.is_leaf()).map(|e| {
            let list = HookList::of(&e.node);
            let kind = HookKind::Retain { out: e.out, slot: Arc::downgrade(slot), last: self.last };
            let id = list.add(kind, self.dialect, None);
            RetainHook { node: Arc::downgrade(&e.node), out: e.out, list: Arc::downgrade(&list), id }
        });
    }
}
