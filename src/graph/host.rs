//! What nodes hold of the host language's: found for its collector of cycles, and dropped without recursion.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use once_cell::race::OnceBox;
use rustc_hash::FxHashMap;

use super::node::SavedState;
use super::{Edge, Hooks, Node, NodeKind};

/// How many of [`Late`] there are.
static LATE: AtomicUsize = AtomicUsize::new(0);

/// While one lives, objects of the host's may hang on nodes below others that do not know of it: it came when those had
/// been made. Every graph is looked through then.
pub struct Late(());

impl Default for Late {
    fn default() -> Late {
        LATE.fetch_add(1, Relaxed);
        Late(())
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        LATE.fetch_sub(1, Relaxed);
    }
}

/// Shows what lives through these edges alone of the host's objects: those of every node all of whose owners are the
/// edges or nodes of that kind.
///
/// The host's collector may act on it: nobody can get hold of such a node but by the edges.
pub fn held_by(edges: &[&Edge], see: &mut dyn FnMut(&dyn Any)) {
    let mut met: FxHashMap<*const Node, usize> = FxHashMap::default();
    let mut work: Vec<&Arc<Node>> = vec![];
    let late = LATE.load(Relaxed) > 0;
    let mut count = |edge: &'_ Edge| {
        let owners = Arc::strong_count(&edge.node);
        let hosts = late || edge.node.has_host_parts();
        if !hosts || owners == 1 {
            return hosts;
        }
        let seen = met.entry(Arc::as_ptr(&edge.node)).or_default();
        *seen += 1;
        *seen == owners
    };
    work.extend(edges.iter().filter(|e| count(e)).map(|e| &e.node));
    while let Some(node) = work.pop() {
        node.held(see);
        work.extend(node.inputs.iter().flatten().filter(|e| count(e)).map(|e| &e.node));
    }
}

/// What of a node the host owns.
type Parts = (NodeKind, SavedState, OnceBox<Box<dyn Hooks>>);

thread_local! {
    /// What waits to be dropped, while something is being dropped on this thread.
    static WAITING: RefCell<Option<Vec<Parts>>> = const { RefCell::new(None) };
}

/// Drops parts of a node that may hold, by way of the host's objects, other nodes: in a loop, since those are dropped
/// from within the drop of these.
pub(super) fn drop_in_turn(parts: Parts) {
    let mut parts = Some(parts);
    let first = WAITING.try_with(|waiting| match &mut *waiting.borrow_mut() {
        Some(list) => {
            list.extend(parts.take());
            false
        }
        none => {
            *none = Some(vec![]);
            true
        }
    });
    if first != Ok(true) {
        return;
    }
    while let Some(next) = parts {
        drop(next);
        parts = WAITING.with_borrow_mut(|waiting| {
            let next = waiting.as_mut().and_then(Vec::pop);
            if next.is_none() {
                *waiting = None;
            }
            next
        });
    }
}
