//! The record as plain data: the nodes below some values in one order, their edges, and what each of them keeps.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Request;
use super::arena::{Arena, NONE};
use crate::graph::{DetachReason, Edge, Node, SavedKind, Tensor};

/// An output of a node, by the node's number.
pub type Place = (u32, u32);

/// What lies below some values.
pub struct Survey {
    /// Inputs stand before their consumers; the order depends on the graph alone.
    pub nodes: Vec<Surveyed>,
    /// By value: where it was made.
    pub roots: Vec<Place>,
    /// Bytes that all nodes keep; memory that several of them keep counts once.
    pub kept: usize,
}

pub struct Surveyed {
    pub node: Arc<Node>,
    /// By the op's inputs; none where no gradient is wanted.
    pub inputs: SmallVec<[Option<Place>; 2]>,
    /// Bytes that the node keeps for its rules, and how.
    pub kept: usize,
    pub holding: SavedKind,
}

/// Looks at what lies below `roots`.
pub fn survey(roots: &[Edge]) -> Survey {
    let roots = roots.iter().map(|e| (e.clone(), Tensor::scalar(0.0))).collect();
    let request = Request { roots, ..Request::default() };
    let arena = Arena::laid_out(&request);
    let place = |slot: u32| {
        let node = arena.owner(slot);
        (node as u32, slot - arena.outs(node).start as u32)
    };
    let mut all = Memory::default();
    let nodes = arena.nodes.iter().enumerate().map(|(i, &node)| {
        let mut own = Memory::default();
        let holding = node.kept_memory(&mut |id, bytes| {
            own.add(id, bytes);
            all.add(id, bytes);
        });
        let inputs = arena.ins(i).iter().map(|&s| (s != NONE).then(|| place(s))).collect();
        Surveyed { node: node.clone(), inputs, kept: own.bytes(), holding }
    });
    let nodes = nodes.collect();
    Survey { nodes, roots: arena.roots.iter().map(|&s| place(s)).collect(), kept: all.bytes() }
}

/// What cut off inputs of the nodes below `roots`, nearest to the outputs first.
pub fn cuts(roots: &[Edge]) -> Vec<DetachReason> {
    survey(roots).nodes.iter().rev().map(|n| n.node.detach_reason).filter(|c| c.is_known()).collect()
}

/// Bytes by memory.
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
        let s = survey(&[z.edge.unwrap(), y.edge.unwrap()]);
        let names: Vec<_> = s.nodes.iter().map(|n| n.node.name()).collect();
        assert_eq!(names, ["leaf", "sin", "sin", "multiply"]);
        assert_eq!(s.nodes[3].inputs.as_slice(), [Some((1, 0)), Some((2, 0))]);
        assert_eq!(s.roots, [(3, 0), (1, 0)]);
        assert_eq!(s.nodes.iter().map(|n| n.kept).collect::<Vec<_>>(), [0, 400, 400, 800]);
        assert_eq!(s.kept, 1200);
    }

    #[test]
    fn a_long_chain_is_looked_at_without_recursion() {
        let mut y = Tensor::scalar(1.0).leaf();
        for _ in 0..300_000 {
            y = -y;
        }
        assert_eq!(survey(&[y.edge.unwrap()]).nodes.len(), 300_001);
    }
}
