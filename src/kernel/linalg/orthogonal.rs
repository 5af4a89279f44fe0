//! Factorisations with orthonormal columns: QR, SVD and symmetric eigenvalues.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as apply_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as apply_reflections,
};
use faer::linalg::qr::no_pivoting::factor;
use faer::linalg::{evd, svd as values};
use faer::{Conj, Mat, MatMut, Par};

use super::batch::{Batch, BatchOutput, Field, cube};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::{Result, bail};
use crate::kernel::num::Num;

/// A QR factorisation: Householder reflections below the diagonal, and the upper triangle.
struct Reflections<T> {
    both: Mat<T>,
    factors: Mat<T>,
}

impl<T: Field> Reflections<T> {
    fn new(mut both: Mat<T>) -> Reflections<T> {
        let (m, n) = both.shape();
        let block = factor::recommended_block_size::<T>(m, n);
        let mut factors = Mat::zeros(block, m.min(n));
        let mut memory =
            MemBuffer::new(factor::qr_in_place_scratch::<T>(m, n, block, Par::Seq, Default::default()));
        let stack = MemStack::new(&mut memory);
        factor::qr_in_place(both.as_mut(), factors.as_mut(), Par::Seq, stack, Default::default());
        Reflections { both, factors }
    }

    /// Applies the reflections to a matrix.
    fn apply(&self, x: MatMut<'_, T>) {
        let (m, k) = (self.both.nrows(), self.factors.ncols());
        let mut memory = MemBuffer::new(apply_scratch::<T>(m, self.factors.nrows(), x.ncols()));
        let stack = MemStack::new(&mut memory);
        let basis = self.both.get(.., ..k);
        apply_reflections(basis, self.factors.as_ref(), Conj::No, x, Par::Seq, stack);
    }
}

/// The reduced QR factorisation: orthonormal columns `q` and an upper triangle `r` with `q @ r = x`.
pub fn qr(op: &'static str, x: &Array) -> Result<[Array; 2]> {
    dispatch!(x.dtype(), float T => {
        let x = Batch::of(x);
        let (m, n) = (x.rows, x.columns);
        let k = m.min(n);
        let (q, r) = (BatchOutput::<T>::new(op, &x, &[m, k])?, BatchOutput::<T>::new(op, &x, &[k, n])?);
        x.each(cube(m.max(n)), |i| {
            let factors = x.matrix::<T>(i).map(Reflections::new);
            q.put(i, factors.as_ref().map(|f| {
                let mut q = Mat::identity(m, k);
                f.apply(q.as_mut());
                q
            }).as_ref().map(Mat::as_ref));
            r.put(i, factors.as_ref().map(|f| {
                Mat::from_fn(k, n, |i, j| if i <= j { f.both[(i, j)] } else { T::ZERO })
            }).as_ref().map(Mat::as_ref));
            true
        });
        Ok([q.array, r.array])
    }, else bail!(Dtype, op, "not defined for {}", x.dtype()))
}

/// Orthonormal columns that complete the orthonormal columns of `x` to a basis. `x` has no more columns than rows.
pub fn complement(op: &'static str, x: &Array) -> Result<Array> {
    dispatch!(x.dtype(), float T => {
        let x = Batch::of(x);
        let (m, k) = (x.rows, x.columns);
        let out = BatchOutput::<T>::new(op, &x, &[m, m - k])?;
        x.each(cube(m), |i| {
            let rest = x.matrix::<T>(i).map(|x| {
                let mut rest = Mat::from_fn(m, m - k, |i, j| if i == j + k { T::ONE } else { T::ZERO });
                if k > 0 {
                    Reflections::new(x).apply(rest.as_mut());
                }
                rest
            });
            out.put(i, rest.as_ref().map(Mat::as_ref));
            true
        });
        Ok(out.array)
    }, else bail!(Dtype, op, "not defined for {}", x.dtype()))
}

/// The reduced singular value decomposition `u @ diag(s) @ vh = x`, with `s` descending. Without `vectors` only `s`
/// is computed, and the others are empty.
pub fn svd(op: &'static str, x: &Array, vectors: bool) -> Result<[Array; 3]> {
    dispatch!(x.dtype(), float T => {
        let x = Batch::of(x);
        let (m, n) = (x.rows, x.columns);
        let k = m.min(n);
        let wide = if vectors { k } else { 0 };
        let u = BatchOutput::<T>::new(op, &x, &[m, wide])?;
        let s = BatchOutput::<T>::new(op, &x, &[k])?;
        let vh = BatchOutput::<T>::new(op, &x, &[wide, n])?;
        let compute = if vectors { values::ComputeSvdVectors::Thin } else { values::ComputeSvdVectors::No };
        let failed = x.each(cube(m.max(n)).saturating_mul(8), |i| {
            let Some(a) = x.matrix::<T>(i) else {
                u.put(i, None);
                s.put(i, None);
                vh.put(i, None);
                return true;
            };
            let mut left = vectors.then(|| Mat::zeros(m, k));
            let mut right = vectors.then(|| Mat::zeros(n, k));
            let mut middle = Diag::zeros(k);
            let mut memory =
                MemBuffer::new(values::svd_scratch::<T>(m, n, compute, compute, Par::Seq, Default::default()));
            let done = k == 0 || values::svd(
                a.as_ref(),
                middle.as_mut(),
                left.as_mut().map(Mat::as_mut),
                right.as_mut().map(Mat::as_mut),
                Par::Seq,
                MemStack::new(&mut memory),
                Default::default(),
            ).is_ok();
            s.part(i).iter_mut().zip(middle.column_vector().iter()).for_each(|(o, &v)| *o = v);
            if let (Some(left), Some(right)) = (left, right) {
                u.put(i, Some(left.as_ref()));
                vh.put(i, Some(right.transpose()));
            }
            done
        });
        x.blame(op, failed, "has singular values that the iteration does not converge to")?;
        Ok([u.array, s.array, vh.array])
    }, else bail!(Dtype, op, "not defined for {}", x.dtype()))
}

/// The eigenvalues (ascending) and eigenvectors (in columns) of symmetric matrices, given by the lower or upper
/// triangles of `x`. Without `vectors` the eigenvectors are empty.
pub fn eigh(op: &'static str, x: &Array, upper: bool, vectors: bool) -> Result<[Array; 2]> {
    dispatch!(x.dtype(), float T => {
        let x = Batch::of(x);
        let n = x.rows;
        let (w, v) = (BatchOutput::<T>::new(op, &x, &[n])?, BatchOutput::<T>::new(op, &x, &[n, if vectors { n } else { 0 }])?);
        let compute = if vectors { evd::ComputeEigenvectors::Yes } else { evd::ComputeEigenvectors::No };
        let failed = x.each(cube(n).saturating_mul(4), |i| {
            let Some(a) = x.part_of::<T>(i, |r, c| if upper { r <= c } else { r >= c }) else {
                w.put(i, None);
                v.put(i, None);
                return true;
            };
            let a = if upper { a.transpose() } else { a.as_ref() };
            let mut columns = vectors.then(|| Mat::zeros(n, n));
            let mut middle = Diag::zeros(n);
            let mut memory =
                MemBuffer::new(evd::self_adjoint_evd_scratch::<T>(n, compute, Par::Seq, Default::default()));
            let done = n == 0 || evd::self_adjoint_evd(
                a,
                middle.as_mut(),
                columns.as_mut().map(Mat::as_mut),
                Par::Seq,
                MemStack::new(&mut memory),
                Default::default(),
            ).is_ok();
            w.part(i).iter_mut().zip(middle.column_vector().iter()).for_each(|(o, &v)| *o = v);
            if let Some(columns) = columns {
                v.put(i, Some(columns.as_ref()));
            }
            done
        });
        x.blame(op, failed, "has eigenvalues that the iteration does not converge to")?;
        Ok([w.array, v.array])
    }, else bail!(Dtype, op, "not defined for {}", x.dtype()))
}
