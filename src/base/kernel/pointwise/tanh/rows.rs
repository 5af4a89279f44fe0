//! The loops that the compiler makes of the formulas.

#[cfg(target_arch = "x86_64")]
use crate::dtype::DType;
use crate::kernel::pointwise::binary::{BinaryLoops, binary_loops};
#[cfg(target_arch = "x86_64")]
use crate::kernel::pointwise::unary::Scalars;
use crate::kernel::pointwise::unary::{UnaryLoops, unary_loops};

pub const ROW: &UnaryLoops = unary_loops!(analytic x => x.tanh());
pub const SLOPE_ROW: &UnaryLoops = unary_loops!(analytic x => x.sech_squared());
pub const GRADIENT_ROW: &BinaryLoops = binary_loops!(wide64 g, x => g.mul(x.sech_squared()));

#[cfg(target_arch = "x86_64")]
pub const F32: usize = DType::F32 as usize;

/// The slopes at some numbers, computed without a table.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
pub fn far_slopes<const N: usize>(x: &[f32; N], p: &Scalars) -> [f32; N] {
    let mut y = [0.0; N];
    if let Some(row) = SLOPE_ROW.loops[F32] {
        // SAFETY: both have `N` elements.
        unsafe { row(N, x.as_ptr().cast(), y.as_mut_ptr().cast(), p) };
    }
    y
}
