//! Softmax and its relatives, and layers that standardise.

use smallvec::smallvec;

use super::arithmetic::{add, multiply, promoted};
use super::entry::{Axes, Operand, entries};
use super::movement::{broadcast_to, permute_dims, reshape_to, stack};
use super::pointwise::{exp, rsqrt, square};
use super::promote::{Class, promoted_float};
use super::reduce::{Folded, mean, sum};
use crate::array::Array;
use crate::error::{Result, bail};
use crate::graph::{Cotangents, Grads, Keeps, Needs, Op, Outs, Saved, Tangents, Tensor, apply, apply_all};
use crate::kernel::along::{all_lanes, same_lanes};
use crate::kernel::rows::{self, Softmax};
use crate::shape::{self, Dims};

/// The sum over the last axis, which stays.
pub(super) fn sum_rows(x: &Tensor) -> Result<Tensor> {
    sum(x, Some(&[-1]), true, None)
}

/// A softmax over the last axis.
struct Soft(Softmax);

impl Op for Soft {
    fn name(&self) -> &'static str {
        if self.0 == Softmax::Log { "log_softmax" } else { "softmax" }
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outs> {
        Ok([rows::softmax(self.name(), ins[0], self.0)?].into())
    }

    fn keeps(&self, _: Needs) -> Keeps {
        Keeps::outputs(1)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(g) = &g[0] else { return Ok(smallvec![None]) };
        Ok(smallvec![Some(apply(SoftGrad { log: self.0 == Softmax::Log }, &[g, &s.output(0)])?)])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(t) = &t[0] else { return Ok(smallvec![None]) };
        let z = s.output(0);
        Ok(smallvec![Some(match self.0 {
            Softmax::Log => t - sum_rows(&(exp(&z)? * t))?,
            _ => softmax_gradient(t, &z)?,
        })])
    }
}

/// The gradient of a softmax from `g` and its result `z`: `z (g - sum(g z))`, of its logarithm `g - exp(z) sum(g)`.
#[derive(Clone, Copy)]
struct SoftGrad {
    log: bool,
}

impl Op for SoftGrad {
    fn name(&self) -> &'static str {
        if self.log { "log_softmax_gradient" } else { "softmax_gradient" }
    }

    fn forward(&self, ins: &[&Array], lanes: usize) -> Result<Outs> {
        let (g, z) = same_lanes(ins[0], ins[1], lanes);
        Ok([rows::softmax_gradient(self.name(), &g, &z, self.log)?].into())
    }

    fn keeps(&self, needs: Needs) -> Keeps {
        Keeps::inputs(2).and(Keeps::inputs(1).when(needs.has(1)))
    }

    fn vjp(&self, c: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(c) = &c[0] else { return Ok(smallvec![None, None]) };
        let z = s.input(1);
        let by_g = || if self.log { Ok(c - sum_rows(&(c * exp(&z)?))?) } else { softmax_gradient(c, &z) };
        let by_z = || -> Result<Tensor> {
            let g = s.input(0);
            Ok(if self.log {
                -(c * exp(&z)? * sum_rows(&g)?)
            } else {
                c * (&g - sum_rows(&(&g * &z))?) - &g * sum_rows(&(c * &z))?
            })
        };
        Ok(smallvec![s.needs(0).then(by_g).transpose()?, s.needs(1).then(by_z).transpose()?])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let z = s.input(1);
        let by_g = |t: &Tensor| apply(*self, &[t, &z]);
        let by_z = |t: &Tensor| -> Result<Tensor> {
            let g = s.input(0);
            Ok(if self.log {
                -(t * exp(&z)? * sum_rows(&g)?)
            } else {
                t * (&g - sum_rows(&(&g * &z))?) - &z * sum_rows(&(&g * t))?
            })
        };
        let (g, z) = (t[0].as_ref().map(by_g).transpose()?, t[1].as_ref().map(by_z).transpose()?);
        Ok(smallvec![match (g, z) {
            (Some(g), Some(z)) => Some(g + z),
            (g, z) => g.or(z),
        }])
    }
}

/// `z (g - sum(g z))` over the last axis: the Jacobian of the softmax, which is symmetric, applied to `g`.
pub(super) fn softmax_gradient(g: &Tensor, z: &Tensor) -> Result<Tensor> {
    apply(SoftGrad { log: false }, &[g, z])
}

/// Applies `f` to the tensor with an axis moved to the end, and moves it back.
fn on_last(
    op: &'static str,
    x: &Tensor,
    axis: i64,
    f: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let axis = shape::axis(op, axis, x.rank())?;
    let last = x.rank() - 1;
    let order: Vec<i64> = (0..=last).filter(|&a| a != axis).chain([axis]).map(|a| a as i64).collect();
    let mut back: Vec<i64> = (0..last as i64).collect();
    back.insert(axis, last as i64);
    permute_dims(&f(&permute_dims(x, &order)?)?, &back)
}

/// `exp(x)` over its sum along an axis.
pub fn softmax(x: &Tensor, axis: i64) -> Result<Tensor> {
    on_last("softmax", &*promoted_float(x)?, axis, |x| apply(Soft(Softmax::Plain), &[x]))
}

/// The logarithm of the softmax.
pub fn log_softmax(x: &Tensor, axis: i64) -> Result<Tensor> {
    on_last("log_softmax", &*promoted_float(x)?, axis, |x| apply(Soft(Softmax::Log), &[x]))
}

/// The logarithm of the sum of the exponentials of the last axis, which stays.
struct LogSumExp;

impl Op for LogSumExp {
    fn name(&self) -> &'static str {
        "logsumexp"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outs> {
        Ok([rows::cross_entropy("logsumexp", ins[0], None)?.0].into())
    }

    fn keeps(&self, _: Needs) -> Keeps {
        Keeps::inputs(1)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(g) = &g[0] else { return Ok(smallvec![None]) };
        Ok(smallvec![Some(g * apply(Soft(Softmax::Weights), &[&s.input(0)])?)])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(t) = &t[0] else { return Ok(smallvec![None]) };
        Ok(smallvec![Some(sum_rows(&(t * apply(Soft(Softmax::Weights), &[&s.input(0)])?))?)])
    }
}

/// The logarithm of the sum of the exponentials over axes.
pub fn logsumexp(x: &Tensor, axis: Axes<'_>, keepdims: bool) -> Result<Tensor> {
    let folded = Folded::new("logsumexp", axis, keepdims, x.rank())?;
    let x = promoted_float(x)?;
    reshape_to(&apply(LogSumExp, &[&folded.rows(&x)?])?, &folded.dims(x.dims()))
}

/// The logarithm of the sum of two exponentials.
pub fn logaddexp(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    let (x, y) = promoted(Class::Real, x, y)?;
    let dims = shape::broadcast("logaddexp", x.dims(), y.dims())?;
    logsumexp(&stack(&[broadcast_to(&x, &dims)?, broadcast_to(&y, &dims)?], 0)?, Some(&[0]), false)
}

/// The last axis less its mean over the root of its variance plus `eps`, and one over that root.
struct Standardize {
    eps: f64,
}

impl Op for Standardize {
    fn name(&self) -> &'static str {
        "standardize"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outs> {
        let (y, scale) = rows::standardize("layer_norm", ins[0], self.eps)?;
        Ok([y, scale].into())
    }

    fn keeps(&self, _: Needs) -> Keeps {
        Keeps::outputs(3)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let (y, r) = (s.output(0), s.output(1));
        let by_y = |g: &Tensor| projected(g, &y, &r);
        let n = *y.dims().last().expect("rows") as f64;
        let by_r = |g: &Tensor| -> Result<Tensor> { Ok(-(&r * &r * &y * g / n)) };
        let (a, b) = (g[0].as_ref().map(by_y).transpose()?, g[1].as_ref().map(by_r).transpose()?);
        Ok(smallvec![match (a, b) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        }])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(t) = &t[0] else { return Ok(smallvec![None, None]) };
        let (y, r) = (s.output(0), s.output(1));
        let scale = -(&r * &r * mean_rows(&(&y * t))?);
        Ok(smallvec![Some(projected(t, &y, &r)?), Some(scale)])
    }
}

fn mean_rows(x: &Tensor) -> Result<Tensor> {
    mean(x, Some(&[-1]), true, None)
}

/// `r (g - mean(g) - y mean(g y))`: the Jacobian of a standardised row, which is symmetric, applied to `g`.
struct StandardizeGrad;

fn projected(g: &Tensor, y: &Tensor, r: &Tensor) -> Result<Tensor> {
    apply(StandardizeGrad, &[g, y, r])
}

impl Op for StandardizeGrad {
    fn name(&self) -> &'static str {
        "standardize_gradient"
    }

    fn forward(&self, ins: &[&Array], lanes: usize) -> Result<Outs> {
        let all = all_lanes([ins[0], ins[1], ins[2]], lanes);
        Ok([rows::standardize_gradient(self.name(), all.each_ref())?].into())
    }

    fn keeps(&self, _: Needs) -> Keeps {
        Keeps::inputs(7)
    }

    fn vjp(&self, c: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(c) = &c[0] else { return Ok(smallvec![None; 3]) };
        let (g, y, r) = (s.input(0), s.input(1), s.input(2));
        let by_y =
            || -> Result<Tensor> { Ok(-(&r * (c * mean_rows(&(&g * &y))? + &g * mean_rows(&(c * &y))?))) };
        let by_r = || -> Result<Tensor> { Ok(c * unscaled(&g, &y)?) };
        Ok(smallvec![
            s.needs(0).then(|| projected(c, &y, &r)).transpose()?,
            s.needs(1).then(by_y).transpose()?,
            s.needs(2).then(by_r).transpose()?
        ])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let (g, y, r) = (s.input(0), s.input(1), s.input(2));
        let by_y = |t: &Tensor| -> Result<Tensor> {
            Ok(-(&r * (t * mean_rows(&(&g * &y))? + &y * mean_rows(&(&g * t))?)))
        };
        let by_r = |t: &Tensor| -> Result<Tensor> { Ok(t * unscaled(&g, &y)?) };
        let parts = [
            t[0].as_ref().map(|t| projected(t, &y, &r)).transpose()?,
            t[1].as_ref().map(by_y).transpose()?,
            t[2].as_ref().map(by_r).transpose()?,
        ];
        Ok(smallvec![parts.into_iter().flatten().reduce(|a, b| a + b)])
    }
}

/// `g - mean(g) - y mean(g y)`.
fn unscaled(g: &Tensor, y: &Tensor) -> Result<Tensor> {
    Ok(g - mean_rows(g)? - y * mean_rows(&(g * y))?)
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
    let rows: Dims = x.dims()[..x.rank() - rank].iter().copied().chain([shape::len(trailing)]).collect();
    let y = apply_all(Standardize { eps }, &[&reshape_to(x, &rows)?])?.swap_remove(0);
    let mut y = reshape_to(&y, x.dims())?;
    if let Some(weight) = weight {
        y = multiply(Operand::Tensor(&y), Operand::Tensor(weight))?;
    }
    if let Some(bias) = bias {
        y = add(Operand::Tensor(&y), Operand::Tensor(bias))?;
    }
    Ok(y)
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
    let mut column: Dims = Dims::from_elem(1, rest.len() + 1);
    column[0] = channels;
    let scale = |name: &str, t: &Tensor| -> Result<Tensor> {
        if t.dims() != [channels] {
            bail!(Shape, OP, "{name} has shape {:?}, not [{channels}]", t.dims());
        }
        reshape_to(t, &column)
    };
    let rows = reshape_to(x, &[batch, groups, channels / groups * shape::len(rest)])?;
    let mut y = reshape_to(&apply_all(Standardize { eps }, &[&rows])?.swap_remove(0), x.dims())?;
    if let Some(w) = weight {
        y = multiply((&y).into(), (&scale("weight", w)?).into())?;
    }
    if let Some(b) = bias {
        y = add((&y).into(), (&scale("bias", b)?).into())?;
    }
    Ok(y)
}

entries! {
    twin softmax (x: &Tensor, axis: i64 = Int(-1))
        "exp(x) over its sum along an axis, computed without overflow. NaN for a row of -inf.

>>> fg.softmax(fg.tensor([0., 0.])).tolist()
[0.5, 0.5]";
    twin log_softmax (x: &Tensor, axis: i64 = Int(-1))
        "The logarithm of the softmax along an axis, x - log(sum(exp(x))), computed without overflow.

>>> fg.log_softmax(fg.tensor([0., -1000.])).tolist()
[0.0, -1000.0]";
    twin logaddexp (x: Operand<'_>, y: Operand<'_>)
        "The logarithm of the sum of the exponentials of two tensors, whose shapes broadcast, without overflow.

>>> fg.logaddexp(fg.tensor([0.0]), fg.tensor([0.0])).tolist()
[0.6931471824645996]";
    method logsumexp (x: &Tensor, axis: Axes<'_> = None, keepdims: bool = False)
        "log(sum(exp(x))) over axes (all of them if none are named), computed without overflow; -inf of none.
Its gradient is the softmax, and 0 where every element is -inf.

>>> fg.logsumexp(fg.tensor([1000., -1000.])).item()
1000.0";
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
