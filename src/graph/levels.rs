//! Levels of batching: hidden leading axes that ops do not see.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use smallvec::SmallVec;

/// One level: its number (later levels have larger ones) and how many lanes it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level {
    pub id: u32,
    pub lanes: usize,
}

/// The levels of a tensor's hidden axes, in increasing order. An ordinary tensor has none, in one word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels(Option<Box<SmallVec<[Level; 2]>>>);

impl Levels {
    pub fn new(list: impl IntoIterator<Item = Level>) -> Levels {
        let mut list: SmallVec<[Level; 2]> = list.into_iter().collect();
        list.sort_unstable();
        list.dedup();
        Levels((!list.is_empty()).then(|| Box::new(list)))
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |l| l.len())
    }

    pub fn as_slice(&self) -> &[Level] {
        self.0.as_ref().map_or(&[], |l| l)
    }

    pub fn contains(&self, level: Level) -> bool {
        self.as_slice().contains(&level)
    }

    pub fn union(&self, other: &Levels) -> Levels {
        if other.is_empty() || self == other {
            return self.clone();
        }
        Levels::new(self.as_slice().iter().chain(other.as_slice()).copied())
    }
}

thread_local! {
    /// The levels whose calls are running on this thread, outermost first.
    static LIVE: RefCell<Vec<Level>> = const { RefCell::new(Vec::new()) };
}

static NEXT: AtomicU32 = AtomicU32::new(1);

/// A level that is live until this value is dropped.
pub struct Live(Level);

impl Live {
    /// A new innermost level.
    pub fn new(lanes: usize) -> Live {
        let level = Level { id: NEXT.fetch_add(1, Relaxed), lanes };
        LIVE.with_borrow_mut(|l| l.push(level));
        Live(level)
    }

    pub fn level(&self) -> Level {
        self.0
    }

    /// The levels live on this thread.
    pub fn all() -> Levels {
        LIVE.with_borrow(|l| Levels::new(l.iter().copied()))
    }

    /// Runs `f` with these levels live on this thread and no others: for threads that work for another one.
    pub fn within<R>(levels: &Levels, f: impl FnOnce() -> R) -> R {
        struct Restore(Vec<Level>);
        impl Drop for Restore {
            fn drop(&mut self) {
                LIVE.set(std::mem::take(&mut self.0));
            }
        }
        let _restore = Restore(LIVE.replace(levels.as_slice().to_vec()));
        f()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        LIVE.with_borrow_mut(|l| l.retain(|x| *x != self.0));
    }
}
