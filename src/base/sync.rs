//! The primitives that threads wait for each other with. `make models` replaces them by those of loom, which runs a
//! program in every order that its threads allow.

#[cfg(not(loom))]
pub use std::sync::{Arc, Condvar, Mutex, MutexGuard, atomic};
#[cfg(not(loom))]
pub use std::thread::yield_now;
use std::time::{Duration, Instant};

#[cfg(loom)]
pub use loom::sync::{Arc, Condvar, Mutex, MutexGuard, atomic};
#[cfg(loom)]
pub use loom::thread::yield_now;

/// The end of a time in which a thread looks for work before it sleeps.
pub struct Deadline(Instant);

impl Deadline {
    pub fn after(time: Duration) -> Deadline {
        Deadline(Instant::now() + time)
    }

    /// Whether the time is over. In a model it is at once, so that all that can happen to a thread that sleeps happens.
    pub fn is_over(&self) -> bool {
        cfg!(loom) || Instant::now() >= self.0
    }
}
