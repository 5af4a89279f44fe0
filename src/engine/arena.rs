//! The part of the graph that a pass needs, laid out in flat lists.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
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
    places: Vec<Place<'a>>,
    /// The indices of the leaves.
    pub(super) leaves: List<u32>,
    /// By edge: the slot that it leads to, or [`NONE`] where it leads to no wanted value.
    targets: List<u32>,
    /// By slot: whether its gradient is part of the answer.
    pub(super) asked: List<bool>,
    /// By root and by wanted value of the request: the slot, or [`NONE`] where it is not reached.
    pub(super) roots: List<u32>,
    pub(super) wanted: List<u32>,
    /// Bytes of the outputs of all nodes that are worth another thread.
    heavy: usize,
}

/// A node, with its first slot and its first entry in `targets`.
struct Place<'a> {
    node: &'a Arc<Node>,
    slot: u32,
    target: u32,
    /// Whether its rule has to run, because an input is wanted or leads to a wanted value.
    works: bool,
}

impl Place<'_> {
    #[inline]
    fn outs(&self) -> Range<usize> {
        self.slot as usize..self.slot as usize + self.node.outs.len()
    }

    #[inline]
    fn edges(&self) -> Range<usize> {
        self.target as usize..self.target as usize + self.node.inputs.len()
    }
}

/// A node of the walk whose inputs are being visited.
struct Frame<'a> {
    node: &'a Arc<Node>,
    /// The input to visit next.
    next: u32,
    /// The index of its first target in the walk's own list.
    start: u32,
}

/// The indices of the nodes that may be met again. As long as they are few, no table is made for them.
#[derive(Default)]
struct Met {
    few: List<(*const Node, u32)>,
    many: FxHashMap<*const Node, u32>,
}

impl Met {
    fn get(&self, node: &Arc<Node>) -> Option<u32> {
        let node = Arc::as_ptr(node);
        match self.many.is_empty() {
            true => self.few.iter().find(|(met, _)| *met == node).map(|(_, index)| *index),
            false => self.many.get(&node).copied(),
        }
    }

    fn insert(&mut self, node: &Arc<Node>, index: u32) {
        let entry = (Arc::as_ptr(node), index);
        if self.many.is_empty() && self.few.len() < FEW {
            return self.few.push(entry);
        }
        self.many.extend(self.few.drain(..).chain([entry]));
    }
}

/// The nodes below which a walk finds nothing that is wanted, however long their histories are.
enum Ends {
    None,
    /// The only node with a wanted value. What it was computed from does not lead back to it.
    One(*const Node),
    /// All nodes with wanted values, where no gradient flows through one.
    Many(FxHashSet<*const Node>),
}

impl Ends {
    fn of(request: &Request<'_>) -> Ends {
        let mut nodes = request.wanted.iter().map(|e| Arc::as_ptr(&e.node));
        match nodes.next() {
            Some(first) if !request.leaves && nodes.all(|node| node == first) => Ends::One(first),
            Some(_) if request.stops => {
                Ends::Many(request.wanted.iter().map(|e| Arc::as_ptr(&e.node)).collect())
            }
            _ => Ends::None,
        }
    }

    #[inline]
    fn has(&self, node: &Arc<Node>) -> bool {
        match self {
            Ends::None => false,
            Ends::One(end) => *end == Arc::as_ptr(node),
            Ends::Many(ends) => ends.contains(&Arc::as_ptr(node)),
        }
    }
}

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
        let mut arena = Arena {
            places: Vec::with_capacity(FEW),
            leaves: List::new(),
            targets: List::new(),
            asked: List::new(),
            roots: List::new(),
            wanted: List::new(),
            heavy: 0,
        };
        let mut met = Met::default();
        let blocked = |e: &Edge| !request.blocked.is_empty() && request.blocked.iter().any(|b| b.is_same(e));
        let ends = Ends::of(request);
        for (root, _) in request.roots.iter().filter(|(root, _)| !blocked(root)) {
            arena.walk(&root.node, &mut met, &blocked, &ends)?;
        }
        let slot = |e: &Edge| {
            let node = met.get(&e.node).filter(|_| !blocked(e));
            node.map_or(NONE, |i| arena.places[i as usize].slot + e.out)
        };
        request.roots.iter().for_each(|(e, _)| arena.roots.push(slot(e)));
        request.wanted.iter().for_each(|e| arena.wanted.push(slot(e)));
        Ok(arena)
    }

    fn walk(
        &mut self,
        root: &'a Arc<Node>,
        met: &mut Met,
        blocked: &impl Fn(&Edge) -> bool,
        ends: &Ends,
    ) -> Result<(), NoMemory> {
        if met.get(root).is_some() {
            return Ok(());
        }
        let (mut targets, mut stack): (List<u32>, List<Frame<'_>>) = (List::new(), List::new());
        root.inputs.iter().for_each(|_| targets.push(NONE));
        stack.push(Frame { node: root, next: 0, start: 0 });
        while let Some(frame) = stack.last_mut() {
            let node = frame.node;
            let Some(edge) = node.inputs.get(frame.next as usize) else {
                // All inputs are in the list, so the node follows.
                let placed = self.push(node, &targets[frame.start as usize..])?;
                targets.truncate(frame.start as usize);
                stack.pop();
                // A node with one owner is not met again.
                if Arc::strong_count(node) > 1 || stack.is_empty() {
                    met.insert(node, placed);
                }
                if let Some(consumer) = stack.last_mut() {
                    let edge = consumer.node.inputs[consumer.next as usize]
                        .as_ref()
                        .expect("the walk came along it");
                    targets[(consumer.start + consumer.next) as usize] =
                        self.places[placed as usize].slot + edge.out;
                    consumer.next += 1;
                }
                continue;
            };
            let at = (frame.start + frame.next) as usize;
            let Some(edge) = edge.as_ref().filter(|e| !ends.has(node) && !blocked(e)) else {
                frame.next += 1;
                continue;
            };
            if Arc::strong_count(&edge.node) > 1
                && let Some(known) = met.get(&edge.node)
            {
                targets[at] = self.places[known as usize].slot + edge.out;
                frame.next += 1;
                continue;
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
        let index = self.places.len();
        if index.is_multiple_of(MANY) {
            memory::ensure(index * NODE + self.targets.len() * TARGET)?;
        }
        if node.is_leaf() {
            self.leaves.push(index as u32);
        }
        let (slot, target) = (self.slots() as u32, self.targets.len() as u32);
        self.places.push(Place { node, slot, target, works: false });
        targets.iter().for_each(|&t| self.targets.push(t));
        node.outs.iter().for_each(|_| self.asked.push(false));
        let bytes = bytes(node);
        if bytes >= LIGHT {
            self.heavy = self.heavy.saturating_add(bytes);
        }
        Ok(index as u32)
    }

    /// Drops wanted outputs that are not reached though another output of their node is.
    fn drop_unreached_outputs(&mut self) {
        let several = |&s: &u32| s != NONE && self.node(self.owner(s)).outs.len() > 1;
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
        let mut live = self.asked.clone();
        for place in &mut self.places {
            for t in &mut self.targets[place.edges()] {
                if *t != NONE && live[*t as usize] {
                    place.works = true;
                } else {
                    *t = NONE;
                }
            }
            if place.works {
                live[place.outs()].fill(true);
            } else if leaves && place.node.is_leaf() {
                live[place.slot as usize] = true;
                self.asked[place.slot as usize] = true;
            }
        }
    }

    pub(super) fn slots(&self) -> usize {
        self.asked.len()
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    #[inline]
    pub(super) fn node(&self, node: usize) -> &'a Arc<Node> {
        self.places[node].node
    }

    pub(super) fn nodes(&self) -> impl ExactSizeIterator<Item = &'a Arc<Node>> + DoubleEndedIterator {
        self.places.iter().map(|place| place.node)
    }

    /// The slots of a node's outputs.
    #[inline]
    pub(super) fn outs(&self, node: usize) -> Range<usize> {
        self.places[node].outs()
    }

    /// By input of a node: the slot that it leads to.
    #[inline]
    pub(super) fn ins(&self, node: usize) -> &[u32] {
        &self.targets[self.edges(node)]
    }

    /// The indices of the edges to a node's inputs.
    #[inline]
    pub(super) fn edges(&self, node: usize) -> Range<usize> {
        self.places[node].edges()
    }

    /// Whether a node's rule has to run if a cotangent arrives.
    #[inline]
    pub(super) fn works(&self, node: usize) -> bool {
        self.places[node].works
    }

    /// Whether the gradient of an output of the node is needed.
    pub(super) fn is_live(&self, node: usize) -> bool {
        self.works(node) || self.outs(node).any(|s| self.asked[s])
    }

    /// Whether the pass computes the gradient of the value at an edge.
    pub(super) fn reaches(&self, edge: &Edge) -> bool {
        let at = self.places.iter().find(|place| Arc::ptr_eq(place.node, &edge.node));
        at.is_some_and(|place| place.works || self.asked[place.slot as usize + edge.out as usize])
    }

    /// The node that a slot belongs to.
    pub(super) fn owner(&self, slot: u32) -> usize {
        self.places.partition_point(|place| place.slot <= slot) - 1
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
        for place in self.places.iter().rev().filter(|place| place.works) {
            let own = Some(bytes(place.node)).filter(|&b| b >= LIGHT).unwrap_or(0);
            let here = place.outs().map(|s| path[s]).max().unwrap_or(0) + own;
            for &t in self.targets[place.edges()].iter().filter(|t| **t != NONE) {
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
