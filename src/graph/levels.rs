//! Levels of vmap: hidden leading axes that ops do not see.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::shape;
use smallvec::SmallVec;

/// One call of vmap. Inner levels have larger ids.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    pub id: u32,
    /// The size of the hidden axis.
    pub batch_size: usize,
    /// The number of the newest [`Takers`](super::Takers) that the tensor's value was computed for; 0 for none. It is no
    /// part of what tells levels apart.
    pub takers: u32,
}

impl PartialEq for Level {
    fn eq(&self, other: &Level) -> bool {
        self.id == other.id
    }
}

impl Eq for Level {}

impl PartialOrd for Level {
    fn partial_cmp(&self, other: &Level) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Level {
    fn cmp(&self, other: &Level) -> std::cmp::Ordering {
        self.id.cmp(&other.id)
    }
}

/// The levels of a tensor's hidden axes, from the outermost on. One word, null for an ordinary tensor, which has none.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Levels(Option<Box<SmallVec<[Level; 2]>>>);

impl Clone for Levels {
    #[inline]
    fn clone(&self) -> Levels {
        #[cold]
        fn copied(list: &[Level]) -> Option<Box<SmallVec<[Level; 2]>>> {
            Some(Box::new(list.into()))
        }
        Levels(self.0.as_ref().and_then(|list| copied(list)))
    }
}

impl Levels {
    pub fn new(list: impl IntoIterator<Item = Level>) -> Levels {
        let mut list: SmallVec<[Level; 2]> = list.into_iter().collect();
        shape::sort_by_key(&mut list, |&l| l);
        list.dedup_by(|other, kept| {
            kept.takers = kept.takers.max(if other == kept { other.takers } else { 0 });
            other == kept
        });
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

    /// These levels as those of a value that was computed for the takers of this number.
    #[must_use]
    pub fn of_takers(&self, takers: u32) -> Levels {
        Levels::new(self.as_slice().iter().map(|l| Level { takers, ..*l }))
    }

    pub fn union(&self, other: &Levels) -> Levels {
        let takers =
            |levels: &Levels| levels.as_slice().iter().map(|l| l.takers).collect::<SmallVec<[u32; 2]>>();
        if other.is_empty() || (self == other && takers(self) == takers(other)) {
            return self.clone();
        }
        Levels::new(self.as_slice().iter().chain(other.as_slice()).copied())
    }
}

/// How random numbers are drawn while a level's call runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Randomness {
    /// Different in every element of the batch for an operand that has the level, otherwise the same.
    #[default]
    ByOperand,
    /// The same in every element of the batch.
    Same,
    /// Different in every element of the batch.
    Different,
    /// Drawing is an error.
    Refused,
}

static NEXT_ID: AtomicU32 = AtomicU32::new(1);

impl Level {
    /// A new innermost level.
    pub fn new(batch_size: usize) -> Level {
        Level { id: NEXT_ID.fetch_add(1, Relaxed), batch_size, takers: 0 }
    }
}

/// A level whose call is running, and how random numbers are drawn meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct LiveLevel {
    pub level: Level,
    pub randomness: Randomness,
}

impl LiveLevel {
    /// The levels of random numbers that are drawn on this level for a value that has `own` so far. None: drawing is
    /// an error.
    pub(super) fn random_levels(&self, own: Levels) -> Option<Levels> {
        let others =
            |own: Levels| own.as_slice().iter().copied().filter(|l| *l != self.level).collect::<Vec<_>>();
        match self.randomness {
            Randomness::ByOperand => Some(own),
            Randomness::Same => Some(Levels::new(others(own))),
            Randomness::Different => Some(own.union(&Levels::new([self.level]))),
            Randomness::Refused => None,
        }
    }
}
