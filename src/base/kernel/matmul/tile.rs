//! Matrix products in register tiles. Small factors are read in place.
//!
//! Each element is a sum along the inner axis in parts of a fixed length, so its bits do not depend on the tiles or
//! the threads.

use std::mem::MaybeUninit;

use crate::error::Error;
use crate::kernel::num::Num;
use crate::kernel::simd::vector::Vector;
use crate::kernel::{copy, interrupt, simd};

/// A matrix: its address, and its row and column strides in elements.
pub(super) type MatrixPtr<T> = (*const T, isize, isize);

/// Elements of a panel: columns of the right factor, packed in the order in which a tile reads them.
pub(super) const PANEL: usize = 1 << 13;

/// Rows of the tiles that are not the widest.
const DOWN: usize = 4;

/// Columns of the widest tile.
pub(super) const ACROSS: usize = 32;

/// A panel of at most this many elements gets no more memory than that, because it takes time to make the stack larger.
const FEW: usize = 512;

/// The length of a part of the inner axis; a panel has room for it.
const DEPTH: usize = PANEL / ACROSS;

/// A right factor of more bytes than `NEAR` is packed into panels, because its rows would evict each other from the
/// first-level cache, unless fewer than `REUSED` rows of the left factor use it.
const NEAR: usize = 1 << 14;
const REUSED: usize = 16;

/// A left factor is packed into strips if at least `PACKED` columns use it, and either its rows are more than `APART`
/// bytes apart, so that the rows of a tile collide in the first-level cache, or a part of a row spans more than
/// `SPAN` bytes.
const APART: usize = 1 << 11;
const SPAN: usize = 3 << 16;
pub(super) const PACKED: usize = 128;

/// Bytes of one column of a strip, which interleaves the rows of a few tiles.
const STRIP: usize = 32;

/// Bytes of one column of all strips that are packed together. With parts of [`DEPTH`] they fill half of the
/// second-level cache.
const STRIPS: usize = 1 << 10;

/// Multiplications in the time that [`interrupt::count`] counts one element for, on a processor with the shortest vectors.
const AT_ONCE: usize = 16;

/// # Safety
/// The left factor has `M` rows at `a`. The right factor has `N` registers of columns at `b`, with rows `rb` apart.
/// The output has as many at `out`, and is initialised if `add` is set. The processor has the instructions.
#[inline(always)]
unsafe fn tile<V: Vector, const M: usize, const N: usize>(
    k: usize,
    (a, ra, ca): MatrixPtr<V::T>,
    (b, rb): (*const V::T, isize),
    (out, run): (*mut V::T, usize),
    add: bool,
) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        let mut sums = [[V::zero(); N]; M];
        for p in 0..k as isize {
            let b = b.offset(p * rb);
            let mut row = [V::zero(); N];
            for v in 0..N {
                row[v] = V::load(b.add(v * V::LEN));
            }
            for i in 0..M {
                let factor = V::splat(a.offset(i as isize * ra + p * ca));
                for v in 0..N {
                    sums[i][v] = sums[i][v].mul_acc(factor, row[v]);
                }
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            for (v, &sum) in sums.iter().enumerate() {
                let to = out.add(i * run + v * V::LEN);
                if add { V::load(to).plus(sum).store(to) } else { sum.store(to) }
            }
        }
    }
}

/// All rows of `N` registers of columns, in tiles of `M` rows. Rows in whole strips are read from `strips`, if there are
/// any.
///
/// # Safety
/// As [`tile`], for all `m` rows; `strips` is the left factor packed by [`lay`].
#[inline(always)]
unsafe fn columns<V: Vector, const M: usize, const N: usize>(
    (m, k): (usize, usize),
    (a, ra, ca): MatrixPtr<V::T>,
    strips: Option<*const V::T>,
    b: (*const V::T, isize),
    (out, run): (*mut V::T, usize),
    part: DepthPart,
) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        let left = |i: usize| (a.offset(i as isize * ra), ra, ca);
        let add = part == DepthPart::Later;
        let mut next = 0;
        if let Some(strips) = strips {
            let strip = STRIP / size_of::<V::T>();
            while next < m / strip * strip {
                let rows = strips.add(next / strip * strip * k + next % strip);
                tile::<V, M, N>(k, (rows, 1, strip as isize), b, (out.add(next * run), run), add);
                next += M;
            }
        }
        while next + M <= m {
            tile::<V, M, N>(k, left(next), b, (out.add(next * run), run), add);
            next += M;
        }
        if next < m && m >= M && part == DepthPart::All {
            // The last tile repeats some rows of the one before.
            next = m - M;
            return tile::<V, M, N>(k, left(next), b, (out.add(next * run), run), add);
        }
        while next + DOWN <= m {
            tile::<V, DOWN, N>(k, left(next), b, (out.add(next * run), run), add);
            next += DOWN;
        }
        for i in next..m {
            tile::<V, 1, N>(k, left(i), b, (out.add(i * run), run), add);
        }
    }
}

/// Which part of the inner axis is added.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DepthPart {
    All,
    First,
    Later,
}

/// Rows and columns of a block that is transposed in registers.
const BLOCK: usize = 4;

/// Packs a matrix of `k` rows into consecutive panels of `width` columns. If the elements of a row are adjacent,
/// several panels are packed together, so that whole cache lines are read.
///
/// # Safety
/// The matrix has `panels * width` columns, and `to` has room for all elements.
unsafe fn lay<T: Num>(k: usize, width: usize, panels: usize, (b, rb, cb): MatrixPtr<T>, to: *mut T) {
    const TOGETHER: usize = 4;
    let together = if cb == 1 && width.is_multiple_of(BLOCK) { TOGETHER } else { 1 };
    for first in (0..panels).step_by(together) {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            let (b, to) = (b.offset((first * width) as isize * cb), to.add(first * k * width));
            if together == 1 {
                lay_one(k, width, (b, rb, cb), to);
            } else {
                lay_rows(k, width, together.min(panels - first), (b, rb), to);
            }
        }
    }
}

/// # Safety
/// As [`lay`].
#[inline(never)]
unsafe fn lay_rows<T: Num>(k: usize, width: usize, panels: usize, b: (*const T, isize), to: *mut T) {
    /// The columns of most panels are a multiple of this.
    const MANY: usize = 4 * BLOCK;
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        if width.is_multiple_of(MANY) {
            lay_blocks::<T, MANY>(k, width, panels, b, to);
        } else {
            lay_blocks::<T, BLOCK>(k, width, panels, b, to);
        }
    }
}

/// # Safety
/// As [`lay`], with a width that is a multiple of `N`.
#[inline(always)]
unsafe fn lay_blocks<T: Num, const N: usize>(
    k: usize,
    width: usize,
    panels: usize,
    (b, rb): (*const T, isize),
    to: *mut T,
) {
    for p in 0..k {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            let mut from = b.offset(p as isize * rb).cast::<[T; N]>();
            for q in 0..panels {
                let to = to.add((q * k + p) * width).cast::<[T; N]>();
                for j in 0..width / N {
                    to.add(j).write_unaligned(from.read_unaligned());
                    from = from.add(1);
                }
            }
        }
    }
}

/// Packs one panel. Compiled for the baseline instruction set only: with wider vectors the compiler guards each loop
/// with more checks than a small matrix has elements.
///
/// # Safety
/// As [`lay`].
#[inline(never)]
unsafe fn lay_one<T: Num>(k: usize, width: usize, (b, rb, cb): MatrixPtr<T>, to: *mut T) {
    /// Smaller blocks are the whole matrix.
    const LARGE: usize = 8;
    if rb == 1 && k >= LARGE && width >= LARGE {
        // SAFETY: as the function's `# Safety` section requires.
        return unsafe { copy::transposed((k, width), (b, cb), to) };
    }
    let turned = if rb == 1 && width.is_multiple_of(BLOCK) { k / BLOCK * BLOCK } else { 0 };
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        for p in (0..turned).step_by(BLOCK) {
            for j in (0..width).step_by(BLOCK) {
                let mut lines = [[T::ZERO; BLOCK]; BLOCK];
                for i in 0..BLOCK {
                    lines[i] = b.add(p).offset((j + i) as isize * cb).cast::<[T; BLOCK]>().read_unaligned();
                }
                for i in 0..BLOCK {
                    let mut row = [T::ZERO; BLOCK];
                    for k in 0..BLOCK {
                        row[k] = lines[k][i];
                    }
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

/// Products of pairs of matrices at even distances.
pub(super) struct MatrixPairs<T> {
    pub count: usize,
    /// `m`, `k` and `n` of the `m × k` and `k × n` matrices.
    pub sizes: (usize, usize, usize),
    pub a: MatrixPtr<T>,
    pub b: MatrixPtr<T>,
    pub steps: (isize, isize),
    /// The address of the consecutive `m × n` products, and their row stride.
    pub out: *mut T,
    pub run: usize,
    /// Whether registers of 512 bits are worthwhile.
    pub wide: bool,
}

impl MatrixPairs<u8> {
    /// The same pairs with the type of their elements.
    pub fn cast<T>(&self) -> MatrixPairs<T> {
        let MatrixPairs { count, sizes, a, b, steps, out, run, wide } = *self;
        let (a, b) = ((a.0.cast(), a.1, a.2), (b.0.cast(), b.1, b.2));
        MatrixPairs { count, sizes, a, b, steps, out: out.cast(), run, wide }
    }
}

/// The products in tiles of `M` rows and `N` registers `V`, or in registers `H` or single columns where there are too few
/// columns.
/// `panel` has room for one panel, `room` for strips and all panels if the left factor is packed.
///
/// # Safety
/// As [`Tiled::tiled`], on a processor with the instructions.
#[inline(always)]
pub(super) unsafe fn products<
    V: Vector,
    H: Vector<T = V::T>,
    O: Vector<T = V::T>,
    const M: usize,
    const N: usize,
>(
    pairs: &MatrixPairs<V::T>,
    panel: *mut V::T,
    room: Option<*mut V::T>,
) {
    let MatrixPairs { count, sizes: (m, k, n), a: (a, ra, ca), b: (b, rb, cb), steps, out, run, .. } = *pairs;
    let far = k.min(DEPTH).saturating_mul(rb.unsigned_abs()).saturating_mul(size_of::<V::T>()) > NEAR;
    let laid = cb != 1 || (far && m >= REUSED);
    // The widest tile that the columns fill.
    let narrowest = if n >= V::LEN {
        V::LEN
    } else if n >= H::LEN {
        H::LEN
    } else {
        1
    };
    let strip = STRIP / size_of::<V::T>();
    let mut done = 0;
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
            // The last tile may repeat some columns of the one before.
            let j = next.min(n - width);
            // Packing into strips pays if many panels read them.
            let strips = room.filter(|_| left >= 2 * width && width == N * V::LEN);
            let (panels, most) = match strips {
                Some(_) => (left / width, STRIPS / size_of::<V::T>()),
                None => (1, m),
            };
            // SAFETY: the room for strips ends there.
            let panel = strips.map_or(panel, |s| unsafe { s.add(most * k.min(DEPTH)) });
            let mut first = 0;
            loop {
                let depth = DEPTH.min(k - first);
                let part = match first {
                    0 if k <= DEPTH => DepthPart::All,
                    0 => DepthPart::First,
                    _ => DepthPart::Later,
                };
                // SAFETY: the rows and columns are inside the matrices and the output, the columns of `b` fit into
                // the panels, and the rows of `a` into the strips.
                unsafe {
                    let a = a.offset(i as isize * steps.0 + first as isize * ca);
                    let b = b.offset(i as isize * steps.1 + first as isize * rb + j as isize * cb);
                    if laid {
                        lay(depth, width, panels, (b, rb, cb), panel);
                    }
                    let mut top = 0;
                    loop {
                        let rows = most.min(m - top);
                        let a = (a.offset(top as isize * ra), ra, ca);
                        if let Some(strips) = strips {
                            lay(depth, strip, rows / strip, (a.0, ca, ra), strips);
                        }
                        let strips = strips.map(<*mut V::T>::cast_const);
                        for q in 0..panels {
                            let right = if laid {
                                (panel.add(q * depth * width).cast_const(), width as isize)
                            } else {
                                (b.offset((q * width) as isize * cb), rb)
                            };
                            let out = (out.add(i * m * n + top * run + j + q * width), run);
                            if width == N * V::LEN {
                                columns::<V, M, N>((rows, depth), a, strips, right, out, part);
                            } else if width == 2 * V::LEN {
                                columns::<V, M, 2>((rows, depth), a, None, right, out, part);
                            } else if width == V::LEN {
                                columns::<V, M, 1>((rows, depth), a, None, right, out, part);
                            } else if width == H::LEN {
                                columns::<H, DOWN, 1>((rows, depth), a, None, right, out, part);
                            } else {
                                columns::<O, DOWN, 1>((rows, depth), a, None, right, out, part);
                            }
                        }
                        interrupt::count(&mut done, depth * width * panels * rows / AT_ONCE);
                        top += rows;
                        if top >= m {
                            break;
                        }
                    }
                }
                first += depth;
                if first >= k {
                    break;
                }
            }
            next = j + panels * width;
        }
    }
}

/// Whether the left factor, of elements of `size` bytes, is packed into strips. Only with AVX2, whose narrow tiles read it most often.
pub(super) fn packs(size: usize, (m, k, n): (usize, usize, usize), (ra, ca): (isize, isize)) -> bool {
    let bytes = |step: isize| step.unsigned_abs().saturating_mul(size);
    let far = bytes(ra) > APART || k.min(DEPTH).saturating_mul(bytes(ca)) > SPAN;
    simd::isa() == simd::Isa::Avx2 && far && m >= REUSED && n >= PACKED
}

/// Types with such products.
pub(super) trait Tiled: Num {
    /// # Safety
    /// `pairs` describes valid matrices, and the output has room for the products.
    unsafe fn tiled(pairs: &MatrixPairs<Self>);

    /// [`tiled`](Tiled::tiled) with `panel` as the memory for packed columns of the right factor. [`PANEL`] elements are always
    /// enough. A small factor needs as many as its part of the inner axis has rows, times the columns of a tile.
    ///
    /// # Safety
    /// As [`tiled`](Tiled::tiled), and there is this memory.
    unsafe fn in_panel(pairs: &MatrixPairs<Self>, panel: *mut Self);
}

macro_rules! tiled {
    ($t:ident $($isa:ident $(if $fast:ident)? $features:literal $V:ident $H:ident $O:ty, $M:literal $N:literal);*; $plain:literal) => {
        impl Tiled for $t {
            unsafe fn tiled(pairs: &MatrixPairs<$t>) {
                /// # Safety
                /// As [`Tiled::tiled`].
                #[inline(never)]
                unsafe fn with_whole_panel(pairs: &MatrixPairs<$t>) {
                    let mut panel = [const { MaybeUninit::<$t>::uninit() }; PANEL];
                    // SAFETY: as the function's `# Safety` section requires.
                    unsafe { $t::in_panel(pairs, panel.as_mut_ptr().cast()) }
                }
                let (_, k, n) = pairs.sizes;
                if k.min(DEPTH) * n.min(ACROSS) > FEW {
                    // SAFETY: as the function's `# Safety` section requires.
                    return unsafe { with_whole_panel(pairs) };
                }
                let mut panel = [const { MaybeUninit::<$t>::uninit() }; FEW];
                // SAFETY: as above. There are so few elements in a panel.
                unsafe { $t::in_panel(pairs, panel.as_mut_ptr().cast()) }
            }

            unsafe fn in_panel(pairs: &MatrixPairs<$t>, panel: *mut $t) {
                let (_, k, n) = pairs.sizes;
                let size = k.min(DEPTH) * (STRIPS / size_of::<$t>() + n);
                let size = if packs(size_of::<$t>(), pairs.sizes, (pairs.a.1, pairs.a.2)) { size } else { 0 };
                Error::ensure_memory(size * size_of::<$t>());
                let mut room = Vec::<$t>::with_capacity(size);
                let room = (room.capacity() > 0).then(|| room.as_mut_ptr());
                match simd::isa() {
                    $(
                        #[cfg(target_arch = "x86_64")]
                        simd::Isa::$isa $(if pairs.$fast && n >= <std::arch::x86_64::$V as Vector>::LEN)? => {
                            /// # Safety
                            /// As [`products`], on a processor with these instructions.
                            #[target_feature(enable = $features)]
                            unsafe fn vector(pairs: &MatrixPairs<$t>, panel: *mut $t, room: Option<*mut $t>) {
                                #[allow(unused_imports)]
                                use std::arch::x86_64::*;
                                // SAFETY: as the function's `# Safety` section requires.
                                unsafe { products::<$V, $H, $O, $M, $N>(pairs, panel, room) }
                            }
                            // SAFETY: as the function's `# Safety` section requires, and `isa` detected the
                            // instructions.
                            unsafe { vector(pairs, panel, room) }
                        }
                    )*
                    // SAFETY: as the function's `# Safety` section requires.
                    _ => unsafe { products::<[$t; $plain], [$t; 1], [$t; 1], DOWN, 2>(pairs, panel, room) },
                }
            }
        }
    };
}
// A product with fewer columns than a register of 512 bits is not wide.
tiled!(f32
    Avx512 if wide "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw" __m512 __m512 __m512, 8 2;
    Avx512 "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw" __m256 __m128 [f32; 1], 4 4;
    Avx2 "avx2,fma" __m256 __m128 [f32; 1], 4 2; 4);
tiled!(f64
    Avx512 if wide "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw" __m512d __m512d __m512d, 8 2;
    Avx512 "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw" __m256d __m128d [f64; 1], 4 4;
    Avx2 "avx2,fma" __m256d __m128d [f64; 1], 4 2; 2);

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};

    use super::*;
    use crate::memory::sized;

    macro_rules! equal {
        ($t:ident $narrow:ident $wide:ident) => {{
            #[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")]
            unsafe fn both(pairs: [&MatrixPairs<$t>; 2], panel: *mut $t) {
                // SAFETY: as the caller of `products` has to see to, which is the test below.
                unsafe {
                    products::<$narrow, [$t; 1], [$t; 1], 4, 4>(pairs[0], panel, None);
                    products::<$wide, $narrow, [$t; 1], 8, 2>(pairs[1], panel, None);
                }
            }
            let mut panel = [0.0; PANEL];
            let all = [(1, 3, 17), (5, 7, 8), (8, 300, 40), (9, 20, 33), (12, 257, 64), (23, 520, 31)];
            for &(m, k, n) in sized(&all[..], &[(1, 3, 17), (5, 7, 8), (9, 20, 33)]) {
                let numbers = |n: usize| (0..n).map(|i| ((i * 37 % 101) as $t).sin()).collect::<Vec<_>>();
                let (x, y) = (numbers(m * k), numbers(k * n));
                let mut out = [vec![0.0; m * n], vec![0.0; m * n]];
                let pairs = out.each_mut().map(|out| MatrixPairs {
                    count: 1,
                    sizes: (m, k, n),
                    a: (x.as_ptr(), k as isize, 1),
                    b: (y.as_ptr(), n as isize, 1),
                    steps: (0, 0),
                    out: out.as_mut_ptr(),
                    run: n,
                    wide: false,
                });
                // SAFETY: the processor has the instructions, the matrices have these sizes, and the panel has room.
                unsafe { both(pairs.each_ref(), panel.as_mut_ptr()) };
                let bits = out.map(|out| out.into_iter().map($t::to_bits).collect::<Vec<_>>());
                assert_eq!(bits[0], bits[1], "{m} x {k} x {n}");
            }
        }};
    }

    #[test]
    fn wide_registers_give_the_same_bits() {
        if simd::isa() == simd::Isa::Avx512 {
            equal!(f32 __m256 __m512);
            equal!(f64 __m256d __m512d);
        }
    }
}
