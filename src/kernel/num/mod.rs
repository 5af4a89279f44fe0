//! The traits that elementwise formulas are written against.

mod bits;
mod float;
mod number;

pub use bits::{Bits, truth};
pub use float::{Plain, Real};
pub use number::Num;
