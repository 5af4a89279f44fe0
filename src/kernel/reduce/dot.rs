//! Inner products along the last axis of two arrays of the same shape.

use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::{Result, bail};
use crate::kernel::num::Field;
use crate::kernel::reduce::pairwise::{SumOf, pairwise};
use crate::kernel::{output, simd};
use crate::shape::Dims;

/// Products in one part of a sum, each added to one of `LANES` accumulators.
const PART: usize = 1024;
const LANES: usize = 32;
/// Elements in one part of a row that is split for threads.
const LONG: usize = 1 << 15;

/// The sum of the products of two slices: parts are summed in order, and their sums pairwise.
#[inline(always)]
fn sum<T: Field>(x: &[T], y: &[T]) -> T {
    let mut sums = [T::ZERO; LONG / PART];
    for ((x, y), sum) in x.chunks(PART).zip(y.chunks(PART)).zip(&mut sums) {
        let mut lanes = [T::ZERO; LANES];
        let ((xs, x), (ys, y)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
        for (x, y) in xs.iter().zip(ys) {
            for l in 0..LANES {
                lanes[l] = lanes[l].add(x[l].mul(y[l]));
            }
        }
        // Copied only here, so that the accumulators stay in registers.
        let mut all = lanes;
        all.iter_mut().zip(x.iter().zip(y)).for_each(|(sum, (&x, &y))| *sum = sum.add(x.mul(y)));
        *sum = pairwise(SumOf(|v: T| v), &all);
    }
    pairwise(SumOf(|v: T| v), &sums[..x.len().div_ceil(PART)])
}

/// The inner products along the last axis, which is removed, of two arrays of the same shape and dtype.
pub fn last_axis(op: &'static str, x: &Array, y: &Array) -> Result<Array> {
    assert_eq!((x.dims(), x.dtype()), (y.dims(), y.dtype()), "{op}: another shape or dtype");
    let (x, y) = (x.contiguous()?, y.contiguous()?);
    let (&n, lead) = x.dims().split_last().expect("rows have an axis");
    let parts = n.div_ceil(LONG);
    dispatch!(x.dtype(), field T => {
        let (all_x, all_y) = (x.as_slice::<T>().expect("contiguous"), y.as_slice::<T>().expect("contiguous"));
        let dims: Dims = lead.iter().copied().chain([parts]).collect();
        let cut = output::build_from::<T>(op, &dims, 1, n.min(LONG), |first, out| simd::autovectorize(
            #[inline(always)]
            || {
                for (part, out) in (first..).zip(out) {
                    let start = part % parts * LONG;
                    let at = part / parts * n + start..part / parts * n + n.min(start + LONG);
                    *out = sum(&all_x[at.clone()], &all_y[at]);
                }
            },
        ))?;
        if parts == 1 {
            return cut.reshape(lead);
        }
        let all = cut.as_slice::<T>().expect("contiguous");
        Array::build::<T>(op, lead, |out| {
            for (row, out) in out.iter_mut().enumerate() {
                *out = pairwise(SumOf(|v: T| v), &all[row * parts..(row + 1) * parts]);
            }
        })
    }, else bail!(Dtype, op, "not defined for {}", x.dtype()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_length_are_summed() {
        for n in [0, 1, 7, 1023, 1025, 40_000, 100_001] {
            for lead in [&[][..], &[3], &[2, 2]] {
                let dims: Dims = lead.iter().copied().chain([n]).collect();
                let data: Vec<f64> =
                    (0..dims.iter().product()).map(|i: usize| (i % 13) as f64 - 4.0).collect();
                let x = Array::from_slice(&data, &dims).unwrap();
                let found = last_axis("t", &x, &x).unwrap();
                let row = |r: usize| data[r * n..(r + 1) * n].iter().map(|v| v * v).sum::<f64>();
                assert_eq!(found.dims(), lead);
                assert_eq!(found.to_vec::<f64>(), (0..found.len()).map(row).collect::<Vec<_>>());
            }
        }
    }
}
