//! Microkernels of convolutions: tiles of sums that stay in registers.

use std::ops::Range;

use super::direct_loops::{self, BoxStrides, Products, Sums, Term};
use super::pixels::{self, ChannelProducts, ChannelSums, PixelDepth, PixelTiles};
#[cfg(target_arch = "x86_64")]
use crate::kernel::matmul;
use crate::kernel::num::Plain;
use crate::kernel::simd;
use crate::kernel::simd::vector::Vector;

/// Columns of a block of [`Microkernels::dots`].
pub const ACROSS: usize = 6;

/// Rows of the largest block of [`Microkernels::dots`].
pub const DOWN: usize = 4;

/// What is added to a tile at once: some planes, `apart` elements apart, and the offsets of the taps in each. Beyond
/// the first plane the tile continues from the sums in the output.
pub struct TileDepth<'a> {
    pub planes: Range<usize>,
    pub apart: usize,
    pub offsets: &'a [usize],
}

/// Sums of shifted planes: `out[i · run + q] = Σ a[(c, k), i] · b[c · apart + offsets[k] + q]` for the rows `i` and
/// the columns `q` of a tile.
type Tile<T> = unsafe fn(a: *const T, b: *const T, depth: &TileDepth<'_>, out: *mut T, run: usize);

/// Inner products of rows: `out[i][j] = Σ a[rows[i] + q] · b[columns[j] + q]` over the first `n` places `q` that the
/// mask, if there is one, keeps.
type Dots<T> = unsafe fn(
    a: *const T,
    rows: &[usize; DOWN],
    b: *const T,
    columns: &[usize; ACROSS],
    mask: *const T,
    n: usize,
    out: &mut [[T; ACROSS]; DOWN],
);

/// The microkernels for one type and one instruction set.
pub struct Microkernels<T: 'static> {
    /// Columns of a tile.
    pub width: usize,
    /// SIMD lanes of `dots`. The number of places is rounded up to a multiple of it.
    pub lanes: usize,
    /// Rows of the large block of `dots`.
    pub down: usize,
    /// Tiles of 1 row, 2 rows, and so on.
    tiles: &'static [Tile<T>],
    /// Tiles of pixels by their number of columns, the widest first.
    pub pixels: &'static [PixelTiles<T>],
    /// For `down` rows and for 1 row; each without and with a mask.
    dots: [[Dots<T>; 2]; 2],
    pub sums: Sums<T>,
    pub products: Products<T>,
    pub channel_sums: ChannelSums<T>,
    pub channel_products: ChannelProducts<T>,
}

impl<T> Microkernels<T> {
    /// Splits rows into as few and as even blocks as possible: the first row of each, its number of rows, and its
    /// tile function.
    pub fn blocks(&self, rows: usize) -> Vec<(usize, usize, Tile<T>)> {
        let (mut blocks, mut row) = (Vec::new(), 0);
        while row < rows {
            let left = rows - row;
            let block = left.div_ceil(left.div_ceil(self.tiles.len()));
            blocks.push((row, block, self.tiles[block - 1]));
            row += block;
        }
        blocks
    }

    /// The rows of a block for the remaining `rows` (not 0), of which the last may be unused, and its function.
    pub fn dots(&self, rows: usize, masked: bool) -> (usize, Dots<T>) {
        let [large, single] = self.dots.map(|of| of[usize::from(masked)]);
        if rows == 1 { (1, single) } else { (self.down, large) }
    }
}

/// Types with microkernels.
pub trait ConvElement: Plain {
    /// A mask element that keeps: all bits set. Zero drops.
    const KEPT: Self;
    /// The microkernels for this processor.
    fn microkernels() -> &'static Microkernels<Self>;
    /// The microkernels for this many multiplications. Many are worth tiles in wider registers.
    fn microkernels_for(multiplications: usize) -> &'static Microkernels<Self>;
    /// The microkernels that multiply pairs of bfloat16 instead of elements, if the processor has instructions for them.
    fn microkernels_of_pairs() -> Option<&'static Microkernels<Self>> {
        None
    }
}

/// # Safety
/// As [`Vector`], with the elements that [`Tile`] names.
#[inline(always)]
unsafe fn tile<V: Vector, const M: usize, const N: usize>(
    mut a: *const V::T,
    b: *const V::T,
    depth: &TileDepth<'_>,
    out: *mut V::T,
    run: usize,
) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        let mut sums = [[V::zero(); N]; M];
        if depth.planes.start > 0 {
            for (i, sums) in sums.iter_mut().enumerate() {
                for (v, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load(out.add(i * run + v * V::LEN));
                }
            }
        }
        for plane in depth.planes.clone() {
            let b = b.add(plane * depth.apart);
            for &offset in depth.offsets {
                let mut row = [V::zero(); N];
                for v in 0..N {
                    row[v] = V::load(b.add(offset + v * V::LEN));
                }
                for i in 0..M {
                    let factor = V::splat(a.add(i));
                    for v in 0..N {
                        sums[i][v] = sums[i][v].mul_acc(factor, row[v]);
                    }
                }
                a = a.add(M);
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            for (v, sum) in sums.iter().enumerate() {
                sum.store(out.add(i * run + v * V::LEN));
            }
        }
    }
}

/// # Safety
/// As [`Vector`], with the elements that [`Dots`] names, up to the next multiple of a register.
#[inline(always)]
unsafe fn dots<V: Vector, const M: usize, const MASKED: bool>(
    a: *const V::T,
    rows: &[usize; DOWN],
    b: *const V::T,
    columns: &[usize; ACROSS],
    mask: *const V::T,
    n: usize,
    out: &mut [[V::T; ACROSS]; DOWN],
) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        let mut sums = [[V::zero(); ACROSS]; M];
        for q in (0..n).step_by(V::LEN) {
            let mut left = [V::zero(); M];
            for i in 0..M {
                left[i] = V::load(a.add(rows[i] + q));
            }
            for j in 0..ACROSS {
                let right = V::load(b.add(columns[j] + q));
                let right = if MASKED { right.masked(V::load(mask.add(q))) } else { right };
                for i in 0..M {
                    sums[i][j] = sums[i][j].mul_acc(left[i], right);
                }
            }
        }
        for i in 0..M {
            for j in 0..ACROSS {
                out[i][j] = sums[i][j].sum();
            }
        }
    }
}

/// The tiles of pixels for one register type and instruction set: the registers in their widths.
macro_rules! pixel_tiles {
    ($V:ty, $T:ident, [$($p:literal)*] $(, $features:literal)?) => {
        /// # Safety
        /// As the generic function of the same name, on a processor with these instructions.
        $(#[target_feature(enable = $features)])?
        #[allow(dead_code, reason = "the list may be empty")]
        unsafe fn pixels<const M: usize, const N: usize>(a: *const $T, step: usize, b: *const $T, depth: &PixelDepth<'_>, out: *mut $T, run: usize) {
            // SAFETY: as the function's `# Safety` section requires.
            unsafe { pixels::pixels::<$V, M, N>(a, step, b, depth, out, run) }
        }
        const PIXELS: &[PixelTiles<$T>] = &[$(PixelTiles {
            columns: $p * <$V as Vector>::LEN,
            tiles: [(6, pixels::<6, $p>), (4, pixels::<4, $p>), (2, pixels::<2, $p>), (1, pixels::<1, $p>)],
        }),*];
    };
}

/// The microkernels for one register type and instruction set: the registers in a tile's width, the tile heights, the
/// registers in the widths of tiles of pixels, and the rows of `dots`.
macro_rules! micro {
    ($name:ident, $V:ty, $T:ident, $n:literal, [$($m:literal)*], [$($p:literal)*], $down:literal $(, $features:literal)?) => {
        pub mod $name {
            #[allow(unused_imports)]
            use super::*;
            /// # Safety
            /// As the generic function of the same name, on a processor with these instructions.
            $(#[target_feature(enable = $features)])?
            unsafe fn tile<const M: usize>(a: *const $T, b: *const $T, depth: &TileDepth<'_>, out: *mut $T, run: usize) {
                // SAFETY: as the function's `# Safety` section requires.
                unsafe { super::tile::<$V, M, $n>(a, b, depth, out, run) }
            }
            pixel_tiles!($V, $T, [$($p)*] $(, $features)?);
            /// # Safety
            /// As the generic function of the same name, on a processor with these instructions.
            $(#[target_feature(enable = $features)])?
            unsafe fn dots<const M: usize, const MASKED: bool>(a: *const $T, rows: &[usize; DOWN], b: *const $T, columns: &[usize; ACROSS], mask: *const $T, n: usize, out: &mut [[$T; ACROSS]; DOWN]) {
                // SAFETY: as the function's `# Safety` section requires.
                unsafe { super::dots::<$V, M, MASKED>(a, rows, b, columns, mask, n, out) }
            }
            /// # Safety
            /// As the generic function of the same name, on a processor with these instructions.
            $(#[target_feature(enable = $features)])?
            unsafe fn sums(terms: &[Term], weight: *const $T, source: *const $T, out: *mut $T, places: &BoxStrides) {
                // SAFETY: as the function's `# Safety` section requires.
                unsafe { direct_loops::sums::<$V>(terms, weight, source, out, places) }
            }
            /// # Safety
            /// As the generic function of the same name, on a processor with these instructions.
            $(#[target_feature(enable = $features)])?
            unsafe fn products(terms: &[Term], result: *const $T, source: *const $T, out: *mut $T, places: &BoxStrides) {
                // SAFETY: as the function's `# Safety` section requires.
                unsafe { direct_loops::products::<$V>(terms, result, source, out, places) }
            }
            /// # Safety
            /// As the generic function of the same name, on a processor with these instructions.
            $(#[target_feature(enable = $features)])?
            unsafe fn channel_sums(a: *const $T, b: *const $T, taps: &[usize], channels: usize, out: *mut $T, steps: (usize, usize), n: usize) {
                // SAFETY: as the function's `# Safety` section requires.
                unsafe { pixels::channel_sums::<$V>(a, b, taps, channels, out, steps, n) }
            }
            /// # Safety
            /// As the generic function of the same name, on a processor with these instructions.
            $(#[target_feature(enable = $features)])?
            unsafe fn channel_products(a: *const $T, b: *const $T, pixels: &[usize], taps: &[usize], channels: usize, out: *mut $T) {
                // SAFETY: as the function's `# Safety` section requires.
                unsafe { pixels::channel_products::<$V>(a, b, pixels, taps, channels, out) }
            }
            pub static MICROKERNELS: Microkernels<$T> = KERNELS;
            pub const KERNELS: Microkernels<$T> = Microkernels {
                width: $n * <$V as Vector>::LEN,
                lanes: <$V as Vector>::LEN,
                down: $down,
                tiles: &[$(tile::<$m>),*],
                pixels: PIXELS,
                dots: [[dots::<$down, false>, dots::<$down, true>], [dots::<1, false>, dots::<1, true>]],
                sums,
                products,
                channel_sums,
                channel_products,
            };
        }
    };
}
micro!(plain32, [f32; 4], f32, 2, [1 2 3 4], [1], 2);
micro!(plain64, [f64; 2], f64, 2, [1 2 3 4], [1], 2);

/// The microkernels of `$from` with tiles in registers twice as wide. The bits do not depend on the tiles.
#[cfg(target_arch = "x86_64")]
macro_rules! widened {
    ($name:ident, $from:ident, $V:ty, $T:ident, $n:literal, [$($m:literal)*], [$($p:literal)*], $features:literal) => {
        pub mod $name {
            use super::*;
            /// # Safety
            /// As the generic function of the same name, on a processor with these instructions.
            #[target_feature(enable = $features)]
            unsafe fn tile<const M: usize>(a: *const $T, b: *const $T, depth: &TileDepth<'_>, out: *mut $T, run: usize) {
                // SAFETY: as the function's `# Safety` section requires.
                unsafe { super::tile::<$V, M, $n>(a, b, depth, out, run) }
            }
            const _: () = assert!($n * <$V as Vector>::LEN == $from::KERNELS.width);
            pixel_tiles!($V, $T, [$($p)*], $features);
            pub static MICROKERNELS: Microkernels<$T> =
                Microkernels { tiles: &[$(tile::<$m>),*], pixels: PIXELS, ..$from::KERNELS };
        }
    };
}

/// 256-bit registers. AVX-512 has twice as many of them, so its tiles are wider.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::*;
    use crate::kernel::simd::vector::BfloatPairs;

    micro!(avx2_32, __m256, f32, 2, [1 2 3 4 5 6], [2 1], 2, "avx2,fma");
    micro!(avx2_64, __m256d, f64, 2, [1 2 3 4 5 6], [2 1], 2, "avx2,fma");
    micro!(avx512_32, __m256, f32, 6, [1 2 3 4], [4 2], 4, "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw");
    micro!(avx512_64, __m256d, f64, 6, [1 2 3 4], [4 2], 4, "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw");
    widened!(wide_32, avx512_32, __m512, f32, 3, [1 2 3 4], [4 2 1], "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw");
    widened!(pairs_32, avx512_32, BfloatPairs, f32, 6, [1 2 3 4], [], "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16");
    widened!(wide_64, avx512_64, __m512d, f64, 3, [1 2 3 4], [4 2 1], "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw");
}

macro_rules! chosen {
    ($t:ident $bits:ident $plain:ident $avx2:ident $avx512:ident $wide:ident $($pairs:ident)?) => {
        impl ConvElement for $t {
            const KEPT: $t = $t::from_bits($bits::MAX);
            fn microkernels() -> &'static Microkernels<$t> {
                match simd::isa() {
                    #[cfg(target_arch = "x86_64")]
                    simd::Isa::Avx2 => &x86::$avx2::MICROKERNELS,
                    #[cfg(target_arch = "x86_64")]
                    simd::Isa::Avx512 => &x86::$avx512::MICROKERNELS,
                    _ => &$plain::MICROKERNELS,
                }
            }
            fn microkernels_for(multiplications: usize) -> &'static Microkernels<$t> {
                #[cfg(target_arch = "x86_64")]
                if simd::is_wide_worthwhile(multiplications) {
                    return &x86::$wide::MICROKERNELS;
                }
                let _ = multiplications;
                $t::microkernels()
            }
            $(#[cfg(target_arch = "x86_64")]
            fn microkernels_of_pairs() -> Option<&'static Microkernels<$t>> {
                matmul::is_fast().then_some(&x86::$pairs::MICROKERNELS)
            })?
        }
    };
}
chosen!(f32 u32 plain32 avx2_32 avx512_32 wide_32 pairs_32);
chosen!(f64 u64 plain64 avx2_64 avx512_64 wide_64);
