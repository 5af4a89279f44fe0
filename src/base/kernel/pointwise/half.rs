//! float16 and bfloat16, which are stored in two bytes and computed with in float32: the conversions.

use std::ops::Range;
use std::slice::{from_raw_parts, from_raw_parts_mut};

use half::slice::HalfFloatSliceExt;

use crate::array::Array;
use crate::dtype::{DType, f16, rounded_to_odd};
use crate::error::Result;
use crate::kernel::par::{self, SendPtr};
use crate::kernel::pointwise::row::{Address, Instruction, Loop, Operand, Row};
use crate::kernel::pointwise::unary::{self, UnaryLoop};

/// The elements of a half dtype in float32; any other array as it is.
pub fn widened(x: &Array) -> Result<Array> {
    let row: UnaryLoop = match x.dtype() {
        DType::F16 => WIDE16,
        DType::BF16 => WIDE_BRAIN,
        _ => return Ok(x.clone()),
    };
    converted(row, x, DType::F32)
}

// SAFETY: the loop gets `n` elements of float16, and room for `n` of float32.
const WIDE16: UnaryLoop = |n, x, out, _| unsafe {
    #[cfg(target_arch = "x86_64")]
    if f16c::is_there() {
        return f16c::widen(n, x.cast(), out.cast());
    }
    // A slice has initialised memory.
    out.cast::<f32>().write_bytes(0, n);
    from_raw_parts(x.cast::<f16>(), n).convert_to_f32_slice(from_raw_parts_mut(out.cast(), n));
};
// SAFETY: as above, of bfloat16.
const WIDE_BRAIN: UnaryLoop = |n, x, out, _| unsafe { unary::map_vectorized(bits, n, x, out) };
// SAFETY: the loop gets `n` elements of float32, and room for `n` of float16.
const NARROW16: UnaryLoop = |n, x, out, _| unsafe {
    #[cfg(target_arch = "x86_64")]
    if f16c::is_there() {
        return f16c::narrow(n, x.cast(), out.cast());
    }
    out.cast::<f16>().write_bytes(0, n);
    from_raw_parts_mut(out.cast::<f16>(), n).convert_from_f32_slice(from_raw_parts(x.cast(), n));
};
// SAFETY: as above, of bfloat16.
const NARROW_BRAIN: UnaryLoop = |n, x, out, _| unsafe { unary::map_vectorized(nearest, n, x, out) };

/// The loop that converts between a half dtype and float32.
pub fn conversion(from: DType, to: DType) -> Option<UnaryLoop> {
    match (from, to) {
        (DType::F16, DType::F32) => Some(WIDE16),
        (DType::BF16, DType::F32) => Some(WIDE_BRAIN),
        (DType::F32, DType::F16) => Some(NARROW16),
        (DType::F32, DType::BF16) => Some(NARROW_BRAIN),
        _ => None,
    }
}

/// Conversions by the instructions that processors have for them.
#[cfg(target_arch = "x86_64")]
mod f16c {
    use std::arch::is_x86_feature_detected as has;
    use std::arch::x86_64::*;

    use crate::kernel::simd::{Isa, isa};

    /// Elements of a register.
    const LEN: usize = 8;

    #[inline]
    pub fn is_there() -> bool {
        isa() >= Isa::Avx2 && has!("f16c")
    }

    /// Converts elements with `of`, which reads and writes a register of them. The last ones go through room of their own.
    ///
    /// # Safety
    /// `x` points to `n` elements, and `out` to room for `n`. `of` reads and writes `LEN` elements.
    #[inline(always)]
    unsafe fn each<A: Copy + Default, B: Copy + Default>(
        n: usize,
        x: *const A,
        out: *mut B,
        of: impl Fn(*const A, *mut B),
    ) {
        let whole = n / LEN * LEN;
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            (0..whole).step_by(LEN).for_each(|i| of(x.add(i), out.add(i)));
            let (mut from, mut to) = ([A::default(); LEN], [B::default(); LEN]);
            from.as_mut_ptr().copy_from_nonoverlapping(x.add(whole), n - whole);
            of(from.as_ptr(), to.as_mut_ptr());
            out.add(whole).copy_from_nonoverlapping(to.as_ptr(), n - whole);
        }
    }

    /// # Safety
    /// `x` points to `n` elements, `out` to room for `n`, and the processor has the instructions.
    #[target_feature(enable = "avx,f16c")]
    pub unsafe fn widen(n: usize, x: *const u16, out: *mut f32) {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            each(n, x, out, |x, out| _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128(x.cast()))));
        }
    }

    /// # Safety
    /// As [`widen`].
    #[target_feature(enable = "avx,f16c")]
    pub unsafe fn narrow(n: usize, x: *const f32, out: *mut u16) {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            each(n, x, out, |x, out| {
                let nearest = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(x));
                _mm_storeu_si128(out.cast(), nearest);
            });
        }
    }
}

/// Elements of float32 or float64 rounded to the nearest ones of a half dtype, ties to even.
pub fn narrowed(x: &Array, to: DType) -> Result<Array> {
    let row: UnaryLoop = match (x.dtype(), to) {
        (DType::F32, DType::F16) => NARROW16,
        (DType::F32, _) => NARROW_BRAIN,
        // SAFETY: `apply` passes an array of float64.
        (_, DType::F16) => |n, x, out, _| unsafe {
            unary::map(|x: f64| f16::from_f32(rounded_to_odd(x)), n, x, out);
        },
        // SAFETY: as above.
        _ => |n, x, out, _| unsafe { unary::map_vectorized(|x: f64| nearest(rounded_to_odd(x)), n, x, out) },
    };
    converted(row, x, to)
}

/// A bfloat16 as the bits of a float32.
#[inline(always)]
fn bits(x: u16) -> u32 {
    u32::from(x) << 16
}

/// The nearest bfloat16. A NaN stays one.
#[inline(always)]
pub fn nearest(x: f32) -> u16 {
    let bits = x.to_bits();
    let up = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if x.is_nan() { (bits >> 16) as u16 | 0x40 } else { up as u16 }
}

fn converted(row: UnaryLoop, x: &Array, to: DType) -> Result<Array> {
    // SAFETY: the loop is the one that the callers have for the dtypes.
    unsafe { unary::apply_loop("cast", (row, &[0.0; 3], 1), to, x) }
}

/// The elements of a tile: those of float32 are a page.
const TILE: usize = 1024;

/// A row of float32 applied to elements of half dtypes, or of float32, a tile at a time: a tile is widened, the row applied to
/// it, and its results rounded to a dtype, if there is one. None where the operands are not adjacent elements of one
/// shape: these are widened as a whole.
pub fn by_tiles(op: &'static str, row: &Row, ins: &[&Array], to: Option<DType>) -> Option<Result<Array>> {
    let dims = ins[0].dims();
    let fits = |x: &&Array| {
        x.dims() == dims && x.is_contiguous() && (x.dtype().is_half() || x.dtype() == DType::F32)
    };
    let is_of_floats = row.of == DType::F32 && row.takes(ins.iter().map(|_| DType::F32));
    let n = ins[0].len();
    if n == 0 || !is_of_floats || !ins.iter().all(fits) || matches!(row.apply, Loop::Pair(_)) {
        return None;
    }
    let rounded = to.filter(|_| row.out == DType::F32);
    let out = rounded.unwrap_or(row.out);
    let from = std::array::from_fn(|address| Operand { address: address as Address, step: 1 });
    let instruction = Instruction { row: *row, from, to: 3, also: 3 };
    Some(Array::build_raw(op, out, dims, |o| {
        let o = SendPtr(o);
        let some = |range: Range<usize>| {
            // SAFETY: the range is one of elements that all operands and the result have.
            unsafe { tiles(&instruction, ins, range, (o.get(), out), rounded) }
        };
        if par::is_worthwhile(n * size_of::<f32>()) {
            par::pieces(n, par::piece_size(n), &some);
        } else {
            some(0..n);
        }
    }))
}

/// # Safety
/// The operands are contiguous and have the elements of the range, of half dtypes or float32, for which the instruction is; the
/// output, of this dtype, has room for all of its results.
unsafe fn tiles(
    instruction: &Instruction,
    ins: &[&Array],
    range: Range<usize>,
    (out, dtype): (*mut u8, DType),
    rounded: Option<DType>,
) {
    let mut room = [[0f32; TILE]; 4];
    let room: *mut u8 = room.as_mut_ptr().cast();
    let none = [0.0; 3];
    for start in range.clone().step_by(TILE) {
        let n = TILE.min(range.end - start);
        // SAFETY: as the function's `# Safety` section requires. The tiles have room for `n` elements each.
        unsafe {
            let tile = |k: usize| room.add(k * size_of::<[f32; TILE]>());
            let out = out.add(start * dtype.size());
            let mut at = [tile(0), tile(1), tile(2), if rounded.is_some() { tile(3) } else { out }];
            for (k, x) in ins.iter().enumerate() {
                let from = x.ptr().add(start * x.dtype().size());
                match x.dtype() {
                    DType::F16 => WIDE16(n, from, at[k], &none),
                    DType::BF16 => WIDE_BRAIN(n, from, at[k], &none),
                    _ => at[k] = from.cast_mut(),
                }
            }
            instruction.run(n, |address| at[address as usize]);
            match rounded {
                Some(DType::F16) => NARROW16(n, at[3], out, &none),
                Some(_) => NARROW_BRAIN(n, at[3], out, &none),
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::{Element, bf16};
    use crate::kernel::pointwise::cast::cast;
    use crate::memory::sized;

    /// All numbers of a half dtype in order, without infinities. Miri gets the last ones.
    fn all<T: Element + PartialOrd + Into<f64>>(of: impl Fn(u16) -> T) -> Vec<T> {
        let mut all: Vec<T> =
            (sized(0, 0x7b80)..=sized(u16::MAX, 0x7f7f)).map(of).filter(|&x| x.into().is_finite()).collect();
        all.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        all.drain(..sized(0, all.len() - 60));
        all
    }

    /// Each number of a half dtype comes back, and numbers between two of them go to the nearer one.
    fn check<T: Element + PartialOrd + Into<f64>>(of: impl Fn(u16) -> T + Copy) {
        let all = all(of);
        let half = Array::from_slice(&all, &[all.len()]).unwrap();
        for wide in [DType::F32, DType::F64] {
            let back = cast(&cast(&half, wide).unwrap(), T::DTYPE).unwrap();
            assert_eq!(back.as_slice::<T>().unwrap(), all);
        }
        for pair in all.windows(2).filter(|p| p[0] != p[1]) {
            let (low, high): (f64, f64) = (pair[0].into(), pair[1].into());
            let middle = low + (high - low) / 2.0;
            for (x, nearest) in [(middle.next_down(), pair[0]), (middle.next_up(), pair[1])] {
                assert_eq!(T::from_f64(x), nearest, "{x:e}");
                let x = cast(&Array::scalar(x), T::DTYPE).unwrap();
                assert_eq!(x.as_slice::<T>().unwrap(), [nearest], "{middle:e}");
            }
            let tie = T::from_f64(middle);
            assert!(tie == pair[0] || tie == pair[1]);
            let single = cast(&Array::scalar(middle as f32), T::DTYPE).unwrap();
            if f64::from(middle as f32) == middle {
                assert_eq!(single.as_slice::<T>().unwrap(), [tie]);
            }
        }
        let last: f64 = all[all.len() - 1].into();
        let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300, -1e300, last];
        let special = Array::from_slice(&special, &[6]).unwrap();
        for from in [DType::F32, DType::F64] {
            let found = cast(&cast(&special, from).unwrap(), T::DTYPE).unwrap().to_vec::<T>();
            let found: Vec<f64> = found.into_iter().map(Into::into).collect();
            assert_eq!(found[..2], [f64::INFINITY, f64::NEG_INFINITY]);
            assert!(found[2].is_nan());
            assert_eq!(found[3..], [f64::INFINITY, f64::NEG_INFINITY, last]);
        }
    }

    #[test]
    fn conversions_round_once_and_to_the_nearest() {
        check(f16::from_bits);
        check(bf16::from_bits);
    }
}
