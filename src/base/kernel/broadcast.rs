//! Iteration over several strided arrays that broadcast against each other, and the orders of axes in which it is
//! fast.

use smallvec::SmallVec;

use crate::array::Array;
use crate::error::Result;
use crate::shape::{self, Dims, Strides};

/// An iteration over `N` arrays of the same rank, broadcast against each other. Its innermost loops are runs in which
/// every array has stride 0 or 1.
pub struct BroadcastIter<const N: usize> {
    /// The broadcast shape.
    pub dims: Dims,
    /// The stride of each array inside a run, in elements: 0 or 1.
    pub steps: [usize; N],
    run: usize,
    /// The axes outside the runs: sizes, and the strides of each array.
    outer: SmallVec<[(usize, [isize; N]); 4]>,
}

impl<const N: usize> BroadcastIter<N> {
    /// The arrays have the same rank and are [`stepwise`].
    pub fn new(op: &'static str, ins: &[Array; N]) -> Result<BroadcastIter<N>> {
        let mut dims = Dims::from_slice(ins[0].dims());
        for a in &ins[1..] {
            dims = shape::broadcast(op, &dims, a.dims())?;
        }
        let strides: [Strides; N] = std::array::from_fn(|i| {
            let mut strides = ins[i].strides();
            strides.iter_mut().zip(ins[i].dims()).filter(|(_, d)| **d == 1).for_each(|(s, _)| *s = 0);
            strides
        });
        let mut outer = joined(&dims, &strides);
        let (run, steps) = outer.pop().unwrap_or((1, [1; N]));
        Ok(BroadcastIter { dims, steps: steps.map(|s| s as usize), run, outer })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        shape::len(&self.dims)
    }

    /// Calls `f(first, offsets, n)` for each part of a run in this range: `n` elements, of which the first is element
    /// `first` of the result and element `offsets[i]` of array `i`.
    pub fn runs(&self, range: std::ops::Range<usize>, mut f: impl FnMut(usize, [isize; N], usize)) {
        if range.is_empty() {
            return;
        }
        let (mut at, mut inside) = (range.start, range.start % self.run);
        let mut offsets = [0; N];
        let mut place: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.outer.len());
        let mut left = at / self.run;
        for (i, (d, steps)) in self.outer.iter().enumerate().rev() {
            (place[i], left) = (left % d, left / d);
            moved(&mut offsets, steps, place[i] as isize);
        }
        while at < range.end {
            let n = (self.run - inside).min(range.end - at);
            f(at, std::array::from_fn(|i| offsets[i] + (self.steps[i] * inside) as isize), n);
            (at, inside) = (at + n, 0);
            for (i, (d, steps)) in self.outer.iter().enumerate().rev() {
                place[i] += 1;
                moved(&mut offsets, steps, 1);
                if place[i] < *d {
                    break;
                }
                place[i] = 0;
                moved(&mut offsets, steps, -(*d as isize));
            }
        }
    }
}

/// The axes of arrays with these strides, outermost first. Neighbours that are one axis for every array are joined, and
/// axes of size 1 are left out.
pub fn joined<const N: usize>(dims: &[usize], strides: &[Strides; N]) -> SmallVec<[(usize, [isize; N]); 4]> {
    let mut axes: SmallVec<[(usize, [isize; N]); 4]> = SmallVec::new();
    for (axis, &d) in dims.iter().enumerate().filter(|(_, d)| **d != 1) {
        let step: [isize; N] = std::array::from_fn(|i| strides[i][axis]);
        match axes.last_mut() {
            Some((n, last)) if (0..N).all(|i| last[i] == step[i] * d as isize) => {
                (*n, *last) = (*n * d, step);
            }
            _ => axes.push((d, step)),
        }
    }
    axes
}

fn moved<const N: usize>(offsets: &mut [isize; N], steps: &[isize; N], by: isize) {
    offsets.iter_mut().zip(steps).for_each(|(offset, step)| *offset += step * by);
}

/// The array with inner stride 0 or 1, copied if it has another.
pub fn stepwise(x: &Array) -> Result<Array> {
    if is_stepwise(x) { Ok(x.clone()) } else { x.contiguous() }
}

/// Whether the inner stride is 0 or 1.
pub fn is_stepwise(x: &Array) -> bool {
    let Some(strides) = x.own_strides() else { return true };
    let inner = x.dims().iter().zip(strides).rev().find(|(d, _)| **d != 1).map_or(1, |(_, s)| *s);
    inner == 0 || inner == 1
}

/// Rows shorter than `SHORT` are repeated to about `LONG` elements.
const SHORT: usize = 256;
const LONG: usize = 1024;

/// Makes the runs of an iteration longer when one of the arrays is a short row that is broadcast over many others:
/// the last axis but one is split, and the row is copied along its inner part. `None` if this does not pay. The
/// arrays have the same rank.
pub fn repeated<const N: usize>(ins: &[Array; N]) -> Result<Option<[Array; N]>> {
    let Some(whole) = ins.iter().max_by_key(|x| x.len()) else { return Ok(None) };
    let [ref lead @ .., d, n] = *whole.dims() else { return Ok(None) };
    if !(2..SHORT).contains(&n) || whole.len() < 4 * LONG {
        return Ok(None);
    }
    let full = |x: &Array| x.is_contiguous() && x.dims() == whole.dims();
    let once = |x: &Array| {
        x.dims()[lead.len()] == 1 && x.dims().iter().zip(whole.dims()).all(|(&own, &d)| own == 1 || own == d)
    };
    let row = |x: &Array| x.dims()[lead.len() + 1] == n;
    let rows = ins.iter().filter(|x| !full(x) && row(x)).map(Array::len).max();
    let (true, Some(rows)) = (ins.iter().all(|x| full(x) || once(x)), rows) else { return Ok(None) };
    let most = (LONG / n).min(whole.len() / (4 * rows));
    let Some(times) = (2..=most).rev().find(|k| d.is_multiple_of(*k)) else { return Ok(None) };
    let mut out = ins.clone();
    for x in &mut out {
        let mut dims: Dims = x.dims().into();
        let split = if full(x) { [d / times, times] } else { [1, 1] };
        dims[lead.len()] = split[0];
        dims.insert(lead.len() + 1, split[1]);
        let split = x.reshape(&dims)?;
        *x = if full(x) || !row(x) {
            split
        } else {
            dims[lead.len() + 1] = times;
            split.expand(&dims, 0).contiguous()?
        };
    }
    Ok(Some(out))
}

/// The order of axes in which the array is contiguous; `None` if it already is, or in no order.
pub fn dense_order(x: &Array) -> Option<Dims> {
    if x.is_contiguous() {
        return None;
    }
    let strides = x.strides();
    let mut order: Dims = (0..x.rank()).collect();
    shape::sort_by_key(&mut order, |&a| std::cmp::Reverse(strides[a]));
    x.permute(&order).is_contiguous().then_some(order)
}

/// The inverse of a permutation of axes.
pub fn inverse(order: &[usize]) -> Dims {
    let mut back = Dims::from_elem(0, order.len());
    order.iter().enumerate().for_each(|(i, &a)| back[a] = i);
    back
}

/// The order of axes in which one of the arrays is contiguous and all are stepwise; `None` if they are better
/// iterated as they are. The arrays have the same rank.
pub fn common_order<const N: usize>(ins: &[Array; N]) -> Option<Dims> {
    let most = ins.iter().map(Array::len).max();
    let whole = |x: &Array| x.is_contiguous() && Some(x.len()) == most;
    if ins.iter().any(whole) && ins.iter().all(is_stepwise) {
        return None;
    }
    let order = ins.iter().find_map(dense_order)?;
    ins.iter().all(|x| is_stepwise(&x.permute(&order))).then_some(order)
}

/// The arrays with their first `batch_ndim` axes broadcast against each other.
pub fn broadcast_batch<const N: usize>(arrays: [&Array; N], batch_ndim: usize) -> [Array; N] {
    let hidden = |a: usize| arrays.iter().map(|x| x.dims()[a]).find(|&d| d != 1).unwrap_or(1);
    let hidden: Dims = (0..batch_ndim).map(hidden).collect();
    arrays.map(|x| {
        let dims: Dims = hidden.iter().chain(&x.dims()[batch_ndim..]).copied().collect();
        x.expand(&dims, batch_ndim)
    })
}

/// [`broadcast_batch`] of two arrays.
pub fn broadcast_batch_pair(x: &Array, y: &Array, batch_ndim: usize) -> (Array, Array) {
    broadcast_batch([x, y], batch_ndim).into()
}
