//! Values written or added to the elements at positions.

use std::ops::Range;

use super::indexed::{Axis, IndexPlan, IndexedAxes, flat, flat_values, out_bytes, unzip};
use crate::array::{Array, Layout, by_size};
use crate::dtype::{Element, dispatch};
use crate::error::{Result, bail};
use crate::kernel::copy::copy;
use crate::kernel::num::Field;
use crate::kernel::one_dtype;
use crate::kernel::par::{self, SendPtr};
use crate::kernel::simd;
use crate::shape::Dims;

/// Writes `values` to the elements of `x` at positions within a layout of its C order. Writes in place if the array
/// is unshared. The last value of a repeated position stays. `x` has the full batch axes.
pub fn scatter(
    x: &mut Array,
    to: &Layout,
    rows: IndexedAxes,
    positions: &Array,
    values: &Array,
    batch_ndim: usize,
) -> Result<()> {
    assert!(to.fits(x.len()) && x.dtype() == values.dtype(), "put: {to:?} leaves {:?}", x.dims());
    let list = flat(positions, batch_ndim)?;
    let values = flat_values(values, batch_ndim + rows.outer, positions.rank() - batch_ndim)?;
    if values.len() == 0 {
        return Ok(());
    }
    let plan = IndexPlan::new(to, rows, batch_ndim, &list, &values);
    let size = x.dtype().size();
    // SAFETY: the layout fits (asserted above), so it begins inside the array.
    let address = unsafe { x.own()?.offset(to.offset * size as isize) };
    plan.lists(0..plan.places(), |ox, ov, list| {
        // SAFETY: as in `gather`, and the memory that is written is unshared.
        unsafe {
            let to = address.offset(ox * size as isize);
            let from = values.ptr().offset(ov * size as isize);
            by_size!(size, T => {
                let (to, from) = (to.cast::<T>(), from.cast::<T>());
                if plan.inner.is_empty() {
                    for (k, &i) in list.iter().enumerate() {
                        *to.offset(i as isize * plan.step) = *from.offset(k as isize * plan.value_step);
                    }
                    return;
                }
                let (dims, xs, vs) = unzip(&plan.inner);
                for (k, &i) in list.iter().enumerate() {
                    let to = to.offset(i as isize * plan.step);
                    copy(size, &dims, (from.offset(k as isize * plan.value_step).cast(), &vs), (to.cast(), &xs));
                }
            });
        }
    });
    Ok(())
}

/// A copy of `onto`, or zeros of shape `dims` after the batch axes, with `values` added at positions. They are added
/// in the order of the positions, so the result does not depend on threads.
pub fn scatter_add(
    op: &'static str,
    (dims, onto): (&[usize], Option<&Array>),
    rows: IndexedAxes,
    positions: &Array,
    values: &Array,
    batch_ndim: usize,
) -> Result<Array> {
    let hidden = |a| {
        let sizes = [positions, values].into_iter().chain(onto).map(|x| x.dims()[a]);
        sizes.fold(1, |size, d| if size == 1 { d } else { size })
    };
    let hidden: Dims = (0..batch_ndim).map(hidden).collect();
    let full = |dims: &[usize]| -> Dims { hidden.iter().chain(dims).copied().collect() };
    let mut out = match onto {
        Some(x) => x.expand(&full(dims), batch_ndim).contiguous()?,
        None => Array::zeros(op, values.dtype(), &full(dims))?,
    };
    let values = values.expand(&full(&values.dims()[batch_ndim..]), batch_ndim);
    let values = flat_values(&values, batch_ndim + rows.outer, positions.rank() - batch_ndim)?;
    let list = flat(positions, batch_ndim)?;
    if values.len() == 0 {
        return Ok(out);
    }
    let plan = IndexPlan::new(&out.layout(), rows, batch_ndim, &list, &values);
    dispatch!(one_dtype(op, [&out, &values])?, field T => sum::<T>(&mut out, &plan, &values)?, else bail!(Dtype, op, "truth values are not added up"));
    Ok(out)
}

/// The largest, or with `least` the smallest, of the values at each position of a vector; NaN if one of them is. The
/// element of `x` is one of them if `include_self`, and stays where there are no others.
pub fn extremes(
    op: &'static str,
    [x, positions, values]: [&Array; 3],
    least: bool,
    include_self: bool,
    batch_ndim: usize,
) -> Result<Array> {
    let all = [x, positions, values];
    let hidden = |a| all.iter().fold(1, |size, t| if size == 1 { t.dims()[a] } else { size });
    let hidden: Dims = (0..batch_ndim).map(hidden).collect();
    let full = |t: &Array| {
        let dims: Dims = hidden.iter().chain(&t.dims()[batch_ndim..]).copied().collect();
        t.expand(&dims, batch_ndim).contiguous()
    };
    let (x, positions, values) = (full(x)?, full(positions)?, full(values)?);
    let places = positions.as_slice::<i64>().expect("contiguous");
    let (size, count) = (x.dims()[batch_ndim], positions.dims()[batch_ndim]);
    let mut inside = true;
    let out = dispatch!(x.dtype(), ordered T => {
        let values = values.as_slice::<T>().expect("contiguous");
        Array::build::<T>(op, x.dims(), |out| {
            out.copy_from_slice(x.as_slice::<T>().expect("contiguous"));
            for b in 0..hidden.iter().product() {
                let out = &mut out[b * size..][..size];
                let pairs = || places[b * count..][..count].iter().zip(&values[b * count..][..count]);
                if !include_self {
                    // Any value of a position will do to begin with.
                    for (&i, &v) in pairs() {
                        match out.get_mut(i as usize) {
                            Some(o) => *o = v,
                            None => inside = false,
                        }
                    }
                }
                for (&i, &v) in pairs() {
                    let Some(o) = out.get_mut(i as usize) else {
                        inside = false;
                        continue;
                    };
                    let is_nan = v.partial_cmp(&v).is_none();
                    *o = if is_nan || (if least { v < *o } else { v > *o }) { v } else { *o };
                }
            }
        })
    }, else bail!(Dtype, op, "complex numbers have no order"))?;
    if !inside {
        bail!(Index, op, "an index is out of bounds for {size} elements");
    }
    Ok(out)
}

fn sum<T: Field + Element>(out: &mut Array, plan: &IndexPlan<'_>, values: &Array) -> Result<()> {
    let (to, values) = (SendPtr(out.own_of::<T>()?.cast()), SendPtr(values.first::<T>().cast_mut().cast()));
    // The columns of a block, and the outer indices, are independent of each other.
    let work = |places: Range<usize>, columns: Range<usize>| {
        let (to, values) = (&to, &values);
        plan.lists(places, |ox, ov, list| {
            // SAFETY: as in `gather`, `own_of` and `first` checked the type, and this call alone writes the places and columns
            // that it gets.
            unsafe {
                let (to, from) = (to.0.cast::<T>().offset(ox), values.0.cast_const().cast::<T>().offset(ov));
                // Local copies, because the compiler must assume that the loop may write what it reads through a
                // reference.
                let (step, value_step, columns) = (plan.step, plan.value_step, columns.clone());
                let pairs = list
                    .iter()
                    .enumerate()
                    .map(move |(k, &i)| (to.offset(i as isize * step), from.offset(k as isize * value_step)));
                match plan.inner[..] {
                    [] => pairs.for_each(|(to, from)| *to = (*to).add(*from)),
                    [(_, 1, 1)] => simd::autovectorize(
                        #[inline(always)]
                        move || {
                            for (to, from) in pairs {
                                for c in columns.clone() {
                                    let to = to.add(c);
                                    *to = (*to).add(*from.add(c));
                                }
                            }
                        },
                    ),
                    [(_, x, v)] => pairs.for_each(|(to, from)| {
                        for c in columns.clone() {
                            let to = to.offset(c as isize * x);
                            *to = (*to).add(*from.offset(c as isize * v));
                        }
                    }),
                    ref axes => pairs.for_each(|(to, from)| added(axes, to, from)),
                }
            }
        });
    };
    let whole = plan.places();
    let columns = if let [(n, ..)] = plan.inner[..] { n } else { 1 };
    if out_bytes(plan, size_of::<T>()) < par::MIN_BYTES {
        work(0..whole, 0..columns);
    } else if whole > 1 {
        par::pieces(whole, par::PIECE.div_ceil(plan.n * plan.block()), &|r| work(r, 0..columns));
    } else {
        // Wide pieces, because each of their rows starts at a distant address.
        let piece = par::PIECE.div_ceil(plan.n).max(columns / 8).next_multiple_of(64);
        par::pieces(columns, piece, &|r| work(0..1, r));
    }
    Ok(())
}

/// # Safety
/// The strides lead only to elements.
unsafe fn added<T: Field>(axes: &[Axis], to: *mut T, from: *const T) {
    // SAFETY: as the function's `# Safety` section requires for every index.
    unsafe {
        match axes {
            [] => *to = (*to).add(*from),
            [(n, x, v), axes @ ..] => {
                for i in 0..*n as isize {
                    added(axes, to.offset(i * x), from.offset(i * v));
                }
            }
        }
    }
}
