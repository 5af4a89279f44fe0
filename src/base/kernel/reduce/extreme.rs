//! Maxima and minima along axes: values, positions and cumulative ones.

use crate::array::Array;
use crate::dtype::{DType, Element, dispatch};
use crate::error::Result;
use crate::kernel::interrupt;
use crate::kernel::num::Plain;
use crate::kernel::output::{self, AxisBlocks};
use crate::kernel::pointwise::binary::{self, binary_loops};
use crate::kernel::reduce::pairwise::{Fold, ROWS, combine_group, pairwise};
use crate::kernel::reduce::{self, ReduceLoop, ReduceLoops, reduce_loops};
use crate::kernel::rows::not_defined;
use crate::shape::Dims;

const ANY_MAX: &ReduceLoops = reduce_loops!(ord T::from_f64(f64::NEG_INFINITY); a, x => Num::max(a, x));
const ANY_MIN: &ReduceLoops = reduce_loops!(ord T::from_f64(f64::INFINITY); a, x => Num::min(a, x));
pub const MAX: &ReduceLoops = &quick(
    ANY_MAX,
    // SAFETY: as in `reduce_loops`: `apply` passes arrays of the dtype that it looked up.
    |s, x, out| unsafe { reduce::fold_slab::<f32, _>(Greatest, s, x, out) },
    // SAFETY: as above.
    |s, x, out| unsafe { reduce::fold_slab::<f64, _>(Greatest, s, x, out) },
);
pub const MIN: &ReduceLoops = &quick(
    ANY_MIN,
    // SAFETY: as above.
    |s, x, out| unsafe { reduce::fold_slab::<f32, _>(Least, s, x, out) },
    // SAFETY: as above.
    |s, x, out| unsafe { reduce::fold_slab::<f64, _>(Least, s, x, out) },
);

/// The table with its own loops for floats.
const fn quick(table: &ReduceLoops, narrow: ReduceLoop, wide: ReduceLoop) -> ReduceLoops {
    let mut loops = table.loops;
    loops[DType::F32 as usize] = Some(narrow);
    loops[DType::F64 as usize] = Some(wide);
    ReduceLoops { loops, combines: loops, out: None, sums: None }
}

/// The largest element, NaN if any element is NaN, -inf for an empty slice.
#[inline(always)]
pub fn largest<T: Plain>(x: &[T]) -> T {
    pairwise(Greatest, x)
}

/// A fold that combines a group of elements by one comparison instruction, which may lose a NaN. NaNs are detected
/// separately, two elements at a time.
macro_rules! compared {
    ($($Name:ident $than:tt $combine:ident $init:expr),*) => { $(
        #[derive(Clone, Copy)]
        struct $Name;
        impl<T: Plain> Fold<T> for $Name {
            type Out = T;
            #[inline(always)]
            fn init(self) -> T {
                $init
            }
            #[inline(always)]
            fn map(self, x: T) -> T {
                x
            }
            #[inline(always)]
            fn combine(self, a: T, b: T) -> T {
                $combine(a, b)
            }
            #[inline(always)]
            fn group(self, at: impl Fn(usize) -> T) -> T {
                let mut lost = false;
                for i in 0..ROWS / 2 {
                    lost |= at(2 * i).nan() | at(2 * i + 1).nan();
                }
                let z = combine_group(
                    #[inline(always)]
                    |a, b| if a $than b { a } else { b },
                    at,
                );
                if lost { T::lit(f64::NAN) } else { z }
            }
        }
    )* };
}
compared!(Greatest > larger T::INFINITY.neg(), Least < smaller T::INFINITY);

/// [`Num::max`] in a form that never returns its first operand unchanged. For an accumulator in memory the compiler
/// would otherwise emit masked stores, which are much slower than full ones.
#[inline(always)]
pub(in crate::kernel) fn larger<T: Plain>(a: T, b: T) -> T {
    let z = if a > b { a } else { b };
    if a.nan() { T::lit(f64::NAN) } else { z }
}

/// [`Num::min`] in the same form.
#[inline(always)]
fn smaller<T: Plain>(a: T, b: T) -> T {
    let z = if a < b { a } else { b };
    if a.nan() { T::lit(f64::NAN) } else { z }
}

/// Whether two elements are equal, or both NaN.
#[inline(always)]
#[allow(clippy::eq_op)]
fn same<T: Element>(a: T, b: T) -> bool {
    a == b || (a != a && b != b)
}

/// The largest (or smallest) element along an axis, and the position of its first occurrence. The axis keeps size 1.
pub fn arg_extreme(op: &'static str, x: &Array, axis: usize, largest: bool) -> Result<(Array, Array)> {
    let mut dims = Dims::from_slice(x.dims());
    dims[axis] = 1;
    let x = x.contiguous()?;
    let values = reduce::apply(op, if largest { MAX } else { MIN }, &x, &[axis])?.reshape(&dims)?;
    let AxisBlocks { n, inner } = AxisBlocks::of(x.dims(), axis);
    let indices = dispatch!(x.dtype(), ordered T => {
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
                // Backwards, so that the first occurrence is written last.
                for part in interrupt::parts(0..n, inner) {
                    for k in part.map(|k| n - 1 - k) {
                        for ((out, &v), &best) in out.iter_mut().zip(&x[k * inner..][..inner]).zip(best) {
                            if same(v, best) { *out = k as i64; }
                        }
                    }
                }
            }
        })
    }, else not_defined(op, x.dtype()))?;
    Ok((values, indices))
}

/// The cumulative maximum (or minimum) along an axis, and its position: the last one among equals. NaN propagates.
#[allow(clippy::eq_op)]
pub fn cumulative(op: &'static str, x: &Array, axis: usize, largest: bool) -> Result<(Array, Array)> {
    let x = x.contiguous()?;
    let dims = x.dims();
    let blocks = AxisBlocks::of(dims, axis);
    let (inner, len) = (blocks.inner, blocks.len());
    dispatch!(x.dtype(), ordered T => {
        let x = x.as_slice::<T>().expect("contiguous");
        output::build_pair::<T, i64>(op, (dims, len), (dims, len), len, |first, values, indices| {
            if len == 0 { return; }
            let outs = values.chunks_exact_mut(len).zip(indices.chunks_exact_mut(len));
            for (b, (values, indices)) in (first..).zip(outs) {
                let x = &x[b * len..][..len];
                let takes = |new: T, old: T| {
                    let beats = if largest { new >= old } else { new <= old };
                    new != new || (old == old && beats)
                };
                if inner == 1 {
                    // The result so far stays in registers.
                    let (mut old, mut at) = (x[0], 0);
                    for part in interrupt::parts(0..len, 1) {
                        let outs = values[part.clone()].iter_mut().zip(&mut indices[part.clone()]);
                        for ((i, &new), (value, index)) in part.clone().zip(&x[part]).zip(outs) {
                            let takes = takes(new, old);
                            old = if takes { new } else { old };
                            at = if takes { i as i64 } else { at };
                            (*value, *index) = (old, at);
                        }
                    }
                    continue;
                }
                values[..inner].copy_from_slice(&x[..inner]);
                indices[..inner].fill(0);
                for part in interrupt::parts(inner..len, 1) {
                    for i in part {
                        let (new, old) = (x[i], values[i - inner]);
                        let takes = takes(new, old);
                        values[i] = if takes { new } else { old };
                        indices[i] = if takes { (i / inner) as i64 } else { indices[i - inner] };
                    }
                }
            }
        })
    }, else not_defined(op, x.dtype()))
}

/// The weights that share 1 equally among the elements equal to the result of a maximum or minimum; 0 for all others.
/// In `z` the reduced axes have size 1. The weights have the array's dtype.
pub fn tie_weights(
    op: &'static str,
    x: &Array,
    z: &Array,
    axes: &[usize],
    batch_ndim: usize,
) -> Result<Array> {
    const SAME: &binary::BinaryLoops =
        binary_loops!(plain x, y => if x == y || (x.nan() && y.nan()) { T::ONE } else { T::ZERO });
    const DIV: &binary::BinaryLoops = binary_loops!(plain x, y => x.div(y));
    const SUM: &ReduceLoops = reduce_loops!(num T::ZERO; a, x => a.add(x));
    let hits = binary::apply(op, SAME, x, z, batch_ndim)?;
    let count = reduce::apply(op, SUM, &hits, axes)?;
    let mut dims = Dims::from_slice(hits.dims());
    axes.iter().for_each(|&a| dims[a] = 1);
    binary::apply(op, DIV, &hits, &count.reshape(&dims)?, 0)
}
