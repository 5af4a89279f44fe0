//! Transposed copies. Tiles are transposed in registers, so that both reads and writes are of several adjacent
//! elements.

#[cfg(target_arch = "x86_64")]
use crate::kernel::simd::{Isa, isa};

/// An axis of a copy: its size, and its strides in source and destination.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    pub n: usize,
    pub from: isize,
    pub to: isize,
}

/// Rows of a block of tiles.
pub const BLOCK: usize = 64;

/// Copies a block of `rows` by `line`, where the source is dense along `rows` and the destination along `line`.
///
/// # Safety
/// As [`copy`](super::copy), for all indices of both axes.
pub unsafe fn block<T: Copy + Default>(rows: Axis, line: Axis, x: *const T, y: *mut T) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if rows.from == 1 && line.to == 1 && matches!(size_of::<T>(), 4 | 8) && isa() != Isa::Baseline {
            return vectors::block(rows, line, x, y);
        }
        tiles(rows, line, x, y);
    }
}

/// Rows and columns of a tile that is transposed in a buffer.
const TILE: usize = 16;

/// # Safety
/// As [`block`].
unsafe fn tiles<T: Copy + Default>(rows: Axis, line: Axis, x: *const T, y: *mut T) {
    let mut lines = [[T::default(); TILE]; TILE];
    for j in (0..line.n).step_by(TILE) {
        for i in (0..rows.n).step_by(TILE) {
            let (m, n) = (TILE.min(rows.n - i) as isize, TILE.min(line.n - j) as isize);
            let x = x.wrapping_offset(i as isize * rows.from + j as isize * line.from);
            let y = y.wrapping_offset(i as isize * rows.to + j as isize * line.to);
            for (k, lines) in (0..n).zip(&mut lines) {
                for (l, v) in (0..m).zip(lines) {
                    // SAFETY: as the function's `# Safety` section requires.
                    *v = unsafe { x.wrapping_offset(k * line.from + l * rows.from).read_unaligned() };
                }
            }
            for l in 0..m {
                for (k, lines) in (0..n).zip(&lines) {
                    // SAFETY: as above.
                    unsafe { *y.offset(k * line.to + l * rows.to) = lines[l as usize] };
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::arch::x86_64::*;

    use super::{Axis, BLOCK};

    /// Rows and columns of a tile.
    const TILE: usize = 8;

    /// # Safety
    /// As [`super::block`]. Elements have 4 or 8 bytes, `rows.from` and `line.to` are 1, and the processor has AVX2.
    #[target_feature(enable = "avx2")]
    pub unsafe fn block<T: Copy>(rows: Axis, line: Axis, x: *const T, y: *mut T) {
        let (m, n, across, down) = (rows.n, line.n, line.from, rows.to);
        let whole = m / TILE * TILE;
        for block in (0..n).step_by(BLOCK) {
            let width = BLOCK.min(n - block);
            let wide = width / TILE * TILE;
            // SAFETY: as the function's `# Safety` section requires, and tiles and remainders are inside the block.
            unsafe {
                let (x, y) = (x.wrapping_offset(block as isize * across), y.add(block));
                for j in (0..wide).step_by(TILE) {
                    let x = x.wrapping_offset(j as isize * across);
                    for i in (0..whole).step_by(TILE) {
                        let (x, y) = (x.wrapping_add(i), y.offset(i as isize * down).add(j));
                        if size_of::<T>() == 4 {
                            four(x.cast(), across, y.cast(), down);
                        } else {
                            eight(x.cast(), across, y.cast(), down);
                        }
                    }
                }
                for i in 0..m {
                    for j in if i < whole { wide } else { 0 }..width {
                        let v = x.wrapping_offset(j as isize * across).wrapping_add(i).read_unaligned();
                        *y.offset(i as isize * down).add(j) = v;
                    }
                }
            }
        }
    }

    /// Transposes a tile of 4-byte elements.
    ///
    /// # Safety
    /// `x` and `y` have [`TILE`] rows of [`TILE`] elements, `across` and `down` apart.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn four(x: *const f32, across: isize, y: *mut f32, down: isize) {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            for c in [0, 4] {
                let half = |j: isize| _mm_loadu_ps(x.wrapping_offset(j * across).wrapping_add(c));
                let row = |j: isize| _mm256_set_m128(half(j + 4), half(j));
                let (low, high) = (pairs(row(0), row(1)), pairs(row(2), row(3)));
                for (k, (a, b)) in [(low.0, high.0), (low.1, high.1)].into_iter().enumerate() {
                    let (a, b) = (_mm256_castps_pd(a), _mm256_castps_pd(b));
                    let y = y.offset((c + 2 * k) as isize * down);
                    _mm256_storeu_ps(y, _mm256_castpd_ps(_mm256_unpacklo_pd(a, b)));
                    _mm256_storeu_ps(y.offset(down), _mm256_castpd_ps(_mm256_unpackhi_pd(a, b)));
                }
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn pairs(a: __m256, b: __m256) -> (__m256, __m256) {
        (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b))
    }

    /// Transposes a tile of 8-byte elements.
    ///
    /// # Safety
    /// As [`four`].
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn eight(x: *const f64, across: isize, y: *mut f64, down: isize) {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            for r in [0, 4] {
                for c in (0..TILE).step_by(2) {
                    let half = |j: isize| _mm_loadu_pd(x.wrapping_offset((r + j) * across).wrapping_add(c));
                    let row = |j: isize| _mm256_set_m128d(half(j + 2), half(j));
                    let (a, b) = (row(0), row(1));
                    let y = y.offset(c as isize * down + r);
                    _mm256_storeu_pd(y, _mm256_unpacklo_pd(a, b));
                    _mm256_storeu_pd(y.offset(down), _mm256_unpackhi_pd(a, b));
                }
            }
        }
    }
}
