//! Random numbers by counting: element `i` of a draw is a function of the seed and of its place in the stream, so no
//! number depends on how many threads there are.

use super::map::Shared;
use super::par;
use crate::array::Array;
use crate::dtype::Element;
use crate::error::Result;

/// A stretch of the stream of a seed, from a block on.
#[derive(Clone, Copy)]
pub struct Stream {
    pub seed: u64,
    pub block: u64,
}

/// The block of 128 random bits with this number: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers:
/// as easy as 1, 2, 3; SC 2011), with the seed as key and the number as the low half of the counter.
#[inline]
pub fn philox(seed: u64, block: u64) -> [u32; 4] {
    let mut c = [block as u32, (block >> 32) as u32, 0, 0];
    let mut k = [seed as u32, (seed >> 32) as u32];
    for _ in 0..10 {
        let a = u64::from(c[0]) * 0xD251_1F53;
        let b = u64::from(c[2]) * 0xCD9E_8D57;
        c = [(b >> 32) as u32 ^ c[1] ^ k[0], b as u32, (a >> 32) as u32 ^ c[3] ^ k[1], a as u32];
        k = [k[0].wrapping_add(0x9E37_79B9), k[1].wrapping_add(0xBB67_AE85)];
    }
    c
}

/// The two 64-bit numbers of a block.
#[inline]
pub fn halves([a, b, c, d]: [u32; 4]) -> [u64; 2] {
    [u64::from(a) | u64::from(b) << 32, u64::from(c) | u64::from(d) << 32]
}

/// An array whose elements are made `K` from a block.
pub fn fill<T: Element, const K: usize>(
    op: &'static str,
    dims: &[usize],
    stream: Stream,
    make: impl Fn([u32; 4]) -> [T; K] + Sync,
) -> Result<Array> {
    Array::build::<T>(op, dims, |out| {
        let (n, shared) = (out.len(), Shared(out.as_mut_ptr().cast()));
        par::pieces(n, par::PIECE / K * K, &|range| {
            let mut made = [T::default(); K];
            for i in range {
                if i % K == 0 {
                    made = make(philox(stream.seed, stream.block.wrapping_add((i / K) as u64)));
                }
                // SAFETY: `i` is below the number of elements, and the pieces do not overlap. Each begins with a block.
                unsafe { shared.get().cast::<T>().add(i).write(made[i % K]) };
            }
        });
    })
}

/// Uniform in [0, 1), every multiple of 2⁻²⁴.
#[inline]
pub fn uniform32(bits: u32) -> f32 {
    (bits >> 8) as f32 * (1.0 / (1u32 << 24) as f32)
}

/// Uniform in [0, 1), every multiple of 2⁻⁵³.
#[inline]
pub fn uniform64(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Two independent normal numbers from two uniform ones, the first in (0, 1] (Box and Muller 1958).
#[inline]
pub fn normal(u: f64, v: f64) -> [f64; 2] {
    let r = (-2.0 * u.ln()).sqrt();
    let (sin, cos) = (2.0 * std::f64::consts::PI * v).sin_cos();
    [r * cos, r * sin]
}

/// A number below `range`, as likely as any other up to one part in 2⁶⁴ / range.
#[inline]
pub fn below(bits: u64, range: u64) -> u64 {
    ((u128::from(bits) * u128::from(range)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_gives_the_published_numbers() {
        // The first of the known answers that Random123 is distributed with.
        assert_eq!(philox(0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    }

    #[test]
    fn numbers_stay_in_their_ranges() {
        assert_eq!((uniform32(0), uniform64(0)), (0.0, 0.0));
        assert!(uniform32(u32::MAX) < 1.0 && uniform64(u64::MAX) < 1.0);
        assert_eq!((below(0, 10), below(u64::MAX, 10), below(u64::MAX, u64::MAX)), (0, 9, u64::MAX - 1));
    }
}
