//! Numerical kernels: arrays in, arrays out. They know nothing of graphs or gradients.

#![allow(
    clippy::needless_range_loop,
    reason = "loops over registers count: a build may not inline iterators into code for other instructions"
)]

use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Result, bail};

pub mod bessel_k;
pub mod broadcast;
pub mod by_shape;
pub mod channels;
pub mod conv;
pub mod copy;
pub mod distance;
pub mod fast;
pub mod fft;
pub mod index;
pub mod interrupt;
pub mod matmul;
pub mod mersenne;
pub mod norm;
pub mod num;
pub mod optimizer;
pub mod output;
pub mod par;
pub mod pointwise;
pub mod random;
pub mod recurrent;
pub mod reduce;
pub mod remainder;
pub mod rows;
pub mod sequence;
pub mod simd;
pub mod softmax;
pub mod sort;
pub mod special;
pub mod tails;
mod team;

/// The dtype of all operands of a kernel.
///
/// # Errors
/// They have several. Ops promote their operands before, but a program in a file may say anything.
#[inline]
pub fn one_dtype<const N: usize>(op: &'static str, operands: [&Array; N]) -> Result<DType> {
    let dtype = operands[0].dtype();
    match operands.iter().find(|x| x.dtype() != dtype) {
        None => Ok(dtype),
        Some(other) => two_dtypes(op, dtype, other.dtype()),
    }
}

#[cold]
fn two_dtypes(op: &'static str, one: DType, other: DType) -> Result<DType> {
    bail!(Dtype, op, "operands of {one} and of {other}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Layout;
    use conv::{ConvArray, Geometry};
    use fft::{Half, Transform};
    use index::IndexedAxes;

    fn wide(dims: &[usize]) -> Array {
        Array::full(dims, 1.0f64).contiguous().unwrap()
    }

    fn narrow(dims: &[usize]) -> Array {
        Array::full(dims, 1.0f32).contiguous().unwrap()
    }

    /// Whether an error or a panic says that the operands are not those of the kernel.
    fn is_refused(f: impl FnOnce() -> Result<Array>) -> bool {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_ok_and(|done| done.is_err())
    }

    #[test]
    fn operands_of_two_dtypes_are_refused() {
        let n = 1 << 10;
        let at = Array::from_slice(&(0..n as i64).collect::<Vec<_>>(), &[n]).unwrap();
        let rows = IndexedAxes { outer: 0, merged: 1 };
        for (onto, values) in [(narrow(&[n]), wide(&[n])), (wide(&[n]), narrow(&[n]))] {
            assert!(is_refused(|| index::scatter_add("t", (&[n], Some(&onto)), rows, &at, &values, 0)));
        }
        for (x, y) in [(wide(&[64, 64]), narrow(&[64, 64])), (narrow(&[64, 64]), wide(&[64, 64]))] {
            assert!(is_refused(|| matmul::matmul("t", &x, &y, 0)));
        }
        let geometry = Geometry {
            batch: 1,
            channels: 1,
            filters: 1,
            groups: 1,
            axes: 1,
            image: [1, 1, 64],
            window: [1, 1, 3],
            places: [1, 1, 62],
            stride: [1; 3],
            dilation: [1; 3],
            before: [0; 3],
        };
        let convolve =
            |a: &Array, b: &Array| conv::convolve("t", &geometry, ConvArray::Result, a, b, 0, false);
        assert!(convolve(&wide(&[1, 1, 64]), &wide(&[1, 1, 3])).is_ok());
        assert!(is_refused(|| convolve(&wide(&[1, 1, 64]), &narrow(&[1, 1, 3]))));
        assert!(is_refused(|| convolve(&narrow(&[1, 1, 64]), &wide(&[1, 1, 3]))));
    }

    #[test]
    fn transforms_are_of_lines_that_are_there() {
        let transform = Transform { inverse: false, scale: 1.0 };
        let half = |n| Half { axis: 0, n, weighted: false };
        assert_eq!(fft::half_of_real("t", &wide(&[8]), half(8), transform).unwrap().dims(), [5]);
        let numbers = fft::half_of_real("t", &wide(&[8]), half(8), transform).unwrap();
        for n in [0, 6, 120] {
            assert!(is_refused(|| fft::half_of_real("t", &wide(&[8]), half(n), transform)));
            assert!(is_refused(|| fft::real_of_half("t", &numbers, half(n), transform)));
        }
        // A real number has half the bytes of a complex one.
        let panics = |f: &dyn Fn() -> Result<Array>| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err()
        };
        assert!(panics(&|| fft::complex("t", &wide(&[8]), &[0], transform)));
        assert!(panics(&|| fft::real_of_half("t", &wide(&[5]), half(8), transform)));
    }

    #[test]
    fn values_have_the_shape_that_positions_ask_for() {
        let at = Array::from_slice(&[0i64, 1], &[2]).unwrap();
        let rows = IndexedAxes { outer: 0, merged: 1 };
        let add = |values: &Array| index::scatter_add("t", (&[4, 64], None), rows, &at, values, 0);
        assert!(add(&wide(&[2, 64])).is_ok());
        for dims in [&[2, 8][..], &[1, 64], &[2, 64, 2]] {
            let values = wide(dims);
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| add(&values)));
            assert!(!done.is_ok_and(|done| done.is_ok()), "{dims:?}");
        }
        let mut whole = wide(&[4, 64]);
        let put = |values: &Array, whole: &mut Array| {
            index::scatter(whole, &Layout::contiguous(&[4, 64]), rows, &at, values, 0)
        };
        assert!(put(&wide(&[2, 64]), &mut whole).is_ok());
        let short = wide(&[2, 8]);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| put(&short, &mut whole))).is_err());
    }
}
