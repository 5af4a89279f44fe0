//! Standardisation with a weight and a bias for each channel, as one op with one gradient op. Both can be
//! differentiated to any order.

use smallvec::smallvec;

use super::standardize::{Standardize, by_scale, by_standard, mean_rows, projected, unscaled};
use crate::array::Array;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply_all,
    apply_each,
};
use crate::kernel::norm::{self, Channels};
use crate::ops::movement::{broadcast_to, permute_dims, reshape_to, sum_to};
use crate::ops::nn::softmax::sum_rows;
use crate::ops::reduce::sum;
use crate::ops::terms::add_terms;
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// Which elements are standardised together.
#[derive(Clone, Copy, Stored)]
pub(in crate::ops) enum Together {
    /// The elements of each row (the last axis), which belong to these channels.
    Row(Channels),
    /// The elements of each channel of `[batch, channels, width]`, over the whole batch.
    Batch,
}

/// Standardised elements times a weight plus a bias for each channel; and the statistics: mean and reciprocal
/// root of each row, or mean and variance of each channel of a batch. The statistics are never
/// differentiated.
#[derive(Stored)]
#[stored(op)]
pub(in crate::ops) struct Norm {
    pub eps: f64,
    pub together: Together,
}

/// Its gradients with respect to elements, weights and biases, from `g`, the elements, the weights and the
/// statistics. The rules treat the statistics as a function of the elements.
#[derive(Stored)]
#[stored(op)]
struct NormGrads {
    eps: f64,
    together: Together,
}

impl Op for Norm {
    fn name(&self) -> &'static str {
        "norm_layer"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let (eps, all) = (self.eps, [ins[0], ins[1], ins[2]]);
        let (y, stats) = match self.together {
            Together::Row(channels) => norm::layer_norm(self.name(), all, eps, channels, batch_ndim)?,
            Together::Batch => norm::batch_norm(self.name(), all, eps, batch_ndim)?,
        };
        Ok([y, stats].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, [x, w, b]) = ins.of_one_dtype()?;
        let stats = self.together.stats(x, w).filter(|_| b == w && dtype.is_float())?;
        ins.make(&[(dtype, &[x]), (dtype, &[&stats])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(3).and(Saves::outputs(2))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(g) = &g[0] else { return Ok(smallvec![None; 3]) };
        let (x, w, stats) = (s.input(0), s.input(1), s.output(1).detach());
        let all = apply_all(NormGrads { eps: self.eps, together: self.together }, &[g, &x, &w, &stats])?;
        Ok(all.into_iter().enumerate().map(|(i, d)| s.needs(i).then_some(d)).collect())
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let (x, w, at) = (s.input(0), s.input(1), self.together);
        let (y, r) = standard(&at.rows(&x)?, self.eps)?;
        let by_x = |t: &Tensor| -> Result<Tensor> { Ok(projected(&at.rows(t)?, &y, &r)? * at.laid(&w)?) };
        let by_w = |t: &Tensor| -> Result<Tensor> { Ok(&y * at.laid(t)?) };
        let by_b = |t: &Tensor| broadcast_to(&at.laid(t)?, y.dims());
        let parts = [
            t[0].as_ref().map(by_x).transpose()?,
            t[1].as_ref().map(by_w).transpose()?,
            t[2].as_ref().map(by_b).transpose()?,
        ];
        Ok(smallvec![laid_out(at, parts, x.dims())?, None])
    }
}

impl Op for NormGrads {
    fn name(&self) -> &'static str {
        "norm_layer_gradients"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let ins = [ins[0], ins[1], ins[2], ins[3]];
        Ok(match self.together {
            Together::Row(channels) => norm::layer_norm_gradients(self.name(), ins, channels, batch_ndim)?,
            Together::Batch => norm::batch_norm_gradients(self.name(), ins, self.eps, batch_ndim)?,
        }
        .into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, [g, x, w, stats]) = ins.of_one_dtype()?;
        self.together.stats(x, w).filter(|own| **own == *stats && g == x && dtype.is_float())?;
        ins.make(&[(dtype, &[x]), (dtype, &[w]), (dtype, &[w])])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(7)
    }

    fn vjp(&self, c: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let (at, x) = (self.together, s.input(1));
        let dims = x.dims();
        let (g, (y, r)) = (at.rows(&s.input(0))?, standard(&at.rows(&x)?, self.eps)?);
        let w = at.laid(&s.input(2))?;
        let cx = c[0].as_ref().map(|c| at.rows(c)).transpose()?;
        let laid = |c: &Option<Tensor>| c.as_ref().map(|c| at.laid(c)).transpose();
        let (cw, cb) = (laid(&c[1])?, laid(&c[2])?);
        let dh = cx.as_ref().map(|c| projected(c, &y, &r)).transpose()?;
        let by_g = || {
            let shift = cb.as_ref().map(|c| broadcast_to(c, y.dims())).transpose()?;
            laid_out(at, [dh.as_ref().map(|d| d * &w), cw.as_ref().map(|c| c * &y), shift], dims)
        };
        let by_x = || {
            let second = |c: &Tensor| -> Result<Tensor> {
                let h = &g * &w;
                let dr = sum_rows(&(c * unscaled(&h, &y)?))?;
                Ok(projected(&by_standard(c, &h, &y, &r)?, &y, &r)? + by_scale(&dr, &y, &r)?)
            };
            let first = |c: &Tensor| projected(&(c * &g), &y, &r);
            laid_out(at, [cx.as_ref().map(second).transpose()?, cw.as_ref().map(first).transpose()?], dims)
        };
        let by_w = || dh.as_ref().map(|d| at.summed(&(d * &g), s.dims(2))).transpose();
        let of = |i: usize, by: &dyn Fn() -> Result<Option<Tensor>>| if s.needs(i) { by() } else { Ok(None) };
        Ok(smallvec![of(0, &by_g)?, of(1, &by_x)?, of(2, &by_w)?, None])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let at = self.together;
        let (g, (y, r)) = (at.rows(&s.input(0))?, standard(&at.rows(&s.input(1))?, self.eps)?);
        let w = at.laid(&s.input(2))?;
        let rows = |t: &Option<Tensor>| t.as_ref().map(|t| at.rows(t)).transpose();
        let (tg, tx) = (rows(&t[0])?, rows(&t[1])?);
        let tw = t[2].as_ref().map(|t| at.laid(t)).transpose()?;
        let ty = tx.as_ref().map(|t| projected(t, &y, &r)).transpose()?;
        let by_x = |(t, ty): (&Tensor, &Tensor)| -> Result<Tensor> {
            let h = &g * &w;
            let tr = -(&r * &r * mean_rows(&(&y * t))?);
            Ok(tr * unscaled(&h, &y)? - &r * (ty * mean_rows(&(&h * &y))? + &y * mean_rows(&(&h * ty))?))
        };
        let dx = [
            tg.as_ref().map(|t| projected(&(t * &w), &y, &r)).transpose()?,
            tx.as_ref().zip(ty.as_ref()).map(by_x).transpose()?,
            tw.map(|t| projected(&(&g * t), &y, &r)).transpose()?,
        ];
        let dw = add_terms([tg.as_ref().map(|t| t * &y), ty.map(|t| &g * t)]);
        let summed = |t: Option<&Tensor>| t.map(|t| at.summed(t, s.out_dims(1))).transpose();
        Ok(smallvec![laid_out(at, dx, s.out_dims(0))?, summed(dw.as_ref())?, summed(tg.as_ref())?])
    }
}

/// The sum of rows, as the elements of a tensor of this shape.
fn laid_out<const N: usize>(
    at: Together,
    rows: [Option<Tensor>; N],
    dims: &[usize],
) -> Result<Option<Tensor>> {
    add_terms(rows).map(|rows| at.elements(&rows, dims)).transpose()
}

/// The standardised rows, and the reciprocal root of each.
fn standard(x: &Tensor, eps: f64) -> Result<(Tensor, Tensor)> {
    Ok(apply_each::<_, 2>(Standardize { eps }, &[x])?.into())
}

impl Together {
    /// The shape of the numbers that [`Norm`] keeps of `x`. None if there are other channels than weights.
    fn stats(self, x: &[usize], w: &[usize]) -> Option<Dims> {
        match (self, x, w) {
            (Together::Batch, &[_, channels, _], &[count]) if channels == count => Some(smallvec![count, 2]),
            (Together::Row(Channels { groups, own, width }), [.., n], &[count]) => {
                let fits = groups.checked_mul(own) == Some(count) && own.checked_mul(width) == Some(*n);
                if fits { shape::resized(x, 1, 2) } else { None }
            }
            _ => None,
        }
    }

    /// The elements that are standardised together as rows.
    fn rows(self, x: &Tensor) -> Result<Tensor> {
        let (Together::Batch, &[batch, channels, width]) = (self, x.dims()) else { return Ok(x.clone()) };
        reshape_to(&permute_dims(x, &[1, 0, 2])?, &[channels, batch * width])
    }

    /// The inverse of [`Together::rows`], for a tensor of this shape.
    fn elements(self, rows: &Tensor, dims: &[usize]) -> Result<Tensor> {
        let (Together::Batch, &[batch, channels, width]) = (self, dims) else { return Ok(rows.clone()) };
        permute_dims(&reshape_to(rows, &[channels, batch, width])?, &[1, 0, 2])
    }

    /// One number for each channel, in a shape that broadcasts to the rows.
    fn laid(self, w: &Tensor) -> Result<Tensor> {
        match self {
            Together::Batch => reshape_to(w, &[w.dims()[0], 1]),
            Together::Row(Channels { groups: 1, width: 1, .. }) => Ok(w.clone()),
            Together::Row(Channels { groups, own, width }) => {
                let w = reshape_to(w, &[groups, own, 1])?;
                reshape_to(&broadcast_to(&w, &[groups, own, width])?, &[groups, own * width])
            }
        }
    }

    /// The sums over each channel: the transpose of [`Together::laid`].
    fn summed(self, rows: &Tensor, dims: &[usize]) -> Result<Tensor> {
        match self {
            Together::Batch => reshape_to(&sum_rows(rows)?, dims),
            Together::Row(Channels { groups: 1, width: 1, .. }) => sum_to(rows, dims),
            Together::Row(Channels { groups, own, width }) => {
                let rows = sum_to(rows, &[groups, own * width])?;
                let runs = reshape_to(&rows, &[groups, own, width])?;
                reshape_to(&sum(&runs, Some(&[-1]), false, None)?, dims)
            }
        }
    }
}
