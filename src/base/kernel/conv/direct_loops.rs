//! The innermost loops of direct convolutions.

use super::geometry::Axes;
use crate::kernel::interrupt;
use crate::kernel::num::Field;
use crate::kernel::simd::vector::{MAX_LANES, Vector};

/// Registers that are summed at the same time.
const WIDE: usize = 6;

/// Elements of the weight that are summed at the same time, if there are as many: those of a 3 × 3 window, or of one
/// of its rows.
const WINDOW: usize = 9;
const ROW: usize = 3;

/// An element of the weight, and the first source element of a box that it multiplies.
pub struct Term {
    pub weight: usize,
    pub source: usize,
}

/// A box of places: its sizes, and the steps between places in source and result.
pub struct BoxStrides {
    pub count: Axes,
    pub source: Axes,
    pub result: Axes,
}

impl BoxStrides {
    pub fn is_dense(&self) -> bool {
        self.source[2] == 1 && self.result[2] == 1
    }

    /// Calls `f` with the offset of each row in source and result.
    #[inline(always)]
    pub fn each_row(&self, mut f: impl FnMut(usize, usize)) {
        for i in 0..self.count[0] {
            for j in 0..self.count[1] {
                let (source, result) = (&self.source, &self.result);
                f(i * source[0] + j * source[1], i * result[0] + j * result[1]);
            }
        }
    }
}

/// `out[q] = Σ weight · source[q]` over the terms, for the places `q` of a box.
pub type Sums<T> =
    unsafe fn(terms: &[Term], weight: *const T, source: *const T, out: *mut T, places: &BoxStrides);

/// `out += Σ result[q] · source[q]` over the places `q` of a box, for the element of the weight of each term.
pub type Products<T> =
    unsafe fn(terms: &[Term], result: *const T, source: *const T, out: *mut T, places: &BoxStrides);

/// # Safety
/// As [`Vector`]. The terms and places are inside the weight, the source and the output.
#[inline(always)]
pub unsafe fn sums<V: Vector>(
    terms: &[Term],
    weight: *const V::T,
    source: *const V::T,
    out: *mut V::T,
    places: &BoxStrides,
) {
    /// `N` registers of sums.
    #[inline(always)]
    unsafe fn some<V: Vector, const N: usize>(
        terms: &[Term],
        weight: *const V::T,
        source: *const V::T,
        out: *mut V::T,
    ) {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            let mut sums = [V::zero(); N];
            for term in terms {
                let factor = V::splat(weight.add(term.weight));
                let source = source.add(term.source);
                for (v, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.mul_acc(factor, V::load(source.add(v * V::LEN)));
                }
            }
            for (v, sum) in sums.iter().enumerate() {
                sum.store(out.add(v * V::LEN));
            }
        }
    }
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        let (n, mut work) = (places.count[2], 0);
        places.each_row(
            #[inline(always)]
            |from, to| {
                let (source, out) = (source.add(from), out.add(to));
                let mut next = 0;
                if places.is_dense() && n >= V::LEN {
                    while next + WIDE * V::LEN <= n {
                        interrupt::count(&mut work, WIDE * terms.len());
                        some::<V, WIDE>(terms, weight, source.add(next), out.add(next));
                        next += WIDE * V::LEN;
                    }
                    while next < n {
                        // The last register may repeat places of the one before.
                        next = next.min(n - V::LEN);
                        some::<V, 1>(terms, weight, source.add(next), out.add(next));
                        next += V::LEN;
                    }
                    return;
                }
                for q in 0..n {
                    interrupt::count(&mut work, terms.len());
                    let mut sum = V::zero();
                    for term in terms {
                        let one = V::splat(source.add(term.source + q * places.source[2]));
                        sum = sum.mul_acc(V::splat(weight.add(term.weight)), one);
                    }
                    let mut lanes = [V::T::ZERO; MAX_LANES];
                    sum.store(lanes.as_mut_ptr());
                    *out.add(q * places.result[2]) = lanes[0];
                }
            },
        );
    }
}

/// # Safety
/// As [`Vector`]. The terms and places are inside the result, the source and the output.
#[inline(always)]
pub unsafe fn products<V: Vector>(
    terms: &[Term],
    result: *const V::T,
    source: *const V::T,
    out: *mut V::T,
    places: &BoxStrides,
) {
    /// The last elements of a row, padded with zeros to a register.
    #[inline(always)]
    unsafe fn rest<V: Vector>(from: *const V::T, n: usize, step: usize) -> V {
        let mut lanes = [V::T::ZERO; MAX_LANES];
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            for (i, lane) in lanes.iter_mut().enumerate().take(n) {
                *lane = *from.add(i * step);
            }
            V::load(lanes.as_ptr())
        }
    }
    /// The sums of `N` terms.
    #[inline(always)]
    unsafe fn some<V: Vector, const N: usize>(
        terms: &[Term; N],
        result: *const V::T,
        source: *const V::T,
        out: *mut V::T,
        places: &BoxStrides,
    ) {
        let (n, mut work) = (places.count[2], 0);
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            let mut sums = [V::zero(); N];
            let mut sources = [source; N];
            for i in 0..N {
                sources[i] = source.add(terms[i].source);
            }
            places.each_row(
                #[inline(always)]
                |from, at| {
                    interrupt::count(&mut work, n);
                    let whole = if places.is_dense() { n / V::LEN * V::LEN } else { 0 };
                    for q in (0..whole).step_by(V::LEN) {
                        let left = V::load(result.add(at + q));
                        for i in 0..N {
                            sums[i] = sums[i].mul_acc(left, V::load(sources[i].add(from + q)));
                        }
                    }
                    for q in (whole..n).step_by(V::LEN) {
                        let (n, steps) = (V::LEN.min(n - q), (places.source[2], places.result[2]));
                        let left = rest::<V>(result.add(at + q * steps.1), n, steps.1);
                        for i in 0..N {
                            let right = rest::<V>(sources[i].add(from + q * steps.0), n, steps.0);
                            sums[i] = sums[i].mul_acc(left, right);
                        }
                    }
                },
            );
            for i in 0..N {
                let to = out.add(terms[i].weight);
                *to = (*to).add(sums[i].sum());
            }
        }
    }
    let (windows, terms) = terms.as_chunks::<WINDOW>();
    let (rows, terms) = terms.as_chunks::<ROW>();
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        for window in windows {
            some::<V, WINDOW>(window, result, source, out, places);
        }
        for row in rows {
            some::<V, ROW>(row, result, source, out, places);
        }
        for one in terms.as_chunks::<1>().0 {
            some::<V, 1>(one, result, source, out, places);
        }
    }
}
