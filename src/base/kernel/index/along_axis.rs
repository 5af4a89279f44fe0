//! Gather and scatter along an axis. A position of -1 stands for no element.

use std::ops::Range;

use crate::array::{Array, by_size};
use crate::dtype::dispatch;
use crate::error::{Result, bail};
use crate::kernel::interrupt;
use crate::kernel::num::Field;
use crate::kernel::output::{self, AxisBlocks};
use crate::kernel::par::{self, SendPtr};
use crate::shape::Dims;

/// `out[.., j, ..] = x[.., at[.., j, ..], ..]` along an axis, or 0 where the position is -1.
///
/// # Panics
/// If a position is outside the axis.
pub fn gather(op: &'static str, x: &Array, at: &Array, axis: usize) -> Result<Array> {
    let (x, at) = (x.contiguous()?, at.contiguous()?);
    let (from, to) = (AxisBlocks::of(x.dims(), axis), AxisBlocks::of(at.dims(), axis));
    let (at_all, x_dtype) = (at.as_slice::<i64>().expect("contiguous"), x.dtype());
    by_size!(x.dtype().size(), T => {
        // SAFETY: a contiguous array has this many elements of the size of `T`, which any bits are.
        let x = unsafe { elements::<T>(&x) };
        // Rows of single elements are handled together.
        let size = if to.inner == 1 { to.n } else { to.inner };
        // A lookup takes about as long as moving four elements.
        output::build_sized::<T>(op, x_dtype, at.dims(), size, size * 4, |first, out| {
            if size == 0 { return; }
            for (c, out) in (first..).zip(out.chunks_exact_mut(size)) {
                let x = &x[c * size / to.len() * from.len()..][..from.len()];
                // One check for both: as an unsigned number, -1 is above every bound.
                let element = |j: i64, column: usize| {
                    if (j as usize) < from.n {
                        return x[j as usize * from.inner + column];
                    }
                    assert!(j < 0, "{op}: a position leaves its axis");
                    T::default()
                };
                let at = &at_all[c * size..];
                for part in interrupt::parts(0..size, 1) {
                    let pairs = out[part.clone()].iter_mut().zip(&at[part.clone()]);
                    if from.inner == 1 {
                        pairs.for_each(|(out, &j)| *out = element(j, 0));
                    } else {
                        part.zip(pairs).for_each(|(column, (out, &j))| *out = element(j, column));
                    }
                }
            }
        })
    })
}

/// Rotates the elements along an axis by `by` positions, at most its size.
pub fn roll(op: &'static str, x: &Array, axis: usize, by: usize) -> Result<Array> {
    let x = x.contiguous()?;
    let blocks = AxisBlocks::of(x.dims(), axis);
    let (len, by) = (blocks.len(), by * blocks.inner);
    by_size!(x.dtype().size(), T => {
        // SAFETY: as in `gather`.
        let all = unsafe { elements::<T>(&x) };
        output::build_sized::<T>(op, x.dtype(), x.dims(), 1, 1, |mut at, mut out| {
            while !out.is_empty() {
                // The longest stretch that is contiguous in both arrays.
                let i = at % len;
                let (from, run) = if i < by { (i + len - by, by - i) } else { (i - by, len - i) };
                let run = run.min(out.len());
                let (to, rest) = out.split_at_mut(run);
                to.copy_from_slice(&all[at - i + from..][..run]);
                (at, out) = (at + run, rest);
            }
        })
    })
}

/// The transpose of [`gather`]: zeros with `n` rows along the axis, then `out[.., at[.., j, ..], ..] += g[.., j,
/// ..]`.
///
/// # Errors
/// If the dtype is bool.
///
/// # Panics
/// If a position is outside the axis.
pub fn scatter_add_to_zeros(op: &'static str, g: &Array, at: &Array, axis: usize, n: usize) -> Result<Array> {
    let mut dims = Dims::from_slice(g.dims());
    dims[axis] = n;
    scatter_add(op, Array::zeros(op, g.dtype(), &dims)?, at, g, axis)
}

/// A copy of `x` with `out[.., at[.., j, ..], ..] += values[.., j, ..]`, in the order of `j`.
///
/// # Errors
/// If the dtype is bool.
///
/// # Panics
/// If a position is outside the axis.
pub fn scatter_add(op: &'static str, x: Array, at: &Array, values: &Array, axis: usize) -> Result<Array> {
    let x = x.contiguous()?;
    dispatch!(x.dtype(), field T => scatter_with(op, x, values, at, axis, |out: &mut T, value| *out = Field::add(*out, value)),
        else bail!(Dtype, op, "truth values are not added up"))
}

/// A copy of `x` with `out[.., at[.., j, ..], ..] = values[.., j, ..]`; the last value of a repeated position stays.
///
/// # Panics
/// If a position is outside the axis.
pub fn scatter(op: &'static str, x: &Array, at: &Array, values: &Array, axis: usize) -> Result<Array> {
    let x = x.contiguous()?;
    by_size!(x.dtype().size(), T => scatter_with(op, x, values, at, axis, |out: &mut T, value| *out = value))
}

/// The elements of a contiguous array as values of a type of their size.
///
/// # Safety
/// The elements have the size of `T`, and all bits are a `T`.
unsafe fn elements<T>(x: &Array) -> &[T] {
    assert!(x.is_contiguous() && x.dtype().size() == size_of::<T>(), "elements of another size");
    // SAFETY: guaranteed by the caller. Buffers are aligned for every element.
    unsafe { std::slice::from_raw_parts(x.ptr().cast::<T>(), x.len()) }
}

/// Calls `lay` with each selected element of `out` and its value, in order.
fn scatter_with<T: Copy + Sync>(
    op: &'static str,
    mut out: Array,
    g: &Array,
    at: &Array,
    axis: usize,
    lay: impl Fn(&mut T, T) + Sync,
) -> Result<Array> {
    let (g, at) = (g.contiguous()?, at.contiguous()?);
    let (from, to) = (AxisBlocks::of(g.dims(), axis), AxisBlocks::of(out.dims(), axis));
    if g.len() == 0 {
        return Ok(out);
    }
    assert!(
        g.dtype() == out.dtype()
            && g.dims() == at.dims()
            && (from.inner, g.len() / from.len() * to.len()) == (to.inner, out.len()),
        "{op}: shapes that differ"
    );
    // SAFETY: as in `gather`; the values have the dtype of `out`.
    let (g, at) = (unsafe { elements::<T>(&g) }, at.as_slice::<i64>().expect("contiguous"));
    let blocks = g.len() / from.len();
    let shared = SendPtr(out.own()?);
    // A thread has some blocks and some columns, and does all writes to them.
    let work = |rows: Range<usize>, columns: Range<usize>| {
        // Local copies, because the compiler must assume that the loop may write what it reads through a reference.
        let (inner, len, n, lay) = (to.inner, to.len(), to.n, &lay);
        for b in rows {
            let (g, at) = (&g[b * from.len()..][..from.len()], &at[b * from.len()..][..from.len()]);
            // SAFETY: block `b` is inside the array.
            let out = unsafe { shared.get().cast::<T>().add(b * len) };
            let lay_at = move |j: i64, column: usize, value: T| {
                // As in `gather`.
                if (j as usize) < n {
                    // SAFETY: row `j` is inside the block, the column is below `inner`, and no other thread has this column.
                    lay(unsafe { &mut *out.add(j as usize * inner + column) }, value);
                } else {
                    assert!(j < 0, "{op}: a position leaves its axis");
                }
            };
            for part in interrupt::parts(0..from.n, columns.len()) {
                let part = part.start * inner..part.end * inner;
                let (g, at) = (&g[part.clone()], &at[part]);
                if inner == 1 {
                    g.iter().zip(at).for_each(|(&g, &j)| lay_at(j, 0, g));
                    continue;
                }
                for (g, at) in g.chunks_exact(inner).zip(at.chunks_exact(inner)) {
                    let pairs = g[columns.clone()].iter().zip(&at[columns.clone()]);
                    columns.clone().zip(pairs).for_each(|(column, (&g, &j))| lay_at(j, column, g));
                }
            }
        }
    };
    if g.len() < par::PIECE {
        work(0..blocks, 0..to.inner);
    } else if blocks > 1 {
        par::pieces(blocks, par::PIECE.div_ceil(from.len().max(to.len())), &|r| work(r, 0..to.inner));
    } else {
        par::pieces(to.inner, (to.inner / 8).next_multiple_of(16), &|r| work(0..1, r));
    }
    Ok(out)
}
