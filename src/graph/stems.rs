//! From which arguments of a function of the host's a value was computed, while the function ran and recorded nothing.
//!
//! What such a function computes and keeps for its rules is a constant to them, although it depends on the arguments. A
//! recorded rule that reads it must know: the derivative of what the rule computes would lack a part.

/// The arguments of one call that a value was computed from: a bit for each, below the number of the call. Zero where
/// there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stems(pub(super) u32);

impl Stems {
    pub(super) const BITS: u32 = 12;
    pub(super) const ARGUMENTS: u32 = (1 << Stems::BITS) - 1;

    /// The bit of argument `i`. All that follow the last bit but one share the last.
    pub(super) fn bit(i: usize) -> u32 {
        1 << (i as u32).min(Stems::BITS - 1)
    }

    fn call(self) -> u32 {
        self.0 >> Stems::BITS
    }

    /// Whether the value was computed from argument `i` of the call with this number.
    pub fn has(self, call: u32, i: usize) -> bool {
        self.is_of(call) && self.0 & Stems::bit(i) != 0
    }

    /// Those of either value; of two calls, those of the later one.
    #[must_use]
    pub fn or(self, other: Stems) -> Stems {
        if self.call() == other.call() { Stems(self.0 | other.0) } else { Stems(self.0.max(other.0)) }
    }

    /// Whether the value was computed from arguments of the call with this number.
    pub fn is_of(self, call: u32) -> bool {
        self.0 != 0 && self.call() == call
    }
}
