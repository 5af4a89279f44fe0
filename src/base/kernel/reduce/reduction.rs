//! Reductions over axes. The order of a fold depends on shape, dtype and layout only, never on threads.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use crate::array::{Array, Layout};
use crate::dtype::{DType, DTypeKind, Element};
use crate::error::{Result, bail};
use crate::kernel::broadcast::dense_order;
use crate::kernel::par::{self, SendPtr};
use crate::kernel::pointwise::cast::cast;
use crate::kernel::pointwise::half::widened;
use crate::kernel::reduce::half;
use crate::kernel::reduce::loops::{ReduceLoop, ReduceLoops, Slab, WIDE, height_of_part, width_of_part};
use crate::kernel::reduce::pairwise::{Fold, columns, narrow, pairwise};
use crate::kernel::sequence::{Kernel, Writes};
use crate::kernel::simd;
use crate::shape::{self, Dims};

/// If there are at least `MANY` times more short rows, they are grouped into rows of up to `TOGETHER` elements.
const TOGETHER: usize = 256;
const MANY: usize = 64;

/// # Safety
/// `x` has the elements of the slab, of type `T`, and `out` has room for `outer * inner` results.
#[inline(always)]
pub unsafe fn fold_slab<T: Copy, F: Fold<T>>(fold: F, slab: Slab, x: *const u8, out: *mut u8) {
    if const { size_of::<T>() <= 2 } {
        // The code for small elements in wider vectors would be the largest of all loops.
        // SAFETY: as the function's `# Safety` section requires.
        return unsafe { fold_blocks(fold, slab, x, out) };
    }
    simd::autovectorize_for::<F, ()>(
        // SAFETY: as above.
        #[inline(always)]
        || unsafe { fold_blocks(fold, slab, x, out) },
    );
}

/// # Safety
/// As [`fold_slab`].
#[inline(always)]
unsafe fn fold_blocks<T: Copy, F: Fold<T>>(
    fold: F,
    Slab { outer, n, inner, stride }: Slab,
    x: *const u8,
    out: *mut u8,
) {
    let (x, out) = (x.cast::<T>(), out.cast::<F::Out>());
    let reach = if n == 0 { 0 } else { (n - 1) * stride + inner };
    for o in 0..outer {
        // SAFETY: block `o` is inside the slab, and row `o` inside the output.
        let (x, out) = unsafe {
            (
                std::slice::from_raw_parts(x.add(o * n * stride), reach),
                std::slice::from_raw_parts_mut(out.add(o * inner), inner),
            )
        };
        let is_float = const { F::Out::DTYPE.is_float() };
        match out {
            [out] if stride == 1 => *out = pairwise(fold, x),
            [..] if is_float && inner == 2 && stride == 2 => narrow::<2, T, F>(fold, x, out),
            [..] if is_float && inner == 3 && stride == 3 => narrow::<3, T, F>(fold, x, out),
            out => columns(fold, (n, stride), x, out),
        }
    }
}

/// The loops of a fold `init; acc, x => expression` for a class of dtypes: `num` (integers and floats), `field` (floats,
/// complex numbers and integers of 64 bits, in which the shorter ones are folded) or `ord` (integers, floats, and truth values as bytes). With a last part `of v => expression`, which maps
/// an element to the type of the results, the classes are `real` and `truth` (truth values), which names that type.
#[macro_export]
macro_rules! reduce_loops {
    (num $init:expr; $a:ident, $x:ident => $e:expr) => { $crate::kernel::reduce::reduce_loops!(@ same Num, T, None, $init, $a, $x, $e, v, v, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64) };
    (field $init:expr; $a:ident, $x:ident => $e:expr) => { $crate::kernel::reduce::reduce_loops!(@ same Field, T, None, $init, $a, $x, $e, v, v, U64 u64, I64 i64, F32 f32, F64 f64, C64 c64, C128 c128) };
    (ord $init:expr; $a:ident, $x:ident => $e:expr) => { $crate::kernel::reduce::reduce_loops!(@ same Num, T, None, $init, $a, $x, $e, v, v, Bool u8, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64) };
    (real $init:expr; $a:ident, $x:ident => $e:expr; of $v:ident => $map:expr) => { $crate::kernel::reduce::reduce_loops!(@ mapped Real, T, None, $init, $a, $x, $e, $v, $map, F32 f32, F64 f64) };
    (truth $A:ident $init:expr; $a:ident, $x:ident => $e:expr; of $v:ident => $map:expr) => { $crate::kernel::reduce::reduce_loops!(@ mapped Element, $A, Some(<$A as $crate::dtype::Element>::DTYPE), $init, $a, $x, $e, $v, $map, Bool Bool8) };
    (@ $combines:ident $Trait:ident, $A:ident, $out:expr, $init:expr, $a:ident, $x:ident, $e:expr, $v:ident, $map:expr, $($V:ident $t:ty),*) => {{
        #[allow(unused_imports)]
        use $crate::{dtype::{Bool8, DType, Element, c64, c128}, kernel::{num::{Field, Num, Plain, Real}, reduce}};
        #[derive(Clone, Copy)]
        struct This;
        impl<T: $Trait> reduce::pairwise::Fold<T> for This {
            type Out = $A;
            #[inline(always)]
            fn init(self) -> $A { $init }
            #[inline(always)]
            fn map(self, $v: T) -> $A { $map }
            #[inline(always)]
            fn combine(self, $a: $A, $x: $A) -> $A { $e }
        }
        let mut loops: [Option<reduce::ReduceLoop>; $crate::dtype::DTYPES] = [None; $crate::dtype::DTYPES];
        $(
            // SAFETY: `apply` passes arrays of the dtype that it looked up.
            loops[DType::$V as usize] = Some(|s, x, out| unsafe { reduce::fold_slab::<$t, _>(This, s, x, out) });
        )*
        let combines = $crate::kernel::reduce::reduce_loops!(@combines $combines loops $($V $t),*);
        &reduce::ReduceLoops { loops, combines, out: $out, sums: None }
    }};
    // The results are folded like elements where elements are not mapped.
    (@combines same $loops:ident $($V:ident $t:ty),*) => { $loops };
    (@combines mapped $loops:ident $($V:ident $t:ty),*) => {{
        let mut combines: [Option<reduce::ReduceLoop>; $crate::dtype::DTYPES] = [None; $crate::dtype::DTYPES];
        $(
            // SAFETY: as above, for the dtype of the results.
            combines[DType::$V as usize] = Some(|s, x, out| unsafe { reduce::fold_slab(reduce::pairwise::Results(This, std::marker::PhantomData::<$t>), s, x, out) });
        )*
        combines
    }};
}
pub use reduce_loops;

/// Reduces over axes (sorted, not negative), which are removed from the shape. Half dtypes have results of float32.
pub fn apply(op: &'static str, table: &ReduceLoops, x: &Array, axes: &[usize]) -> Result<Array> {
    if x.dtype().is_half() {
        return half::by_tiles(op, table, x, axes).unwrap_or_else(|| apply(op, table, &widened(x)?, axes));
    }
    let at = x.dtype() as usize;
    let (Some(fold), Some(combine)) = (table.loops[at], table.combines[at]) else {
        if x.dtype().kind() == DTypeKind::Int && table.loops[DType::I64 as usize].is_some() {
            // The last bits of sums and products depend on the last bits of the numbers alone.
            return cast(&apply(op, table, &cast(x, DType::I64)?, axes)?, x.dtype());
        }
        bail!(Dtype, op, "not defined for {}", x.dtype());
    };
    let out = table.out.unwrap_or(x.dtype());
    // Arrays that are dense in another order of the axes are folded in that order.
    if let Some(order) = dense_order(x) {
        let inside: Dims = (0..order.len()).filter(|&i| axes.contains(&order[i])).collect();
        let y = dense(op, (fold, combine), &x.permute(&order), &inside, out)?;
        let kept: Dims = order.into_iter().filter(|a| !axes.contains(a)).collect();
        let mut back: Dims = (0..kept.len()).collect();
        shape::sort_by_key(&mut back, |&i| kept[i]);
        return Ok(y.permute(&back));
    }
    dense(op, (fold, combine), &x.contiguous()?, axes, out)
}

/// [`apply`] for a small array. The axes that it folds are adjacent in memory.
struct SmallFold {
    fold: ReduceLoop,
    slab: Slab,
    /// The bytes of the operand.
    bytes: usize,
    /// The dtype of the results.
    out: DType,
    /// The fold of the results of the first one, and how many bytes these have, if short rows are grouped.
    second: Option<(ReduceLoop, Slab, usize)>,
}

/// The kernel of [`apply`] for an array of this dtype and layout, and a result of that layout, where folded axes may have stayed
/// with size 1. None if it is not small, or the
/// folded axes are not adjacent in memory.
pub fn kernel(
    table: &ReduceLoops,
    (dtype, x): &(DType, Layout),
    axes: &[usize],
    out: &Layout,
) -> Option<Box<dyn Kernel>> {
    let (fold, combine) = table.loops[*dtype as usize].zip(table.combines[*dtype as usize])?;
    let rank = x.dims.len();
    // The axes as they lie in memory, and those that are not folded, as they lie in the memory of the result.
    let order = if x.is_contiguous() { (0..rank).collect() } else { x.dense_order()? };
    let inside: Dims = (0..rank).filter(|&i| axes.contains(&order[i])).collect();
    let (&first, &last) = inside.first().zip(inside.last())?;
    let is_long = |&a: &usize| x.dims[a] > 1;
    let kept: Dims = (0..rank).filter(|a| !axes.contains(a)).filter(is_long).collect();
    let made: Dims = (0..out.dims.len()).filter(|&a| out.dims[a] > 1).collect();
    let sizes = |dims: &Dims, of: &Layout| dims.iter().map(|&a| of.dims[a]).collect::<Dims>();
    if sizes(&kept, x) != sizes(&made, out) {
        return None;
    }
    let of_result = |a: &usize| kept.iter().position(|b| a == b).map(|i| made[i]);
    let in_memory: Dims = order.iter().filter_map(of_result).collect();
    let strides = shape::contiguous_strides(&sizes(&in_memory, out));
    let is_alike = in_memory.iter().zip(&strides).all(|(&a, &s)| out.strides[a] == s);
    let len = |r: Range<usize>| order[r].iter().try_fold(1usize, |n, &a| n.checked_mul(x.dims[a]));
    let (outer, n, inner) = (len(0..first)?, len(first..last + 1)?, len(last + 1..rank)?);
    let bytes = outer.checked_mul(n)?.checked_mul(inner)?.checked_mul(dtype.size())?;
    let is_one_run = inside.len() == last + 1 - first;
    let is_small = (1..par::MIN_BYTES).contains(&bytes);
    let slab = |n, inner| Slab { outer, n, inner, stride: inner };
    let (first, second) = match grouped(n, inner) {
        None => (slab(n, inner), None),
        Some(k) => {
            let room = outer * k * inner * table.out.unwrap_or(*dtype).size();
            (slab(n / k, k * inner), Some((combine, slab(k, inner), room)))
        }
    };
    let out = table.out.unwrap_or(*dtype);
    (is_alike && is_one_run && is_small)
        .then(|| Box::new(SmallFold { fold, slab: first, bytes, out, second }) as _)
}

// SAFETY: the slabs have the bytes that `reach` says and the results that `writes` says.
unsafe impl Kernel for SmallFold {
    fn writes(&self) -> Writes {
        smallvec![(
            self.out,
            self.slab.outer * self.second.map_or(self.slab.inner, |(_, slab, _)| slab.inner)
        )]
    }

    fn reach(&self, _: usize) -> Range<isize> {
        0..self.bytes as isize
    }

    fn scratch(&self) -> usize {
        self.second.map_or(0, |(.., bytes)| bytes)
    }

    unsafe fn run(&self, ins: &[SendPtr], outs: &[SendPtr], scratch: *mut u8) -> Result<()> {
        let out = outs[0].get();
        let to = if self.second.is_some() { scratch } else { out };
        // SAFETY: the operand has the elements of the slab, and there is room for its results.
        unsafe { (self.fold)(self.slab, ins[0].get(), to) };
        if let Some((combine, slab, _)) = self.second {
            // SAFETY: the slab has the results of the first fold, and there is room for its own.
            unsafe { combine(slab, scratch, out) };
        }
        Ok(())
    }
}

/// How many short rows are grouped into a long one, if they are.
fn grouped(n: usize, inner: usize) -> Option<usize> {
    let most = if inner > 1 { TOGETHER / inner } else { 0 };
    (2..=most).rev().find(|k| n >= MANY * k && n.is_multiple_of(*k))
}

/// [`apply`] for a contiguous array. Runs of adjacent axes are reduced one after another, the last run first.
fn dense(
    op: &'static str,
    (fold, combine): (ReduceLoop, ReduceLoop),
    x: &Array,
    axes: &[usize],
    out: DType,
) -> Result<Array> {
    let mut runs: SmallVec<[(usize, usize); 2]> = SmallVec::new();
    for &a in axes {
        match runs.last_mut() {
            Some((_, end)) if *end == a => *end += 1,
            _ => runs.push((a, a + 1)),
        }
    }
    let (first, last) = runs.pop().unwrap_or((0, 0));
    let mut y = reduce_adjacent(op, (fold, combine), x, first..last, out)?;
    while let Some((first, last)) = runs.pop() {
        y = reduce_adjacent(op, (combine, combine), &y, first..last, out)?;
    }
    Ok(y)
}

fn reduce_adjacent(
    op: &'static str,
    (fold, combine): (ReduceLoop, ReduceLoop),
    x: &Array,
    axes: Range<usize>,
    out: DType,
) -> Result<Array> {
    let size = |r: Range<usize>| x.dims()[r].iter().product::<usize>();
    let (outer, n, inner) = (size(0..axes.start), size(axes.clone()), size(axes.end..x.rank()));
    let dims: Dims = x.dims()[..axes.start].iter().chain(&x.dims()[axes.end..]).copied().collect();
    let (from, to) = (x.dtype().size(), out.size());
    // Groups several short rows into one long row; the group's results are folded at the end.
    if let Some(k) = grouped(n, inner) {
        let wide = x.reshape(&[outer, n / k, k * inner])?;
        let rows = reduce_adjacent(op, (fold, combine), &wide, 1..2, out)?.reshape(&[outer, k, inner])?;
        return reduce_adjacent(op, (combine, combine), &rows, 1..2, out)?.reshape(&dims);
    }
    // Blocks without columns have no results.
    let whole = Slab { outer: if inner == 0 { 0 } else { outer }, n, inner, stride: inner };
    if outer * n * inner * from < par::MIN_BYTES {
        return Array::build_raw(op, out, &dims, |o| {
            // SAFETY: `x` is contiguous with this shape, and the output has `outer * inner` elements.
            unsafe { fold(whole, x.ptr(), o) };
        });
    }
    if outer >= WIDE {
        return Array::build_raw(op, out, &dims, |o| {
            let o = SendPtr(o);
            par::pieces(outer, par::PIECE.div_ceil(n * inner), &|r| {
                let o = &o;
                let slab = Slab { outer: r.len(), ..whole };
                // SAFETY: as above, for the blocks of this piece.
                unsafe {
                    fold(slab, x.ptr().add(r.start * n * inner * from), o.0.add(r.start * inner * to));
                }
            });
        });
    }
    // One or few blocks: each is split into parts by rows and columns, and the results of its row parts are combined.
    let (width, height) = (width_of_part(inner), height_of_part(outer, n, inner, from));
    let (across, down) = (inner.div_ceil(width), n.div_ceil(height));
    let parts = if down == 1 { dims.clone() } else { Dims::from_slice(&[outer, down, inner]) };
    let parts = Array::build_raw(op, out, &parts, |o| {
        let o = SendPtr(o);
        par::pieces(outer * down * across, 1, &|r| {
            let o = &o;
            for part in r {
                let (block, column) = (part / across, part % across * width);
                let row = block % down * height;
                let slab = Slab {
                    outer: 1,
                    n: height.min(n - row),
                    inner: width.min(inner - column),
                    stride: inner,
                };
                let at = (block / down * n + row) * inner + column;
                // SAFETY: the part is inside the block, and its results are in row `block` of the output.
                unsafe { fold(slab, x.ptr().add(at * from), o.0.add((block * inner + column) * to)) };
            }
        });
    })?;
    if down == 1 {
        return Ok(parts);
    }
    reduce_adjacent(op, (combine, combine), &parts, 1..2, out)?.reshape(&dims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::sized;

    const SUM: &ReduceLoops = reduce_loops!(num T::ZERO; a, x => a.add(x));

    /// Sums over axes, by the definition.
    fn plain(x: &Array, axes: &[usize]) -> Vec<f64> {
        let kept: Dims = (0..x.rank()).filter(|a| !axes.contains(a)).collect();
        let sizes: Vec<usize> = kept.iter().map(|&a| x.dims()[a]).collect();
        let mut out = vec![0.0; sizes.iter().product()];
        for (at, v) in x.view::<f64>().indexed_iter() {
            out[kept.iter().zip(&sizes).fold(0, |i, (&a, d)| i * d + at[a])] += v;
        }
        out
    }

    #[test]
    fn every_layout_and_every_cut_gives_the_sum() {
        let all =
            [&[3, 4, 5][..], &[1, 90_000, 1], &[2, 70_000, 3], &[5, 3, 40_000], &[40, 50, 60], &[2, 0, 3]];
        for dims in sized(&all[..], &[&[3, 4, 5], &[1, 70, 1], &[2, 0, 3]]) {
            let n: usize = dims.iter().product();
            let data: Vec<f64> = (0..n).map(|i| (i % 17) as f64 - 3.0).collect();
            let x = Array::from_slice(&data, dims).unwrap();
            let orders = [[0, 1, 2], [1, 2, 0], [2, 1, 0]];
            for order in sized(&orders[..], &orders[..2]) {
                let x = x.permute(order);
                let all = [&[][..], &[0], &[1], &[2], &[0, 2], &[0, 1], &[1, 2], &[0, 1, 2]];
                for &axes in sized(&all[..], &all[1..5]) {
                    let got = apply("t", SUM, &x, axes).unwrap();
                    assert_eq!(got.to_vec::<f64>(), plain(&x, axes), "{dims:?} {order:?} {axes:?}");
                }
            }
        }
    }
}
