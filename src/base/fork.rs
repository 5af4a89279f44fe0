//! Forks. The child of a fork has one thread, the one that forked, so whatever another thread of the parent held would be
//! held for ever there. Locks of the whole process are taken before the process forks and given back on both sides. A
//! [`Lock`], of which there is one for each of many objects, is taken over in the child.
//!
//! Whoever holds one of these locks waits for nobody: a thread that forks may have what others wait for, such as the lock of
//! a host language's interpreter.

use std::any::Any;
use std::cell::{RefCell, UnsafeCell};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering::*, fence};
use std::sync::{Mutex, OnceLock};
use std::thread::yield_now;
use std::time::{Duration, Instant};

/// Tries to take a lock of the whole process. What it returns is dropped after the fork.
pub type Hold = fn() -> Option<Box<dyn Any>>;

/// A lock of the whole process, if no thread has it.
pub fn hold<T>(lock: &'static Mutex<T>) -> Option<Box<dyn Any>> {
    Some(Box::new(lock.try_lock().ok()?))
}

/// A process that cannot have a lock for so long forks without it.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often this process and those that it descends from have forked, from 1.
static FORKS: AtomicU32 = AtomicU32::new(1);

/// The locks that are held over a fork, and what the child does first.
struct Guarded {
    holds: &'static [Hold],
    in_child: &'static [fn()],
}

static GUARDED: OnceLock<Guarded> = OnceLock::new();

thread_local! {
    static HELD: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(vec![]) };
}

/// From now on these locks are held while the process forks, and the child begins with calls of `in_child`. Only the first
/// call counts.
pub fn guard(holds: &'static [Hold], in_child: &'static [fn()]) {
    if GUARDED.set(Guarded { holds, in_child }).is_err() {
        return;
    }
    #[cfg(unix)]
    // SAFETY: the functions are there as long as the process, because the library that they are in is never unloaded.
    // Without memory for the handlers forks are as they were before.
    unsafe {
        libc::pthread_atfork(Some(before), Some(in_parent), Some(in_the_child));
    }
}

extern "C" fn before() {
    let Some(Guarded { holds, .. }) = GUARDED.get() else { return };
    let until = Instant::now() + PATIENCE;
    let held = holds.iter().filter_map(|hold| {
        loop {
            match hold() {
                None if Instant::now() < until => yield_now(),
                held => return held,
            }
        }
    });
    let held = held.collect();
    HELD.set(held);
}

extern "C" fn in_parent() {
    drop(HELD.take());
}

extern "C" fn in_the_child() {
    FORKS.fetch_add(1, Relaxed);
    drop(HELD.take());
    if let Some(Guarded { in_child, .. }) = GUARDED.get() {
        in_child.iter().for_each(|f| f());
    }
}

/// A lock around a value that threads have for a moment. In the child of a fork it is free: where a thread that the child
/// lacks was reading the value, the child has the value, and where it was changing it, the child has another one in its place.
pub struct Lock<T> {
    /// 0 while it is free, else the number of forks, and in the lowest bit whether the value is being changed.
    word: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time has the value, see `Held`.
unsafe impl<T: Send> Sync for Lock<T> {}

/// The value, which this thread alone has.
pub struct Held<'a, T>(&'a Lock<T>);

impl<T> Lock<T> {
    pub const fn new(value: T) -> Lock<T> {
        Lock { word: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The value, unless another thread has it.
    pub fn try_lock(&self) -> Option<Held<'_, T>> {
        self.attempt(0).then_some(Held(self))
    }

    /// The value. `lost` takes the place of one that a thread was changing when the process forked; that one is not dropped.
    #[inline]
    pub fn lock(&self, lost: impl FnOnce() -> T) -> Held<'_, T> {
        if self.attempt(0) { Held(self) } else { self.wait(lost) }
    }

    #[inline]
    fn attempt(&self, from: u32) -> bool {
        self.word.compare_exchange(from, own(), Acquire, Relaxed).is_ok()
    }

    #[cold]
    fn wait(&self, lost: impl FnOnce() -> T) -> Held<'_, T> {
        loop {
            let now = self.word.load(Relaxed);
            let is_abandoned = now != 0 && now & !CHANGES != own();
            if (now == 0 || is_abandoned) && self.attempt(now) {
                if is_abandoned && now & CHANGES != 0 {
                    // SAFETY: this thread has the lock. The old value may be half of one, so it is not dropped.
                    unsafe { self.value.get().write(lost()) };
                }
                return Held(self);
            }
            yield_now();
        }
    }
}

const CHANGES: u32 = 1;

/// What the word of a lock is while a thread of this process reads its value.
#[inline]
fn own() -> u32 {
    FORKS.load(Relaxed) << 1
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread has the lock until `self` is dropped.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.word.store(own() | CHANGES, Relaxed);
        // What is written to the value comes after that.
        fence(Release);
        // SAFETY: as above.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.word.store(0, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_the_value_in_turn() {
        let lock = Lock::new(0);
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| (0..1000).for_each(|_| *lock.lock(|| 0) += 1));
            }
        });
        assert_eq!(*lock.lock(|| 0), 4000);
    }

    #[test]
    fn what_another_process_held_is_free() {
        let other = own() + 2;
        let lock = Lock::new(7);
        lock.word.store(other, Relaxed);
        assert!(lock.try_lock().is_none());
        assert_eq!(*lock.lock(|| 0), 7);
        lock.word.store(other | CHANGES, Relaxed);
        assert_eq!(*lock.lock(|| 5), 5);
        assert!(lock.try_lock().is_some());
    }
}
