//! The arena: the part of the graph that a call needs, laid out flat.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Request;
use crate::graph::{Edge, Node};

/// No slot: an edge that leads nowhere needed.
pub(super) const NONE: u32 = u32::MAX;

/// The reachable graph in post-order of an iterative walk: inputs stand before their consumers, and the order depends
/// on the graph alone. A slot is one output of one node, and holds the sum of its cotangents.
pub(super) struct Arena {
    pub(super) nodes: Vec<Arc<Node>>,
    /// By node: its first slot, and its first entry in `targets`. One more at the end.
    pub(super) first_slot: Vec<u32>,
    pub(super) first_target: Vec<u32>,
    /// By edge: the slot it leads to, or [`NONE`] where nothing that is wanted lies that way.
    pub(super) targets: Vec<u32>,
    /// By node: whether its gradient is wanted, or needed for one that is.
    pub(super) live: Vec<bool>,
    /// By the request's roots and wanted values: their slots ([`NONE`]: not reached).
    pub(super) roots: Vec<u32>,
    pub(super) wanted: Vec<u32>,
}

impl Arena {
    pub(super) fn new(request: &Request<'_>) -> Arena {
        let mut index: FxHashMap<*const Node, u32> = FxHashMap::default();
        let mut arena = Arena {
            nodes: vec![],
            first_slot: vec![0],
            first_target: vec![0],
            targets: vec![],
            live: vec![],
            roots: vec![],
            wanted: vec![],
        };
        let blocked = |e: &Edge| request.blocked.iter().any(|b| b.is_same(e));
        let mut stack: Vec<(&Arc<Node>, usize)> = vec![];
        for (root, _) in request.roots.iter().filter(|(root, _)| !blocked(root)) {
            if index.insert(Arc::as_ptr(&root.node), NONE).is_some() {
                continue;
            }
            stack.push((&root.node, 0));
            while let Some((node, next)) = stack.last_mut() {
                let node: &Arc<Node> = node;
                if let Some(edge) = node.inputs.get(*next) {
                    *next += 1;
                    if let Some(edge) = edge.as_ref().filter(|e| !blocked(e)) {
                        index.entry(Arc::as_ptr(&edge.node)).or_insert_with(|| {
                            stack.push((&edge.node, 0));
                            NONE
                        });
                    }
                } else {
                    index.insert(Arc::as_ptr(node), arena.nodes.len() as u32);
                    arena.push(node, &index, &blocked);
                    stack.pop();
                }
            }
        }
        let slot = |e: &Edge| {
            let node = index.get(&Arc::as_ptr(&e.node)).filter(|_| !blocked(e));
            node.map_or(NONE, |&i| arena.first_slot[i as usize] + e.out)
        };
        arena.roots = request.roots.iter().map(|(e, _)| slot(e)).collect();
        arena.wanted = request.wanted.iter().map(slot).collect();
        arena.prune(request, &index);
        arena
    }

    fn push(
        &mut self,
        node: &Arc<Node>,
        index: &FxHashMap<*const Node, u32>,
        blocked: &impl Fn(&Edge) -> bool,
    ) {
        for edge in &node.inputs {
            let edge = edge.as_ref().filter(|e| !blocked(e));
            self.targets
                .push(edge.map_or(NONE, |e| self.first_slot[index[&Arc::as_ptr(&e.node)] as usize] + e.out));
        }
        self.nodes.push(node.clone());
        self.first_slot.push(self.first_slot.last().expect("starts with one") + node.outs.len() as u32);
        self.first_target.push(self.targets.len() as u32);
    }

    /// One ascending pass: a node is live if it is wanted, or if one of its inputs is.
    fn prune(&mut self, request: &Request<'_>, index: &FxHashMap<*const Node, u32>) {
        let mut live: Vec<bool> = self.nodes.iter().map(|n| request.leaves && n.is_leaf()).collect();
        for edge in &request.wanted {
            if let Some(&i) = index.get(&Arc::as_ptr(&edge.node)) {
                live[i as usize] = true;
            }
        }
        let mut slot_live = vec![false; self.slots()];
        for i in 0..self.nodes.len() {
            for t in &mut self.targets[self.first_target[i] as usize..self.first_target[i + 1] as usize] {
                if *t != NONE && slot_live[*t as usize] {
                    live[i] = true;
                } else {
                    *t = NONE;
                }
            }
            slot_live[self.first_slot[i] as usize..self.first_slot[i + 1] as usize].fill(live[i]);
        }
        self.live = live;
    }

    pub(super) fn slots(&self) -> usize {
        *self.first_slot.last().expect("starts with one") as usize
    }

    /// The slots of a node's outputs.
    pub(super) fn outs(&self, node: usize) -> std::ops::Range<usize> {
        self.first_slot[node] as usize..self.first_slot[node + 1] as usize
    }

    /// The slots that a node's inputs lead to.
    pub(super) fn ins(&self, node: usize) -> &[u32] {
        &self.targets[self.first_target[node] as usize..self.first_target[node + 1] as usize]
    }
}
