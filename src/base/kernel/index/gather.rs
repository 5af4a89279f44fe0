//! Elements gathered into a new array: at positions, or on one side of a diagonal.

use std::ops::Range;

use super::indexed::{IndexPlan, IndexedAxes, flat, flat_values, out_bytes, unzip};
use crate::array::{Array, by_size};
use crate::error::Result;
use crate::kernel::copy::copy;
use crate::kernel::par::{self, SendPtr};
use crate::shape::Dims;

/// The elements at positions.
pub fn gather(
    op: &'static str,
    x: &Array,
    rows: IndexedAxes,
    positions: &Array,
    batch_ndim: usize,
) -> Result<Array> {
    let hidden = |a| if x.dims()[a] == 1 { positions.dims()[a] } else { x.dims()[a] };
    let hidden: Dims = (0..batch_ndim).map(hidden).collect();
    let x = x.expand(&hidden.iter().chain(&x.dims()[batch_ndim..]).copied().collect::<Dims>(), batch_ndim);
    let own =
        rows.values(&x.dims()[batch_ndim..], &positions.dims()[batch_ndim..]).expect("its axes are indexed");
    let dims: Dims = hidden.iter().copied().chain(own).collect();
    let (list, lead) = (flat(positions, batch_ndim)?, batch_ndim + rows.outer);
    // Every element is written below.
    let mut out = Array::build_raw(op, x.dtype(), &dims, |_| ())?;
    if out.len() == 0 {
        return Ok(out);
    }
    let shown = flat_values(&out, lead, positions.rank() - batch_ndim)?;
    let plan = IndexPlan::new(&x.layout(), rows, batch_ndim, &list, &shown);
    drop(shown);
    let (size, to) = (x.dtype().size(), SendPtr(out.own()?));
    let whole = plan.places();
    let work = |places: Range<usize>, part: Range<usize>| {
        let to = &to;
        plan.lists(places, |ox, ov, list| {
            let ov = ov + part.start as isize * plan.value_step;
            // SAFETY: `IndexPlan` checked the positions, its strides lead only to elements, and each list and
            // position has its own values.
            unsafe {
                let from = x.ptr().offset(ox * size as isize);
                let to = to.0.offset(ov * size as isize);
                moved(size, &plan, &list[part.clone()], from, to);
            }
        });
    };
    if out_bytes(&plan, size) < par::MIN_BYTES {
        work(0..whole, 0..plan.n);
    } else if whole > 1 {
        par::pieces(whole, par::PIECE.div_ceil(plan.n * plan.block()), &|r| work(r, 0..plan.n));
    } else {
        par::pieces(plan.n, par::PIECE.div_ceil(plan.block()), &|r| work(0..1, r));
    }
    Ok(out)
}

/// Copies the block of each position from the array at `x` to the values at `v`.
///
/// # Safety
/// The offsets lead only to elements of `size` bytes, and no other thread touches those that are written.
unsafe fn moved(size: usize, plan: &IndexPlan<'_>, list: &[i64], x: *const u8, v: *mut u8) {
    let (step, value_step) = (plan.step, plan.value_step);
    // SAFETY: as the function's `# Safety` section requires.
    by_size!(size, T => unsafe {
        let (x, v) = (x.cast::<T>(), v.cast::<T>());
        match plan.inner[..] {
            [] => {
                for (k, &i) in list.iter().enumerate() {
                    *v.offset(k as isize * value_step) = *x.offset(i as isize * step);
                }
            }
            [(n, 1, 1)] => {
                for (k, &i) in list.iter().enumerate() {
                    std::ptr::copy_nonoverlapping(x.offset(i as isize * step), v.offset(k as isize * value_step), n);
                }
            }
            ref axes => {
                let (dims, xs, vs) = unzip(axes);
                for (k, &i) in list.iter().enumerate() {
                    let (from, to) = (x.offset(i as isize * step), v.offset(k as isize * value_step));
                    copy(size, &dims, (from.cast(), &xs), (to.cast(), &vs));
                }
            }
        }
    });
}

/// Matrices with the elements on one side of the k-th diagonal (inclusive), and zeros on the other side.
pub fn triangle(x: &Array, upper: bool, k: i64) -> Result<Array> {
    let x = x.contiguous()?;
    let mut out = Array::zeros("triangle", x.dtype(), x.dims())?;
    let (rows, columns) = (x.dims()[x.rank() - 2], x.dims()[x.rank() - 1]);
    let (size, bytes) = (x.dtype().size(), x.len() * x.dtype().size());
    if bytes == 0 {
        return Ok(out);
    }
    // SAFETY: both arrays are contiguous and have `bytes` bytes, and `out` is unshared.
    let (from, to) = unsafe {
        (std::slice::from_raw_parts(x.ptr(), bytes), std::slice::from_raw_parts_mut(out.own()?, bytes))
    };
    let row = columns * size;
    for (i, (to, from)) in to.chunks_exact_mut(row).zip(from.chunks_exact(row)).enumerate() {
        // The first column of the upper side, or the first one after the lower side.
        let edge = ((i % rows) as i64).saturating_add(k).saturating_add(i64::from(!upper));
        let edge = edge.clamp(0, columns as i64) as usize * size;
        let kept = if upper { edge..row } else { 0..edge };
        to[kept.clone()].copy_from_slice(&from[kept]);
    }
    Ok(out)
}
