//! Products of matrices of integers, which wrap around: their bits depend on no order.

use std::mem::MaybeUninit;

use super::definition::plain;
use super::tile::MatrixPairs;
use crate::kernel::interrupt;
use crate::kernel::num::Num;
use crate::kernel::simd;

/// The rows and columns of a block of the right factor, which stays in the first-level cache while all rows of the left
/// factor meet it.
const DEPTH: usize = 32;
const WIDTH: usize = 128;

/// Terms of an element that are added before it goes back to memory.
const TERMS: usize = 4;

/// A multiplication of 64 bits takes this many times as long as the work that [`interrupt::count`] counts, where a
/// processor has none for vectors.
const SLOW: usize = 4;

/// Products of at most this many multiplications are computed by their definition.
const FEW: usize = 1 << 12;

/// Products of integers of `size` bytes. Those without a sign have the same bits.
///
/// # Safety
/// As [`MatmulInto`](super::definition::MatmulInto), for integers of this size.
pub unsafe fn integers(size: usize, pairs: &MatrixPairs<u8>) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        match size {
            1 => blocks::<u8>(pairs),
            2 => blocks::<u16>(&pairs.cast()),
            4 => blocks::<u32>(&pairs.cast()),
            _ => blocks::<u64>(&pairs.cast()),
        }
    }
}

/// # Safety
/// As [`MatmulInto`](super::definition::MatmulInto).
unsafe fn blocks<T: Num>(pairs: &MatrixPairs<T>) {
    let MatrixPairs { count, sizes: (m, k, n), a: (a, ra, ca), b: (b, rb, cb), steps, out, run, .. } = *pairs;
    if n == 1 || m.saturating_mul(k).saturating_mul(n) <= FEW {
        // SAFETY: as the function's `# Safety` section requires.
        return unsafe { plain(pairs) };
    }
    let mut done = 0;
    let mut block = [const { MaybeUninit::<T>::uninit() }; DEPTH * WIDTH];
    for i in 0..count {
        for first in (0..n).step_by(WIDTH) {
            let width = WIDTH.min(n - first);
            for top in (0..k).step_by(DEPTH) {
                let depth = DEPTH.min(k - top);
                // SAFETY: as the function's `# Safety` section requires. The block has room for its rows, and each row of
                // the product is borrowed while nothing else touches it.
                unsafe {
                    let b = b.offset(i as isize * steps.1 + top as isize * rb + first as isize * cb);
                    for p in 0..depth {
                        for j in 0..width {
                            block[p * width + j].write(*b.offset(p as isize * rb + j as isize * cb));
                        }
                    }
                    let block = std::slice::from_raw_parts(block.as_ptr().cast::<T>(), depth * width);
                    let a = a.offset(i as isize * steps.0 + top as isize * ca);
                    for row in 0..m {
                        let a = a.offset(row as isize * ra);
                        let out =
                            std::slice::from_raw_parts_mut(out.add(i * m * n + row * run + first), width);
                        if top == 0 {
                            out.fill(T::ZERO);
                        }
                        add_row((a, ca), block, out);
                        interrupt::count(&mut done, SLOW * depth * width);
                    }
                }
            }
        }
    }
}

/// Adds the product of a row and a block to a row.
///
/// # Safety
/// There is an element at `a`, and more at distances of `ca`, for each row of the block.
#[inline(always)]
unsafe fn add_row<T: Num>((a, ca): (*const T, isize), block: &[T], out: &mut [T]) {
    let width = out.len();
    simd::autovectorize(
        #[inline(always)]
        || {
            // SAFETY: as the function's `# Safety` section requires.
            let factor = |p: usize| unsafe { *a.offset(p as isize * ca) };
            let (together, rest) = block.split_at(block.len() / (TERMS * width) * (TERMS * width));
            for (group, rows) in together.chunks_exact(TERMS * width).enumerate() {
                let p = TERMS * group;
                let factors = [factor(p), factor(p + 1), factor(p + 2), factor(p + 3)];
                let (first, last) = rows.split_at(2 * width);
                let ((r0, r1), (r2, r3)) = (first.split_at(width), last.split_at(width));
                let (r0, r1, r2, r3) = (&r0[..width], &r1[..width], &r2[..width], &r3[..width]);
                for j in 0..width {
                    let one = factors[0].mul(r0[j]).add(factors[1].mul(r1[j]));
                    let two = factors[2].mul(r2[j]).add(factors[3].mul(r3[j]));
                    out[j] = out[j].add(one.add(two));
                }
            }
            for (p, row) in rest.chunks_exact(width).enumerate() {
                let (factor, row) = (factor(together.len() / width + p), &row[..width]);
                for j in 0..width {
                    out[j] = out[j].add(factor.mul(row[j]));
                }
            }
        },
    );
}
