//! The Python objects that only a tensor, a node or an edge keeps alive, for the garbage collector.
//!
//! A Python object below a node is shown only by the one holder of that node, because the collector must see each
//! reference once, however many tensors lead to it. The collector asks only while the GIL is held, and lists of hooks
//! are locked only then.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyModule, PyTuple, PyType};
use pyo3::{PyTraverseError, PyVisit};
use rustc_hash::{FxHashMap, FxHashSet};

use super::list::HookList;
use crate::bind::python::capi::track;
use crate::bind::value::var::{Slot, Value, Var};
use crate::graph::{Edge, visit_owned_host_objects};

/// Shows the objects of ops that only these edges keep alive. Returns the lists of hooks that only they keep alive,
/// once for each holder.
fn show(edges: &[&Edge], mut visit: impl FnMut(&Py<PyAny>)) -> Vec<Arc<HookList>> {
    let mut lists = vec![];
    visit_owned_host_objects(edges, &mut |held| {
        if let Some(object) = held.downcast_ref() {
            visit(object);
        } else if let Some(list) = held.downcast_ref::<Arc<HookList>>() {
            lists.push(list.clone());
        }
    });
    lists
}

/// The lists that have no other holder than those in `lists`, each once. Several nodes may hold one list.
fn alone(lists: &[Arc<HookList>]) -> impl Iterator<Item = &Arc<HookList>> {
    let mut holders = FxHashMap::default();
    for list in lists {
        *holders.entry(Arc::as_ptr(list)).or_insert(0) += 1;
    }
    lists.iter().filter(move |list| {
        // One reference of each holder, and one in `lists`.
        holders.remove(&Arc::as_ptr(list)).is_some_and(|n| Arc::strong_count(list) == 2 * n)
    })
}

fn visit_all(edges: &[&Edge], slot: Option<&Slot>, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
    let mut done = Ok(());
    let mut lists = show(edges, |object| {
        if done.is_ok() {
            done = visit.call(object);
        }
    });
    done?;
    if let Some(slot) = slot {
        slot.visit_hooks(&mut |held| lists.extend(held.downcast_ref::<Arc<HookList>>().cloned()));
    }
    alone(&lists).try_for_each(|list| list.visit(|o| visit.call(o)))
}

/// Shows what only the holder of an edge keeps alive.
pub fn visit_edge(edge: &Edge, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
    visit_all(&[edge], None, visit)
}

/// Clears the lists of hooks that only the holder of an edge keeps alive.
pub fn clear_edge(edge: &Edge) {
    let lists = show(&[edge], |_| ());
    alone(&lists).for_each(|list| list.clear());
}

/// Shows the tensors that a hook leads to, through closures, containers and attributes, to the garbage collector. They
/// may hold the node that is about to get the hook, which was not known when they were made.
pub fn track_reached(hook: &Bound<'_, PyAny>) {
    // More than any closure has. Of a container that holds more only a part is searched.
    const MOST: usize = 512;
    let (mut work, mut met) = (vec![hook.clone()], FxHashSet::default());
    while let Some(o) = work.pop().filter(|_| met.len() < MOST) {
        if !met.insert(o.as_ptr()) {
            continue;
        }
        if let Ok(tensor) = o.cast::<Var>() {
            track(tensor);
            work.extend(Var::attributes(tensor).ok().flatten().map(Bound::into_any));
        } else if let Ok(items) = o.cast::<PyDict>() {
            work.extend(items.values());
        } else if o.is_instance_of::<PyTuple>() || o.is_instance_of::<PyList>() {
            work.extend(o.try_iter().into_iter().flatten().flatten());
        } else if !o.is_instance_of::<PyType>() && !o.is_instance_of::<PyModule>() {
            let kind = o.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
            let parts: &[&str] = match kind.as_str() {
                "function" => &["__closure__", "__defaults__", "__kwdefaults__"],
                "method" => &["__self__", "__func__"],
                "partial" => &["func", "args", "keywords"],
                "cell" => &["cell_contents"],
                _ => &["__dict__"],
            };
            work.extend(parts.iter().filter_map(|part| o.getattr(*part).ok()));
        }
    }
}

#[pymethods]
impl Var {
    /// Shows the Python objects that only this tensor keeps alive to the garbage collector. A tensor that is locked
    /// shows none: it is in use.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(state) = self.try_lock() else { return Ok(()) };
        let extras = state.extras.as_ref();
        extras.and_then(|e| e.attributes.as_ref()).map_or(Ok(()), |dict| visit.call(dict))?;
        extras.and_then(|e| e.written.as_ref()).map_or(Ok(()), |f| visit.call(f))?;
        let slot = state.slot.as_ref().filter(|slot| Arc::strong_count(slot) == 1).map(|slot| &**slot);
        slot.map_or(Ok(()), |slot| slot.visit(&visit))?;
        match &state.value {
            Value::Own(t) => {
                let edges: Vec<&Edge> = t.edge.iter().collect();
                visit_all(&edges, slot, &visit)
            }
            Value::Shared(p) => {
                p.base.as_ref().map_or(Ok(()), |base| visit.call(base))?;
                let mut done = Ok(());
                p.own_edges(|edges| done = visit_all(edges, slot, &visit));
                done
            }
        }
    }

    fn __clear__(&self) {
        let mut state = self.lock();
        let (slot, extras) = (state.slot.take(), state.extras.take());
        let old = state.restart(None);
        drop(state);
        drop((slot, extras, old));
    }
}
