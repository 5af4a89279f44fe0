//! Batches of matrices: conversion to and from `faer`'s matrices, and parallel work on them.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use faer::dyn_stack::{MemBuffer, StackReq};
use faer::traits::RealField;
use faer::{Accum, Mat, MatRef, Par};

use crate::array::Array;
use crate::error::{Error, Result, bail};
use crate::kernel::copy::copy;
use crate::kernel::num::{Inexact, Plain};
use crate::kernel::par::{self, SendPtr};
use crate::memory::{self, NoMemory};
use crate::shape::{self, Dims};

pub(super) trait Scalar: Plain + RealField {
    const NAN: Self;
}
impl Scalar for f32 {
    const NAN: f32 = f32::NAN;
}
impl Scalar for f64 {
    const NAN: f64 = f64::NAN;
}

/// Batches of fewer multiplications stay on the calling thread.
const PARALLEL: usize = 1 << 17;

/// An array of matrices, by its leading axes and the sizes of a matrix.
pub(super) struct Batch<'a> {
    x: &'a Array,
    lead: &'a [usize],
    pub rows: usize,
    pub columns: usize,
}

impl<'a> Batch<'a> {
    pub fn of(x: &'a Array) -> Batch<'a> {
        let (lead, matrix) = x.dims().split_at(x.rank() - 2);
        Batch { x, lead, rows: matrix[0], columns: matrix[1] }
    }

    fn count(&self) -> usize {
        self.lead.iter().product()
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
                .for_each(|(_, v)| *v = T::ZERO);
        }
        Ok(Self::finite(copy))
    }

    fn columnwise<T: Scalar>(&self, i: usize) -> Result<Mat<T>, NoMemory> {
        let strides = self.x.strides();
        let [.., down, across] = *strides else { unreachable!("a matrix has two axes") };
        let mut to = zeros::<T>(self.rows, self.columns)?;
        let apart = to.col_stride();
        // SAFETY: both matrices have these sizes and strides, and elements of type `T`.
        unsafe {
            let from = self.x.ptr().cast::<T>().offset(shape::offset(i, self.lead, &strides));
            let (from, to) = ((from.cast(), &[down, across][..]), (to.as_ptr_mut().cast(), &[1, apart][..]));
            copy(size_of::<T>(), &[self.rows, self.columns], from, to);
        }
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
        let (failed, no_memory) = (AtomicUsize::new(usize::MAX), AtomicBool::new(false));
        let one = |i: usize| {
            if no_memory.load(Relaxed) {
                return;
            }
            match f(i) {
                Ok(true) => {}
                Ok(false) => _ = failed.fetch_min(i, Relaxed),
                Err(NoMemory) => no_memory.store(true, Relaxed),
            }
        };
        let count = self.count();
        let group = PARALLEL.div_ceil(8 * work.max(1));
        if work.saturating_mul(count) < PARALLEL {
            (0..count).for_each(one);
        } else {
            par::pieces(count, group, &|r| r.for_each(one));
        }
        if no_memory.into_inner() {
            return Err(Error::memory(op, vec![self.rows, self.columns], self.x.dtype()));
        }
        Ok(Some(failed.into_inner()).filter(|&i| i != usize::MAX))
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

/// An output array with a fixed number of elements for each matrix, which threads write matrix by matrix.
pub(super) struct BatchOutput<T> {
    pub array: Array,
    start: SendPtr,
    each: usize,
    of: std::marker::PhantomData<T>,
}

impl<T: Scalar> BatchOutput<T> {
    pub fn new(op: &'static str, batch: &Batch<'_>, own: &[usize]) -> Result<BatchOutput<T>> {
        let mut start = std::ptr::null_mut();
        let array = Array::build_raw(op, T::DTYPE, &batch.dims(own), |p| start = p)?;
        Ok(BatchOutput {
            array,
            start: SendPtr(start),
            each: own.iter().product(),
            of: std::marker::PhantomData,
        })
    }

    /// The elements of matrix `i`.
    #[allow(clippy::mut_from_ref)]
    pub fn part(&self, i: usize) -> &mut [T] {
        // SAFETY: the array stays unshared until the kernel returns it, `each` calls with every `i` below the number
        // of matrices once, and a closure takes each part of an output only once.
        unsafe { std::slice::from_raw_parts_mut(self.start.get().cast::<T>().add(i * self.each), self.each) }
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
                unsafe {
                    copy(size_of::<T>(), &dims, (m.as_ptr().cast(), &from), (out.as_mut_ptr().cast(), &to));
                }
            }
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

/// About the number of multiplications of a factorisation.
pub(super) fn cube(n: usize) -> usize {
    n.saturating_mul(n).saturating_mul(n)
}
