//! float16 and bfloat16, which are stored in two bytes and computed with in float32: the conversions.

use std::slice::{from_raw_parts, from_raw_parts_mut};

use half::slice::HalfFloatSliceExt;

use crate::array::Array;
use crate::dtype::{DTYPES, DType, f16, rounded_to_odd};
use crate::error::Result;
use crate::kernel::pointwise::unary::{self, UnaryLoop, UnaryLoops};

/// The elements of a half dtype in float32; any other array as it is.
pub fn widened(x: &Array) -> Result<Array> {
    let row: UnaryLoop = match x.dtype() {
        // SAFETY: `apply` passes an array of float16 and an output of float32, whose memory is initialised.
        DType::F16 => |n, x, out, _| unsafe {
            from_raw_parts(x.cast::<f16>(), n).convert_to_f32_slice(from_raw_parts_mut(out.cast(), n));
        },
        // SAFETY: `apply` passes an array of bfloat16.
        DType::BF16 => |n, x, out, _| unsafe { unary::map_vectorized(bits, n, x, out) },
        _ => return Ok(x.clone()),
    };
    converted(row, x, DType::F32)
}

/// Elements of float32 or float64 rounded to the nearest ones of a half dtype, ties to even.
pub fn narrowed(x: &Array, to: DType) -> Result<Array> {
    let row: UnaryLoop = match (x.dtype(), to) {
        // SAFETY: `apply` passes an array of float32 and an output of float16, whose memory is initialised.
        (DType::F32, DType::F16) => |n, x, out, _| unsafe {
            from_raw_parts_mut(out.cast::<f16>(), n).convert_from_f32_slice(from_raw_parts(x.cast(), n));
        },
        // SAFETY: `apply` passes an array of float32.
        (DType::F32, _) => |n, x, out, _| unsafe { unary::map_vectorized(nearest, n, x, out) },
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
fn nearest(x: f32) -> u16 {
    let bits = x.to_bits();
    let up = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if x.is_nan() { (bits >> 16) as u16 | 0x40 } else { up as u16 }
}

fn converted(row: UnaryLoop, x: &Array, to: DType) -> Result<Array> {
    let mut loops = [None; DTYPES];
    loops[x.dtype() as usize] = Some(row);
    unary::apply("cast", &UnaryLoops { loops, out: Some(to), arithmetic: None, weight: 1 }, x)
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
