//! Inner products along the last axis of two arrays of the same shape.

use std::ops::Range;

use smallvec::smallvec;

use crate::array::{Array, Layout};
use crate::dtype::{DType, dispatch};
use crate::error::{Result, bail};
use crate::kernel::num::Field;
use crate::kernel::par::{self, SendPtr};
use crate::kernel::reduce::pairwise::{SumOf, pairwise};
use crate::kernel::sequence::{Kernel, Writes};
use crate::kernel::{output, simd};
use crate::shape::{self, Dims};

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

/// The sums of products of parts of rows of `n` elements, from part `first` on.
fn sums<T: Field>((n, parts): (usize, usize), first: usize, (x, y): (&[T], &[T]), out: &mut [T]) {
    simd::autovectorize(
        #[inline(always)]
        || {
            for (part, out) in (first..).zip(out) {
                let start = part % parts * LONG;
                let at = part / parts * n + start..part / parts * n + n.min(start + LONG);
                *out = sum(&x[at.clone()], &y[at]);
            }
        },
    );
}

/// [`last_axis`] for few rows, which are contiguous.
struct InnerProducts {
    dtype: DType,
    rows: usize,
    n: usize,
}

/// The kernel of [`last_axis`] for operands of these dtypes and layouts. None if it is not for them.
pub fn kernel(ins: &[(DType, Layout)]) -> Option<Box<dyn Kernel>> {
    let [(dtype, x), (other, y)] = ins else { return None };
    let (&n, lead) = x.dims.split_last()?;
    let rows = shape::len(lead);
    let is_small = (1..=LONG).contains(&n) && rows > 0 && rows * n * dtype.size() < par::MIN_BYTES;
    let is_like = x.dims == y.dims && dtype == other && x.is_contiguous() && y.is_contiguous();
    let is_float = matches!(dtype, DType::F32 | DType::F64);
    (is_small && is_like && is_float).then(|| Box::new(InnerProducts { dtype: *dtype, rows, n }) as _)
}

// SAFETY: the slices of `run` have the lengths that `reach` and `writes` say.
unsafe impl Kernel for InnerProducts {
    fn writes(&self) -> Writes {
        smallvec![(self.dtype, self.rows)]
    }

    fn reach(&self, _: usize) -> Range<isize> {
        0..(self.rows * self.n * self.dtype.size()) as isize
    }

    unsafe fn run(&self, ins: &[SendPtr], outs: &[SendPtr], _: *mut u8) -> Result<()> {
        let out = outs[0].get();
        dispatch!(self.dtype, float T => {
            // SAFETY: the operands have these elements, and there is room for a result of each row.
            let (x, y, out) = unsafe {
                let of = |x: &SendPtr| std::slice::from_raw_parts(x.get().cast_const().cast::<T>(), self.rows * self.n);
                (of(&ins[0]), of(&ins[1]), std::slice::from_raw_parts_mut(out.cast::<T>(), self.rows))
            };
            sums((self.n, 1), 0, (x, y), out);
        }, else unreachable!("floats"));
        Ok(())
    }
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
        let cut = output::build_from::<T>(op, &dims, 1, n.min(LONG), |first, out| {
            sums((n, parts), first, (all_x, all_y), out);
        })?;
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
    use crate::memory::sized;

    #[test]
    fn rows_of_any_length_are_summed() {
        for n in sized(vec![0, 1, 7, 1023, 1025, 40_000, 100_001], vec![0, 1, 7, 1025]) {
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
