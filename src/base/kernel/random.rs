//! Counter-based random numbers. Element `i` of a draw depends only on the seed and its position in the stream, not
//! on the number of threads.

use std::f64::consts::{FRAC_PI_2, LN_2, PI};

use crate::array::Array;
use crate::dtype::Element;
use crate::error::Result;
use crate::kernel::fast::{ROUND64, mantissa64};
use crate::kernel::par::{self, SendPtr};
use crate::kernel::simd;

/// The stream of a seed, from a block on.
#[derive(Clone, Copy)]
pub struct Stream {
    pub seed: u64,
    pub block: u64,
}

/// Two words as one integer.
#[inline(always)]
pub fn join_words([low, high]: [u32; 2]) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Blocks that are computed together.
const GROUP: usize = 64;
/// Blocks that one set of registers holds.
const WIDTH: usize = 4;

/// The words of [`GROUP`] blocks, starting with block `first`. A block is 128 random bits from Philox4x32-10 (J.
/// Salmon, M. Moraes, R. Dror, D. Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011) with the seed as key
/// and the block number as the low half of the counter. Each word is computed in the low half of a 64-bit lane,
/// because that is what vector multiplications take.
#[inline(always)]
fn group(seed: u64, first: u64, words: &mut [u32; 4 * GROUP]) {
    const LOW: u64 = 0xffff_ffff;
    for (part, words) in words.chunks_exact_mut(4 * WIDTH).enumerate() {
        let mut c = [[0u64; WIDTH]; 4];
        for i in 0..WIDTH {
            let block = first.wrapping_add((part * WIDTH + i) as u64);
            (c[0][i], c[1][i]) = (block & LOW, block >> 32);
        }
        let mut k = [seed as u32, (seed >> 32) as u32];
        for _ in 0..10 {
            let mut next = [[0; WIDTH]; 4];
            for i in 0..WIDTH {
                let a = (c[0][i] & LOW) * 0xD251_1F53;
                let b = (c[2][i] & LOW) * 0xCD9E_8D57;
                next[0][i] = (b >> 32) ^ c[1][i] ^ u64::from(k[0]);
                next[1][i] = b;
                next[2][i] = (a >> 32) ^ c[3][i] ^ u64::from(k[1]);
                next[3][i] = a;
            }
            c = next;
            k = [k[0].wrapping_add(0x9E37_79B9), k[1].wrapping_add(0xBB67_AE85)];
        }
        for i in 0..WIDTH {
            for w in 0..4 {
                words[4 * i + w] = c[w][i] as u32;
            }
        }
    }
}

/// How many numbers a block gives if `n` numbers are made of `w` words.
pub const fn per_block(w: usize, n: usize) -> usize {
    4 / w * n
}

/// A new array whose elements `make` computes, `N` at a time from `W` words.
pub fn fill<T: Element, const W: usize, const N: usize>(
    op: &'static str,
    dims: &[usize],
    stream: Stream,
    make: impl Fn([u32; W]) -> [T; N] + Sync + Copy,
) -> Result<Array> {
    let size = GROUP * per_block(W, N);
    Array::build::<T>(op, dims, |out| {
        let (n, shared) = (out.len(), SendPtr(out.as_mut_ptr().cast()));
        par::pieces(n, par::PIECE / size * size, &|range| {
            // SAFETY: pieces do not overlap, and each begins with a group.
            let out = unsafe {
                std::slice::from_raw_parts_mut(shared.get().cast::<T>().add(range.start), range.len())
            };
            let (make, first) = (make, range.start / size);
            simd::autovectorize(
                #[inline(always)]
                move || {
                    let (mut words, mut last) = ([0; 4 * GROUP], [T::default(); 4 * GROUP]);
                    for (i, out) in out.chunks_mut(size).enumerate() {
                        group(
                            stream.seed,
                            stream.block.wrapping_add(((first + i) * GROUP) as u64),
                            &mut words,
                        );
                        let whole = out.len() == size;
                        let to = if whole { &mut *out } else { &mut last[..size] };
                        let words = words.as_chunks::<W>().0;
                        for (i, to) in to.as_chunks_mut::<N>().0.iter_mut().enumerate() {
                            *to = make(words[i]);
                        }
                        if !whole {
                            out.copy_from_slice(&last[..out.len()]);
                        }
                    }
                },
            );
        });
    })
}

/// Uniform in [0, 1), a multiple of 2⁻²⁴.
#[inline(always)]
pub fn uniform32(bits: u32) -> f32 {
    (bits >> 8) as f32 * (1.0 / (1u32 << 24) as f32)
}

/// Uniform in [0, 1), a multiple of 2⁻⁵³.
#[inline(always)]
pub fn uniform64(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Two independent normal numbers from two uniform ones, the first in (0, 1] (G. Box, M. Muller, 1958).
#[inline]
pub fn normal64(u: f64, v: f64) -> [f64; 2] {
    let r = (-2.0 * u.ln()).sqrt();
    let (sin, cos) = (2.0 * PI * v).sin_cos();
    [r * cos, r * sin]
}

/// A polynomial without fused operations, so that all processors give the same bits.
macro_rules! series {
    ($x:expr; $first:expr $(, $c:expr)*) => {{ let p: f64 = $first; $( let p = p * $x + $c; )* p }};
}

/// [`normal64`] of `(a + 1) / 2³²` and `b / 2³²` with a relative error of about 10⁻¹², which rounding to f32 hides.
/// Straight-line arithmetic, so that it vectorises.
#[inline(always)]
pub fn normal32([a, b]: [u32; 2]) -> [f32; 2] {
    let step = 1.0 / (1u64 << 32) as f64;
    // The logarithm of `2^k (1 + f)`, with `1 + f` between `√½` and `√2`: `2 s + s³ (2/3 + …)` with `s = f / (2 + f)`.
    let (k, f) = mantissa64((f64::from(a) + 1.0) * step);
    let s = f / (2.0 + f);
    let z = s * s;
    let tail = series!(z; 0.193_651_163_634_642_37, 0.221_912_739_571_309_46, 0.285_717_565_362_323_24, 0.399_999_987_875_307, 0.666_666_666_673_822_9);
    let radius = (-2.0 * (k * LN_2 + (tail * z * s + 2.0 * s))).sqrt();
    // The quadrant, and the exact angle from its middle.
    let turns = f64::from(b) * (4.0 * step);
    let rounded = turns + ROUND64;
    let (quarter, r) = (rounded.to_bits(), (turns - (rounded - ROUND64)) * FRAC_PI_2);
    let z = r * r;
    let sin = series!(z; 2.724_962_008_007_533e-6, -0.000_198_400_843_764_227_04, 0.008_333_331_870_341_349, -0.166_666_666_638_440_49);
    let cos = series!(z; 2.446_345_266_350_529e-5, -0.001_388_758_656_578_384_7, 0.041_666_650_596_550_34, -0.499_999_999_689_965_8);
    let (sin, cos) = (sin * z * r + r, cos * z + 1.0);
    let (x, y) = if quarter & 1 == 0 { (cos, sin) } else { (sin, cos) };
    let x = f64::from_bits(x.to_bits() ^ ((quarter.wrapping_add(1) & 2) << 62));
    let y = f64::from_bits(y.to_bits() ^ ((quarter & 2) << 62));
    [(radius * x) as f32, (radius * y) as f32]
}

/// Uniform among the integers below `range`, up to a bias of `range / 2⁶⁴`.
#[inline(always)]
pub fn below(bits: u64, range: u64) -> u64 {
    ((u128::from(bits) * u128::from(range)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::sized;

    /// One block, word by word.
    fn philox(seed: u64, block: u64) -> [u32; 4] {
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

    #[test]
    fn philox_gives_the_published_numbers() {
        // The first known answer of the Random123 distribution.
        assert_eq!(philox(0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    }

    #[test]
    fn a_group_is_blocks_in_order() {
        let seed = 0x0123_4567_89ab_cdef;
        for first in [0, 5, u64::from(u32::MAX) - 3, u64::MAX - 10] {
            let mut words = [0; 4 * GROUP];
            group(seed, first, &mut words);
            for (i, block) in words.chunks_exact(4).enumerate() {
                assert_eq!(block, philox(seed, first.wrapping_add(i as u64)));
            }
        }
    }

    #[test]
    fn numbers_depend_on_their_place_alone() {
        let stream = Stream { seed: 7, block: 3 };
        let many = fill("t", &[sized(100_003, 1203)], stream, |[w]| [w]).unwrap().to_vec::<u32>();
        for (n, at) in [(1, 0), (3, 4), (256, 40), (257, 800), (5, sized(99_996, 1196))] {
            let stream = Stream { seed: 7, block: 3 + at / 4 };
            let few = fill("t", &[n], stream, |[w]| [w]).unwrap().to_vec::<u32>();
            assert_eq!(few, many[at as usize..at as usize + n]);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "it is about numbers, and touches no memory by address")]
    fn normal_numbers_are_right_to_the_last_place() {
        let words = fill("t", &[20_000], Stream { seed: 1, block: 0 }, |[w]| [w]).unwrap().to_vec::<u32>();
        let ends = [0, 1, 2, 1 << 29, (1 << 30) - 1, 1 << 30, 1 << 31, 3 << 30, u32::MAX - 1, u32::MAX];
        let pairs = words.chunks_exact(2).map(|p| [p[0], p[1]]);
        for [a, b] in pairs.chain(ends.iter().flat_map(|&a| ends.map(|b| [a, b]))) {
            let step = 1.0 / (1u64 << 32) as f64;
            let exact = normal64((f64::from(a) + 1.0) * step, f64::from(b) * step);
            for (y, exact) in normal32([a, b]).into_iter().zip(exact) {
                assert!((f64::from(y) - exact).abs() <= 1e-7 * exact.abs() + 1e-14, "{a} {b}: {y} {exact}");
            }
        }
    }

    #[test]
    fn numbers_stay_in_their_ranges() {
        assert_eq!((uniform32(0), uniform64(0)), (0.0, 0.0));
        assert!(uniform32(u32::MAX) < 1.0 && uniform64(u64::MAX) < 1.0);
        assert_eq!((below(0, 10), below(u64::MAX, 10), below(u64::MAX, u64::MAX)), (0, 9, u64::MAX - 1));
    }
}
