//! Axes folded into one element. The tree of a fold depends on the shape alone, so results do not depend on threads.

use super::map::Shared;
use super::par;
use crate::array::Array;
use crate::dtype::{DTYPES, DType};
use crate::error::{Result, bail};
use crate::shape::Dims;

/// Folds `x` of shape `[outer, n, inner]` over its middle axis.
pub type Loop = unsafe fn(outer: usize, n: usize, inner: usize, x: *const u8, out: *mut u8);

/// The loops of one fold by the input's dtype, and the dtype of their results (none: the input's).
pub struct Table {
    pub loops: [Option<Loop>; DTYPES],
    pub out: Option<DType>,
}

/// Elements folded one after another in a leaf of the pairwise tree, over `LANES` independent accumulators.
const LEAF: usize = 256;
const LANES: usize = 8;

/// A pairwise fold of `n` elements: error grows with the logarithm of `n`.
///
/// # Safety
/// `x` has `n` elements.
#[inline(always)]
unsafe fn pairwise<T: Copy, A: Copy>(
    init: A,
    lift: &impl Fn(T) -> A,
    join: &impl Fn(A, A) -> A,
    n: usize,
    x: *const T,
) -> A {
    if n > LEAF {
        let half = (n / 2).next_multiple_of(LANES);
        // SAFETY: both halves lie inside.
        return unsafe {
            join(tree(init, lift, join, half, x), tree(init, lift, join, n - half, x.add(half)))
        };
    }
    let mut lanes = [init; LANES];
    let whole = n - n % LANES;
    for i in (0..whole).step_by(LANES) {
        for (l, lane) in lanes.iter_mut().enumerate() {
            // SAFETY: `i + l < n`.
            *lane = join(*lane, lift(unsafe { *x.add(i + l) }));
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    let mut acc = join(join(join(a, b), join(c, d)), join(join(e, f), join(g, h)));
    for i in whole..n {
        // SAFETY: `i < n`.
        acc = join(acc, lift(unsafe { *x.add(i) }));
    }
    acc
}

/// [`pairwise`], not inlined: the recursion.
///
/// # Safety
/// `x` has `n` elements.
unsafe fn tree<T: Copy, A: Copy>(
    init: A,
    lift: &impl Fn(T) -> A,
    join: &impl Fn(A, A) -> A,
    n: usize,
    x: *const T,
) -> A {
    // SAFETY: the caller's promise.
    unsafe { pairwise(init, lift, join, n, x) }
}

/// # Safety
/// `x` has `outer * n * inner` elements of `T`, `out` room for `outer * inner` of `A`.
#[inline(always)]
pub unsafe fn run<T: Copy, A: Copy>(
    init: A,
    lift: impl Fn(T) -> A,
    join: impl Fn(A, A) -> A,
    (outer, n, inner): (usize, usize, usize),
    x: *const u8,
    out: *mut u8,
) {
    let (x, out) = (x.cast::<T>(), out.cast::<A>());
    // SAFETY: every index below stays inside the shapes that the caller promised.
    unsafe {
        for o in 0..outer {
            let x = x.add(o * n * inner);
            let out = out.add(o * inner);
            if inner == 1 {
                out.write(pairwise(init, &lift, &join, n, x));
                continue;
            }
            (0..inner).for_each(|i| out.add(i).write(init));
            for k in 0..n {
                let row = x.add(k * inner);
                (0..inner).for_each(|i| *out.add(i) = join(*out.add(i), lift(*row.add(i))));
            }
        }
    }
}

/// The loops of a fold `init; acc, x => expression` for the dtypes of a trait: `num` or `real`.
macro_rules! reduce_table {
    (num $init:expr; $a:ident, $x:ident => $e:expr) => { $crate::kernel::reduce::reduce_table!(@ Num, $init, $a, $x, $e, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64) };
    (real $init:expr; $a:ident, $x:ident => $e:expr) => { $crate::kernel::reduce::reduce_table!(@ Real, $init, $a, $x, $e, F32 f32, F64 f64) };
    (@ $Trait:ident, $init:expr, $a:ident, $x:ident, $e:expr, $($V:ident $t:ty),*) => {{
        #[allow(unused_imports)]
        use $crate::{dtype::DType, kernel::{reduce, num::{Num, Real}}};
        #[inline(always)]
        fn init<T: $Trait>() -> T { $init }
        #[inline(always)]
        fn join<T: $Trait>($a: T, $x: T) -> T { $e }
        let mut loops: [Option<reduce::Loop>; $crate::dtype::DTYPES] = [None; $crate::dtype::DTYPES];
        // SAFETY: `apply` passes arrays of the dtype that it looked up.
        $( loops[DType::$V as usize] = Some(|o, n, i, x, out| unsafe { reduce::run(init::<$t>(), |x: $t| x, join::<$t>, (o, n, i), x, out) }); )*
        &reduce::Table { loops, out: None }
    }};
}
pub(crate) use reduce_table;

/// The axes (sorted, not negative) folded away; they are left out of the result's shape.
pub fn apply(op: &'static str, table: &Table, x: &Array, axes: &[usize]) -> Result<Array> {
    let Some(fold) = table.loops[x.dtype() as usize] else {
        bail!(Dtype, op, "not defined for {}", x.dtype());
    };
    let kept: Dims = (0..x.rank()).filter(|a| !axes.contains(a)).collect();
    let dims: Dims = kept.iter().map(|&a| x.dims()[a]).collect();
    let adjacent = axes.windows(2).all(|w| w[0] + 1 == w[1]);
    let (x, first, last) = if adjacent {
        let first = axes.first().copied().unwrap_or(0);
        (x.contiguous()?, first, first + axes.len())
    } else {
        let order: Dims = kept.iter().chain(axes).copied().collect();
        (x.permute(&order).contiguous()?, kept.len(), x.rank())
    };
    let size = |r: std::ops::Range<usize>| x.dims()[r].iter().product::<usize>();
    let (outer, n, inner) = (size(0..first), size(first..last), size(last..x.rank()));
    let (from, out) = (x.dtype().size(), table.out.unwrap_or(x.dtype()));
    Array::build_raw(op, out, &dims, |o| {
        if outer * n * inner * from < par::MIN_BYTES || outer == 1 {
            // SAFETY: `x` is contiguous with this shape and the output has `outer * inner` elements.
            return unsafe { fold(outer, n, inner, x.ptr(), o) };
        }
        let o = Shared(o);
        par::pieces(outer, par::PIECE.div_ceil((n * inner).max(1)), &|r| {
            let o = &o;
            let (at, to) = (r.start * n * inner * from, r.start * inner * out.size());
            // SAFETY: as above, for the rows of this piece.
            unsafe { fold(r.len(), n, inner, x.ptr().add(at), o.0.add(to)) }
        });
    })
}
