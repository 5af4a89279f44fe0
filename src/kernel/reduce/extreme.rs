//! The largest and smallest elements along axes: their values, where they are, and the running ones.

use crate::array::Array;
use crate::dtype::{DType, Element, dispatch};
use crate::error::Result;
use crate::kernel::num::Plain;
use crate::kernel::output::{self, AxisBlocks};
use crate::kernel::pointwise::binary::{self, binary_loops};
use crate::kernel::reduce::pairwise::{self, Group, ROWS, joined};
use crate::kernel::reduce::{self, ReduceLoop, ReduceLoops, reduce_loops};
use crate::shape::Dims;

const ANY_MAX: &ReduceLoops = reduce_loops!(ord T::from_f64(f64::NEG_INFINITY); a, x => Num::max(a, x));
const ANY_MIN: &ReduceLoops = reduce_loops!(ord T::from_f64(f64::INFINITY); a, x => Num::min(a, x));
pub const MAX: &ReduceLoops = &quick(
    ANY_MAX,
    // SAFETY: as of `reduce_loops`.
    |s, x, out| unsafe { reduce::fold_slab_grouped(f32::NEG_INFINITY, |v| v, larger, Greatest, s, x, out) },
    // SAFETY: as above.
    |s, x, out| unsafe { reduce::fold_slab_grouped(f64::NEG_INFINITY, |v| v, larger, Greatest, s, x, out) },
);
pub const MIN: &ReduceLoops = &quick(
    ANY_MIN,
    // SAFETY: as above.
    |s, x, out| unsafe { reduce::fold_slab_grouped(f32::INFINITY, |v| v, smaller, Least, s, x, out) },
    // SAFETY: as above.
    |s, x, out| unsafe { reduce::fold_slab_grouped(f64::INFINITY, |v| v, smaller, Least, s, x, out) },
);

/// The table with other loops for floats.
const fn quick(table: &ReduceLoops, narrow: ReduceLoop, wide: ReduceLoop) -> ReduceLoops {
    let mut loops = table.loops;
    loops[DType::F32 as usize] = Some(narrow);
    loops[DType::F64 as usize] = Some(wide);
    ReduceLoops { loops, joins: loops, out: None }
}

/// The largest element, NaN if there is one; -inf of none.
#[inline(always)]
pub fn largest<T: Plain>(x: &[T]) -> T {
    pairwise::grouped(T::INFINITY.neg(), &|v| v, &larger, &Greatest, x)
}

/// Elements joined by a comparison, which is one instruction but may lose a NaN: these are looked for by pairs.
macro_rules! compared {
    ($($Name:ident $than:tt)*) => { $(
        struct $Name;
        impl<T: Plain> Group<T, T> for $Name {
            #[inline(always)]
            fn of(&self, at: impl Fn(usize) -> T) -> T {
                let lost = (0..ROWS / 2).fold(false, |lost, i| lost | (at(2 * i).nan() | at(2 * i + 1).nan()));
                let z = joined(&|a, b| if a $than b { a } else { b }, at);
                if lost { T::lit(f64::NAN) } else { z }
            }
        }
    )* };
}
compared!(Greatest > Least <);

/// [`Num::max`] that never gives its first operand as it is: where that is an accumulator, the compiler would write the
/// others past it, under a mask, which takes much longer than to write all.
#[inline(always)]
fn larger<T: Plain>(a: T, b: T) -> T {
    let z = if a > b { a } else { b };
    if a.nan() { T::lit(f64::NAN) } else { z }
}

/// [`Num::min`] likewise.
#[inline(always)]
fn smaller<T: Plain>(a: T, b: T) -> T {
    let z = if a < b { a } else { b };
    if a.nan() { T::lit(f64::NAN) } else { z }
}

/// Whether two elements are the same value; NaN is the same as NaN.
#[inline(always)]
#[allow(clippy::eq_op)]
fn same<T: Element>(a: T, b: T) -> bool {
    a == b || (a != a && b != b)
}

/// Where the largest (or smallest) element along an axis first occurs, and its value; the axis stays with size 1.
pub fn arg_extreme(op: &'static str, x: &Array, axis: usize, largest: bool) -> Result<(Array, Array)> {
    let mut dims = Dims::from_slice(x.dims());
    dims[axis] = 1;
    let x = x.contiguous()?;
    let values = reduce::apply(op, if largest { MAX } else { MIN }, &x, &[axis])?.reshape(&dims)?;
    let AxisBlocks { n, inner } = AxisBlocks::of(x.dims(), axis);
    let indices = dispatch!(x.dtype(), all T => {
        let (x, best) = (x.as_slice::<T>().expect("contiguous"), values.as_slice::<T>().expect("contiguous"));
        output::build_from::<i64>(op, &dims, inner, n * inner, |first, out| {
            if inner == 0 { return; }
            for (b, out) in (first..).zip(out.chunks_exact_mut(inner)) {
                let (x, best) = (&x[b * n * inner..][..n * inner], &best[b * inner..][..inner]);
                if let ([out], [best]) = (&mut *out, best) {
                    *out = x.iter().position(|&v| same(v, *best)).unwrap_or(0) as i64;
                    continue;
                }
                out.fill(0);
                // From the last row to the first, so that the first occurrence stays.
                for (k, row) in x.chunks_exact(inner).enumerate().rev() {
                    for ((out, &v), &best) in out.iter_mut().zip(row).zip(best) {
                        if same(v, best) { *out = k as i64; }
                    }
                }
            }
        })
    })?;
    Ok((values, indices))
}

/// The largest (or smallest) element so far along an axis and where it is: the latest of equal ones. A NaN stays.
#[allow(clippy::eq_op)]
pub fn cumulative(op: &'static str, x: &Array, axis: usize, largest: bool) -> Result<(Array, Array)> {
    let x = x.contiguous()?;
    let dims = x.dims();
    let blocks = AxisBlocks::of(dims, axis);
    let (inner, len) = (blocks.inner, blocks.len());
    dispatch!(x.dtype(), all T => {
        let x = x.as_slice::<T>().expect("contiguous");
        output::build_pair::<T, i64>(op, (dims, len), (dims, len), len, |first, values, indices| {
            if len == 0 { return; }
            let outs = values.chunks_exact_mut(len).zip(indices.chunks_exact_mut(len));
            for (b, (values, indices)) in (first..).zip(outs) {
                let x = &x[b * len..][..len];
                values[..inner].copy_from_slice(&x[..inner]);
                indices[..inner].fill(0);
                for i in inner..len {
                    let (new, old) = (x[i], values[i - inner]);
                    let beats = if largest { new >= old } else { new <= old };
                    let takes = new != new || (old == old && beats);
                    values[i] = if takes { new } else { old };
                    indices[i] = if takes { (i / inner) as i64 } else { indices[i - inner] };
                }
            }
        })
    })
}

/// How the weight 1 is shared by the elements that equal the result of a selection: 0 for all others, and equal parts
/// for them. `z` has the axes with size 1. The weights are of the array's dtype.
pub fn tie_weights(op: &'static str, x: &Array, z: &Array, axes: &[usize], lanes: usize) -> Result<Array> {
    const SAME: &binary::BinaryLoops =
        binary_loops!(plain x, y => if x == y || (x.nan() && y.nan()) { T::ONE } else { T::ZERO });
    const DIV: &binary::BinaryLoops = binary_loops!(plain x, y => x.div(y));
    const SUM: &ReduceLoops = reduce_loops!(num T::ZERO; a, x => a.add(x));
    let hits = binary::apply(op, SAME, x, z, lanes)?;
    let count = reduce::apply(op, SUM, &hits, axes)?;
    let mut dims = Dims::from_slice(hits.dims());
    axes.iter().for_each(|&a| dims[a] = 1);
    binary::apply(op, DIV, &hits, &count.reshape(&dims)?, 0)
}
