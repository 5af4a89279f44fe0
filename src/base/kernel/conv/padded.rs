//! Images among the zeros that taps read, with the channels last.

use super::geometry::{Axes, index};
use super::plan::{Pass, ShiftPlan, grid};
use super::tiles::ConvElement;
use crate::array::Array;
use crate::error::Result;
use crate::kernel::output;

/// The size of a source with zeros around it, so that taps read nothing else.
pub struct Padded {
    pub before: Axes,
    pub size: Axes,
}

impl Padded {
    pub fn new(plan: &ShiftPlan) -> Padded {
        let taps = || plan.passes.iter().flat_map(|pass| pass.taps.iter().map(move |tap| (pass, tap)));
        let before = std::array::from_fn(|a| {
            taps().map(|(_, tap)| tap.at[a].min(0).unsigned_abs()).max().unwrap_or(0)
        });
        let end = |a: usize, pass: &Pass, at: isize| {
            (pass.count[a].saturating_sub(1) * plan.step[a]).saturating_add_signed(at) + 1
        };
        let size = std::array::from_fn(|a| {
            let most = taps().map(|(pass, tap)| end(a, pass, tap.at[a])).max().unwrap_or(0);
            before[a] + most.max(plan.source[a])
        });
        Padded { before, size }
    }

    /// The elements of an image with this number of channels.
    pub fn elements(&self, channels: usize) -> usize {
        self.size.iter().product::<usize>() * channels
    }

    /// A contiguous source with this number of channels, among zeros if taps read them.
    ///
    /// # Errors
    /// Memory ends.
    pub fn source<T: ConvElement>(
        &self,
        op: &'static str,
        plan: &ShiftPlan,
        source: &Array,
        channels: usize,
    ) -> Result<Array> {
        let from = plan.source;
        if self.size == from {
            return Ok(source.clone());
        }
        let (each, padded) = (from.iter().product::<usize>() * channels, self.elements(channels));
        let all = source.as_slice::<T>().expect("contiguous");
        output::build::<T>(op, &[all.len() / each.max(1), padded], padded, |first, out| {
            out.fill(T::ZERO);
            for (image, out) in (first..).zip(out.chunks_exact_mut(padded.max(1))) {
                let image = &all[image * each..][..each];
                let row = from[2] * channels;
                for (k, [i, j, _]) in grid([from[0], from[1], 1]).enumerate() {
                    let [before, above, left] = self.before;
                    let at = index([i + before, j + above, left], self.size) * channels;
                    out[at..][..row].copy_from_slice(&image[k * row..][..row]);
                }
            }
        })
    }

    /// How far a tap reads from where the pixel of a place would be without the zeros before.
    pub fn offset(&self, at: [isize; 3], channels: usize) -> usize {
        let at: Axes = std::array::from_fn(|a| self.before[a].saturating_add_signed(at[a]));
        index(at, self.size) * channels
    }
}
