//! Elementwise functions of three arrays that broadcast against each other.

use std::ops::Range;

use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernel::broadcast::{BroadcastIter, common_order, inverse, repeated, stepwise};
use crate::kernel::par::{self, SendPtr};
use crate::kernel::pointwise::formula::Formula;
use crate::kernel::pointwise::unary::Scalars;
use crate::kernel::simd;

/// Applies a formula to `n` elements of each array. A stride is 1, or 0 for an element that is used `n` times.
pub type TernaryLoop =
    unsafe fn(n: usize, from: [*const u8; 3], steps: [usize; 3], out: *mut u8, p: &Scalars);

/// The loops of one formula for floats.
pub struct TernaryLoops {
    pub f32: TernaryLoop,
    pub f64: TernaryLoop,
    pub formula: Formula,
}

/// `out[i] = row(a[i], x[i], y[i])`.
///
/// # Safety
/// Each array has `n` elements of its type (one if the stride is 0), and `out` has room for `n` of `U`.
#[inline(always)]
pub unsafe fn zip3<A: Copy, B: Copy, U, F: Fn(A, B, B) -> U + Copy>(
    row: F,
    n: usize,
    [a, x, y]: [*const u8; 3],
    [sa, sx, sy]: [usize; 3],
    out: *mut u8,
) {
    let (a, x, y, out) = (a.cast::<A>(), x.cast::<B>(), y.cast::<B>(), out.cast::<U>());
    simd::autovectorize_floats_for::<F, ()>(
        // `move`, because the compiler must assume that the loop may write what it reads through a reference.
        #[inline(always)]
        move || {
            // Written as loops, because a formula inside an iterator closure would not be inlined and compiled for
            // the caller's vectors.
            macro_rules! each {
                ($sa:expr, $sx:expr, $sy:expr) => {
                    for i in 0..n {
                        // SAFETY: as the function's `# Safety` section requires.
                        unsafe { out.add(i).write(row(*a.add(i * $sa), *x.add(i * $sx), *y.add(i * $sy))) };
                    }
                };
            }
            // Constant strides let the loops vectorise.
            match (sa, sx, sy) {
                (1, 1, 1) => each!(1, 1, 1),
                (1, 1, 0) => each!(1, 1, 0),
                (1, 0, 1) => each!(1, 0, 1),
                (1, 0, 0) => each!(1, 0, 0),
                _ => each!(sa, sx, sy),
            }
        },
    );
}

/// The loops of a formula `x, y, z; p => expression` with arithmetic only, which reads [`Scalars`] as `p[i]`.
#[macro_export]
macro_rules! ternary_loops {
    ($x:ident, $y:ident, $z:ident; $p:ident => $e:expr) => {{
        use $crate::kernel::{num::Plain, pointwise::{formula, ternary, unary}};
        #[inline(always)]
        #[allow(unused_variables)] // Not every row reads numbers.
        fn row<T: Plain>($x: T, $y: T, $z: T, $p: [T; 3]) -> T {
            $e
        }
        /// # Safety
        /// As [`ternary::zip3`].
        unsafe fn all<T: Plain>(n: usize, from: [*const u8; 3], steps: [usize; 3], out: *mut u8, p: &unary::Scalars) {
            let p = unary::scalars::<T>(p);
            // SAFETY: as the function's `# Safety` section requires.
            unsafe { ternary::zip3(#[inline(always)] move |x: T, y: T, z: T| row(x, y, z, p), n, from, steps, out) }
        }
        struct Own;
        &ternary::TernaryLoops { f32: all::<f32>, f64: all::<f64>, formula: formula::Formula::of::<Own>(None) }
    }};
}
pub use ternary_loops;

/// The loops of a formula `x, y, z; p => expression` that is computed in f64, which reads [`Scalars`] as `p[i]`.
#[macro_export]
macro_rules! special_ternary_loops {
    ($x:ident, $y:ident, $z:ident; $p:ident => $e:expr) => {{
        use $crate::kernel::{
            num::Plain,
            pointwise::{formula, ternary, unary},
        };
        // One copy of the formula for both dtypes.
        #[inline(never)]
        fn wide($x: f64, $y: f64, $z: f64, $p: &unary::Scalars) -> f64 {
            $e
        }
        /// # Safety
        /// As [`ternary::zip3`].
        unsafe fn all<T: Plain>(
            n: usize,
            from: [*const u8; 3],
            steps: [usize; 3],
            out: *mut u8,
            p: &unary::Scalars,
        ) {
            for i in 0..n {
                // SAFETY: as the function's `# Safety` section requires.
                unsafe {
                    let at = |k: usize| (*from[k].cast::<T>().add(i * steps[k])).to_f64();
                    out.cast::<T>().add(i).write(T::from_f64(wide(at(0), at(1), at(2), p)));
                }
            }
        }
        struct Own;
        &ternary::TernaryLoops {
            f32: all::<f32>,
            f64: all::<f64>,
            formula: formula::Formula::of::<Own>(None),
        }
    }};
}
pub use special_ternary_loops;

/// Applies a formula to all triples of elements of three float arrays of the same dtype. The first `batch_ndim` axes
/// are matched from the left, the others broadcast from the right.
pub fn apply(
    op: &'static str,
    table: &TernaryLoops,
    ins: [&Array; 3],
    batch_ndim: usize,
    p: &Scalars,
) -> Result<Array> {
    let dtype = ins[0].dtype();
    assert!(
        dtype.is_float() && ins.iter().all(|x| x.dtype() == dtype),
        "{op}: the dtypes were promoted before"
    );
    let row = if dtype == DType::F32 { table.f32 } else { table.f64 };
    // SAFETY: the arrays have the dtype that the loop was looked up for, and `apply_raw` passes as many elements as
    // it says.
    apply_raw(op, dtype, ins, batch_ndim, &|n, from, steps, out| unsafe { row(n, from, steps, out, p) })
}

/// A new array whose runs `row` writes: it gets the length of a run, the addresses and strides (0 or 1) of three
/// arrays, and the address of the results.
pub fn apply_raw(
    op: &'static str,
    dtype: DType,
    ins: [&Array; 3],
    batch_ndim: usize,
    row: &(dyn Fn(usize, [*const u8; 3], [usize; 3], *mut u8) + Sync),
) -> Result<Array> {
    let rank = ins.iter().map(|a| a.rank()).max().unwrap_or(0);
    let mut ins = ins.map(|a| a.with_rank(rank, batch_ndim));
    // Arrays that are dense in another order of the axes keep that order.
    if let Some(order) = common_order(&ins) {
        let [a, x, y] = ins.map(|a| a.permute(&order));
        return Ok(apply_raw(op, dtype, [&a, &x, &y], 0, row)?.permute(&inverse(&order)));
    }
    if let Some([a, x, y]) = repeated(&ins)? {
        let whole = ins.iter().max_by_key(|a| a.len()).expect("three");
        return apply_raw(op, dtype, [&a, &x, &y], 0, row)?.reshape(whole.dims());
    }
    for a in &mut ins {
        *a = stepwise(a)?;
    }
    let walk = BroadcastIter::new(op, &ins)?;
    let size = dtype.size();
    Array::build_raw(op, dtype, &walk.dims, |o| {
        let o = SendPtr(o);
        let work = |range: Range<usize>| {
            walk.runs(range, |at, offsets, n| {
                let from = std::array::from_fn(|i| {
                    // SAFETY: the iteration stays inside each array.
                    unsafe { ins[i].ptr().offset(offsets[i] * ins[i].dtype().size() as isize) }
                });
                // SAFETY: the output has the shape of the iteration, and pieces are disjoint.
                row(n, from, walk.steps, unsafe { o.get().add(at * size) });
            });
        };
        if !par::is_worthwhile(walk.len() * size) {
            work(0..walk.len());
        } else {
            par::pieces(walk.len(), par::piece_size(walk.len()), &work);
        }
    })
}
