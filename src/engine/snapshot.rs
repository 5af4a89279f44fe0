//! Snapshots of graphs as plain data: the nodes below some values, their edges, and what each node saves.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::arena::{Arena, NONE};
use super::request::Request;
use crate::error::Result;
use crate::graph::{DetachReason, Edge, Node, SavedKind, Tensor};
use crate::memory;

/// An index into [`GraphSnapshot::nodes`], and which output of that node.
pub type OutputIndex = (u32, u32);

/// The graph below some values.
pub struct GraphSnapshot {
    /// Inputs stand before their consumers, in an order that depends only on the graph.
    pub nodes: Vec<NodeSnapshot>,
    /// By value: the output that it is.
    pub roots: Vec<OutputIndex>,
    /// Bytes that all nodes save. Memory that several nodes save counts once.
    pub saved_bytes: usize,
}

pub struct NodeSnapshot {
    pub node: Arc<Node>,
    /// By input of the op: the output that it is, or none where no gradient is wanted.
    pub inputs: SmallVec<[Option<OutputIndex>; 2]>,
    /// Bytes that the node saves for its rules, and how.
    pub saved_bytes: usize,
    pub saved_kind: SavedKind,
}

/// A snapshot of the graph below `roots`.
///
/// # Errors
/// There is no memory for it.
pub fn snapshot(roots: &[Edge]) -> Result<GraphSnapshot> {
    let roots = roots.iter().map(|e| (e.clone(), Tensor::scalar(0.0))).collect();
    let request = Request { roots, ..Request::default() };
    let arena = Arena::reachable(&request)?;
    memory::ensure(arena.len() * size_of::<NodeSnapshot>())?;
    let output = |slot: u32| {
        let node = arena.owner(slot);
        (node as u32, slot - arena.outs(node).start as u32)
    };
    let mut all = Memory::default();
    let nodes = arena.nodes().enumerate().map(|(i, node)| {
        let mut own = Memory::default();
        let saved_kind = node.saved_memory(&mut |id, bytes| {
            own.add(id, bytes);
            all.add(id, bytes);
        });
        let inputs = arena.ins(i).iter().map(|&s| (s != NONE).then(|| output(s))).collect();
        NodeSnapshot { node: node.clone(), inputs, saved_bytes: own.bytes(), saved_kind }
    });
    let nodes = nodes.collect();
    let roots = arena.roots.iter().map(|&s| output(s)).collect();
    Ok(GraphSnapshot { nodes, roots, saved_bytes: all.bytes() })
}

/// Why inputs of the nodes below `roots` are untracked, as far as that is known, nearest to the roots first.
pub fn detach_reasons(roots: &[Edge]) -> Vec<DetachReason> {
    let Ok(snapshot) = snapshot(roots) else { return vec![] };
    snapshot.nodes.iter().rev().map(|n| n.node.detach_reason()).filter(|c| c.is_known()).collect()
}

/// By address of an allocation: its bytes.
#[derive(Default)]
struct Memory(FxHashMap<usize, usize>);

impl Memory {
    fn add(&mut self, id: usize, bytes: usize) {
        let known = self.0.entry(id).or_default();
        *known = bytes.max(*known);
    }

    fn bytes(&self) -> usize {
        self.0.values().fold(0, |sum, &b| sum.saturating_add(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;
    use crate::ops::pointwise::sin;

    #[test]
    fn inputs_stand_first_and_shared_memory_counts_once() {
        let x = Tensor::constant(Array::zeros("test", crate::dtype::DType::F32, &[100]).unwrap()).leaf();
        let y = sin(&x).unwrap();
        let z = &y * &sin(&x).unwrap();
        let s = snapshot(&[z.edge.unwrap(), y.edge.unwrap()]).unwrap();
        let names: Vec<_> = s.nodes.iter().map(|n| n.node.name()).collect();
        assert_eq!(names, ["leaf", "sin", "sin", "multiply"]);
        assert_eq!(s.nodes[3].inputs.as_slice(), [Some((1, 0)), Some((2, 0))]);
        assert_eq!(s.roots, [(3, 0), (1, 0)]);
        assert_eq!(s.nodes.iter().map(|n| n.saved_bytes).collect::<Vec<_>>(), [0, 400, 400, 800]);
        assert_eq!(s.saved_bytes, 1200);
    }

    #[test]
    fn a_long_chain_is_looked_at_without_recursion() {
        let mut y = Tensor::scalar(1.0).leaf();
        for _ in 0..300_000 {
            y = -y;
        }
        assert_eq!(snapshot(&[y.edge.unwrap()]).unwrap().nodes.len(), 300_001);
    }
}
