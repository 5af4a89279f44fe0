//! Elementwise functions of one array.

use std::any::TypeId;

use crate::array::Array;
use crate::dtype::{DTYPES, DType, Element};
use crate::error::{Result, bail};
use crate::kernel::broadcast::{dense_order, inverse};
use crate::kernel::fast::Fast;
use crate::kernel::num::{Field, Num};
use crate::kernel::par::{self, SendPtr};
use crate::kernel::pointwise::formula::Formula;
use crate::kernel::simd;

/// Scalar parameters of a formula.
pub type Scalars = [f64; 3];

/// Scalar parameters in the dtype of the elements. Written out, because a build may not inline `map` of arrays, and this stands in
/// loops over elements.
#[inline(always)]
pub fn scalars<T: Element>(p: &Scalars) -> [T; 3] {
    [T::from_f64(p[0]), T::from_f64(p[1]), T::from_f64(p[2])]
}

/// Applies a formula to `n` contiguous elements.
pub type UnaryLoop = unsafe fn(n: usize, x: *const u8, out: *mut u8, p: &Scalars);

/// The loops of one formula by the dtype of its input.
pub struct UnaryLoops {
    pub loops: [Option<UnaryLoop>; DTYPES],
    /// The dtype of the results (`None`: that of the input).
    pub out: Option<DType>,
    pub formula: Formula,
    /// About how many sums take the time of one element.
    pub weight: usize,
}

impl UnaryLoops {
    /// The table with another loop for f32.
    pub const fn with_f32(&self, row: UnaryLoop) -> UnaryLoops {
        let mut loops = self.loops;
        loops[DType::F32 as usize] = Some(row);
        UnaryLoops { loops, ..*self }
    }
}

/// `out[i] = row(x[i])`.
///
/// # Safety
/// `x` has `n` elements of `T`, and `out` has room for `n` of `U`.
#[inline(always)]
pub unsafe fn map<T: Copy, U>(row: impl Fn(T) -> U, n: usize, x: *const u8, out: *mut u8) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        let (x, out) = (x.cast::<T>(), out.cast::<U>());
        for i in 0..n {
            out.add(i).write(row(*x.add(i)));
        }
    }
}

/// Whether a type is `f32` or `f64`.
#[inline(always)]
pub fn is_float<T: 'static>() -> bool {
    let t = TypeId::of::<T>();
    t == TypeId::of::<f32>() || t == TypeId::of::<f64>()
}

/// [`map`] for arithmetic that gives the same bits with vectors and without.
///
/// # Safety
/// As [`map`].
#[inline(always)]
pub unsafe fn map_vectorized<T: Copy + 'static, U, F: Fn(T) -> U + Copy>(
    row: F,
    n: usize,
    x: *const u8,
    out: *mut u8,
) {
    if is_float::<T>() {
        simd::autovectorize_floats_for::<F, ()>(
            // SAFETY: as the function's `# Safety` section requires.
            #[inline(always)]
            move || unsafe { map(row, n, x, out) },
        );
    } else if const { size_of::<T>() <= 2 && size_of::<U>() <= 2 } {
        // The code for small elements in wider vectors would be the largest of all loops.
        // SAFETY: as above.
        unsafe { map(row, n, x, out) };
    } else {
        simd::autovectorize_for::<F, ()>(
            // SAFETY: as the function's `# Safety` section requires.
            #[inline(always)]
            move || unsafe { map(row, n, x, out) },
        );
    }
}

/// [`map`] for floats with vectors where the processor has them: `fast` first, then `row` for elements whose result
/// is NaN.
///
/// # Safety
/// As [`map`].
#[inline(always)]
pub unsafe fn map_fast<T: Num, F: Fn(T) -> T + Copy>(
    row: F,
    fast: impl Fn(Fast<T>) -> Fast<T> + Copy,
    n: usize,
    x: *const u8,
    out: *mut u8,
) where
    Fast<T>: Num,
{
    simd::multiversion_for::<F, ()>(
        // SAFETY: as the function's `# Safety` section requires.
        #[inline(always)]
        move || unsafe { map(row, n, x, out) },
        // SAFETY: as above.
        #[inline(always)]
        move || unsafe { map_fast_inline(row, fast, n, x, out) },
    );
}

/// The vector loop of [`map_fast`], for callers that are themselves compiled for vectors.
///
/// # Safety
/// As [`map`].
#[inline(always)]
pub unsafe fn map_fast_inline<T: Num>(
    row: impl Fn(T) -> T,
    fast: impl Fn(Fast<T>) -> Fast<T>,
    n: usize,
    x: *const u8,
    out: *mut u8,
) where
    Fast<T>: Num,
{
    let (x, out) = (x.cast::<Fast<T>>(), out.cast::<Fast<T>>());
    for start in (0..n).step_by(simd::BLOCK) {
        let block = start..n.min(start + simd::BLOCK);
        let mut sure = true;
        for i in block.clone() {
            // SAFETY: `i < n`, and `Fast` has the layout of its float.
            unsafe {
                let y = fast(*x.add(i));
                out.add(i).write(y);
                sure &= !y.nan();
            }
        }
        if !sure {
            for i in block {
                // SAFETY: as above.
                unsafe {
                    if (*out.add(i)).nan() {
                        out.add(i).write(Fast(row((*x.add(i)).0)));
                    }
                }
            }
        }
    }
}

/// The loops of a formula `x => expression` for a class of dtypes: `num` (integers and floats), `real` (floats),
/// `plain` (floats, arithmetic only), `special` (floats, computed in f64), `test` (floats and complex numbers, the
/// result is a truth value) or `bits` (integers and truth values). With complex numbers too, `num` is `field`, `real`
/// is `analytic` and `plain` is `inexact`; `complex` is complex numbers alone. A formula `x; p => expression` reads
/// [`Scalars`] as `p[i]`. `table x => …` passes a table through.
#[macro_export]
macro_rules! unary_loops {
    (table $x:ident => $e:expr) => { $e };
    (num $x:ident $(; $p:ident)? => $e:expr) => { $crate::kernel::pointwise::unary::unary_loops!(@ Num, T, None, $x, ($($p)?), $e, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64) };
    (field $x:ident => $e:expr) => { $crate::kernel::pointwise::unary::unary_loops!(@ Field, T, None, $x, (), $e, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64, C64 c64, C128 c128) };
    (analytic $x:ident => $e:expr) => { $crate::kernel::pointwise::unary::unary_loops!(@ Analytic, T, None, $x, (), $e, F32 f32, F64 f64, C64 c64, C128 c128) };
    (inexact $x:ident => $e:expr) => { $crate::kernel::pointwise::unary::unary_loops!(@ Inexact, T, None, $x, (), $e, F32 f32, F64 f64, C64 c64, C128 c128) };
    (complex $x:ident => $e:expr) => { $crate::kernel::pointwise::unary::unary_loops!(@ ComplexNum, T, None, $x, (), $e, C64 c64, C128 c128) };
    (real $x:ident $(; $p:ident)? => $e:expr) => { $crate::kernel::pointwise::unary::unary_loops!(@ Real, T, None, $x, ($($p)?), $e, F32 f32, F64 f64) };
    (plain $x:ident $(; $p:ident)? => $e:expr) => { $crate::kernel::pointwise::unary::unary_loops!(@ Plain, T, None, $x, ($($p)?), $e, F32 f32, F64 f64) };
    (special $x:ident $(; $p:ident)? => $e:expr) => { $crate::kernel::pointwise::unary::unary_loops!(@ Special, T, None, $x, ($($p)?), $e, F32 f32, F64 f64) };
    (test $x:ident => $e:expr) => { $crate::kernel::pointwise::unary::unary_loops!(@ Inexact, Bool8, Some(DType::Bool), $x, (), $e, F32 f32, F64 f64, C64 c64, C128 c128) };
    (bits $x:ident => $e:expr) => { $crate::kernel::pointwise::unary::unary_loops!(@ Bits, T, None, $x, (), $e, Bool Bool8, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64) };
    (@ $Trait:ident, $Out:ident, $out:expr, $x:ident, $p:tt, $e:expr, $($V:ident $t:ident),*) => {{
        #[allow(unused_imports)]
        use $crate::{dtype::{Bool8, DType, Element, c64, c128}, kernel::{fast::Fast, num::{Analytic, Bits, ComplexNum, Field, Inexact, Num, Plain, Real, truth}, pointwise::{formula, unary}}};
        $crate::kernel::pointwise::unary::unary_loops!(@row $Trait $Out $x $p $e);
        struct Own;
        let mut loops: [Option<unary::UnaryLoop>; $crate::dtype::DTYPES] = [None; $crate::dtype::DTYPES];
        // SAFETY: `apply` passes arrays of the dtype that it looked up, and an output of dtype `out`.
        $( loops[DType::$V as usize] = Some($crate::kernel::pointwise::unary::unary_loop!($Trait row $Out $t)); )*
        &unary::UnaryLoops { loops, out: $out, formula: formula::Formula::of::<Own>(None), weight: $crate::kernel::pointwise::unary::unary_loops!(@weight $Trait) }
    }};
    (@weight Special) => { 32 };
    (@weight $Trait:ident) => { 1 };
    (@row Special $Out:ident $x:ident $p:tt $e:expr) => {
        // One copy of the formula for both dtypes.
        #[inline(never)]
        #[allow(unused_variables)]
        fn wide($x: f64, p: &unary::Scalars) -> f64 {
            $crate::kernel::pointwise::unary::unary_loops!(@wide $p p);
            $e
        }
        #[inline(always)]
        fn row<T: Plain>(x: T, p: &unary::Scalars) -> T {
            T::from_f64(wide(x.to_f64(), p))
        }
    };
    (@row $Trait:ident $Out:ident $x:ident $p:tt $e:expr) => {
        #[inline(always)]
        #[allow(unused_variables)]
        fn row<T: $Trait>($x: T, p: &unary::Scalars) -> $Out {
            $crate::kernel::pointwise::unary::unary_loops!(@numbers $p p);
            $e
        }
    };
    (@numbers () $from:ident) => {};
    (@numbers ($p:ident) $from:ident) => { let $p = unary::scalars::<T>($from); };
    (@wide () $from:ident) => {};
    (@wide ($p:ident) $from:ident) => { let $p = *$from; };
}
/// The loop of a formula for one type. Its closures own their scalars, because the compiler would assume that the
/// loop may write what is behind a reference, and read it again for each element.
#[macro_export]
macro_rules! unary_loop {
    (Real $row:ident T $t:ident) => {
        // SAFETY: `apply` passes arrays of the dtype that it looked up.
        |n, x, o, p| unsafe {
            let p = *p;
            unary::map_fast(#[inline(always)] move |x| $row::<$t>(x, &p), #[inline(always)] move |x| $row::<Fast<$t>>(x, &p), n, x, o)
        }
    };
    (Analytic $row:ident T f32) => { $crate::kernel::pointwise::unary::unary_loop!(Real $row T f32) };
    (Analytic $row:ident T f64) => { $crate::kernel::pointwise::unary::unary_loop!(Real $row T f64) };
    (Special $row:ident T $t:ident) => {
        // SAFETY: `apply` passes arrays of the dtype that it looked up.
        |n, x, o, p| unsafe { unary::map(#[inline(always)] |x: $t| $row::<$t>(x, p), n, x, o) }
    };
    ($Trait:ident $row:ident T f32) => { $crate::kernel::pointwise::unary::unary_loop!(@same $row f32) };
    ($Trait:ident $row:ident T f64) => { $crate::kernel::pointwise::unary::unary_loop!(@same $row f64) };
    ($Trait:ident $row:ident $Out:ident $t:ident) => {
        // SAFETY: `apply` passes arrays of the dtype that it looked up.
        |n, x, o, p| unsafe { let p = *p; unary::map(#[inline(always)] move |x: $t| $row::<$t>(x, &p), n, x, o) }
    };
    (@same $row:ident $t:ident) => {
        // SAFETY: `apply` passes arrays of the dtype that it looked up.
        |n, x, o, p| unsafe { let p = *p; unary::map_vectorized(#[inline(always)] move |x: $t| $row::<$t>(x, &p), n, x, o) }
    };
}
pub use {unary_loop, unary_loops};

/// Applies a formula to every element.
pub fn apply(op: &'static str, table: &UnaryLoops, x: &Array) -> Result<Array> {
    apply_with(op, table, x, &[0.0; 3])
}

/// [`apply`] for a formula that reads scalars.
pub fn apply_with(op: &'static str, table: &UnaryLoops, x: &Array, p: &Scalars) -> Result<Array> {
    let Some(row) = table.loops[x.dtype() as usize] else {
        bail!(Dtype, op, "not defined for {}", x.dtype());
    };
    // SAFETY: the loop is that of the dtype.
    unsafe { apply_loop(op, (row, p, table.weight), table.out.unwrap_or(x.dtype()), x) }
}

/// Applies a loop, with the scalars that it reads and the weight of an element, to every element.
///
/// # Safety
/// The loop is for elements of the array's dtype, and its results have the dtype `out`.
pub unsafe fn apply_loop(
    op: &'static str,
    (row, p, weight): (UnaryLoop, &Scalars, usize),
    out: DType,
    x: &Array,
) -> Result<Array> {
    // Arrays that are dense in another order of the axes keep that order.
    if let Some(order) = dense_order(x) {
        // SAFETY: as the function's `# Safety` section requires.
        let y = unsafe { apply_loop(op, (row, p, weight), out, &x.permute(&order)) };
        return Ok(y?.permute(&inverse(&order)));
    }
    let x = x.contiguous()?;
    let (from, to, n) = (x.dtype().size(), out.size(), x.len());
    Array::build_raw(op, out, x.dims(), |o| {
        if !par::is_worthwhile(n * from * weight) {
            // SAFETY: the array has `n` elements of the dtype that the loop was looked up for.
            return unsafe { row(n, x.ptr(), o, p) };
        }
        let o = SendPtr(o);
        par::pieces(n, par::piece_size(n), &|r| {
            let o = &o;
            // SAFETY: as above, and pieces do not overlap.
            unsafe { row(r.len(), x.ptr().add(r.start * from), o.0.add(r.start * to), p) }
        });
    })
}
