//! Control flow as ops: a loop or a branch is one op, with programs for what it repeats or chooses.
//!
//! These ops have no rules. Whoever records them has derivatives that are programs too, and applies them to values without
//! edges.

use std::sync::Arc;

use crate::array::{Array, Layout};
use crate::dtype::{Bool8, DType};
use crate::error::{Result, bail};
use crate::graph::{Cotangents, Grads, NeedsGrad, Op, Outputs, Saved, Saves};
use crate::kernel::copy::assemble;
use crate::kernel::interrupt;
use crate::memory;
use crate::program::Program;
use crate::shape::Dims;

/// After so many steps a loop looks for an interrupt.
const STRETCH: usize = 64;

/// The bytes that a list needs for an array, and for what assembles it.
const ROW: usize = 256;

/// The outputs of a program for a step or a branch.
fn run(program: &Program, op: &'static str, inputs: &[Array]) -> Result<Vec<Array>> {
    match program.run(inputs)? {
        Some(outs) => Ok(outs),
        None => {
            bail!(Shape, op, "the shape of a value inside depends on numbers, or differs from step to step")
        }
    }
}

fn contiguous(arrays: Vec<Array>) -> Result<Vec<Array>> {
    arrays.into_iter().map(|x| if x.is_contiguous() { Ok(x) } else { x.contiguous() }).collect()
}

/// The arrays without their seals, and no hidden axes: an op of this module is applied outside of vmap.
fn plain(op: &'static str, ins: &[&Array], batch_ndim: usize) -> Result<Vec<Array>> {
    if batch_ndim > 0 {
        bail!(Argument, op, "a program inside a loop or a branch does not run on a batch");
    }
    Ok(ins.iter().map(|&x| x.clone()).collect())
}

/// Carries values along the first axis of columns. The program computes the next carry and a row of each result from the
/// carry, a row of each column and the constants, in this order. The outputs are the last carry and the results, and with
/// `keeps` the carries before each step.
pub struct Scan {
    /// What is computed of the constants before the first step. The step gets the results as further constants.
    pub once: Option<Arc<Program>>,
    pub step: Arc<Program>,
    pub carries: usize,
    pub columns: usize,
    /// How many steps there are.
    pub length: usize,
    /// Whether the last row comes first.
    pub reverse: bool,
    pub keeps: bool,
}

impl Op for Scan {
    fn name(&self) -> &'static str {
        "scan"
    }

    fn takes_half(&self) -> bool {
        true
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let mut carry = plain("scan", ins, batch_ndim)?;
        let mut columns = carry.split_off(self.carries);
        let mut constants = columns.split_off(self.columns);
        if let Some(once) = &self.once {
            constants.extend(contiguous(run(once, "scan", &constants)?)?);
        }
        let mut carry = contiguous(carry)?;
        let columns = contiguous(columns)?;
        let all: Vec<&Array> = carry.iter().chain(&columns).chain(&constants).collect();
        let sizes = [self.carries, self.columns, self.length];
        if let Some(outs) = self.step.repeat("scan", &all, sizes, self.reverse, self.keeps)? {
            return Ok(outs.into_iter().collect());
        }
        let mut rows: Vec<Vec<Array>> = vec![];
        for k in 0..self.length {
            if k % STRETCH == STRETCH - 1 {
                interrupt::check()?;
                // The lists are about to grow, at most by their own lengths.
                memory::ensure(k * rows.len() * ROW)?;
            }
            let t = if self.reverse { self.length - 1 - k } else { k };
            let mut inputs = carry.clone();
            inputs.extend(columns.iter().map(|x| row(x, t)));
            inputs.extend(constants.iter().cloned());
            let mut next = run(&self.step, "scan", &inputs)?;
            let mut made = next.split_off(self.carries);
            let before = std::mem::replace(&mut carry, contiguous(next)?);
            if self.keeps {
                made.extend(before);
            }
            rows.resize_with(made.len(), Vec::new);
            rows.iter_mut().zip(made).for_each(|(rows, row)| rows.push(row));
        }
        for rows in &rows {
            carry.push(stacked(rows, self.reverse)?);
        }
        Ok(carry.into_iter().collect())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("it has no node")
    }
}

/// Row `t` of a contiguous array.
fn row(x: &Array, t: usize) -> Array {
    let strides = x.strides();
    x.restride(&x.dims()[1..], &strides[1..], t as isize * strides[0])
}

/// Rows along a new first axis.
fn stacked(rows: &[Array], reverse: bool) -> Result<Array> {
    let first = &rows[0];
    let dims: Dims = std::iter::once(rows.len()).chain(first.dims().iter().copied()).collect();
    let size = first.len() as isize;
    let at = |k: usize| {
        let t = if reverse { rows.len() - 1 - k } else { k };
        Layout { offset: t as isize * size, ..Layout::contiguous(first.dims()) }
    };
    let parts: Vec<(Layout, Array)> = rows.iter().enumerate().map(|(k, x)| (at(k), x.clone())).collect();
    assemble("scan", first.dtype(), &dims, &parts, None)
}

/// Whether the one output of a test holds.
fn holds(test: &Program, inputs: &[Array]) -> Result<bool> {
    is_true(&run(test, "while_loop", inputs)?[0])
}

/// Whether the one element of an array is true.
fn is_true(x: &Array) -> Result<bool> {
    if x.dtype() != DType::Bool || x.len() != 1 {
        bail!(Argument, "cond", "a condition is one truth value, not {:?} of dtype {}", x.dims(), x.dtype());
    }
    Ok(x.contiguous()?.as_slice::<Bool8>().expect("it is contiguous")[0].0 != 0)
}

/// Repeats a step for as long as a test holds. The inputs are the carry and the constants of the test and of the step. The
/// outputs are the last carry.
pub struct While {
    pub test: Arc<Program>,
    pub step: Arc<Program>,
    pub carries: usize,
    /// How many constants the test has.
    pub constants: usize,
}

impl While {
    /// The last carry. Calls `each` with the carry before each step.
    fn walk(&self, ins: Vec<Array>, mut each: impl FnMut(&[Array]) -> Result<()>) -> Result<Vec<Array>> {
        let mut carry = ins;
        let mut tested = carry.split_off(self.carries);
        let constants = tested.split_off(self.constants);
        let mut carry = contiguous(carry)?;
        let with = |carry: &[Array], constants: &[Array]| [carry, constants].concat();
        let mut count = 0;
        while holds(&self.test, &with(&carry, &tested))? {
            count += 1;
            if count % STRETCH == 0 {
                interrupt::check()?;
            }
            each(&carry)?;
            carry = contiguous(run(&self.step, "while_loop", &with(&carry, &constants))?)?;
        }
        Ok(carry)
    }
}

impl Op for While {
    fn name(&self) -> &'static str {
        "while_loop"
    }

    fn takes_half(&self) -> bool {
        true
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        Ok(self.walk(plain("while_loop", ins, batch_ndim)?, |_| Ok(()))?.into_iter().collect())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("it has no node")
    }
}

/// The gradients of a [`While`]. It runs the loop again and then goes back from the last step to the first: each of `back`
/// computes the next `sums` from the sums, the carry before the step and its own constants. The inputs are the sums, the
/// inputs of the loop and the constants of each of `back`. The outputs are the last sums.
pub struct WhileGradient {
    pub forward: While,
    /// The programs in turn, from the last step on, each with how many constants it has.
    pub back: Vec<(Arc<Program>, usize)>,
    /// The program that follows the last one.
    pub again: usize,
    pub sums: usize,
    /// How many inputs the loop has.
    pub inputs: usize,
}

impl Op for WhileGradient {
    fn name(&self) -> &'static str {
        "while_loop"
    }

    fn takes_half(&self) -> bool {
        true
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let mut sums = plain("while_loop", ins, batch_ndim)?;
        let mut given = sums.split_off(self.sums);
        let mut constants = given.split_off(self.inputs);
        let mut turns = vec![];
        for (program, count) in &self.back {
            let others = constants.split_off(*count);
            turns.push((program, std::mem::replace(&mut constants, others)));
        }
        let period = turns.len() - self.again;
        let mut before: Vec<Vec<Array>> = vec![];
        self.forward.walk(given, |carry| {
            if before.len() % STRETCH == STRETCH - 1 {
                memory::ensure(before.len() * carry.len() * ROW)?;
            }
            before.push(carry.to_vec());
            Ok(())
        })?;
        let mut sums = contiguous(sums)?;
        for (k, carry) in before.into_iter().rev().enumerate() {
            if k % STRETCH == STRETCH - 1 {
                interrupt::check()?;
            }
            let turn = if k < turns.len() { k } else { self.again + (k - self.again) % period };
            let (program, constants) = &turns[turn];
            let inputs = [&sums[..], &carry, constants].concat();
            sums = contiguous(run(program, "while_loop", &inputs)?)?;
        }
        Ok(sums.into_iter().collect())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("it has no node")
    }
}

/// One of two programs: the first where a number is not zero. The inputs are the number, the operands of both programs and
/// the constants of each.
pub struct Cond {
    pub yes: Arc<Program>,
    pub no: Arc<Program>,
    pub operands: usize,
    /// How many constants the first program has.
    pub constants: usize,
}

impl Op for Cond {
    fn name(&self) -> &'static str {
        "cond"
    }

    fn takes_half(&self) -> bool {
        true
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let mut operands = plain("cond", ins, batch_ndim)?;
        let mut first = operands.split_off(1 + self.operands);
        let second = first.split_off(self.constants);
        let holds = is_true(&operands[0])?;
        let operands = contiguous(operands.split_off(1))?;
        let (program, constants) = if holds { (&self.yes, first) } else { (&self.no, second) };
        let outs = contiguous(run(program, "cond", &[operands, constants].concat())?)?;
        // A program that applies this op twice must tell the outputs apart.
        let own = |(k, x): (usize, Array)| if program.gives_constant(k) { x.packed() } else { Ok(x) };
        outs.into_iter().enumerate().map(own).collect()
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("it has no node")
    }
}
