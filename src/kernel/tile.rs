//! Products of matrices in tiles of sums that stay in registers. Small factors are read where they lie.
//!
//! An element of a product is summed in the order of the inner axis, part by part of a fixed length, so its bits do not
//! depend on how the product is cut into tiles or among threads.

use std::mem::MaybeUninit;

use super::copy;
use super::num::Num;
use super::register::Vector;
use super::simd;

/// A matrix: where it begins, and its steps from row to row and from column to column, in elements.
pub(super) type Matrix<T> = (*const T, isize, isize);

/// Elements of a panel: columns of the right factor, laid so that a tile reads them one after the other.
const PANEL: usize = 1 << 13;

/// Rows of a tile.
const DOWN: usize = 4;

/// Columns of the widest tile of all.
pub(super) const ACROSS: usize = 32;

/// The inner axis is done in parts of this size, for which a panel has room.
const DEPTH: usize = PANEL / ACROSS;

/// Where the right factor has more bytes than this, its rows would push each other out of the first cache, and it is
/// laid into panels, unless fewer than `REUSED` rows of the left one would make use of it.
const NEAR: usize = 1 << 14;
const REUSED: usize = 16;

/// # Safety
/// The left factor has `M` rows from `a` on, the right one `N` registers of columns from `b` on, its rows `rb` apart, and
/// so has the output from `out` on; it holds numbers if they are added to. The processor has the instructions.
#[inline(always)]
unsafe fn tile<V: Vector, const M: usize, const N: usize>(
    k: usize,
    (a, ra, ca): Matrix<V::T>,
    (b, rb): (*const V::T, isize),
    (out, run): (*mut V::T, usize),
    add: bool,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [[V::zero(); N]; M];
        for p in 0..k as isize {
            let b = b.offset(p * rb);
            let row: [V; N] = std::array::from_fn(
                #[inline(always)]
                |v| V::load(b.add(v * V::LEN)),
            );
            for (i, sums) in sums.iter_mut().enumerate() {
                let factor = V::splat(a.offset(i as isize * ra + p * ca));
                for (sum, &row) in sums.iter_mut().zip(&row) {
                    *sum = sum.plus(factor, row);
                }
            }
        }
        let one = V::splat(&V::T::ONE);
        for (i, sums) in sums.iter().enumerate() {
            for (v, &sum) in sums.iter().enumerate() {
                let to = out.add(i * run + v * V::LEN);
                if add { V::load(to).plus(one, sum).store(to) } else { sum.store(to) }
            }
        }
    }
}

/// All rows of some columns, of which there are `N` registers.
///
/// # Safety
/// That of [`tile`], for all `m` rows.
#[inline(always)]
unsafe fn columns<V: Vector, const N: usize>(
    (m, k): (usize, usize),
    (a, ra, ca): Matrix<V::T>,
    b: (*const V::T, isize),
    (out, run): (*mut V::T, usize),
    part: Part,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let left = |i: usize| (a.offset(i as isize * ra), ra, ca);
        let add = part == Part::Later;
        let mut next = 0;
        while next + DOWN <= m {
            tile::<V, DOWN, N>(k, left(next), b, (out.add(next * run), run), add);
            next += DOWN;
        }
        if next < m && m >= DOWN && part == Part::All {
            // The last tile repeats rows of the one before.
            next = m - DOWN;
            return tile::<V, DOWN, N>(k, left(next), b, (out.add(next * run), run), add);
        }
        for i in next..m {
            tile::<V, 1, N>(k, left(i), b, (out.add(i * run), run), add);
        }
    }
}

/// A part of the inner axis.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    First,
    Later,
}

/// Lays `width` columns of a matrix of `k` rows side by side. Compiled for no vectors but those that all processors have:
/// with more of them the compiler would guard each loop with more tests than a small matrix has elements.
///
/// # Safety
/// The matrix has so many, and `to` room for them.
#[inline(never)]
unsafe fn lay<T: Num>(k: usize, width: usize, (b, rb, cb): Matrix<T>, to: *mut T) {
    /// Rows and columns of a block that is turned within registers.
    const BLOCK: usize = 4;
    /// Where there are fewer, blocks of this size are the whole matrix.
    const LARGE: usize = 8;
    if rb == 1 && k >= LARGE && width >= LARGE {
        // SAFETY: the caller's promise.
        return unsafe { copy::turned((k, width), (b, cb), to) };
    }
    let turned = if rb == 1 && width.is_multiple_of(BLOCK) { k / BLOCK * BLOCK } else { 0 };
    // SAFETY: the caller's promise.
    unsafe {
        for p in (0..turned).step_by(BLOCK) {
            for j in (0..width).step_by(BLOCK) {
                let lines: [[T; BLOCK]; BLOCK] = std::array::from_fn(|i| {
                    b.add(p).offset((j + i) as isize * cb).cast::<[T; BLOCK]>().read_unaligned()
                });
                let rows: [[T; BLOCK]; BLOCK] = std::array::from_fn(|i| std::array::from_fn(|j| lines[j][i]));
                for (i, &row) in rows.iter().enumerate() {
                    to.add((p + i) * width + j).cast::<[T; BLOCK]>().write_unaligned(row);
                }
            }
        }
        for p in turned..k {
            for j in 0..width {
                *to.add(p * width + j) = *b.offset(p as isize * rb + j as isize * cb);
            }
        }
    }
}

/// Products of pairs of matrices, which begin so far from each other.
pub(super) struct Pairs<T> {
    pub count: usize,
    /// `m`, `k` and `n` of `m × k` and `k × n` matrices.
    pub sizes: (usize, usize, usize),
    pub a: Matrix<T>,
    pub b: Matrix<T>,
    pub steps: (isize, isize),
    /// Where the `m × n` products go, one after the other, and how far from row to row.
    pub out: *mut T,
    pub run: usize,
}

/// The products in tiles of `N` registers `V`, in registers `H` where there are too few columns for one of them, and in
/// single columns where there are fewer still.
///
/// # Safety
/// That of [`Tiled::tiled`], and that the processor has the instructions.
#[inline(always)]
unsafe fn products<V: Vector, H: Vector<T = V::T>, O: Vector<T = V::T>, const N: usize>(
    pairs: &Pairs<V::T>,
    panel: *mut V::T,
) {
    let Pairs { count, sizes: (m, k, n), a: (a, ra, ca), b: (b, rb, cb), steps, out, run } = *pairs;
    let far = k.min(DEPTH).saturating_mul(rb.unsigned_abs()).saturating_mul(size_of::<V::T>()) > NEAR;
    let laid = cb != 1 || (far && m >= REUSED);
    // The widest tiles that there are columns for.
    let narrowest = if n >= V::LEN {
        V::LEN
    } else if n >= H::LEN {
        H::LEN
    } else {
        1
    };
    for i in 0..count {
        let mut next = 0;
        while next < n {
            let left = n - next;
            let width = if left >= N * V::LEN {
                N * V::LEN
            } else if left >= 2 * V::LEN {
                2 * V::LEN
            } else {
                narrowest
            };
            // The last tile may repeat columns of the one before.
            let j = next.min(n - width);
            let mut first = 0;
            loop {
                let depth = DEPTH.min(k - first);
                let part = match first {
                    0 if k <= DEPTH => Part::All,
                    0 => Part::First,
                    _ => Part::Later,
                };
                // SAFETY: the rows and columns from here on are those of the matrices, and so is the output; those of
                // `b` fit into the panel.
                unsafe {
                    let a = (a.offset(i as isize * steps.0 + first as isize * ca), ra, ca);
                    let b = b.offset(i as isize * steps.1 + first as isize * rb + j as isize * cb);
                    let mut right = (b, rb);
                    if laid {
                        lay(depth, width, (b, rb, cb), panel);
                        right = (panel.cast_const(), width as isize);
                    }
                    let out = (out.add(i * m * n + j), run);
                    if width == N * V::LEN {
                        columns::<V, N>((m, depth), a, right, out, part);
                    } else if width == 2 * V::LEN {
                        columns::<V, 2>((m, depth), a, right, out, part);
                    } else if width == V::LEN {
                        columns::<V, 1>((m, depth), a, right, out, part);
                    } else if width == H::LEN {
                        columns::<H, 1>((m, depth), a, right, out, part);
                    } else {
                        columns::<O, 1>((m, depth), a, right, out, part);
                    }
                }
                first += depth;
                if first >= k {
                    break;
                }
            }
            next = j + width;
        }
    }
}

/// A type with such products.
pub(super) trait Tiled: Num {
    /// # Safety
    /// The pairs are what they say, and the output has room for the products.
    unsafe fn tiled(pairs: &Pairs<Self>);
}

macro_rules! tiled {
    ($t:ident $($level:ident $features:literal $V:ident $H:ident $N:literal),*; $plain:literal) => {
        impl Tiled for $t {
            unsafe fn tiled(pairs: &Pairs<$t>) {
                let mut panel = [const { MaybeUninit::<$t>::uninit() }; PANEL];
                let panel = panel.as_mut_ptr().cast::<$t>();
                match simd::level() {
                    $(
                        #[cfg(target_arch = "x86_64")]
                        simd::Level::$level => {
                            /// # Safety
                            /// That of [`products`], on a processor with these instructions.
                            #[target_feature(enable = $features)]
                            unsafe fn vector(pairs: &Pairs<$t>, panel: *mut $t) {
                                use std::arch::x86_64::{$V, $H};
                                // SAFETY: the caller's promise.
                                unsafe { products::<$V, $H, [$t; 1], $N>(pairs, panel) }
                            }
                            // SAFETY: the caller's promise, and the level says that there are these instructions.
                            unsafe { vector(pairs, panel) }
                        }
                    )*
                    // SAFETY: the caller's promise.
                    _ => unsafe { products::<[$t; $plain], [$t; 1], [$t; 1], 2>(pairs, panel) },
                }
            }
        }
    };
}
tiled!(f32 Avx512 "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw" __m256 __m128 4, Avx2 "avx2,fma" __m256 __m128 2; 4);
tiled!(f64 Avx512 "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw" __m256d __m128d 4, Avx2 "avx2,fma" __m256d __m128d 2; 2);
