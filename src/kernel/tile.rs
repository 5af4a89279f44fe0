//! Products of small matrices: tiles of sums that stay in registers, read from the factors where they lie.
//!
//! Each element of a product is one sum in the order of the inner axis, so its bits do not depend on how the product is
//! cut into tiles or among threads.

use std::mem::MaybeUninit;

use super::num::Num;
use super::register::Vector;
use super::simd::{self, Level};

/// A matrix: where it begins, and its steps from row to row and from column to column, in elements.
pub(super) type Matrix<T> = (*const T, isize, isize);

/// Elements of a panel: columns of the right factor, laid so that a tile reads them one after the other.
const PANEL: usize = 1 << 13;

/// Rows of a tile.
const DOWN: usize = 4;

/// Inner sizes up to which the columns of a tile fit into a panel, however wide the tile is.
pub(super) const DEPTH: usize = PANEL / 32;

/// Where the right factor has more bytes than this, its rows would push each other out of the first cache, and it is
/// laid into panels, unless fewer than `REUSED` rows of the left one would make use of it.
const NEAR: usize = 1 << 14;
const REUSED: usize = 16;

/// # Safety
/// The left factor has `M` rows from `a` on, the right one `N` registers of columns from `b` on, its rows `rb` apart, and
/// so has the output from `out` on. The processor has the instructions.
#[inline(always)]
unsafe fn tile<V: Vector, const M: usize, const N: usize>(
    k: usize,
    (a, ra, ca): Matrix<V::T>,
    (b, rb): (*const V::T, isize),
    out: *mut V::T,
    run: usize,
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
        for (i, sums) in sums.iter().enumerate() {
            for (v, sum) in sums.iter().enumerate() {
                sum.store(out.add(i * run + v * V::LEN));
            }
        }
    }
}

/// All rows of some columns, of which there are `N` registers. The last tile may repeat rows of the one before.
///
/// # Safety
/// That of [`tile`], for all `m` rows.
#[inline(always)]
unsafe fn columns<V: Vector, const N: usize>(
    (m, k): (usize, usize),
    (a, ra, ca): Matrix<V::T>,
    b: (*const V::T, isize),
    out: *mut V::T,
    run: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if m < DOWN {
            for i in 0..m {
                tile::<V, 1, N>(k, (a.offset(i as isize * ra), ra, ca), b, out.add(i * run), run);
            }
            return;
        }
        for i in (0..m).step_by(DOWN) {
            let i = i.min(m - DOWN);
            tile::<V, DOWN, N>(k, (a.offset(i as isize * ra), ra, ca), b, out.add(i * run), run);
        }
    }
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
    let turned = if rb == 1 && width.is_multiple_of(BLOCK) { k / BLOCK * BLOCK } else { 0 };
    // SAFETY: the caller's promise.
    unsafe {
        for p in (0..turned).step_by(BLOCK) {
            for j in (0..width).step_by(BLOCK) {
                let lines: [[T; BLOCK]; BLOCK] = std::array::from_fn(|i| {
                    b.add(p).offset((j + i) as isize * cb).cast::<[T; BLOCK]>().read_unaligned()
                });
                for i in 0..BLOCK {
                    let row: [T; BLOCK] = std::array::from_fn(|j| lines[j][i]);
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
/// That of [`Small::small`], and that the processor has the instructions.
#[inline(always)]
unsafe fn products<V: Vector, H: Vector<T = V::T>, O: Vector<T = V::T>, const N: usize>(
    pairs: &Pairs<V::T>,
    panel: *mut V::T,
) {
    let Pairs { count, sizes: (m, k, n), a: (a, ra, ca), b: (b, rb, cb), steps, out, run } = *pairs;
    let far = k.saturating_mul(rb.unsigned_abs()).saturating_mul(size_of::<V::T>()) > NEAR;
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
            // SAFETY: the columns from `j` on are those of the matrix, and so is the output; they fit into the panel, as
            // the inner size is at most `DEPTH`.
            unsafe {
                let a = (a.offset(i as isize * steps.0), ra, ca);
                let mut right = (b.offset(i as isize * steps.1 + j as isize * cb), rb);
                if laid {
                    lay(k, width, (right.0, rb, cb), panel);
                    right = (panel.cast_const(), width as isize);
                }
                let out = out.add(i * m * n + j);
                if width == N * V::LEN {
                    columns::<V, N>((m, k), a, right, out, run);
                } else if width == 2 * V::LEN {
                    columns::<V, 2>((m, k), a, right, out, run);
                } else if width == V::LEN {
                    columns::<V, 1>((m, k), a, right, out, run);
                } else if width == H::LEN {
                    columns::<H, 1>((m, k), a, right, out, run);
                } else {
                    columns::<O, 1>((m, k), a, right, out, run);
                }
            }
            next = j + width;
        }
    }
}

/// A type with products of small matrices.
pub(super) trait Small: Num {
    /// # Safety
    /// The inner size is at most [`DEPTH`], the pairs are what they say, and the output has room for the products.
    unsafe fn small(pairs: &Pairs<Self>);
}

macro_rules! small {
    ($t:ident $($level:ident $features:literal $V:ident $H:ident $N:literal),*; $plain:literal) => {
        impl Small for $t {
            unsafe fn small(pairs: &Pairs<$t>) {
                let mut panel = [const { MaybeUninit::<$t>::uninit() }; PANEL];
                let panel = panel.as_mut_ptr().cast::<$t>();
                match simd::level() {
                    $(
                        #[cfg(target_arch = "x86_64")]
                        Level::$level => {
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
small!(f32 Avx512 "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw" __m256 __m128 4, Avx2 "avx2,fma" __m256 __m128 2; 4);
small!(f64 Avx512 "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw" __m256d __m128d 4, Avx2 "avx2,fma" __m256d __m128d 2; 2);
