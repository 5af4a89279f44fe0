//! Eigenvalues of matrices that need not be symmetric.

use faer::diag::Diag;
use faer::dyn_stack::MemStack;
use faer::linalg::evd::{ComputeEigenvectors, EvdParams, SchurParams, evd_cplx, evd_real, evd_scratch};
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
use faer::traits::ComplexField;
use faer::{Auto, Mat, Par, Spec};

use super::batch::{Batch, BatchOutput, Scalar, cube, matrix, run, scratch, zeros};
use super::orthogonal::scale;
use crate::array::Array;
use crate::dtype::{DType, c128};
use crate::error::Result;
use crate::kernel::pointwise::cast::cast;
use crate::memory::NoMemory;

/// Eigenvalues (in a column) and eigenvectors (in columns) of one matrix, if the iteration converges.
type Pairs = (Mat<c128>, Option<Mat<c128>>);

fn of_complex(a: &Mat<c128>, vectors: bool) -> Result<Option<Pairs>, NoMemory> {
    let n = a.nrows();
    let mut w = Diag::<c128>::zeros(n);
    let mut v = vectors.then(|| zeros(n, n)).transpose()?;
    let mut memory = scratch(evd_scratch::<c128>(n, NO, wanted(vectors), Par::Seq, parameters()))?;
    let (stack, to) = (MemStack::new(&mut memory), v.as_mut().map(Mat::as_mut));
    let done = evd_cplx(a.as_ref(), w.as_mut(), None, to, Par::Seq, stack, parameters());
    let w = matrix(n, 1, |i, _| w.column_vector()[i])?;
    Ok(done.is_ok().then_some((w, v)))
}

fn of_real(a: &Mat<f64>, vectors: bool) -> Result<Option<Pairs>, NoMemory> {
    let n = a.nrows();
    let (mut re, mut im) = (Diag::<f64>::zeros(n), Diag::<f64>::zeros(n));
    let mut both = vectors.then(|| zeros::<f64>(n, n)).transpose()?;
    let mut memory = scratch(evd_scratch::<f64>(n, NO, wanted(vectors), Par::Seq, parameters()))?;
    let (stack, to) = (MemStack::new(&mut memory), both.as_mut().map(Mat::as_mut));
    if evd_real(a.as_ref(), re.as_mut(), im.as_mut(), None, to, Par::Seq, stack, parameters()).is_err() {
        return Ok(None);
    }
    let (re, im) = (re.column_vector(), im.column_vector());
    let w = matrix(n, 1, |i, _| c128::new(re[i], im[i]))?;
    // A conjugate pair, the one above the real axis first, has the real and the imaginary part of a vector in its
    // columns.
    let vectors = |both: &Mat<f64>| {
        matrix(n, n, |r, c| match im[c] {
            up if up > 0.0 => c128::new(both[(r, c)], both[(r, c + 1)]),
            down if down < 0.0 => c128::new(both[(r, c - 1)], -both[(r, c)]),
            _ => c128::new(both[(r, c)], 0.0),
        })
    };
    let v = both.as_ref().map(vectors).transpose()?;
    Ok(Some((w, v)))
}

/// faer's parameters. Without the standard library it has no window at all for some sizes.
fn parameters<T: ComplexField>() -> Spec<EvdParams, T> {
    extern "C" fn window(n: usize, active: usize) -> usize {
        let of_faer: SchurParams = Auto::<f64>::auto();
        match n {
            150..590 => (n as f64 / (n as f64).log2()) as usize,
            _ => (of_faer.recommended_deflation_window)(n, active),
        }
    }
    let mut parameters: EvdParams = Auto::<T>::auto();
    parameters.schur.recommended_deflation_window = window;
    Spec::new(parameters)
}

const NO: ComputeEigenvectors = ComputeEigenvectors::No;

fn columns_are_finite(v: &Mat<c128>) -> bool {
    (0..v.ncols()).all(|c| v.col_as_slice(c).iter().all(|z| z.is_finite()))
}

fn wanted(vectors: bool) -> ComputeEigenvectors {
    if vectors { ComputeEigenvectors::Yes } else { NO }
}

/// Replaces eigenvectors whose elements overflowed, as those of large defective matrices do: an eigenvector of `w` is
/// the right singular vector of `a - w` for the singular value 0, or the next one if an equal eigenvalue took it.
fn replace_overflown(v: &mut Mat<c128>, w: &Mat<c128>, a: &Mat<c128>) -> Result<bool, NoMemory> {
    let n = a.nrows();
    let mut last: Option<(c128, Mat<c128>, usize)> = None;
    for c in 0..n {
        if v.col_as_slice(c).iter().all(|z| z.is_finite()) {
            continue;
        }
        let (value, vectors, taken) = match last.take() {
            Some((value, vectors, taken)) if value == w[(c, 0)] => (value, vectors, taken),
            _ => {
                let shifted =
                    matrix(n, n, |i, j| a[(i, j)] - if i == j { w[(c, 0)] } else { c128::default() })?;
                let mut vectors = zeros(n, n)?;
                let mut sizes = Diag::<c128>::zeros(n);
                let (no, thin) = (ComputeSvdVectors::No, ComputeSvdVectors::Thin);
                let mut memory = scratch(svd_scratch::<c128>(n, n, no, thin, Par::Seq, Default::default()))?;
                let (stack, to) = (MemStack::new(&mut memory), Some(vectors.as_mut()));
                if svd(shifted.as_ref(), sizes.as_mut(), None, to, Par::Seq, stack, Default::default())
                    .is_err()
                {
                    return Ok(false);
                }
                // The vectors of singular values that count as 0, which a defective matrix has fewer of.
                let least = sizes.column_vector()[0].re * 10.0 * n as f64 * f64::EPSILON;
                let nulls = sizes.column_vector().iter().filter(|s| s.re <= least).count().max(1);
                let kept = matrix(n, nulls, |i, j| vectors[(i, n - nulls + j)])?;
                (w[(c, 0)], kept, 0)
            }
        };
        let from = vectors.ncols() - 1 - taken % vectors.ncols();
        v.col_as_slice_mut(c).copy_from_slice(vectors.col_as_slice(from));
        last = Some((value, vectors, taken + 1));
    }
    Ok(true)
}

/// Gives each column the length 1 and a largest element that is real.
fn normalise(v: &mut Mat<c128>) {
    for c in 0..v.ncols() {
        let column = v.col_as_slice_mut(c);
        let largest = column
            .iter()
            .copied()
            .fold(c128::default(), |most, z| if z.norm() > most.norm() { z } else { most });
        if largest == c128::default() {
            continue;
        }
        let size = largest.modulus();
        let length = column.iter().map(|z| (z / size).norm_sqr()).sum::<f64>().sqrt();
        // A real vector stays real, with its sign.
        let turn =
            if column.iter().all(|z| z.im == 0.0) { c128::new(1.0, 0.0) } else { largest.direction().conj() };
        column.iter_mut().for_each(|z| *z = *z / size * turn / length);
    }
}

/// The eigenvalues of square matrices and, with `vectors`, eigenvectors of length 1 (in columns), as complex numbers.
/// Without `vectors` these are empty.
pub fn eig(op: &'static str, x: &Array, vectors: bool) -> Result<[Array; 2]> {
    let wide = cast(x, if x.dtype().is_complex() { DType::C128 } else { DType::F64 })?;
    let [w, v] = run([&wide], move |[wide]| eig_of(op, wide, vectors))?;
    let to = x.dtype().complex();
    Ok([cast(&w, to)?, cast(&v, to)?])
}

/// [`eig`] of matrices of float64 or complex128, in complex128.
fn eig_of(op: &'static str, wide: &Array, vectors: bool) -> Result<[Array; 2]> {
    let batch = Batch::of(wide);
    let n = batch.rows;
    let w = BatchOutput::<c128>::new(op, &batch, &[n])?;
    let v = BatchOutput::<c128>::new(op, &batch, &[n, if vectors { n } else { 0 }])?;
    if n > 0 {
        let failed = batch.each(op, cube(n).saturating_mul(20), |i| {
            let (mut real, mut complex) = (None, None);
            let by;
            if wide.dtype().is_complex() {
                complex = batch.matrix::<c128>(i)?;
                by = complex.as_mut().map_or(1.0, scale);
            } else {
                real = batch.matrix::<f64>(i)?;
                by = real.as_mut().map_or(1.0, scale);
            }
            let given = real.is_some() || complex.is_some();
            let pairs = match (&real, &complex) {
                (Some(a), _) => of_real(a, vectors)?,
                (_, Some(a)) => of_complex(a, vectors)?,
                _ => None,
            };
            let Some((values, columns)) = pairs else {
                w.part(i).fill(c128::NAN);
                v.put(i, None);
                return Ok(!given);
            };
            w.part(i).iter_mut().enumerate().for_each(|(r, o)| *o = values[(r, 0)] * by);
            if let Some(mut columns) = columns {
                let own = |r, c| {
                    if let Some(a) = &real {
                        c128::new(a[(r, c)], 0.0)
                    } else {
                        complex.as_ref().expect("of either")[(r, c)]
                    }
                };
                let done = columns_are_finite(&columns)
                    || replace_overflown(&mut columns, &values, &matrix(n, n, own)?)?;
                if !done {
                    v.put(i, None);
                    return Ok(false);
                }
                normalise(&mut columns);
                v.put(i, Some(columns.as_ref()));
            }
            Ok(true)
        })?;
        batch.blame(op, failed, "has eigenvalues that the iteration does not converge to")?;
    }
    Ok([w.array, v.array])
}
