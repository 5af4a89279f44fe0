//! Folds of rows whose elements come a tile at a time and need not be in memory together. The bits are those of
//! [`apply`](super::apply).

use crate::dtype::DType;
use crate::kernel::num::Field;
use crate::kernel::reduce::loops::{ReduceLoop, ReduceLoops, Slab, TileLoops, height_of_part};
use crate::kernel::reduce::pairwise::{Fold, LANES, LEAF, ROWS, SumOf, TREE, add_rows, end_of_leaf, tree};
use crate::kernel::simd;

/// The longest rows that a tile holds as a whole.
const SHORT: usize = 2048;
/// The loops of sums.
pub fn sums(dtype: DType) -> Option<TileLoops> {
    match dtype {
        DType::F32 => Some(TileLoops {
            add: |n, x, lanes, begins, ends| {
                let sum = SumOf(|x: f32| x);
                // SAFETY: whoever calls it passes what `AddTile` says, of this dtype.
                unsafe { add(sum, n, x.cast::<f32>(), lanes.cast(), begins, ends) };
            },
            // SAFETY: as above.
            end: |leaves, x, out| unsafe { end(SumOf(|x: f32| x), leaves, x.cast(), out.cast()) },
        }),
        DType::F64 => Some(TileLoops {
            add: |n, x, lanes, begins, ends| {
                let sum = SumOf(|x: f64| x);
                // SAFETY: as above.
                unsafe { add(sum, n, x.cast::<f64>(), lanes.cast(), begins, ends) };
            },
            // SAFETY: as above.
            end: |leaves, x, out| unsafe { end(SumOf(|x: f64| x), leaves, x.cast(), out.cast()) },
        }),
        _ => None,
    }
}

/// # Safety
/// `x` has `n` elements, and `lanes` room for [`LANES`], which are valid unless the leaf begins.
#[inline(always)]
unsafe fn add<T: Copy, F: Fold<T>>(
    fold: F,
    n: usize,
    x: *const T,
    lanes: *mut F::Out,
    begins: bool,
    ends: bool,
) {
    simd::autovectorize_floats_for::<F, ()>(
        #[inline(always)]
        || {
            // SAFETY: as the function's `# Safety` section requires.
            let (x, cell) =
                unsafe { (std::slice::from_raw_parts(x, n), &mut *lanes.cast::<[F::Out; LANES]>()) };
            let (rows, rest) = x.as_chunks::<LANES>();
            let mut lanes = if begins { [fold.init(); LANES] } else { *cell };
            add_rows(fold, rows, &mut lanes);
            if ends {
                lanes[0] = end_of_leaf(fold, &lanes, rest);
            }
            *cell = lanes;
        },
    );
}

/// # Safety
/// `x` has the results of the leaves, and `out` room for one element.
unsafe fn end<T, F: Fold<T>>(fold: F, leaves: usize, x: *const F::Out, out: *mut F::Out) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe { out.write(tree(fold, leaves, |i| *x.add(i * LANES))) };
}

/// The longest rows whose sums need no call for each of them.
const FEW: usize = 4;

/// The sums of rows of at most [`FEW`] elements.
///
/// # Safety
/// As a loop of a fold, of this dtype.
unsafe fn few<T: Field>(Slab { outer, n, .. }: Slab, x: *const u8, out: *mut u8) {
    /// # Safety
    /// `x` has rows of `N` elements, and `out` has room for their sums.
    #[inline(always)]
    unsafe fn of<const N: usize, T: Field>(rows: usize, x: *const T, out: *mut T) {
        for row in 0..rows {
            let mut sum = T::ZERO;
            for i in 0..N {
                // SAFETY: as the function's `# Safety` section requires.
                sum = sum.add(unsafe { *x.add(row * N + i) });
            }
            // SAFETY: as above.
            unsafe { out.add(row).write(sum) };
        }
    }
    let (x, out) = (x.cast::<T>(), out.cast::<T>());
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        match n {
            2 => of::<2, T>(outer, x, out),
            3 => of::<3, T>(outer, x, out),
            _ => of::<FEW, T>(outer, x, out),
        }
    }
}

/// How a fold takes rows.
#[derive(Clone)]
enum Rows {
    /// Tiles hold whole rows.
    Short,
    /// Rows consist of leaves, and leaves of tiles.
    Long(TileLoops),
}

/// A fold of adjacent rows of equal length.
#[derive(Clone)]
pub struct RowFold {
    rows: usize,
    n: usize,
    dtype: DType,
    out: DType,
    fold: ReduceLoop,
    combine: ReduceLoop,
    way: Rows,
}

impl RowFold {
    /// The fold of `rows` rows of `n` elements. None if the rows cannot come in tiles.
    pub fn new(table: &ReduceLoops, dtype: DType, (rows, n): (usize, usize)) -> Option<RowFold> {
        let (fold, combine) = (table.loops[dtype as usize]?, table.combines[dtype as usize]?);
        if n == 0 || rows == 0 {
            return None;
        }
        let way = match table.sums.and_then(|of| of(dtype)).filter(|_| consists_of_leaves(rows, n, dtype)) {
            Some(loops) => Rows::Long(loops),
            None if n <= SHORT => Rows::Short,
            None => return None,
        };
        let fold = match (table.sums, dtype) {
            (Some(_), DType::F32) if (2..=FEW).contains(&n) => few::<f32>,
            (Some(_), DType::F64) if (2..=FEW).contains(&n) => few::<f64>,
            _ => fold,
        };
        let out = table.out.unwrap_or(dtype);
        Some(RowFold { rows, n, dtype, out, fold, combine, way })
    }

    /// How many elements it folds.
    pub fn elements(&self) -> usize {
        self.rows * self.n
    }

    /// The dtype of the elements that it folds.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Whether its results have this dtype.
    pub fn makes(&self, dtype: DType) -> bool {
        self.out == dtype
    }

    /// How many bytes the results have.
    pub fn result_bytes(&self) -> usize {
        self.rows * self.out.size()
    }

    /// How many bytes of memory it needs for what is not complete: the accumulators of all leaves, and the results of the
    /// parts of each row.
    pub fn room(&self) -> usize {
        match self.way {
            Rows::Short => 0,
            Rows::Long(_) => {
                let parts = if self.parts() > 1 { self.parts() } else { 0 };
                self.rows * (self.n.div_ceil(LEAF) * LANES + parts) * self.out.size()
            }
        }
    }

    /// How many parts of each row are folded before their results are.
    fn parts(&self) -> usize {
        self.n.div_ceil(height_of_part(self.rows, self.n, 1, self.dtype.size()))
    }

    /// Folds the `n` elements of a tile. Its first element has number `start`.
    ///
    /// # Safety
    /// `x` has the elements. `out` has room for the results, and `room` as many bytes as [`RowFold::room`] says. No other
    /// thread folds the same rows or leaves. A tile holds whole rows, or lies inside of a leaf. The tiles of a leaf come in
    /// order.
    pub unsafe fn add(&self, start: usize, n: usize, x: *const u8, room: *mut u8, out: *mut u8) {
        let size = self.out.size();
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            match self.way {
                Rows::Short => {
                    let slab = Slab { outer: n / self.n, n: self.n, inner: 1, stride: 1 };
                    (self.fold)(slab, x, out.add(start / self.n * size));
                }
                Rows::Long(loops) => {
                    // Where there are several rows, they consist of whole leaves.
                    let lanes = room.add(start / LEAF * LANES * size);
                    let end = start + n;
                    let ends = end.is_multiple_of(LEAF) || end == self.rows * self.n;
                    (loops.add)(n, x, lanes, start.is_multiple_of(LEAF), ends);
                }
            }
        }
    }

    /// Completes the results, once all elements have been folded.
    ///
    /// # Safety
    /// `room` and `out` are those of [`RowFold::add`].
    pub unsafe fn end(&self, room: *mut u8, out: *mut u8) {
        let Rows::Long(loops) = self.way else { return };
        let size = self.out.size();
        let part = height_of_part(self.rows, self.n, 1, self.dtype.size());
        let (parts, all) = (self.parts(), self.n.div_ceil(LEAF));
        let most = part.div_ceil(LEAF);
        // SAFETY: the leaves of a part are among those of its row, and all of them have ended. Behind the leaves there is room for
        // a result of each part, if there are several. The parts are the rows of the slab, and there is a result of each row.
        unsafe {
            let to = if parts == 1 { out } else { room.add(self.rows * all * LANES * size) };
            for (row, k) in (0..self.rows).flat_map(|row| (0..parts).map(move |k| (row, k))) {
                let first = k * most;
                let x = room.add((row * all + first) * LANES * size);
                (loops.end)(most.min(all - first), x, to.add((row * parts + k) * size));
            }
            if parts > 1 {
                let slab = Slab { outer: self.rows, n: parts, inner: 1, stride: 1 };
                (self.combine)(slab, to, out);
            }
        }
    }
}

/// Whether each row, and each part of it, is folded as a tree of leaves, and no leaf has elements of two rows.
fn consists_of_leaves(rows: usize, n: usize, dtype: DType) -> bool {
    let last = n % height_of_part(rows, n, 1, dtype.size());
    n >= TREE && (last == 0 || last >= TREE) && (rows == 1 || n.is_multiple_of(LEAF))
}

/// The lengths that tiles can have.
#[derive(Clone, Copy)]
pub struct Lengths {
    /// They are multiples of this.
    unit: usize,
    /// And they divide leaves.
    are_in_leaves: bool,
}

impl Lengths {
    /// Tiles of any length.
    pub const ANY: Lengths = Lengths { unit: 1, are_in_leaves: false };

    /// The lengths that suit a fold too. None if no length does.
    pub fn with(self, fold: &RowFold) -> Option<Lengths> {
        let lengths = match fold.way {
            Rows::Short => Lengths { unit: common_multiple(self.unit, fold.n)?, ..self },
            Rows::Long(_) => Lengths { are_in_leaves: true, ..self },
        };
        let is_possible = lengths.unit <= SHORT && (!lengths.are_in_leaves || lengths.unit.is_power_of_two());
        is_possible.then_some(lengths)
    }

    /// The shortest tile.
    pub fn least(self) -> usize {
        if self.are_in_leaves { self.unit.max(LANES * ROWS) } else { self.unit }
    }

    /// The longest tile of at most `most` elements, or the shortest one.
    pub fn longest(self, most: usize) -> usize {
        let least = self.least();
        if most <= least {
            least
        } else if self.are_in_leaves {
            1 << most.min(LEAF).ilog2()
        } else {
            most / least * least
        }
    }

    /// A thread takes a multiple of this many elements, if tiles have this length.
    pub fn piece(self, tile: usize) -> usize {
        if self.are_in_leaves { LEAF } else { tile }
    }
}

fn common_multiple(a: usize, b: usize) -> Option<usize> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;
    use crate::kernel::reduce::{apply, reduce_loops};
    use crate::memory::sized;

    #[test]
    fn tiles_of_any_length_give_the_bits_of_the_whole() {
        let row: &ReduceLoops = reduce_loops!(field T::ZERO; a, x => a.add(x));
        let table = &row.of_sums(sums);
        let shapes = [
            (1, 2),
            (7, 3),
            (90, 2),
            (130, 4),
            (50, 64),
            (5, 1000),
            (1, 1500),
            (1, 2048),
            (3, 4096),
            (2, 8192),
            (20, 4096),
        ];
        let shapes = sized(&shapes[..], &shapes[..5]).iter().copied();
        let long = [(1, 5000), (1, (1 << 17) + 3000), (1, (1 << 18) + 4097), (2, 1 << 18)];
        // Rows that leaves straddle, and a last part that is no tree.
        let odd = [(3, 5000), (1, (1 << 17) + 100)];
        let (mut taken, mut refused) = (0, 0);
        for (rows, n) in
            shapes.chain(sized(&long[..], &[]).iter().copied()).chain(sized(&odd[..], &[]).iter().copied())
        {
            let data: Vec<f32> = (0..rows * n).map(|i| ((i * 7919) % 1000) as f32 / 7.0 - 60.0).collect();
            let x = Array::from_slice(&data, &[rows, n]).unwrap();
            let whole = apply("t", table, &x, &[1]).unwrap().to_vec::<f32>();
            let Some(fold) = RowFold::new(table, DType::F32, (rows, n)) else {
                refused += 1;
                continue;
            };
            taken += 1;
            let lengths = Lengths::ANY.with(&fold).unwrap();
            for &most in sized(&[1, 64, 200, 1000, 2048, 4096][..], &[1, 64, 4096]) {
                let tile = lengths.longest(most);
                let mut room = vec![0u64; fold.room().div_ceil(8)];
                let mut found = vec![0f32; rows];
                let (room, out) = (room.as_mut_ptr().cast::<u8>(), found.as_mut_ptr().cast::<u8>());
                for start in (0..rows * n).step_by(tile) {
                    let count = tile.min(rows * n - start);
                    // SAFETY: the tile is inside of the array, and the tiles come in order.
                    unsafe { fold.add(start, count, x.ptr().add(start * 4), room, out) };
                }
                // SAFETY: all tiles have come.
                unsafe { fold.end(room, out) };
                let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&found), bits(&whole), "{rows} {n} {tile}");
            }
        }
        assert_eq!((taken, refused), sized((15, 2), (5, 0)));
    }

    #[test]
    fn folds_go_together_where_a_tile_suits_both() {
        let row: &ReduceLoops = reduce_loops!(field T::ZERO; a, x => a.add(x));
        let table = &row.of_sums(sums);
        let fold = |rows, n| RowFold::new(table, DType::F64, (rows, n)).unwrap();
        let lengths = Lengths::ANY.with(&fold(600, 10)).unwrap().with(&fold(1000, 6)).unwrap();
        assert_eq!((lengths.least(), lengths.longest(100)), (30, 90));
        assert!(lengths.with(&fold(1, 6000)).is_none());
        let lengths = Lengths::ANY.with(&fold(64, 64)).unwrap().with(&fold(1, 4096)).unwrap();
        assert_eq!((lengths.least(), lengths.longest(1000), lengths.piece(512)), (128, 512, 4096));
        assert!(Lengths::ANY.with(&fold(2, 1999)).unwrap().with(&fold(2, 2000)).is_none());
    }
}
