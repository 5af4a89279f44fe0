//! Three arrays in, one out, element by element, broadcast against each other.

use std::ops::Range;

use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernel::broadcast::{BroadcastIter, common_order, inverse, repeated, stepwise};
use crate::kernel::par::{self, SendPtr};
use crate::kernel::pointwise::unary::Scalars;
use crate::kernel::simd;

/// Applies a row to `n` elements of each array; a step is 1, or 0 where one element serves all.
pub type TernaryLoop =
    unsafe fn(n: usize, from: [*const u8; 3], steps: [usize; 3], out: *mut u8, p: &Scalars);

/// The loops of one row of floats.
pub struct TernaryLoops {
    pub f32: TernaryLoop,
    pub f64: TernaryLoop,
}

/// # Safety
/// The pointers are those of `n` elements (one where the step is 0), `out` has room for `n`.
#[inline(always)]
pub unsafe fn zip3<A: Copy, B: Copy, U, F: Fn(A, B, B) -> U + Copy>(
    row: F,
    n: usize,
    [a, x, y]: [*const u8; 3],
    [sa, sx, sy]: [usize; 3],
    out: *mut u8,
) {
    let (a, x, y, out) = (a.cast::<A>(), x.cast::<B>(), y.cast::<B>(), out.cast::<U>());
    simd::same_for::<F, ()>(
        // What it reads is its own: through a reference it might be what the loop writes.
        #[inline(always)]
        move || {
            // Loops, not closures: a row is compiled for the vectors of its caller only where it stands in it.
            macro_rules! each {
                ($sa:expr, $sx:expr, $sy:expr) => {
                    for i in 0..n {
                        // SAFETY: the caller's promise.
                        unsafe { out.add(i).write(row(*a.add(i * $sa), *x.add(i * $sx), *y.add(i * $sy))) };
                    }
                };
            }
            // Steps known in the loop let it vectorise.
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

/// The loops of a row `x, y, z; p => expression` of arithmetic alone, which reads [`Scalars`] as `p[i]`.
macro_rules! ternary_loops {
    ($x:ident, $y:ident, $z:ident; $p:ident => $e:expr) => {{
        use $crate::kernel::{num::Plain, pointwise::{ternary, unary}};
        #[inline(always)]
        #[allow(unused_variables)] // Not every row reads numbers.
        fn row<T: Plain>($x: T, $y: T, $z: T, $p: [T; 3]) -> T {
            $e
        }
        /// # Safety
        /// That of [`ternary::zip3`].
        unsafe fn all<T: Plain>(n: usize, from: [*const u8; 3], steps: [usize; 3], out: *mut u8, p: &unary::Scalars) {
            let p = p.map(T::from_f64);
            // SAFETY: the caller's promise.
            unsafe { ternary::zip3(#[inline(always)] move |x: T, y: T, z: T| row(x, y, z, p), n, from, steps, out) }
        }
        &ternary::TernaryLoops { f32: all::<f32>, f64: all::<f64> }
    }};
}
pub(crate) use ternary_loops;

/// A row applied to every three elements of arrays of one dtype of floats. `lanes` leading axes are matched from the
/// left, the others broadcast from the right.
pub fn apply(
    op: &'static str,
    table: &TernaryLoops,
    ins: [&Array; 3],
    lanes: usize,
    p: &Scalars,
) -> Result<Array> {
    let dtype = ins[0].dtype();
    assert!(
        dtype.is_float() && ins.iter().all(|x| x.dtype() == dtype),
        "{op}: the dtypes were promoted before"
    );
    let row = if dtype == DType::F32 { table.f32 } else { table.f64 };
    // SAFETY: what a loop asks for is what it is given.
    apply_raw(op, dtype, ins, lanes, &|n, from, steps, out| unsafe { row(n, from, steps, out, p) })
}

/// An array of a dtype, written run by run: `row` gets so many elements of three arrays, with steps of 0 or 1, and where
/// the results belong.
pub fn apply_raw(
    op: &'static str,
    dtype: DType,
    ins: [&Array; 3],
    lanes: usize,
    row: &(dyn Fn(usize, [*const u8; 3], [usize; 3], *mut u8) + Sync),
) -> Result<Array> {
    let rank = ins.iter().map(|a| a.rank()).max().unwrap_or(0);
    let mut ins = ins.map(|a| a.with_rank(rank, lanes));
    // Elements that lie densely in another order of the axes stay in that order.
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
                    // SAFETY: the walk stays inside each array.
                    unsafe { ins[i].ptr().offset(offsets[i] * ins[i].dtype().size() as isize) }
                });
                // SAFETY: each piece writes its own part of the output.
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
