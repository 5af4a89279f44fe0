//! A convolution as sums of shifted planes: the shifts, and the layout of the planes in a thread's buffer.

use super::geometry::{Axes, Batched, Geometry};
use crate::kernel::num::Num;

/// An element of the window, and where it reads the source.
pub struct Tap {
    pub window: usize,
    /// Its position in the source for the first place. Outside the source it is padding.
    pub at: [isize; 3],
    phase: usize,
    shift: Axes,
}

/// A lattice of results with the same taps: those at `first + x · step` for `x` below `count`.
pub struct Pass {
    pub taps: Vec<Tap>,
    pub first: Axes,
    pub step: Axes,
    pub count: Axes,
}

/// `out[first + x · step] = Σ over planes and taps: weight · source_phase[x + shift]`. Place `u` of phase `p` is the
/// source at `u · step + p - before`, and zero outside the source.
pub struct ShiftPlan {
    pub passes: Vec<Pass>,
    /// Whether there are results in no pass; these are zero.
    pub gaps: bool,
    pub source: Axes,
    /// The step between places in the source.
    pub step: Axes,
    before: [isize; 3],
    /// The phases in use, for each axis.
    phases: [Vec<usize>; 3],
}

/// All places of a grid, in order.
pub fn grid(sizes: Axes) -> impl Iterator<Item = Axes> {
    let [a, b, c] = sizes;
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| [i, j, k])))
}

impl ShiftPlan {
    /// The plan of the result from the image. The weight uses it too.
    pub fn forward(g: &Geometry) -> ShiftPlan {
        // The sizes of the image and its padding fit into an `isize`.
        let before = g.before.map(|b| b as isize);
        let phases: [Vec<usize>; 3] = std::array::from_fn(|a| {
            let mut used: Vec<usize> = (0..g.window[a]).map(|k| k * g.dilation[a] % g.stride[a]).collect();
            used.sort_unstable();
            used.dedup();
            used
        });
        let taps = grid(g.window).enumerate().map(|(window, k)| {
            let (at, mut phase): (Axes, _) = (std::array::from_fn(|a| k[a] * g.dilation[a]), 0);
            for a in 0..3 {
                let one = phases[a].binary_search(&(at[a] % g.stride[a])).expect("a phase of the window");
                phase = phase * phases[a].len() + one;
            }
            Tap {
                window,
                at: std::array::from_fn(|a| at[a] as isize - before[a]),
                phase,
                shift: std::array::from_fn(|a| at[a] / g.stride[a]),
            }
        });
        let passes = vec![Pass { taps: taps.collect(), first: [0; 3], step: [1; 3], count: g.places }];
        ShiftPlan { passes, gaps: false, source: g.image, step: g.stride, before, phases }
    }

    /// The plan of the image from the result. Pixels that are a stride apart have the same taps.
    pub fn backward(g: &Geometry) -> ShiftPlan {
        // The first pixels of the lattices that windows cover. There are at most as many as elements of a window,
        // however large the stride. `start` is the place whose window begins at a pixel, `phase` the position in that
        // window.
        let firsts: [Vec<usize>; 3] = std::array::from_fn(|a| {
            let stride = g.stride[a];
            let first = |k: usize| (k * g.dilation[a] % stride + stride - g.before[a] % stride) % stride;
            let mut used: Vec<usize> = (0..g.window[a]).map(first).filter(|&i| i < g.image[a]).collect();
            used.sort_unstable();
            used.dedup();
            used
        });
        let start = |first: Axes, a: usize| (first[a] + g.before[a]) / g.stride[a];
        let phase = |first: Axes, a: usize| (first[a] + g.before[a]) % g.stride[a];
        // Element `k` of a window covers the pixel from the place this many before the one that begins there.
        let back = |first: Axes, a: usize, k: usize| {
            let at = k * g.dilation[a];
            (at % g.stride[a] == phase(first, a)).then(|| at / g.stride[a])
        };
        let mut before = [isize::MIN; 3];
        for a in 0..3 {
            for &i in &firsts[a] {
                let first = [i; 3];
                for far in (0..g.window[a]).filter_map(|k| back(first, a, k)) {
                    before[a] = before[a].max(far as isize - start(first, a) as isize);
                }
            }
        }
        let pass = |first: Axes| {
            let taps = grid(g.window).enumerate().filter_map(|(window, k)| {
                let mut at = [0; 3];
                for a in 0..3 {
                    at[a] = start(first, a) as isize - back(first, a, k[a])? as isize;
                }
                // Not negative, because `before` is the largest of these.
                let shift = std::array::from_fn(|a| (before[a] + at[a]) as usize);
                Some(Tap { window, at, phase: 0, shift })
            });
            let count = std::array::from_fn(|a| (g.image[a] - first[a]).div_ceil(g.stride[a]));
            Pass { taps: taps.collect(), first, step: g.stride, count }
        };
        let covered = firsts.each_ref().map(Vec::len);
        let passes = grid(covered).map(|i| pass(std::array::from_fn(|a| firsts[a][i[a]]))).collect();
        let gaps = (0..3).any(|a| covered[a] < g.stride[a].min(g.image[a]));
        let before = before.map(|b| if b == isize::MIN { 0 } else { b });
        ShiftPlan {
            passes,
            gaps,
            source: g.places,
            step: [1; 3],
            before,
            phases: std::array::from_fn(|_| vec![0]),
        }
    }

    /// The multiplications for one plane of the source and one of the result.
    pub fn products(&self) -> usize {
        self.passes.iter().map(|p| p.taps.len() * p.count.iter().product::<usize>()).sum()
    }
}

/// The layout of the planes of some images, or of a band of rows of one image, in a buffer.
pub struct BufferLayout {
    /// Images in a buffer.
    pub images: usize,
    /// The axis along which images are split into bands, the places of a band along it, and the number of bands.
    pub axis: usize,
    pub rows: usize,
    pub bands: usize,
    /// Places of a phase plane along each axis.
    extent: Axes,
    /// The steps between images and between places.
    pub steps: [usize; 4],
    /// The step between planes of different phases.
    apart: usize,
    phases: usize,
    /// Whether the source already has this layout, so that nothing is copied.
    pub bare: bool,
}

/// Elements of a buffer that stay in the cache.
const BUFFER: usize = 1 << 17;

/// Small images are combined up to this many places.
const PLACES: usize = 512;

/// Pieces that the work is split into for threads.
pub const PIECES: usize = 16;

impl BufferLayout {
    /// A layout for images of `planes` planes. `each` counts the images of all groups, which are split among threads
    /// if `split`. Loops may read `slack` elements beyond a buffer. Reading the source in place is allowed if `bare`
    /// says so for the number of bands and the end of the last band.
    pub fn new(
        plan: &ShiftPlan,
        planes: usize,
        batch: usize,
        each: usize,
        split: bool,
        slack: usize,
        bare: &dyn Fn(usize, usize) -> bool,
    ) -> BufferLayout {
        let most = |f: &dyn Fn(&Pass) -> Axes| -> Axes {
            std::array::from_fn(|a| plan.passes.iter().map(|p| f(p)[a]).max().unwrap_or(0))
        };
        let count = most(&|p| p.count);
        let shift = most(&|p| std::array::from_fn(|a| p.taps.iter().map(|t| t.shift[a]).max().unwrap_or(0)));
        let phases = plan.phases.iter().map(Vec::len).product::<usize>();
        let axis = count.iter().position(|&n| n > 1).unwrap_or(2);
        let mut extent: Axes = std::array::from_fn(|a| (count[a] + shift[a]).max(1));
        let plane = extent.iter().product::<usize>().saturating_mul(planes * phases);
        let wanted = if split { PIECES.div_ceil(each.max(1)) } else { 1 };
        // A band also reads the window's rows beyond its own.
        let most_bands = (count[axis] / (2 * shift[axis]).max(8)).max(1);
        let bands = wanted.max(plane.div_ceil(BUFFER)).clamp(1, most_bands);
        let rows = count[axis].div_ceil(bands).max(1);
        let bands = count[axis].div_ceil(rows).max(1);
        let last = count[axis].saturating_sub((bands - 1) * rows);
        let whole = extent;
        if bands > 1 {
            extent[axis] = rows + shift[axis];
        }
        let mut spans = extent;
        for a in 0..3 {
            // The padding after a row is also the padding before the next row.
            if bands == 1 || a != axis {
                spans[a] -= plan.shared(a, extent[a]).min(shift[a]);
            }
        }
        let steps = [spans[0] * spans[1] * spans[2], spans[1] * spans[2], spans[2], 1];
        let mut ends = count;
        ends[axis] = last;
        let bare = phases == 1
            && plan.step == [1; 3]
            && plan.before == [0; 3]
            && whole == plan.source
            && bare(bands, past(&steps, 1, ends));
        let images = match (bare, bands) {
            (false, 1) => {
                let fit = (BUFFER / plane.max(1)).min(PLACES / steps[0].max(1)).min(batch);
                let keep = if split { each / PIECES } else { usize::MAX };
                fit.min(keep).max(1)
            }
            _ => 1,
        };
        let reach: usize = (0..3).map(|a| (extent[a] - 1) * steps[a + 1]).sum();
        let apart =
            if bare { plan.source.iter().product() } else { (images - 1) * steps[0] + reach + 1 + slack };
        BufferLayout { images, axis, rows, bands, extent, steps, apart, phases, bare }
    }

    /// The step between planes of the source.
    pub fn plane(&self) -> usize {
        self.apart * self.phases
    }

    pub fn offset(&self, tap: &Tap) -> usize {
        tap.phase * self.apart + (0..3).map(|a| tap.shift[a] * self.steps[a + 1]).sum::<usize>()
    }

    /// The places of a pass in a band.
    pub fn count(&self, pass: &Pass, band: usize) -> Axes {
        let mut count = pass.count;
        count[self.axis] = count[self.axis].saturating_sub(band * self.rows).min(self.rows);
        count
    }

    /// The end of the last place of the last image.
    pub fn end(&self, images: usize, count: Axes) -> usize {
        past(&self.steps, images, count)
    }

    /// Calls `f` with each row of places: its offset in a plane, its image, and its first place.
    pub fn each_row(&self, images: usize, count: Axes, mut f: impl FnMut(usize, usize, Axes)) {
        for image in 0..images {
            for [i, j, _] in grid([count[0], count[1], count[2].min(1)]) {
                f(image * self.steps[0] + i * self.steps[1] + j * self.steps[2], image, [i, j, 0]);
            }
        }
    }

    /// Copies a band of an image's planes into a buffer. The padding in the buffer is zero from the start.
    pub fn fill<T: Num>(&self, plan: &ShiftPlan, planes: &[T], image: usize, band: usize, to: &mut [T]) {
        let size = plan.source;
        let each = size.iter().product::<usize>();
        let mut before = plan.before;
        before[self.axis] -= (band * self.rows * plan.step[self.axis]) as isize;
        // The source index of place `u` of a phase, if it is inside.
        let pixel = |a: usize, u: usize, phase: usize| {
            usize::try_from((u * plan.step[a] + phase) as isize - before[a]).ok().filter(|&i| i < size[a])
        };
        let [first, second, third] = &plan.phases;
        let mut at_phase = 0;
        for (&p0, &p1) in first.iter().flat_map(|p| second.iter().map(move |q| (p, q))) {
            for &p2 in third {
                let inside = plan.inside(2, p2, before[2], self.extent[2]);
                for c in 0..planes.len() / each.max(1) {
                    let from = &planes[c * each..][..each];
                    let to = &mut to[c * self.plane() + at_phase * self.apart + image * self.steps[0]..];
                    for u0 in 0..self.extent[0] {
                        for u1 in 0..self.extent[1] {
                            let row = u0 * self.steps[1] + u1 * self.steps[2];
                            let to = &mut to[row + inside.start..row + inside.end];
                            match (pixel(0, u0, p0), pixel(1, u1, p1), pixel(2, inside.start, p2)) {
                                (Some(i), Some(j), Some(k)) => {
                                    let from = &from[(i * size[1] + j) * size[2] + k..];
                                    if plan.step[2] == 1 {
                                        to.copy_from_slice(&from[..to.len()]);
                                    } else {
                                        let from = from.iter().step_by(plan.step[2]);
                                        to.iter_mut().zip(from).for_each(|(o, &v)| *o = v);
                                    }
                                }
                                // Another band has pixels in this row.
                                _ => to.fill(T::ZERO),
                            }
                        }
                    }
                }
                at_phase += 1;
            }
        }
    }

    /// Elements of the buffer for `planes` planes.
    pub fn buffer(&self, planes: usize) -> usize {
        if self.bare { 0 } else { self.plane().saturating_mul(planes) }
    }

    /// The planes of `images` in this layout: copied into the buffer, or in place.
    pub fn lay<'a, T: Num>(
        &self,
        plan: &ShiftPlan,
        source: &'a Batched<'_, T>,
        item: usize,
        images: impl Iterator<Item = (usize, usize)>,
        band: usize,
        buffer: &'a mut [T],
    ) -> &'a [T] {
        for (slot, (part, parts)) in images.enumerate() {
            let planes = source.part(item, part, parts);
            if self.bare {
                return &planes[(band * self.rows * self.steps[self.axis + 1]).min(planes.len())..];
            }
            self.fill(plan, planes, slot, band, buffer);
        }
        buffer
    }
}

/// The end of the last row of places.
fn past(steps: &[usize; 4], images: usize, count: Axes) -> usize {
    if images == 0 || count.contains(&0) {
        return 0;
    }
    (images - 1) * steps[0] + (0..3).map(|a| (count[a] - 1) * steps[a + 1]).sum::<usize>() + 1
}

impl ShiftPlan {
    /// The places of a phase that are inside the source along an axis.
    fn inside(&self, a: usize, phase: usize, before: isize, extent: usize) -> std::ops::Range<usize> {
        let up =
            |to: isize| usize::try_from(to - phase as isize).unwrap_or(0).div_ceil(self.step[a]).min(extent);
        let past = up(before + self.source[a] as isize);
        up(before).min(past)..past
    }

    /// The places of every row along an axis that are padding at both ends.
    fn shared(&self, a: usize, extent: usize) -> usize {
        let both = |&phase: &usize| {
            let inside = self.inside(a, phase, self.before[a], extent);
            if inside.is_empty() { 0 } else { inside.start.min(extent - inside.end) }
        };
        self.phases[a].iter().map(both).min().unwrap_or(0)
    }
}
