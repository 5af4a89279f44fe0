//! Gathers and scatters of few elements, whose places are known before the positions are.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::indexed::IndexedAxes;
use super::positions::{outside, place};
use crate::array::{Layout, by_size};
use crate::dtype::{DType, dispatch};
use crate::error::Result;
use crate::kernel::num::Field;
use crate::kernel::par::SendPtr;
use crate::kernel::sequence::{Kernel, Kind, Times, Writes};
use crate::shape::{self, Dims, Strides};

/// Which axes positions index.
#[derive(Clone, Copy)]
pub enum Indexed {
    Merged(IndexedAxes),
    /// The axis that is so many from the end. The positions have a number for each element of the values.
    Along(usize),
}

/// How the axes of values lead to elements of the whole array and to positions.
struct Lookup {
    dims: Dims,
    whole: Strides,
    positions: Strides,
    /// The stride of the indexed axis, and its size.
    step: isize,
    size: usize,
}

/// Elements that are adjacent in the values and in the whole array, and have one position.
struct Block {
    /// Where the block of position 0 begins in the whole array, in elements.
    start: isize,
    position: usize,
    /// Where it begins in the values, in elements.
    values: isize,
}

/// The blocks of some values, in C order.
struct Blocks {
    list: Box<[Block]>,
    /// The number of elements in each.
    length: usize,
    step: isize,
    size: usize,
}

impl Indexed {
    /// The lookup for a whole array of this layout and positions of this shape. The first `batch_ndim` axes of both have the same
    /// sizes or 1. None if the indexed axes are not one in memory.
    fn lookup(self, whole: &Layout, positions: &[usize], batch_ndim: usize) -> Option<Lookup> {
        let of_positions = shape::contiguous_strides(positions);
        let (mut dims, mut to_whole, mut to_positions) = (Dims::new(), Strides::new(), Strides::new());
        let mut axis = |size: usize, of_whole: isize, of_position: isize| {
            dims.push(size);
            to_whole.push(of_whole);
            to_positions.push(of_position);
        };
        let unless_one = |size: usize, stride: isize| if size == 1 { 0 } else { stride };
        let lanes = positions.iter().zip(&of_positions).take(batch_ndim);
        let is_alike = |(&w, &p): (&usize, &usize)| w == p || w == 1 || p == 1;
        let ranks = whole.dims.len().min(positions.len());
        if ranks < batch_ndim || !whole.dims.iter().zip(positions).take(batch_ndim).all(is_alike) {
            return None;
        }
        for ((&w, &s), (&p, &t)) in whole.dims.iter().zip(&whole.strides).zip(lanes) {
            axis(w.max(p), unless_one(w, s), unless_one(p, t));
        }
        let own = whole.dims.iter().copied().zip(whole.strides.iter().copied());
        let own: Vec<(usize, isize)> = own.skip(batch_ndim).collect();
        let seen: Vec<(usize, isize)> =
            positions.iter().copied().zip(of_positions.iter().copied()).skip(batch_ndim).collect();
        let (step, size) = match self {
            Indexed::Merged(IndexedAxes { outer, merged }) => {
                let (before, rest) = own.split_at(outer);
                let (indexed, after) = rest.split_at(merged);
                before.iter().for_each(|&(n, s)| axis(n, s, 0));
                seen.iter().for_each(|&(n, t)| axis(n, 0, t));
                after.iter().for_each(|&(n, s)| axis(n, s, 0));
                if indexed.windows(2).any(|w| w[0].1 != w[1].1 * w[1].0 as isize) {
                    return None;
                }
                (indexed.last().map_or(0, |a| a.1), indexed.iter().map(|a| a.0).product())
            }
            Indexed::Along(back) => {
                let at = own.len().checked_sub(back).filter(|_| own.len() == seen.len())?;
                // No position is beside the whole array.
                if own
                    .iter()
                    .zip(&seen)
                    .enumerate()
                    .any(|(a, (of_whole, of_seen))| a != at && of_seen.0 > of_whole.0)
                {
                    return None;
                }
                for (a, (&(_, s), &(n, t))) in own.iter().zip(&seen).enumerate() {
                    axis(n, if a == at { 0 } else { s }, t);
                }
                (own[at].1, own[at].0)
            }
        };
        Some(Lookup { dims, whole: to_whole, positions: to_positions, step, size })
    }
}

impl Lookup {
    fn blocks(self, values: &Layout) -> Option<Blocks> {
        let (rank, n) = (self.dims.len(), shape::len(&self.dims));
        let is_alike = |(&v, &n): (&usize, &usize)| v == n || v == 1;
        if values.dims.len() != rank || !values.dims.iter().zip(&self.dims).all(is_alike) {
            return None;
        }
        // An axis of the values may have size 1 where the whole array or the positions have lanes.
        let of_values: Strides =
            (0..rank).map(|a| if values.dims[a] == 1 { 0 } else { values.strides[a] }).collect();
        let mut length = 1;
        let mut inside = rank;
        while let Some(a) = inside.checked_sub(1) {
            let is_run = self.whole[a] == length as isize && of_values[a] == length as isize;
            if self.dims[a] != 1 && !(is_run && self.positions[a] == 0) {
                break;
            }
            length *= self.dims[a];
            inside = a;
        }
        let dims = &self.dims[..inside];
        let at = |i: usize, strides: &Strides| shape::offset(i, dims, &strides[..inside]);
        let block = |i: usize| Block {
            start: at(i, &self.whole),
            position: at(i, &self.positions) as usize,
            values: at(i, &of_values),
        };
        let list = (0..n / length.max(1)).map(block).collect();
        Some(Blocks { list, length, step: self.step, size: self.size })
    }
}

impl Blocks {
    /// Where a block of the whole array begins, in elements. None if its position is -1, which stands for no element.
    ///
    /// # Panics
    /// If the position is outside the axis.
    #[inline(always)]
    fn start(&self, block: &Block, position: i64) -> Option<isize> {
        if position as u64 >= self.size as u64 {
            assert!(position == -1, "a position leaves its axis");
            return None;
        }
        Some(block.start + position as isize * self.step)
    }
}

/// The positions of an operand, as bytes and their number. None if they are not contiguous.
fn positions_of((dtype, layout): &(DType, Layout)) -> Option<Range<isize>> {
    (*dtype == DType::I64 && layout.is_contiguous()).then(|| 0..(shape::len(&layout.dims) * 8) as isize)
}

struct Gather {
    blocks: Blocks,
    dtype: DType,
    /// The number of elements of the result.
    len: usize,
    reach: [Range<isize>; 2],
}

/// The kernel that gathers elements of the first operand at the positions of the second one. None if it is not for operands of
/// these dtypes and layouts.
pub fn gather_kernel(
    indexed: Indexed,
    ins: &[(DType, Layout)],
    batch_ndim: usize,
) -> Option<Box<dyn Kernel>> {
    let [(dtype, whole), positions] = ins else { return None };
    let lookup = indexed.lookup(whole, &positions.1.dims, batch_ndim)?;
    let made = Layout::contiguous(&lookup.dims);
    let reach = [Kind::from((*dtype, whole.clone())).bytes(), positions_of(positions)?];
    let len = shape::len(&made.dims);
    Some(Box::new(Gather { blocks: lookup.blocks(&made)?, dtype: *dtype, len, reach }))
}

// SAFETY: the blocks of `lookup` lie in operands of these layouts, and there are as many elements in them as in the result.
unsafe impl Kernel for Gather {
    fn writes(&self) -> Writes {
        smallvec![(self.dtype, self.len)]
    }

    fn reach(&self, operand: usize) -> Range<isize> {
        self.reach[operand].clone()
    }

    unsafe fn run(&self, ins: &[SendPtr], outs: &[SendPtr], _: *mut u8) -> Result<()> {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe { self.run_times(1, &[(ins[0], 0), (ins[1], 0)], (outs[0], 0)) }
    }

    fn times(&self) -> Option<&dyn Times> {
        Some(self)
    }
}

// SAFETY: as a kernel.
unsafe impl Times for Gather {
    unsafe fn run_times(
        &self,
        times: usize,
        ins: &[(SendPtr, isize)],
        (out, apart): (SendPtr, isize),
    ) -> Result<()> {
        let [(x, of_x), (at, of_at)] = [ins[0], ins[1]];
        let n = self.blocks.length;
        by_size!(self.dtype.size(), T => {
            for t in 0..times as isize {
                let (x, out) = (x.get().wrapping_offset(t * of_x).cast::<T>(), out.get().wrapping_offset(t * apart).cast::<T>());
                let at = at.get().wrapping_offset(t * of_at).cast::<i64>();
                for (i, block) in self.blocks.list.iter().enumerate() {
                    // SAFETY: a position inside the axis leads to a block of the operand, and each block has its place in the result.
                    unsafe {
                        let to = out.add(i * n);
                        match self.blocks.start(block, *at.add(block.position)) {
                            None => to.write_bytes(0, n),
                            Some(start) if n == 1 => *to = *x.offset(start),
                            Some(start) => to.copy_from_nonoverlapping(x.offset(start), n),
                        }
                    }
                }
            }
        });
        Ok(())
    }
}

struct ScatterAdd {
    blocks: Blocks,
    dtype: DType,
    /// The number of elements of the result.
    len: usize,
    reach: Vec<Range<isize>>,
}

/// The kernel that adds values, the first operand, at positions, the second one, to zeros with the visible axes `dims`, or to a
/// third operand. None if it is not for operands of these dtypes and layouts.
pub fn scatter_add_kernel(
    indexed: Indexed,
    dims: &[usize],
    ins: &[(DType, Layout)],
    batch_ndim: usize,
) -> Option<Box<dyn Kernel>> {
    let [(dtype, values), positions, onto @ ..] = ins else { return None };
    let lane = |a| ins.iter().map(|x| x.1.dims[a]).max().unwrap_or(1);
    let made: Dims = (0..batch_ndim).map(lane).chain(dims.iter().copied()).collect();
    let made = Layout::contiguous(&made);
    let is_like = |x: &(DType, Layout)| x.0 == *dtype && x.1 == made;
    if !matches!(dtype, DType::F32 | DType::F64) || !onto.iter().all(is_like) {
        return None;
    }
    let len = shape::len(&made.dims);
    let mut reach = vec![Kind::from((*dtype, values.clone())).bytes(), positions_of(positions)?];
    reach.extend(onto.iter().map(|_| 0..(len * dtype.size()) as isize));
    let blocks = indexed.lookup(&made, &positions.1.dims, batch_ndim)?.blocks(values)?;
    Some(Box::new(ScatterAdd { blocks, dtype: *dtype, len, reach }))
}

// SAFETY: the blocks of `lookup` lie in a result of `len` elements and in operands of these layouts.
unsafe impl Kernel for ScatterAdd {
    fn writes(&self) -> Writes {
        smallvec![(self.dtype, self.len)]
    }

    fn reach(&self, operand: usize) -> Range<isize> {
        self.reach[operand].clone()
    }

    unsafe fn run(&self, ins: &[SendPtr], outs: &[SendPtr], _: *mut u8) -> Result<()> {
        let (out, bytes) = (outs[0].get(), self.len * self.dtype.size());
        // SAFETY: the third operand is as large as the result.
        unsafe {
            match ins.get(2) {
                Some(x) => out.copy_from_nonoverlapping(x.get(), bytes),
                None => out.write_bytes(0, bytes),
            }
        }
        let at = ins[1].get().cast::<i64>();
        dispatch!(self.dtype, float T => {
            let (values, out) = (ins[0].get().cast::<T>(), out.cast::<T>());
            for block in &self.blocks.list {
                // SAFETY: a position inside the axis leads to a block of the result.
                unsafe {
                    let Some(start) = self.blocks.start(block, *at.add(block.position)) else { continue };
                    let (from, to) = (values.offset(block.values), out.offset(start));
                    for k in 0..self.blocks.length {
                        *to.add(k) = (*to.add(k)).add(*from.add(k));
                    }
                }
            }
        }, else unreachable!("floats"));
        Ok(())
    }
}

/// The indices of adjacent axes as positions.
struct Joined {
    op: &'static str,
    sizes: Box<[usize]>,
    steps: Strides,
    axes: Box<[usize]>,
    from_zero: bool,
    n: usize,
}

/// The kernel of [`ravel_indices`](super::ravel_indices) for operands of these dtypes and layouts. None if it is not for them.
pub fn join_kernel(
    op: &'static str,
    ins: &[(DType, Layout)],
    sizes: &[usize],
    axes: &[usize],
    from_zero: bool,
) -> Option<Box<dyn Kernel>> {
    let dims = &ins.first()?.1.dims;
    let is_like = |x: &(DType, Layout)| positions_of(x).is_some() && x.1.dims == *dims;
    let (n, steps) = (shape::len(dims), shape::contiguous_strides(sizes));
    let joined = Joined { op, sizes: sizes.into(), steps, axes: axes.into(), from_zero, n };
    ins.iter().all(is_like).then(|| Box::new(joined) as _)
}

// SAFETY: each operand has `n` indices, and the result as many positions.
unsafe impl Kernel for Joined {
    fn writes(&self) -> Writes {
        smallvec![(DType::I64, self.n)]
    }

    fn reach(&self, _: usize) -> Range<isize> {
        0..(self.n * 8) as isize
    }

    unsafe fn run(&self, ins: &[SendPtr], outs: &[SendPtr], _: *mut u8) -> Result<()> {
        let ins: SmallVec<[(SendPtr, isize); 4]> = ins.iter().map(|&x| (x, 0)).collect();
        // SAFETY: as the function's `# Safety` section requires.
        unsafe { self.run_times(1, &ins, (outs[0], 0)) }
    }

    fn times(&self) -> Option<&dyn Times> {
        Some(self)
    }
}

// SAFETY: as a kernel.
unsafe impl Times for Joined {
    unsafe fn run_times(
        &self,
        times: usize,
        ins: &[(SendPtr, isize)],
        (out, apart): (SendPtr, isize),
    ) -> Result<()> {
        for t in 0..times as isize {
            let out = out.get().wrapping_offset(t * apart).cast::<i64>();
            for i in 0..self.n {
                let mut sum = 0;
                for (((&(x, of_x), &size), &step), &axis) in
                    ins.iter().zip(&self.sizes).zip(&self.steps).zip(&self.axes)
                {
                    let x = x.get().wrapping_offset(t * of_x).cast::<i64>();
                    // SAFETY: each operand has as many indices as the result has positions.
                    let index = unsafe { *x.add(i) };
                    let at = place(index, if self.from_zero { 0 } else { size as i64 });
                    if at as u64 >= size as u64 {
                        return Err(outside(self.op, index.into(), axis, size));
                    }
                    sum += at * step as i64;
                }
                // SAFETY: as above.
                unsafe { *out.add(i) = sum };
            }
        }
        Ok(())
    }
}
