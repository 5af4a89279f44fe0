//! Products of float32 matrices whose factors are rounded to bfloat16, on processors that multiply pairs of these
//! numbers and add both products to a float32 in one instruction. The tiles are those of other products: a pair along
//! the inner axis takes the place of a number. Denormal numbers count as zero.

use std::ops::Range;

use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernel::par::{self, SendPtr};
use crate::kernel::pointwise::half::nearest;
use crate::kernel::simd;
use crate::shape::Dims;

/// A product gains if each number of a factor is in at least about this many products for each time that it is rounded, and
/// the inner axis has `INNER` elements.
const USES: usize = 24;
const INNER: usize = 16;
/// The fewest columns: those of a register.
const COLUMNS: usize = 8;

/// The factors of a product as matrices of pairs, for [`tiled`]; leading axes are already broadcast. None where they are
/// rounded in more time than is gained.
///
/// # Errors
/// Memory ends.
pub(super) fn factors(op: &'static str, x: &Array, y: &Array, dims: &[usize]) -> Result<Option<[Array; 2]>> {
    let [.., m, n] = *dims else { unreachable!("matrices") };
    let k = x.dims()[x.rank() - 1];
    if x.dtype() != DType::F32
        || !is_fast()
        || n < COLUMNS
        || k < INNER
        || m.saturating_mul(n) < USES.saturating_mul(m.saturating_add(n))
    {
        return Ok(None);
    }
    Ok(Some([pairs(op, x, 1)?, pairs(op, y, 0)?]))
}

/// Matrices of the pairs of neighbours along the first or the second axis of matrices, each rounded to bfloat16: the bits of
/// a pair are those of a float32. After the last number of an odd length comes a zero. What is repeated by strides of
/// zero stays so.
///
/// # Errors
/// Memory ends.
pub fn pairs(op: &'static str, x: &Array, axis: usize) -> Result<Array> {
    let lead = x.rank() - 2;
    let repeated = |(&d, &s): (&usize, &isize)| if s == 0 { 1 } else { d };
    let own: Dims = x.dims()[..lead].iter().zip(&x.strides()[..lead]).map(repeated).collect();
    let once: Dims = own.iter().chain(&x.dims()[lead..]).copied().collect();
    let once = x.restride(&once, &x.strides(), 0);
    let [down, across] = [once.strides()[lead], once.strides()[lead + 1]];
    // The axis of adjacent elements comes last.
    let is_turned = down == 1 && across != 1;
    let straight = if is_turned { swapped(&once) } else { once }.contiguous()?;
    let along = (axis == 1) != is_turned;
    let (rows, columns) = (straight.dims()[lead], straight.dims()[lead + 1]);
    let count = own.iter().product::<usize>();
    let (down, across) = if along { (rows, columns.div_ceil(2)) } else { (rows.div_ceil(2), columns) };
    let dims: Dims = own.iter().copied().chain([down, across]).collect();
    let made = Array::build_raw(op, DType::F32, &dims, |out| {
        let out = SendPtr(out);
        let some = |lines: Range<usize>| {
            for line in lines {
                let (matrix, row) = (line / down, line % down);
                let row = if along { row } else { 2 * row };
                let second = if along || row + 1 == rows { 0 } else { columns };
                // SAFETY: these are lines of the matrix and of the result, and each line is written once.
                unsafe {
                    let from = straight.ptr().cast::<f32>().add((matrix * rows + row) * columns);
                    let to = out.get().cast::<u32>().add(line * across);
                    if along { neighbours(columns, from, to) } else { between(columns, from, second, to) }
                }
            }
        };
        let lines = count * down;
        if par::is_worthwhile(lines * across * size_of::<f32>()) {
            par::pieces(lines, lines.div_ceil(16).max(1), &some);
        } else {
            some(0..lines);
        }
    })?;
    let made = if is_turned { swapped(&made) } else { made };
    let full: Dims = x.dims()[..lead].iter().chain(&made.dims()[lead..]).copied().collect();
    Ok(made.expand(&full, 0))
}

/// The matrices transposed.
fn swapped(x: &Array) -> Array {
    let mut order: Dims = (0..x.rank()).collect();
    order.swap(x.rank() - 2, x.rank() - 1);
    x.permute(&order)
}

/// Pairs of neighbours in a line.
///
/// # Safety
/// `x` points to `n` elements, and `out` to room for `n / 2` pairs, rounded up.
unsafe fn neighbours(n: usize, x: *const f32, out: *mut u32) {
    simd::autovectorize_floats_for::<u32, ()>(
        #[inline(always)]
        move || {
            // SAFETY: as the function's `# Safety` section requires.
            unsafe {
                let halves = out.cast::<u16>();
                for i in 0..n {
                    halves.add(i).write(nearest(*x.add(i)));
                }
                if n % 2 == 1 {
                    halves.add(n).write(0);
                }
            }
        },
    );
}

/// Pairs of the elements at the same place of two lines, `second` elements apart. Where this is 0, there is no second line.
///
/// # Safety
/// The lines have `n` elements, and `out` points to room for `n` pairs.
unsafe fn between(n: usize, x: *const f32, second: usize, out: *mut u32) {
    let mask = if second == 0 { 0 } else { u32::MAX };
    simd::autovectorize_floats_for::<f32, ()>(
        #[inline(always)]
        move || {
            for i in 0..n {
                // SAFETY: as the function's `# Safety` section requires.
                unsafe {
                    let (low, high) = (nearest(*x.add(i)), nearest(*x.add(second + i)));
                    out.add(i).write(u32::from(low) | (u32::from(high) << 16 & mask));
                }
            }
        },
    );
}

#[cfg(target_arch = "x86_64")]
mod kernel {
    use std::arch::is_x86_feature_detected as has;
    use std::mem::MaybeUninit;

    use crate::kernel::matmul::tile::{MatrixPairs, PANEL, products};
    use crate::kernel::simd::vector::BfloatPairs;
    use crate::kernel::simd::{Isa, isa};

    /// Whether the processor has the instructions.
    pub fn is_there() -> bool {
        isa() == Isa::Avx512 && has!("avx512bf16")
    }

    /// The products of matrices of pairs, as the sums of float32.
    ///
    /// # Safety
    /// As [`products`], for which the bits of an element are those of a pair, on a processor with the instructions.
    #[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
    pub unsafe fn tiled(pairs: &MatrixPairs<f32>) {
        let mut panel = [const { MaybeUninit::<f32>::uninit() }; PANEL];
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            products::<BfloatPairs, BfloatPairs, BfloatPairs, 4, 4>(pairs, panel.as_mut_ptr().cast(), None);
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod kernel {
    use crate::kernel::matmul::tile::MatrixPairs;

    pub fn is_there() -> bool {
        false
    }

    /// # Safety
    /// No processor has the instructions.
    pub unsafe fn tiled(_: &MatrixPairs<f32>) {
        unreachable!("no processor has the instructions")
    }
}

pub(super) use kernel::tiled;

/// Whether the processor has instructions that make such products faster than those of float32.
#[inline]
pub fn is_fast() -> bool {
    kernel::is_there()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::bf16;
    use crate::kernel::matmul::{matmul, rounded_matmul};
    use crate::memory::sized;

    fn numbers(dims: &[usize]) -> Array {
        let all: Vec<f32> =
            (0..dims.iter().product()).map(|i: usize| ((i * 37 % 101) as f32).sin()).collect();
        Array::from_slice(&all, dims).unwrap()
    }

    /// The bits of both numbers of each pair, in order.
    fn bits(x: &Array) -> Vec<[u16; 2]> {
        let pair = |x: f32| [x.to_bits() as u16, (x.to_bits() >> 16) as u16];
        x.contiguous().unwrap().to_vec::<f32>().into_iter().map(pair).collect()
    }

    #[test]
    fn pairs_are_neighbours_along_an_axis() {
        for dims in [[1, 1], [2, 3], [3, 2], [5, 7]] {
            let x = numbers(&dims);
            let at = |i: usize, j: usize| {
                let inside = i < dims[0] && j < dims[1];
                if inside { bf16::from_f32(x.to_vec::<f32>()[i * dims[1] + j]).to_bits() } else { 0 }
            };
            let down = |i: usize, j: usize| [at(2 * i, j), at(2 * i + 1, j)];
            let across = |i: usize, j: usize| [at(i, 2 * j), at(i, 2 * j + 1)];
            let all = |rows: usize, columns: usize, of: &dyn Fn(usize, usize) -> [u16; 2]| -> Vec<[u16; 2]> {
                (0..rows * columns).map(|i| of(i / columns, i % columns)).collect()
            };
            let [rows, columns] = dims;
            for x in [x.clone(), swapped(&swapped(&x).contiguous().unwrap())] {
                assert_eq!(bits(&pairs("t", &x, 0).unwrap()), all(rows.div_ceil(2), columns, &down));
                assert_eq!(bits(&pairs("t", &x, 1).unwrap()), all(rows, columns.div_ceil(2), &across));
            }
        }
    }

    #[test]
    fn products_are_those_of_rounded_factors() {
        let all = [(64, 64, 64), (49, 17, 65), (33, 1025, 90)];
        for &(m, k, n) in sized(&all[..], &[(17, 5, 33)]) {
            let (x, y) = (numbers(&[m, k]), numbers(&[k, n]));
            let rounded = |x: &Array| {
                let all: Vec<f32> = x.to_vec::<f32>().iter().map(|&v| bf16::from_f32(v).to_f32()).collect();
                Array::from_slice(&all, x.dims()).unwrap()
            };
            let product = rounded_matmul("t", &x, &y, 0).unwrap().to_vec::<f32>();
            let factors = if is_fast() { [rounded(&x), rounded(&y)] } else { [x, y] };
            let wanted = matmul("t", &factors[0], &factors[1], 0).unwrap().to_vec::<f32>();
            for (found, wanted) in product.into_iter().zip(wanted) {
                assert!((found - wanted).abs() < 1e-6 * k as f32, "{found} {wanted}");
            }
        }
    }
}
