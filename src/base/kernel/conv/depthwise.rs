//! Depthwise convolutions where channels are last in memory: the channels of a pixel are computed side by side.

use super::geometry::{Batched, Geometry};
use super::padded::Padded;
use super::plan::ShiftPlan;
use super::shifted::ConvJob;
use super::tiles::ConvElement;
use crate::array::Array;
use crate::error::{Error, Result};
use crate::kernel::interrupt;

/// Whether each channel has a filter of its own, and channels fill registers.
pub fn fits<T: ConvElement>(g: &Geometry) -> bool {
    let lanes = T::microkernels().lanes;
    g.groups == g.channels && g.groups == g.filters && g.channels.is_multiple_of(lanes)
}

impl ConvJob {
    /// The result or the image of a convolution that [`fits`]. Source and result have the channels as their last axis. The terms of
    /// a sum are added in the order of the window.
    pub fn depthwise<T: ConvElement>(
        &self,
        op: &'static str,
        plan: &ShiftPlan,
        weight: &Batched<'_, T>,
        source: &Array,
        dims: &[usize],
    ) -> Result<Array> {
        let (channels, sums) = (self.groups, T::microkernels().channel_sums);
        let padded = Padded::new(plan);
        let source = padded.source::<T>(op, plan, source, channels)?;
        let packed = self.packed_by_taps(plan, weight);
        self.each_band::<T>(op, plan, (&source, padded.elements(channels)), dims, |from, band, out| {
            let (mut done, mut panels) = (0, &packed[..]);
            for pass in &plan.passes {
                let taps: Vec<usize> = pass.taps.iter().map(|tap| padded.offset(tap.at, channels)).collect();
                let (weights, rest) = panels.split_at(taps.len() * channels);
                panels = rest;
                let steps = (plan.step[2] * channels, pass.step[2] * channels);
                self.each_row(plan, &padded, pass, band, |at, to, n| {
                    interrupt::count(&mut done, n * channels * taps.len());
                    // SAFETY: the padded image has what taps read for all places, the weights are those of the taps, and nobody else
                    // uses these pixels of the result.
                    unsafe {
                        let (a, out) = (from.as_ptr().add(at * channels), out.add(to * channels));
                        sums(a, weights.as_ptr(), &taps, channels, out, steps, n);
                    }
                });
            }
        })
    }

    /// The weight of each pass: for each tap, its elements for all channels.
    fn packed_by_taps<T: ConvElement>(&self, plan: &ShiftPlan, weight: &Batched<'_, T>) -> Vec<T> {
        let taps = || plan.passes.iter().flat_map(|pass| &pass.taps);
        let count = self.groups * taps().count();
        Error::ensure_memory(count * size_of::<T>());
        let mut all = Vec::with_capacity(count);
        for tap in taps() {
            all.extend((0..self.groups).map(|c| weight.part(0, c, self.groups)[tap.window]));
        }
        all
    }
}
