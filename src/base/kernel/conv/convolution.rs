//! Convolutions over one to three axes: chooses between shifted planes and direct reads.

use super::channels_last;
use super::direct;
use super::geometry::{Batched, ConvArray, Geometry};
use super::plan::ShiftPlan;
use super::shifted::ConvJob;
use super::tiles::ConvElement;
use super::weight::WeightSplit;

use crate::array::Array;
use crate::dtype::{DType, DTypeKind, dispatch};
use crate::error::{Error, Result, bail};
use crate::kernel::one_dtype;
use crate::kernel::pointwise::cast::cast;
use crate::kernel::pointwise::complex;
use crate::kernel::reduce::non_finite::NonFinite;
use crate::shape::{self, Dims};

/// One of the three arrays of a convolution, from the two others in the order of [`ConvArray`]. Both have `batch_ndim`
/// leading batch axes. With `rounds`, float32 may be rounded to bfloat16 before it is multiplied. A convolution of complex
/// numbers is four of real ones, and one of integers runs in f64, so that neither has loops of its own.
pub fn convolve(
    op: &'static str,
    g: &Geometry,
    out: ConvArray,
    a: &Array,
    b: &Array,
    batch_ndim: usize,
    rounds: bool,
) -> Result<Array> {
    one_dtype(op, [a, b])?;
    if a.dtype().is_complex() {
        return complex::by_parts(op, a, b, |a, b| convolve(op, g, out, a, b, batch_ndim, false));
    }
    if a.dtype().kind() == DTypeKind::Int {
        let sum = convolve(op, g, out, &cast(a, DType::F64)?, &cast(b, DType::F64)?, batch_ndim, false)?;
        let most = |x: &Array| -> Result<f64> {
            let x = cast(x, DType::F64)?.contiguous()?;
            Ok(x.as_slice::<f64>().expect("contiguous").iter().fold(0.0, |m, v| v.abs().max(m)))
        };
        let terms = match out {
            ConvArray::Result => g.channels / g.groups * g.taps(),
            ConvArray::Image => g.filters / g.groups * g.taps(),
            ConvArray::Weight => g.batch * g.places.iter().product::<usize>(),
        };
        if most(a)? * most(b)? * terms as f64 >= 2f64.powi(53) {
            bail!(Argument, op, "sums of products of these integers may exceed 2^53; convert them to floats");
        }
        return cast(&cast(&sum, DType::I64)?, a.dtype());
    }
    if !g.fits(out, [&a.dims()[batch_ndim..], &b.dims()[batch_ndim..]]) {
        bail!(Shape, op, "these are not the arrays of the convolution: {:?} and {:?}", a.dims(), b.dims());
    }
    let lead = shape::broadcast(op, &a.dims()[..batch_ndim], &b.dims()[..batch_ndim])?;
    let dims: Dims = lead.iter().copied().chain(g.dims(out)).collect();
    if g.most().is_none() {
        return Err(Error::memory(op, dims.to_vec(), a.dtype()));
    }
    if a.len() == 0 || b.len() == 0 || dims.contains(&0) {
        return dispatch!(a.dtype(), float T => Array::build::<T>(op, &dims, |out| out.fill(T::default())), else bail!(Dtype, op, "not defined for {}", a.dtype()));
    }
    if batch_ndim == 0 && !rounds {
        let all =
            dispatch!(a.dtype(), float T => channels_last::convolve::<T>(op, g, out, [a, b]), else Ok(None))?;
        if let Some(all) = all {
            return Ok(all);
        }
    }
    let laid = |x: &Array| -> Result<Array> {
        let x = x.contiguous()?;
        let dims: Dims = lead.iter().chain(&x.dims()[batch_ndim..]).copied().collect();
        Ok(x.expand(&dims, 0))
    };
    let (a, b) = (laid(a)?, laid(b)?);
    let batch_size: usize = lead.iter().product();
    let (planes, filters, taps) = (g.channels / g.groups, g.filters / g.groups, g.taps());
    let job = ConvJob::of(g, out, batch_size);
    dispatch!(a.dtype(), float T => {
        let (from_a, from_b) = (Batched::<T>::of(&a, &lead), Batched::<T>::of(&b, &lead));
        match (out, &job) {
            (ConvArray::Result, Some((job, plan))) => {
                let inner = rounds.then_some([g.filters, taps]);
                convolved(op, job, plan, (&from_b, inner), &from_a, &dims)
            }
            (_, Some((job, plan))) => {
                let inner = rounds.then_some([g.groups, planes * taps]);
                convolved(op, job, plan, (&from_a, inner), &from_b, &dims)
            }
            (_, None) => {
                let plan = ShiftPlan::forward(g);
                if !direct::pays(&plan, planes, filters) {
                    let all = WeightSplit::new::<T>(g, &plan, batch_size).run(op, g, &from_a, &from_b, &dims)?;
                    if !plan.must_not_pad(&all, NonFinite::Nan) {
                        return Ok(all);
                    }
                }
                direct::weight::<T>(op, g, &plan, batch_size, (&from_a, &from_b), &dims)
            }
        }
    }, else bail!(Dtype, op, "not defined for {}", a.dtype()))
}

/// Sums of at least this many products for each element of the source take less time if the elements are rounded first, and
/// if there are this many planes.
const USES: usize = 64;
const PLANES: usize = 3;

/// The image or the result, which are sums over the elements of the weight. Where these may be rounded, there are the sizes
/// of its axes before and after its planes.
fn convolved<T: ConvElement>(
    op: &'static str,
    job: &ConvJob,
    plan: &ShiftPlan,
    (weight, around): (&Batched<'_, T>, Option<[usize; 2]>),
    source: &Batched<'_, T>,
    dims: &[usize],
) -> Result<Array> {
    if direct::pays(plan, job.planes, job.rows) || plan.must_not_pad(weight.x, NonFinite::Any) {
        return job.direct(op, plan, weight, source, dims);
    }
    let taps = plan.passes.first().map_or(0, |pass| pass.taps.len());
    if let Some([outer, inner]) = around
        && let Some(micro) = T::microkernels_of_pairs()
        && job.planes >= PLANES
        && job.rows * taps >= USES
    {
        let planes = job.planes.div_ceil(2);
        let steps = if job.steps[0] > job.steps[1] { [planes * inner, inner] } else { job.steps };
        let spots = plan.source.iter().product();
        let weight_pairs = weight.paired(op, [outer, job.planes, inner])?;
        let source_pairs = source.paired(op, [job.batch * job.groups, job.planes, spots])?;
        let (weight, source) = (weight.with(&weight_pairs), source.with(&source_pairs));
        return ConvJob { planes, steps, ..*job }.run(op, micro, plan, &weight, &source, dims);
    }
    job.run(op, T::microkernels_for(job.products(plan)), plan, weight, source, dims)
}
