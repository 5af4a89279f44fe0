//! Products of matrices term by term, as they are defined.

use super::tile::MatrixPairs;
use crate::kernel::num::Field;

/// A function that computes products.
///
/// # Safety
/// `MatrixPairs` describes valid matrices, and the output has room for the products.
pub type MatmulInto<T> = unsafe fn(&MatrixPairs<T>);

/// Rows whose sums are computed at a time, since an addition waits for the one before.
pub const TOGETHER: usize = 4;

/// Products of at least [`TOGETHER`] rows with a single column, each as [`plain`] computes it.
///
/// # Safety
/// As [`MatmulInto`].
pub unsafe fn column<T: Field>(pairs: &MatrixPairs<T>) {
    let MatrixPairs { count, sizes: (m, k, _), a: (a, ra, ca), b: (b, rb, _), steps, out, run, .. } = *pairs;
    for i in 0..count {
        for row in (0..m).step_by(TOGETHER) {
            // The last rows may be computed twice.
            let row = row.min(m - TOGETHER);
            // SAFETY: as the function's `# Safety` section requires.
            unsafe {
                let a = a.offset(i as isize * steps.0 + row as isize * ra);
                let (b, out) = (b.offset(i as isize * steps.1), out.add(i * m + row * run));
                let mut sums = [T::ZERO; TOGETHER];
                for p in 0..k as isize {
                    let y = *b.offset(p * rb);
                    for (r, sum) in sums.iter_mut().enumerate() {
                        *sum = sum.add((*a.offset(r as isize * ra + p * ca)).mul(y));
                    }
                }
                for (r, sum) in sums.into_iter().enumerate() {
                    *out.add(r * run) = sum;
                }
            }
        }
    }
}

/// # Safety
/// As [`MatmulInto`].
pub unsafe fn plain<T: Field>(pairs: &MatrixPairs<T>) {
    let MatrixPairs { count, sizes: (m, k, n), a: (a, ra, ca), b: (b, rb, cb), steps, out, run, .. } = *pairs;
    for (i, row) in (0..count).flat_map(|i| (0..m).map(move |row| (i, row))) {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            let a = a.offset(i as isize * steps.0 + row as isize * ra);
            let out = std::slice::from_raw_parts_mut(out.add(i * m * n + row * run), n);
            if let [out] = out {
                // The sum stays in a register.
                let b = b.offset(i as isize * steps.1);
                let term = |p: isize| (*a.offset(p * ca)).mul(*b.offset(p * rb));
                *out = (0..k as isize).fold(T::ZERO, |sum, p| sum.add(term(p)));
                continue;
            }
            out.fill(T::ZERO);
            for p in 0..k as isize {
                let (x, b) = (*a.offset(p * ca), b.offset(i as isize * steps.1 + p * rb));
                if cb == 1 {
                    let b = std::slice::from_raw_parts(b, n);
                    out.iter_mut().zip(b).for_each(|(o, &y)| *o = o.add(x.mul(y)));
                } else {
                    out.iter_mut().zip(0..).for_each(|(o, j)| *o = o.add(x.mul(*b.offset(j * cb))));
                }
            }
        }
    }
}
