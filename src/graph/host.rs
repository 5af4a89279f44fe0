//! Host objects that graphs own, for the host's garbage collector.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rustc_hash::FxHashMap;

use super::record::{Edge, Node};

/// How many [`LateHostObject`]s there are.
static LATE: AtomicUsize = AtomicUsize::new(0);

/// Stands for a host object that was hung on a node after nodes above it were made, which are not marked as leading to
/// host objects. While one exists, the collector walks every graph.
pub struct LateHostObject(());

impl Default for LateHostObject {
    fn default() -> LateHostObject {
        LATE.fetch_add(1, Relaxed);
        LateHostObject(())
    }
}

impl Drop for LateHostObject {
    fn drop(&mut self) {
        LATE.fetch_sub(1, Relaxed);
    }
}

/// Shows the host objects that only these edges keep alive: those of every node that nothing else owns than these
/// edges and nodes of the same kind.
///
/// The host's collector may act on that, because nobody can reach such a node except by the edges.
pub fn visit_owned_host_objects(edges: &[&Edge], visit: &mut dyn FnMut(&dyn Any)) {
    let mut met: FxHashMap<*const Node, usize> = FxHashMap::default();
    let mut work: Vec<&Arc<Node>> = vec![];
    let late = LATE.load(Relaxed) > 0;
    // Whether this edge is the last owner of its node that the walk meets.
    let mut is_last = |edge: &'_ Edge| {
        let owners = Arc::strong_count(&edge.node);
        let relevant = late || edge.node.has_host_parts();
        if !relevant || owners == 1 {
            return relevant;
        }
        let seen = met.entry(Arc::as_ptr(&edge.node)).or_default();
        *seen += 1;
        *seen == owners
    };
    work.extend(edges.iter().filter(|e| is_last(e)).map(|e| &e.node));
    while let Some(node) = work.pop() {
        node.visit_host_objects(visit);
        work.extend(node.inputs.iter().flatten().filter(|e| is_last(e)).map(|e| &e.node));
    }
}
