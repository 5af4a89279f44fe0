//! Rows standardised to mean 0 and variance 1. Their gradient can be differentiated to any order.

use smallvec::smallvec;

use crate::array::Array;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply, only,
};
use crate::kernel::broadcast::broadcast_batch;
use crate::kernel::norm;
use crate::ops::reduce::mean;
use crate::ops::terms::add_terms;
use crate::stored::Stored;

/// `(x - mean) / sqrt(variance + eps)` over the last axis, and the reciprocal of that root.
#[derive(Stored)]
#[stored(op)]
pub(in crate::ops) struct Standardize {
    pub eps: f64,
}

impl Op for Standardize {
    fn name(&self) -> &'static str {
        "standardize"
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        let (y, scale) = norm::standardize("layer_norm", ins[0], self.eps)?;
        Ok([y, scale].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, x @ [lead @ .., _]) = ins.alike::<1>()? else { return None };
        if dtype.is_float() { ins.make(&[(dtype, &[x]), (dtype, &[lead, &[1]])]) } else { None }
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::outputs(3)
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let (y, r) = (s.output(0), s.output(1));
        let by_y = |g: &Tensor| projected(g, &y, &r);
        let by_r = |g: &Tensor| by_scale(g, &y, &r);
        let (a, b) = (g[0].as_ref().map(by_y).transpose()?, g[1].as_ref().map(by_r).transpose()?);
        Ok(smallvec![add_terms([a, b])])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let t = only(t);
        let (y, r) = (s.output(0), s.output(1));
        let scale = -(&r * &r * mean_rows(&(&y * t))?);
        Ok(smallvec![Some(projected(t, &y, &r)?), Some(scale)])
    }
}

/// The gradient of a row's reciprocal root with respect to the row.
pub(in crate::ops) fn by_scale(g: &Tensor, y: &Tensor, r: &Tensor) -> Result<Tensor> {
    let n = *y.dims().last().expect("rows") as f64;
    Ok(-(r * r * y * g / n))
}

/// What flows from [`projected`]`(g, y, r)`, with the cotangent `c`, to `y`.
pub(in crate::ops) fn by_standard(c: &Tensor, g: &Tensor, y: &Tensor, r: &Tensor) -> Result<Tensor> {
    Ok(-(r * (c * mean_rows(&(g * y))? + g * mean_rows(&(c * y))?)))
}

pub(in crate::ops) fn mean_rows(x: &Tensor) -> Result<Tensor> {
    mean(x, Some(&[-1]), true, None)
}

/// `r (g - mean(g) - y mean(g y))`: the Jacobian of a standardised row, which is symmetric, applied to `g`.
#[derive(Stored)]
#[stored(op)]
struct StandardizeGrad;

pub(in crate::ops) fn projected(g: &Tensor, y: &Tensor, r: &Tensor) -> Result<Tensor> {
    apply(StandardizeGrad, &[g, y, r])
}

impl Op for StandardizeGrad {
    fn name(&self) -> &'static str {
        "standardize_gradient"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let all = broadcast_batch([ins[0], ins[1], ins[2]], batch_ndim);
        Ok([norm::standardize_gradient(self.name(), all.each_ref())?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, [g, y @ [lead @ .., _], r]) = ins.of_one_dtype()? else { return None };
        let fits = g == y && *r == *[lead, &[1]].concat() && dtype.is_float();
        if fits { ins.make(&[(dtype, &[y])]) } else { None }
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(7)
    }

    fn vjp(&self, c: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let c = only(c);
        let (g, y, r) = (s.input(0), s.input(1), s.input(2));
        let by_y = || by_standard(c, &g, &y, &r);
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
pub(in crate::ops) fn unscaled(g: &Tensor, y: &Tensor) -> Result<Tensor> {
    Ok(g - mean_rows(g)? - y * mean_rows(&(g * y))?)
}
