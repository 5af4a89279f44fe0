//! Whether a record goes on below the places where a transform stops.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::graph::{Edge, Node};

/// Whether the graph below `outputs` has a leaf that is not among `places`: then a derivative by `places` can be
/// differentiated by something else later, and is worth recording. A place that is no leaf leads on to what it was
/// computed from.
pub fn leads_beyond(outputs: &[Edge], places: &[Edge]) -> bool {
    let places: FxHashSet<*const Node> = places.iter().map(|e| Arc::as_ptr(&e.node)).collect();
    let mut met: FxHashSet<*const Node> = FxHashSet::default();
    let mut work: Vec<&Arc<Node>> = outputs.iter().map(|e| &e.node).collect();
    while let Some(node) = work.pop() {
        // A node that one edge alone holds is not met again.
        if Arc::strong_count(node) > 1 && !met.insert(Arc::as_ptr(node)) {
            continue;
        }
        if node.is_leaf() && !places.contains(&Arc::as_ptr(node)) {
            return true;
        }
        work.extend(node.inputs.iter().flatten().map(|e| &e.node));
    }
    false
}
