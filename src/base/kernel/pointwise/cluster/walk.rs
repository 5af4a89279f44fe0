//! Copies of elements in another order than that in which they lie.

use std::mem::MaybeUninit;
use std::ops::Range;

use smallvec::SmallVec;

use crate::kernel::simd;
use crate::shape::{self, Dims, Strides};

/// An array that is read in a certain order: the sizes and strides of the axes, outermost first.
pub struct Walk {
    dims: Dims,
    strides: Strides,
    /// How many of the last axes make up a row.
    inner: usize,
    /// Where the elements of a row lie, if it has several axes or is all there is.
    places: Box<[i32]>,
}

/// The most elements of a row whose places a walk knows.
const FEW: usize = 64;

impl Walk {
    /// None if the elements lie one after the other.
    pub fn new(axes: &[(usize, isize)]) -> Option<Walk> {
        let (dims, strides): (Dims, Strides) = axes.iter().copied().unzip();
        if matches!(axes, [] | [(_, 1)]) {
            return None;
        }
        // Several short axes make up a row, and so do all axes if their elements are few.
        let row = |inner: usize| (&dims[dims.len() - inner..], &strides[dims.len() - inner..]);
        let few = (1..=dims.len()).take_while(|&inner| shape::len(row(inner).0) <= FEW).last();
        let is_short = |inner: &usize| *inner == dims.len() || *inner > 1 && dims[dims.len() - 1] <= SHORT;
        let inner = few.filter(is_short);
        let places = inner.and_then(|inner| {
            let (dims, strides) = row(inner);
            (0..shape::len(dims)).map(|i| i32::try_from(shape::offset(i, dims, strides)).ok()).collect()
        });
        let (inner, places) = inner.zip(places).unwrap_or((1, [].into()));
        Some(Walk { dims, strides, inner, places })
    }

    /// How many elements before and after its first one the array reaches.
    pub fn reach(&self) -> (isize, isize) {
        self.dims.iter().zip(&self.strides).fold((0, 0), |(low, high), (&d, &s)| {
            let reach = s * (d as isize - 1);
            (low + reach.min(0), high + reach.max(0))
        })
    }

    /// Copies a range of the elements, in this order.
    ///
    /// # Safety
    /// `x` is the address of the first element of an array of `T` with these axes, and `out` has room for the range.
    pub unsafe fn copy<T: Copy>(&self, x: *const T, range: Range<usize>, out: *mut T) {
        let outer = self.dims.len() - self.inner;
        let (dims, strides) = (&self.dims[..outer], &self.strides[..outer]);
        let (run, step) = match *self.places {
            [] => (self.dims[outer], self.strides[outer]),
            _ => (self.places.len(), 0),
        };
        let (mut inside, mut row) = (range.start % run, range.start / run);
        // The position on each axis outside of the rows, and the offset of the row there.
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, outer);
        for (index, d) in index.iter_mut().zip(dims).rev() {
            *index = row % d;
            row /= d;
        }
        let mut offset: isize = index.iter().zip(strides).map(|(&i, s)| i as isize * s).sum();
        let mut at = range.start;
        loop {
            let left = range.end - at;
            // Short rows, repeated ones, and rows of one number are copied many at a time.
            let rows = match (index.last(), strides.last()) {
                (Some(i), Some(&between))
                    if inside == 0 && left >= run && (run <= SHORT || between == 0 || step == 0) =>
                {
                    (left / run).min(dims[outer - 1] - i)
                }
                _ => 1,
            };
            let n = (rows * run - inside).min(left);
            // SAFETY: as the function's `# Safety` section requires.
            unsafe {
                // Where the places are known, `step` is 0: they count from the first element of the row.
                let x = x.offset(offset + inside as isize * step);
                let out = out.add(at - range.start);
                match step {
                    _ if !self.places.is_empty() => {
                        let between = strides.last().copied().unwrap_or(0);
                        copy_places(x, rows, between, &self.places[inside..inside + n / rows], out);
                    }
                    _ if rows > 1 => copy_rows(x, [rows, run], [strides[outer - 1], step], out),
                    0 => copy_rows(x, [1, n], [0, 0], out),
                    1 => x.copy_to_nonoverlapping(out, n),
                    _ => (0..n).for_each(|i| out.add(i).write(*x.offset(i as isize * step))),
                }
            }
            at += n;
            if at >= range.end {
                return;
            }
            inside = 0;
            offset += advance(&mut index, dims, strides, rows);
        }
    }

    /// After how many elements the same ones come again.
    pub fn period(&self) -> usize {
        let repeats = self.strides.iter().take_while(|s| **s == 0).count();
        self.dims[repeats..].iter().product()
    }
}

/// Moves an index on by some steps of the last axis, which do not go beyond its end. How far the place moves in memory.
#[inline(always)]
fn advance(index: &mut [usize], dims: &[usize], strides: &[isize], mut steps: usize) -> isize {
    let mut moved = 0;
    for ((index, &d), s) in index.iter_mut().zip(dims).zip(strides).rev() {
        *index += steps;
        moved += s * steps as isize;
        if *index < d {
            break;
        }
        *index = 0;
        moved -= s * d as isize;
        steps = 1;
    }
    moved
}

/// Copies rows whose elements lie at these places, the same ones in each row.
///
/// # Safety
/// `x` is the address of the first element of an array with rows that are `between` apart and have these places, and `out`
/// has room for all elements.
#[inline]
unsafe fn copy_places<T: Copy>(x: *const T, rows: usize, between: isize, places: &[i32], out: *mut T) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        // With a constant length the compiler has no inner loop.
        match places.len() {
            4 => places_of::<T>(x, rows, between, places, 4, out),
            8 => places_of::<T>(x, rows, between, places, 8, out),
            n => places_of::<T>(x, rows, between, places, n, out),
        }
    }
}

/// # Safety
/// As [`copy_places`], with the number of places.
#[inline(always)]
unsafe fn places_of<T: Copy>(
    x: *const T,
    rows: usize,
    between: isize,
    places: &[i32],
    n: usize,
    out: *mut T,
) {
    for row in 0..rows {
        for (i, &place) in places[..n].iter().enumerate() {
            // SAFETY: as the function's `# Safety` section requires.
            unsafe { out.add(row * n + i).write(*x.offset(row as isize * between + place as isize)) };
        }
    }
}

/// Copies bytes, mostly those of one number. The usual sizes take no call.
///
/// # Safety
/// `from` has this many bytes, and `to` has room for them.
#[inline(always)]
pub unsafe fn copy_number(from: *const u8, to: *mut u8, size: usize) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        match size {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            1 => to.write(from.read()),
            _ => to.copy_from_nonoverlapping(from, size),
        }
    }
}

/// Rows of at most this many elements are copied together, however far apart they lie.
const SHORT: usize = 8;

/// Copies rows: `dims` and `strides` are those of the rows and of the elements in a row.
///
/// # Safety
/// `x` is the address of the first element of an array with these axes, and `out` has room for all elements.
#[inline]
unsafe fn copy_rows<T: Copy>(x: *const T, [rows, run]: [usize; 2], strides: [isize; 2], out: *mut T) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        if strides[1] == 0 && run > SHORT {
            return simd::autovectorize_floats_for::<T, ()>(
                #[inline(always)]
                || {
                    for row in 0..rows {
                        let number = *x.offset(row as isize * strides[0]);
                        let row: &mut [MaybeUninit<T>] =
                            std::slice::from_raw_parts_mut(out.add(row * run).cast(), run);
                        row.fill(MaybeUninit::new(number));
                    }
                },
            );
        }
        if strides[0] == 0 && rows * run > SHORT * SHORT {
            // Each copy doubles the number of rows that are there.
            rows_of::<T>(x, 1, run, strides, out);
            let (mut done, all) = (run, rows * run);
            while done < all {
                let n = done.min(all - done);
                out.copy_to_nonoverlapping(out.add(done), n);
                done += n;
            }
            return;
        }
        // With a constant length the compiler has no inner loop. For elements of other sizes that is too much code.
        match run {
            _ if !matches!(size_of::<T>(), 4 | 8) => rows_of::<T>(x, rows, run, strides, out),
            2 => rows_of::<T>(x, rows, 2, strides, out),
            3 => rows_of::<T>(x, rows, 3, strides, out),
            4 => rows_of::<T>(x, rows, 4, strides, out),
            _ => rows_of::<T>(x, rows, run, strides, out),
        }
    }
}

/// # Safety
/// As [`copy_rows`].
#[inline(always)]
unsafe fn rows_of<T: Copy>(x: *const T, rows: usize, run: usize, [outer, inner]: [isize; 2], out: *mut T) {
    for row in 0..rows {
        for i in 0..run {
            // SAFETY: as the function's `# Safety` section requires.
            unsafe { out.add(row * run + i).write(*x.offset(row as isize * outer + i as isize * inner)) };
        }
    }
}
