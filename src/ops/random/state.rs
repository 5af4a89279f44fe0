//! Where the streams of random numbers are: that of most dialects, and that of torch's.

use std::any::Any;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::fork;
use crate::kernel::mersenne::Mersenne;
use crate::kernel::random::Stream;

/// The streams of a process.
#[derive(Clone)]
pub struct State {
    pub(super) stream: Stream,
    /// PyTorch's, which the draws of its dialect come from.
    pub(super) mersenne: Mersenne,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// How often the process has forked since it was seeded.
static FORKS: AtomicU64 = AtomicU64::new(0);
/// Whether this process is a child that has not drawn or seeded since its fork.
static IS_NEW_CHILD: AtomicBool = AtomicBool::new(false);

pub(super) fn with_state<R>(f: impl FnOnce(&mut State) -> R) -> R {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let state = state.get_or_insert_with(unseeded);
    if IS_NEW_CHILD.swap(false, Relaxed) {
        *state = of_child(state, FORKS.load(Relaxed));
    }
    f(state)
}

/// The state of a process that nobody seeded. Its first seed is random, from the hasher's keys.
fn unseeded() -> State {
    let seed = RandomState::new().hash_one(0);
    State { stream: Stream { seed, block: 0 }, mersenne: Mersenne::new(seed) }
}

/// Draws that come later have this seed.
pub(super) fn seed(change: impl FnOnce(&mut State)) {
    with_state(change);
    FORKS.store(0, Relaxed);
}

/// To be called before a process forks: every child has its own number.
pub fn before_fork() {
    // The parent has a seed, so that the children do not choose one each from what they have in common.
    with_state(|_| ());
    FORKS.fetch_add(1, Relaxed);
}

/// Holds the state while the process forks: see [`crate::fork`].
#[doc(hidden)]
pub fn hold() -> Option<Box<dyn Any>> {
    fork::hold(&STATE)
}

/// To be called in the child after a fork: the next draw begins streams of the child's own, which depend on the parent's
/// state and on the number of the child.
#[doc(hidden)]
pub fn after_fork_in_child() {
    IS_NEW_CHILD.store(true, Relaxed);
}

/// The state of a child that was forked as the `number`th of a process with a state.
fn of_child(parent: &State, number: u64) -> State {
    let seed = |words: [u64; 3]| words.into_iter().fold(0, |seed, word| mixed(seed ^ mixed(word)));
    let Stream { seed: own, block } = parent.stream;
    let next = u64::from(parent.mersenne.words[parent.mersenne.next as usize % parent.mersenne.words.len()]);
    State {
        stream: Stream { seed: seed([own, block, number]), block: 0 },
        mersenne: Mersenne::new(seed([parent.mersenne.seed, next, number])),
    }
}

/// A number whose bits all depend on all bits of another one (the finalizer of SplitMix64).
fn mixed(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// Where the streams are.
pub fn position() -> State {
    with_state(|s| s.clone())
}

/// Goes back to a [`position`].
pub fn go_to(state: State) {
    with_state(|s| *s = state);
}
