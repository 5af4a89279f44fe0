//! Layers that standardise rows of elements, then scale and shift their channels.

use smallvec::smallvec;

use super::arithmetic::multiply;
use super::entry::entries;
use super::movement::{broadcast_to, cast, reshape_to};
use super::normalize::sum_rows;
use super::pointwise::{rsqrt, square};
use super::promote::promoted_float;
use super::reduce::{mean, sum, sum_to};
use super::standardize::{Standardize, by_scale, by_standard, mean_rows, projected, unscaled};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::{Cotangents, Grads, Keeps, Needs, Op, Outs, Saved, Tangents, Tensor, apply, apply_all};
use crate::kernel::norm::{self, Channels};
use crate::shape::{self, Dims};

/// Standardised rows, times a weight and plus a shift a channel; and the mean of each row and one over its root, which
/// nobody else sees.
struct Norm {
    eps: f64,
    channels: Channels,
}

/// Its gradient by the rows, of `g`, the rows, the weights, and what stands beside the rows: that is a function of them,
/// and the rules take it for one.
struct NormGrad {
    eps: f64,
    channels: Channels,
}

/// Its gradients by the weights and the shifts, of `g`, the rows, and what stands beside them.
struct ChannelSums {
    eps: f64,
    channels: Channels,
}

impl Op for Norm {
    fn name(&self) -> &'static str {
        "norm_layer"
    }

    fn forward(&self, ins: &[&Array], lanes: usize) -> Result<Outs> {
        let (y, stats) = norm::scaled(self.name(), [ins[0], ins[1], ins[2]], self.eps, self.channels, lanes)?;
        Ok([y, stats].into())
    }

    fn keeps(&self, _: Needs) -> Keeps {
        Keeps::inputs(3).and(Keeps::outputs(2))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(g) = &g[0] else { return Ok(smallvec![None; 3]) };
        let (eps, channels) = (self.eps, self.channels);
        let (x, w, stats) = (s.input(0), s.input(1), s.output(1).detach());
        let dx = || apply(NormGrad { eps, channels }, &[g, &x, &w, &stats]);
        let dx = s.needs(0).then(dx).transpose()?;
        if !(s.needs(1) || s.needs(2)) {
            return Ok(smallvec![dx, None, None]);
        }
        let mut sums = apply_all(ChannelSums { eps, channels }, &[g, &x, &stats])?.into_iter();
        Ok(smallvec![dx, sums.next(), sums.next()])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let (x, w) = (s.input(0), s.input(1));
        let (y, r) = standard(&x, self.eps)?;
        let by_x = |t: &Tensor| -> Result<Tensor> { Ok(projected(t, &y, &r)? * self.channels.laid(&w)?) };
        let by_w = |t: &Tensor| -> Result<Tensor> { Ok(&y * self.channels.laid(t)?) };
        let by_b = |t: &Tensor| broadcast_to(&self.channels.laid(t)?, y.dims());
        let parts = [
            t[0].as_ref().map(by_x).transpose()?,
            t[1].as_ref().map(by_w).transpose()?,
            t[2].as_ref().map(by_b).transpose()?,
        ];
        Ok(smallvec![total(parts), None])
    }
}

impl Op for NormGrad {
    fn name(&self) -> &'static str {
        "norm_layer_gradient"
    }

    fn forward(&self, ins: &[&Array], lanes: usize) -> Result<Outs> {
        let ins = [ins[0], ins[1], ins[2], ins[3]];
        Ok([norm::scaled_gradient(self.name(), ins, self.channels, lanes)?].into())
    }

    fn keeps(&self, _: Needs) -> Keeps {
        Keeps::inputs(7)
    }

    fn vjp(&self, c: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(c) = &c[0] else { return Ok(smallvec![None; 4]) };
        let (g, x, w) = (s.input(0), s.input(1), s.input(2));
        let (y, r) = standard(&x, self.eps)?;
        let w = self.channels.laid(&w)?;
        let h = &g * &w;
        let dh = projected(c, &y, &r)?;
        let dx = || -> Result<Tensor> {
            let dr = sum_rows(&(c * unscaled(&h, &y)?))?;
            Ok(projected(&by_standard(c, &h, &y, &r)?, &y, &r)? + by_scale(&dr, &y, &r)?)
        };
        let dw = || self.channels.summed(&(&dh * &g), s.dims(2));
        Ok(smallvec![
            s.needs(0).then(|| &dh * &w),
            s.needs(1).then(dx).transpose()?,
            s.needs(2).then(dw).transpose()?,
            None
        ])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let (g, x, w) = (s.input(0), s.input(1), s.input(2));
        let (y, r) = standard(&x, self.eps)?;
        let w = self.channels.laid(&w)?;
        let by_x = |t: &Tensor| -> Result<Tensor> {
            let (h, ty) = (&g * &w, projected(t, &y, &r)?);
            let tr = -(&r * &r * mean_rows(&(&y * t))?);
            Ok(tr * unscaled(&h, &y)? - &r * (&ty * mean_rows(&(&h * &y))? + &y * mean_rows(&(&h * &ty))?))
        };
        let parts = [
            t[0].as_ref().map(|t| projected(&(t * &w), &y, &r)).transpose()?,
            t[1].as_ref().map(by_x).transpose()?,
            t[2].as_ref().map(|t| projected(&(&g * self.channels.laid(t)?), &y, &r)).transpose()?,
        ];
        Ok(smallvec![total(parts)])
    }
}

impl Op for ChannelSums {
    fn name(&self) -> &'static str {
        "norm_layer_sums"
    }

    fn forward(&self, ins: &[&Array], lanes: usize) -> Result<Outs> {
        let ins = [ins[0], ins[1], ins[2]];
        let (dw, db) = norm::channel_sums(self.name(), ins, self.channels, lanes)?;
        Ok([dw, db].into())
    }

    fn keeps(&self, _: Needs) -> Keeps {
        Keeps::inputs(3)
    }

    fn vjp(&self, c: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let (g, (y, r)) = (s.input(0), standard(&s.input(1), self.eps)?);
        let laid = |c: &Option<Tensor>| c.as_ref().map(|c| self.channels.laid(c)).transpose();
        let (cw, cb) = (laid(&c[0])?, laid(&c[1])?);
        let by_g = [cw.as_ref().map(|c| c * &y), cb.as_ref().map(|c| broadcast_to(c, y.dims())).transpose()?];
        let by_x = cw.as_ref().filter(|_| s.needs(1)).map(|c| projected(&(c * &g), &y, &r)).transpose()?;
        Ok(smallvec![total(by_g), by_x, None])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let (g, (y, r)) = (s.input(0), standard(&s.input(1), self.eps)?);
        let summed = |t: &Tensor| self.channels.summed(t, s.out_dims(0));
        let by_x = |t: &Tensor| -> Result<Tensor> { Ok(&g * projected(t, &y, &r)?) };
        let of_weight = total([t[0].as_ref().map(|t| t * &y), t[1].as_ref().map(by_x).transpose()?]);
        Ok(smallvec![of_weight.as_ref().map(summed).transpose()?, t[0].as_ref().map(summed).transpose()?])
    }
}

fn total<const N: usize>(parts: [Option<Tensor>; N]) -> Option<Tensor> {
    parts.into_iter().flatten().reduce(|a, b| a + b)
}

/// The rows standardised, and one over the root of each.
fn standard(x: &Tensor, eps: f64) -> Result<(Tensor, Tensor)> {
    let mut outs = apply_all(Standardize { eps }, &[x])?;
    let r = outs.pop().expect("the roots");
    Ok((outs.pop().expect("the rows"), r))
}

impl Channels {
    /// Numbers of the channels, laid on rows that they broadcast to.
    fn laid(self, w: &Tensor) -> Result<Tensor> {
        let Channels { groups, own, width } = self;
        if width == 1 && groups == 1 {
            return Ok(w.clone());
        }
        let w = reshape_to(w, &[groups, own, 1])?;
        reshape_to(&broadcast_to(&w, &[groups, own, width])?, &[groups, own * width])
    }

    /// The sums over each channel: the transpose of [`Channels::laid`].
    fn summed(self, rows: &Tensor, dims: &[usize]) -> Result<Tensor> {
        let Channels { groups, own, width } = self;
        if width == 1 && groups == 1 {
            return sum_to(rows, dims);
        }
        let rows = sum_to(rows, &[groups, own * width])?;
        let runs = reshape_to(&rows, &[groups, own, width])?;
        reshape_to(&sum(&runs, Some(&[-1]), false, None)?, dims)
    }
}

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
    let given = [weight.as_ref(), bias.as_ref()];
    let dtype = given.into_iter().flatten().map(Tensor::dtype).fold(x.dtype(), DType::promote);
    let of = |t: Option<Tensor>, value: f64| match t {
        Some(t) => cast(&t, dtype),
        None => Ok(Tensor::constant(Array::full_of(dtype, &dims, value))),
    };
    let (w, b) = (of(weight, 1.0)?, of(bias, 0.0)?);
    let outs = apply_all(Norm { eps, channels }, &[&reshape_to(&cast(x, dtype)?, rows)?, &w, &b])?;
    reshape_to(&outs[0], x.dims())
}

/// Standardises the trailing axes of this shape together, then scales and shifts their elements.
pub fn layer_norm(
    x: &Tensor,
    normalized_shape: &[i64],
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    let x = &*promoted_float(x)?;
    let rank = normalized_shape.len();
    let trailing = x.rank().checked_sub(rank).map(|lead| &x.dims()[lead..]);
    let fits = trailing.is_some_and(|dims| dims.iter().zip(normalized_shape).all(|(&d, &n)| d as i64 == n));
    if rank == 0 || !fits {
        bail!(Shape, "layer_norm", "{:?} does not end in the shape {normalized_shape:?}", x.dims());
    }
    let trailing = &x.dims()[x.rank() - rank..];
    for (name, t) in [("weight", weight), ("bias", bias)] {
        if let Some(t) = t.filter(|t| t.dims() != trailing) {
            bail!(Shape, "layer_norm", "{name} has shape {:?}, not {trailing:?}", t.dims());
        }
    }
    let n = shape::len(trailing);
    let rows: Dims = x.dims()[..x.rank() - rank].iter().copied().chain([n]).collect();
    let flat = |t: Option<&Tensor>| t.map(|t| reshape_to(t, &[n])).transpose();
    normed(x, &rows, flat(weight)?, flat(bias)?, eps, Channels { groups: 1, own: n, width: 1 })
}

/// Divides the trailing axes of this shape together by the root of their mean square, then scales their elements.
pub fn rms_norm(x: &Tensor, normalized_shape: &[i64], weight: Option<&Tensor>, eps: f64) -> Result<Tensor> {
    let x = &*promoted_float(x)?;
    let rank = normalized_shape.len();
    let lead = x.rank().checked_sub(rank).filter(|_| rank > 0);
    let fits =
        lead.is_some_and(|lead| x.dims()[lead..].iter().zip(normalized_shape).all(|(&d, &n)| d as i64 == n));
    if !fits {
        bail!(Shape, "rms_norm", "{:?} does not end in the shape {normalized_shape:?}", x.dims());
    }
    let axes: Vec<i64> = (0..rank).map(|a| -1 - a as i64).collect();
    let y = x * rsqrt(&(mean(&square(x)?, Some(&axes), true, None)? + eps))?;
    weight.map_or(Ok(y.clone()), |w| multiply((&y).into(), w.into()))
}

/// Standardises each of so many groups of the channels (axis 1), then scales and shifts the channels.
pub fn group_norm(
    x: &Tensor,
    groups: i64,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    const OP: &str = "group_norm";
    let x = &*promoted_float(x)?;
    let &[batch, channels, ref rest @ ..] = x.dims() else {
        bail!(Shape, OP, "[batch, channels, ...] is needed, not {:?}", x.dims());
    };
    let Some(groups) = usize::try_from(groups).ok().filter(|&g| g > 0 && channels % g == 0) else {
        bail!(Argument, OP, "{channels} channels cannot be split into {groups} groups");
    };
    for (name, t) in [("weight", weight), ("bias", bias)] {
        if let Some(t) = t.filter(|t| t.dims() != [channels]) {
            bail!(Shape, OP, "{name} has shape {:?}, not [{channels}]", t.dims());
        }
    }
    let width = shape::len(rest);
    let own = channels / groups;
    let rows = [batch, groups, own * width];
    normed(x, &rows, weight.cloned(), bias.cloned(), eps, Channels { groups, own, width })
}

entries! {
    function layer_norm (x: &Tensor, normalized_shape: &[i64], weight: Option<&Tensor> = None, bias: Option<&Tensor> = None, eps: f64 = Float(1e-5))
        "(x - mean) / sqrt(variance + eps) over the trailing axes, whose shape is given, times `weight` plus `bias`, which
have that shape. Raises ShapeError where the shapes do not fit.

>>> fg.layer_norm(fg.tensor([1., 3.]), [2], eps=0.0).tolist()
[-1.0, 1.0]";
    function rms_norm (x: &Tensor, normalized_shape: &[i64], weight: Option<&Tensor> = None, eps: f64 = Float(1e-5))
        "The elements of the trailing axes of this shape divided by the root of their mean square (plus `eps`), times the
weight.

>>> fg.rms_norm(fg.tensor([3., 3.]), [2], eps=0.0).tolist()
[1.0, 1.0]";
    function group_norm (x: &Tensor, groups: i64, weight: Option<&Tensor> = None, bias: Option<&Tensor> = None, eps: f64 = Float(1e-5))
        "Mean 0 and variance 1 in each of so many groups of the channels (axis 1), then a weight and a bias a channel.

>>> fg.group_norm(fg.tensor([[1., 3., 5., 9.]]), 2, eps=0.0).tolist()
[[-1.0, 1.0, -1.0, 1.0]]";
}
