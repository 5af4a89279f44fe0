//! Arrays walked together under broadcasting: cut into runs in which each one stands still or steps by one element.

use std::ops::Range;

use smallvec::SmallVec;

use super::map::Shared;
use super::{par, simd};
use crate::array::Array;
use crate::error::Result;
use crate::shape::{self, Dims, Strides};

/// A walk over `N` arrays of one rank, broadcast against each other.
pub struct Walk<const N: usize> {
    /// The shape that they broadcast to.
    pub dims: Dims,
    /// How far each array steps inside a run, in elements: 0 or 1.
    pub steps: [usize; N],
    run: usize,
    /// The axes outside of a run: the size, and how far each array steps.
    outer: SmallVec<[(usize, [isize; N]); 4]>,
}

impl<const N: usize> Walk<N> {
    /// The arrays have one rank and have been made [`stepwise`].
    pub fn new(op: &'static str, ins: &[Array; N]) -> Result<Walk<N>> {
        let mut dims = Dims::from_slice(ins[0].dims());
        for a in &ins[1..] {
            dims = shape::broadcast(op, &dims, a.dims())?;
        }
        let strides: [Strides; N] = std::array::from_fn(|i| ins[i].expand(&dims, 0).strides());
        let mut outer: SmallVec<[(usize, [isize; N]); 4]> = SmallVec::new();
        for (axis, &d) in dims.iter().enumerate().filter(|(_, d)| **d != 1) {
            let step: [isize; N] = std::array::from_fn(|i| strides[i][axis]);
            match outer.last_mut() {
                // Neighbours that every array walks as one axis are one axis.
                Some((n, last)) if (0..N).all(|i| last[i] == step[i] * d as isize) => {
                    (*n, *last) = (*n * d, step);
                }
                _ => outer.push((d, step)),
            }
        }
        let (run, steps) = outer.pop().unwrap_or((1, [1; N]));
        Ok(Walk { dims, steps: steps.map(|s| s as usize), run, outer })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        shape::len(&self.dims)
    }

    /// Calls `f(first, offsets, n)` for each piece of a run in this range of elements: the piece begins at element
    /// `first` of the result and at these offsets (in elements) of the arrays, and has `n` elements.
    pub fn runs(&self, range: std::ops::Range<usize>, mut f: impl FnMut(usize, [isize; N], usize)) {
        let mut at = range.start;
        while at < range.end {
            let (mut left, inside) = (at / self.run, at % self.run);
            let mut offsets = self.steps.map(|s| (s * inside) as isize);
            for (d, steps) in self.outer.iter().rev() {
                let i = (left % d) as isize;
                left /= d;
                for (offset, step) in offsets.iter_mut().zip(steps) {
                    *offset += i * step;
                }
            }
            let n = (self.run - inside).min(range.end - at);
            f(at, offsets, n);
            at += n;
        }
    }
}

/// The array with an inner step of 0 or 1, copied if need be.
pub fn stepwise(x: &Array) -> Result<Array> {
    let inner = x.dims().iter().zip(&x.strides()).rev().find(|(d, _)| **d != 1).map_or(1, |(_, s)| *s);
    if inner == 0 || inner == 1 { Ok(x.clone()) } else { contiguous(x) }
}

/// The array in C order, copied if need be, by several threads where it is large.
pub fn contiguous(x: &Array) -> Result<Array> {
    if x.is_contiguous() {
        return Ok(x.clone());
    }
    if let Some(turn) = Turn::of(x) {
        return Array::build_raw("contiguous", x.dtype(), x.dims(), |out| match x.dtype().size() {
            4 => turn.run::<u32>(x, &Shared(out)),
            _ => turn.run::<u64>(x, &Shared(out)),
        });
    }
    let (rows, size) = (x.dims()[0], x.dtype().size());
    let row = x.len() / rows.max(1);
    Array::build_raw("contiguous", x.dtype(), x.dims(), |out| {
        let out = Shared(out);
        let part = |r: Range<usize>| {
            // SAFETY: the rows of this piece, which no other piece writes.
            unsafe { x.slice_axis(0, r.start, r.len(), 1).pack_into(out.get().add(r.start * row * size)) };
        };
        if x.len() * size < par::MIN_BYTES {
            part(0..rows);
        } else {
            par::pieces(rows, par::PIECE.div_ceil(row).next_multiple_of(16), &part);
        }
    })
}

/// Matrices, of which the rows of the copy are the columns of what is copied: tiles are turned in registers, inside of
/// blocks whose pages and lines are all near.
struct Turn {
    /// Rows and columns of the copy; how far apart its rows are, and the columns of what is copied.
    size: [usize; 2],
    step: [usize; 2],
    /// The other axes: their sizes, and their strides in what is copied and in the copy.
    outer: Dims,
    from: Strides,
    to: Strides,
}

/// Rows and columns of a tile.
const TILE: usize = 8;
/// Rows and columns of a block, a multiple of those of a tile.
const BLOCK: usize = 64;

impl Turn {
    /// Where an axis before the last is the one along which elements are neighbours.
    fn of(x: &Array) -> Option<Turn> {
        let (dims, from, to) = (x.dims(), x.strides(), shape::contiguous_strides(x.dims()));
        let last = x.rank().checked_sub(1)?;
        let near = (0..last).find(|&a| from[a] == 1 && dims[a] >= TILE)?;
        let fits = dims[last] >= TILE && from[last] >= TILE as isize && matches!(x.dtype().size(), 4 | 8);
        let others = || (0..last).filter(|&a| a != near);
        (fits && x.len() > 0).then(|| Turn {
            size: [dims[near], dims[last]],
            step: [to[near] as usize, from[last] as usize],
            outer: others().map(|a| dims[a]).collect(),
            from: others().map(|a| from[a]).collect(),
            to: others().map(|a| to[a]).collect(),
        })
    }

    /// Copies the array that this was made of.
    fn run<T: Copy + Default>(&self, x: &Array, out: &Shared) {
        let [m, n] = self.size;
        let down = m.div_ceil(BLOCK);
        let count = shape::len(&self.outer) * down;
        let pieces = |r: Range<usize>| {
            for i in r {
                let (matrix, row) = (i / down, i % down * BLOCK);
                let at = row as isize + shape::offset(matrix, &self.outer, &self.from);
                let to = (row * self.step[0]) as isize + shape::offset(matrix, &self.outer, &self.to);
                // SAFETY: rows `row..` of one of the matrices, which no other piece writes.
                unsafe {
                    let (x, out) = (x.ptr().cast::<T>().offset(at), out.get().cast::<T>().offset(to));
                    simd::same(
                        #[inline(always)]
                        || self.rows(BLOCK.min(m - row), x, out),
                    );
                }
            }
        };
        if m * n * count / down * size_of::<T>() < par::MIN_BYTES {
            pieces(0..count);
        } else {
            par::pieces(count, par::PIECE.div_ceil(BLOCK * n), &pieces);
        }
    }

    /// # Safety
    /// `x` has `m` elements in each of as many columns as a row of the copy, and `out` has room for `m` rows.
    #[inline(always)]
    unsafe fn rows<T: Copy + Default>(&self, m: usize, x: *const T, out: *mut T) {
        let (n, [down, across]) = (self.size[1], self.step);
        for block in (0..n).step_by(BLOCK) {
            let width = BLOCK.min(n - block);
            let (whole, wide) = (m / TILE * TILE, width / TILE * TILE);
            // SAFETY: the caller's promise; tiles and what is left of the block lie inside of it.
            unsafe {
                let (x, out) = (x.add(block * across), out.add(block));
                for j in (0..wide).step_by(TILE) {
                    for i in (0..whole).step_by(TILE) {
                        tile(x.add(j * across + i), across, out.add(i * down + j), down);
                    }
                }
                for i in 0..m {
                    for j in if i < whole { wide } else { 0 }..width {
                        *out.add(i * down + j) = *x.add(j * across + i);
                    }
                }
            }
        }
    }
}

/// Turns a tile: rows of the upper and the lower half are interleaved until each is a column.
///
/// # Safety
/// `x` and `out` have [`TILE`] elements in each of as many rows, `across` and `down` apart.
#[inline(always)]
unsafe fn tile<T: Copy + Default>(x: *const T, across: usize, out: *mut T, down: usize) {
    const HALF: usize = TILE / 2;
    // SAFETY: the caller's promise.
    let mut rows: [[T; TILE]; TILE] =
        std::array::from_fn(|j| unsafe { x.add(j * across).cast::<[T; TILE]>().read_unaligned() });
    for _ in 0..TILE.ilog2() {
        let mut next = [[T::default(); TILE]; TILE];
        for r in 0..HALF {
            for i in 0..HALF {
                (next[2 * r][2 * i], next[2 * r][2 * i + 1]) = (rows[r][i], rows[r + HALF][i]);
                (next[2 * r + 1][2 * i], next[2 * r + 1][2 * i + 1]) =
                    (rows[r][i + HALF], rows[r + HALF][i + HALF]);
            }
        }
        rows = next;
    }
    for (i, row) in rows.into_iter().enumerate() {
        // SAFETY: as above.
        unsafe { out.add(i * down).cast::<[T; TILE]>().write_unaligned(row) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turned_copies_have_every_element_in_its_place() {
        for dims in [[1, 8, 8], [3, 70, 9], [2, 200, 133], [300, 8, 65], [1, 777, 1030]] {
            let n: usize = dims.iter().product();
            let narrow: Vec<i32> = (0..n as i32).collect();
            let wide: Vec<i64> = (0..n as i64).collect();
            for order in [[0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1], [1, 0, 2]] {
                let x = Array::from_slice(&narrow, &dims).unwrap().permute(&order);
                assert_eq!(contiguous(&x).unwrap().as_slice::<i32>().unwrap(), x.to_vec::<i32>());
                let x = Array::from_slice(&wide, &dims).unwrap().permute(&order);
                assert_eq!(contiguous(&x).unwrap().as_slice::<i64>().unwrap(), x.to_vec::<i64>());
            }
        }
    }
}
