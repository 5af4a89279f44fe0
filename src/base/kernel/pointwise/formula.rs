//! What tells formulas apart, and what is known of those of arithmetic.

use std::any::TypeId;
use std::hash::{Hash, Hasher};

use super::terms::Nodes;

/// A formula, whatever the dtype of its numbers. Two are equal if they were written in one place.
#[derive(Clone, Copy)]
pub struct Formula {
    id: fn() -> TypeId,
    /// What takes less time than a call, if that is so.
    pub arithmetic: Option<&'static Arithmetic>,
}

/// A formula of floats that takes less time than a call.
pub struct Arithmetic {
    /// How many numbers it reads. Of a power that is the base alone.
    pub operands: usize,
    /// Whether it computes with twice the digits of float32.
    pub is_wide: bool,
    /// By type of the numbers.
    pub cells: [Cell; 2],
    /// The operations that it is made of. None if it reads or gives truth values.
    pub nodes: Option<fn() -> Nodes>,
}

/// Computes a formula for single numbers.
///
/// # Safety
/// The addresses are those of operands of its type, as many as it has, and of memory for the result.
pub type Cell = unsafe fn(from: [*const u8; 3], to: *mut u8);

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
}

impl PartialEq for Formula {
    fn eq(&self, other: &Formula) -> bool {
        (self.id)() == (other.id)()
    }
}

impl Eq for Formula {}

impl Hash for Formula {
    fn hash<H: Hasher>(&self, to: &mut H) {
        (self.id)().hash(to);
    }
}
