//! Batches of matrices: conversion to and from `faer`'s matrices, and parallel work on them.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use faer::dyn_stack::{MemBuffer, StackReq};
use faer::traits::{ComplexField, RealField};
use faer::{Accum, Mat, MatMut, MatRef, Par};
use smallvec::SmallVec;

use crate::array::Array;
use crate::dtype::{DType, Element, c128};
use crate::error::{Error, Result, bail};
use crate::kernel::copy::copy;
use crate::kernel::num::{Field, Inexact, Num, Plain, modulus, sgn};
use crate::kernel::one_dtype;
use crate::kernel::par::{self, SendPtr};
use crate::kernel::pointwise::cast::cast;
use crate::memory::{self, NoMemory, TryPush};
use crate::shape::{self, Dims, Strides};

/// A number that `faer` computes with.
pub(super) trait Scalar: Inexact + ComplexField<Real = Self::Part> {
    /// The type of absolute values, singular values and eigenvalues of symmetric matrices.
    type Part: Plain + RealField + Scalar<Part = Self::Part>;
    const NAN: Self;
    fn of_real(v: Self::Part) -> Self;
    fn modulus(self) -> Self::Part;
    /// The sum of the absolute values of the parts, by which LAPACK compares pivots.
    fn size(self) -> Self::Part;
    /// The number divided by its absolute value; 1 for 0.
    fn direction(self) -> Self;
    fn conjugate(self) -> Self;
}
/// The type of absolute values.
pub(super) type Part<T> = <T as Scalar>::Part;

macro_rules! real_scalar {
    ($($t:ident)*) => { $(
        impl Scalar for $t {
            type Part = $t;
            const NAN: $t = $t::NAN;
            fn of_real(v: $t) -> $t { v }
            fn modulus(self) -> $t { Num::abs(self) }
            fn size(self) -> $t { Num::abs(self) }
            fn direction(self) -> $t { Plain::copysign(1.0, self) }
            fn conjugate(self) -> $t { self }
        }
    )* };
}
real_scalar!(f32 f64);
impl Scalar for c128 {
    type Part = f64;
    const NAN: c128 = c128::new(f64::NAN, f64::NAN);
    fn of_real(v: f64) -> c128 {
        c128::new(v, 0.0)
    }
    fn modulus(self) -> f64 {
        modulus(self)
    }
    fn size(self) -> f64 {
        self.re.abs() + self.im.abs()
    }
    fn direction(self) -> c128 {
        if self == <c128 as Field>::ZERO { <c128 as Field>::ONE } else { sgn(self) }
    }
    fn conjugate(self) -> c128 {
        self.conj()
    }
}

/// What a kernel returns: one array or several.
pub(super) trait Arrays: Sized {
    fn each(self, f: impl Fn(Array) -> Result<Array>) -> Result<Self>;
}
impl Arrays for Array {
    fn each(self, f: impl Fn(Array) -> Result<Array>) -> Result<Array> {
        f(self)
    }
}
impl<const N: usize> Arrays for [Array; N] {
    fn each(mut self, f: impl Fn(Array) -> Result<Array>) -> Result<[Array; N]> {
        for x in &mut self {
            *x = f(x.clone())?;
        }
        Ok(self)
    }
}

/// Runs a kernel, for large matrices apart, because `faer` does not ask whether to go on.
pub(super) fn run<const N: usize, O: Send + 'static>(
    ins: [&Array; N],
    f: impl Fn([&Array; N]) -> Result<O> + Send + 'static,
) -> Result<O> {
    /// Multiplications of a factorisation that takes a part of a second.
    const LONG: usize = 1 << 28;
    let size = |x: &Array| x.dims()[x.rank() - 2..].iter().copied().max().unwrap_or(0);
    if cube(ins.iter().map(|x| size(x)).max().unwrap_or(0)) < LONG {
        return f(ins);
    }
    let ins = ins.map(Array::clone);
    par::apart(move || f(ins.each_ref()))
}

/// [`run`] for a kernel that has no loops for complex64: it runs in complex128.
///
/// # Errors
/// The matrices have several dtypes.
pub(super) fn in_double<const N: usize, O: Arrays + Send + 'static>(
    op: &'static str,
    ins: [&Array; N],
    f: impl Fn([&Array; N]) -> Result<O> + Send + 'static,
) -> Result<O> {
    if one_dtype(op, ins)? != DType::C64 {
        return run(ins, f);
    }
    let mut wide = ins.map(Array::clone);
    for x in &mut wide {
        *x = cast(x, DType::C128)?;
    }
    run(wide.each_ref(), f)?.each(|x| match x.dtype() {
        DType::C128 => cast(&x, DType::C64),
        DType::F64 => cast(&x, DType::F32),
        _ => Ok(x),
    })
}

/// Runs a block with `$T` the type of the elements of matrices, which have one dtype. Those of complex64 are converted
/// to complex128, and the results back: complex64 has no loops of its own.
macro_rules! on_matrices {
    ($op:ident, [$x:ident $(, $more:ident)*], $T:ident => $body:expr) => {
        $crate::linalg::batch::in_double($op, [$x $(, $more)*], move |[$x $(, $more)*]| {
            $crate::dtype::dispatch!($x.dtype(), scalar $T => $body,
                else $crate::error::bail!(Dtype, $op, "not defined for {}", $x.dtype()))
        })
    };
}
pub(super) use on_matrices;

/// How many small matrices are worked on at once. The compiler makes vectors of a loop of this length, but unrolls a shorter
/// one.
pub(super) const LANES: usize = 32;
/// An element of each of so many matrices.
pub(super) type Lanes<T> = [T; LANES];

/// Batches of fewer multiplications stay on the calling thread.
const PARALLEL: usize = 1 << 17;

/// Works on a range of matrices, and notes the first one where it fails.
type Group<'a> = dyn Fn(Range<usize>, &AtomicUsize) -> Result<(), NoMemory> + Sync + 'a;

/// Works on a range of matrices with room for their elements, and says in which lanes it succeeds.
type InLanes<'a, T> = dyn Fn(Range<usize>, &mut [Lanes<T>]) -> Lanes<bool> + Sync + 'a;

/// An array of matrices, by its leading axes and the sizes of a matrix.
pub(super) struct Batch<'a> {
    start: SendPtr,
    dtype: DType,
    lead: &'a [usize],
    strides: Strides,
    /// How far matrices are apart, if they all are equally far.
    apart: Option<isize>,
    count: usize,
    pub rows: usize,
    pub columns: usize,
}

impl<'a> Batch<'a> {
    pub fn of(x: &'a Array) -> Batch<'a> {
        // SAFETY: the strides of an array lead only to its elements.
        unsafe { Batch::at(SendPtr(x.ptr().cast_mut()), x.dtype(), x.dims(), x.strides()) }
    }

    /// The matrices whose first element is at an address.
    ///
    /// # Safety
    /// For every index inside `dims`, the strides lead to an element of this dtype, while this is there.
    pub unsafe fn at(start: SendPtr, dtype: DType, dims: &'a [usize], strides: Strides) -> Batch<'a> {
        let (lead, matrix) = dims.split_at(dims.len() - 2);
        let even = |j: usize| strides[j] == strides[j + 1] * lead[j + 1] as isize;
        let apart = match lead.len() {
            0 => Some(0),
            n => (0..n - 1).all(even).then(|| strides[n - 1]),
        };
        let count = lead.iter().product();
        Batch { start, dtype, lead, strides, apart, count, rows: matrix[0], columns: matrix[1] }
    }

    /// Looks whether these are square matrices, and `b` has right sides of their equations.
    ///
    /// # Errors
    /// The sizes do not fit. Such equations have no solution, so the result would be memory that nothing has written.
    pub fn check_equations(&self, op: &'static str, b: &Batch<'_>) -> Result<()> {
        if self.rows != self.columns || b.rows != self.rows || b.count != self.count {
            let (a, b) = ([self.rows, self.columns], [b.rows, b.columns]);
            bail!(Shape, op, "matrices of shape {a:?} have no right sides of shape {b:?}");
        }
        Ok(())
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Matrix `i` in column order, for a factorisation to overwrite; `None` if it has a NaN or an infinity.
    pub fn matrix<T: Scalar>(&self, i: usize) -> Result<Option<Mat<T>>, NoMemory> {
        Ok(Self::finite(self.columnwise(i)?))
    }

    /// [`Batch::matrix`] with zeros where `keep` is false. The replaced elements need not be finite.
    pub fn part_of<T: Scalar>(
        &self,
        i: usize,
        keep: impl Fn(usize, usize) -> bool,
    ) -> Result<Option<Mat<T>>, NoMemory> {
        let mut copy = self.columnwise(i)?;
        for c in 0..self.columns {
            copy.col_as_slice_mut(c)
                .iter_mut()
                .enumerate()
                .filter(|(r, _)| !keep(*r, c))
                .for_each(|(_, v)| *v = <T as Field>::ZERO);
        }
        Ok(Self::finite(copy))
    }

    /// Makes `to` matrix `i`. Returns whether its elements are finite.
    pub fn copy_columns<T: Scalar>(&self, i: usize, to: &mut Columns<T>) -> Result<bool, NoMemory> {
        to.resize(self.rows, self.columns)?;
        // SAFETY: both matrices have these sizes and strides, and elements of type `T`.
        unsafe { self.copy_to(i, to.elements.as_mut_ptr(), self.rows as isize) };
        Ok(to.elements.iter().fold(true, |all, &v| all & Inexact::is_finite(v)))
    }

    /// The address of matrix `i`, whose elements are of type `T`, and the strides of its rows and columns.
    ///
    /// # Panics
    /// If they are of another type, or there is no such matrix.
    fn place<T: Element>(&self, i: usize) -> (*const T, [isize; 2]) {
        assert!(
            T::DTYPE == self.dtype && i < self.count,
            "a matrix of another type, or outside of the batch"
        );
        let [.., down, across] = *self.strides else { unreachable!("a matrix has two axes") };
        let offset = match self.apart {
            Some(apart) => i as isize * apart,
            None => shape::offset(i, self.lead, &self.strides),
        };
        (self.start.get().cast_const().cast::<T>().wrapping_offset(offset), [down, across])
    }

    /// Copies a range of matrices in row order, each into its lane. Returns which of them are finite.
    pub fn read_lanes<T: Scalar>(&self, range: Range<usize>, to: &mut [Lanes<T>]) -> Lanes<bool> {
        let mut is_finite = [true; LANES];
        for (l, i) in range.enumerate() {
            let (from, [down, across]) = self.place::<T>(i);
            let mut all = true;
            for r in 0..self.rows {
                for c in 0..self.columns {
                    // SAFETY: the element lies in the matrix, whose elements have type `T`.
                    let v = unsafe { *from.offset(r as isize * down + c as isize * across) };
                    to[r * self.columns + c][l] = v;
                    all &= Inexact::is_finite(v);
                }
            }
            is_finite[l] = all;
        }
        is_finite
    }

    /// Copies matrix `i` into one whose columns are `apart` elements apart.
    ///
    /// # Safety
    /// The elements have type `T`, and there is room for all of them.
    unsafe fn copy_to<T: Scalar>(&self, i: usize, to: *mut T, apart: isize) {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe { copy_matrix([self.rows, self.columns], self.place(i), (to, [1, apart])) };
    }

    /// Matrix `i` in column order.
    pub fn columnwise<T: Scalar>(&self, i: usize) -> Result<Mat<T>, NoMemory> {
        let mut to = zeros::<T>(self.rows, self.columns)?;
        // SAFETY: both matrices have these sizes and strides, and elements of type `T`.
        unsafe { self.copy_to(i, to.as_ptr_mut(), to.col_stride()) };
        Ok(to)
    }

    fn finite<T: Scalar>(x: Mat<T>) -> Option<Mat<T>> {
        let column = |c: usize| x.col_as_slice(c).iter().fold(true, |all, &v| all & Inexact::is_finite(v));
        (0..x.ncols()).all(column).then_some(x)
    }

    fn dims(&self, own: &[usize]) -> Dims {
        self.lead.iter().chain(own).copied().collect()
    }

    /// Runs `f` on every matrix. Returns the first index for which `f` returns false.
    ///
    /// # Errors
    /// [`Error::Memory`] in the name of `op` if there was none for a matrix.
    pub fn each(
        &self,
        op: &'static str,
        work: usize,
        f: impl Fn(usize) -> Result<bool, NoMemory> + Sync,
    ) -> Result<Option<usize>> {
        self.in_groups(op, work, 1, &|range, failed| {
            for i in range {
                if !f(i)? {
                    failed.fetch_min(i, Relaxed);
                }
            }
            Ok(())
        })
    }

    /// Runs `f` on every range of matrices that fits into lanes, with room for `room` elements of each. Returns the first
    /// matrix where it fails.
    ///
    /// # Errors
    /// [`Error::Memory`] in the name of `op` if there was none for the lanes.
    pub fn in_lanes<T: Scalar>(
        &self,
        op: &'static str,
        work: usize,
        room: usize,
        f: &InLanes<'_, T>,
    ) -> Result<Option<usize>> {
        self.in_groups(op, work, LANES, &|range, failed| {
            let mut lanes: Vec<Lanes<T>> = Vec::new();
            lanes.try_room(room)?;
            lanes.resize(room, [T::ZERO; LANES]);
            for start in range.clone().step_by(LANES) {
                let range = start..range.end.min(start + LANES);
                let done = f(range.clone(), &mut lanes);
                if let Some(i) = range.zip(done).find(|(_, done)| !done) {
                    failed.fetch_min(i.0, Relaxed);
                }
            }
            Ok(())
        })
    }

    /// Runs `f` on all matrices, by threads in ranges that begin at multiples of `unit`. Returns the first one where it fails.
    fn in_groups(&self, op: &'static str, work: usize, unit: usize, f: &Group<'_>) -> Result<Option<usize>> {
        let (failed, no_memory) = (AtomicUsize::new(usize::MAX), AtomicBool::new(false));
        let run = |range: Range<usize>| {
            if !no_memory.load(Relaxed) && f(range, &failed).is_err() {
                no_memory.store(true, Relaxed);
            }
        };
        let count = self.count();
        let group = PARALLEL.div_ceil(work.max(1).saturating_mul(8)).next_multiple_of(unit);
        if work.saturating_mul(count) < PARALLEL {
            run(0..count);
        } else {
            par::pieces(count, group, &run);
        }
        if no_memory.into_inner() {
            return Err(self.no_memory(op));
        }
        Ok(Some(failed.into_inner()).filter(|&i| i != usize::MAX))
    }

    /// The error that there is no memory to work on a matrix.
    pub fn no_memory(&self, op: &'static str) -> Box<Error> {
        Error::memory(op, vec![self.rows, self.columns], self.dtype)
    }

    /// The error for matrix `i`, if there is one.
    pub fn blame(&self, op: &'static str, i: Option<usize>, what: &str) -> Result<()> {
        let Some(mut i) = i else { return Ok(()) };
        if self.lead.is_empty() {
            bail!(Singular, op, "the matrix {what}");
        }
        let mut index = vec![0; self.lead.len()];
        for (at, &d) in index.iter_mut().zip(self.lead).rev() {
            *at = i % d;
            i /= d;
        }
        bail!(Singular, op, "the matrix at {index:?} of the batch {what}")
    }
}

/// A matrix of adjacent columns. A small one needs no memory from the system; since to move it is to copy it, it stays where
/// it is made.
pub(super) struct Columns<T> {
    elements: SmallVec<[T; 64]>,
    rows: usize,
    columns: usize,
}

impl<T: Scalar> Columns<T> {
    pub fn new() -> Columns<T> {
        Columns { elements: SmallVec::new(), rows: 0, columns: 0 }
    }

    /// Makes it a matrix of that size. Its elements are any numbers.
    pub fn resize(&mut self, rows: usize, columns: usize) -> Result<(), NoMemory> {
        if rows.max(columns) > SMALL {
            ready()?;
        }
        let n = rows.checked_mul(columns).ok_or(NoMemory)?;
        if let Some(more) = n.checked_sub(self.elements.len()) {
            self.elements.try_reserve(more).map_err(|_| NoMemory)?;
        }
        self.elements.resize(n, <T as Field>::ZERO);
        (self.rows, self.columns) = (rows, columns);
        Ok(())
    }

    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    pub fn at(&self, row: usize, column: usize) -> T {
        self.elements[column * self.rows + row]
    }

    pub fn column(&self, column: usize) -> &[T] {
        &self.elements[column * self.rows..][..self.rows]
    }

    pub fn fill(&mut self, value: T) {
        self.elements.fill(value);
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        self.elements.chunks_exact_mut(self.rows.max(1))
    }

    /// The columns before one, and the others.
    pub fn split_at_mut(&mut self, column: usize) -> (&mut [T], &mut [T]) {
        self.elements.split_at_mut(column * self.rows)
    }

    pub fn as_ref(&self) -> MatRef<'_, T> {
        MatRef::from_column_major_slice(&self.elements, self.rows, self.columns)
    }

    pub fn as_mut(&mut self) -> MatMut<'_, T> {
        MatMut::from_column_major_slice_mut(&mut self.elements, self.rows, self.columns)
    }
}

/// An output array with a fixed number of elements for each matrix, which threads write matrix by matrix.
pub(super) struct BatchOutput<T> {
    pub array: Array,
    parts: Parts<T>,
}

/// The elements of an output, as many for each matrix.
pub(super) struct Parts<T> {
    start: SendPtr,
    count: usize,
    each: usize,
    of: std::marker::PhantomData<T>,
}

impl<T: Element> BatchOutput<T> {
    pub fn new(op: &'static str, batch: &Batch<'_>, own: &[usize]) -> Result<BatchOutput<T>> {
        let mut start = std::ptr::null_mut();
        let array = Array::build_raw(op, T::DTYPE, &batch.dims(own), |p| start = p)?;
        // SAFETY: the array has so many elements for each matrix, and stays unshared until the kernel returns it.
        Ok(BatchOutput { array, parts: unsafe { Parts::at(start, batch.count, own.iter().product()) } })
    }
}

impl<T> std::ops::Deref for BatchOutput<T> {
    type Target = Parts<T>;

    fn deref(&self) -> &Parts<T> {
        &self.parts
    }
}

impl<T: Element> Parts<T> {
    /// The outputs at an address, `each` elements for each of `count` matrices.
    ///
    /// # Safety
    /// There is room for them, which nobody else uses while this is there.
    pub unsafe fn at(start: *mut u8, count: usize, each: usize) -> Parts<T> {
        Parts { start: SendPtr(start), count, each, of: std::marker::PhantomData }
    }

    /// The elements of matrix `i`.
    ///
    /// # Panics
    /// If there is no such matrix.
    #[allow(clippy::mut_from_ref)]
    pub fn part(&self, i: usize) -> &mut [T] {
        assert!(i < self.count, "a matrix outside of the batch");
        // SAFETY: nobody else uses the room, and the callers ask for every `i` once, and take each part of an output only once.
        unsafe { std::slice::from_raw_parts_mut(self.start.get().cast::<T>().add(i * self.each), self.each) }
    }
}

impl<T: Scalar> Parts<T> {
    /// Writes a range of matrices, each from its lane; NaN where `is_done` is false.
    pub fn put_lanes(&self, range: Range<usize>, from: &[Lanes<T>], is_done: impl Fn(usize) -> bool) {
        for (l, i) in range.enumerate() {
            let out = self.part(i);
            if is_done(l) {
                for (e, o) in out.iter_mut().enumerate() {
                    *o = from[e][l];
                }
            } else {
                out.fill(T::NAN);
            }
        }
    }

    /// Writes matrix `i` in row order; NaN for `None`.
    pub fn put(&self, i: usize, matrix: Option<MatRef<'_, T>>) {
        let out = self.part(i);
        match matrix {
            None => out.fill(T::NAN),
            Some(m) => {
                let dims = [m.nrows(), m.ncols()];
                assert_eq!(out.len(), dims[0] * dims[1], "a matrix of the size of a part");
                let (from, to) = ([m.row_stride(), m.col_stride()], [m.ncols() as isize, 1]);
                // SAFETY: both matrices have these sizes and strides, and elements of type `T`.
                unsafe { copy_matrix(dims, (m.as_ptr(), from), (out.as_mut_ptr(), to)) };
            }
        }
    }
}

/// Copies a matrix, given its rows and columns and the strides of both matrices. Few elements are copied one by one, because
/// a plan for the copy would take longer.
///
/// # Safety
/// As [`copy`].
unsafe fn copy_matrix<T: Scalar>(
    dims: [usize; 2],
    (from, out_of): (*const T, [isize; 2]),
    (to, into): (*mut T, [isize; 2]),
) {
    const FEW: usize = 64;
    let [rows, columns] = dims;
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        if rows * columns > FEW {
            return copy(size_of::<T>(), &dims, (from.cast(), &out_of), (to.cast(), &into));
        }
        for (r, c) in (0..rows as isize).flat_map(|r| (0..columns as isize).map(move |c| (r, c))) {
            let x = *from.offset(r * out_of[0] + c * out_of[1]);
            to.offset(r * into[0] + c * into[1]).write(x);
        }
    }
}

/// A matrix of zeros.
pub(super) fn zeros<T: Scalar>(rows: usize, columns: usize) -> Result<Mat<T>, NoMemory> {
    matrix(rows, columns, |_, _| T::ZERO)
}

/// A matrix of these elements.
pub(super) fn matrix<T: Scalar>(
    rows: usize,
    columns: usize,
    element: impl FnMut(usize, usize) -> T,
) -> Result<Mat<T>, NoMemory> {
    if rows.max(columns) > SMALL {
        ready()?;
    }
    let mut new = Mat::new();
    new.try_reserve(rows, columns).map_err(|_| NoMemory)?;
    new.resize_with(rows, columns, element);
    Ok(new)
}

/// The identity.
pub(super) fn identity<T: Scalar>(rows: usize, columns: usize) -> Result<Mat<T>, NoMemory> {
    matrix(rows, columns, |i, j| if i == j { T::ONE } else { T::ZERO })
}

/// Memory for a factorisation to work in.
pub(super) fn scratch(size: StackReq) -> Result<MemBuffer, NoMemory> {
    MemBuffer::try_new(size).map_err(|_| NoMemory)
}

/// `faer` multiplies matrices up to this size in place.
const SMALL: usize = 8;

/// Makes the room for packed factors that `faer` keeps for each thread. `faer` has no way to report that there is no
/// memory for it, so this looks first.
fn ready() -> Result<(), NoMemory> {
    thread_local!(static IS_READY: Cell<bool> = const { Cell::new(false) });
    if IS_READY.get() {
        return Ok(());
    }
    memory::ensure(2 * memory::largest_cache() + (4 << 20))?;
    let (x, mut product) = (Mat::<f64>::zeros(64, 64), Mat::<f64>::zeros(64, 64));
    faer::linalg::matmul::matmul(product.as_mut(), Accum::Replace, x.as_ref(), x.as_ref(), 1.0, Par::Seq);
    IS_READY.set(true);
    Ok(())
}

/// The complex conjugates of the elements.
pub(super) fn conjugate<T: Scalar>(x: &mut Mat<T>) {
    for c in 0..x.ncols() {
        x.col_as_slice_mut(c).iter_mut().for_each(|v| *v = v.conjugate());
    }
}

/// Drops the imaginary parts of the diagonal.
pub(super) fn real_diagonal<T: Scalar>(x: &mut Mat<T>) {
    for i in 0..x.nrows() {
        x[(i, i)] = T::of_real(T::real_part_impl(&x[(i, i)]));
    }
}

/// About the number of multiplications of a factorisation.
pub(super) fn cube(n: usize) -> usize {
    n.saturating_mul(n).saturating_mul(n)
}
