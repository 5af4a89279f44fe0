//! Chooses how a matrix product is computed, and splits it among threads.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use gemm::Parallelism;

use super::definition::{MatmulInto, TOGETHER, column, plain};
use super::diagonal;
use super::integers::integers;
use super::rounded;
use super::tile::{ACROSS, MatrixPairs, PACKED, Tiled, packs};
use crate::array::Array;
use crate::dtype::{DType, DTypeKind, dispatch};
use crate::error::{Error, Result, bail};
use crate::kernel::interrupt;
use crate::kernel::num::Field;
use crate::kernel::one_dtype;
use crate::kernel::par::{self, SendPtr};
use crate::kernel::pointwise::complex;
use crate::kernel::reduce::pairwise::{ROWS, combine_group};
use crate::kernel::simd::{self, Isa};
use crate::memory;
use crate::shape::{self, Dims};

/// Products of fewer multiplications stay on one thread.
const PARALLEL: usize = 1 << 20;

/// Products of at most this many multiplications finish before `gemm` has packed their factors.
const TINY: usize = 128;

/// Products of complex matrices of more multiplications are computed by their real and imaginary parts.
const SHORT_COMPLEX: usize = 1 << 9;

/// Products of at most this many multiplications use our own tiles, which have less overhead than `gemm`.
const FEW: usize = 1 << 12;

/// Larger products also use our tiles, up to `LARGE` multiplications, if they have at least `NARROW` columns and an
/// inner axis of at least `SHORT` elements. Without AVX-512, packing both factors in `gemm` pays from `LONG` elements on.
const LARGE: usize = 1 << 36;
const NARROW: usize = 8;
const SHORT: usize = 3;
const LONG: usize = 1 << 13;

/// A large product for `gemm` is split along its longer side into pieces of about this many rows or columns, enough
/// to pay for packing the other factor.
const SIDE: Range<usize> = 64..256;

/// The most multiplications of such a piece, for which a processor without vectors of 256 bits takes a tenth of a second: `gemm`
/// cannot ask whether to go on.
const LONGEST: usize = 1 << 29;

/// The columns of a piece whose factors are packed, so that the buffer has room for all of them.
const WIDE: usize = 512;

/// `x @ y` over the last two axes of both. Of the leading axes the first `batch_ndim` are matched from the left, the
/// others broadcast from the right.
///
/// # Errors
/// The factors have several dtypes, or one without products; the shapes do not suit each other; memory ends.
pub fn matmul(op: &'static str, x: &Array, y: &Array, batch_ndim: usize) -> Result<Array> {
    one_dtype(op, [x, y])?;
    if x.dtype().is_complex() && !is_short(x, y) {
        return complex::by_parts(op, x, y, |x, y| matmul(op, x, y, batch_ndim));
    }
    by_loops(Task::of(op), x, y, batch_ndim)
}

/// [`matmul`] of factors of float32 that may be rounded to bfloat16, where that takes less time.
///
/// # Errors
/// As [`matmul`].
pub fn rounded_matmul(op: &'static str, x: &Array, y: &Array, batch_ndim: usize) -> Result<Array> {
    if x.dtype() != DType::F32 || y.dtype() != DType::F32 {
        return matmul(op, x, y, batch_ndim);
    }
    by_loops(Task { rounds: true, ..Task::of(op) }, x, y, batch_ndim)
}

/// A product that is computed, or that is only to be noted.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub op: &'static str,
    /// Takes the calls of loops instead.
    pub notes: Option<&'a Mutex<Vec<Call>>>,
    /// Whether factors of float32 may be rounded to bfloat16.
    pub rounds: bool,
}

impl Task<'_> {
    /// A product that is computed.
    pub fn of(op: &'static str) -> Task<'static> {
        Task { op, notes: None, rounds: false }
    }
}

/// A call of a loop, for factors that begin at these places: see [`Array::place`].
pub(super) struct Call {
    pub method: Method,
    pub piece: Piece,
    pub places: [(usize, usize); 2],
}

/// Products of pairs of matrices at even distances, as [`MatrixPairs`], with the bytes from the beginnings of the factors and of the
/// product.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    count: usize,
    pub sizes: (usize, usize, usize),
    a: (isize, isize, isize),
    b: (isize, isize, isize),
    steps: (isize, isize),
    out: usize,
    run: usize,
    wide: bool,
}

impl Piece {
    /// Whether it is one product.
    pub fn is_one(&self) -> bool {
        self.count == 1
    }

    /// The pairs of factors and of a product that begin there.
    ///
    /// # Safety
    /// The matrices lie in memory that begins there.
    #[inline(always)]
    pub unsafe fn pairs(&self, x: *const u8, y: *const u8, out: *mut u8) -> MatrixPairs<u8> {
        let Piece { count, sizes, a, b, steps, run, wide, .. } = *self;
        // SAFETY: as the function's `# Safety` section requires.
        let (x, y, out) = unsafe { (x.offset(a.0), y.offset(b.0), out.add(self.out)) };
        MatrixPairs { count, sizes, a: (x, a.1, a.2), b: (y, b.1, b.2), steps, out, run, wide }
    }

    /// The piece of factors that begin so many bytes later.
    pub fn after(self, x: isize, y: isize) -> Piece {
        let Piece { a, b, .. } = self;
        Piece { a: (a.0 + x, a.1, a.2), b: (b.0 + y, b.1, b.2), ..self }
    }
}

/// [`matmul`] of real matrices, or of few complex numbers.
pub(super) fn by_loops(task: Task<'_>, x: &Array, y: &Array, batch_ndim: usize) -> Result<Array> {
    if let ([m, k], [rows, n]) = (x.dims(), y.dims())
        && k == rows
    {
        return matrices(task, x, y, &[*m, *n]);
    }
    let rank = x.rank().max(y.rank());
    let (x, y) = (x.with_rank(rank, batch_ndim), y.with_rank(rank, batch_ndim));
    let (batch_x, mx) = x.dims().split_at(rank - 2);
    let (batch_y, my) = y.dims().split_at(rank - 2);
    if mx[1] != my[0] {
        bail!(Shape, task.op, "{:?} @ {:?}: inner sizes {} and {} differ", x.dims(), y.dims(), mx[1], my[0]);
    }
    let (m, n) = (mx[0], my[1]);
    let batch = shape::broadcast(task.op, batch_x, batch_y)?;
    let full = |mat: &[usize]| batch.iter().chain(mat).copied().collect::<Dims>();
    let (x, y) = (x.expand(&full(mx), 0), y.expand(&full(my), 0));
    let dims = full(&[m, n]);
    if let Some((x, y)) = one(&x, &y, batch.len()) {
        return matrices(task, &x, &y, &[x.dims()[0], y.dims()[1]])?.reshape(&dims);
    }
    matrices(task, &x, &y, &dims)
}

/// Whether a complex product is computed sooner than its factors are taken apart into real and imaginary parts.
fn is_short(x: &Array, y: &Array) -> bool {
    match (x.dims(), y.dims()) {
        ([m, k], [_, n]) => m.saturating_mul(*k).saturating_mul(*n) <= SHORT_COMPLEX,
        _ => false,
    }
}

/// A long inner axis is summed in parts of about this many multiplications, but not fewer than `PART` elements. The
/// caller is asked between them whether to go on.
const WORK: usize = 1 << 36;
const PART: usize = 1 << 14;

/// The products of a batch, with leading axes already broadcast.
fn matrices(task: Task<'_>, x: &Array, y: &Array, dims: &[usize]) -> Result<Array> {
    let inner = x.rank() - 1;
    let k = x.dims()[inner];
    if dims.contains(&0) && x.dtype() != DType::Bool {
        return Array::build_raw(task.op, x.dtype(), dims, |_| {});
    }
    let part = (WORK / shape::checked_len(dims).unwrap_or(WORK).max(1)).clamp(PART, 1 << 24);
    if k <= part {
        return whole(task, x, y, dims);
    }
    let slice = |of: &Array, axis: usize, start: usize| {
        let mut sizes: Dims = of.dims().into();
        sizes[axis] = part.min(k - start);
        of.restride(&sizes, &of.strides(), start as isize * of.strides()[axis])
    };
    let mut sum: Option<Array> = None;
    for start in (0..k).step_by(part) {
        interrupt::check()?;
        let next = whole(task, &slice(x, inner, start), &slice(y, inner - 1, start), dims)?;
        match &mut sum {
            None => sum = Some(next),
            Some(sum) => dispatch!(x.dtype(), float T => add::<T>(sum, &next), else {
                dispatch!(x.dtype(), int T => add::<T>(sum, &next), else {})
            }),
        }
    }
    Ok(sum.expect("the inner axis has elements"))
}

/// Adds an array to another one of its shape, which nobody else has.
fn add<T: Field>(sum: &mut Array, next: &Array) {
    let sum = sum.as_mut_slice::<T>().into_iter().flatten();
    sum.zip(next.as_slice::<T>().into_iter().flatten()).for_each(|(s, &v)| *s = s.add(v));
}

fn whole(task: Task<'_>, x: &Array, y: &Array, dims: &[usize]) -> Result<Array> {
    let Task { op, notes, rounds } = task;
    if notes.is_none() && x.dims()[..x.rank() - 2].iter().all(|d| *d == 1) {
        let scaled = dispatch!(x.dtype(), float T => diagonal::product::<T>(op, x, y, dims)?, else None);
        if let Some(out) = scaled {
            return Ok(out);
        }
    }
    if rounds && let Some([x, y]) = rounded::factors(op, x, y, dims)? {
        // SAFETY: the processor has the instructions, and the pairs are valid.
        let into = |pairs: &MatrixPairs<u8>| unsafe { rounded::tiled(&pairs.cast()) };
        return products(op, &x, &y, dims, DType::F32, false, &By::Loop(&into));
    }
    if x.dtype().kind() == DTypeKind::Int {
        let size = x.dtype().size();
        // SAFETY: the elements are integers of this size, and the pairs are valid.
        let into = |pairs: &MatrixPairs<u8>| unsafe { integers(size, pairs) };
        return products(op, x, y, dims, x.dtype(), false, &By::Loop(&into));
    }
    dispatch!(x.dtype(), float T => floats::<T>(task, x, y, dims), else {
        dispatch!(x.dtype(), field T => product::<T>(task, x, y, dims, (Method::Plain, plain), false), else bail!(Dtype, op, "not defined for bool"))
    })
}

/// A batch in which one factor is shared, as one product, if possible: either `y` is shared and the rows of all `x`
/// are stacked, or `x` is shared and the transposed product is. The elements of the result are in the order of the
/// batch.
fn one(x: &Array, y: &Array, batch: usize) -> Option<(Array, Array)> {
    let (d, sx, sy) = (x.dims(), x.strides(), y.strides());
    let n = y.dims()[batch + 1];
    let batch_ndim = d[..batch].iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
    let common = |s: &[isize]| d[..batch].iter().zip(s).all(|(&d, &s)| d == 1 || s == 0);
    if batch_ndim < 2 {
        return None;
    }
    if common(&sy) {
        let rows = x.reshaped(&[batch_ndim.checked_mul(d[batch])?, d[batch + 1]])?;
        return Some((rows, y.restride(&y.dims()[batch..], &sy[batch..], 0)));
    }
    if n == 1 && common(&sx) {
        let rows = y.reshaped(&[batch_ndim, d[batch + 1]])?;
        return Some((rows, x.restride(&[d[batch + 1], d[batch]], &[sx[batch + 1], sx[batch]], 0)));
    }
    None
}

/// How products are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Method {
    Streamed,
    Tiled,
    Packed,
    Plain,
}

impl Method {
    /// The function for floats.
    pub fn of_floats<T: Tiled>(self) -> MatmulInto<T> {
        match self {
            Method::Streamed => streamed::<T>,
            Method::Tiled => T::tiled,
            Method::Packed => packed::<T>,
            Method::Plain => plain::<T>,
        }
    }
}

/// Products of floats: the fastest method for the sizes.
fn floats<T: Tiled>(task: Task<'_>, x: &Array, y: &Array, dims: &[usize]) -> Result<Array> {
    let by = |method: Method| (method, method.of_floats::<T>());
    let [.., m, n] = *dims else { unreachable!("matrices") };
    let k = x.dims()[x.rank() - 1];
    let work = m.saturating_mul(k).saturating_mul(n);
    let rows = x.rank() - 2;
    if m == 1 && n >= NARROW && y.strides()[rows + 1] == 1 {
        return product(task, x, y, dims, by(Method::Streamed), false);
    }
    if n == 1 && m >= NARROW && x.strides()[rows] == 1 {
        // The column has the elements of the row that the transposed product is.
        let mut row: Dims = dims.into();
        row.swap(rows, rows + 1);
        return product(task, &transposed(y), &transposed(x), &row, by(Method::Streamed), false)?
            .reshape(dims);
    }
    let length = if simd::isa() == Isa::Avx512 { SHORT..usize::MAX } else { SHORT..LONG };
    let fits = n >= NARROW && length.contains(&k) && work <= LARGE;
    if m > 1 && n > 3 && (work <= FEW || fits) {
        return product(task, x, y, dims, by(Method::Tiled), false);
    }
    product(task, x, y, dims, by(Method::Packed), true)
}

/// Whether [`floats`] computes each element of such a product as zero and the products of its terms, added one by one.
pub fn is_by_definition(m: usize, k: usize, n: usize) -> bool {
    k < ROWS && m * k * n <= TINY && !(m > 1 && n > 3)
}

fn transposed(x: &Array) -> Array {
    let mut order: Dims = (0..x.rank()).collect();
    order.swap(x.rank() - 2, x.rank() - 1);
    x.permute(&order)
}

/// All products of a batch. With `fixed`, matrices are split by their sizes alone, because the bits depend on the
/// cuts.
fn product<T: Field>(
    task: Task<'_>,
    x: &Array,
    y: &Array,
    dims: &[usize],
    (method, into): (Method, MatmulInto<T>),
    fixed: bool,
) -> Result<Array> {
    if let Some(notes) = task.notes {
        let note = |piece: Piece| {
            let call = Call { method, piece, places: [x.place(), y.place()] };
            notes.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        };
        return products(task.op, x, y, dims, T::DTYPE, fixed, &By::Note(&note));
    }
    // SAFETY: the elements have type `T`, and the pairs are valid.
    let into = |pairs: &MatrixPairs<u8>| unsafe { into(&pairs.cast()) };
    products(task.op, x, y, dims, T::DTYPE, fixed, &By::Loop(&into))
}

/// What is done with the pieces of a product.
enum By<'a> {
    Loop(&'a (dyn Fn(&MatrixPairs<u8>) + Sync)),
    /// They are only noted.
    Note(&'a (dyn Fn(Piece) + Sync)),
}

/// The sizes of a piece for `gemm`, along the longer and the shorter side of a product.
fn fixed_piece(longer: usize, k: usize, shorter: usize) -> (usize, usize) {
    let side = (longer / 2).clamp(SIDE.start, SIDE.end).next_multiple_of(16);
    (side, shorter.min((LONGEST / side.saturating_mul(k).max(1)).max(SIDE.end)))
}

/// [`product`] for elements of any type, whose addresses are those of bytes.
fn products(
    op: &'static str,
    x: &Array,
    y: &Array,
    dims: &[usize],
    dtype: DType,
    fixed: bool,
    by: &By<'_>,
) -> Result<Array> {
    let (batch, matrix) = dims.split_at(dims.len() - 2);
    let (m, k, n) = (matrix[0], x.dims()[batch.len() + 1], matrix[1]);
    let (sx, sy) = (x.strides(), y.strides());
    let inner = batch.len();
    let (xs, ys) = ((sx[inner], sx[inner + 1]), (sy[inner], sy[inner + 1]));
    let count = shape::len(batch);
    let work = m.saturating_mul(k).saturating_mul(n);
    let all = work.saturating_mul(count);
    let wide = simd::is_wide_worthwhile(all);
    let shared = all >= PARALLEL || (!fixed && par::is_worthwhile(all / 4));
    let (rows, columns) = match (fixed, m >= n) {
        (true, _) if work < PARALLEL => (m, n),
        (true, true) => fixed_piece(m, k, n),
        (true, false) => {
            let (columns, rows) = fixed_piece(n, k, m);
            (rows, columns)
        }
        (false, _) if shared => {
            // With a single row, longer rows of the other factor are read faster.
            let each = if m == 1 { 1 } else { 4 };
            let wanted = (each * par::threads()).div_ceil(count.max(1));
            if packs(dtype.size(), (m, k, n), xs) {
                // Each piece packs its own rows and columns; square pieces reuse them most.
                let across = (wanted * n / m).isqrt().clamp(1, n / PACKED).max(n.div_ceil(WIDE));
                let rows = m.div_ceil(wanted.div_ceil(across)).next_multiple_of(SIDE.start);
                (rows.min(m), n / across / ACROSS * ACROSS)
            } else {
                let columns = n.div_ceil(wanted).next_multiple_of(ACROSS).min(n);
                let down = wanted.div_ceil(n.div_ceil(columns));
                (m.div_ceil(down).next_multiple_of(SIDE.start).min(SIDE.end).min(m), columns)
            }
        }
        (false, _) => (m, n),
    };
    // A piece has fewer columns than a register only if the whole product has, else its bits would differ.
    let across = if fixed { n.div_ceil(columns.max(1)) } else { (n / columns.max(1)).max(1) };
    let down = m.div_ceil(rows.max(1));
    // Matrices at even distances are passed together.
    let last = batch.last().map_or(1, |&n| n);
    let steps = if inner > 0 { (sx[inner - 1], sy[inner - 1]) } else { (0, 0) };
    let size = dtype.size() as isize;
    Array::build_raw(op, dtype, dims, |out| {
        let out = SendPtr(out);
        let some = |range: Range<usize>| {
            let mut piece = range.start;
            while piece < range.end {
                let (i, at) = (piece / (down * across), piece % (down * across));
                let (r, c) = (at / across * rows, at % across * columns);
                let width = if at % across + 1 == across { n - c } else { columns };
                let count = if down * across == 1 { (last - i % last).min(range.end - i) } else { 1 };
                let a = (shape::offset(i, batch, &sx) + r as isize * xs.0) * size;
                let b = (shape::offset(i, batch, &sy) + c as isize * ys.1) * size;
                let own = Piece {
                    count,
                    sizes: (rows.min(m - r), k, width),
                    a: (a, xs.0, xs.1),
                    b: (b, ys.0, ys.1),
                    steps,
                    out: ((i * m + r) * n + c) * dtype.size(),
                    run: n,
                    wide,
                };
                match by {
                    // SAFETY: the offsets are those of matrices of `x` and `y` and of parts of them, and each piece writes its own
                    // part of the output.
                    By::Loop(into) => into(&unsafe { own.pairs(x.ptr(), y.ptr(), out.get()) }),
                    By::Note(note) => note(own),
                }
                piece += count;
            }
        };
        let pieces = count * down * across;
        if shared {
            let group = (PARALLEL / 8).div_ceil((work / (down * across).max(1)).max(1));
            par::pieces(pieces, group, &some);
        } else {
            some(0..pieces);
        }
    })
}

/// # Safety
/// As [`MatmulInto`].
unsafe fn packed<T: Field>(pairs: &MatrixPairs<T>) {
    let MatrixPairs { count, sizes: (m, k, n), a: (a, ra, ca), b: (b, rb, cb), steps, out, run, .. } = *pairs;
    if k == 0 || m.saturating_mul(k).saturating_mul(n) <= TINY {
        // SAFETY: as the function's `# Safety` section requires.
        return unsafe { if n == 1 && m >= TOGETHER { column(pairs) } else { plain(pairs) } };
    }
    // `gemm` packs blocks of both factors, and has no way to report that there is no memory for them.
    let block = |a: usize| (a + 64).saturating_mul(k + 64).saturating_mul(size_of::<T>());
    Error::ensure_memory(block(m).saturating_add(block(n)).min(2 * memory::largest_cache()));
    let (zero, one, no, alone) = (T::ZERO, T::ONE, false, Parallelism::None);
    for i in 0..count as isize {
        // SAFETY: as the function's `# Safety` section requires, and `gemm` does not read the output.
        unsafe {
            let (a, b) = (a.offset(i * steps.0), b.offset(i * steps.1));
            let out = out.offset(i * (m * n) as isize);
            gemm::gemm(m, n, k, out, 1, run as isize, no, a, ca, ra, b, cb, rb, zero, one, no, no, no, alone);
        }
    }
}

/// Products of single rows with matrices whose rows are contiguous. Reads several rows at a time. The bits of an
/// element do not depend on its position.
///
/// # Safety
/// As [`MatmulInto`].
unsafe fn streamed<T: Field>(pairs: &MatrixPairs<T>) {
    let MatrixPairs { count, sizes: (_, k, n), a: (a, _, ca), b: (b, rb, _), steps, out, .. } = *pairs;
    for i in 0..count {
        // SAFETY: as the function's `# Safety` section requires.
        let (a, b, out) = unsafe {
            let (a, b) = (a.offset(i as isize * steps.0), b.offset(i as isize * steps.1));
            (a, b, std::slice::from_raw_parts_mut(out.add(i * n), n))
        };
        out.fill(T::ZERO);
        simd::autovectorize(
            #[inline(always)]
            || {
                // SAFETY: row `p` of the right factor, which the caller guarantees to have `n` adjacent elements.
                let row = |p: usize| unsafe { std::slice::from_raw_parts(b.offset(p as isize * rb), n) };
                // SAFETY: element `p` of the left factor's row.
                let factor = |p: usize| unsafe { *a.offset(p as isize * ca) };
                let whole = k / ROWS * ROWS;
                for p in (0..whole).step_by(ROWS) {
                    let (mut rows, mut factors) = ([row(p); ROWS], [T::ZERO; ROWS]);
                    for j in 0..ROWS {
                        (rows[j], factors[j]) = (row(p + j), factor(p + j));
                    }
                    for (i, sum) in out.iter_mut().enumerate() {
                        *sum = sum.add(combine_group(
                            T::add,
                            #[inline(always)]
                            |j| factors[j].mul(rows[j][i]),
                        ));
                    }
                }
                for p in whole..k {
                    let (factor, row) = (factor(p), row(p));
                    for (i, sum) in out.iter_mut().enumerate() {
                        *sum = sum.add(factor.mul(row[i]));
                    }
                }
            },
        );
    }
}
