//! Strided copies, in parallel if they are large. They depend on the size of elements, not on their dtype.

use std::ops::Range;

use smallvec::SmallVec;

use super::transpose::{self, Axis, BLOCK};
use crate::array::by_size;
use crate::kernel::par::{self, SendPtr};
use crate::kernel::simd;
use crate::shape;

/// The order in which elements are copied.
struct CopyPlan {
    /// Offsets of the first element.
    from: isize,
    to: isize,
    /// The axes outside the innermost loop, sorted by falling destination stride.
    outer: SmallVec<[Axis; 4]>,
    /// An axis with a smaller source stride than the line's. If present, the copy runs in transposed tiles over this
    /// axis and `line`.
    near: Option<Axis>,
    line: Axis,
}

/// Shorter axes are not worth tiles.
const SHORT: usize = 4;

/// Copies elements of `size` bytes. The source needs no alignment.
///
/// # Safety
/// For all indices below `dims`, both strides lead to elements. The destination is aligned and overlaps neither
/// itself nor the source.
pub unsafe fn copy(size: usize, dims: &[usize], from: (*const u8, &[isize]), to: (*mut u8, &[isize])) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe { Copying::new(size, dims, from.1, to.1).run(from.0, to.0) }
}

/// A [`copy`] of elements of `size` bytes that is done many times.
pub struct Copying {
    size: usize,
    /// None if there are no elements.
    plan: Option<CopyPlan>,
}

impl Copying {
    pub fn new(size: usize, dims: &[usize], from: &[isize], to: &[isize]) -> Copying {
        Copying { size, plan: CopyPlan::new(dims, from, to) }
    }

    /// # Safety
    /// As [`copy`].
    pub unsafe fn run(&self, from: *const u8, to: *mut u8) {
        let Some(plan) = &self.plan else { return };
        // SAFETY: as the function's `# Safety` section requires.
        by_size!(self.size, T => unsafe { plan.part::<T>(0..plan.count(), from.cast(), to.cast()) });
    }
}

/// Transposes `n` lines of `m` elements, which begin `step` apart: element `i` of line `j` goes to `i · n + j`.
///
/// # Safety
/// The lines are readable, and `y` has room for all elements.
pub unsafe fn transposed<T: Copy + Default>((m, n): (usize, usize), (x, step): (*const T, isize), y: *mut T) {
    let (rows, line) = (Axis { n: m, from: 1, to: n as isize }, Axis { n, from: step, to: 1 });
    // SAFETY: as the function's `# Safety` section requires.
    unsafe { transpose::block(rows, line, x, y) }
}

/// [`copy`], in parallel if there are many elements.
///
/// # Safety
/// As [`copy`].
pub unsafe fn copy_parallel(
    size: usize,
    dims: &[usize],
    from: (*const u8, &[isize]),
    to: (*mut u8, &[isize]),
) {
    let Some(plan) = CopyPlan::new(dims, from.1, to.1) else { return };
    let (count, weight) = (plan.count(), plan.weight());
    by_size!(size, T => {
        let (x, y) = (SendPtr(from.0.cast_mut()), SendPtr(to.0));
        let work = |range: Range<usize>| {
            // SAFETY: as the function's `# Safety` section requires, and the parts of a plan are disjoint.
            unsafe { plan.part::<T>(range, x.get().cast_const().cast(), y.get().cast()) };
        };
        if par::is_worthwhile(count.saturating_mul(weight).saturating_mul(size)) {
            par::pieces(count, par::piece_size(count.saturating_mul(weight)).div_ceil(weight), &work);
        } else {
            work(0..count);
        }
    });
}

impl CopyPlan {
    /// `None` if there are no elements.
    fn new(dims: &[usize], from: &[isize], to: &[isize]) -> Option<CopyPlan> {
        if dims.contains(&0) {
            return None;
        }
        let mut first = (0, 0);
        let mut axes: SmallVec<[Axis; 4]> = SmallVec::new();
        for ((&n, &from), &to) in dims.iter().zip(from).zip(to).filter(|((n, _), _)| **n != 1) {
            let mut axis = Axis { n, from, to };
            if to < 0 {
                first.0 += from * (n as isize - 1);
                first.1 += to * (n as isize - 1);
                axis = Axis { n, from: -from, to: -to };
            }
            axes.push(axis);
        }
        shape::sort_by_key(&mut axes, |a| std::cmp::Reverse(a.to));
        let mut outer: SmallVec<[Axis; 4]> = SmallVec::new();
        for axis in axes {
            match outer.last_mut() {
                // Coalesces axes that are one axis in both arrays.
                Some(last) if joins(last.from, axis.from, axis.n) && joins(last.to, axis.to, axis.n) => {
                    *last = Axis { n: last.n * axis.n, ..axis };
                }
                _ => outer.push(axis),
            }
        }
        let line = outer.pop().unwrap_or(Axis { n: 1, from: 1, to: 1 });
        let step = |a: &Axis| a.from.unsigned_abs();
        let nearer = |a: &Axis| a.from != 0 && step(a) < step(&line) && a.n >= SHORT && line.n >= SHORT;
        let near = (0..outer.len()).filter(|&i| nearer(&outer[i])).min_by_key(|&i| step(&outer[i]));
        let near = near.map(|i| outer.remove(i));
        Some(CopyPlan { from: first.0, to: first.1, outer, near, line })
    }

    /// The number of parts: elements, or blocks of rows.
    fn count(&self) -> usize {
        let outer: usize = self.outer.iter().map(|a| a.n).product();
        outer * self.near.map_or(self.line.n, |near| near.n.div_ceil(BLOCK))
    }

    /// Elements of a part.
    fn weight(&self) -> usize {
        self.near.map_or(1, |near| near.n.min(BLOCK) * self.line.n)
    }

    /// # Safety
    /// As [`copy`].
    unsafe fn part<T: Copy + Default>(&self, range: Range<usize>, x: *const T, y: *mut T) {
        let (x, y) = (x.wrapping_offset(self.from), y.wrapping_offset(self.to));
        let size = self.near.map_or(self.line.n, |near| near.n.div_ceil(BLOCK));
        let (mut place, mut inside) = (Cursor::new(&self.outer, range.start / size), range.start % size);
        let mut left = range.len();
        // SAFETY: as the function's `# Safety` section requires for all lines and blocks. Addresses are computed with
        // `wrapping_offset`, because the source may be unaligned.
        unsafe {
            if let Some(near) = self.near {
                while left > 0 {
                    let row = inside * BLOCK;
                    let x = x.wrapping_offset(place.from + row as isize * near.from);
                    let y = y.wrapping_offset(place.to + row as isize * near.to);
                    let rows = Axis { n: BLOCK.min(near.n - row), ..near };
                    transpose::block(rows, self.line, x, y);
                    (left, inside) = (left - 1, inside + 1);
                    if inside == size {
                        place.step(&self.outer);
                        inside = 0;
                    }
                }
                return;
            }
            let Axis { from: s, to: t, .. } = self.line;
            simd::autovectorize(
                #[inline(always)]
                || {
                    while left > 0 {
                        let n = left.min(size - inside);
                        let x = x.wrapping_offset(place.from + inside as isize * s);
                        line(n, (x, s), (y.wrapping_offset(place.to + inside as isize * t), t));
                        (left, inside) = (left - n, 0);
                        place.step(&self.outer);
                    }
                },
            );
        }
    }
}

/// Whether two axes, the inner one with `n` elements, can be iterated as one.
fn joins(outer: isize, inner: isize, n: usize) -> bool {
    inner.checked_mul(n as isize) == Some(outer)
}

/// The position of an iteration over axes.
struct Cursor {
    index: SmallVec<[usize; 4]>,
    from: isize,
    to: isize,
}

impl Cursor {
    fn new(axes: &[Axis], mut count: usize) -> Cursor {
        let mut place = Cursor { index: SmallVec::from_elem(0, axes.len()), from: 0, to: 0 };
        for (i, a) in axes.iter().enumerate().rev() {
            place.index[i] = count % a.n;
            place.from += place.index[i] as isize * a.from;
            place.to += place.index[i] as isize * a.to;
            count /= a.n;
        }
        place
    }

    #[inline]
    fn step(&mut self, axes: &[Axis]) {
        for (i, a) in axes.iter().enumerate().rev() {
            self.index[i] += 1;
            (self.from, self.to) = (self.from + a.from, self.to + a.to);
            if self.index[i] < a.n {
                return;
            }
            self.index[i] = 0;
            (self.from, self.to) = (self.from - a.n as isize * a.from, self.to - a.n as isize * a.to);
        }
    }
}

/// Copies `n` elements. Constant strides let the loops vectorise.
///
/// # Safety
/// As [`copy`].
#[inline(always)]
unsafe fn line<T: Copy>(n: usize, (x, s): (*const T, isize), (y, t): (*mut T, isize)) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        match (s, t) {
            (1, 1) => std::ptr::copy_nonoverlapping(x.cast::<u8>(), y.cast(), n * size_of::<T>()),
            (0, 1) => {
                let x = x.read_unaligned();
                (0..n).for_each(|i| *y.add(i) = x);
            }
            (-1, 1) => (0..n).for_each(|i| *y.add(i) = x.wrapping_sub(i).read_unaligned()),
            (2, 1) => (0..n).for_each(|i| *y.add(i) = x.wrapping_add(2 * i).read_unaligned()),
            (1, 2) => (0..n).for_each(|i| *y.add(2 * i) = x.wrapping_add(i).read_unaligned()),
            _ => {
                for i in 0..n as isize {
                    *y.offset(i * t) = x.wrapping_offset(i * s).read_unaligned();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::array::Array;
    use crate::memory::sized;

    #[test]
    fn every_order_and_direction_of_axes_is_copied_right() {
        let all = [[1, 8, 8], [3, 70, 9], [2, 200, 133], [300, 8, 65], [1, 777, 1030], [5, 3, 2]];
        for &dims in sized(&all[..], &[[1, 8, 8], [2, 9, 3]]) {
            let n: usize = dims.iter().product();
            let bytes: Vec<u8> = (0..n).map(|i| (i % 251) as u8).collect();
            let narrow: Vec<i32> = (0..n as i32).collect();
            let wide: Vec<i64> = (0..n as i64).collect();
            let orders = [[0, 1, 2], [0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1], [1, 0, 2]];
            for order in sized(&orders[..], &orders[1..3]) {
                for &step in sized(&[1, -1, 2][..], &[-1, 2]) {
                    let seen = |x: Array| {
                        let x = x.permute(order);
                        let d = x.dims()[2];
                        let count = if step == 2 { d.div_ceil(2) } else { d };
                        x.slice_axis(2, if step < 0 { d - 1 } else { 0 }, count, step)
                    };
                    let x = seen(Array::from_slice(&bytes, &dims).unwrap());
                    assert_eq!(x.contiguous().unwrap().as_slice::<u8>().unwrap(), x.to_vec::<u8>());
                    let x = seen(Array::from_slice(&narrow, &dims).unwrap());
                    assert_eq!(x.contiguous().unwrap().as_slice::<i32>().unwrap(), x.to_vec::<i32>());
                    let x = seen(Array::from_slice(&wide, &dims).unwrap());
                    assert_eq!(x.contiguous().unwrap().as_slice::<i64>().unwrap(), x.to_vec::<i64>());
                    // The reverse: written into a whole array.
                    let mut whole = Array::zeros("t", x.dtype(), &dims).unwrap();
                    let layout = seen(whole.clone()).layout_in(&whole, 0).unwrap();
                    whole.write(&layout, &x).unwrap();
                    assert_eq!(seen(whole).to_vec::<i64>(), x.to_vec::<i64>());
                }
            }
        }
    }
}
