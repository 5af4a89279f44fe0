//! A transform of real numbers from that of their pairs, and the way back. Each frequency depends on that of the pairs and
//! on its mirror image.

use num_complex::Complex;
use rustfft::FftNum;

use crate::dtype::Element;
use crate::kernel::simd;

/// Frequencies that are computed at a time, which fill the vectors.
const WIDTH: usize = 8;

/// Writes what `f` makes of each number, of its mirror image and of a root: the result and its mirror image.
#[inline(always)]
fn mirrored<T: Element + FftNum>(
    x: &[Complex<T>],
    y: &mut [Complex<T>],
    roots: &[Complex<T>],
    f: impl Fn(Complex<T>, Complex<T>, Complex<T>) -> (Complex<T>, Complex<T>),
) {
    let (n, m) = (x.len(), x.len() / 2);
    let (first, rest) = y.split_at_mut(m);
    let last = &mut rest[n - 2 * m..];
    let (left, right, turns) = (&x[..m], &x[n - m..], &roots[..m]);
    let mut done = 0;
    while let (Some(a), Some(turns)) =
        (left[done..].first_chunk::<WIDTH>(), turns[done..].first_chunk::<WIDTH>())
    {
        let b = right[..m - done].last_chunk::<WIDTH>().expect("as many as on the left");
        let (mut of_a, mut of_b) = (*a, *b);
        for i in 0..WIDTH {
            (of_a[i], of_b[WIDTH - 1 - i]) = f(a[i], b[WIDTH - 1 - i], turns[i]);
        }
        first[done..done + WIDTH].copy_from_slice(&of_a);
        last[m - done - WIDTH..m - done].copy_from_slice(&of_b);
        done += WIDTH;
    }
    for i in done..m {
        (first[i], last[m - 1 - i]) = f(left[i], right[m - 1 - i], turns[i]);
    }
    if n % 2 == 1 {
        rest[0] = f(x[m], x[m], roots[m]).1;
    }
}

/// The frequencies of lines of `2 h` real numbers from the `h` of their pairs. `roots` are the powers `exp(-2πi k / 2h)`.
pub(super) fn apart<T: Element + FftNum>(
    h: usize,
    pairs: &[Complex<T>],
    y: &mut [Complex<T>],
    roots: &[Complex<T>],
) {
    #[inline(always)]
    fn lines<T: Element + FftNum>(
        h: usize,
        pairs: &[Complex<T>],
        y: &mut [Complex<T>],
        roots: &[Complex<T>],
    ) {
        let half = <T as Element>::from_f64(0.5);
        for (z, y) in pairs.chunks_exact(h).zip(y.chunks_exact_mut(h + 1)) {
            y[0] = Complex::new(z[0].re + z[0].im, T::zero());
            y[h] = Complex::new(z[0].re - z[0].im, T::zero());
            mirrored(
                &z[1..],
                &mut y[1..h],
                &roots[1..],
                #[inline(always)]
                |a, b, root| {
                    // The transforms of the even elements, and of the odd ones turned by the root.
                    let even = (a + b.conj()).scale(half);
                    let odd = turned_back((a - b.conj()).scale(half)) * root;
                    (even + odd, (even - odd).conj())
                },
            );
        }
    }
    simd::multiversion_with(
        y,
        #[inline(always)]
        |y| lines(h, pairs, y, roots),
        #[inline(always)]
        |y| lines(h, pairs, y, roots),
    );
}

/// The frequencies of pairs from those of lines of `2 h` real numbers, times 2. The imaginary parts of the first and the last of a
/// line are not read.
pub(super) fn together<T: Element + FftNum>(
    h: usize,
    x: &[Complex<T>],
    pairs: &mut [Complex<T>],
    roots: &[Complex<T>],
) {
    #[inline(always)]
    fn lines<T: Element + FftNum>(
        h: usize,
        x: &[Complex<T>],
        pairs: &mut [Complex<T>],
        roots: &[Complex<T>],
    ) {
        for (x, z) in x.chunks_exact(h + 1).zip(pairs.chunks_exact_mut(h)) {
            z[0] = Complex::new(x[0].re + x[h].re, x[0].re - x[h].re);
            mirrored(
                &x[1..h],
                &mut z[1..],
                &roots[1..],
                #[inline(always)]
                |a, b, root| {
                    let (even, odd) = (a + b.conj(), (a - b.conj()) * root.conj());
                    (even - turned_back(odd), even.conj() - turned_back(odd.conj()))
                },
            );
        }
    }
    simd::multiversion_with(
        pairs,
        #[inline(always)]
        |pairs| lines(h, x, pairs, roots),
        #[inline(always)]
        |pairs| lines(h, x, pairs, roots),
    );
}

/// `z` times -i.
#[inline(always)]
fn turned_back<T: Element + FftNum>(z: Complex<T>) -> Complex<T> {
    Complex::new(z.im, -z.re)
}
