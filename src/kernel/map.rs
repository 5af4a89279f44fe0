//! One array in, one out, element by element.

use super::fast::Fast;
use super::num::Num;
use super::walk::contiguous;
use super::{par, simd};
use crate::array::Array;
use crate::dtype::{DTYPES, DType};
use crate::error::{Result, bail};

/// Applies a row to `n` contiguous elements.
pub type Loop = unsafe fn(n: usize, x: *const u8, out: *mut u8);

/// The loops of one row by the input's dtype, and the dtype of their results (none: the input's).
pub struct Table {
    pub loops: [Option<Loop>; DTYPES],
    pub out: Option<DType>,
}

/// # Safety
/// `x` has `n` elements of `T`, `out` room for `n` of `U`.
#[inline(always)]
pub unsafe fn run<T: Copy, U>(row: impl Fn(T) -> U, n: usize, x: *const u8, out: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        let (x, out) = (x.cast::<T>(), out.cast::<U>());
        for i in 0..n {
            out.add(i).write(row(*x.add(i)));
        }
    }
}

/// A row of floats with vectors where the processor has them: `fast` first, `row` for the elements that come out NaN.
///
/// # Safety
/// `x` has `n` elements of `T`, `out` room for `n`.
#[inline(always)]
pub unsafe fn run_float<T: Num>(
    row: impl Fn(T) -> T + Copy,
    fast: impl Fn(Fast<T>) -> Fast<T> + Copy,
    n: usize,
    x: *const u8,
    out: *mut u8,
) where
    Fast<T>: Num,
{
    simd::run(
        // SAFETY: the caller's promise.
        #[inline(always)]
        || unsafe { run(row, n, x, out) },
        // SAFETY: as above.
        #[inline(always)]
        || unsafe { run_fast(row, fast, n, x, out) },
    );
}

/// The vector loop of [`run_float`], for callers that are compiled for vectors themselves.
///
/// # Safety
/// That of [`run_float`].
#[inline(always)]
pub unsafe fn run_fast<T: Num>(
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
            // SAFETY: `i < n`; `Fast` has the layout of its number.
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

/// The loops of a row `x => expression`, for the dtypes of a class: `num` (every number), `real` (floats), `test`
/// (floats, with a truth value as result) or `bits` (integers and truth values).
macro_rules! map_table {
    (num $x:ident => $e:expr) => { $crate::kernel::map::map_table!(@ Num, T, None, $x, $e, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64) };
    (real $x:ident => $e:expr) => { $crate::kernel::map::map_table!(@ Real, T, None, $x, $e, F32 f32, F64 f64) };
    (test $x:ident => $e:expr) => { $crate::kernel::map::map_table!(@ Real, Bool8, Some(DType::Bool), $x, $e, F32 f32, F64 f64) };
    (bits $x:ident => $e:expr) => { $crate::kernel::map::map_table!(@ Bits, T, None, $x, $e, Bool Bool8, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64) };
    (@ $Trait:ident, $Out:ident, $out:expr, $x:ident, $e:expr, $($V:ident $t:ident),*) => {{
        #[allow(unused_imports)]
        use $crate::{dtype::{Bool8, DType}, kernel::{fast::Fast, map, num::{Bits, Num, Real, truth}}};
        #[inline(always)]
        fn row<T: $Trait>($x: T) -> $Out { $e }
        let mut loops: [Option<map::Loop>; $crate::dtype::DTYPES] = [None; $crate::dtype::DTYPES];
        // SAFETY: `apply` passes arrays of the dtype that it looked up, and an output of `out`'s dtype.
        $( loops[DType::$V as usize] = Some($crate::kernel::map::map_loop!(row $Out $t)); )*
        &map::Table { loops, out: $out }
    }};
}
/// The loop of a row for one type.
macro_rules! map_loop {
    ($row:ident T f32) => {
        // SAFETY: `apply` passes arrays of the dtype that it looked up.
        |n, x, o| unsafe { map::run_float($row::<f32>, $row::<Fast<f32>>, n, x, o) }
    };
    ($row:ident T f64) => {
        // SAFETY: `apply` passes arrays of the dtype that it looked up.
        |n, x, o| unsafe { map::run_float($row::<f64>, $row::<Fast<f64>>, n, x, o) }
    };
    ($row:ident $Out:ident $t:ident) => {
        // SAFETY: `apply` passes arrays of the dtype that it looked up.
        |n, x, o| unsafe { map::run($row::<$t>, n, x, o) }
    };
}
pub(crate) use {map_loop, map_table};

/// The row applied to every element.
pub fn apply(op: &'static str, table: &Table, x: &Array) -> Result<Array> {
    let Some(row) = table.loops[x.dtype() as usize] else {
        bail!(Dtype, op, "not defined for {}", x.dtype());
    };
    let x = contiguous(x)?;
    let out = table.out.unwrap_or(x.dtype());
    let (from, to, n) = (x.dtype().size(), out.size(), x.len());
    Array::build_raw(op, out, x.dims(), |o| {
        if !par::pays(n * from) {
            // SAFETY: `n` elements of the dtypes that the table was asked for.
            return unsafe { row(n, x.ptr(), o) };
        }
        let o = Shared(o);
        par::pieces(n, par::piece(n), &|r| {
            let o = &o;
            // SAFETY: as above; the pieces do not overlap.
            unsafe { row(r.len(), x.ptr().add(r.start * from), o.0.add(r.start * to)) }
        });
    })
}

/// An output address that threads write disjoint parts of.
pub struct Shared(pub *mut u8);
// SAFETY: whoever makes one promises that the parts written are disjoint.
unsafe impl Sync for Shared {}

impl Shared {
    #[inline]
    pub fn get(&self) -> *mut u8 {
        self.0
    }
}
