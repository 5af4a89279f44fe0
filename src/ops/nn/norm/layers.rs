//! Layers that standardise rows of elements, then scale and shift their channels.

use super::affine::{Norm, Together};
use super::standardize::Standardize;
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::{Tensor, apply_all};
use crate::kernel::norm::Channels;
use crate::ops::entry::op;
use crate::ops::index::select;
use crate::ops::movement::{cast, reshape_to};
use crate::ops::pointwise::arithmetic::multiply;
use crate::ops::pointwise::elementary::{rsqrt, square};
use crate::ops::promote::{promoted_float, promoted_inexact};
use crate::ops::reduce::mean;
use crate::shape::{self, Dims};

/// The tensor's rows standardised, then the channels scaled and shifted.
fn normed(
    x: &Tensor,
    rows: &[usize],
    weight: Option<Tensor>,
    bias: Option<Tensor>,
    eps: f64,
    channels: Channels,
) -> Result<Tensor> {
    let Some(dims) = weight.as_ref().or(bias.as_ref()).map(|t| Dims::from_slice(t.dims())) else {
        let y = apply_all(Standardize { eps }, &[&reshape_to(x, rows)?])?.swap_remove(0);
        return reshape_to(&y, x.dims());
    };
    let (x, w, b) = alike(x, weight.as_ref(), bias.as_ref(), &dims)?;
    let op = Norm { eps, together: Together::Row(channels) };
    let outs = apply_all(op, &[&reshape_to(&x, rows)?, &w, &b])?;
    reshape_to(&outs[0], x.dims())
}

/// The elements, weights and biases in one dtype. Missing weights are ones, missing biases zeros.
fn alike(
    x: &Tensor,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    dims: &[usize],
) -> Result<(Tensor, Tensor, Tensor)> {
    let dtype = [weight, bias].into_iter().flatten().map(Tensor::dtype).fold(x.dtype(), DType::promote);
    let of = |t: Option<&Tensor>, value: f64| match t {
        Some(t) => cast(t, dtype),
        None => Ok(Tensor::constant(Array::full_of(dtype, dims, value))),
    };
    Ok((cast(x, dtype)?, of(weight, 1.0)?, of(bias, 0.0)?))
}

/// Checks that each given tensor has one number for each channel.
fn each_channel(op: &'static str, channels: usize, given: [(&str, Option<&Tensor>); 2]) -> Result<()> {
    for (name, t) in given {
        if let Some(t) = t.filter(|t| t.dims() != [channels]) {
            bail!(Shape, op, "{name} has shape {:?}, not [{channels}]", t.dims());
        }
    }
    Ok(())
}

/// The trailing axes of x, which have `normalized_shape`, as the given tensors do.
fn normalized<'a>(
    op: &'static str,
    x: &'a Tensor,
    normalized_shape: &[i64],
    given: &[(&str, Option<&Tensor>)],
) -> Result<&'a [usize]> {
    let trailing = x.rank().checked_sub(normalized_shape.len()).map(|lead| &x.dims()[lead..]);
    let fits = |dims: &&[usize]| dims.iter().zip(normalized_shape).all(|(&d, &n)| d as i64 == n);
    let Some(trailing) = trailing.filter(|dims| !dims.is_empty()).filter(fits) else {
        bail!(
            Shape,
            op,
            "{:?} does not end in normalized_shape={normalized_shape:?}, which has at least one axis",
            x.dims()
        );
    };
    for (name, t) in given {
        if let Some(t) = t.filter(|t| t.dims() != trailing) {
            bail!(Shape, op, "{name} has shape {:?}, not {trailing:?}", t.dims());
        }
    }
    Ok(trailing)
}

/// (x - mean) / sqrt(variance + eps) over the trailing axes, whose shape is given, times `weight` plus
/// `bias`, which have that shape. Raises ShapeError where the shapes do not fit.
///
/// ```python
/// >>> fg.layer_norm(fg.tensor([1., 3.]), [2], eps=0.0).tolist()
/// [-1.0, 1.0]
/// ```
#[op(function)]
pub fn layer_norm(
    x: &Tensor,
    normalized_shape: &[i64],
    #[default(None)] weight: Option<&Tensor>,
    #[default(None)] bias: Option<&Tensor>,
    #[default(1e-5)] eps: f64,
) -> Result<Tensor> {
    let x = &*promoted_float(x)?;
    let trailing = normalized("layer_norm", x, normalized_shape, &[("weight", weight), ("bias", bias)])?;
    let n = shape::len(trailing);
    let rows: Dims = x.dims()[..x.rank() - trailing.len()].iter().copied().chain([n]).collect();
    let flat = |t: Option<&Tensor>| t.map(|t| reshape_to(t, &[n])).transpose();
    normed(x, &rows, flat(weight)?, flat(bias)?, eps, Channels { groups: 1, own: n, width: 1 })
}

/// The elements divided by the root of their mean square (plus `eps`) over the trailing axes, whose shape is
/// given, times the weight, which has that shape. Complex numbers are squared too, as in PyTorch, not their
/// absolute values.
///
/// ```python
/// >>> fg.rms_norm(fg.tensor([3., 3.]), [2], eps=0.0).tolist()
/// [1.0, 1.0]
/// ```
#[op(function)]
pub fn rms_norm(
    x: &Tensor,
    normalized_shape: &[i64],
    #[default(None)] weight: Option<&Tensor>,
    #[default(1e-5)] eps: f64,
) -> Result<Tensor> {
    let x = &*promoted_inexact(x)?;
    let rank = normalized("rms_norm", x, normalized_shape, &[("weight", weight)])?.len();
    let axes: Vec<i64> = (0..rank).map(|a| -1 - a as i64).collect();
    let y = x * rsqrt(&(mean(&square(x)?, Some(&axes), true, None)? + eps))?;
    weight.map_or(Ok(y.clone()), |w| multiply((&y).into(), w.into()))
}

/// Standardises each group of the channels (axis 1) to mean 0 and variance 1, then applies a weight and a
/// bias for each channel.
///
/// ```python
/// >>> fg.group_norm(fg.tensor([[1., 3., 5., 9.]]), 2, eps=0.0).tolist()
/// [[-1.0, 1.0, -1.0, 1.0]]
/// ```
#[op(function, torch(LaidAsImages))]
pub fn group_norm(
    x: &Tensor,
    groups: i64,
    #[default(None)] weight: Option<&Tensor>,
    #[default(None)] bias: Option<&Tensor>,
    #[default(1e-5)] eps: f64,
) -> Result<Tensor> {
    const OP: &str = "group_norm";
    let x = &*promoted_float(x)?;
    let &[batch, channels, ref rest @ ..] = x.dims() else {
        bail!(Shape, OP, "[batch, channels, ...] is needed, not {:?}", x.dims());
    };
    let Some(groups) = usize::try_from(groups).ok().filter(|&g| g > 0 && channels % g == 0) else {
        bail!(Argument, OP, "{channels} channels cannot be split into {groups} groups");
    };
    each_channel(OP, channels, [("weight", weight), ("bias", bias)])?;
    let width = shape::len(rest);
    let own = channels / groups;
    let rows = [batch, groups, own * width];
    normed(x, &rows, weight.cloned(), bias.cloned(), eps, Channels { groups, own, width })
}

/// Standardises each channel (axis 1) over the batch to mean 0 and variance 1, then applies a weight and a
/// bias for each channel. Also returns the mean and the variance of each channel, as constants.
///
/// ```python
/// >>> [t.tolist() for t in fg.batch_norm(fg.tensor([[1., 3.], [3., 7.]]), eps=0.0)]
/// [[[-1.0, -1.0], [1.0, 1.0]], [2.0, 5.0], [1.0, 4.0]]
/// ```
#[op(function, torch(LaidAsImages))]
pub fn batch_norm(
    x: &Tensor,
    #[default(None)] weight: Option<&Tensor>,
    #[default(None)] bias: Option<&Tensor>,
    #[default(1e-5)] eps: f64,
) -> Result<(Tensor, Tensor, Tensor)> {
    const OP: &str = "batch_norm";
    let x = &*promoted_float(x)?;
    let &[batch, channels, ref rest @ ..] = x.dims() else {
        bail!(Shape, OP, "[batch, channels, ...] is needed, not {:?}", x.dims());
    };
    each_channel(OP, channels, [("weight", weight), ("bias", bias)])?;
    let (x, w, b) = alike(x, weight, bias, &[channels])?;
    let rows = reshape_to(&x, &[batch, channels, shape::len(rest)])?;
    let outs = apply_all(Norm { eps, together: Together::Batch }, &[&rows, &w, &b])?;
    let stats = outs[1].detach();
    let of = |i: i64| select(&stats, 1, i);
    Ok((reshape_to(&outs[0], x.dims())?, of(0)?, of(1)?))
}
