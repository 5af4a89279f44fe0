//! Loops over pixels whose channels are last in memory: sums that stay in registers.

use crate::kernel::simd::vector::Vector;

/// The taps of a pass and the planes that they are added for, of a source with the channels last; and how far apart the columns
/// of one and the next lie in the other factor.
pub struct PixelDepth<'a> {
    pub planes: usize,
    pub offsets: &'a [usize],
    pub apart: usize,
}

/// Sums of pixels: `out[i · run + q] = Σ a[i · step + offsets[k] + c] · b[(c, k) · apart + q]` for the pixels `i` and the columns `q` of a
/// tile.
type PixelTile<T> =
    unsafe fn(a: *const T, step: usize, b: *const T, depth: &PixelDepth<'_>, out: *mut T, run: usize);

/// Tiles with this many columns, and the number of pixels of each. The largest comes first, that of one pixel last.
pub struct PixelTiles<T> {
    pub columns: usize,
    pub tiles: [(usize, PixelTile<T>); 4],
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
                b = b.add(depth.apart);
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            for (v, sum) in sums.iter().enumerate() {
                sum.store(out.add(i * run + v * V::LEN));
            }
        }
    }
}

/// Sums over taps, channel by channel, of `n` pixels: `out[i · run + c] = Σ a[i · step + offsets[k] + c] · b[k · channels + c]`.
/// The number of channels is a multiple of a register's.
pub type ChannelSums<T> = unsafe fn(
    a: *const T,
    b: *const T,
    taps: &[usize],
    channels: usize,
    out: *mut T,
    steps: (usize, usize),
    n: usize,
);

/// # Safety
/// As [`Vector`], with the elements that [`ChannelSums`] names.
#[inline(always)]
pub unsafe fn channel_sums<V: Vector>(
    a: *const V::T,
    b: *const V::T,
    taps: &[usize],
    channels: usize,
    out: *mut V::T,
    (step, run): (usize, usize),
    n: usize,
) {
    /// `M` pixels of a register of channels.
    #[inline(always)]
    unsafe fn some<V: Vector, const M: usize>(
        a: *const V::T,
        mut b: *const V::T,
        taps: &[usize],
        channels: usize,
        out: *mut V::T,
        (step, run): (usize, usize),
    ) {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            let mut sums = [V::zero(); M];
            for &tap in taps {
                let factor = V::load(b);
                for i in 0..M {
                    sums[i] = sums[i].mul_acc(factor, V::load(a.add(i * step + tap)));
                }
                b = b.add(channels);
            }
            for (i, sum) in sums.iter().enumerate() {
                sum.store(out.add(i * run));
            }
        }
    }
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        for c in (0..channels).step_by(V::LEN) {
            let (a, b, out) = (a.add(c), b.add(c), out.add(c));
            let mut i = 0;
            while i + 6 <= n {
                some::<V, 6>(a.add(i * step), b, taps, channels, out.add(i * run), (step, run));
                i += 6;
            }
            while i < n {
                some::<V, 1>(a.add(i * step), b, taps, channels, out.add(i * run), (step, run));
                i += 1;
            }
        }
    }
}

/// Sums over pixels, channel by channel, for each tap: `out[k · channels + c] += Σ a[pixels[i] + taps[k] + c] · b[i · channels +
/// c]`. The number of channels is a multiple of a register's.
pub type ChannelProducts<T> =
    unsafe fn(a: *const T, b: *const T, pixels: &[usize], taps: &[usize], channels: usize, out: *mut T);

/// # Safety
/// As [`Vector`], with the elements that [`ChannelProducts`] names.
#[inline(always)]
pub unsafe fn channel_products<V: Vector>(
    a: *const V::T,
    b: *const V::T,
    pixels: &[usize],
    taps: &[usize],
    channels: usize,
    out: *mut V::T,
) {
    /// `M` taps of a register of channels.
    #[inline(always)]
    unsafe fn some<V: Vector, const M: usize>(
        a: *const V::T,
        mut b: *const V::T,
        pixels: &[usize],
        taps: &[usize; M],
        channels: usize,
        out: *mut V::T,
    ) {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            let mut sums = [V::zero(); M];
            for &pixel in pixels {
                let factor = V::load(b);
                for k in 0..M {
                    sums[k] = sums[k].mul_acc(factor, V::load(a.add(pixel + taps[k])));
                }
                b = b.add(channels);
            }
            for (k, sum) in sums.iter().enumerate() {
                let to = out.add(k * channels);
                V::load(to).plus(*sum).store(to);
            }
        }
    }
    let (windows, rest) = taps.as_chunks::<9>();
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        for c in (0..channels).step_by(V::LEN) {
            let (a, b, mut out) = (a.add(c), b.add(c), out.add(c));
            for window in windows {
                some::<V, 9>(a, b, pixels, window, channels, out);
                out = out.add(9 * channels);
            }
            for one in rest.as_chunks::<1>().0 {
                some::<V, 1>(a, b, pixels, one, channels, out);
                out = out.add(channels);
            }
        }
    }
}
