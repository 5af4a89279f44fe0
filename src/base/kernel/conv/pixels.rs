//! Tiles of pixels whose channels are last in memory: sums that stay in registers.

use crate::kernel::simd::vector::Vector;

/// The taps of a pass and the planes that they are added for, of a source with the channels last.
pub struct PixelDepth<'a> {
    pub planes: usize,
    pub offsets: &'a [usize],
}

/// Sums of pixels: `out[i · run + q] = Σ a[i · step + offsets[k] + c] · b[(c, k), q]` for the pixels `i` and the columns `q` of a
/// tile.
type PixelTile<T> =
    unsafe fn(a: *const T, step: usize, b: *const T, depth: &PixelDepth<'_>, out: *mut T, run: usize);

/// Tiles with this many columns, and the number of pixels of each. The largest comes first, that of one pixel last.
pub struct PixelTiles<T> {
    pub columns: usize,
    pub tiles: [(usize, PixelTile<T>); 4],
}

/// # Safety
/// As [`Vector`], with the elements that [`PixelTile`] names.
#[inline(always)]
pub unsafe fn pixels<V: Vector, const M: usize, const N: usize>(
    a: *const V::T,
    step: usize,
    mut b: *const V::T,
    depth: &PixelDepth<'_>,
    out: *mut V::T,
    run: usize,
) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        let mut sums = [[V::zero(); N]; M];
        for plane in 0..depth.planes {
            for &offset in depth.offsets {
                let a = a.add(plane + offset);
                let mut row = [V::zero(); N];
                for v in 0..N {
                    row[v] = V::load(b.add(v * V::LEN));
                }
                for i in 0..M {
                    let factor = V::splat(a.add(i * step));
                    for v in 0..N {
                        sums[i][v] = sums[i][v].mul_acc(factor, row[v]);
                    }
                }
                b = b.add(N * V::LEN);
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            for (v, sum) in sums.iter().enumerate() {
                sum.store(out.add(i * run + v * V::LEN));
            }
        }
    }
}

impl<T> PixelTiles<T> {
    /// A row of `n` pixels in tiles. The source and the output have these steps between pixels.
    ///
    /// # Safety
    /// As [`PixelTile`], for all pixels.
    #[inline(always)]
    pub unsafe fn row(
        &self,
        a: *const T,
        b: *const T,
        depth: &PixelDepth<'_>,
        out: *mut T,
        (step, run): (usize, usize),
        n: usize,
    ) {
        let mut done = 0;
        for &(m, tile) in &self.tiles {
            while done + m <= n {
                // SAFETY: as the function's `# Safety` section requires.
                unsafe { tile(a.add(done * step), step, b, depth, out.add(done * run), run) };
                done += m;
            }
        }
    }
}
