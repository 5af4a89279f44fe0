//! The part of the graph that a pass needs, laid out in flat lists.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::request::Request;
use crate::error::Result;
use crate::graph::{Edge, Node};
use crate::memory::{self, NoMemory};
use crate::shape;

/// The slot of an edge that leads to nothing that is needed.
pub(super) const NONE: u32 = u32::MAX;

/// A node whose outputs have fewer bytes than this is not worth another thread.
const LIGHT: usize = 4 << 10;

/// After this many nodes there is a look whether memory is left for as many again.
const MANY: usize = 1 << 14;
/// The most bytes that the lists of the walk take for a node, and those of a pass for a slot and for a target.
const NODE: usize = 200;
const SLOT: usize = 300;
const TARGET: usize = 16;

/// Room for the nodes of a small graph, whose lists then do not grow.
const FEW: usize = 10;
pub(super) type List<T> = SmallVec<[T; FEW]>;

/// The reachable graph in post-order: inputs stand before their consumers, and the order depends only on the graph. A
/// slot is one output of one node, where its cotangents are summed.
pub(super) struct Arena<'a> {
    pub(super) nodes: Vec<&'a Arc<Node>>,
    /// The indices of the leaves.
    pub(super) leaves: List<u32>,
    /// By node, with one more entry at the end.
    first: Vec<First>,
    /// By edge: the slot that it leads to, or [`NONE`] where it leads to no wanted value.
    targets: Vec<u32>,
    /// By node: whether its rule has to run, because an input is wanted or leads to a wanted value.
    works: List<bool>,
    /// By slot: whether its gradient is part of the answer.
    pub(super) asked: List<bool>,
    /// By root and by wanted value of the request: the slot, or [`NONE`] where it is not reached.
    pub(super) roots: List<u32>,
    pub(super) wanted: List<u32>,
    /// Bytes of the outputs of all nodes that are worth another thread.
    heavy: usize,
}

/// A node's first slot and its first entry in `targets`.
#[derive(Clone, Copy)]
struct First {
    slot: u32,
    target: u32,
}

/// A node of the walk whose inputs are being visited.
struct Frame<'a> {
    node: &'a Arc<Node>,
    /// The input to visit next.
    next: u32,
    /// The index of its first target in the walk's own list.
    start: u32,
}

/// By node that has been met: its index, or [`NONE`] while its inputs are being visited.
type Index = FxHashMap<*const Node, u32>;

impl<'a> Arena<'a> {
    /// The part of the graph that a request needs. Edges that lead to no wanted value are cut.
    ///
    /// # Errors
    /// There is no memory for it, or for a pass over it.
    pub(super) fn new(request: &'a Request<'_>) -> Result<Arena<'a>> {
        let mut arena = Arena::reachable(request)?;
        memory::ensure(arena.slots() * SLOT + arena.targets.len() * TARGET)?;
        arena.drop_unreached_outputs();
        arena.prune(request.leaves);
        Ok(arena)
    }

    /// The whole graph that is reachable from a request's roots.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(super) fn reachable(request: &'a Request<'_>) -> Result<Arena<'a>> {
        let mut first = Vec::with_capacity(FEW);
        first.push(First { slot: 0, target: 0 });
        let mut arena = Arena {
            nodes: Vec::with_capacity(FEW),
            leaves: List::new(),
            first,
            targets: Vec::with_capacity(FEW),
            works: List::new(),
            asked: List::new(),
            roots: List::new(),
            wanted: List::new(),
            heavy: 0,
        };
        let mut index = Index::with_capacity_and_hasher(FEW, FxBuildHasher);
        let blocked = |e: &Edge| !request.blocked.is_empty() && request.blocked.iter().any(|b| b.is_same(e));
        let ends: FxHashSet<*const Node> = match request.stops {
            true => request.wanted.iter().map(|e| Arc::as_ptr(&e.node)).collect(),
            false => FxHashSet::default(),
        };
        for (root, _) in request.roots.iter().filter(|(root, _)| !blocked(root)) {
            arena.walk(&root.node, &mut index, &blocked, &ends)?;
        }
        let slot = |e: &Edge| {
            let node = index.get(&Arc::as_ptr(&e.node)).filter(|_| !blocked(e));
            node.map_or(NONE, |&i| arena.first[i as usize].slot + e.out)
        };
        request.roots.iter().for_each(|(e, _)| arena.roots.push(slot(e)));
        request.wanted.iter().for_each(|e| arena.wanted.push(slot(e)));
        Ok(arena)
    }

    fn walk(
        &mut self,
        root: &'a Arc<Node>,
        index: &mut Index,
        blocked: &impl Fn(&Edge) -> bool,
        ends: &FxHashSet<*const Node>,
    ) -> Result<(), NoMemory> {
        if index.insert(Arc::as_ptr(root), NONE).is_some_and(|old| {
            index.insert(Arc::as_ptr(root), old);
            true
        }) {
            return Ok(());
        }
        let (mut targets, mut stack) = (List::new(), List::new());
        root.inputs.iter().for_each(|_| targets.push(NONE));
        stack.push(Frame { node: root, next: 0, start: 0 });
        while let Some(frame) = stack.last_mut() {
            let node = frame.node;
            let Some(edge) = node.inputs.get(frame.next as usize) else {
                // All inputs are in the list, so the node follows.
                let placed = self.push(node, &targets[frame.start as usize..])?;
                targets.truncate(frame.start as usize);
                stack.pop();
                // A node with one owner is met only once.
                if Arc::strong_count(node) > 1 || stack.is_empty() {
                    index.insert(Arc::as_ptr(node), placed);
                }
                if let Some(consumer) = stack.last_mut() {
                    let edge = consumer.node.inputs[consumer.next as usize]
                        .as_ref()
                        .expect("the walk came along it");
                    targets[(consumer.start + consumer.next) as usize] =
                        self.first[placed as usize].slot + edge.out;
                    consumer.next += 1;
                }
                continue;
            };
            let at = (frame.start + frame.next) as usize;
            let is_end = !ends.is_empty() && ends.contains(&Arc::as_ptr(node));
            let Some(edge) = edge.as_ref().filter(|e| !is_end && !blocked(e)) else {
                frame.next += 1;
                continue;
            };
            if Arc::strong_count(&edge.node) > 1 {
                if let Some(&known) = index.get(&Arc::as_ptr(&edge.node)) {
                    targets[at] = self.first[known as usize].slot + edge.out;
                    frame.next += 1;
                    continue;
                }
                index.insert(Arc::as_ptr(&edge.node), NONE);
            }
            let depth = stack.len();
            if depth.is_multiple_of(MANY) {
                // The lists are about to grow, at most by their own lengths.
                memory::ensure((depth + targets.len()) * NODE)?;
            }
            let start = targets.len() as u32;
            edge.node.inputs.iter().for_each(|_| targets.push(NONE));
            stack.push(Frame { node: &edge.node, next: 0, start });
        }
        Ok(())
    }

    fn push(&mut self, node: &'a Arc<Node>, targets: &[u32]) -> Result<u32, NoMemory> {
        if self.nodes.len().is_multiple_of(MANY) {
            memory::ensure(self.nodes.len() * NODE + self.targets.len() * TARGET)?;
        }
        if node.is_leaf() {
            self.leaves.push(self.nodes.len() as u32);
        }
        targets.iter().for_each(|&t| self.targets.push(t));
        self.nodes.push(node);
        node.outs.iter().for_each(|_| self.asked.push(false));
        let slot = self.slots() as u32 + node.outs.len() as u32;
        self.first.push(First { slot, target: self.targets.len() as u32 });
        let bytes = bytes(node);
        if bytes >= LIGHT {
            self.heavy = self.heavy.saturating_add(bytes);
        }
        Ok(self.nodes.len() as u32 - 1)
    }

    /// Drops wanted outputs that are not reached though another output of their node is.
    fn drop_unreached_outputs(&mut self) {
        let several = |&s: &u32| s != NONE && self.nodes[self.owner(s)].outs.len() > 1;
        if !self.wanted.iter().any(several) {
            return;
        }
        let mut reached = vec![false; self.slots()];
        for &s in self.roots.iter().chain(&self.targets).filter(|s| **s != NONE) {
            reached[s as usize] = true;
        }
        for s in self.wanted.iter_mut().filter(|s| **s != NONE) {
            if !reached[*s as usize] {
                *s = NONE;
            }
        }
    }

    /// Cuts the edges to slots that are not live, in one ascending pass: a slot is live if it is part of the answer,
    /// or if an input of its node is live.
    fn prune(&mut self, leaves: bool) {
        for &s in self.wanted.iter().filter(|s| **s != NONE) {
            self.asked[s as usize] = true;
        }
        let mut live: List<bool> = List::new();
        self.asked.iter().for_each(|&asked| live.push(asked));
        for (i, node) in self.nodes.iter().enumerate() {
            let mut works = false;
            let (own, next) = (self.first[i], self.first[i + 1]);
            for t in &mut self.targets[own.target as usize..next.target as usize] {
                if *t != NONE && live[*t as usize] {
                    works = true;
                } else {
                    *t = NONE;
                }
            }
            self.works.push(works);
            if works {
                live[own.slot as usize..next.slot as usize].fill(true);
            } else if leaves && node.is_leaf() {
                live[own.slot as usize] = true;
                self.asked[own.slot as usize] = true;
            }
        }
    }

    pub(super) fn slots(&self) -> usize {
        self.first.last().expect("starts with one").slot as usize
    }

    /// The slots of a node's outputs.
    #[inline]
    pub(super) fn outs(&self, node: usize) -> Range<usize> {
        self.first[node].slot as usize..self.first[node + 1].slot as usize
    }

    /// By input of a node: the slot that it leads to.
    #[inline]
    pub(super) fn ins(&self, node: usize) -> &[u32] {
        &self.targets[self.edges(node)]
    }

    /// The indices of the edges to a node's inputs.
    #[inline]
    pub(super) fn edges(&self, node: usize) -> Range<usize> {
        self.first[node].target as usize..self.first[node + 1].target as usize
    }

    /// Whether a node's rule has to run if a cotangent arrives.
    #[inline]
    pub(super) fn works(&self, node: usize) -> bool {
        self.works[node]
    }

    /// Whether the gradient of an output of the node is needed.
    pub(super) fn is_live(&self, node: usize) -> bool {
        self.works[node] || self.outs(node).any(|s| self.asked[s])
    }

    /// Whether the pass computes the gradient of the value at an edge.
    pub(super) fn reaches(&self, edge: &Edge) -> bool {
        let at = self.nodes.iter().position(|n| Arc::ptr_eq(n, &edge.node));
        at.is_some_and(|i| self.works[i] || self.asked[self.first[i].slot as usize + edge.out as usize])
    }

    /// The node that a slot belongs to.
    pub(super) fn owner(&self, slot: u32) -> usize {
        self.first.partition_point(|first| first.slot <= slot) - 1
    }

    /// Whether several threads would be faster: there are at least `enough` bytes of outputs, and the heaviest path
    /// has at most three quarters of them.
    pub(super) fn is_wide(&self, enough: usize) -> bool {
        if self.heavy < enough {
            return false;
        }
        // The heaviest path that ends at each slot, consumers first.
        let mut path = vec![0; self.slots()];
        let (mut total, mut longest) = (0usize, 0);
        for i in (0..self.nodes.len()).rev().filter(|&i| self.works[i]) {
            let own = Some(bytes(self.nodes[i])).filter(|&b| b >= LIGHT).unwrap_or(0);
            let here = self.outs(i).map(|s| path[s]).max().unwrap_or(0) + own;
            for &t in self.ins(i).iter().filter(|t| **t != NONE) {
                path[t as usize] = here.max(path[t as usize]);
            }
            total = total.saturating_add(own);
            longest = longest.max(here);
        }
        total >= enough && total - total / 4 >= longest
    }
}

/// The bytes of a node's outputs, as a measure of how long its rule runs.
#[inline]
pub(super) fn bytes(node: &Node) -> usize {
    let bytes = |m: &crate::graph::Meta| {
        let batch = m.levels.as_slice().iter().fold(1usize, |n, l| n.saturating_mul(l.batch_size));
        (shape::len(&m.dims) * m.dtype.size()).saturating_mul(batch)
    };
    node.outs.iter().fold(0, |sum, m| sum.saturating_add(bytes(m)))
}
