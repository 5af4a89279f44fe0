//! Values with the same position reduced to one: their sum, product, mean, maximum or minimum.

use smallvec::smallvec;

use super::places::{all, line};
use super::rows::{add_at, gather_at};
use super::write::put;
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply,
};
use crate::kernel::{index, interrupt};
use crate::memory::TryPush;
use crate::ops::Index;
use crate::ops::movement::{broadcast_to, cast, reshape_to};
use crate::ops::pointwise::arithmetic::{
    add_same, divide_same, floor_divide_same, maximum_same, multiply_same, subtract_same,
};
use crate::ops::pointwise::compare::{and_same, equal_same, less_same};
use crate::ops::pointwise::elementary::isfinite;
use crate::ops::pointwise::select::select;
use crate::shape;
use crate::stored::Stored;

/// A flat tensor, and flat values with their positions in it.
struct Groups<'a> {
    op: &'static str,
    x: &'a Tensor,
    positions: &'a Tensor,
    values: &'a Tensor,
    /// Whether the tensor's own element belongs to its group.
    include_self: bool,
}

/// The tensor with the values at each position, and with `include_self` its own element, reduced to one.
/// Elements without a value stay as they are.
pub(in crate::ops) fn reduced(
    op: &'static str,
    x: &Tensor,
    positions: &Tensor,
    values: &Tensor,
    reduce: &str,
    include_self: bool,
) -> Result<Tensor> {
    let flat = |t: &Tensor| reshape_to(t, &[shape::len(t.dims())]);
    let (x_flat, positions, values) = (flat(x)?, flat(positions)?, flat(values)?);
    let groups = Groups { op, x: &x_flat, positions: &positions, values: &values, include_self };
    let result = match reduce {
        "add" | "sum" => groups.sum(),
        "mean" => groups.mean(),
        "mul" | "multiply" | "prod" => groups.product(),
        "amax" => groups.extreme(false),
        "amin" => groups.extreme(true),
        _ => bail!(Argument, op, "reduce is 'sum', 'prod', 'mean', 'amax' or 'amin', not '{reduce}'"),
    };
    reshape_to(&result?, x.dims())
}

/// The largest or smallest value at each position, without derivatives.
#[derive(Stored)]
#[stored(op)]
struct Extremes {
    name: &'static str,
    least: bool,
    include_self: bool,
}

impl Op for Extremes {
    fn name(&self) -> &'static str {
        self.name
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let ins = [ins[0], ins[1], ins[2]];
        Ok([index::extremes(self.name, ins, self.least, self.include_self, batch_ndim)?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let [(dtype, x @ &[_]), (DType::I64, at @ &[_]), (same, values)] = ins.each()? else { return None };
        let fits = same == dtype && values == at && !dtype.is_complex();
        if fits { ins.make(&[(dtype, &[x])]) } else { None }
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![None, None, None])
    }

    fn jvp(&self, _: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![None])
    }
}

impl Groups<'_> {
    fn number(&self, value: f64) -> Tensor {
        Tensor::scalar_of(self.x.dtype(), value)
    }

    /// Values added up by position.
    fn total(&self, values: &Tensor) -> Result<Tensor> {
        add_at(self.op, self.x.dims(), all(1), self.positions, values)
    }

    /// How many values belong to each position, in a dtype.
    fn counts(&self, dtype: DType) -> Result<Tensor> {
        self.total(&broadcast_to(&Tensor::scalar_of(dtype, 1.0), self.values.dims())?)
    }

    /// Which positions have values.
    fn touched(&self) -> Result<Tensor> {
        less_same(&Tensor::scalar_of(DType::I64, 0.0), &self.counts(DType::I64)?)
    }

    /// The start of a sum or product: the tensor's own elements, or the neutral number.
    fn start(&self, neutral: f64) -> Result<Tensor> {
        if self.include_self {
            Ok(self.x.clone())
        } else {
            select(&self.touched()?, &self.number(neutral), self.x)
        }
    }

    fn sum(&self) -> Result<Tensor> {
        add_same(&self.start(0.0)?, &self.total(self.values)?)
    }

    /// The mean; that of integers is rounded down.
    fn mean(&self) -> Result<Tensor> {
        let (sum, counts) = (self.sum()?, self.counts(self.x.dtype())?);
        let counts = if self.include_self {
            add_same(&counts, &self.number(1.0))?
        } else {
            maximum_same(&counts, &self.number(1.0))?
        };
        if sum.dtype().is_differentiable() {
            divide_same(&sum, &counts)
        } else {
            floor_divide_same(&sum, &counts)
        }
    }

    /// The product, by rounds: first with the first value of each position, then with the second ones, and so
    /// on. So its derivatives are exact where factors are zero.
    fn product(&self) -> Result<Tensor> {
        if !self.positions.levels.is_empty() {
            bail!(Argument, self.op, "inside vmap the indices of a product are the same for the whole batch");
        }
        let places = self.positions.array.contiguous()?;
        let mut met = vec![];
        met.try_room(shape::len(self.x.dims()))?;
        met.resize(shape::len(self.x.dims()), 0usize);
        let mut rounds: Vec<Vec<i64>> = vec![];
        let places = places.as_slice::<i64>().unwrap_or_default();
        for i in interrupt::parts(0..places.len(), 1).flatten() {
            // The positions were checked: they lie in the tensor.
            let round = &mut met[places[i] as usize];
            if *round == rounds.len() {
                rounds.try_push(vec![])?;
            }
            rounds[*round].try_push(i as i64)?;
            *round += 1;
        }
        // Without values there is a round of none, so that the result depends on them.
        if rounds.is_empty() {
            rounds.try_push(vec![])?;
        }
        let ones = broadcast_to(&self.number(1.0), self.x.dims())?;
        let mut product = self.start(1.0)?;
        for round in rounds {
            let round = line(self.op, round.len(), round.into_iter())?;
            let (at, factors) = (
                gather_at(self.op, self.positions, all(1), &round)?,
                gather_at(self.op, self.values, all(1), &round)?,
            );
            product = multiply_same(&product, &put(&ones, &[Index::Tensor(at)], (&factors).into())?)?;
        }
        Ok(product)
    }

    /// The largest or smallest element of each group; the gradient goes in equal shares to all that equal it.
    fn extreme(&self, least: bool) -> Result<Tensor> {
        let (x, values) = (self.x.detach(), self.values.detach());
        let form = Extremes { name: self.op, least, include_self: self.include_self };
        let best = apply(form, &[&x, self.positions, &values])?;
        if !x.dtype().is_float() || !(self.x.is_tracked() || self.values.is_tracked()) {
            return Ok(best);
        }
        let touched = self.touched()?;
        let there = gather_at(self.op, &best, all(1), self.positions)?;
        let equal = and_same(&equal_same(&values, &there)?, &isfinite(&values)?)?;
        let share = |mask: &Tensor| cast(mask, x.dtype());
        let mut shares = self.total(&share(&equal)?)?;
        // Zeros that carry the gradients of the values.
        let zero = self.number(0.0);
        let mut differences = self.total(&select(&equal, &subtract_same(self.values, &values)?, &zero)?)?;
        if self.include_self {
            let own = and_same(&equal_same(&x, &best)?, &isfinite(&x)?)?;
            shares = add_same(&shares, &share(&own)?)?;
            differences = add_same(&differences, &select(&own, &subtract_same(self.x, &x)?, &zero)?)?;
        }
        let shares = maximum_same(&shares, &self.number(1.0))?;
        select(&touched, &add_same(&best, &divide_same(&differences, &shares)?)?, self.x)
    }
}
