//! Nodes: how they are made, what they save and free, and how they are dropped.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use once_cell::race::OnceBox;
use smallvec::{SmallVec, smallvec};

use super::detach_reason::{DetachReason, Why};
use super::drop::drop_in_turn;
use super::levels::Levels;
use super::meta::{Meta, Metas};
use super::record::{Edge, Hooks, Marks, Node, NodeKind, Op, Owner, Tensor};
use super::saved::{self, Packer, SavedKind, SavedList, SavedState};
use super::site::Site;
use crate::array::Array;
use crate::error::{Error, Result};
use crate::fork::{Held, Lock};
use crate::memory::{self, write_fields};

impl Edge {
    /// Shape, dtype and levels of the value at this edge.
    #[inline]
    pub fn meta(&self) -> &Meta {
        &self.node.outs[self.out as usize]
    }

    pub fn is_same(&self, other: &Edge) -> bool {
        self.out == other.out && Arc::ptr_eq(&self.node, &other.node)
    }
}

impl Marks {
    /// The node's rule or what it saves is the host's.
    const OWN: u32 = 1;
    /// Host objects hang on the node, or on a node below that had some when this one was made.
    const BELOW: u32 = 2;
    /// The node is the beginning of tangents, or depends on one.
    const MOVES: u32 = 4;
    /// How many bits the marks take; the others are the site.
    const BITS: u32 = 3;

    fn new(site: Site) -> Marks {
        let known = site.0 <= u32::MAX >> Marks::BITS;
        Marks(AtomicU32::new(if known { site.0 << Marks::BITS } else { 0 }))
    }

    fn set(&self, marks: u32) {
        self.0.fetch_or(marks, Relaxed);
    }

    #[inline]
    fn has(&self, mark: u32) -> bool {
        self.0.load(Relaxed) & mark != 0
    }
}

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// How many nodes exist in this process.
pub fn live_nodes() -> usize {
    LIVE.load(Relaxed)
}

impl Node {
    /// A node with outputs like these arrays, whose first axes are those of the levels. `fill` completes it in place,
    /// because it is too large to be moved for each op.
    #[inline]
    fn make(
        kind: NodeKind,
        (outs, levels): (&[Array], &Levels),
        why_untracked: Why,
        site: Site,
        fill: impl FnOnce(&mut Node),
    ) -> Arc<Node> {
        LIVE.fetch_add(1, Relaxed);
        memory::shared(|place| {
            let node = write_fields!(
                place,
                Node {
                    kind: kind,
                    inputs: SmallVec::new(),
                    outs: Metas::default(),
                    saved: Lock::new(SavedState::Live(SmallVec::new())),
                    hooks: OnceBox::new(),
                    marks: Marks::new(site),
                    why_untracked: why_untracked,
                }
            );
            node.outs.fill(outs, levels);
            fill(node);
            node
        })
    }

    /// The node of an op that has been computed. `save` fills in what it saves.
    #[doc(hidden)]
    pub fn of_op(
        op: Box<dyn Op>,
        ins: &[&Tensor],
        outs: &[Array],
        levels: &Levels,
        site: Site,
        save: impl FnOnce(&mut SavedState),
    ) -> Arc<Node> {
        let host = op.calls_host();
        let why_untracked = Tensor::detach_reason_of(ins).why();
        Node::make(NodeKind::Op(op), (outs, levels), why_untracked, site, |node| {
            let saved = node.saved.get_mut();
            save(saved);
            let own = host || matches!(saved, SavedState::Packed(_));
            let mut marks = u32::from(own) * (Marks::OWN | Marks::BELOW);
            for t in ins {
                if let Some(edge) = &t.edge {
                    marks |= edge.node.marks.0.load(Relaxed) & (Marks::BELOW | Marks::MOVES);
                }
                node.inputs.push(t.edge.clone());
            }
            *node.marks.0.get_mut() |= marks;
        })
    }

    pub(super) fn leaf(of: &Tensor, owner: Option<Owner>) -> Arc<Node> {
        let outs = (std::slice::from_ref(&of.array), &of.levels);
        let kind = NodeKind::Leaf(owner.map(Box::new));
        Node::make(kind, outs, Why::default(), Site::current(), |_| {})
    }

    /// Why an untracked input is untracked.
    pub fn detach_reason(&self) -> DetachReason {
        self.why_untracked.into()
    }

    /// The call in the user's program that recorded this node.
    pub fn site(&self) -> Site {
        Site(self.marks.0.load(Relaxed) >> Marks::BITS)
    }

    pub fn name(&self) -> &'static str {
        match &self.kind {
            NodeKind::Leaf(_) => "leaf",
            NodeKind::Op(op) => op.name(),
        }
    }

    pub fn is_leaf(&self) -> bool {
        matches!(self.kind, NodeKind::Leaf(_))
    }

    /// Whether this is a leaf whose owner no longer exists, so that nobody can ask for its gradient.
    pub fn is_abandoned(&self) -> bool {
        matches!(&self.kind, NodeKind::Leaf(Some(owner)) if owner.strong_count() == 0)
    }

    /// The hooks of this node, if there is one to call.
    #[inline]
    pub fn hooks(&self) -> Option<&dyn Hooks> {
        self.attached().filter(|h| !h.is_empty())
    }

    /// The hooks of this node, also where there is none to call at present.
    #[inline]
    pub fn attached(&self) -> Option<&dyn Hooks> {
        self.hooks.get().map(|h| &**h)
    }

    /// The hooks of this node, made by `f` where it has none.
    pub fn attached_or(&self, f: impl FnOnce() -> Box<dyn Hooks>) -> &dyn Hooks {
        self.marks.set(Marks::BELOW);
        &**self.hooks.get_or_init(|| Box::new(f()))
    }

    /// Whether only the thread that asked for the gradients may run this node, because its rule or a hook calls the
    /// host.
    #[inline]
    #[doc(hidden)]
    pub fn runs_on_caller(&self) -> bool {
        self.marks.has(Marks::OWN) || self.hooks().is_some()
    }

    /// Whether host objects hang on this node, or on one below it that had some when this one was made.
    pub fn has_host_parts(&self) -> bool {
        self.marks.has(Marks::BELOW)
    }

    /// Makes the node one where tangents begin.
    pub fn begin_tangents(&self) {
        self.marks.set(Marks::MOVES);
    }

    /// Whether tangents begin at the node, or at one that it depends on.
    #[inline]
    pub fn may_have_tangents(&self) -> bool {
        self.marks.has(Marks::MOVES)
    }

    /// Shows the host's objects in this node to the host's garbage collector.
    pub(super) fn visit_host_objects(&self, visit: &mut dyn FnMut(&dyn Any)) {
        if let NodeKind::Op(op) = &self.kind {
            op.visit_host_objects(visit);
        }
        if let Some(SavedState::Packed(list)) = self.saved.try_lock().as_deref() {
            saved::visit_host_objects(list, visit);
        }
        if let Some(hooks) = self.attached() {
            hooks.visit_host_objects(visit);
        }
    }

    /// What the node's rules read. With `free_at`, the call site of the pass, the node frees it; a node that saves
    /// nothing is never freed.
    ///
    /// # Errors
    /// [`Error::Freed`] where a pass has freed it; from the host language where it is packed.
    #[doc(hidden)]
    pub fn take_saved(&self, free_at: Option<Site>) -> Result<SavedList> {
        let mut saved = self.saved();
        let packed = match (&*saved, free_at) {
            (SavedState::Live(list), Some(site)) if !list.is_empty() => {
                return Ok(match std::mem::replace(&mut *saved, SavedState::Freed(site)) {
                    SavedState::Live(list) => list,
                    _ => unreachable!("just seen"),
                });
            }
            (SavedState::Live(list), _) => return Ok(list.clone()),
            (SavedState::Packed(list), free_at) => {
                let list = list.clone();
                if let Some(site) = free_at {
                    *saved = SavedState::Freed(site);
                }
                list
            }
            (&SavedState::Freed(site), _) => {
                drop(saved);
                return Err(self.freed(site));
            }
        };
        drop(saved);
        saved::unpack(self.name(), &packed)
    }

    /// Packs the array in one slot. Returns whether there is one.
    ///
    /// # Errors
    /// From the packer; [`Error::Argument`] where it is packed already, [`Error::Freed`] where it is freed.
    pub fn pack_at(&self, slot: usize, packer: &dyn Packer) -> Result<bool> {
        let mut list = match &*self.saved() {
            SavedState::Live(list) => saved::packable(list)?,
            SavedState::Packed(list) => list.to_vec(),
            SavedState::Freed(site) => return Err(self.freed(*site)),
        };
        let Some(array) = list.get_mut(slot).and_then(Option::as_mut) else { return Ok(false) };
        array.pack(self.name(), packer)?;
        self.marks.set(Marks::OWN | Marks::BELOW);
        let mut saved = self.saved();
        if !matches!(*saved, SavedState::Freed(_)) {
            let old = std::mem::replace(&mut *saved, SavedState::Packed(list.into()));
            // The lock first: to drop a packed array may run the host's code.
            drop(saved);
            drop(old);
        }
        Ok(true)
    }

    /// Whether an array is saved in a slot. True for every slot once the node is freed.
    pub fn saves_at(&self, slot: usize) -> bool {
        match &*self.saved() {
            SavedState::Live(list) => list.get(slot).is_some_and(Option::is_some),
            SavedState::Packed(list) => list.get(slot).is_some_and(Option::is_some),
            SavedState::Freed(_) => true,
        }
    }

    /// The error that the saved arrays were freed by the pass at `site`.
    #[cold]
    fn freed(&self, site: Site) -> Box<Error> {
        let freed = site.describe().map_or(String::new(), |at| format!(" at {at}"));
        let made = self.site().describe().map_or(String::new(), |at| format!(" was made at {at} and"));
        let node = format!(
            "If it is part of a state that is carried from step to step, detach() the state where a step begins. The \
             node{made} gives {}.",
            self.outs[0]
        );
        Box::new(Error::Freed { op: self.name(), freed, node })
    }

    /// Shows the address and the size in bytes of each saved array; a packed array counts with its size before packing.
    pub fn saved_memory(&self, visit: &mut dyn FnMut(usize, usize)) -> SavedKind {
        match &*self.saved() {
            SavedState::Live(list) => {
                for saved in list.iter().flatten() {
                    let (memory, bytes) = saved.array().memory();
                    visit(memory, bytes);
                }
                SavedKind::Live
            }
            SavedState::Packed(list) => {
                saved::packed_memory(list, visit);
                SavedKind::Packed
            }
            SavedState::Freed(_) => SavedKind::Freed,
        }
    }

    /// Frees what the node saves, if it saves anything. `site` is the call site of the pass.
    #[doc(hidden)]
    pub fn free(&self, site: Site) {
        let mut saved = self.saved();
        let freed = matches!(&*saved, SavedState::Freed(_));
        if !freed && !matches!(&*saved, SavedState::Live(list) if list.is_empty()) {
            let old = std::mem::replace(&mut *saved, SavedState::Freed(site));
            drop(saved);
            drop(old);
        }
    }

    /// A pass that a fork has left behind in the middle of freeing this has freed it.
    #[inline(always)]
    fn saved(&self) -> Held<'_, SavedState> {
        self.saved.lock(|| SavedState::Freed(Site::default()))
    }
}

impl Drop for Node {
    /// Drops the nodes below in a loop, because a chain may have millions of them.
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Relaxed);
        if self.marks.has(Marks::OWN) || self.hooks.get().is_some() {
            let saved = std::mem::replace(self.saved.get_mut(), SavedState::Live(smallvec![]));
            let kind = std::mem::replace(&mut self.kind, NodeKind::Leaf(None));
            drop_in_turn((kind, saved, std::mem::take(&mut self.hooks)));
        }
        for node in alone_below(self) {
            drop_below(node);
        }
    }
}

/// The nodes below a node that nobody else owns. The others lose an owner.
#[inline(always)]
fn alone_below(node: &mut Node) -> impl Iterator<Item = Arc<Node>> {
    node.inputs.iter_mut().filter_map(Option::take).filter_map(|edge| {
        if Arc::strong_count(&edge.node) == 1 {
            return Some(edge.node);
        }
        // The other owners may be gone by now.
        Arc::into_inner(edge.node).map(Arc::new)
    })
}

#[cold]
fn drop_below(node: Arc<Node>) {
    let mut work: SmallVec<[Arc<Node>; 4]> = SmallVec::new();
    work.push(node);
    while let Some(mut node) = work.pop() {
        // A node without weak references is not moved, which saves many words.
        if let Some(own) = Arc::get_mut(&mut node) {
            work.extend(alone_below(own));
        } else if let Some(mut own) = Arc::into_inner(node) {
            work.extend(alone_below(&mut own));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_small() {
        // With the two counts of the `Arc` and the allocator's word it fills 176 bytes.
        assert_eq!(size_of::<Node>(), 152);
    }
}
