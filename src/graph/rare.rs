//! Settings of a thread that hardly any thread makes: whether any has is one load, where to ask the thread is a call.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How many threads have made a setting.
#[derive(Default)]
pub struct Rare(AtomicUsize);

impl Rare {
    pub const fn new() -> Rare {
        Rare(AtomicUsize::new(0))
    }

    /// Whether any thread has: if none has, this one has not.
    #[inline]
    pub fn any(&self) -> bool {
        self.0.load(Relaxed) != 0
    }

    /// What this thread has set, by `f`, which is not called (nor any part of it moved up by the compiler) where no
    /// thread has set anything.
    #[inline]
    pub fn ask<R: Default>(&self, f: impl FnOnce() -> R) -> R {
        #[cold]
        #[inline(never)]
        fn aside<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        if self.any() { aside(f) } else { R::default() }
    }

    /// Counts this thread, if it has made or taken back the setting.
    pub fn change(&self, before: bool, now: bool) {
        match (before, now) {
            (false, true) => _ = self.0.fetch_add(1, Relaxed),
            (true, false) => _ = self.0.fetch_sub(1, Relaxed),
            _ => {}
        }
    }
}
