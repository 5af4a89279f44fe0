//! Eigenvalues of matrices that need not be symmetric.

use faer::diag::Diag;
use faer::dyn_stack::MemStack;
use faer::linalg::evd::{ComputeEigenvectors, evd_cplx, evd_real, evd_scratch};
use faer::{Mat, Par};

use super::batch::{Batch, BatchOutput, Scalar, cube, matrix, scratch, zeros};
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
    let mut memory = scratch(evd_scratch::<c128>(n, NO, wanted(vectors), Par::Seq, Default::default()))?;
    let (stack, to) = (MemStack::new(&mut memory), v.as_mut().map(Mat::as_mut));
    let done = evd_cplx(a.as_ref(), w.as_mut(), None, to, Par::Seq, stack, Default::default());
    let w = matrix(n, 1, |i, _| w.column_vector()[i])?;
    Ok(done.is_ok().then_some((w, v)))
}

fn of_real(a: &Mat<f64>, vectors: bool) -> Result<Option<Pairs>, NoMemory> {
    let n = a.nrows();
    let (mut re, mut im) = (Diag::<f64>::zeros(n), Diag::<f64>::zeros(n));
    let mut both = vectors.then(|| zeros::<f64>(n, n)).transpose()?;
    let mut memory = scratch(evd_scratch::<f64>(n, NO, wanted(vectors), Par::Seq, Default::default()))?;
    let (stack, to) = (MemStack::new(&mut memory), both.as_mut().map(Mat::as_mut));
    if evd_real(a.as_ref(), re.as_mut(), im.as_mut(), None, to, Par::Seq, stack, Default::default()).is_err()
    {
        return Ok(None);
    }
    let (re, im) = (re.column_vector(), im.column_vector());
    let w = matrix(n, 1, |i, _| c128::new(re[i], im[i]))?;
    // A conjugate pair, the one above the real axis first, has the real and the imaginary part of a vector in its columns.
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

const NO: ComputeEigenvectors = ComputeEigenvectors::No;

fn wanted(vectors: bool) -> ComputeEigenvectors {
    if vectors { ComputeEigenvectors::Yes } else { NO }
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

/// The eigenvalues of square matrices and, with `vectors`, eigenvectors of length 1 (in columns), as complex numbers. Without
/// `vectors` these are empty.
pub fn eig(op: &'static str, x: &Array, vectors: bool) -> Result<[Array; 2]> {
    let wide = cast(x, if x.dtype().is_complex() { DType::C128 } else { DType::F64 })?;
    let batch = Batch::of(&wide);
    let n = batch.rows;
    let w = BatchOutput::<c128>::new(op, &batch, &[n])?;
    let v = BatchOutput::<c128>::new(op, &batch, &[n, if vectors { n } else { 0 }])?;
    if n > 0 {
        let failed = batch.each(op, cube(n).saturating_mul(20), |i| {
            let mut by = 1.0;
            let (given, pairs) = if wide.dtype().is_complex() {
                let mut a = batch.matrix::<c128>(i)?;
                if let Some(a) = &mut a {
                    by = scale(a);
                }
                (a.is_some(), a.map(|a| of_complex(&a, vectors)).transpose()?.flatten())
            } else {
                let mut a = batch.matrix::<f64>(i)?;
                if let Some(a) = &mut a {
                    by = scale(a);
                }
                (a.is_some(), a.map(|a| of_real(&a, vectors)).transpose()?.flatten())
            };
            let Some((values, columns)) = pairs else {
                w.part(i).fill(c128::NAN);
                v.put(i, None);
                return Ok(!given);
            };
            w.part(i).iter_mut().enumerate().for_each(|(r, o)| *o = values[(r, 0)] * by);
            if let Some(mut columns) = columns {
                normalise(&mut columns);
                v.put(i, Some(columns.as_ref()));
            }
            Ok(true)
        })?;
        batch.blame(op, failed, "has eigenvalues that the iteration does not converge to")?;
    }
    let to = x.dtype().complex();
    Ok([cast(&w.array, to)?, cast(&v.array, to)?])
}
