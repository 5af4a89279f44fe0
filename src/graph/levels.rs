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

/// What random numbers are drawn while a level's call runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Randomness {
    /// For a tensor with lanes each lane its own, otherwise the same for all.
    #[default]
    ByOperand,
    /// The same for all lanes.
    Same,
    /// Each lane its own.
    Different,
    /// None: to draw is an error.
    Refused,
}

thread_local! {
    /// The levels whose calls are running on this thread, outermost first.
    static LIVE: RefCell<Vec<(Level, Randomness)>> = const { RefCell::new(Vec::new()) };
}

static NEXT: AtomicU32 = AtomicU32::new(1);

/// A level that is live until this value is dropped.
pub struct LiveLevel(Level);

impl LiveLevel {
    /// A new innermost level.
    pub fn new(lanes: usize) -> LiveLevel {
        LiveLevel::drawing(lanes, Randomness::default())
    }

    /// A new innermost level that says what random numbers are drawn.
    pub fn drawing(lanes: usize, draws: Randomness) -> LiveLevel {
        let level = Level { id: NEXT.fetch_add(1, Relaxed), lanes };
        LIVE.with_borrow_mut(|l| l.push((level, draws)));
        LiveLevel(level)
    }

    /// The levels that random numbers for a value with levels of its own have; none where drawing is refused.
    pub fn drawn(own: &Levels) -> Option<Levels> {
        LIVE.with_borrow(|live| {
            let mut levels = own.clone();
            for &(level, draws) in live {
                levels = match draws {
                    Randomness::ByOperand => levels,
                    Randomness::Same => {
                        Levels::new(levels.as_slice().iter().copied().filter(|l| *l != level))
                    }
                    Randomness::Different => levels.union(&Levels::new([level])),
                    Randomness::Refused => return None,
                };
            }
            Some(levels)
        })
    }

    /// What random numbers are drawn on a level that is live on this thread; the default for others.
    pub fn draws(level: Level) -> Randomness {
        LIVE.with_borrow(|live| live.iter().find(|l| l.0 == level).map_or(Randomness::default(), |l| l.1))
    }

    pub fn level(&self) -> Level {
        self.0
    }

    /// The levels live on this thread.
    pub fn all() -> Levels {
        LIVE.with_borrow(|l| Levels::new(l.iter().map(|(level, _)| *level)))
    }

    /// Runs `f` with these levels live on this thread and no others: for threads that work for another one.
    pub fn within<R>(levels: &Levels, f: impl FnOnce() -> R) -> R {
        struct Restore(Vec<(Level, Randomness)>);
        impl Drop for Restore {
            fn drop(&mut self) {
                LIVE.set(std::mem::take(&mut self.0));
            }
        }
        let _restore =
            Restore(LIVE.replace(levels.as_slice().iter().map(|l| (*l, Randomness::default())).collect()));
        f()
    }
}

impl Drop for LiveLevel {
    fn drop(&mut self) {
        LIVE.with_borrow_mut(|l| l.retain(|(x, _)| *x != self.0));
    }
}
