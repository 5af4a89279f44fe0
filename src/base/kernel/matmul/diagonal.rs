//! Products with a diagonal matrix, such as a batch of unit vectors: the other factor is scaled.

use std::marker::PhantomData;

use super::tile::MatrixPtr;
use crate::array::Array;
use crate::error::{Error, Result};
use crate::kernel::num::Plain;
use crate::shape;

/// Factors of at least this size are checked for being diagonal.
const DIAGONAL: usize = 32;

/// Rows and columns of a tile.
const TILE: usize = 32;

/// A matrix: its address, its row and column strides, and its rows and columns.
#[derive(Clone, Copy)]
struct MatrixView<'a, T>(*const T, (isize, isize), (usize, usize), PhantomData<&'a Array>);

impl<'a, T: Plain> MatrixView<'a, T> {
    fn of(a: &'a Array) -> MatrixView<'a, T> {
        let at = a.rank() - 2;
        let (steps, sizes) = (&a.strides()[at..], &a.dims()[at..]);
        MatrixView(a.first::<T>(), (steps[0], steps[1]), (sizes[0], sizes[1]), PhantomData)
    }

    fn at(self, i: usize, j: usize) -> T {
        let MatrixView(start, (down, across), (m, n), _) = self;
        assert!(i < m && j < n, "inside of the matrix");
        // SAFETY: the indices were checked above, and the array is borrowed.
        unsafe { *start.offset(i as isize * down + j as isize * across) }
    }

    /// The rows if their elements are adjacent, else the columns if theirs are.
    fn lines(self) -> Option<impl Iterator<Item = &'a [T]>> {
        let MatrixView(start, (down, across), (m, n), _) = self;
        let (step, count, length) = match (down, across) {
            (step, 1) => (step, m, n),
            (1, step) => (step, n, m),
            _ => return None,
        };
        // SAFETY: the elements of a line are adjacent, and the array is borrowed.
        Some(
            (0..count)
                .map(move |i| unsafe { std::slice::from_raw_parts(start.offset(i as isize * step), length) }),
        )
    }

    /// Whether all elements off the diagonal are zero. For other matrices the check usually ends in the first row.
    fn is_diagonal(self) -> bool {
        let MatrixView(_, _, (m, n), _) = self;
        let zero = |part: &[T]| part.iter().fold(true, |all, v| all & (*v == T::ZERO));
        let clear = |(i, line): (usize, &'a [T])| zero(&line[..i]) && zero(&line[i + 1..]);
        m == n && self.lines().is_some_and(|lines| lines.enumerate().all(clear))
    }

    fn is_finite(self) -> bool {
        let finite = |line: &[T]| line.iter().fold(true, |all, v| all & v.is_finite());
        self.lines().is_some_and(|mut lines| lines.all(finite))
    }
}

/// The product of a square diagonal matrix and a finite matrix; `None` if the factors are not of this kind.
pub(super) fn product<T: Plain>(
    op: &'static str,
    x: &Array,
    y: &Array,
    dims: &[usize],
) -> Result<Option<Array>> {
    let (a, b) = (MatrixView::<T>::of(x), MatrixView::<T>::of(y));
    let Some(by_row) = kind(a, b) else { return Ok(None) };
    let n = shape::len(dims);
    Array::build_raw(op, T::DTYPE, dims, |out| {
        // SAFETY: the output has as many elements.
        scale(by_row, a, b, unsafe { std::slice::from_raw_parts_mut(out.cast::<T>(), n) });
    })
    .map(Some)
}

/// Whether sizes are those of a product with a square matrix that is checked for being diagonal.
pub(super) fn may_be_diagonal((m, k, n): (usize, usize, usize)) -> bool {
    k >= DIAGONAL && m > 0 && n > 0 && (m == k || k == n)
}

/// [`product`] of matrices that lie in memory. Returns false if the factors are not of this kind.
///
/// # Safety
/// The matrices, each told by its address and the strides of rows and columns, have these sizes, and `out` has room for the
/// product.
pub(super) unsafe fn product_into<T: Plain>(
    (m, k, n): (usize, usize, usize),
    (a, down_a, across_a): MatrixPtr<T>,
    (b, down_b, across_b): MatrixPtr<T>,
    out: *mut T,
) -> bool {
    let a = MatrixView(a, (down_a, across_a), (m, k), PhantomData);
    let b = MatrixView(b, (down_b, across_b), (k, n), PhantomData);
    let Some(by_row) = kind(a, b) else { return false };
    // SAFETY: as the function's `# Safety` section requires.
    scale(by_row, a, b, unsafe { std::slice::from_raw_parts_mut(out, m * n) });
    true
}

/// Whether the first of two factors is diagonal and the second finite, else whether it is the other way round. None if
/// neither is so.
fn kind<T: Plain>(a: MatrixView<'_, T>, b: MatrixView<'_, T>) -> Option<bool> {
    if !may_be_diagonal((a.2.0, a.2.1, b.2.1)) {
        return None;
    }
    if a.is_diagonal() && b.is_finite() {
        return Some(true);
    }
    (b.is_diagonal() && a.is_finite()).then_some(false)
}

fn scale<T: Plain>(by_row: bool, a: MatrixView<'_, T>, b: MatrixView<'_, T>, out: &mut [T]) {
    let ((m, k), n) = (a.2, b.2.1);
    let (factors, of) = if by_row { (a, b) } else { (b, a) };
    Error::ensure_memory(k * size_of::<T>() + n * size_of::<&[T]>());
    let factors: Vec<T> = (0..k).map(|i| factors.at(i, i)).collect();
    // Adding zero turns -0 into 0, as the full sum would.
    let put = |o: &mut T, f: T, v: T| *o = f.mul(v).add(T::ZERO);
    let by_line = |i: usize, row: &mut [T], line: &[T]| match by_row {
        true => {
            // A local copy, because the compiler must assume that the loop may write what it reads through a reference.
            let factor = factors[i];
            row.iter_mut().zip(line).for_each(|(o, &v)| put(o, factor, v));
        }
        false => row.iter_mut().zip(line).zip(&factors).for_each(|((o, &v), &f)| put(o, f, v)),
    };
    if of.1.1 == 1 {
        let lines = of.lines().expect("rows");
        out.chunks_exact_mut(n).zip(lines).enumerate().for_each(|(i, (row, line))| by_line(i, row, line));
        return;
    }
    // The other factor has adjacent columns. Tiles make both reads and writes local.
    let columns: Vec<&[T]> = of.lines().expect("columns").collect();
    for (i, j) in (0..m).step_by(TILE).flat_map(|i| (0..n).step_by(TILE).map(move |j| (i, j))) {
        for (j, column) in columns.iter().enumerate().skip(j).take(TILE) {
            let rows = i..m.min(i + TILE);
            for (i, &v) in rows.clone().zip(&column[rows]) {
                put(&mut out[i * n + j], factors[if by_row { i } else { j }], v);
            }
        }
    }
}
