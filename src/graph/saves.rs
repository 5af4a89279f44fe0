//! Which inputs and outputs of an op are saved for its rules.

/// Which inputs of an op need gradients: bit `i` for input `i`, the last bit for all inputs from 63 on.
#[derive(Clone, Copy, Debug)]
pub struct NeedsGrad(pub u64);

impl NeedsGrad {
    #[inline]
    pub fn has(self, i: usize) -> bool {
        self.0 >> i.min(63) & 1 == 1
    }
}

/// Which inputs and outputs of an op its rules read, as bit masks like [`NeedsGrad`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Saves {
    pub inputs: u64,
    pub outputs: u64,
}

impl Saves {
    pub const NOTHING: Saves = Saves { inputs: 0, outputs: 0 };

    /// The inputs of a bit mask.
    pub const fn inputs(mask: u64) -> Saves {
        Saves { inputs: mask, outputs: 0 }
    }

    /// The outputs of a bit mask.
    pub const fn outputs(mask: u64) -> Saves {
        Saves { inputs: 0, outputs: mask }
    }

    pub const fn and(self, other: Saves) -> Saves {
        Saves { inputs: self.inputs | other.inputs, outputs: self.outputs | other.outputs }
    }

    /// These if the condition holds, otherwise nothing.
    pub const fn when(self, condition: bool) -> Saves {
        if condition { self } else { Saves::NOTHING }
    }
}
