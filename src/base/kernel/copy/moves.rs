//! Elements that are moved to known places.

use std::ops::Range;

use smallvec::smallvec;

use crate::array::by_size;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernel::par::SendPtr;
use crate::kernel::sequence::{Kernel, Writes};

/// Adjacent elements of fewer bytes are moved one by one, those of more as a run.
const SHORT: usize = 32;

/// Adjacent bytes of the result.
enum Piece {
    Zeros {
        bytes: usize,
    },
    /// They are adjacent in an operand.
    Run {
        operand: usize,
        start: isize,
        bytes: usize,
    },
    /// The elements lie anywhere in an operand: where each begins.
    Elements {
        operand: usize,
        starts: Box<[i32]>,
    },
}

/// Moves elements of one dtype.
pub struct Moves {
    dtype: DType,
    /// The number of elements of the result.
    len: usize,
    reach: Vec<Range<isize>>,
    pieces: Vec<Piece>,
}

impl Moves {
    /// The moves that make a result. Each of its elements comes from an operand, so many bytes after the first element of that,
    /// or is zero (None). `reach` has the bytes of each operand, counted from its first element. None if an element lies outside of
    /// its operand.
    pub fn new(dtype: DType, reach: Vec<Range<isize>>, elements: &[Option<(usize, isize)>]) -> Option<Moves> {
        let size = dtype.size();
        let end = size as isize;
        let is_inside = |&(k, at): &(usize, isize)| {
            reach.get(k).is_some_and(|range: &Range<isize>| range.start <= at && at <= range.end - end)
        };
        if !elements.iter().flatten().all(is_inside) {
            return None;
        }
        let mut pieces: Vec<Piece> = vec![];
        let mut few: Vec<(usize, i32)> = vec![];
        let finish = |few: &mut Vec<(usize, i32)>, pieces: &mut Vec<Piece>| {
            for list in few.chunk_by(|a, b| a.0 == b.0) {
                let starts = list.iter().map(|(_, start)| *start).collect();
                pieces.push(Piece::Elements { operand: list[0].0, starts });
            }
            few.clear();
        };
        let follows = |a: &Option<(usize, isize)>, b: &Option<(usize, isize)>| match (a, b) {
            (None, None) => true,
            (Some((j, x)), Some((k, y))) => j == k && x + end == *y,
            _ => false,
        };
        for run in elements.chunk_by(follows) {
            let bytes = run.len() * size;
            match run[0] {
                Some((k, _)) if bytes < SHORT => {
                    for (_, at) in run.iter().flatten() {
                        few.push((k, i32::try_from(*at).ok()?));
                    }
                }
                first => {
                    finish(&mut few, &mut pieces);
                    pieces.push(match first {
                        None => Piece::Zeros { bytes },
                        Some((operand, start)) => Piece::Run { operand, start, bytes },
                    });
                }
            }
        }
        finish(&mut few, &mut pieces);
        Some(Moves { dtype, len: elements.len(), reach, pieces })
    }
}

// SAFETY: `new` checked that all places are in the operands, and the pieces together are `len` elements.
unsafe impl Kernel for Moves {
    fn writes(&self) -> Writes {
        smallvec![(self.dtype, self.len)]
    }

    fn reach(&self, operand: usize) -> Range<isize> {
        self.reach[operand].clone()
    }

    unsafe fn run(&self, ins: &[SendPtr], outs: &[SendPtr], _: *mut u8) -> Result<()> {
        let mut out = outs[0].get();
        for piece in &self.pieces {
            // SAFETY: `new` checked that all places are in the operands, and the pieces together are the result.
            unsafe {
                match piece {
                    Piece::Zeros { bytes } => {
                        out.write_bytes(0, *bytes);
                        out = out.add(*bytes);
                    }
                    Piece::Run { operand, start, bytes } => {
                        out.copy_from_nonoverlapping(ins[*operand].get().offset(*start), *bytes);
                        out = out.add(*bytes);
                    }
                    Piece::Elements { operand, starts } => {
                        let x = ins[*operand].get();
                        by_size!(self.dtype.size(), T => {
                            let to = out.cast::<T>();
                            for (i, &start) in starts.iter().enumerate() {
                                to.add(i).write_unaligned(x.offset(start as isize).cast::<T>().read_unaligned());
                            }
                        });
                        out = out.add(starts.len() * self.dtype.size());
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::sized;

    #[test]
    fn elements_come_to_their_places() {
        let (x, y): (Vec<u32>, Vec<u32>) = ((1..=40).collect(), (101..=140).collect());
        let mut seed = 7u32;
        let mut random = |n: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % n
        };
        for _ in 0..sized(200, 5) {
            let mut elements = vec![];
            while elements.len() < 100 {
                let (k, at, n) = (random(3), random(30), 1 + random(20));
                let n = n.min(40 - at);
                elements.extend((at..at + n).map(|i| (k < 2).then_some((k, 4 * i as isize))));
            }
            let moves =
                Moves::new(DType::F32, vec![0..160, 0..160], &elements).expect("the places are inside");
            let mut found = vec![u32::MAX; elements.len()];
            let ins = [&x, &y].map(|x| SendPtr(x.as_ptr().cast_mut().cast()));
            // SAFETY: the operands have 40 elements, and there is room for all results.
            unsafe { moves.run(&ins, &[SendPtr(found.as_mut_ptr().cast())], std::ptr::null_mut()) }
                .expect("moves do not fail");
            let expected: Vec<u32> = elements
                .iter()
                .map(|place| place.map_or(0, |(k, at)| [&x, &y][k][at as usize / 4]))
                .collect();
            assert_eq!(found, expected);
        }
        for outside in [(0, 16), (0, -4), (1, 0)] {
            assert!(Moves::new(DType::F32, std::iter::once(0..16).collect(), &[Some(outside)]).is_none());
        }
    }
}
