//! Elements picked along an axis by position, and put back there. A position of -1 stands for no element.

use super::chunks::{self, Blocks};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::Result;
use crate::kernel::num::Num;
use crate::shape::Dims;

/// The arrays with the same `lanes` leading sizes, each of which is 1 or the same in all.
pub fn all_lanes<const N: usize>(arrays: [&Array; N], lanes: usize) -> [Array; N] {
    let hidden = |a: usize| arrays.iter().map(|x| x.dims()[a]).find(|&d| d != 1).unwrap_or(1);
    let hidden: Dims = (0..lanes).map(hidden).collect();
    arrays.map(|x| {
        let dims: Dims = hidden.iter().chain(&x.dims()[lanes..]).copied().collect();
        x.expand(&dims, lanes)
    })
}

/// [`all_lanes`] of two.
pub fn same_lanes(x: &Array, y: &Array, lanes: usize) -> (Array, Array) {
    all_lanes([x, y], lanes).into()
}

/// `out[.., j, ..] = x[.., at[.., j, ..], ..]` along an axis; 0 where the position is -1.
///
/// # Panics
/// When a position is outside the axis.
pub fn pick(op: &'static str, x: &Array, at: &Array, axis: usize) -> Result<Array> {
    let (x, at) = (x.contiguous()?, at.contiguous()?);
    let (from, to) = (Blocks::of(x.dims(), axis), Blocks::of(at.dims(), axis));
    let at_all = at.as_slice::<i64>().expect("contiguous");
    dispatch!(x.dtype(), all T => {
        let x = x.as_slice::<T>().expect("contiguous");
        // Rows of single elements are taken together.
        let size = if to.inner == 1 { to.n } else { to.inner };
        // Each element is looked up, which takes as long as to move some.
        chunks::folded::<T>(op, at.dims(), size, size * 4, |first, out| {
            if size == 0 { return; }
            for (c, out) in (first..).zip(out.chunks_exact_mut(size)) {
                let x = &x[c * size / to.len() * from.len()..][..from.len()];
                for (i, (out, &j)) in out.iter_mut().zip(&at_all[c * size..]).enumerate() {
                    let column = if from.inner == 1 { 0 } else { i };
                    *out = if j < 0 { T::default() } else { x[j as usize * from.inner + column] };
                }
            }
        })
    })
}

/// The elements moved `by` places along an axis, at most as many as it has; those beyond the end come in at the start.
pub fn rolled(op: &'static str, x: &Array, axis: usize, by: usize) -> Result<Array> {
    let x = x.contiguous()?;
    let blocks = Blocks::of(x.dims(), axis);
    let (len, by) = (blocks.len(), by * blocks.inner);
    dispatch!(x.dtype(), all T => {
        let all = x.as_slice::<T>().expect("contiguous");
        chunks::build::<T>(op, x.dims(), 1, |mut at, mut out| {
            while !out.is_empty() {
                // What lies together, in the block and in what is left to be written.
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

/// The transpose of [`pick`]: zeros with `n` rows along the axis, and `out[.., at[.., j, ..], ..] += g[.., j, ..]`.
///
/// # Panics
/// When a position is outside the axis, or the dtype is bool.
pub fn put(op: &'static str, g: &Array, at: &Array, axis: usize, n: usize) -> Result<Array> {
    let (g, at) = (g.contiguous()?, at.contiguous()?);
    let mut dims = Dims::from_slice(g.dims());
    dims[axis] = n;
    let (from, to) = (Blocks::of(g.dims(), axis), Blocks::of(&dims, axis));
    let at_all = at.as_slice::<i64>().expect("contiguous");
    dispatch!(g.dtype(), num T => {
        let g = g.as_slice::<T>().expect("contiguous");
        chunks::build::<T>(op, &dims, to.len(), |first, out| {
            if to.len() == 0 { return; }
            out.fill(T::default());
            for (b, out) in out.chunks_exact_mut(to.len()).enumerate() {
                let g = &g[(first + b) * from.len()..][..from.len()];
                let at = &at_all[(first + b) * from.len()..][..from.len()];
                for (g, at) in g.chunks_exact(to.inner).zip(at.chunks_exact(to.inner)) {
                    for (i, (&g, &j)) in g.iter().zip(at).enumerate().filter(|(_, (_, j))| **j >= 0) {
                        let out = &mut out[j as usize * to.inner + i];
                        *out = Num::add(*out, g);
                    }
                }
            }
        })
    }, else unreachable!("truth values have no gradient"))
}
