//! Nodes: one application of an op, or a leaf, with the edges to its inputs and what its rules will read.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use once_cell::race::OnceBox;
use smallvec::{SmallVec, smallvec};

use super::host::drop_in_turn;
use super::pack::{self, PackedKeep};
use super::site::Site;
use super::{Cut, Hooks, Levels, Op, Tensor};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::shape::Dims;

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

/// Shape (as ops see it), dtype and levels of one output of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    pub dims: Dims,
    pub dtype: DType,
    pub levels: Levels,
}

impl std::fmt::Display for Meta {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.dims.as_slice())
    }
}

impl Meta {
    pub fn of(t: &Tensor) -> Meta {
        Meta { dims: Dims::from_slice(t.dims()), dtype: t.dtype(), levels: t.levels.clone() }
    }
}

/// Who holds a leaf, without being kept by it.
pub type Owner = Weak<dyn Any + Send + Sync>;

pub enum Kind {
    /// The start of a graph, and who holds it, if that is known.
    Leaf(Option<Box<Owner>>),
    Op(Box<dyn Op>),
}

/// A kept array, with the levels of its hidden axes.
#[derive(Clone)]
pub struct Keep {
    pub array: Array,
    pub levels: Levels,
}

/// What the rules of a node read: the kept inputs by position, then the kept outputs; or as its op says.
pub(crate) type KeptList = SmallVec<[Option<Keep>; 2]>;

/// What a node keeps; nothing once freed.
pub(crate) enum Kept {
    Live(KeptList),
    Packed(Arc<[Option<PackedKeep>]>),
    /// By the pass that was asked for there.
    Freed(Site),
}

/// How a node keeps what its rules read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    Live,
    /// In a form of the host language's.
    Packed,
    /// No more: a backward pass has freed it.
    Freed,
}

/// Whether a node holds objects of the host language's.
#[derive(Default)]
pub(super) struct HostParts {
    /// In its op or in what it keeps.
    own: bool,
    /// Itself, or a node below it that did when this one was made.
    below: AtomicBool,
}

/// One application of an op, or a leaf.
pub struct Node {
    pub kind: Kind,
    /// By the op's inputs; none where no gradient is wanted.
    pub inputs: SmallVec<[Option<Edge>; 2]>,
    pub outs: SmallVec<[Meta; 1]>,
    kept: Mutex<Kept>,
    /// Boxed twice, so that a node without hooks has one word for them.
    hooks: OnceBox<Box<dyn Hooks>>,
    host: HostParts,
    /// The call in the user's program that made this node.
    pub site: Site,
    /// What cut off an input that is not tracked.
    pub cut: Cut,
}

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// How many nodes exist in this process.
pub fn live_nodes() -> usize {
    LIVE.load(Relaxed)
}

impl Node {
    /// A node that is filled by `fill` where it will stand: it is too large to be moved for each op.
    #[inline]
    fn make(kind: Kind, cut: Cut, fill: impl FnOnce(&mut Node)) -> Arc<Node> {
        LIVE.fetch_add(1, Relaxed);
        let site = Site::current();
        let mut new = Arc::new(Node {
            kind,
            inputs: SmallVec::new(),
            outs: SmallVec::new(),
            kept: Mutex::new(Kept::Live(SmallVec::new())),
            hooks: OnceBox::new(),
            host: HostParts::default(),
            site,
            cut,
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
        keep: impl FnOnce(&mut Kept),
    ) -> Arc<Node> {
        let host = op.calls_host();
        Node::make(Kind::Op(op), Cut::among(ins), |node| {
            let kept = node.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
            keep(kept);
            node.host.own = host || matches!(kept, Kept::Packed(_));
            let mut below = node.host.own;
            for t in ins {
                below |= t.edge.as_ref().is_some_and(|e| e.node.has_host_parts());
                node.inputs.push(t.edge.clone());
            }
            *node.host.below.get_mut() = below;
            for out in outs {
                node.add_out(&out.dims()[levels.len()..], out.dtype(), levels);
            }
        })
    }

    pub(super) fn leaf(of: &Tensor, owner: Option<Owner>) -> Arc<Node> {
        Node::make(Kind::Leaf(owner.map(Box::new)), Cut::default(), |node| {
            node.add_out(of.dims(), of.dtype(), &of.levels)
        })
    }

    #[inline]
    fn add_out(&mut self, dims: &[usize], dtype: DType, levels: &Levels) {
        self.outs.push(Meta { dims: Dims::new(), dtype, levels: levels.clone() });
        if let Some(meta) = self.outs.last_mut() {
            dims.iter().for_each(|&d| meta.dims.push(d));
        }
    }

    pub fn name(&self) -> &'static str {
        match &self.kind {
            Kind::Leaf(_) => "leaf",
            Kind::Op(op) => op.name(),
        }
    }

    pub fn is_leaf(&self) -> bool {
        matches!(self.kind, Kind::Leaf(_))
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
        self.host.below.store(true, Relaxed);
        &**self.hooks.get_or_init(|| Box::new(f()))
    }

    /// Whether only the thread that asked for the gradients may run this node: its rule or its hooks are the host
    /// language's.
    #[inline]
    pub(crate) fn is_callers(&self) -> bool {
        self.host.own || self.hooks().is_some()
    }

    /// Whether objects of the host language's hang on this node or on one below it.
    pub fn has_host_parts(&self) -> bool {
        self.host.below.load(Relaxed)
    }

    /// Shows the host's objects that this node holds.
    pub(super) fn held(&self, see: &mut dyn FnMut(&dyn Any)) {
        if let Kind::Op(op) = &self.kind {
            op.held(see);
        }
        if let Ok(Kept::Packed(list)) = self.kept.try_lock().as_deref() {
            pack::held(list, see);
        }
        if let Some(hooks) = self.attached() {
            hooks.held(see);
        }
    }

    /// What the node's rules read: taken out, so that it is freed afterwards, unless the graph is to be retained. A
    /// node that kept nothing is never freed.
    pub(crate) fn take_kept(&self, retain: bool) -> Result<KeptList> {
        let mut kept = self.kept();
        let packed = match &mut *kept {
            Kept::Live(list) if retain || list.is_empty() => return Ok(list.clone()),
            Kept::Live(list) => {
                let list = std::mem::take(list);
                *kept = Kept::Freed(Site::current());
                return Ok(list);
            }
            Kept::Packed(list) => {
                let list = list.clone();
                if !retain {
                    *kept = Kept::Freed(Site::current());
                }
                list
            }
            Kept::Freed(site) => {
                let site = *site;
                drop(kept);
                return Err(self.freed(site));
            }
        };
        drop(kept);
        pack::unpack(self.name(), &packed)
    }

    /// That what the node kept is gone since the pass that was asked for at a site.
    #[cold]
    fn freed(&self, site: Site) -> Box<Error> {
        let freed = site.describe().map_or(String::new(), |at| format!(" at {at}"));
        let made = self.site.describe().map_or(String::new(), |at| format!(" was made at {at} and"));
        let node = format!("The node{made} gives {}.", self.outs[0]);
        Box::new(Error::Freed { op: self.name(), freed, node })
    }

    /// Shows which memory this node keeps for its rules and how many bytes of it. What is packed counts as what it was.
    pub fn kept_memory(&self, see: &mut dyn FnMut(usize, usize)) -> Holding {
        match &*self.kept() {
            Kept::Live(list) => {
                for keep in list.iter().flatten() {
                    let (memory, bytes) = keep.array.memory();
                    see(memory, bytes);
                }
                Holding::Live
            }
            Kept::Packed(list) => {
                pack::sizes(list, see);
                Holding::Packed
            }
            Kept::Freed(_) => Holding::Freed,
        }
    }

    /// Lets go of what the node keeps, if it keeps anything.
    pub(crate) fn free(&self) {
        let mut kept = self.kept();
        let keeps = match &*kept {
            Kept::Live(list) => !list.is_empty(),
            Kept::Packed(_) => true,
            Kept::Freed(_) => false,
        };
        if keeps {
            let old = std::mem::replace(&mut *kept, Kept::Freed(Site::current()));
            drop(kept);
            drop(old);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Node {
    /// Drops the nodes below in a loop: a chain may have millions of them.
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Relaxed);
        if self.host.own || self.hooks.get().is_some() {
            let kept = std::mem::replace(&mut *self.kept(), Kept::Live(smallvec![]));
            let kind = std::mem::replace(&mut self.kind, Kind::Leaf(None));
            drop_in_turn((kind, kept, std::mem::take(&mut self.hooks)));
        }
        let mut inputs = std::mem::take(&mut self.inputs);
        let mut work: SmallVec<[SmallVec<[Option<Edge>; 2]>; 1]> = SmallVec::new();
        loop {
            for edge in inputs.into_iter().flatten() {
                if let Some(mut node) = Arc::into_inner(edge.node) {
                    work.push(std::mem::take(&mut node.inputs));
                }
            }
            let Some(next) = work.pop() else { return };
            inputs = next;
        }
    }
}
