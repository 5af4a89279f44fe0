//! Python's hooks: what hangs on a node, in which order it is called, and how what it returns is checked.
//!
//! A list is locked only while the GIL is held, and never while Python runs.

use std::any::Any;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyWeakrefReference};

use super::accumulate::{Slot, accumulate_grad};
use super::dialect::Dialect;
use super::enter::called_back;
use super::error::raise;
use super::garbage::show_reached;
use super::multi::Multi;
use super::var::Var;
use crate::error::Result;
use crate::graph::{Cotangents, Edge, HookContext, Hooks, Late, Node, Tensor};

/// When a hook is called, and with what.
#[derive(Clone)]
pub enum Role {
    /// With the gradient of this output of the node.
    Gradient(u32),
    /// Not called: the gradient of this output is kept for a tensor, in its turn or (`last`) after all others.
    Retain { out: u32, slot: Weak<Slot>, last: bool },
    /// With the gradient of this output, as one of several.
    Among(u32, Arc<Multi>, usize),
    /// With the gradients of all outputs, before the node's rule.
    Before,
    /// With the gradients of all inputs and outputs, after the node's rule.
    After,
    /// With the tensor (or, if `bare`, with nothing) after its gradient has been added to what it has.
    Added { bare: bool },
}

impl Role {
    /// When it is its turn.
    fn turn(&self) -> u8 {
        match self {
            Role::Gradient(_) | Role::Retain { .. } | Role::Among(..) => ARRIVE,
            Role::Before => BEFORE,
            Role::After => AFTER,
            Role::Added { .. } => ADDED,
        }
    }
}

/// The turns, one bit each.
const ARRIVE: u8 = 1;
const BEFORE: u8 = 2;
const AFTER: u8 = 4;
const ADDED: u8 = 8;

struct Entry {
    id: u64,
    role: Role,
    dialect: Dialect,
    call: Option<Py<PyAny>>,
}

#[derive(Default)]
struct State {
    entries: Vec<Entry>,
    /// What users put on the node.
    metadata: Option<Py<PyDict>>,
    /// There while there is a hook: nodes that were made before it do not know of it.
    late: Option<Late>,
    /// The node's Python object, while there is one.
    object: Option<Py<PyWeakrefReference>>,
}

/// What hangs on a node.
#[derive(Default)]
pub struct List {
    state: Mutex<State>,
    /// Whose turns there are: read without the GIL.
    turns: AtomicU8,
}

/// A list as the engine knows it.
struct Hung(Arc<List>);

static NEXT: AtomicU64 = AtomicU64::new(0);

impl List {
    /// The list of a node, made if it has none.
    pub fn of(node: &Node) -> Arc<List> {
        List::on(node, Arc::default)
    }

    /// The list of a node; `f` if it has none.
    pub fn on(node: &Node, f: impl FnOnce() -> Arc<List>) -> Arc<List> {
        let hung: &dyn Any = node.attached_or(|| Box::new(Hung(f())));
        hung.downcast_ref::<Hung>().expect("only lists hang on nodes here").0.clone()
    }

    /// The list of a node that has one.
    pub fn known(node: &Node) -> Option<&Arc<List>> {
        let hung: &dyn Any = node.attached()?;
        hung.downcast_ref::<Hung>().map(|h| &h.0)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hangs up one more; returns its number.
    pub fn add(&self, role: Role, dialect: Dialect, call: Option<Py<PyAny>>) -> u64 {
        let id = NEXT.fetch_add(1, Relaxed);
        let mut state = self.lock();
        self.turns.fetch_or(role.turn(), Relaxed);
        if call.is_some() {
            state.late.get_or_insert_default();
        }
        state.entries.push(Entry { id, role, dialect, call });
        id
    }

    /// Takes one down; returns whether it was there.
    pub fn remove(&self, id: u64) -> bool {
        let mut state = self.lock();
        let at = state.entries.iter().position(|e| e.id == id);
        let gone = at.map(|i| state.entries.remove(i));
        self.turns.store(state.entries.iter().fold(0, |turns, e| turns | e.role.turn()), Relaxed);
        if state.entries.iter().all(|e| e.call.is_none()) {
            state.late = None;
        }
        drop(state);
        gone.is_some()
    }

    /// Whose manners it has: those of its first hook.
    fn dialect(&self) -> Dialect {
        self.lock().entries.first().map_or(Dialect::Native, |e| e.dialect)
    }

    /// What users put on the node: the same dict as long as the node lives.
    pub fn metadata<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        let fresh = PyDict::new(py);
        self.lock().metadata.get_or_insert_with(|| fresh.unbind()).bind(py).clone()
    }

    pub fn object<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyWeakrefReference>> {
        self.lock().object.as_ref().map(|o| o.bind(py).clone())
    }

    pub fn set_object(&self, object: Bound<'_, PyWeakrefReference>) {
        let old = self.lock().object.replace(object.unbind());
        drop(old);
    }

    /// Shows the garbage collector every Python object of the list, unless the list is in use.
    pub fn visit<E>(&self, mut f: impl FnMut(&Py<PyAny>) -> Result<(), E>) -> Result<(), E> {
        let Ok(state) = self.state.try_lock() else { return Ok(()) };
        state.entries.iter().filter_map(|e| e.call.as_ref()).try_for_each(&mut f)?;
        state.metadata.as_ref().map_or(Ok(()), |m| f(m.as_any()))
    }

    /// Lets go of every Python object of the list.
    pub fn clear(&self) {
        let state = std::mem::take(&mut *self.lock());
        self.turns.store(0, Relaxed);
        drop(state);
    }

    /// The entries of some turns, as they are now: hooks may hang up or take down others.
    fn snapshot(&self, py: Python<'_>, turns: u8) -> Vec<Entry> {
        let copy = |e: &Entry| Entry {
            id: e.id,
            role: e.role.clone(),
            dialect: e.dialect,
            call: e.call.as_ref().map(|c| c.clone_ref(py)),
        };
        self.lock().entries.iter().filter(|e| turns & e.role.turn() != 0).map(copy).collect()
    }
}

/// Hangs a Python object on the node of an edge.
pub fn hang(edge: &Edge, role: Role, dialect: Dialect, call: Option<&Bound<'_, PyAny>>) -> (Arc<List>, u64) {
    call.into_iter().for_each(show_reached);
    let list = List::of(&edge.node);
    let id = list.add(role, dialect, call.map(|c| c.clone().unbind()));
    (list, id)
}

impl Hooks for Hung {
    fn held(&self, see: &mut dyn FnMut(&dyn Any)) {
        see(&self.0);
    }

    fn is_empty(&self) -> bool {
        self.0.turns.load(Relaxed) == 0
    }

    fn tensor_hooks(&self, at: &HookContext<'_>, g: &mut [Option<Tensor>]) -> Result<()> {
        self.calls(at, "a hook on the gradient of", ARRIVE, |py, mut entries| {
            // Stable: those that come last come in their own order.
            entries.sort_by_key(|e| matches!(e.role, Role::Retain { last: true, .. }));
            entries.iter().try_for_each(|entry| arrived(py, entry, at, g))
        })
    }

    fn pre_hooks(&self, at: &HookContext<'_>, g: &mut [Option<Tensor>]) -> Result<()> {
        self.calls(at, "a hook before the node of", BEFORE, |py, entries| {
            for entry in entries {
                let given = vars(py, g, entry.dialect)?;
                let result = entry.hook(py).call1((tuple(py, &given)?,))?;
                returned(&entry, &result, &given, g)?;
            }
            Ok(())
        })
    }

    fn post_hooks(&self, at: &HookContext<'_>, grads: &mut [Option<Tensor>], g: &Cotangents) -> Result<()> {
        self.calls(at, "a hook after the node of", AFTER, |py, entries| {
            for entry in entries {
                let (given, outputs) = (vars(py, grads, entry.dialect)?, vars(py, g, entry.dialect)?);
                let result = entry.hook(py).call1((tuple(py, &given)?, tuple(py, &outputs)?))?;
                returned(&entry, &result, &given, grads)?;
            }
            Ok(())
        })
    }

    fn accumulate_grad(&self, at: &HookContext<'_>, g: Tensor) -> Result<Option<Tensor>> {
        let mut g = Some(g);
        self.calls(at, "a hook on the accumulated gradient of", ADDED | AFTER, |py, entries| {
            let (Some(g), Some(slot)) = (g.take(), Slot::of(at.node)) else { return Ok(()) };
            accumulated(py, &entries, &slot, g, at.create_graph)
        })?;
        Ok(g)
    }
}

impl Hung {
    /// Runs `f` with the entries of some turns, if there are any, as Python code called back from the engine.
    fn calls(
        &self,
        at: &HookContext<'_>,
        what: &str,
        turns: u8,
        f: impl FnOnce(Python<'_>, Vec<Entry>) -> PyResult<()>,
    ) -> Result<()> {
        if turns & self.0.turns.load(Relaxed) == 0 {
            return Ok(());
        }
        let name = || self.0.dialect().node_name(at.node).0;
        called_back(at.node, what, name, at.create_graph, |py| f(py, self.0.snapshot(py, turns)))
    }
}

impl Entry {
    fn hook<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.call.as_ref().expect("what is called is there").bind(py)
    }
}

/// One entry that waits for the gradient of one output.
fn arrived(py: Python<'_>, entry: &Entry, at: &HookContext<'_>, g: &mut [Option<Tensor>]) -> PyResult<()> {
    match &entry.role {
        Role::Gradient(out) => {
            let Some(t) = g[*out as usize].take() else { return Ok(()) };
            let given = var(py, t, entry.dialect)?;
            let old = given.get().tensor();
            let result = entry.hook(py).call1((&given,))?;
            let new = if result.is_none() { &given } else { replacement(entry, &result)? };
            g[*out as usize] = Some(checked(py, entry, &old, new.get().tensor())?);
        }
        Role::Retain { out, slot, .. } => {
            if let (Some(t), Some(slot)) = (&g[*out as usize], slot.upgrade()) {
                at.lay_aside(slot, t.clone());
            }
        }
        Role::Among(out, multi, i) => {
            let t = g[*out as usize].clone();
            let t = t.map(|t| var(py, t, entry.dialect).map(Bound::unbind)).transpose()?;
            if let Some(argument) = multi.arrived(py, at, *i, t)? {
                entry.hook(py).call1((argument,))?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Adds a leaf's gradient to what it has, and calls what waits for that.
fn accumulated(
    py: Python<'_>,
    entries: &[Entry],
    slot: &Arc<Slot>,
    g: Tensor,
    create_graph: bool,
) -> PyResult<()> {
    let dialect = entries[0].dialect;
    let had = slot.grad(py);
    accumulate_grad(py, vec![(slot.clone(), g.clone())], create_graph, dialect)?;
    // A fresh gradient is the very tensor that was stored.
    let outputs = match (had, slot.grad(py)) {
        (None, Some(fresh)) => vec![Some(fresh.into_bound(py))],
        _ => vec![Some(var(py, g, dialect)?)],
    };
    for entry in entries {
        let Role::Added { bare } = entry.role else { continue };
        if bare {
            entry.hook(py).call0()?;
        } else if let Some(tensor) = slot.tensor(py)
            && !entry.hook(py).call1((tensor,))?.is_none()
        {
            let text = "Tensor post accumulate grad hooks should return None.";
            return Err(raise(py, "ArgumentError", text));
        }
    }
    for entry in entries.iter().filter(|e| matches!(e.role, Role::After)) {
        entry.hook(py).call1((PyTuple::empty(py), tuple(py, &outputs)?))?;
    }
    Ok(())
}

fn var(py: Python<'_>, t: Tensor, dialect: Dialect) -> PyResult<Bound<'_, Var>> {
    Var::result(py, t, dialect)
}

type Vars<'py> = Vec<Option<Bound<'py, Var>>>;

fn vars<'py>(py: Python<'py>, g: &[Option<Tensor>], dialect: Dialect) -> PyResult<Vars<'py>> {
    g.iter().map(|t| t.clone().map(|t| var(py, t, dialect)).transpose()).collect()
}

fn tuple<'py>(py: Python<'py>, vars: &Vars<'py>) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, vars)
}

/// What a hook of a node returned for the gradients `g` that it was given: None (they stay, as the hook left them), or
/// a tuple with one for each.
fn returned(
    entry: &Entry,
    result: &Bound<'_, PyAny>,
    given: &Vars<'_>,
    g: &mut [Option<Tensor>],
) -> PyResult<()> {
    let py = result.py();
    let fails = |text: String| Err(raise(py, "ArgumentError", format!("hook '{}' {text}", name(entry, py))));
    let items: Vec<Bound<'_, PyAny>> = match result.cast::<PyTuple>() {
        _ if result.is_none() => {
            given.iter().map(|v| v.as_ref().into_pyobject(py)).collect::<Result<_, _>>()?
        }
        Ok(items) => items.iter().collect(),
        Err(_) => return fails(format!("expected tuple, but hook returned '{}'", result.get_type().name()?)),
    };
    if items.len() != g.len() {
        let (got, want) = (items.len(), g.len());
        return fails(format!("has returned an incorrect number of values (got {got}, but expected {want})"));
    }
    for (g, item) in g.iter_mut().zip(items) {
        *g = match (&*g, item.is_none()) {
            (_, true) => None,
            (Some(old), false) => Some(checked(py, entry, old, replacement(entry, &item)?.get().tensor())?),
            (None, false) => return fails("can't replace a None gradient with a non-None value".into()),
        };
    }
    Ok(())
}

fn replacement<'a, 'py>(entry: &Entry, o: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, Var>> {
    o.cast::<Var>().or_else(|_| {
        let class = o.get_type().name()?;
        let text = format!("hook '{}': expected Tensor but hook returned {class}", name(entry, o.py()));
        Err(raise(o.py(), "ArgumentError", text))
    })
}

/// A gradient after a hook: with the shape and dtype that it had before.
fn checked(py: Python<'_>, entry: &Entry, old: &Tensor, new: Tensor) -> PyResult<Tensor> {
    if new.dims() != old.dims() {
        let (name, was, got) = (name(entry, py), old.dims(), new.dims());
        let text = format!("hook '{name}' has changed the size of value (was {was:?} got {got:?})");
        return Err(raise(py, "ShapeError", text));
    }
    if new.dtype() != old.dtype() {
        let (name, was, got) = (name(entry, py), old.dtype(), new.dtype());
        let text = format!("hook '{name}' has changed the type of value (was {was} got {got})");
        return Err(raise(py, "DtypeError", text));
    }
    Ok(new)
}

/// What a hook calls itself.
fn name(entry: &Entry, py: Python<'_>) -> String {
    let hook = entry.hook(py);
    let name = hook.getattr("__name__").and_then(|n| n.extract());
    name.unwrap_or_else(|_| hook.get_type().name().map_or_else(|_| "hook".to_owned(), |n| n.to_string()))
}
