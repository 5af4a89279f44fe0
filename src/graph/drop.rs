//! Drops host objects of nodes without recursion.

use std::cell::RefCell;

use once_cell::race::OnceBox;

use super::record::{Hooks, NodeKind};
use super::saved::SavedState;

/// The parts of a node that may own host objects.
type Parts = (NodeKind, SavedState, OnceBox<Box<dyn Hooks>>);

thread_local! {
    /// The parts that wait to be dropped, while parts are being dropped on this thread.
    static WAITING: RefCell<Option<Vec<Parts>>> = const { RefCell::new(None) };
}

/// Drops parts of a node. A host object in them may own other nodes, whose parts are then dropped from within this
/// drop: those wait for their turn in the loop here.
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
