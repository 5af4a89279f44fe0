//! Whether a graph goes on beyond the values where a transform stops.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::graph::{Edge, Node};
use crate::ops::tangents::stops_gradients;

/// Whether the graph below `outputs` has a leaf that is not among `inputs`. If so, a derivative with respect to
/// `inputs` may later be differentiated with respect to that leaf, so it is worth recording. An input that is no leaf
/// leads on to what it was computed from. A leaf whose owner is gone does not count, and neither does one that only tangents
/// come from, unless they begin there.
pub fn reaches_other_leaves(outputs: &[Edge], inputs: &[Edge]) -> bool {
    let inputs: FxHashSet<*const Node> = inputs.iter().map(|e| Arc::as_ptr(&e.node)).collect();
    let mut met: FxHashSet<(*const Node, bool)> = FxHashSet::default();
    // Each node with whether tangents alone go on to it: then a leaf counts if tangents begin there.
    let mut work: Vec<(&Arc<Node>, bool)> = outputs.iter().map(|e| (&e.node, false)).collect();
    while let Some((node, by_tangents)) = work.pop() {
        // A node with one owner is met only once.
        if Arc::strong_count(node) > 1 && !met.insert((Arc::as_ptr(node), by_tangents)) {
            continue;
        }
        let counts = !by_tangents || node.may_have_tangents();
        if node.is_leaf() && !node.is_abandoned() && counts && !inputs.contains(&Arc::as_ptr(node)) {
            return true;
        }
        let by_tangents = by_tangents || stops_gradients(node);
        work.extend(node.inputs.iter().flatten().map(|e| (&e.node, by_tangents)));
    }
    false
}

/// Whether the graph below `from` has one of `ends`, on a path that does not lead through `around`, or through what `around`
/// was computed from.
pub fn reaches_around(from: &Edge, ends: &[Edge], around: &Arc<Node>) -> bool {
    if ends.is_empty() {
        return false;
    }
    let mut met: FxHashSet<*const Node> =
        around.inputs.iter().flatten().map(|e| Arc::as_ptr(&e.node)).collect();
    met.insert(Arc::as_ptr(around));
    let mut work = vec![from];
    while let Some(edge) = work.pop() {
        if ends.iter().any(|end| end.is_same(edge)) {
            return true;
        }
        if met.insert(Arc::as_ptr(&edge.node)) {
            work.extend(edge.node.inputs.iter().flatten());
        }
    }
    false
}
