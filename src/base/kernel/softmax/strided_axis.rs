//! Softmax along a strided axis. Works on blocks of adjacent columns that stay in the cache while they are read
//! again.

use super::exp::{exp_less, vectors};
use super::shares::{has_large, large};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::Result;
use crate::kernel::broadcast::{dense_order, inverse};
use crate::kernel::fast::Fast;
use crate::kernel::interrupt;
use crate::kernel::num::Real;
use crate::kernel::par::{self, SendPtr};
use crate::kernel::rows::not_defined;
use crate::shape::Dims;

/// The most columns of a block.
const MOST: usize = 256;
/// The most elements of a block.
const NEAR: usize = 1 << 16;
/// Rows in a partial sum. Two levels of sums keep the rounding error small.
const RUN: usize = 32;

/// The layout of an array whose last axis is strided.
pub struct StridedAxis {
    /// The axes in the order in which the array is contiguous.
    order: Dims,
    /// In memory there are `outer` blocks of `n` rows of `inner` elements; the rows run along the last axis.
    outer: usize,
    n: usize,
    inner: usize,
}

impl StridedAxis {
    /// The layout of a permuted contiguous array with many elements behind its last axis in memory; `None` for
    /// others.
    pub fn of(x: &Array) -> Option<StridedAxis> {
        let order = dense_order(x)?;
        let at = order.iter().position(|&a| a + 1 == order.len())?;
        let size = |axes: &[usize]| axes.iter().map(|&a| x.dims()[a]).product::<usize>();
        let (outer, n, inner) = (size(&order[..at]), x.dims()[order[at]], size(&order[at + 1..]));
        (inner >= 16 && n > 0).then_some(StridedAxis { order, outer, n, inner })
    }

    /// A new array of the same layout. `work` gets a block of columns and the output.
    fn build<T: Real>(
        &self,
        op: &'static str,
        x: &Array,
        work: impl Fn(ColumnBlock, *mut T) + Sync,
    ) -> Result<Array> {
        let dims: Dims = self.order.iter().map(|&a| x.dims()[a]).collect();
        let width = (NEAR / self.n).max(1).next_multiple_of(32).min(MOST).min(self.inner);
        let across = self.inner.div_ceil(width);
        let made = Array::build_raw(op, T::DTYPE, &dims, |o| {
            let o = SendPtr(o);
            let blocks = par::PIECE.div_ceil(self.n * width);
            par::pieces(self.outer * across, blocks, &|r| {
                for i in r {
                    let column = i % across * width;
                    let first = i / across * self.n * self.inner + column;
                    let block = ColumnBlock {
                        first,
                        n: self.n,
                        stride: self.inner,
                        width: width.min(self.inner - column),
                    };
                    work(block, o.get().cast());
                }
            });
        })?;
        Ok(made.permute(&inverse(&self.order)))
    }
}

/// Adjacent columns.
#[derive(Clone, Copy)]
struct ColumnBlock {
    first: usize,
    n: usize,
    stride: usize,
    width: usize,
}

impl ColumnBlock {
    fn rows(self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let rows = interrupt::parts(0..self.n, self.width).flatten();
        rows.map(move |k| self.first + k * self.stride..self.first + k * self.stride + self.width)
    }

    /// Row `k` of the block in the output.
    ///
    /// # Safety
    /// `out` has room for the whole array, and nothing else touches this row meanwhile.
    unsafe fn row<'a, T>(self, k: usize, out: *mut T) -> &'a mut [T] {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe { std::slice::from_raw_parts_mut(out.add(self.first + k * self.stride), self.width) }
    }

    /// The sum of each column. `row` writes the elements of a row into a buffer, which it may also read later.
    #[inline(always)]
    fn sums<T: Real>(self, mut row: impl FnMut(usize, &mut [T])) -> [T; MOST] {
        let (mut sums, mut run, mut buffer) = ([T::ZERO; MOST], [T::ZERO; MOST], [T::ZERO; MOST]);
        for k in interrupt::parts(0..self.n, self.width).flatten() {
            row(k, &mut buffer[..self.width]);
            for i in 0..self.width {
                run[i] = run[i].add(buffer[i]);
            }
            if k % RUN == RUN - 1 || k + 1 == self.n {
                for i in 0..MOST {
                    sums[i] = sums[i].add(run[i]);
                }
                run = [T::ZERO; MOST];
            }
        }
        sums
    }
}

/// The softmax, or its logarithm, along the last axis.
pub fn softmax(op: &'static str, layout: &StridedAxis, x: &Array, log: bool) -> Result<Array> {
    #[inline(always)]
    fn block<T: Real, const FAST: bool>((log, b, x, out): (bool, ColumnBlock, &[T], *mut T))
    where
        Fast<T>: Real,
    {
        let mut most = [T::lit(f64::NEG_INFINITY); MOST];
        for row in b.rows() {
            most.iter_mut().zip(&x[row]).for_each(|(m, &v)| *m = m.max(v));
        }
        let most = &mut most[..b.width];
        let mut less = [T::ZERO; MOST];
        let sums = b.sums(
            #[inline(always)]
            |k, buffer| {
                let row = &x[b.first + k * b.stride..][..b.width];
                less.iter_mut().zip(row.iter().zip(&*most)).for_each(|(d, (&v, &m))| *d = v.sub(m));
                exp_less::<T, FAST>(&less[..b.width], T::ZERO, buffer);
                if !log {
                    // SAFETY: blocks are disjoint, and only one row is borrowed at a time.
                    unsafe { b.row(k, out) }.copy_from_slice(buffer);
                }
            },
        );
        if log {
            most.iter_mut().for_each(|m| *m = if m.is_finite() { *m } else { T::lit(f64::NAN) });
            let mut rests = [T::ZERO; MOST];
            for i in 0..b.width {
                rests[i] = sums[i].ln();
            }
            for (k, row) in b.rows().enumerate() {
                // SAFETY: as above.
                let out = unsafe { b.row(k, out) };
                let parts = x[row].iter().zip(most.iter().zip(&rests));
                out.iter_mut().zip(parts).for_each(|(o, (&v, (&m, &rest)))| *o = v.sub(m).sub(rest));
            }
            return;
        }
        let shares = sums.map(|sum| T::ONE.div(sum));
        for k in 0..b.n {
            // SAFETY: as above.
            let out = unsafe { b.row(k, out) };
            out.iter_mut().zip(&shares).for_each(|(o, &share)| *o = o.mul(share));
        }
    }
    let all = x.permute(&layout.order);
    dispatch!(x.dtype(), float T => {
        let all = all.as_slice::<T>().expect("contiguous");
        layout.build::<T>(op, x, |b, out| {
            let args = (log, b, all, out);
            vectors!(block, T, args);
        })
    }, else not_defined(op, x.dtype()))
}

/// The gradient of [`softmax`] from its result `z`, as in [`super::last_axis::softmax_gradient`].
pub fn gradient(op: &'static str, layout: &StridedAxis, g: &Array, z: &Array, log: bool) -> Result<Array> {
    #[inline(always)]
    fn block<T: Real, const FAST: bool>((log, b, g, z, out): (bool, ColumnBlock, &[T], &[T], *mut T))
    where
        Fast<T>: Real,
    {
        let at = |k: usize| b.first + k * b.stride..b.first + k * b.stride + b.width;
        let sums = b.sums(
            #[inline(always)]
            |k, buffer| {
                if log {
                    buffer.copy_from_slice(&g[at(k)]);
                } else {
                    let pairs = g[at(k)].iter().zip(&z[at(k)]);
                    buffer.iter_mut().zip(pairs).for_each(|(p, (&g, &z))| *p = g.mul(z));
                }
            },
        );
        let mut larger = false;
        for k in 0..b.n {
            // SAFETY: blocks are disjoint, and only one row is borrowed at a time.
            let out = unsafe { b.row(k, out) };
            let (g, z) = (&g[at(k)], &z[at(k)]);
            larger |= has_large(log, z);
            if log {
                exp_less::<T, FAST>(z, T::ZERO, out);
                out.iter_mut().zip(g.iter().zip(&sums)).for_each(|(o, (&g, &sum))| *o = g.sub(o.mul(sum)));
            } else {
                let parts = g.iter().zip(z.iter().zip(&sums));
                out.iter_mut().zip(parts).for_each(|(o, (&g, (&z, &sum)))| *o = z.mul(g.sub(sum)));
            }
        }
        if !larger {
            return;
        }
        for i in 0..b.width {
            let Some(hit) = (0..b.n).find(|&k| z[at(k)][i] > large(log)) else { continue };
            // As for rows: the sum of all is 0.
            let others = (0..b.n).filter(|&k| k != hit);
            // SAFETY: as above.
            let rest = others.fold(T::ZERO, |sum, k| sum.sub(unsafe { b.row(k, out) }[i]));
            // SAFETY: as above.
            let out = unsafe { b.row(hit, out) };
            out[i] = rest;
        }
    }
    let (all_g, all_z) = (g.permute(&layout.order).contiguous()?, z.permute(&layout.order));
    dispatch!(z.dtype(), float T => {
        let (g, all_z) = (all_g.as_slice::<T>().expect("contiguous"), all_z.as_slice::<T>().expect("contiguous"));
        layout.build::<T>(op, z, |b, out| {
            let args = (log, b, g, all_z, out);
            vectors!(block, T, args);
        })
    }, else not_defined(op, z.dtype()))
}
