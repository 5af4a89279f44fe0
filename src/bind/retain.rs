//! The gradient of a tensor that is no leaf, kept for it.

use std::sync::{Arc, Weak};

use super::accumulate::Slot;
use super::dialect::Dialect;
use super::hooks::{List, Role};
use crate::graph::{Edge, Node};

/// That a tensor's gradient is kept, and where that is noted.
pub struct Retained {
    /// The gradient of whatever the tensor holds, after all hooks; or of what it held when this was asked for, among
    /// the hooks, which do not move either.
    last: bool,
    dialect: Dialect,
    noted: Option<Note>,
}

struct Note {
    node: Weak<Node>,
    out: u32,
    list: Weak<List>,
    id: u64,
}

impl Retained {
    pub fn new(last: bool, dialect: Dialect) -> Retained {
        Retained { last, dialect, noted: None }
    }

    /// Makes the note move to the edge that the tensor has now: a write gives it another. A note among hooks goes only
    /// where the tensor has no history any more.
    pub fn follow(&mut self, edge: Option<&Edge>, slot: &Arc<Slot>) {
        if !self.last && self.noted.is_some() && edge.is_some_and(|e| !e.node.is_leaf()) {
            return;
        }
        let is_here =
            |n: &Note| edge.is_some_and(|e| n.out == e.out && n.node.as_ptr() == Arc::as_ptr(&e.node));
        if self.noted.as_ref().is_some_and(is_here) {
            return;
        }
        if let Some(Note { list, id, .. }) = self.noted.take()
            && let Some(list) = list.upgrade()
        {
            list.remove(id);
        }
        self.noted = edge.filter(|e| !e.node.is_leaf()).map(|e| {
            let list = List::of(&e.node);
            let role = Role::Retain { out: e.out, slot: Arc::downgrade(slot), last: self.last };
            let id = list.add(role, self.dialect, None);
            Note { node: Arc::downgrade(&e.node), out: e.out, list: Arc::downgrade(&list), id }
        });
    }
}
