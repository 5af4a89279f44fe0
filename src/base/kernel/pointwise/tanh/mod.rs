//! The hyperbolic tangent and its derivative. Those of f32 use a table that fits into registers: the polynomials of 8
//! intervals with AVX2, and 32 points with AVX-512.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod rows;

#[cfg(target_arch = "x86_64")]
use self::rows::F32;
use self::rows::{GRADIENT_ROW, ROW, SLOPE_ROW};
use super::binary::BinaryLoops;
use super::row::PairLoop;
use super::unary::UnaryLoops;
#[cfg(target_arch = "x86_64")]
use super::unary::{Scalars, UnaryLoop};
use crate::dtype::DType;
#[cfg(target_arch = "x86_64")]
use crate::kernel::simd::{self, Isa};

/// The loops of tanh.
#[cfg(not(target_arch = "x86_64"))]
pub const TANH: &UnaryLoops = ROW;
#[cfg(target_arch = "x86_64")]
pub const TANH: &UnaryLoops = &with_vectors(ROW, tanh);
/// The loops of its derivative, `1 / cosh²`.
#[cfg(not(target_arch = "x86_64"))]
pub const TANH_SLOPE: &UnaryLoops = SLOPE_ROW;
#[cfg(target_arch = "x86_64")]
pub const TANH_SLOPE: &UnaryLoops = &with_vectors(SLOPE_ROW, slope);
/// The loops of `g / cosh² x` of pairs `g`, `x`.
#[cfg(not(target_arch = "x86_64"))]
pub const TANH_GRADIENT: &BinaryLoops = GRADIENT_ROW;
#[cfg(target_arch = "x86_64")]
pub const TANH_GRADIENT: &BinaryLoops = &{
    let mut loops = GRADIENT_ROW.loops;
    loops[F32] = Some(gradient);
    BinaryLoops { loops, ..*GRADIENT_ROW }
};

#[cfg(target_arch = "x86_64")]
const fn with_vectors(row: &UnaryLoops, vectors: UnaryLoop) -> UnaryLoops {
    let mut loops = row.loops;
    loops[F32] = Some(vectors);
    UnaryLoops { loops, ..*row }
}

/// # Safety
/// `x` has `n` elements, and `out` has room for `n`.
#[cfg(target_arch = "x86_64")]
unsafe fn tanh(n: usize, x: *const u8, out: *mut u8, p: &Scalars) {
    // SAFETY: as the function's `# Safety` section requires, and `isa` detected the features.
    unsafe {
        match simd::isa() {
            Isa::Avx512 => avx512::tangents(n, x.cast(), out.cast()),
            Isa::Avx2 => avx2::tangents(n, x.cast(), out.cast()),
            _ => {
                if let Some(row) = ROW.loops[F32] {
                    row(n, x, out, p);
                }
            }
        }
    }
}

/// # Safety
/// As [`tanh`].
#[cfg(target_arch = "x86_64")]
unsafe fn slope(n: usize, x: *const u8, out: *mut u8, p: &Scalars) {
    // SAFETY: as the function's `# Safety` section requires, and `isa` detected the features.
    unsafe {
        match simd::isa() {
            Isa::Avx512 => avx512::slopes(n, x.cast(), out.cast()),
            Isa::Avx2 => avx2::slopes(n, x.cast(), out.cast(), p),
            _ => {
                if let Some(row) = SLOPE_ROW.loops[F32] {
                    row(n, x, out, p);
                }
            }
        }
    }
}

/// # Safety
/// `g` and `x` have `n` elements, or one where the stride is 0, and `out` has room for `n`.
#[cfg(target_arch = "x86_64")]
unsafe fn gradient(n: usize, g: *const u8, sg: usize, x: *const u8, sx: usize, out: *mut u8, p: &Scalars) {
    // SAFETY: as the function's `# Safety` section requires, and `isa` detected the features.
    unsafe {
        match simd::isa() {
            Isa::Avx512 => avx512::gradients(n, (g.cast(), sg), (x.cast(), sx), out.cast()),
            Isa::Avx2 => avx2::gradients(n, (g.cast(), sg), (x.cast(), sx), out.cast(), p),
            _ => {
                if let Some(row) = GRADIENT_ROW.loops[F32] {
                    row(n, g, sg, x, sx, out, p);
                }
            }
        }
    }
}

/// The loop of tanh of `x` and `g / cosh² x`, and that of tanh and `1 / cosh² x`, whatever `g` is. None where the processor
/// has no such loops that take less time than one formula after the other.
pub fn pairs(dtype: DType) -> Option<[PairLoop; 2]> {
    #[cfg(target_arch = "x86_64")]
    if dtype == DType::F32 && simd::isa() == Isa::Avx512 {
        return Some([tangents_and_gradients, tangents_and_slopes]);
    }
    _ = dtype;
    None
}

/// # Safety
/// As [`PairLoop`] says. The processor has AVX-512.
#[cfg(target_arch = "x86_64")]
unsafe fn tangents_and_gradients(n: usize, g: *const u8, sg: usize, x: *const u8, [y, out]: [*mut u8; 2]) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe { avx512::tangents_and_gradients(n, (g.cast(), sg), x.cast(), [y.cast(), out.cast()]) }
}

/// # Safety
/// As [`tangents_and_gradients`].
#[cfg(target_arch = "x86_64")]
unsafe fn tangents_and_slopes(n: usize, _: *const u8, _: usize, x: *const u8, [y, out]: [*mut u8; 2]) {
    // SAFETY: as the function's `# Safety` section requires. A product with 1 changes nothing.
    unsafe { avx512::tangents_and_gradients(n, (&1.0, 0), x.cast(), [y.cast(), out.cast()]) }
}
