//! The values whose derivatives are being computed at this moment, in the whole process: those of the running
//! transforms, and those that a recorded rule of the host's reads. A number that leaves the graph there would lose a
//! derivative that somebody waits for.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::fork;
use crate::graph::{Edge, Node};

/// The address of a node, and the number of its output.
type Place = (usize, u32);

/// Who computes derivatives.
#[derive(Clone, Copy)]
pub enum By {
    /// A transform of this name, with respect to values that it has made for itself.
    Transform(&'static str),
    /// A recorded rule of this name, with respect to values that other threads may have too.
    Rule(&'static str),
}

impl By {
    fn name(self) -> &'static str {
        match self {
            By::Transform(name) | By::Rule(name) => name,
        }
    }
}

/// By place: who computes derivatives with respect to it, the latest last.
type Running = FxHashMap<Place, Vec<By>>;

static RUNNING: Mutex<Option<Running>> = Mutex::new(None);
/// How many [`Differentiating`] there are. While it is zero, no graph has to be searched.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn running() -> MutexGuard<'static, Option<Running>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds the table while the process forks: see [`crate::fork`].
#[doc(hidden)]
pub fn hold() -> Option<Box<dyn Any>> {
    fork::hold(&RUNNING)
}

fn place(edge: &Edge) -> Place {
    (Arc::as_ptr(&edge.node).addr(), edge.out)
}

/// While it lives, derivatives with respect to the values at these edges are being computed. It holds the nodes, so no
/// other node gets their addresses.
pub struct Differentiating(Vec<Edge>);

impl Differentiating {
    pub fn new(edges: Vec<Edge>, by: By) -> Differentiating {
        let mut guard = running();
        let all = guard.get_or_insert_default();
        for edge in &edges {
            all.entry(place(edge)).or_default().push(by);
        }
        drop(guard);
        COUNT.fetch_add(1, Relaxed);
        Differentiating(edges)
    }
}

impl Drop for Differentiating {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Relaxed);
        let mut guard = running();
        let all = guard.get_or_insert_default();
        for edge in &self.0 {
            let place = place(edge);
            if let Some(by) = all.get_mut(&place) {
                by.pop();
                if by.is_empty() {
                    all.remove(&place);
                }
            }
        }
    }
}

/// The name of who computes derivatives with respect to a value that the one at `edge` was computed from. None if nobody does.
pub fn differentiated_by(edge: &Edge) -> Option<&'static str> {
    latest(edge, |_| true).map(By::name)
}

/// Whether a running transform computes derivatives with respect to a value that the one at `edge` was computed from.
pub fn is_transformed(edge: &Edge) -> bool {
    latest(edge, |by| matches!(by, By::Transform(_))).is_some()
}

/// The latest of those that `counts` who computes derivatives with respect to a value that the one at `edge` was computed from.
fn latest(edge: &Edge, counts: impl Fn(By) -> bool) -> Option<By> {
    if COUNT.load(Relaxed) == 0 {
        return None;
    }
    let last = |by: &Vec<By>| by.iter().rev().copied().find(|by| counts(*by));
    let places: FxHashMap<Place, By> =
        running().iter().flatten().filter_map(|(&place, by)| Some((place, last(by)?))).collect();
    if places.is_empty() {
        return None;
    }
    let mut met: FxHashSet<*const Node> = FxHashSet::default();
    let mut work = vec![edge];
    while let Some(edge) = work.pop() {
        if let Some(by) = places.get(&place(edge)) {
            return Some(*by);
        }
        // A node with one owner is met only once.
        if Arc::strong_count(&edge.node) == 1 || met.insert(Arc::as_ptr(&edge.node)) {
            work.extend(edge.node.inputs.iter().flatten());
        }
    }
    None
}
