//! Memory that several tensors see: one storage of values; one history each for a tensor with its views, and for what
//! was detached from it.
//!
//! Locks are taken in the order tensor, history, storage, and nothing of Python's runs while one is held.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use smallvec::SmallVec;

use super::var::Var;
use crate::array::{Array, Layout};
use crate::error::Result;
use crate::graph::{DetachReason, Edge, Tensor};
use crate::ops::movement::strided;

/// The values, and how often they were written to.
pub struct Stored {
    /// Without an edge. C-contiguous from the first view on that is not the whole.
    pub whole: Tensor,
    pub writes: u32,
    /// Whether they were made in inference mode.
    inference: bool,
}

/// How the values were computed.
pub struct Recorded {
    /// The edge of the whole storage; or a leaf.
    edge: Option<Edge>,
    /// How often the edge was changed.
    changes: u64,
}

/// A tensor's share of memory that others see too.
pub struct Part {
    stored: Arc<Mutex<Stored>>,
    recorded: Arc<Mutex<Recorded>>,
    /// Which elements of the storage, in its C order.
    pub layout: Layout,
    /// The edge, as of that change of the history: it stays the same until the history's next one.
    edge: Option<Edge>,
    /// What cut it off, where it has none.
    pub detach_reason: DetachReason,
    seen: u64,
    /// Of a view, the tensor that it views.
    pub base: Option<Py<Var>>,
}

/// Where a tensor's elements lie.
pub struct Mark {
    stored: Arc<Mutex<Stored>>,
    recorded: Arc<Mutex<Recorded>>,
    pub layout: Layout,
    tracked: bool,
}

impl Mark {
    /// Whether both are the same elements of the same memory.
    pub fn is_same_place(&self, other: &Mark) -> bool {
        Arc::ptr_eq(&self.stored, &other.stored) && self.layout == other.layout
    }
}

/// An edge that is no longer needed. It may be the last holder of a graph, which may run Python when it goes: to be
/// dropped where no lock is held.
#[must_use]
pub struct Old(#[allow(dead_code, reason = "held to be dropped")] pub Option<Edge>);

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

fn shared<T>(value: T) -> Arc<Mutex<T>> {
    Arc::new(Mutex::new(value))
}

impl Part {
    /// A storage of a tensor's own value.
    pub fn whole(t: &Tensor, writes: u32, inference: bool) -> Part {
        Part {
            stored: shared(Stored { whole: t.detach(), writes, inference }),
            recorded: shared(Recorded { edge: t.edge.clone(), changes: 0 }),
            layout: Layout::contiguous(t.dims()),
            edge: t.edge.clone(),
            detach_reason: t.detach_reason,
            seen: 0,
            base: None,
        }
    }

    /// The same elements with a history of their own that begins with this edge, or for that reason is none.
    pub fn detached(&self, edge: Option<Edge>, detach_reason: DetachReason) -> Part {
        Part {
            stored: self.stored.clone(),
            recorded: shared(Recorded { edge: edge.clone(), changes: 0 }),
            layout: self.layout.clone(),
            edge,
            detach_reason,
            seen: 0,
            base: None,
        }
    }

    /// Other elements of the same memory, with the edge that an op on this tensor gave them.
    pub fn view(
        &self,
        layout: Layout,
        edge: Option<Edge>,
        detach_reason: DetachReason,
        base: Py<Var>,
    ) -> Part {
        let (stored, recorded) = (self.stored.clone(), self.recorded.clone());
        let seen = lock(&recorded).changes;
        Part { stored, recorded, layout, edge, detach_reason, seen, base: Some(base) }
    }

    /// Whether these are all elements of the storage, in its order and shape.
    fn is_whole(&self, stored: &Stored) -> bool {
        self.layout.offset == 0
            && self.layout.dims.as_slice() == stored.whole.dims()
            && self.layout == Layout::contiguous(&self.layout.dims)
    }

    /// The value with its edge, which is made again where the history has changed.
    pub fn read(&mut self) -> (Tensor, Old) {
        let recorded = lock(&self.recorded);
        let stored = lock(&self.stored);
        let (is_whole, whole) = (self.is_whole(&stored), stored.whole.clone());
        drop(stored);
        let mut old = None;
        if self.seen != recorded.changes {
            self.seen = recorded.changes;
            let edge = recorded.edge.as_ref().and_then(|edge| {
                // A view has a place of its own in the graph, also a view of everything.
                if is_whole && self.base.is_none() {
                    return Some(edge.clone());
                }
                let whole = Tensor { edge: Some(edge.clone()), ..whole.clone() };
                strided(&whole, &self.layout).expect("a layout of this storage, which lies in C order").edge
            });
            old = std::mem::replace(&mut self.edge, edge);
        }
        let array = if is_whole { whole.array } else { whole.array.part(&self.layout, whole.levels.len()) };
        (
            Tensor {
                array,
                edge: self.edge.clone(),
                levels: whole.levels,
                detach_reason: self.detach_reason,
            },
            Old(old),
        )
    }

    /// The edge as it was last read.
    pub fn edge(&self) -> Option<Edge> {
        self.edge.clone()
    }

    pub fn edge_seen(&self) -> &Option<Edge> {
        &self.edge
    }

    /// Shows the edges that only this tensor has: its own, and that of the history where it is nobody else's.
    pub fn own_edges(&self, see: impl FnOnce(&[&Edge])) {
        let alone = Arc::strong_count(&self.recorded) == 1;
        let history = if alone { self.recorded.try_lock().ok() } else { None };
        let edges = [self.edge.as_ref(), history.as_ref().and_then(|h| h.edge.as_ref())];
        see(&edges.into_iter().flatten().collect::<SmallVec<[&Edge; 2]>>());
    }

    pub fn writes(&self) -> u32 {
        lock(&self.stored).writes
    }

    pub fn is_inference(&self) -> bool {
        lock(&self.stored).inference
    }

    /// The layout of an array that lies in this memory.
    pub fn layout_of(&self, t: &Tensor) -> Option<Layout> {
        let stored = lock(&self.stored);
        let lanes = t.levels.len();
        if t.levels != stored.whole.levels { None } else { t.array.layout_in(&stored.whole.array, lanes) }
    }

    /// Whether an array lies in this memory.
    pub fn shares_memory(&self, array: &Array) -> bool {
        lock(&self.stored).whole.array.shares_memory(array)
    }

    pub fn mark(&self) -> Mark {
        Mark {
            stored: self.stored.clone(),
            recorded: self.recorded.clone(),
            layout: self.layout.clone(),
            tracked: self.edge.is_some(),
        }
    }

    /// Whether a tensor with this mark is of the same memory and history, and gradients flow to it as to this one.
    pub fn is_akin(&self, mark: &Mark) -> bool {
        Arc::ptr_eq(&self.stored, &mark.stored)
            && Arc::ptr_eq(&self.recorded, &mark.recorded)
            && lock(&self.recorded).edge.is_some() == mark.tracked
    }

    /// Takes the place of another tensor of the same memory, with its edge, which counts as a write. A leaf begins a
    /// new history. Whether it could.
    pub fn move_to(&mut self, mark: &Mark, edge: Option<Edge>) -> Option<Old> {
        if !Arc::ptr_eq(&self.stored, &mark.stored) {
            return None;
        }
        self.layout = mark.layout.clone();
        self.touch();
        if edge.as_ref().is_some_and(|e| e.node.is_leaf()) {
            return Some(self.restart(edge));
        }
        self.seen = lock(&self.recorded).changes;
        Some(Old(std::mem::replace(&mut self.edge, edge)))
    }

    /// Whether the history is that of a leaf.
    pub fn is_of_leaf(&self) -> bool {
        lock(&self.recorded).edge.as_ref().is_some_and(|e| e.node.is_leaf())
    }

    /// Whether this view was made where nothing was recorded, of a tensor that has a history.
    pub fn was_made_unrecorded(&self) -> bool {
        let recorded = lock(&self.recorded);
        self.edge.is_none() && recorded.edge.is_some() && self.seen == recorded.changes
    }

    /// Makes the edge be made again when it is next read.
    pub fn forget_edge(&mut self) -> Old {
        self.seen = u64::MAX;
        Old(self.edge.take())
    }

    /// Begins a new history: the tensor becomes a leaf, or untracked. Views of a tensor that becomes a leaf follow it.
    pub fn restart(&mut self, edge: Option<Edge>) -> Old {
        let whole = self.is_whole(&lock(&self.stored));
        if edge.is_some() && self.base.is_none() && whole {
            let mut recorded = lock(&self.recorded);
            recorded.edge = edge.clone();
            recorded.changes += 1;
            self.seen = recorded.changes;
        } else {
            self.recorded = shared(Recorded { edge: edge.clone(), changes: 0 });
            self.seen = 0;
        }
        Old(std::mem::replace(&mut self.edge, edge))
    }

    /// Makes the memory such that views can share it.
    pub fn share(&self) -> Result<()> {
        let mut stored = lock(&self.stored);
        stored.whole.array = stored.whole.array.shareable()?;
        Ok(())
    }

    /// Writes: `f` changes the whole, at the layout if one is given. Only if `record` does it see and change the edge.
    pub fn write(
        &mut self,
        record: bool,
        f: impl FnOnce(&mut Tensor, Option<&Layout>) -> Result<()>,
    ) -> Result<Old> {
        let mut recorded = lock(&self.recorded);
        let mut stored = lock(&self.stored);
        let is_whole = self.is_whole(&stored);
        stored.whole.edge = if record { recorded.edge.clone() } else { None };
        let done = f(&mut stored.whole, (!is_whole).then_some(&self.layout));
        let edge = stored.whole.edge.take();
        done?;
        stored.writes = stored.writes.wrapping_add(1);
        let same = match (&edge, &recorded.edge) {
            (Some(new), Some(old)) => new.is_same(old),
            (new, old) => new.is_none() && old.is_none(),
        };
        if !record || same {
            return Ok(Old(None));
        }
        recorded.changes += 1;
        Ok(Old(std::mem::replace(&mut recorded.edge, edge)))
    }

    /// The elements for writing in place, if these are all of the storage.
    pub fn all<R>(&mut self, f: impl FnOnce(&mut Array) -> R) -> Option<R> {
        let mut stored = lock(&self.stored);
        self.is_whole(&stored).then(|| f(&mut stored.whole.array))
    }

    /// Counts a write that changes nothing.
    pub fn touch(&self) {
        let mut stored = lock(&self.stored);
        stored.writes = stored.writes.wrapping_add(1);
    }
}
