//! Two arrays in, one out, element by element, broadcast against each other.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::array::Array;
use crate::dtype::{DTYPES, DType};
use crate::error::{Result, bail};
use crate::kernel::broadcast::{BroadcastIter, common_order, inverse, is_stepwise, repeated, stepwise};
use crate::kernel::fast::Fast;
use crate::kernel::num::Num;
use crate::kernel::par::{self, SendPtr};
use crate::kernel::pointwise::unary::Scalars;
use crate::kernel::simd;
use crate::shape;

/// Applies a row to `n` pairs; `sx` and `sy` are 1, or 0 where one element serves all.
pub type BinaryLoop =
    unsafe fn(n: usize, x: *const u8, sx: usize, y: *const u8, sy: usize, out: *mut u8, p: &Scalars);

/// A loop, and the numbers that it reads.
type Row<'a> = (BinaryLoop, &'a Scalars);

/// The loops of one row by the inputs' dtype, and the dtype of their results (none: the inputs').
pub struct BinaryLoops {
    pub loops: [Option<BinaryLoop>; DTYPES],
    pub out: Option<DType>,
}

/// # Safety
/// `x` and `y` have `n` elements of `T` (one where the step is 0), `out` room for `n` of `U`.
#[inline(always)]
pub unsafe fn zip<T: Copy, U: Copy>(
    row: impl Fn(T, T) -> U,
    n: usize,
    (x, sx): (*const u8, usize),
    (y, sy): (*const u8, usize),
    out: *mut u8,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let (x, y, out) = (x.cast::<T>(), y.cast::<T>(), out.cast::<U>());
        match (sx, sy) {
            // Loops, not closures: a long row is compiled for the vectors of its caller only where it stands in it.
            (1, 1) => {
                for i in 0..n {
                    out.add(i).write(row(*x.add(i), *y.add(i)));
                }
            }
            (1, _) => {
                let y = *y;
                for i in 0..n {
                    out.add(i).write(row(*x.add(i), y));
                }
            }
            (_, 1) => {
                let x = *x;
                for i in 0..n {
                    out.add(i).write(row(x, *y.add(i)));
                }
            }
            _ => {
                let z = row(*x, *y);
                for i in 0..n {
                    out.add(i).write(z);
                }
            }
        }
    }
}

/// A row of arithmetic alone, whose bits are the same with vectors and without.
///
/// # Safety
/// That of [`zip`].
#[inline(always)]
pub unsafe fn zip_vectorized<T: Copy, U: Copy, F: Fn(T, T) -> U + Copy>(
    row: F,
    n: usize,
    x: (*const u8, usize),
    y: (*const u8, usize),
    out: *mut u8,
) {
    simd::same_for::<F, ()>(
        // SAFETY: the caller's promise.
        #[inline(always)]
        move || unsafe { zip(row, n, x, y, out) },
    );
}

/// A row of floats with vectors where the processor has them: `fast` first, `row` for the elements that come out NaN.
///
/// # Safety
/// That of [`zip`].
#[inline(always)]
pub unsafe fn zip_fast<T: Num, F: Fn(T, T) -> T + Copy>(
    row: F,
    fast: impl Fn(Fast<T>, Fast<T>) -> Fast<T> + Copy,
    n: usize,
    (x, sx): (*const u8, usize),
    (y, sy): (*const u8, usize),
    out: *mut u8,
) where
    Fast<T>: Num,
{
    simd::run_for::<F, ()>(
        // SAFETY: the caller's promise.
        #[inline(always)]
        move || unsafe { zip(row, n, (x, sx), (y, sy), out) },
        #[inline(always)]
        move || {
            // One loop serves all steps: an element that stands still is written out for a block.
            let (mut xs, mut ys) = (
                [const { MaybeUninit::uninit() }; simd::BLOCK],
                [const { MaybeUninit::uninit() }; simd::BLOCK],
            );
            let (mut x, mut y, mut out) = (x.cast::<Fast<T>>(), y.cast::<Fast<T>>(), out.cast::<Fast<T>>());
            let widest = simd::BLOCK.min(n);
            if sx == 0 && n > 0 {
                // SAFETY: the caller's promise.
                xs[..widest].fill(MaybeUninit::new(unsafe { *x }));
                x = xs.as_ptr().cast();
            }
            if sy == 0 && n > 0 {
                // SAFETY: the caller's promise.
                ys[..widest].fill(MaybeUninit::new(unsafe { *y }));
                y = ys.as_ptr().cast();
            }
            let mut left = n;
            while left > 0 {
                let count = simd::BLOCK.min(left);
                // SAFETY: the caller's promise, for this block; `Fast` has the layout of its number.
                unsafe {
                    let mut sure = true;
                    for i in 0..count {
                        let z = fast(*x.add(i), *y.add(i));
                        out.add(i).write(z);
                        sure &= !z.nan();
                    }
                    if !sure {
                        for i in 0..count {
                            if (*out.add(i)).nan() {
                                out.add(i).write(Fast(row((*x.add(i)).0, (*y.add(i)).0)));
                            }
                        }
                    }
                    (x, y, out) = (x.add(count * sx), y.add(count * sy), out.add(count));
                }
                left -= count;
            }
        },
    );
}

/// The loops of a row `x, y => expression`, for the dtypes of a class: `num` (every number), `real` (floats), `plain`
/// (floats, with nothing but arithmetic), `test` (every dtype, with a truth value as result), `bits` (integers and truth
/// values), `int` (integers, bit by bit) or `integer` (integers as numbers). A row `x, y; p => expression` reads [`Scalars`]
/// as `p[i]`. `table x, y => …` is a table as it is.
macro_rules! binary_loops {
    (num $x:ident, $y:ident $(; $p:ident)? => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Num, T, None, $x, $y, ($($p)?), $e, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64) };
    (real $x:ident, $y:ident $(; $p:ident)? => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Real, T, None, $x, $y, ($($p)?), $e, F32 f32, F64 f64) };
    (plain $x:ident, $y:ident $(; $p:ident)? => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Plain, T, None, $x, $y, ($($p)?), $e, F32 f32, F64 f64) };
    (test $x:ident, $y:ident => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Element, Bool8, Some(DType::Bool), $x, $y, (), $e, Bool Bool8, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64) };
    (bits $x:ident, $y:ident => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Bits, T, None, $x, $y, (), $e, Bool Bool8, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64) };
    (integer $x:ident, $y:ident => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Num, T, None, $x, $y, (), $e, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64) };
    (table $x:ident, $y:ident => $e:expr) => { $e };
    (int $x:ident, $y:ident => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Bits, T, None, $x, $y, (), $e, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64) };
    (@ $Trait:ident, $Out:ident, $out:expr, $x:ident, $y:ident, $p:tt, $e:expr, $($V:ident $t:ident),*) => {{
        #[allow(unused_imports)]
        use $crate::{dtype::{Bool8, DType, Element}, kernel::{fast::Fast, num::{Bits, Num, Plain, Real, truth}, pointwise::{binary, unary}}};
        #[inline(always)]
        #[allow(unused_variables)]
        fn row<T: $Trait>($x: T, $y: T, p: &unary::Scalars) -> $Out {
            $crate::kernel::pointwise::unary::unary_loops!(@numbers $p p);
            $e
        }
        let mut loops: [Option<binary::BinaryLoop>; $crate::dtype::DTYPES] = [None; $crate::dtype::DTYPES];
        // SAFETY: `apply` passes arrays of the dtype that it looked up, and an output of `out`'s dtype.
        $( loops[DType::$V as usize] = Some($crate::kernel::pointwise::binary::binary_loop!($Trait row $Out $t)); )*
        &binary::BinaryLoops { loops, out: $out }
    }};
}
/// The loop of a row for one type.
macro_rules! binary_loop {
    (Real $row:ident T $t:ident) => {
        // SAFETY: `apply` passes arrays of the dtype that it looked up.
        |n, x, sx, y, sy, o, p| unsafe {
            let p = *p;
            binary::zip_fast(
                #[inline(always)] move |x, y| $row::<$t>(x, y, &p),
                #[inline(always)] move |x, y| $row::<Fast<$t>>(x, y, &p),
                n, (x, sx), (y, sy), o,
            )
        }
    };
    ($Trait:ident $row:ident T f32) => { $crate::kernel::pointwise::binary::binary_loop!(@same $row f32) };
    ($Trait:ident $row:ident T f64) => { $crate::kernel::pointwise::binary::binary_loop!(@same $row f64) };
    ($Trait:ident $row:ident $Out:ident $t:ident) => {
        // SAFETY: `apply` passes arrays of the dtype that it looked up.
        |n, x, sx, y, sy, o, p| unsafe {
            let p = *p;
            binary::zip(#[inline(always)] move |x: $t, y| $row::<$t>(x, y, &p), n, (x, sx), (y, sy), o)
        }
    };
    (@same $row:ident $t:ident) => {
        // SAFETY: `apply` passes arrays of the dtype that it looked up.
        |n, x, sx, y, sy, o, p| unsafe {
            let p = *p;
            binary::zip_vectorized(#[inline(always)] move |x: $t, y| $row::<$t>(x, y, &p), n, (x, sx), (y, sy), o)
        }
    };
}
pub(crate) use {binary_loop, binary_loops};

/// The row applied to every pair of two arrays of one dtype. `lanes` leading axes of both are matched from the
/// left (each 1 or the same), the others broadcast from the right.
#[inline]
pub fn apply(op: &'static str, table: &BinaryLoops, x: &Array, y: &Array, lanes: usize) -> Result<Array> {
    apply_with(op, table, x, y, lanes, &[0.0; 3])
}

/// [`apply`] for a row that reads numbers.
#[inline]
pub fn apply_with(
    op: &'static str,
    table: &BinaryLoops,
    x: &Array,
    y: &Array,
    lanes: usize,
    p: &Scalars,
) -> Result<Array> {
    let Some(row) = table.loops[x.dtype() as usize] else {
        bail!(Dtype, op, "not defined for {}", x.dtype());
    };
    assert_eq!(x.dtype(), y.dtype(), "{op}: the dtypes were promoted before");
    let out = table.out.unwrap_or(x.dtype());
    if x.is_contiguous() && y.is_contiguous() {
        if shape::same(x.dims(), y.dims()) {
            return apply_contiguous(op, (row, p), out, x.dims(), (x, 1), (y, 1));
        }
        if y.len() == 1 && y.rank() <= x.rank() {
            return apply_contiguous(op, (row, p), out, x.dims(), (x, 1), (y, 0));
        }
        if x.len() == 1 && x.rank() <= y.rank() {
            return apply_contiguous(op, (row, p), out, y.dims(), (x, 0), (y, 1));
        }
    }
    broadcast(op, (row, p), out, x, y, lanes)
}

/// The common layouts: contiguous arrays of the result's shape, or single elements (step 0).
#[inline]
fn apply_contiguous(
    op: &'static str,
    (row, p): (BinaryLoop, &Scalars),
    out: DType,
    dims: &[usize],
    (x, sx): (&Array, usize),
    (y, sy): (&Array, usize),
) -> Result<Array> {
    let (from, to, n) = (x.dtype().size(), out.size(), shape::len(dims));
    Array::build_raw(op, out, dims, |o| {
        if !par::is_worthwhile(n * from) {
            // SAFETY: `n` elements of the dtypes that the table was asked for, or one where the step is 0.
            return unsafe { row(n, x.ptr(), sx, y.ptr(), sy, o, p) };
        }
        let o = SendPtr(o);
        par::pieces(n, par::piece_size(n), &|r| {
            let (o, at) = (&o, r.start * from);
            // SAFETY: as above; the pieces do not overlap.
            unsafe {
                row(r.len(), x.ptr().add(at * sx), sx, y.ptr().add(at * sy), sy, o.0.add(r.start * to), p)
            }
        });
    })
}

fn broadcast(
    op: &'static str,
    row: Row<'_>,
    out: DType,
    x: &Array,
    y: &Array,
    lanes: usize,
) -> Result<Array> {
    let rank = x.rank().max(y.rank());
    let ins = [x.with_rank(rank, lanes), y.with_rank(rank, lanes)];
    // Elements that lie densely in another order of the axes stay in that order.
    if let Some(order) = common_order(&ins) {
        let [x, y] = ins.map(|a| a.permute(&order));
        return Ok(broadcast(op, row, out, &x, &y, 0)?.permute(&inverse(&order)));
    }
    if let Some([x, y]) = repeated(&ins)? {
        let dims = shape::broadcast(op, ins[0].dims(), ins[1].dims())?;
        return broadcast(op, row, out, &x, &y, 0)?.reshape(&dims);
    }
    let from = x.dtype().size();
    if !ins.iter().all(is_stepwise) && par::is_worthwhile(x.len().max(y.len()) * from) {
        let dims = shape::broadcast(op, ins[0].dims(), ins[1].dims())?;
        let axis = dims.iter().position(|&d| d != 1).unwrap_or(0);
        if dims[axis] >= MANY {
            return broadcast_in_parts(op, row, out, &ins, &dims, axis);
        }
    }
    let ins = [stepwise(&ins[0])?, stepwise(&ins[1])?];
    let walk = BroadcastIter::new(op, &ins)?;
    let n = walk.len();
    Array::build_raw(op, out, &walk.dims, |o| {
        let o = SendPtr(o);
        // SAFETY: the output has the elements of the walk; pieces are disjoint.
        let work = |range: Range<usize>| unsafe { walked(row, &walk, &ins, range, o.get(), out.size()) };
        if !par::is_worthwhile(n * from) {
            work(0..n);
        } else {
            par::pieces(n, par::piece_size(n), &work);
        }
    })
}

/// Applies a row to a range of the elements of a walk over arrays that are stepwise.
///
/// # Safety
/// `o` has room for the elements of the walk, of `to` bytes each; those of this range are nobody else's.
unsafe fn walked(
    (row, p): Row<'_>,
    walk: &BroadcastIter<2>,
    ins: &[Array; 2],
    range: Range<usize>,
    o: *mut u8,
    to: usize,
) {
    let from = ins[0].dtype().size() as isize;
    walk.runs(range, |at, [x, y], n| {
        // SAFETY: the walk stays inside each array and the output, and its steps are 0 and 1.
        unsafe {
            let (x, y) = (ins[0].ptr().offset(x * from), ins[1].ptr().offset(y * from));
            row(n, x, walk.steps[0], y, walk.steps[1], o.add(at * to), p);
        }
    });
}

/// Rows that make enough parts.
const MANY: usize = 64;

/// [`broadcast`] to `dims` of large arrays of that rank, of which one has to be copied to be walked: part by part along
/// the first axis that has any, each copy being read while it is near.
fn broadcast_in_parts(
    op: &'static str,
    row: Row<'_>,
    out: DType,
    ins: &[Array; 2],
    dims: &[usize],
    axis: usize,
) -> Result<Array> {
    let inner = shape::len(&dims[axis + 1..]);
    let failed = Mutex::new(None);
    let z = Array::build_raw(op, out, dims, |o| {
        let o = SendPtr(o);
        let part = |r: &Range<usize>| -> Result<()> {
            let of = |x: &Array| {
                if x.dims()[axis] == 1 { x.clone() } else { x.slice_axis(axis, r.start, r.len(), 1) }
            };
            let ins = [stepwise(&of(&ins[0]))?, stepwise(&of(&ins[1]))?];
            let walk = BroadcastIter::new(op, &ins)?;
            // SAFETY: the rows of this part, which no other part writes.
            unsafe {
                walked(row, &walk, &ins, 0..walk.len(), o.get().add(r.start * inner * out.size()), out.size())
            };
            Ok(())
        };
        let rows = par::PIECE.div_ceil(inner.max(1)).next_multiple_of(16);
        par::pieces(dims[axis], rows, &|r| {
            if let Err(error) = part(&r) {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        });
    })?;
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(z), Err)
}
