//! Formulas: when two are equal, and what is known of those of arithmetic.

use std::any::TypeId;

use super::terms::Nodes;

/// A formula, whatever the dtype of its numbers. Two are equal if they were written in one place.
#[derive(Clone, Copy)]
pub struct Formula {
    id: fn() -> TypeId,
    /// How it is computed without a call, if that takes less time.
    pub arithmetic: Option<&'static Arithmetic>,
}

/// A formula of floats that takes less time than a call.
pub struct Arithmetic {
    /// How many numbers it reads. Of a power that is the base alone.
    pub operands: usize,
    /// Whether it computes with twice the digits of float32.
    pub is_wide: bool,
    /// The operations that it is made of. None if it reads or gives truth values.
    pub nodes: Option<fn() -> Nodes>,
}

/// The type of the numbers of a formula of arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Float {
    F32,
    F64,
}

impl Formula {
    /// The formula that is written where this type is made.
    pub const fn of<T: 'static>(arithmetic: Option<&'static Arithmetic>) -> Formula {
        Formula { id: TypeId::of::<T>, arithmetic }
    }

    /// Equal for equal formulas only.
    pub fn id(self) -> TypeId {
        (self.id)()
    }
}

impl PartialEq for Formula {
    fn eq(&self, other: &Formula) -> bool {
        self.id() == other.id()
    }
}
