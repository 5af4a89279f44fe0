//! Index maps, which say from which element of which operand each element of a result comes.

use smallvec::{SmallVec, smallvec};

use crate::array::Layout;
use crate::shape::{self, Dims};

/// Elements of an operand that are elements of a result. Both layouts count elements in C order, and have one shape.
pub struct Part {
    pub operand: usize,
    pub from: Layout,
    pub to: Layout,
}

/// Where the elements of a result of this shape come from. Those that are in no part are zero.
pub struct IndexMap {
    pub dims: Dims,
    pub parts: SmallVec<[Part; 1]>,
}

impl IndexMap {
    /// The map of a result that is the elements of one operand at a layout of its C order.
    pub fn of(from: Layout) -> IndexMap {
        let (dims, to) = (from.dims.clone(), Layout::contiguous(&from.dims));
        IndexMap { dims, parts: smallvec![Part { operand: 0, from, to }] }
    }

    /// The map that gives an operand of so many elements this shape.
    pub fn reshaped(elements: usize, dims: Dims) -> IndexMap {
        let all = Layout::contiguous(&[elements]);
        IndexMap { dims, parts: smallvec![Part { operand: 0, from: all.clone(), to: all }] }
    }

    /// Whether all parts lie inside of the result, and of operands of these numbers of elements.
    pub fn fits(&self, lens: impl Iterator<Item = usize>) -> bool {
        let lens: SmallVec<[usize; 4]> = lens.collect();
        let lies =
            |layout: &Layout, len: usize| layout.dims.len() == layout.strides.len() && layout.fits(len);
        shape::checked_len(&self.dims).is_some_and(|len| {
            self.parts.iter().all(|Part { operand, from, to }| {
                let n = shape::checked_len(&from.dims);
                lens.get(*operand).is_some_and(|&x| lies(from, x))
                    && lies(to, len)
                    && n.is_some()
                    && n == shape::checked_len(&to.dims)
            })
        })
    }

    /// By element of the result, in C order: the operand that it comes from, and its place there in C order; None for a zero.
    /// None if a part leaves the result, or an operand of these numbers of elements.
    pub fn places(&self, lens: impl Iterator<Item = usize>) -> Option<Vec<Option<(usize, usize)>>> {
        if !self.fits(lens) {
            return None;
        }
        let mut places = vec![None; shape::checked_len(&self.dims)?];
        for Part { operand, from, to } in &self.parts {
            let n = shape::len(&from.dims);
            let at = |i: usize, of: &Layout| (of.offset + shape::offset(i, &of.dims, &of.strides)) as usize;
            for i in 0..n {
                places[at(i, to)] = Some((*operand, at(i, from)));
            }
        }
        Some(places)
    }
}
