//! The hooks of a node: a list that the node holds, and the functions in it.
//!
//! A list is locked only while the GIL is held, and never while Python code runs.

use std::any::Any;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyWeakrefReference};
use smallvec::SmallVec;

use super::multi::MultiHook;
use crate::bind::python::dialect::Dialect;
use crate::bind::value::var::Slot;
use crate::graph::{Hooks, LateHostObject, Node};

/// When a hook is called, and with what.
#[derive(Clone)]
pub enum HookKind {
    /// Called with the gradient of this output of the node.
    Tensor(u32),
    /// Calls nothing: stores the gradient of this output in a slot, in its turn or (`last`) after all other hooks.
    Retain { out: u32, slot: Weak<Slot>, last: bool },
    /// Called for several tensors together. This output of the node is the tensor of that index among them.
    Multi(u32, Arc<MultiHook>, usize),
    /// Called with the gradients of all outputs, before the node's rule runs.
    Pre,
    /// Called with the gradients of all inputs and outputs, after the node's rule has run.
    Post,
    /// Called with the tensor of a leaf (with nothing, if `bare`) after `.grad` has received its gradient.
    Accumulated { bare: bool },
}

impl HookKind {
    /// The stage in which the hook is called.
    fn stage(&self) -> u8 {
        match self {
            HookKind::Tensor(_) | HookKind::Retain { .. } | HookKind::Multi(..) => TENSOR,
            HookKind::Pre => PRE,
            HookKind::Post => POST,
            HookKind::Accumulated { .. } => ACCUMULATED,
        }
    }
}

// The stages of a node in a backward pass, one bit each.
pub const TENSOR: u8 = 1;
pub const PRE: u8 = 2;
pub const POST: u8 = 4;
pub const ACCUMULATED: u8 = 8;

/// One hook of a node.
pub struct Hook {
    id: u64,
    pub kind: HookKind,
    pub dialect: Dialect,
    function: Option<Py<PyAny>>,
}

impl Hook {
    /// The user's function. Hooks of the kind `Retain` have none.
    pub fn function<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.function.as_ref().expect("a hook that is called has a function").bind(py)
    }
}

#[derive(Default)]
struct ListState {
    hooks: Vec<Hook>,
    /// The metadata that users put on the node.
    metadata: Option<Py<PyDict>>,
    /// Present while there is a hook with a function: nodes that were made before it do not know that they lead to it.
    late: Option<LateHostObject>,
    /// The node's Python object, while there is one.
    object: Option<Py<PyWeakrefReference>>,
}

/// The hooks of a node, and what else Python keeps for the node.
#[derive(Default)]
pub struct HookList {
    state: Mutex<ListState>,
    /// The stages for which there are hooks: read without the GIL.
    stages: AtomicU8,
}

/// The list as the node holds it.
pub struct Attached(pub Arc<HookList>);

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

impl HookList {
    /// The list of a node, made if it has none.
    pub fn of(node: &Node) -> Arc<HookList> {
        let hooks: &dyn Any = node.attached_or(|| Box::new(Attached(Arc::default())));
        hooks.downcast_ref::<Attached>().expect("nothing else is attached to nodes").0.clone()
    }

    /// Another holder of a node's list, for the next leaf of the node's tensor. None if the node has no list.
    pub fn attached_to(node: &Node) -> Option<Box<dyn Hooks>> {
        let hooks: &dyn Any = node.attached()?;
        hooks.downcast_ref::<Attached>().map(|held| Box::new(Attached(held.0.clone())) as Box<dyn Hooks>)
    }

    /// The numbers of the hooks of a node that call a function.
    pub fn ids(node: &Node) -> SmallVec<[u64; 1]> {
        let list = node.hooks().and_then(|hooks| (hooks as &dyn Any).downcast_ref::<Attached>());
        list.map_or_else(SmallVec::new, |list| {
            list.0.lock().hooks.iter().filter(|h| h.function.is_some()).map(|h| h.id).collect()
        })
    }

    /// The functions that the hooks of a node call.
    pub fn functions(node: &Node, py: Python<'_>) -> Vec<Py<PyAny>> {
        let list = node.hooks().and_then(|hooks| (hooks as &dyn Any).downcast_ref::<Attached>());
        list.map_or_else(Vec::new, |list| {
            list.0.lock().hooks.iter().filter_map(|h| h.function.as_ref().map(|f| f.clone_ref(py))).collect()
        })
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, ListState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there are hooks for any of the stages.
    pub fn has(&self, stages: u8) -> bool {
        stages & self.stages.load(Relaxed) != 0
    }

    /// Adds a hook; returns its number.
    pub fn add(&self, kind: HookKind, dialect: Dialect, function: Option<Py<PyAny>>) -> u64 {
        let id = NEXT_ID.fetch_add(1, Relaxed);
        let mut state = self.lock();
        self.stages.fetch_or(kind.stage(), Relaxed);
        if function.is_some() {
            state.late.get_or_insert_default();
        }
        state.hooks.push(Hook { id, kind, dialect, function });
        id
    }

    /// Removes a hook; returns whether it was there.
    pub fn remove(&self, id: u64) -> bool {
        let mut state = self.lock();
        let at = state.hooks.iter().position(|h| h.id == id);
        let removed = at.map(|i| state.hooks.remove(i));
        self.stages.store(state.hooks.iter().fold(0, |stages, h| stages | h.kind.stage()), Relaxed);
        if state.hooks.iter().all(|h| h.function.is_none()) {
            state.late = None;
        }
        drop(state);
        removed.is_some()
    }

    /// The dialect of the first hook.
    pub fn dialect(&self) -> Dialect {
        self.lock().hooks.first().map_or(Dialect::Native, |h| h.dialect)
    }

    /// The metadata that users put on the node. It is the same dict as long as the node lives.
    pub fn metadata<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        let fresh = PyDict::new(py);
        self.lock().metadata.get_or_insert_with(|| fresh.unbind()).bind(py).clone()
    }

    /// The node's Python object, while there is one.
    pub fn object<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyWeakrefReference>> {
        self.lock().object.as_ref().map(|o| o.bind(py).clone())
    }

    pub fn set_object(&self, object: Bound<'_, PyWeakrefReference>) {
        let old = self.lock().object.replace(object.unbind());
        drop(old);
    }

    /// Shows every Python object of the list to the garbage collector, unless the list is in use.
    pub fn visit<E>(&self, mut f: impl FnMut(&Py<PyAny>) -> Result<(), E>) -> Result<(), E> {
        let Ok(state) = self.state.try_lock() else { return Ok(()) };
        state.hooks.iter().filter_map(|h| h.function.as_ref()).try_for_each(&mut f)?;
        state.metadata.as_ref().map_or(Ok(()), |m| f(m.as_any()))
    }

    /// Lets go of every Python object of the list.
    pub fn clear(&self) {
        let state = std::mem::take(&mut *self.lock());
        self.stages.store(0, Relaxed);
        drop(state);
    }

    /// The hooks of some stages, as they are now: a hook that runs may add and remove others.
    pub fn snapshot(&self, py: Python<'_>, stages: u8) -> Vec<Hook> {
        let copy = |h: &Hook| Hook {
            id: h.id,
            kind: h.kind.clone(),
            dialect: h.dialect,
            function: h.function.as_ref().map(|c| c.clone_ref(py)),
        };
        self.lock().hooks.iter().filter(|h| stages & h.kind.stage() != 0).map(copy).collect()
    }
}
