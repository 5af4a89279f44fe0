//! Factorisations with orthonormal columns: QR, SVD and symmetric eigenvalues.

use faer::diag::Diag;
use faer::dyn_stack::MemStack;
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as apply_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as apply_reflections,
};
use faer::linalg::matmul::matmul;
use faer::linalg::qr::no_pivoting::factor;
use faer::linalg::triangular_solve::solve_unit_lower_triangular_in_place;
use faer::linalg::{evd, svd as values};
use faer::traits::ComplexField;
use faer::{Accum, Conj, Mat, MatMut, Par};

use super::batch::{
    Batch, BatchOutput, Part, Scalar, conjugate, cube, identity, matrix, on_matrices, real_diagonal, scratch,
    zeros,
};
use super::small;
use crate::array::Array;
use crate::dtype::{Element, Ordered};
use crate::error::Result;
use crate::kernel::num::{Field, Inexact, Num};
use crate::memory::{NoMemory, TryPush};

/// A QR factorisation: Householder reflections below the diagonal, and the upper triangle.
struct Reflections<T> {
    both: Mat<T>,
    factors: Mat<T>,
}

impl<T: Scalar> Reflections<T> {
    fn new(mut both: Mat<T>) -> Result<Reflections<T>, NoMemory> {
        let (m, n) = both.shape();
        let block = factor::recommended_block_size::<T>(m, n);
        let mut factors = zeros(block, m.min(n))?;
        let mut memory =
            scratch(factor::qr_in_place_scratch::<T>(m, n, block, Par::Seq, Default::default()))?;
        let stack = MemStack::new(&mut memory);
        factor::qr_in_place(both.as_mut(), factors.as_mut(), Par::Seq, stack, Default::default());
        Ok(Reflections { both, factors })
    }

    /// Applies the reflections to a matrix.
    fn apply(&self, x: MatMut<'_, T>) -> Result<(), NoMemory> {
        let (m, k) = (self.both.nrows(), self.factors.ncols());
        let mut memory = scratch(apply_scratch::<T>(m, self.factors.nrows(), x.ncols()))?;
        let stack = MemStack::new(&mut memory);
        let basis = self.both.get(.., ..k);
        apply_reflections(basis, self.factors.as_ref(), Conj::No, x, Par::Seq, stack);
        Ok(())
    }

    /// The factors of the columns of the `basis` that make the diagonal of the triangle real, with LAPACK's signs: a
    /// reflection turns the real part of the element that it keeps.
    fn phases(&self, basis: &Mat<T>) -> Result<Vec<T>, NoMemory> {
        let (m, k) = basis.shape();
        let mut phases = Vec::new();
        phases.try_room(k)?;
        eliminate(&mut matrix(k, k, |i, j| basis[(i, j)])?, |j, q| {
            let r = self.both[(j, j)];
            let kept = Field::mul(r, q);
            let is_reflected = T::imag_part_impl(&kept) != Part::<T>::ZERO
                || (j + 1..m).any(|i| self.both[(i, j)] != T::ZERO);
            let is_negative = T::real_part_impl(&kept) < Part::<T>::ZERO;
            let sign = if is_negative == is_reflected { T::ONE } else { Field::neg(T::ONE) };
            phases.push(Field::mul(r.direction(), sign));
            phases[j]
        });
        Ok(phases)
    }
}

/// Eliminates the elements of `q - 1` below the diagonal, column by column without exchanges, after column `j` has been
/// multiplied by `phase(j, q[j, j])`, where `q[j, j]` is what the columns before left of it. If the columns of `q` are
/// orthonormal, the factors `l` and `u` that are left in its place are reflections: see [`reflections`].
fn eliminate<T: Scalar>(q: &mut Mat<T>, mut phase: impl FnMut(usize, T) -> T) {
    /// Columns that are eliminated before the others hear of it.
    const WIDTH: usize = 32;
    let (m, k) = q.shape();
    for start in (0..k).step_by(WIDTH) {
        let end = Ord::min(start + WIDTH, k);
        for j in start..end {
            let by = phase(j, q[(j, j)]);
            q.col_as_slice_mut(j).iter_mut().for_each(|v| *v = Field::mul(*v, by));
            let pivot = Field::sub(q[(j, j)], T::ONE);
            q[(j, j)] = pivot;
            // A column that has nothing to eliminate belongs to no reflection.
            let over = |v: T| if pivot == T::ZERO { T::ZERO } else { Inexact::div(v, pivot) };
            q.col_as_slice_mut(j)[j + 1..].iter_mut().for_each(|v| *v = over(*v));
            for c in j + 1..end {
                let by = q[(j, c)];
                for i in j + 1..m {
                    q[(i, c)] = Field::sub(q[(i, c)], Field::mul(by, q[(i, j)]));
                }
            }
        }
        let (done, rest) = q.as_mut().split_at_col_mut(end);
        let (high, low) = done.as_ref().get(start.., start..).split_at_row(end - start);
        let (mut above, below) = rest.get_mut(start.., ..).split_at_row_mut(end - start);
        solve_unit_lower_triangular_in_place(high, above.as_mut(), Par::Seq);
        matmul(below, Accum::Add, low, above.as_ref(), Field::neg(T::ONE), Par::Seq);
    }
}

/// The Householder reflections whose product begins with the orthonormal columns of `x`, as LAPACK packs them: their
/// vectors are the lower triangle with ones on the diagonal, and their factors the diagonal, negated. J. Ballard et
/// al., "Reconstructing Householder vectors from tall-skinny QR" (2015).
pub fn reflections(op: &'static str, x: &Array) -> Result<Array> {
    on_matrices!(op, [x], T => {
        let x = Batch::of(x);
        let out = BatchOutput::<T>::new(op, &x, &[x.rows, x.columns])?;
        if x.rows == 0 || x.columns == 0 {
            return Ok(out.array);
        }
        x.each(op, cube(x.rows), |i| {
            let mut q = x.matrix::<T>(i)?;
            if let Some(q) = &mut q {
                eliminate(q, |_, _| T::ONE);
            }
            out.put(i, q.as_ref().map(Mat::as_ref));
            Ok(true)
        })?;
        Ok(out.array)
    })
}

/// The reduced QR factorisation: orthonormal columns `q` and an upper triangle `r`, whose diagonal is real and has
/// LAPACK's signs, with `q @ r = x`.
pub fn qr(op: &'static str, x: &Array) -> Result<[Array; 2]> {
    on_matrices!(op, [x], T => {
        let x = Batch::of(x);
        let (m, n) = (x.rows, x.columns);
        let k = m.min(n);
        let (q, r) = (BatchOutput::<T>::new(op, &x, &[m, k])?, BatchOutput::<T>::new(op, &x, &[k, n])?);
        if k == 0 {
            return Ok([q.array, r.array]);
        }
        if small::suits::<T>(&x) && small::qr(op, &x, &q, &r)?.is_none() {
            return Ok([q.array, r.array]);
        }
        x.each(op, cube(m.max(n)), |i| {
            let Some(factors) = x.matrix::<T>(i)?.map(Reflections::new).transpose()? else {
                q.put(i, None);
                r.put(i, None);
                return Ok(true);
            };
            let mut basis = identity(m, k)?;
            factors.apply(basis.as_mut())?;
            // The reflections of complex numbers leave a phase on the diagonal.
            let phases = if T::IS_REAL { None } else { Some(factors.phases(&basis)?) };
            let phase = |c: usize| phases.as_ref().map_or(T::ONE, |p| p[c]);
            for c in 0..k {
                let by = phase(c);
                basis.col_as_slice_mut(c).iter_mut().for_each(|v| *v = Field::mul(*v, by));
            }
            q.put(i, Some(basis.as_ref()));
            let part = |i, j| if i <= j { Field::mul(factors.both[(i, j)], phase(i).conjugate()) } else { T::ZERO };
            let mut triangle = matrix(k, n, part)?;
            for c in 0..k {
                triangle[(c, c)] = T::of_real(T::real_part_impl(&triangle[(c, c)]));
            }
            r.put(i, Some(triangle.as_ref()));
            Ok(true)
        })?;
        Ok([q.array, r.array])
    })
}

/// Orthonormal columns that complete the orthonormal columns of `x` to a basis. `x` has no more columns than rows.
pub fn complement(op: &'static str, x: &Array) -> Result<Array> {
    on_matrices!(op, [x], T => {
        let x = Batch::of(x);
        let (m, k) = (x.rows, x.columns);
        let out = BatchOutput::<T>::new(op, &x, &[m, m - k])?;
        x.each(op, cube(m), |i| {
            let Some(x) = x.matrix::<T>(i)? else {
                out.put(i, None);
                return Ok(true);
            };
            let mut rest = matrix(m, m - k, |i, j| if i == j + k { T::ONE } else { T::ZERO })?;
            if k > 0 {
                Reflections::new(x)?.apply(rest.as_mut())?;
            }
            out.put(i, Some(rest.as_ref()));
            Ok(true)
        })?;
        Ok(out.array)
    })
}

/// Divides a matrix by a power of two near its largest element, and returns the divisor: squares of elements of any
/// size are then in range.
pub(super) fn scale<T: Scalar>(x: &mut Mat<T>) -> Part<T> {
    let columns = x.ncols();
    let largest = (0..columns).flat_map(|c| x.col_as_slice(c)).fold(Part::<T>::ZERO, |most, v| {
        let (re, im) = (T::real_part_impl(v), T::imag_part_impl(v));
        Num::max(most, Num::max(Num::abs(re), Num::abs(im)))
    });
    // The power itself must be in range.
    let most = if size_of::<Part<T>>() == 4 { 127 } else { 1023 };
    let exponent: i32 = Ord::min(libm::frexp(largest.to_f64()).1, most);
    // Near one nothing is gained.
    if largest == Part::<T>::ZERO || (-16..16).contains(&exponent) {
        return Part::<T>::ONE;
    }
    // In two steps, since the reciprocal of a small divisor may be infinite.
    let (first, second) = (exponent / 2, exponent - exponent / 2);
    let power = |e: i32| Part::<T>::lit(libm::ldexp(1.0, e));
    for c in 0..columns {
        x.col_as_slice_mut(c)
            .iter_mut()
            .for_each(|v| *v = T::mul_real_impl(&T::mul_real_impl(v, &power(-first)), &power(-second)));
    }
    power(exponent)
}

/// The reduced singular value decomposition `u @ diag(s) @ vh = x`, with `s` descending. Without `vectors` only `s`
/// is computed, and the others are empty.
pub fn svd(op: &'static str, x: &Array, vectors: bool) -> Result<[Array; 3]> {
    on_matrices!(op, [x], T => {
        let x = Batch::of(x);
        let (m, n) = (x.rows, x.columns);
        let k = m.min(n);
        let wide = if vectors { k } else { 0 };
        let u = BatchOutput::<T>::new(op, &x, &[m, wide])?;
        let s = BatchOutput::<Part<T>>::new(op, &x, &[k])?;
        let vh = BatchOutput::<T>::new(op, &x, &[wide, n])?;
        let compute = if vectors { values::ComputeSvdVectors::Thin } else { values::ComputeSvdVectors::No };
        if k == 0 {
            return Ok([u.array, s.array, vh.array]);
        }
        let failed = x.each(op, cube(m.max(n)).saturating_mul(8), |i| {
            let Some(mut a) = x.matrix::<T>(i)? else {
                u.put(i, None);
                s.put(i, None);
                vh.put(i, None);
                return Ok(true);
            };
            let by = scale(&mut a);
            let mut left = vectors.then(|| zeros(m, k)).transpose()?;
            let mut right = vectors.then(|| zeros(n, k)).transpose()?;
            let mut middle = Diag::<T>::zeros(k);
            let mut memory =
                scratch(values::svd_scratch::<T>(m, n, compute, compute, Par::Seq, Default::default()))?;
            let done = values::svd(
                a.as_ref(),
                middle.as_mut(),
                left.as_mut().map(Mat::as_mut),
                right.as_mut().map(Mat::as_mut),
                Par::Seq,
                MemStack::new(&mut memory),
                Default::default(),
            ).is_ok();
            s.part(i).iter_mut().zip(middle.column_vector().iter()).for_each(|(o, v)| *o = Field::mul(T::real_part_impl(v), by));
            if let (Some(left), Some(mut right)) = (left, right) {
                conjugate(&mut right);
                u.put(i, Some(left.as_ref()));
                vh.put(i, Some(right.transpose()));
            }
            Ok(done)
        })?;
        x.blame(op, failed, "has singular values that the iteration does not converge to")?;
        Ok([u.array, s.array, vh.array])
    })
}

/// The pseudoinverses `v @ diag(1 / s) @ uᴴ`, where singular values up to `atol`, or up to `rtol` times the largest,
/// have 0 in the place of the reciprocal.
pub fn pinv(op: &'static str, x: &Array, atol: f64, rtol: f64) -> Result<Array> {
    on_matrices!(op, [x], T => {
        let [u, s, vh] = svd(op, x, true)?;
        let x = Batch::of(x);
        let (u, vh) = (Batch::of(&u), Batch::of(&vh));
        let (m, n) = (x.rows, x.columns);
        let k = m.min(n);
        let out = BatchOutput::<T>::new(op, &x, &[n, m])?;
        let lists = s.as_slice::<Part<T>>().expect("contiguous");
        if k == 0 {
            return Array::zeros(op, T::DTYPE, out.array.dims());
        }
        x.each(op, cube(m.max(n)), |i| {
            let (Some(u), Some(mut vh)) = (u.matrix::<T>(i)?, vh.matrix::<T>(i)?) else {
                out.put(i, None);
                return Ok(true);
            };
            let s = &lists[i * k..][..k];
            let least = Num::max(Part::<T>::lit(atol), Field::mul(Part::<T>::lit(rtol), s[0]));
            for c in 0..n {
                vh.col_as_slice_mut(c).iter_mut().zip(s).for_each(|(v, &s)| {
                    *v = if s > least { Inexact::div(*v, T::of_real(s)) } else { T::ZERO };
                });
            }
            let mut product = zeros::<T>(n, m)?;
            matmul(product.as_mut(), Accum::Replace, vh.adjoint(), u.adjoint(), T::ONE, Par::Seq);
            out.put(i, Some(product.as_ref()));
            Ok(true)
        })?;
        Ok(out.array)
    })
}

/// The eigenvalues (ascending) and eigenvectors (in columns) of symmetric (or Hermitian) matrices, given by the lower
/// or upper triangles of `x`. Without `vectors` the eigenvectors are empty.
pub fn eigh(op: &'static str, x: &Array, upper: bool, vectors: bool) -> Result<[Array; 2]> {
    on_matrices!(op, [x], T => {
        let x = Batch::of(x);
        let n = x.rows;
        let (w, v) = (BatchOutput::<Part<T>>::new(op, &x, &[n])?, BatchOutput::<T>::new(op, &x, &[n, if vectors { n } else { 0 }])?);
        let compute = if vectors { evd::ComputeEigenvectors::Yes } else { evd::ComputeEigenvectors::No };
        if n == 0 {
            return Ok([w.array, v.array]);
        }
        let failed = x.each(op, cube(n).saturating_mul(4), |i| {
            let Some(mut a) = x.part_of::<T>(i, |r, c| if upper { r <= c } else { r >= c })? else {
                w.put(i, None);
                v.put(i, None);
                return Ok(true);
            };
            let by = scale(&mut a);
            real_diagonal(&mut a);
            if upper {
                conjugate(&mut a);
            }
            let a = if upper { a.transpose() } else { a.as_ref() };
            let mut columns = vectors.then(|| zeros(n, n)).transpose()?;
            let mut middle = Diag::<T>::zeros(n);
            let mut memory =
                scratch(evd::self_adjoint_evd_scratch::<T>(n, compute, Par::Seq, Default::default()))?;
            let done = evd::self_adjoint_evd(
                a,
                middle.as_mut(),
                columns.as_mut().map(Mat::as_mut),
                Par::Seq,
                MemStack::new(&mut memory),
                Default::default(),
            ).is_ok();
            w.part(i).iter_mut().zip(middle.column_vector().iter()).for_each(|(o, v)| *o = Field::mul(T::real_part_impl(v), by));
            if let Some(columns) = columns {
                v.put(i, Some(columns.as_ref()));
            }
            Ok(done)
        })?;
        x.blame(op, failed, "has eigenvalues that the iteration does not converge to")?;
        Ok([w.array, v.array])
    })
}

/// The solution `x` of `h @ x + x @ h = c` for symmetric (or Hermitian) `h` whose eigenvalues are not negative; both
/// have the same leading axes. The part of `x` that a sum of two eigenvalues leaves free, because it is 0, is 0.
pub fn sylvester(op: &'static str, h: &Array, c: &Array) -> Result<Array> {
    on_matrices!(op, [h, c], T => {
        let [w, v] = eigh(op, h, false, true)?;
        let (v, c) = (Batch::of(&v), Batch::of(c));
        let n = v.rows;
        let out = BatchOutput::<T>::new(op, &c, &[n, n])?;
        let lists = w.as_slice::<Part<T>>().expect("contiguous");
        if n == 0 {
            return Ok(out.array);
        }
        v.each(op, cube(n).saturating_mul(4), |i| {
            let (Some(v), Some(mut c)) = (v.matrix::<T>(i)?, c.matrix::<T>(i)?) else {
                out.put(i, None);
                return Ok(true);
            };
            let w = &lists[i * n..][..n];
            let mut half = zeros::<T>(n, n)?;
            matmul(half.as_mut(), Accum::Replace, v.adjoint(), c.as_ref(), T::ONE, Par::Seq);
            matmul(c.as_mut(), Accum::Replace, half.as_ref(), v.as_ref(), T::ONE, Par::Seq);
            for j in 0..n {
                c.col_as_slice_mut(j).iter_mut().zip(w).for_each(|(x, &w_i)| {
                    let sum = Field::add(w_i, w[j]);
                    *x = if sum == Part::<T>::ZERO { T::ZERO } else { Inexact::div(*x, T::of_real(sum)) };
                });
            }
            matmul(half.as_mut(), Accum::Replace, v.as_ref(), c.as_ref(), T::ONE, Par::Seq);
            matmul(c.as_mut(), Accum::Replace, half.as_ref(), v.adjoint(), T::ONE, Par::Seq);
            out.put(i, Some(c.as_ref()));
            Ok(true)
        })?;
        Ok(out.array)
    })
}
