//! The element-wise part of a step of an LSTM.

use smallvec::smallvec;

use crate::array::Array;
use crate::error::{Result, bail};
use crate::graph::{Cotangents, Grads, NeedsGrad, Op, Outputs, Saved, Saves, Tensor, apply_all, unrecorded};
use crate::kernel::broadcast::broadcast_batch;
use crate::kernel::pointwise::lstm::{self, By};
use crate::ops::entry::{Operand, op};
use crate::ops::index::narrow;
use crate::ops::movement::concat;
use crate::ops::pointwise::activation::sigmoid;
use crate::ops::pointwise::elementary::tanh;
use crate::ops::promote::{Class, promoted};

const NAME: &str = "lstm_gates";

/// Inputs: the four gates one after the other, and the cell. Outputs: the hidden state and the next cell.
struct Gates;

impl Op for Gates {
    fn name(&self) -> &'static str {
        NAME
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let [gates, c] = broadcast_batch([ins[0], ins[1]], batch_ndim);
        let (h, next) = lstm::lstm(NAME, &gates, &c)?;
        Ok([h, next].into_iter().collect())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(0b11).and(Saves::outputs(0b10))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let (gates, c, next) = (s.input(0), s.input(1), s.output(1));
        let zeros = Tensor::scalar_of(c.dtype(), 0.0);
        let [by_h, by_next] = [&g[0], &g[1]].map(|g| g.as_ref().unwrap_or(&zeros));
        let fused = |by: By| {
            unrecorded(NAME, &[&gates, &c, &next, by_h, by_next], move |ins, batch_ndim| {
                let [gates, c, next, by_h, by_next] =
                    broadcast_batch([ins[0], ins[1], ins[2], ins[3], ins[4]], batch_ndim);
                let [by_h, by_next] = [by_h, by_next].map(|g| g.expand(c.dims(), batch_ndim));
                lstm::lstm_gradient(NAME, by, [&gates, &c, &next, &by_h, &by_next])
            })
        };
        if let (Some(by_gates), Some(by_cell)) = (fused(By::Gates), fused(By::Cell)) {
            return Ok(smallvec![Some(by_gates?), Some(by_cell?)]);
        }
        let n = *c.dims().last().expect("rows have an axis") as i64;
        let part = |k: i64| narrow(&gates, -1, k * n, n);
        let [i, f, o] = [sigmoid(&part(0)?)?, sigmoid(&part(1)?)?, sigmoid(&part(3)?)?];
        let (input, t) = (tanh(&part(2)?)?, tanh(&next)?);
        let slope = |s: &Tensor| s * (1.0 - s);
        let by_next = by_next + by_h * &o * (1.0 - &t * &t);
        let by_gates = [
            &by_next * &input * slope(&i),
            &by_next * &c * slope(&f),
            &by_next * &i * (1.0 - &input * &input),
            by_h * &t * slope(&o),
        ];
        Ok(smallvec![Some(concat(&by_gates, Some(-1))?), Some(by_next * f)])
    }
}

/// The step of an LSTM after its products: the hidden state and the next cell, from the gates and the cell.
///
/// The last axis of gates is four times that of c. It has the input, forget, cell and output gates i, f, g and o one after the
/// other, before their functions: the next cell is sigmoid(f) c + sigmoid(i) tanh(g), and the hidden state sigmoid(o) times
/// its tanh.
///
/// ```python
/// >>> h, c = fg.lstm_gates(fg.zeros((1, 8)), fg.ones((1, 2)))
/// >>> c.tolist()
/// [[0.5, 0.5]]
/// ```
#[op(function)]
pub fn lstm_gates(gates: &Tensor, c: &Tensor) -> Result<(Tensor, Tensor)> {
    let fits = match (gates.dims(), c.dims()) {
        ([lead @ .., four], [others @ .., one]) => lead == others && one.checked_mul(4) == Some(*four),
        _ => false,
    };
    if !fits {
        bail!(
            Shape,
            NAME,
            "gates are [..., 4 n] and c is [..., n], not {:?} and {:?}",
            gates.dims(),
            c.dims()
        );
    }
    let (gates, c) = promoted(Class::Real, Operand::Tensor(gates), Operand::Tensor(c))?;
    let mut outs = apply_all(Gates, &[&gates, &c])?.into_iter();
    let mut next = || outs.next().expect("two outputs");
    Ok((next(), next()))
}
