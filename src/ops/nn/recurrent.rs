//! The steps of an LSTM over a sequence, as one op.

use smallvec::smallvec;

use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tensor, apply_each,
};
use crate::kernel::{interrupt, recurrent};
use crate::memory;
use crate::ops::contract::matmul::matmul;
use crate::ops::entry::op;
use crate::ops::index::{narrow, select};
use crate::ops::movement::{broadcast_to, cast, concat, expand_dims, matrix_transpose, reshape_to, stack};
use crate::ops::pointwise::activation::SIGMOID;
use crate::ops::pointwise::elementary::tanh;
use crate::ops::promote::promoted_float;
use crate::ops::terms::add_terms;
use crate::stored::Stored;

/// The outputs of all steps and the last cells. With `keeps` also the gates after their functions and the cells of all
/// steps, which the rule reads and nobody else.
#[derive(Stored)]
#[stored(op)]
struct Lstm {
    keeps: bool,
}

/// The gradients of [`Lstm`] with respect to the gates and the first cells, where they are not differentiated again.
#[derive(Stored)]
#[stored(op)]
struct LstmGradient;

impl Op for LstmGradient {
    fn name(&self) -> &'static str {
        "lstm_gradient"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let ins = [ins[0], ins[1], ins[2], ins[3], ins[4], ins[5]];
        Ok(recurrent::lstm_gradient("lstm_layer", ins, batch_ndim)?.into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, [of_outputs, of_last, active, cells, c, weight]) = ins.of_one_dtype()?;
        let (&[steps, rows, four], &[_, units]) = (active, weight) else { return None };
        let (state, all): (&[usize], &[usize]) = (&[rows, units], &[steps, rows, units]);
        let fits = units.checked_mul(4) == Some(four) && *weight == [four, units] && dtype.is_float();
        let are_states = of_last == state && c == state && of_outputs == all && cells == all;
        if fits && are_states { ins.make(&[(dtype, &[active]), (dtype, &[state])]) } else { None }
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("it has no node")
    }
}

impl Op for Lstm {
    fn name(&self) -> &'static str {
        "lstm_layer"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let ins = [ins[0], ins[1], ins[2], ins[3]];
        Ok(recurrent::lstm(self.name(), ins, batch_ndim, self.keeps, SIGMOID)?.into_iter().collect())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, [&[steps, rows, four], weight @ &[_, units], h, c]) = ins.of_one_dtype()? else {
            return None;
        };
        let state: &[usize] = &[rows, units];
        let fits = units.checked_mul(4) == Some(four) && *weight == [four, units] && h == state && c == state;
        if !fits || steps == 0 || !dtype.is_float() {
            return None;
        }
        let outs: [(DType, &[&[usize]]); 4] = [
            (dtype, &[&[steps], state]),
            (dtype, &[state]),
            (dtype, &[&[steps, rows, four]]),
            (dtype, &[&[steps], state]),
        ];
        ins.make(&outs[..if self.keeps { 4 } else { 2 }])
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(0b1110).and(Saves::outputs(0b1101))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let read = Read { weight: s.input(1), c: s.input(3), active: s.output(2), cells: s.output(3) };
        let (of_gates, of_cell) = read.back(g)?;
        let &[steps, rows, units] = s.out_dims(0) else { unreachable!("the op made three axes") };
        let by_weight = || -> Result<Tensor> {
            let before = [expand_dims(&s.input(2), &[0])?, narrow(&s.output(0), 0, 0, steps as i64 - 1)?];
            let before = reshape_to(&concat(&before, Some(0))?, &[steps * rows, units])?;
            let flat = reshape_to(&of_gates, &[steps * rows, 4 * units])?;
            matmul((&matrix_transpose(&flat)?).into(), (&before).into())
        };
        let by_state = || matmul((&select(&of_gates, 0, 0)?).into(), (&read.weight).into());
        Ok(smallvec![
            Some(of_gates.clone()),
            s.needs(1).then(by_weight).transpose()?,
            s.needs(2).then(by_state).transpose()?,
            Some(of_cell),
        ])
    }
}

/// The tensors that the gradient of the steps reads.
struct Read {
    weight: Tensor,
    c: Tensor,
    active: Tensor,
    cells: Tensor,
}

impl Read {
    /// The gradients with respect to the gates and the first cells.
    fn back(&self, g: &Cotangents) -> Result<(Tensor, Tensor)> {
        let Read { weight, c, active, cells } = self;
        let zeros = |like: &Tensor| broadcast_to(&Tensor::scalar_of(like.dtype(), 0.0), like.dims());
        let given = |i: usize, like| g[i].as_ref().map_or_else(|| zeros(like), |g| Ok(g.clone()));
        let (of_outputs, of_last) = (given(0, cells)?, given(1, c)?);
        let ins = [&of_outputs, &of_last, active, cells, c, weight];
        let is_recorded = ins.iter().any(|t| t.edge.is_some());
        if !is_recorded && g[2..].iter().all(Option::is_none) {
            return Ok(apply_each::<_, 2>(LstmGradient, &ins)?.into());
        }
        let units = c.dims()[1] as i64;
        let plus = |x: Tensor, other: Option<Tensor>| add_terms([Some(x), other]).expect("one is there");
        let (mut of_later, mut of_cell) = (None, of_last);
        let steps = cells.dims()[0];
        memory::ensure(steps * size_of::<Tensor>())?;
        let mut all = Vec::with_capacity(steps);
        for t in (0..steps as i64).rev() {
            interrupt::check()?;
            let at = |x: &Tensor| select(x, 0, t);
            let at_given = |i: usize| g[i].as_ref().map(at).transpose();
            let gate = |k: i64| narrow(&at(active)?, -1, k * units, units);
            let (i, f, n, o) = (gate(0)?, gate(1)?, gate(2)?, gate(3)?);
            let squashed = tanh(&at(cells)?)?;
            let before = if t > 0 { select(cells, 0, t - 1)? } else { c.clone() };
            let of_state = plus(at(&of_outputs)?, of_later);
            let through = &of_state * &o * (1.0 - &squashed * &squashed);
            let of_cells = plus(of_cell + through, at_given(3)?);
            let of_active = [&of_cells * &n, &of_cells * before, &of_cells * &i, &of_state * squashed];
            let of_active = plus(concat(&of_active, Some(-1))?, at_given(2)?);
            let slope = |y: &Tensor| y * (1.0 - y);
            let slopes = concat(&[slope(&i), slope(&f), 1.0 - &n * &n, slope(&o)], Some(-1))?;
            let of_gates = of_active * slopes;
            of_later = Some(matmul((&of_gates).into(), weight.into())?);
            of_cell = of_cells * f;
            all.push(of_gates);
        }
        all.reverse();
        Ok((stack(&all, 0)?, of_cell))
    }
}

/// The steps of an LSTM over sequences: the outputs [steps, sequences, units] and the last cells.
///
/// `gates` [steps, sequences, 4 * units] is the part of the input, forget, cell and output gates that does not depend on the
/// state: the inputs times their weights, and the biases. `weight` [4 * units, units] takes the state to the gates; `h` and
/// `c` [sequences, units] are the first state and the first cells. Raises ShapeError where the shapes do not fit, or without
/// a step.
///
/// ```python
/// >>> h, c = fg.lstm_layer(fg.zeros((5, 2, 12)), fg.zeros((12, 3)), fg.zeros((2, 3)), fg.ones((2, 3)))
/// >>> h.shape, c[0, 0].item()
/// ((5, 2, 3), 0.03125)
/// ```
#[op(function, heavy)]
pub fn lstm_layer(gates: &Tensor, weight: &Tensor, h: &Tensor, c: &Tensor) -> Result<(Tensor, Tensor)> {
    let gates = promoted_float(gates)?;
    let all = [weight, h, c];
    let dtype = all.iter().fold(gates.dtype(), |dtype, t| dtype.promote(t.dtype()));
    let gates = cast(&gates, dtype)?;
    let [weight, h, c] = [cast(weight, dtype)?, cast(h, dtype)?, cast(c, dtype)?];
    let ins = [&gates, &weight, &h, &c];
    let keeps = ins.iter().any(|t| t.edge.is_some());
    Ok(apply_each::<_, 2>(Lstm { keeps }, &ins)?.into())
}
