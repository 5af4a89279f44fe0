//! The dialects, and every place where they differ below Python.

/// Which library's manners a tensor has: set by the namespace that made it, inherited by results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Dialect {
    Native,
    Paddle,
    Torch,
}

impl Dialect {
    pub const ALL: [Dialect; 3] = [Dialect::Native, Dialect::Paddle, Dialect::Torch];

    pub fn name(self) -> &'static str {
        match self {
            Dialect::Native => "native",
            Dialect::Paddle => "paddle",
            Dialect::Torch => "torch",
        }
    }

    pub fn from_index(i: usize) -> Dialect {
        Dialect::ALL[i]
    }

    /// `backward()` without a cotangent on more than one element: ones (Paddle), or an error.
    pub fn ones_for_any_shape(self) -> bool {
        self == Dialect::Paddle
    }

    /// `backward()` on an untracked tensor: nothing happens (Paddle), or an error.
    pub fn ignores_untracked_root(self) -> bool {
        self == Dialect::Paddle
    }

    /// `numpy()` of a tracked tensor: allowed, or (torch) an error.
    pub fn numpy_of_tracked(self) -> bool {
        self != Dialect::Torch
    }
}
