//! Direct convolutions, which read the image in place. The result is split into boxes of places for which the same
//! elements of the window are inside the image. Used for depthwise convolutions, where packing would not be
//! amortised, and for non-finite numbers, which must not be multiplied with padding.

use std::ops::Range;

use super::direct_loops::{BoxStrides, Term};
use super::geometry::{Axes, Batched, Geometry, index};
use super::plan::{Pass, ShiftPlan, Tap};
use super::shifted::ConvJob;
use super::threads::{PARALLEL, run_pieces};
use super::tiles::ConvElement;
use crate::array::Array;
use crate::error::Result;
use crate::kernel::par::SendPtr;
use crate::kernel::reduce::non_finite::{self, NonFinite};

/// Windows of at most this many elements are worth splitting into boxes.
const TAPS: usize = 64;

/// Whether direct reads pay: each plane of the result comes from one plane of the source, with unit strides along the
/// last axis.
pub fn pays(plan: &ShiftPlan, planes: usize, rows: usize) -> bool {
    let dense = |pass: &Pass| pass.step[2] == 1 && pass.taps.len() <= TAPS;
    planes == 1 && rows == 1 && plan.step[2] == 1 && plan.passes.iter().all(dense)
}

/// The steps between places in planes of this size, `apart` places apart.
fn steps(size: Axes, apart: Axes) -> Axes {
    [size[1] * size[2] * apart[0], size[2] * apart[1], apart[2]]
}

impl ShiftPlan {
    /// The places of a pass, along an axis, for which a tap is inside the source.
    fn reached(&self, pass: &Pass, tap: &Tap, a: usize) -> Range<usize> {
        let up = |to: isize| to.max(0).unsigned_abs().div_ceil(self.step[a]).min(pass.count[a]);
        let end = up(self.source[a] as isize - tap.at[a]);
        up(-tap.at[a]).min(end)..end
    }

    /// Whether any tap reads padding.
    pub fn is_padded(&self) -> bool {
        let whole = |pass: &Pass, tap: &Tap| (0..3).all(|a| self.reached(pass, tap, a) == (0..pass.count[a]));
        self.passes.iter().any(|pass| pass.taps.iter().any(|tap| !whole(pass, tap)))
    }

    /// Whether padding with zeros would give wrong values: zero times an infinite weight, or a weight that is itself a
    /// sum over the padding and came out as NaN.
    pub fn must_not_pad(&self, weight: &Array, harm: NonFinite) -> bool {
        self.is_padded() && non_finite::contains(weight, harm)
    }

    /// Calls `f` with the first place of each box of a pass, the box's sizes and strides, and the taps inside the
    /// source.
    fn each_box(&self, pass: &Pass, result: Axes, mut f: impl FnMut(Axes, &BoxStrides, &[&Tap])) {
        let cuts: [Vec<usize>; 3] = std::array::from_fn(|a| {
            let mut cuts = vec![0, pass.count[a]];
            cuts.extend(
                pass.taps.iter().map(|tap| self.reached(pass, tap, a)).flat_map(|r| [r.start, r.end]),
            );
            cuts.sort_unstable();
            cuts.dedup();
            cuts
        });
        let mut places = BoxStrides {
            count: [0; 3],
            source: steps(self.source, self.step),
            result: steps(result, pass.step),
        };
        let boxes = super::plan::grid(cuts.each_ref().map(|c| c.len() - 1));
        for at in boxes.filter(|_| !pass.count.contains(&0)) {
            let first: Axes = std::array::from_fn(|a| cuts[a][at[a]]);
            places.count = std::array::from_fn(|a| cuts[a][at[a] + 1] - first[a]);
            let reach = |tap: &&Tap| (0..3).all(|a| self.reached(pass, tap, a).contains(&first[a]));
            f(first, &places, &pass.taps.iter().filter(reach).collect::<Vec<_>>());
        }
    }

    /// The position of a tap in a plane of the source, for a place where it is inside.
    fn source_of(&self, tap: &Tap, place: Axes) -> usize {
        let at = |a: usize| ((place[a] * self.step[a]) as isize + tap.at[a]).unsigned_abs();
        index(std::array::from_fn(at), self.source)
    }
}

impl ConvJob {
    /// [`ConvJob::run`] by direct reads, without padding.
    pub fn direct<T: ConvElement>(
        &self,
        op: &'static str,
        plan: &ShiftPlan,
        weight: &Batched<'_, T>,
        source: &Batched<'_, T>,
        dims: &[usize],
    ) -> Result<Array> {
        let apart: usize = plan.source.iter().product();
        let spots: usize = self.size.iter().product();
        let each = plan.products().saturating_mul(self.planes);
        let count = self.batch_size * self.batch * self.groups * self.rows;
        Array::build::<T>(op, dims, |out| {
            if plan.gaps {
                out.fill(T::ZERO);
            }
            let out = SendPtr(out.as_mut_ptr().cast());
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
                        let at = index(at, self.size);
                        for i in range.clone() {
                            let (part, row) = (i / self.rows, i % self.rows);
                            let (item, part) =
                                (part / (self.batch * self.groups), part % (self.batch * self.groups));
                            let weight = weight.part(item, part % self.groups, self.groups);
                            let source = source.part(item, part, self.batch * self.groups);
                            // SAFETY: the terms are inside the weight's row and the source planes, and the box is
                            // inside this plane of the output.
                            unsafe {
                                let weight = weight.as_ptr().add(row * self.steps[0]);
                                let out = out.get().cast::<T>().add(i * spots + at);
                                (T::microkernels().sums)(&terms, weight, source.as_ptr(), out, places);
                            }
                        }
                    });
                }
            };
            run_pieces(count, each, PARALLEL, &planes);
        })
    }
}

/// The weight of a convolution by direct reads, without padding.
pub fn weight<T: ConvElement>(
    op: &'static str,
    g: &Geometry,
    plan: &ShiftPlan,
    batch_size: usize,
    (image, result): (&Batched<'_, T>, &Batched<'_, T>),
    dims: &[usize],
) -> Result<Array> {
    let (pass, planes) = (&plan.passes[0], g.channels / g.groups);
    let apart: usize = plan.source.iter().product();
    let size = planes * pass.taps.len();
    let each = plan.products().saturating_mul(planes).saturating_mul(g.batch);
    Array::build::<T>(op, dims, |out| {
        out.fill(T::ZERO);
        let out = SendPtr(out.as_mut_ptr().cast());
        let filters = |range: Range<usize>| {
            plan.each_box(pass, g.places, |first, places, taps| {
                let of = |c: usize| {
                    taps.iter().map(move |tap| Term {
                        weight: c * pass.taps.len() + tap.window,
                        source: c * apart + plan.source_of(tap, first),
                    })
                };
                let terms: Vec<Term> = (0..planes).flat_map(of).collect();
                let at = index(first, g.places);
                for i in range.clone() {
                    let (item, filter) = (i / g.filters, i % g.filters);
                    let group = filter / (g.filters / g.groups);
                    for b in 0..g.batch {
                        let result = &result.part(item, b * g.filters + filter, g.batch * g.filters)[at..];
                        let image = image.part(item, b * g.groups + group, g.batch * g.groups);
                        // SAFETY: the box is inside this plane of the result, and the terms are inside the planes of
                        // the image and of this filter.
                        unsafe {
                            let out = out.get().cast::<T>().add(i * size);
                            (T::microkernels().products)(
                                &terms,
                                result.as_ptr(),
                                image.as_ptr(),
                                out,
                                places,
                            );
                        }
                    }
                }
            });
        };
        run_pieces(batch_size * g.filters, each, PARALLEL, &filters);
    })
}
