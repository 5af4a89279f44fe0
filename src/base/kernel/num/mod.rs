//! The traits that elementwise formulas are written against.

mod bits;
mod complex;
mod float;
mod number;

pub use bits::{Bits, truth};
pub use complex::{ComplexNum, modulus, power, sgn};
pub use float::{Analytic, Inexact, Plain, Real, tanhshrink_near};
pub use number::{Field, Num};
