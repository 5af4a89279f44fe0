//! Elements gathered with weights, such as the corners around a place in an image.

use smallvec::smallvec;

use crate::array::Array;
use crate::dtype::{DType, DTypeKind};
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply, only,
};
use crate::kernel::broadcast::broadcast_batch;
use crate::kernel::index::weighted::{Factor, derivative};
use crate::ops::entry::{Operand, op};
use crate::ops::movement::cast;
use crate::ops::promote::{Class, promoted};
use crate::ops::terms::add_terms;
use crate::stored::Stored;

const NAME: &str = "weighted_gather";

/// The derivative by a factor of the form `Σ weight[b, j, p] · x[b, r, index[b, j, p]] · g[b, r, p]`, which is linear in
/// each. Inputs: the index, and the other two factors in their order. Its derivatives are those of the same form.
#[derive(Clone, Copy, Stored)]
#[stored(op)]
struct Form {
    by: Factor,
    /// Elements of a row of `x`.
    elements: usize,
}

/// The other two, in their order.
fn others(of: Factor) -> [Factor; 2] {
    match of {
        Factor::Weight => [Factor::X, Factor::G],
        Factor::X => [Factor::Weight, Factor::G],
        Factor::G => [Factor::Weight, Factor::X],
    }
}

impl Op for Form {
    fn name(&self) -> &'static str {
        NAME
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let [at, a, b] = broadcast_batch([ins[0], ins[1], ins[2]], batch_ndim);
        Ok([derivative(NAME, self.by, &at, (&a, &b), self.elements)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let [(DType::I64, at), (dtype, a), (same, b)] = ins.each()? else { return None };
        let &[ref lead @ .., parts, places] = at else { return None };
        let &[.., rows, _] = b else { return None };
        // The shapes that the operands and the result have, each after the leading axes.
        let [weight, x, g] = [[parts, places], [rows, self.elements], [rows, places]];
        let (own, made) = match self.by {
            Factor::Weight => ([x, g], weight),
            Factor::X => ([weight, g], x),
            Factor::G => ([weight, x], g),
        };
        let fits = [a, b].iter().zip(own).all(|(dims, own)| **dims == *[lead, &own].concat());
        if fits && same == dtype && dtype.is_float() { ins.make(&[(dtype, &[lead, &made])]) } else { None }
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        Saves::inputs(0b001)
            .and(Saves::inputs(0b010).when(needs.has(2)))
            .and(Saves::inputs(0b100).when(needs.has(1)))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let factors = others(self.by);
        // The gradient by one input is the form's derivative by it, where the cotangent stands for the factor `self.by`.
        let gradient = |one: usize| {
            let given = |f: Factor| if f == self.by { only(g).clone() } else { s.input(2 - one) };
            let [a, b] = others(factors[one]).map(given);
            apply(Form { by: factors[one], ..*self }, &[&s.input(0), &a, &b])
        };
        Ok(smallvec![
            None,
            s.needs(1).then(|| gradient(0)).transpose()?,
            s.needs(2).then(|| gradient(1)).transpose()?
        ])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let a = t[1].as_ref().map(|a| apply(*self, &[&s.input(0), a, &s.input(2)])).transpose()?;
        let b = t[2].as_ref().map(|b| apply(*self, &[&s.input(0), &s.input(1), b])).transpose()?;
        Ok(smallvec![add_terms([a, b])])
    }
}

/// Sums of elements of rows with weights: `out[b, r, p] = Σⱼ weight[b, j, p] · x[b, r, index[b, j, p]]`.
///
/// x is [batch, rows, elements]; index and weight are [batch, parts, places]. An index outside the row, such as -1, stands
/// for an element 0.
///
/// ```python
/// >>> x, index = fg.tensor([[[1.0, 2.0, 4.0]]]), fg.tensor([[[0, 1], [1, 2]]])
/// >>> fg.weighted_gather(x, index, fg.full((1, 2, 2), 0.5)).tolist()
/// [[[1.5, 3.0]]]
/// ```
#[op(function)]
pub fn weighted_gather(x: &Tensor, index: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let fits = x.rank() == 3 && index.rank() == 3 && index.dims() == weight.dims();
    if !fits || x.dims()[0] != index.dims()[0] {
        bail!(
            Shape,
            NAME,
            "x is [batch, rows, elements], index and weight are [batch, parts, places], not {:?}, {:?} and {:?}",
            x.dims(),
            index.dims(),
            weight.dims()
        );
    }
    if index.dtype().kind() != DTypeKind::Int {
        bail!(Dtype, NAME, "an index is an integer, not {}", index.dtype());
    }
    let (weight, x) = promoted(Class::Real, Operand::Tensor(weight), Operand::Tensor(x))?;
    let form = Form { by: Factor::G, elements: x.dims()[2] };
    apply(form, &[&cast(index, DType::I64)?, &weight, &x])
}
