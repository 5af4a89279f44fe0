//! Nodes: one application of an op, or a leaf, with the edges to its inputs and what its rules will read.

use std::any::Any;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use once_cell::race::OnceBox;
use smallvec::{SmallVec, smallvec};

use super::host::drop_in_turn;
use super::pack::{self, PackedArray, Packer};
use super::site::Site;
use super::{DetachReason, Hooks, Levels, Meta, Metas, Op, Tensor};
use crate::array::{Array, ArrayWith};
use crate::error::{Error, Result};

/// Output `out` of a node.
#[derive(Clone)]
pub struct Edge {
    pub node: Arc<Node>,
    pub out: u32,
}

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

/// By the inputs of an op; none where no gradient is wanted.
type Inputs = SmallVec<[Option<Edge>; 2]>;

/// Who holds a leaf, without being kept by it.
pub type Owner = Weak<dyn Any + Send + Sync>;

pub enum NodeKind {
    /// The start of a graph, and who holds it, if that is known.
    Leaf(Option<Box<Owner>>),
    Op(Box<dyn Op>),
}

/// A kept array, with the levels of its hidden axes.
#[derive(Clone)]
pub struct SavedArray(ArrayWith<Levels>);

impl SavedArray {
    #[inline]
    pub fn new(array: Array, levels: &Levels) -> SavedArray {
        SavedArray(ArrayWith::new(array, (!levels.is_empty()).then(|| levels.clone())))
    }

    #[inline]
    pub fn array(&self) -> Array {
        self.0.array()
    }

    /// The value, with the edge that it came by.
    #[inline]
    pub fn tensor(&self, edge: Option<Edge>) -> Tensor {
        Tensor::made(self.array(), edge, self.levels())
    }

    #[inline]
    pub(super) fn levels(&self) -> Levels {
        self.0.other().cloned().unwrap_or_default()
    }
}

/// What the rules of a node read: the kept inputs by position, then the kept outputs; or as its op says.
pub(crate) type SavedList = SmallVec<[Option<SavedArray>; 2]>;

/// What a node keeps; nothing once freed.
pub(crate) enum SavedState {
    Live(SavedList),
    Packed(Arc<[Option<PackedArray>]>),
    /// By the pass that was asked for there.
    Freed(Site),
}

/// How a node keeps what its rules read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedKind {
    Live,
    /// In a form of the host language's.
    Packed,
    /// No more: a backward pass has freed it.
    Freed,
}

/// In one number: the call site that made a node, and whether it holds objects of the host language's.
struct Marks(AtomicU32);

impl Marks {
    /// In its op or in what it keeps.
    const OWN: u32 = 1;
    /// Itself, or a node below it that did when this one was made.
    const BELOW: u32 = 2;
    const BITS: u32 = 2;

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

/// One application of an op, or a leaf.
pub struct Node {
    pub kind: NodeKind,
    pub inputs: Inputs,
    pub outs: Metas,
    kept: Mutex<SavedState>,
    /// Boxed twice, so that a node without hooks has one word for them.
    hooks: OnceBox<Box<dyn Hooks>>,
    marks: Marks,
    /// What cut off an input that is not tracked.
    pub detach_reason: DetachReason,
}

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// How many nodes exist in this process.
pub fn live_nodes() -> usize {
    LIVE.load(Relaxed)
}

impl Node {
    /// A node that is filled by `fill` where it will stand: it is too large to be moved for each op.
    #[inline]
    fn make(
        kind: NodeKind,
        detach_reason: DetachReason,
        site: Site,
        fill: impl FnOnce(&mut Node),
    ) -> Arc<Node> {
        LIVE.fetch_add(1, Relaxed);
        let mut new = Arc::new(Node {
            kind,
            inputs: SmallVec::new(),
            outs: Metas::Many(Box::default()),
            kept: Mutex::new(SavedState::Live(SmallVec::new())),
            hooks: OnceBox::new(),
            marks: Marks::new(site),
            detach_reason,
        });
        fill(Arc::get_mut(&mut new).expect("nobody else has it yet"));
        new
    }

    /// The node of an op that has been computed, with what `keep` puts into it.
    pub(crate) fn of_op(
        op: Box<dyn Op>,
        ins: &[&Tensor],
        outs: &[Array],
        levels: &Levels,
        site: Site,
        keep: impl FnOnce(&mut SavedState),
    ) -> Arc<Node> {
        let host = op.calls_host();
        Node::make(NodeKind::Op(op), DetachReason::among(ins), site, |node| {
            let kept = node.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
            keep(kept);
            let own = host || matches!(kept, SavedState::Packed(_));
            let mut below = own;
            for t in ins {
                below |= t.edge.as_ref().is_some_and(|e| e.node.has_host_parts());
                node.inputs.push(t.edge.clone());
            }
            *node.marks.0.get_mut() |= (u32::from(own) * Marks::OWN) | (u32::from(below) * Marks::BELOW);
            node.outs = Metas::of(outs, levels);
        })
    }

    pub(super) fn leaf(of: &Tensor, owner: Option<Owner>) -> Arc<Node> {
        Node::make(NodeKind::Leaf(owner.map(Box::new)), DetachReason::default(), Site::current(), |node| {
            node.outs = Metas::of(std::slice::from_ref(&of.array), &of.levels);
        })
    }

    /// The call in the user's program that made this node.
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

    /// What hangs on this node, if there is something to be called.
    #[inline]
    pub fn hooks(&self) -> Option<&dyn Hooks> {
        self.attached().filter(|h| !h.is_empty())
    }

    /// What hangs on this node.
    #[inline]
    pub fn attached(&self) -> Option<&dyn Hooks> {
        self.hooks.get().map(|h| &**h)
    }

    /// What hangs on this node, made by `f` where nothing does yet.
    pub fn attached_or(&self, f: impl FnOnce() -> Box<dyn Hooks>) -> &dyn Hooks {
        self.marks.set(Marks::BELOW);
        &**self.hooks.get_or_init(|| Box::new(f()))
    }

    /// Whether only the thread that asked for the gradients may run this node: its rule or its hooks are the host
    /// language's.
    #[inline]
    pub(crate) fn is_callers(&self) -> bool {
        self.marks.has(Marks::OWN) || self.hooks().is_some()
    }

    /// Whether objects of the host language's hang on this node or on one below it.
    pub fn has_host_parts(&self) -> bool {
        self.marks.has(Marks::BELOW)
    }

    /// Shows the host's objects that this node holds.
    pub(super) fn held(&self, see: &mut dyn FnMut(&dyn Any)) {
        if let NodeKind::Op(op) = &self.kind {
            op.held(see);
        }
        if let Ok(SavedState::Packed(list)) = self.kept.try_lock().as_deref() {
            pack::held(list, see);
        }
        if let Some(hooks) = self.attached() {
            hooks.held(see);
        }
    }

    /// What the node's rules read. With `free_at`, the call site of the pass, it is freed; a node that saves nothing is
    /// never freed.
    ///
    /// # Errors
    /// [`Error::Freed`] where a pass has freed it; from the host language where it is packed.
    pub(crate) fn take_saved(&self, free_at: Option<Site>) -> Result<SavedList> {
        let mut kept = self.kept();
        let packed = match (&mut *kept, free_at) {
            (SavedState::Live(list), Some(site)) if !list.is_empty() => {
                let list = std::mem::take(list);
                *kept = SavedState::Freed(site);
                return Ok(list);
            }
            (SavedState::Live(list), _) => return Ok(list.clone()),
            (SavedState::Packed(list), free_at) => {
                let list = list.clone();
                if let Some(site) = free_at {
                    *kept = SavedState::Freed(site);
                }
                list
            }
            (SavedState::Freed(site), _) => {
                let site = *site;
                drop(kept);
                return Err(self.freed(site));
            }
        };
        drop(kept);
        pack::unpack(self.name(), &packed)
    }

    /// Packs one of the kept arrays. Whether there is one at that position.
    ///
    /// # Errors
    /// From the packer; where it is packed already, or freed.
    pub fn pack_at(&self, at: usize, packer: &dyn Packer) -> Result<bool> {
        let mut list = match &*self.kept() {
            SavedState::Live(list) => pack::packable(list)?,
            SavedState::Packed(list) => list.to_vec(),
            SavedState::Freed(site) => return Err(self.freed(*site)),
        };
        let Some(keep) = list.get_mut(at).and_then(Option::as_mut) else { return Ok(false) };
        pack::pack(self.name(), keep, packer)?;
        self.marks.set(Marks::OWN | Marks::BELOW);
        let mut kept = self.kept();
        if !matches!(*kept, SavedState::Freed(_)) {
            let old = std::mem::replace(&mut *kept, SavedState::Packed(list.into()));
            drop(kept);
            drop(old);
        }
        Ok(true)
    }

    /// Whether an array is kept at a position, or was until the node was freed.
    pub fn saves_at(&self, at: usize) -> bool {
        match &*self.kept() {
            SavedState::Live(list) => list.get(at).is_some_and(Option::is_some),
            SavedState::Packed(list) => list.get(at).is_some_and(Option::is_some),
            SavedState::Freed(_) => true,
        }
    }

    /// That what the node kept is gone since the pass that was asked for at a site.
    #[cold]
    fn freed(&self, site: Site) -> Box<Error> {
        let freed = site.describe().map_or(String::new(), |at| format!(" at {at}"));
        let made = self.site().describe().map_or(String::new(), |at| format!(" was made at {at} and"));
        let node = format!("The node{made} gives {}.", self.outs[0]);
        Box::new(Error::Freed { op: self.name(), freed, node })
    }

    /// Shows which memory this node keeps for its rules and how many bytes of it. What is packed counts as what it was.
    pub fn kept_memory(&self, see: &mut dyn FnMut(usize, usize)) -> SavedKind {
        match &*self.kept() {
            SavedState::Live(list) => {
                for keep in list.iter().flatten() {
                    let (memory, bytes) = keep.array().memory();
                    see(memory, bytes);
                }
                SavedKind::Live
            }
            SavedState::Packed(list) => {
                pack::sizes(list, see);
                SavedKind::Packed
            }
            SavedState::Freed(_) => SavedKind::Freed,
        }
    }

    /// Lets go of what the node keeps, if it keeps anything.
    pub(crate) fn free(&self, site: Site) {
        let mut kept = self.kept();
        let freed = matches!(&*kept, SavedState::Freed(_));
        if !freed && !matches!(&*kept, SavedState::Live(list) if list.is_empty()) {
            let old = std::mem::replace(&mut *kept, SavedState::Freed(site));
            drop(kept);
            drop(old);
        }
    }

    fn kept(&self) -> MutexGuard<'_, SavedState> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Node {
    /// Drops the nodes below in a loop: a chain may have millions of them.
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Relaxed);
        if self.marks.has(Marks::OWN) || self.hooks.get().is_some() {
            let kept = std::mem::replace(&mut *self.kept(), SavedState::Live(smallvec![]));
            let kind = std::mem::replace(&mut self.kind, NodeKind::Leaf(None));
            drop_in_turn((kind, kept, std::mem::take(&mut self.hooks)));
        }
        for edge in self.inputs.iter_mut().filter_map(Option::take) {
            if let Some(inputs) = let_go(edge) {
                drop_below(inputs);
            }
        }
    }
}

/// Lets go of a node: its inputs, if nobody else held it.
#[inline]
fn let_go(mut edge: Edge) -> Option<Inputs> {
    // Where it stands, if nobody has a weak hold on it either, since it is many words to move.
    if Arc::strong_count(&edge.node) == 1
        && let Some(node) = Arc::get_mut(&mut edge.node)
    {
        return Some(std::mem::take(&mut node.inputs));
    }
    Arc::into_inner(edge.node).map(|mut node| std::mem::take(&mut node.inputs))
}

#[cold]
fn drop_below(inputs: Inputs) {
    let mut work: SmallVec<[Inputs; 1]> = SmallVec::from_buf([inputs]);
    while let Some(inputs) = work.pop() {
        for edge in inputs.into_iter().flatten() {
            work.extend(let_go(edge));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_small() {
        // With its counts and the allocator's own word it fills 176 bytes.
        assert_eq!(size_of::<Node>(), 152);
    }
}
