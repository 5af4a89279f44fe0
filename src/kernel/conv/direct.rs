//! Convolutions read where the image stands, box by box of places that the same elements of the window reach: for one
//! filter a channel, where nothing is used often enough to be laid elsewhere, and for numbers that are not finite, which
//! must not meet the zeros of a padding.

use std::ops::Range;

use super::linear::Job;
use super::micro::Wide;
use super::plan::{Pass, Plan, Tap};
use super::{Axes, Geometry, Lanes, PARALLEL, spread};
use crate::array::Array;
use crate::error::Result;
use crate::kernel::map::Shared;
use crate::kernel::num::Num;
use crate::kernel::register::{LANES, Vector};

/// Windows of no more elements are worth boxes of their own.
const TAPS: usize = 64;

/// Registers of sums that are made side by side.
const WIDE: usize = 6;

/// Elements of the weight whose sums are made side by side, where there are so many: those of a window of 3 × 3, or of a
/// row of it.
const WINDOW: usize = 9;
const ROW: usize = 3;

/// An element of the weight, and the first element of the source that it multiplies in a box.
pub struct Term {
    pub weight: usize,
    pub source: usize,
}

/// Rows of places: how many along each axis, and from place to place in source and result.
pub struct Places {
    pub count: Axes,
    pub source: Axes,
    pub result: Axes,
}

impl Places {
    fn is_dense(&self) -> bool {
        self.source[2] == 1 && self.result[2] == 1
    }

    /// Calls `f` with where each row begins in source and result.
    #[inline(always)]
    fn each_row(&self, mut f: impl FnMut(usize, usize)) {
        for i in 0..self.count[0] {
            for j in 0..self.count[1] {
                let (source, result) = (&self.source, &self.result);
                f(i * source[0] + j * source[1], i * result[0] + j * result[1]);
            }
        }
    }
}

/// Whether each plane of the result is made of one plane of the source, and that by a loop for whole registers.
pub fn pays(plan: &Plan, planes: usize, rows: usize) -> bool {
    let dense = |pass: &Pass| pass.step[2] == 1 && pass.taps.len() <= TAPS;
    planes == 1 && rows == 1 && plan.step[2] == 1 && plan.passes.iter().all(dense)
}

/// Steps from place to place of planes of this size, so many places apart.
fn steps(size: Axes, apart: Axes) -> Axes {
    [size[1] * size[2] * apart[0], size[2] * apart[1], apart[2]]
}

impl Plan {
    /// The places of a pass, along an axis, at which an element of the window is inside of the source.
    fn reached(&self, pass: &Pass, tap: &Tap, a: usize) -> Range<usize> {
        let up = |to: isize| to.max(0).unsigned_abs().div_ceil(self.step[a]).min(pass.count[a]);
        let end = up(self.source[a] as isize - tap.at[a]);
        up(-tap.at[a]).min(end)..end
    }

    /// Whether there are places that an element of the window reaches padding from.
    pub fn is_padded(&self) -> bool {
        let whole = |pass: &Pass, tap: &Tap| (0..3).all(|a| self.reached(pass, tap, a) == (0..pass.count[a]));
        self.passes.iter().any(|pass| pass.taps.iter().any(|tap| !whole(pass, tap)))
    }

    /// Calls `f` with the first place of each box of a pass, its places, and the taps that reach the source from there.
    fn each_box(&self, pass: &Pass, result: Axes, mut f: impl FnMut(Axes, &Places, &[&Tap])) {
        let cuts: [Vec<usize>; 3] = std::array::from_fn(|a| {
            let mut cuts = vec![0, pass.count[a]];
            cuts.extend(
                pass.taps.iter().map(|tap| self.reached(pass, tap, a)).flat_map(|r| [r.start, r.end]),
            );
            cuts.sort_unstable();
            cuts.dedup();
            cuts
        });
        let mut places =
            Places { count: [0; 3], source: steps(self.source, self.step), result: steps(result, pass.step) };
        let boxes = super::plan::grid(cuts.each_ref().map(|c| c.len() - 1));
        for at in boxes.filter(|_| !pass.count.contains(&0)) {
            let first: Axes = std::array::from_fn(|a| cuts[a][at[a]]);
            places.count = std::array::from_fn(|a| cuts[a][at[a] + 1] - first[a]);
            let reach = |tap: &&Tap| (0..3).all(|a| self.reached(pass, tap, a).contains(&first[a]));
            f(first, &places, &pass.taps.iter().filter(reach).collect::<Vec<_>>());
        }
    }

    /// Where in a plane of the source an element of the window is at a place that it is inside from.
    fn source_of(&self, tap: &Tap, place: Axes) -> usize {
        let at = |a: usize| ((place[a] * self.step[a]) as isize + tap.at[a]).unsigned_abs();
        (at(0) * self.source[1] + at(1)) * self.source[2] + at(2)
    }
}

impl Job {
    /// What [`Job::run`] computes, of the numbers that there are alone.
    pub fn direct<T: Wide>(
        &self,
        op: &'static str,
        plan: &Plan,
        weight: &Lanes<'_, T>,
        source: &Lanes<'_, T>,
        dims: &[usize],
    ) -> Result<Array> {
        let apart: usize = plan.source.iter().product();
        let spots: usize = self.size.iter().product();
        let each = plan.products().saturating_mul(self.planes);
        let count = self.lanes * self.batch * self.groups * self.rows;
        Array::build::<T>(op, dims, |out| {
            if plan.gaps {
                out.fill(T::ZERO);
            }
            let out = Shared(out.as_mut_ptr().cast());
            let planes = |range: Range<usize>| {
                for pass in &plan.passes {
                    plan.each_box(pass, self.size, |first, places, taps| {
                        let of = |c: usize| {
                            taps.iter().map(move |tap| Term {
                                weight: c * self.steps[1] + tap.window,
                                source: c * apart + plan.source_of(tap, first),
                            })
                        };
                        let terms: Vec<Term> = (0..self.planes).flat_map(of).collect();
                        let at: Axes = std::array::from_fn(|a| pass.first[a] + first[a] * pass.step[a]);
                        let at = (at[0] * self.size[1] + at[1]) * self.size[2] + at[2];
                        for i in range.clone() {
                            let (part, row) = (i / self.rows, i % self.rows);
                            let (lane, part) =
                                (part / (self.batch * self.groups), part % (self.batch * self.groups));
                            let weight = weight.part(lane, part % self.groups, self.groups);
                            let source = source.part(lane, part, self.batch * self.groups);
                            // SAFETY: the terms are inside of the weight's row and of the planes; the box is inside of
                            // this plane of the output.
                            unsafe {
                                let weight = weight.as_ptr().add(row * self.steps[0]);
                                let out = out.get().cast::<T>().add(i * spots + at);
                                (T::micro().sums)(&terms, weight, source.as_ptr(), out, places);
                            }
                        }
                    });
                }
            };
            spread(count, each, PARALLEL, &planes);
        })
    }
}

/// The weight of a convolution, of the numbers that there are alone.
pub fn weight<T: Wide>(
    op: &'static str,
    g: &Geometry,
    plan: &Plan,
    lanes: usize,
    (image, result): (&Lanes<'_, T>, &Lanes<'_, T>),
    dims: &[usize],
) -> Result<Array> {
    let (pass, planes) = (&plan.passes[0], g.channels / g.groups);
    let apart: usize = plan.source.iter().product();
    let size = planes * pass.taps.len();
    let each = plan.products().saturating_mul(planes).saturating_mul(g.batch);
    Array::build::<T>(op, dims, |out| {
        out.fill(T::ZERO);
        let out = Shared(out.as_mut_ptr().cast());
        let filters = |range: Range<usize>| {
            plan.each_box(pass, g.places, |first, places, taps| {
                let of = |c: usize| {
                    taps.iter().map(move |tap| Term {
                        weight: c * pass.taps.len() + tap.window,
                        source: c * apart + plan.source_of(tap, first),
                    })
                };
                let terms: Vec<Term> = (0..planes).flat_map(of).collect();
                let at = (first[0] * g.places[1] + first[1]) * g.places[2] + first[2];
                for i in range.clone() {
                    let (lane, filter) = (i / g.filters, i % g.filters);
                    let group = filter / (g.filters / g.groups);
                    for b in 0..g.batch {
                        let result = &result.part(lane, b * g.filters + filter, g.batch * g.filters)[at..];
                        let image = image.part(lane, b * g.groups + group, g.batch * g.groups);
                        // SAFETY: the box is inside of this plane of the result, the terms are inside of the planes of
                        // the image and of this filter.
                        unsafe {
                            let out = out.get().cast::<T>().add(i * size);
                            (T::micro().products)(&terms, result.as_ptr(), image.as_ptr(), out, places);
                        }
                    }
                }
            });
        };
        spread(lanes * g.filters, each, PARALLEL, &filters);
    })
}

/// `out[q] = Σ weight · source[q]` over the terms, at the places `q` of a box.
pub type Sums<T> =
    unsafe fn(terms: &[Term], weight: *const T, source: *const T, out: *mut T, places: &Places);

/// `out += Σ result[q] · source[q]` over the places `q` of a box, for the element of the weight of each term.
pub type Products<T> =
    unsafe fn(terms: &[Term], result: *const T, source: *const T, out: *mut T, places: &Places);

/// # Safety
/// Those of [`Vector`]; the terms and places are inside of what they are of.
#[inline(always)]
pub unsafe fn sums<V: Vector>(
    terms: &[Term],
    weight: *const V::T,
    source: *const V::T,
    out: *mut V::T,
    places: &Places,
) {
    /// `N` registers of sums.
    #[inline(always)]
    unsafe fn some<V: Vector, const N: usize>(
        terms: &[Term],
        weight: *const V::T,
        source: *const V::T,
        out: *mut V::T,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut sums = [V::zero(); N];
            for term in terms {
                let factor = V::splat(weight.add(term.weight));
                let source = source.add(term.source);
                for (v, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.plus(factor, V::load(source.add(v * V::LEN)));
                }
            }
            for (v, sum) in sums.iter().enumerate() {
                sum.store(out.add(v * V::LEN));
            }
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        let n = places.count[2];
        places.each_row(
            #[inline(always)]
            |from, to| {
                let (source, out) = (source.add(from), out.add(to));
                let mut next = 0;
                if places.is_dense() && n >= V::LEN {
                    while next + WIDE * V::LEN <= n {
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
                    let mut sum = V::zero();
                    for term in terms {
                        let one = V::splat(source.add(term.source + q * places.source[2]));
                        sum = sum.plus(V::splat(weight.add(term.weight)), one);
                    }
                    let mut lanes = [V::T::ZERO; LANES];
                    sum.store(lanes.as_mut_ptr());
                    *out.add(q * places.result[2]) = lanes[0];
                }
            },
        );
    }
}

/// # Safety
/// Those of [`Vector`]; the terms and places are inside of what they are of.
#[inline(always)]
pub unsafe fn products<V: Vector>(
    terms: &[Term],
    result: *const V::T,
    source: *const V::T,
    out: *mut V::T,
    places: &Places,
) {
    /// The elements of a row that fill no register, and zeros.
    #[inline(always)]
    unsafe fn rest<V: Vector>(from: *const V::T, n: usize, step: usize) -> V {
        let mut lanes = [V::T::ZERO; LANES];
        // SAFETY: the caller's promise.
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
        places: &Places,
    ) {
        let n = places.count[2];
        // SAFETY: the caller's promise.
        unsafe {
            let mut sums = [V::zero(); N];
            let mut sources = [source; N];
            for (source, term) in sources.iter_mut().zip(terms) {
                *source = source.add(term.source);
            }
            places.each_row(
                #[inline(always)]
                |from, at| {
                    let whole = if places.is_dense() { n / V::LEN * V::LEN } else { 0 };
                    for q in (0..whole).step_by(V::LEN) {
                        let left = V::load(result.add(at + q));
                        for (sum, source) in sums.iter_mut().zip(&sources) {
                            *sum = sum.plus(left, V::load(source.add(from + q)));
                        }
                    }
                    for q in (whole..n).step_by(V::LEN) {
                        let (n, steps) = (V::LEN.min(n - q), (places.source[2], places.result[2]));
                        let left = rest::<V>(result.add(at + q * steps.1), n, steps.1);
                        for (sum, source) in sums.iter_mut().zip(&sources) {
                            *sum = sum.plus(left, rest::<V>(source.add(from + q * steps.0), n, steps.0));
                        }
                    }
                },
            );
            for (sum, term) in sums.iter().zip(terms) {
                let to = out.add(term.weight);
                *to = (*to).add(sum.total());
            }
        }
    }
    let (windows, terms) = terms.as_chunks::<WINDOW>();
    let (rows, terms) = terms.as_chunks::<ROW>();
    // SAFETY: the caller's promise.
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
