//! Convolutions over one to three axes: sums of shifted planes, computed where the planes stand.

mod direct;
mod linear;
mod micro;
mod plan;
mod weight;

use std::ops::Range;

use linear::Job;
use micro::Wide;
use plan::Plan;
use weight::Split;

use super::finite::{self, Kind};
use super::num::Num;
use super::par;
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::{Error, Result, bail};
use crate::shape::{self, Dims};

/// Sizes along the spatial axes, of which there are three: the first ones are 1 where there are fewer.
pub type Axes = [usize; 3];

/// The sizes of a convolution: `result[b, f, p] = Σ image[b, c, p · stride + k · dilation - before] · weight[f, c, k]`.
#[derive(Clone, Debug)]
pub struct Geometry {
    pub batch: usize,
    pub channels: usize,
    pub filters: usize,
    pub groups: usize,
    /// How many of the axes the arrays have.
    pub axes: usize,
    pub image: Axes,
    pub window: Axes,
    pub places: Axes,
    pub stride: Axes,
    pub dilation: Axes,
    /// Padding before the image.
    pub before: Axes,
}

/// The three arrays of a convolution, each linear in the two others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Third {
    Image,
    Weight,
    Result,
}

impl Geometry {
    pub fn dims(&self, third: Third) -> Dims {
        let (a, b, axes) = match third {
            Third::Image => (self.batch, self.channels, &self.image),
            Third::Weight => (self.filters, self.channels / self.groups, &self.window),
            Third::Result => (self.batch, self.filters, &self.places),
        };
        [a, b].iter().chain(&axes[3 - self.axes..]).copied().collect()
    }

    /// Elements of a window.
    fn taps(&self) -> usize {
        self.window.iter().product()
    }

    /// No more elements than any buffer has; none if they cannot be counted.
    fn most(&self) -> Option<usize> {
        let mut all = self.channels.max(self.filters).checked_add(1)?.checked_mul(self.taps())?;
        for a in 0..3 {
            let reach = self.window[a].saturating_sub(1).checked_mul(self.dilation[a])?;
            let size =
                self.image[a].checked_add(self.places[a])?.checked_add(self.before[a])?.checked_add(reach)?;
            all = all.checked_mul(size.checked_add(1)?)?;
        }
        isize::try_from(all).ok().map(isize::unsigned_abs)
    }
}

/// One of the three arrays, from the two others in the order of [`Third`]. `lanes` hidden axes lead both.
pub fn third(
    op: &'static str,
    g: &Geometry,
    out: Third,
    a: &Array,
    b: &Array,
    lanes: usize,
) -> Result<Array> {
    let lead = shape::broadcast(op, &a.dims()[..lanes], &b.dims()[..lanes])?;
    let laid = |x: &Array| -> Result<Array> {
        let x = x.contiguous()?;
        let dims: Dims = lead.iter().chain(&x.dims()[lanes..]).copied().collect();
        Ok(x.expand(&dims, 0))
    };
    let (a, b) = (laid(a)?, laid(b)?);
    let dims: Dims = lead.iter().copied().chain(g.dims(out)).collect();
    if g.most().is_none() {
        return Err(Error::memory(op, dims.to_vec(), a.dtype()));
    }
    let lanes: usize = lead.iter().product();
    let (planes, filters, taps) = (g.channels / g.groups, g.filters / g.groups, g.taps());
    let Geometry { batch, groups, .. } = *g;
    dispatch!(a.dtype(), float T => {
        let (from_a, from_b) = (Lanes::<T>::of(&a, &lead), Lanes::<T>::of(&b, &lead));
        match out {
            Third::Result => {
                let job = Job { lanes, batch, groups, planes, rows: filters, size: g.places, steps: [planes * taps, taps] };
                convolved(op, &job, &Plan::forward(g), &from_b, &from_a, &dims)
            }
            Third::Image => {
                let job = Job { lanes, batch, groups, planes: filters, rows: planes, size: g.image, steps: [taps, planes * taps] };
                convolved(op, &job, &Plan::backward(g), &from_a, &from_b, &dims)
            }
            Third::Weight => {
                let plan = Plan::forward(g);
                if !direct::pays(&plan, planes, filters) {
                    let all = Split::new::<T>(g, &plan, lanes).run(op, g, &from_a, &from_b, &dims)?;
                    if !must_not_pad(&plan, &all, Kind::Nan) {
                        return Ok(all);
                    }
                }
                direct::weight::<T>(op, g, &plan, lanes, (&from_a, &from_b), &dims)
            }
        }
    }, else bail!(Dtype, op, "not defined for {}", a.dtype()))
}

/// The image or the result, which are sums over the elements of the weight.
fn convolved<T: Wide>(
    op: &'static str,
    job: &Job,
    plan: &Plan,
    weight: &Lanes<'_, T>,
    source: &Lanes<'_, T>,
    dims: &[usize],
) -> Result<Array> {
    if direct::pays(plan, job.planes, job.rows) || must_not_pad(plan, weight.x, Kind::NotFinite) {
        return job.direct(op, plan, weight, source, dims);
    }
    job.run(op, plan, weight, source, dims)
}

/// Whether the zeros of a padding would do harm: times an infinite weight, and in a weight that is a sum over them.
fn must_not_pad(plan: &Plan, weight: &Array, harm: Kind) -> bool {
    plan.is_padded() && finite::has(weight, harm)
}

/// The contiguous elements of each lane of an array.
struct Lanes<'a, T> {
    x: &'a Array,
    lead: &'a [usize],
    each: usize,
    of: std::marker::PhantomData<T>,
}

impl<'a, T: Num> Lanes<'a, T> {
    fn of(x: &'a Array, lead: &'a [usize]) -> Lanes<'a, T> {
        Lanes { x, lead, each: shape::len(&x.dims()[lead.len()..]), of: std::marker::PhantomData }
    }

    fn lane(&self, i: usize) -> &'a [T] {
        let at = shape::offset(i, self.lead, &self.x.strides());
        // SAFETY: `third` made the axes after the hidden ones contiguous, and the offset is that of a lane's first element.
        unsafe { std::slice::from_raw_parts(self.x.ptr().cast::<T>().offset(at), self.each) }
    }

    /// Part `i` of a lane's `n` equal parts.
    fn part(&self, lane: usize, i: usize, n: usize) -> &'a [T] {
        let size = self.each / n.max(1);
        &self.lane(lane)[i * size..(i + 1) * size]
    }

    /// Whether all lanes are the same elements.
    fn is_common(&self) -> bool {
        self.lead.iter().zip(&self.x.strides()).all(|(&n, &step)| n == 1 || step == 0)
    }
}

/// Fewer multiplications than this stay on one thread.
const PARALLEL: usize = 1 << 18;

/// Elements of a thread's buffer that there is always memory for.
const MODEST: usize = 1 << 24;

/// Runs `work` on every piece, in parallel if there is enough to do. `scratch` elements are lent to each call: zeros at
/// first, then as the last call left them.
fn each_piece<T: Num>(
    op: &'static str,
    pieces: usize,
    work: usize,
    scratch: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
) -> Result<()> {
    if scratch > MODEST {
        Array::zeros(op, T::DTYPE, &[scratch])?;
    }
    let run = |r: Range<usize>| {
        let mut columns = vec![T::ZERO; scratch];
        r.for_each(|i| f(i, &mut columns));
    };
    spread(pieces, work, PARALLEL / 4, &run);
    Ok(())
}

/// Runs pieces of so many multiplications, in parallel if there are enough: a `share` of them at a time.
fn spread(pieces: usize, work: usize, share: usize, run: &(impl Fn(Range<usize>) + Sync)) {
    if work.saturating_mul(pieces) < PARALLEL {
        run(0..pieces);
    } else {
        par::pieces(pieces, share.div_ceil(work.max(1)), run);
    }
}
