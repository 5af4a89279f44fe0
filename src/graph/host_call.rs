//! Functions and rules of the host's, while they run.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustc_hash::FxHashSet;

use super::record::{Edge, Node};
use super::stems::Stems;

/// One call of a function that the host defines, while the function runs.
pub struct HostCall {
    number: u32,
    /// By argument: the address of the host's object, and the edge of its value.
    arguments: Vec<(usize, Option<Edge>)>,
    /// The arguments whose numbers the host has read.
    read: AtomicU32,
    /// The leaves that the function has made of values that depend on an argument.
    leaves: Mutex<Vec<(Edge, Stems)>>,
    /// Who differentiates a value that the function has read without having it as an argument.
    lost: OnceLock<&'static str>,
}

impl HostCall {
    #[must_use]
    pub fn new(arguments: Vec<(usize, Option<Edge>)>) -> HostCall {
        static CALLS: AtomicU32 = AtomicU32::new(0);
        // Zero is the number of no call.
        let number = CALLS.fetch_add(1, Relaxed) % (u32::MAX >> Stems::BITS) + 1;
        let (read, leaves, lost) = (AtomicU32::new(0), Mutex::default(), OnceLock::new());
        HostCall { number, arguments, read, leaves, lost }
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    fn stems(&self, bits: u32) -> Stems {
        Stems(if bits == 0 { 0 } else { self.number << Stems::BITS | bits })
    }

    fn leaves(&self) -> MutexGuard<'_, Vec<(Edge, Stems)>> {
        self.leaves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bits of the arguments that are `is_it`.
    fn bits(&self, is_it: impl Fn(&(usize, Option<Edge>)) -> bool) -> u32 {
        let found = self.arguments.iter().enumerate().filter(|(_, a)| is_it(a));
        found.fold(0, |bits, (i, _)| bits | Stems::bit(i))
    }

    /// The bits of the arguments, and of the values of the leaves, that a value was computed from.
    fn bits_below(&self, edge: &Edge) -> u32 {
        let (mut bits, mut work) = (0, vec![edge]);
        let mut met: FxHashSet<*const Node> = FxHashSet::default();
        let leaves = self.leaves();
        while let Some(edge) = work.pop() {
            let here = self.bits(|(_, own)| own.as_ref().is_some_and(|own| own.is_same(edge)));
            let leaf =
                leaves.iter().find(|(leaf, _)| leaf.is_same(edge)).map_or(0, |(_, s)| s.0 & Stems::ARGUMENTS);
            bits |= here | leaf;
            if here == 0 && met.insert(Arc::as_ptr(&edge.node)) {
                work.extend(edge.node.inputs.iter().flatten());
            }
        }
        bits
    }

    /// Those of a value with an edge, which the host holds at an address. None: it depends on no argument.
    pub fn stems_of(&self, address: usize, edge: &Edge) -> Stems {
        match self.bits(|(at, _)| *at == address) {
            0 => self.stems(self.bits_below(edge)),
            bits => self.stems(bits),
        }
    }

    /// Those of a value that may have been computed from each argument.
    pub fn all(&self) -> Stems {
        self.stems(self.bits(|(_, edge)| edge.is_some()))
    }

    /// The union of two values' stems, of those that are of this call.
    pub(super) fn union(&self, x: Stems, y: Stems) -> Stems {
        let own = |s: Stems| if s.is_of(self.number) { s.0 & Stems::ARGUMENTS } else { 0 };
        self.stems(own(x) | own(y))
    }

    /// Notes that the host reads the numbers of a value, of which it may make another one.
    pub fn note_read(&self, of: Stems) {
        if of.is_of(self.number) {
            self.read.fetch_or(of.0 & Stems::ARGUMENTS, Relaxed);
        }
    }

    /// The stems of a value that the host makes of numbers.
    pub fn read(&self) -> Stems {
        self.stems(self.read.load(Relaxed))
    }

    /// Notes that a leaf is made of a value.
    pub fn note_leaf(&self, leaf: &Edge, of: Stems) {
        if of.is_of(self.number) {
            self.leaves().push((leaf.clone(), of));
        }
    }

    /// The leaves that were made of values that depend on an argument.
    pub fn take_leaves(&self) -> Vec<Edge> {
        std::mem::take(&mut *self.leaves()).into_iter().map(|(leaf, _)| leaf).collect()
    }

    /// Notes that the function reads a value that is no argument, while `by` differentiates with respect to it.
    pub fn note_lost(&self, by: &'static str) {
        let _ = self.lost.set(by);
    }

    pub fn lost(&self) -> Option<&'static str> {
        self.lost.get().copied()
    }
}

/// A rule of the host's that is recorded: the number of the call that the node records, and the node.
#[derive(Clone)]
pub struct HostRule {
    pub call: u32,
    pub node: Arc<Node>,
}
