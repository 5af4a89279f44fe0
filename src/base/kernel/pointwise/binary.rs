//! Elementwise functions of two arrays that broadcast against each other.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::array::Array;
use crate::dtype::{DTYPES, DType};
use crate::error::{Result, bail};
use crate::kernel::broadcast::{BroadcastIter, common_order, inverse, is_stepwise, repeated, stepwise};
use crate::kernel::fast::Fast;
use crate::kernel::num::{Field, Num};
use crate::kernel::par::{self, SendPtr};
use crate::kernel::pointwise::formula::Formula;
use crate::kernel::pointwise::unary::{Scalars, is_float};
use crate::kernel::pointwise::zero_division;
use crate::kernel::simd;
use crate::shape;

/// Applies a formula to `n` pairs. The strides `sx` and `sy` are 1, or 0 for an element that is used `n` times.
pub type BinaryLoop =
    unsafe fn(n: usize, x: *const u8, sx: usize, y: *const u8, sy: usize, out: *mut u8, p: &Scalars);

/// A loop, the scalars that it reads, and the weight of an element.
type Row<'a> = (BinaryLoop, &'a Scalars, usize);

/// The loops of one formula by the dtype of its inputs.
pub struct BinaryLoops {
    pub loops: [Option<BinaryLoop>; DTYPES],
    /// The dtype of the results (`None`: that of the inputs).
    pub out: Option<DType>,
    /// Whether integers are divided by the second operand.
    pub divides: bool,
    /// Whether there are formulas for some second operands, which are used where one number is that of all elements.
    pub has_forms: bool,
    pub formula: Formula,
    /// About how many sums take the time of one pair.
    pub weight: usize,
}

/// An element, repeated.
///
/// # Safety
/// `x` is the address of an element of `T`, and `out` has room for `n`.
#[inline(never)]
unsafe fn repeat<T: Copy>(x: *const T, n: usize, out: *mut T) {
    // SAFETY: as the function's `# Safety` section requires.
    (0..n).for_each(|i| unsafe { out.add(i).write(*x) });
}

/// `out[i] = row(x[i], y[i])`. A repeated element is written out for a block, so that one loop serves all strides.
///
/// # Safety
/// `x` and `y` have `n` elements of `T` (one if the stride is 0), and `out` has room for `n` of `U`.
#[inline(always)]
pub unsafe fn zip<T: Copy, U: Copy>(
    row: impl Fn(T, T) -> U,
    n: usize,
    (x, sx): (*const u8, usize),
    (y, sy): (*const u8, usize),
    out: *mut u8,
) {
    let (mut xs, mut ys) = (
        [const { MaybeUninit::<T>::uninit() }; simd::BLOCK],
        [const { MaybeUninit::<T>::uninit() }; simd::BLOCK],
    );
    let (mut x, mut y, mut out) = (x.cast::<T>(), y.cast::<T>(), out.cast::<U>());
    let block = if sx & sy == 1 { n } else { n.min(simd::BLOCK) };
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        if sx == 0 && n > 1 {
            repeat(x, block, xs.as_mut_ptr().cast());
            x = xs.as_ptr().cast();
        }
        if sy == 0 && n > 1 {
            repeat(y, block, ys.as_mut_ptr().cast());
            y = ys.as_ptr().cast();
        }
        let mut left = n;
        while left > 0 {
            let count = block.min(left);
            // Written as a loop, because a long formula inside an iterator closure would not be inlined and compiled for
            // the caller's vectors.
            for i in 0..count {
                out.add(i).write(row(*x.add(i), *y.add(i)));
            }
            (x, y, out) = (x.add(count * sx), y.add(count * sy), out.add(count));
            left -= count;
        }
    }
}

/// [`zip`] for arithmetic that gives the same bits with vectors and without.
///
/// # Safety
/// As [`zip`].
#[inline(always)]
pub unsafe fn zip_vectorized<T: Copy + 'static, U: Copy, F: Fn(T, T) -> U + Copy>(
    row: F,
    n: usize,
    x: (*const u8, usize),
    y: (*const u8, usize),
    out: *mut u8,
) {
    if is_float::<T>() {
        simd::autovectorize_floats_for::<F, ()>(
            // SAFETY: as the function's `# Safety` section requires.
            #[inline(always)]
            move || unsafe { zip(row, n, x, y, out) },
        );
    } else if const { size_of::<T>() <= 2 && size_of::<U>() <= 2 } {
        // The code for small elements in wider vectors would be the largest of all loops.
        // SAFETY: as above.
        unsafe { zip(row, n, x, y, out) };
    } else {
        simd::autovectorize_for::<F, ()>(
            // SAFETY: as the function's `# Safety` section requires.
            #[inline(always)]
            move || unsafe { zip(row, n, x, y, out) },
        );
    }
}

/// [`zip`] for arithmetic of floats, with a loop of its own for a repeated operand, which stays in a register.
///
/// # Safety
/// As [`zip`].
#[inline(always)]
pub unsafe fn zip_repeated<T: Copy, F: Fn(T, T) -> T + Copy>(
    row: F,
    n: usize,
    (x, sx): (*const u8, usize),
    (y, sy): (*const u8, usize),
    out: *mut u8,
) {
    let (x, y, out) = (x.cast::<T>(), y.cast::<T>(), out.cast::<T>());
    if n == 0 {
        return;
    }
    simd::autovectorize_floats_for::<F, ()>(
        #[inline(always)]
        move || {
            // SAFETY: as the function's `# Safety` section requires.
            unsafe {
                match (sx, sy) {
                    (0, 0) => {
                        let z = row(*x, *y);
                        (0..n).for_each(|i| out.add(i).write(z));
                    }
                    (0, _) => {
                        let x = *x;
                        (0..n).for_each(|i| out.add(i).write(row(x, *y.add(i))));
                    }
                    (_, 0) => {
                        let y = *y;
                        (0..n).for_each(|i| out.add(i).write(row(*x.add(i), y)));
                    }
                    _ => (0..n).for_each(|i| out.add(i).write(row(*x.add(i), *y.add(i)))),
                }
            }
        },
    );
}

/// [`zip`] for floats with vectors where the processor has them: `fast` first, then `row` for elements whose result
/// is NaN. Only the functions that are `WIDE` have a copy of the loop for AVX-512, because each takes some thousand bytes.
///
/// # Safety
/// As [`zip`].
#[inline(always)]
pub unsafe fn zip_fast<const WIDE: bool, T: Num, F: Fn(T, T) -> T + Copy>(
    row: F,
    fast: impl Fn(Fast<T>, Fast<T>) -> Fast<T> + Copy,
    n: usize,
    (x, sx): (*const u8, usize),
    (y, sy): (*const u8, usize),
    out: *mut u8,
) where
    Fast<T>: Num,
{
    simd::multiversion_if_wide_for::<WIDE, F, ()>(
        // SAFETY: as the function's `# Safety` section requires.
        #[inline(always)]
        move || unsafe { zip(row, n, (x, sx), (y, sy), out) },
        #[inline(always)]
        move || {
            // A repeated element is written out for a block, so that one loop serves all strides.
            let (mut xs, mut ys) = (
                [const { MaybeUninit::<T>::uninit() }; simd::BLOCK],
                [const { MaybeUninit::<T>::uninit() }; simd::BLOCK],
            );
            let (mut x, mut y, mut out) = (x.cast::<Fast<T>>(), y.cast::<Fast<T>>(), out.cast::<Fast<T>>());
            let widest = simd::BLOCK.min(n);
            // SAFETY: as the function's `# Safety` section requires.
            unsafe {
                if sx == 0 && n > 0 {
                    repeat(x, widest, xs.as_mut_ptr().cast());
                    x = xs.as_ptr().cast();
                }
                if sy == 0 && n > 0 {
                    repeat(y, widest, ys.as_mut_ptr().cast());
                    y = ys.as_ptr().cast();
                }
            }
            let mut left = n;
            while left > 0 {
                let count = simd::BLOCK.min(left);
                // SAFETY: as the function's `# Safety` section requires for all blocks. `Fast` has the layout of its
                // float.
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

/// The loops of a formula `x, y => expression` for a class of dtypes: `num` (integers and floats), `real` (floats),
/// `wide32` and `wide64` (floats, and that dtype also with AVX-512), `plain` (floats, arithmetic only), `special` (floats,
/// computed in f64), `test` (all dtypes but complex, the result is a truth value), `bits` (integers and truth values), `int`
/// (integers, bitwise) or `integer` (integers as numbers). With complex numbers too, `num` is `field`, `plain` is `inexact`
/// and `test` is `equality`; `complex` is complex numbers alone. A formula `x, y; p => expression` reads [`Scalars`] as
/// `p[i]`. `table x, y => …` passes a table through, and so does `float_table`, whose dtypes are inexact.
#[macro_export]
macro_rules! binary_loops {
    (num $x:ident, $y:ident $(; $p:ident)? => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Num, T, None, $x, $y, ($($p)?), $e, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64) };
    (field $x:ident, $y:ident => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Field, T, None, $x, $y, (), $e, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64, C64 c64, C128 c128) };
    (inexact $x:ident, $y:ident => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Inexact, T, None, $x, $y, (), $e, F32 f32, F64 f64, C64 c64, C128 c128) };
    (equality $x:ident, $y:ident => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Element, Bool8, Some(DType::Bool), $x, $y, (), $e, Bool Bool8, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64, C64 c64, C128 c128) };
    (complex $x:ident, $y:ident => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ ComplexNum, T, None, $x, $y, (), $e, C64 c64, C128 c128) };
    (real $x:ident, $y:ident $(; $p:ident)? => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Real, T, None, $x, $y, ($($p)?), $e, F32 f32, F64 f64) };
    (wide32 $x:ident, $y:ident => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Wide32, T, None, $x, $y, (), $e, F32 f32, F64 f64) };
    (wide64 $x:ident, $y:ident => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Wide64, T, None, $x, $y, (), $e, F32 f32, F64 f64) };
    (plain $x:ident, $y:ident $(; $p:ident)? => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Plain, T, None, $x, $y, ($($p)?), $e, F32 f32, F64 f64) };
    (special $x:ident, $y:ident $(; $p:ident)? => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Special, T, None, $x, $y, ($($p)?), $e, F32 f32, F64 f64) };
    (test $x:ident, $y:ident => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Ordered, Bool8, Some(DType::Bool), $x, $y, (), $e, Bool Bool8, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64) };
    (bits $x:ident, $y:ident => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Bits, T, None, $x, $y, (), $e, Bool Bool8, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64) };
    (integer $x:ident, $y:ident => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Num, T, None, $x, $y, (), $e, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64) };
    (table $x:ident, $y:ident => $e:expr) => { $e };
    (float_table $x:ident, $y:ident => $e:expr) => { $e };
    (int $x:ident, $y:ident => $e:expr) => { $crate::kernel::pointwise::binary::binary_loops!(@ Bits, T, None, $x, $y, (), $e, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64) };
    (@ $Trait:ident, $Out:ident, $out:expr, $x:ident, $y:ident, $p:tt, $e:expr, $($V:ident $t:ident),*) => {{
        #[allow(unused_imports)]
        use $crate::{dtype::{Bool8, DType, Element, Ordered, c64, c128}, kernel::{fast::Fast, num::{Bits, ComplexNum, Field, Inexact, Num, Plain, Real, Real as Wide32, Real as Wide64, truth}, pointwise::{binary, formula, unary}}};
        $crate::kernel::pointwise::binary::binary_loops!(@row $Trait $Out $x $y $p $e);
        struct Own;
        let mut loops: [Option<binary::BinaryLoop>; $crate::dtype::DTYPES] = [None; $crate::dtype::DTYPES];
        // SAFETY: `apply` passes arrays of the dtype that it looked up, and an output of dtype `out`.
        $( loops[DType::$V as usize] = Some($crate::kernel::pointwise::binary::binary_loop!($Trait row $Out $t)); )*
        &binary::BinaryLoops { loops, out: $out, divides: false, has_forms: false, formula: formula::Formula::of::<Own>(None), weight: $crate::kernel::pointwise::unary::unary_loops!(@weight $Trait) }
    }};
    (@row Special $Out:ident $x:ident $y:ident $p:tt $e:expr) => {
        // One copy of the formula for both dtypes.
        #[inline(never)]
        #[allow(unused_variables)]
        fn wide($x: f64, $y: f64, p: &unary::Scalars) -> f64 {
            $crate::kernel::pointwise::unary::unary_loops!(@wide $p p);
            $e
        }
        #[inline(always)]
        fn row<T: Plain>(x: T, y: T, p: &unary::Scalars) -> T {
            T::from_f64(wide(x.to_f64(), y.to_f64(), p))
        }
    };
    (@row $Trait:ident $Out:ident $x:ident $y:ident $p:tt $e:expr) => {
        #[inline(always)]
        #[allow(unused_variables)]
        fn row<T: $Trait>($x: T, $y: T, p: &unary::Scalars) -> $Out {
            $crate::kernel::pointwise::unary::unary_loops!(@numbers $p p);
            $e
        }
    };
}
/// The loop of a formula for one type.
#[macro_export]
macro_rules! binary_loop {
    (Real $row:ident T $t:ident) => { $crate::kernel::pointwise::binary::binary_loop!(@fast false $row $t) };
    (Wide32 $row:ident T f32) => { $crate::kernel::pointwise::binary::binary_loop!(@fast true $row f32) };
    (Wide32 $row:ident T f64) => { $crate::kernel::pointwise::binary::binary_loop!(@fast false $row f64) };
    (Wide64 $row:ident T f32) => { $crate::kernel::pointwise::binary::binary_loop!(@fast false $row f32) };
    (Wide64 $row:ident T f64) => { $crate::kernel::pointwise::binary::binary_loop!(@fast true $row f64) };
    (@fast $wide:literal $row:ident $t:ident) => {
        // SAFETY: `apply` passes arrays of the dtype that it looked up.
        |n, x, sx, y, sy, o, p| unsafe {
            let p = *p;
            binary::zip_fast::<$wide, _, _>(
                #[inline(always)] move |x, y| $row::<$t>(x, y, &p),
                #[inline(always)] move |x, y| $row::<Fast<$t>>(x, y, &p),
                n, (x, sx), (y, sy), o,
            )
        }
    };
    (Special $row:ident T $t:ident) => {
        // SAFETY: `apply` passes arrays of the dtype that it looked up.
        |n, x, sx, y, sy, o, p| unsafe {
            binary::zip(#[inline(always)] |x: $t, y| $row::<$t>(x, y, p), n, (x, sx), (y, sy), o)
        }
    };
    (Field $row:ident T f32) => { $crate::kernel::pointwise::binary::binary_loop!(@repeated $row f32) };
    (Field $row:ident T f64) => { $crate::kernel::pointwise::binary::binary_loop!(@repeated $row f64) };
    (Inexact $row:ident T f32) => { $crate::kernel::pointwise::binary::binary_loop!(@repeated $row f32) };
    (Inexact $row:ident T f64) => { $crate::kernel::pointwise::binary::binary_loop!(@repeated $row f64) };
    ($Trait:ident $row:ident $Out:ident f32) => { $crate::kernel::pointwise::binary::binary_loop!(@same $row f32) };
    ($Trait:ident $row:ident $Out:ident f64) => { $crate::kernel::pointwise::binary::binary_loop!(@same $row f64) };
    ($Trait:ident $row:ident $Out:ident $t:ident) => {
        // SAFETY: `apply` passes arrays of the dtype that it looked up.
        |n, x, sx, y, sy, o, p| unsafe {
            let p = *p;
            binary::zip(#[inline(always)] move |x: $t, y| $row::<$t>(x, y, &p), n, (x, sx), (y, sy), o)
        }
    };
    (@repeated $row:ident $t:ident) => {
        // SAFETY: `apply` passes arrays of the dtype that it looked up.
        |n, x, sx, y, sy, o, p| unsafe {
            let p = *p;
            binary::zip_repeated(#[inline(always)] move |x: $t, y| $row::<$t>(x, y, &p), n, (x, sx), (y, sy), o)
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
pub use {binary_loop, binary_loops};

impl BinaryLoops {
    /// These loops, and for complex numbers those of another table.
    pub const fn and_complex(&self, complex: &BinaryLoops) -> BinaryLoops {
        let mut loops = self.loops;
        loops[DType::C64 as usize] = complex.loops[DType::C64 as usize];
        loops[DType::C128 as usize] = complex.loops[DType::C128 as usize];
        BinaryLoops { loops, ..*self }
    }
}

/// Applies a formula to all pairs of elements of two arrays of the same dtype. The first `batch_ndim` axes of both
/// are matched from the left, the others broadcast from the right.
#[inline]
pub fn apply(
    op: &'static str,
    table: &BinaryLoops,
    x: &Array,
    y: &Array,
    batch_ndim: usize,
) -> Result<Array> {
    apply_with(op, table, x, y, batch_ndim, &[0.0; 3])
}

/// [`apply`] for a formula that reads scalars.
#[inline]
pub fn apply_with(
    op: &'static str,
    table: &BinaryLoops,
    x: &Array,
    y: &Array,
    batch_ndim: usize,
    p: &Scalars,
) -> Result<Array> {
    let Some(row) = table.loops[x.dtype() as usize] else {
        bail!(Dtype, op, "not defined for {}", x.dtype());
    };
    let row = (row, p, table.weight);
    assert_eq!(x.dtype(), y.dtype(), "{op}: the dtypes were promoted before");
    let out = table.out.unwrap_or(x.dtype());
    if table.divides && x.len() > 0 {
        zero_division::note_zeros(op, y)?;
    }
    if let (Some(sx), Some(sy)) = (step(x), step(y)) {
        // This comes first, since a power of a number has the bits that it has in a vector.
        if y.len() == 1 && y.rank() <= x.rank() {
            return apply_contiguous(op, row, out, x.dims(), (x, sx), (y, 0));
        }
        if shape::same(x.dims(), y.dims()) {
            return apply_contiguous(op, row, out, x.dims(), (x, sx), (y, sy));
        }
        if x.len() == 1 && x.rank() <= y.rank() {
            return apply_contiguous(op, row, out, y.dims(), (x, 0), (y, sy));
        }
    }
    let own = |error| match shape::broadcast(op, x.dims(), y.dims()) {
        // The shapes as they were written.
        Err(own) if batch_ndim == 0 => own,
        _ => error,
    };
    broadcast(op, row, out, x, y, batch_ndim).map_err(own)
}

/// The one stride of all elements: 1 if they follow each other, 0 if they are one element.
#[inline]
fn step(x: &Array) -> Option<usize> {
    match x.own_strides() {
        None => Some(1),
        Some(strides) => strides.iter().all(|s| *s == 0).then_some(0),
    }
}

/// The common layouts: contiguous arrays of the result's shape, and single elements (stride 0).
#[inline]
fn apply_contiguous(
    op: &'static str,
    (row, p, weight): Row<'_>,
    out: DType,
    dims: &[usize],
    (x, sx): (&Array, usize),
    (y, sy): (&Array, usize),
) -> Result<Array> {
    let (from, to, n) = (x.dtype().size(), out.size(), shape::len(dims));
    Array::build_raw(op, out, dims, |o| {
        if !par::is_worthwhile(n * from * weight) {
            // SAFETY: the arrays have the dtype that the loop was looked up for, and `n` elements, or one where the
            // stride is 0.
            return unsafe { row(n, x.ptr(), sx, y.ptr(), sy, o, p) };
        }
        let o = SendPtr(o);
        par::pieces(n, par::piece_size(n), &|r| {
            let (o, at) = (&o, r.start * from);
            // SAFETY: as above, and pieces do not overlap.
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
    batch_ndim: usize,
) -> Result<Array> {
    let rank = x.rank().max(y.rank());
    let ins = [x.with_rank(rank, batch_ndim), y.with_rank(rank, batch_ndim)];
    // Arrays that are dense in another order of the axes keep that order.
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
        // SAFETY: the output has the shape of the iteration, and pieces are disjoint.
        let work = |range: Range<usize>| unsafe { walked(row, &walk, &ins, range, o.get(), out.size()) };
        if !par::is_worthwhile(n * from * row.2) {
            work(0..n);
        } else {
            par::pieces(n, par::piece_size(n), &work);
        }
    })
}

/// Applies a loop to a range of an iteration over stepwise arrays.
///
/// # Safety
/// `o` has room for all elements of the iteration, of `to` bytes each, and no other thread writes those of the range.
unsafe fn walked(
    (row, p, _): Row<'_>,
    walk: &BroadcastIter<2>,
    ins: &[Array; 2],
    range: Range<usize>,
    o: *mut u8,
    to: usize,
) {
    let from = ins[0].dtype().size() as isize;
    walk.runs(range, |at, [x, y], n| {
        // SAFETY: the iteration stays inside each array and the output, and its strides are 0 and 1.
        unsafe {
            let (x, y) = (ins[0].ptr().offset(x * from), ins[1].ptr().offset(y * from));
            row(n, x, walk.steps[0], y, walk.steps[1], o.add(at * to), p);
        }
    });
}

/// An axis needs at least this many rows to be split into parts.
const MANY: usize = 64;

/// [`broadcast`] of large arrays of which one must be copied to become stepwise. Works on one part of an axis at a
/// time, so that each copy is still in the cache when it is read.
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
            // SAFETY: each part writes its own rows of the output.
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
