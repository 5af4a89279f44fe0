//! Loops and branches whose steps are programs, as functions of tensors. Nothing is recorded: the derivatives are the caller's.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::bind::convert::list::list;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::gil::without_gil;
use crate::bind::value::storage::Place;
use crate::bind::value::var::Var;
use crate::graph::{Op, Tensor, apply_all};
use crate::ops::check;
use crate::ops::control::{Cond, Scan, While, WhileGradient};
use crate::program::Program;

/// The program of a step or a branch. It reads its arguments first and then the tensors that it found elsewhere.
#[pyclass(frozen, module = "ferrograd._core")]
pub struct Subprogram {
    pub program: Arc<Program>,
    /// What a loop computes once, and its step: see [`Program::hoisted`].
    pub hoisted: Option<[Arc<Program>; 2]>,
    /// Those of the outputs.
    pub dialects: Vec<Dialect>,
    pub arguments: usize,
    /// The memory of the tensors that it found elsewhere.
    pub constants: Vec<Place>,
}

impl Subprogram {
    fn inputs(&self) -> usize {
        self.arguments + self.constants.len()
    }
}

#[pymethods]
impl Subprogram {
    /// The shapes and dtypes of the outputs, as text: two branches must have the same.
    fn outputs(&self) -> Vec<String> {
        self.program.outputs().map(|(dims, dtype)| format!("{dims:?} of dtype {dtype}")).collect()
    }

    /// For each tensor that it found elsewhere: the number of the one in the same memory that another program found.
    fn found_by(&self, other: &Subprogram) -> Vec<Option<usize>> {
        let place = |own: &Place| other.constants.iter().position(|place| place.key() == own.key());
        self.constants.iter().map(place).collect()
    }
}

type Vars<'py> = Vec<Bound<'py, Var>>;

fn applied<'py>(
    py: Python<'py>,
    op: impl Op,
    ins: &[Bound<'py, Var>],
    dialects: impl Iterator<Item = Dialect>,
) -> PyResult<Vars<'py>> {
    let ins: Vec<Tensor> = ins.iter().map(|v| v.get().operand().detach()).collect();
    let outs = without_gil(py, || apply_all(op, &ins.iter().collect::<Vec<_>>())).or_raise()?;
    outs.into_iter()
        .zip(dialects.chain(std::iter::repeat(Dialect::Native)))
        .map(|(t, d)| Var::result(py, t, d))
        .collect()
}

/// Refuses tensors that are not as many as a program needs.
fn check(py: Python<'_>, is_right: bool) -> PyResult<()> {
    if is_right {
        Ok(())
    } else {
        Err(raise(py, "ArgumentError", "these are not the tensors that the programs need"))
    }
}

/// The last carry of a scan, its results, and with `keeps` the carries before each step. `ins` are the carries, the
/// columns and the constants of the step.
#[pyfunction]
fn scan<'py>(
    py: Python<'py>,
    step: &Subprogram,
    #[pyo3(from_py_with = list)] ins: Vars<'py>,
    carries: usize,
    length: usize,
    reverse: bool,
    keeps: bool,
) -> PyResult<Vars<'py>> {
    check(py, ins.len() == step.inputs() && carries <= step.arguments && carries <= step.dialects.len())?;
    let columns = step.arguments - carries;
    let rows = |v: &Bound<'_, Var>| v.get().operand().array.dims().first().copied();
    check(py, length > 0 && ins[carries..step.arguments].iter().all(|v| rows(v) == Some(length)))?;
    let (once, program) = match &step.hoisted {
        Some([once, step]) => (Some(once.clone()), step),
        None => (None, &step.program),
    };
    let op = Scan { once, step: program.clone(), carries, columns, length, reverse, keeps };
    applied(py, op, &ins, step.dialects.iter().copied())
}

/// The last carry of a loop. `ins` are the carries, and the constants of the test and of the step.
#[pyfunction]
fn while_loop<'py>(
    py: Python<'py>,
    test: &Subprogram,
    step: &Subprogram,
    #[pyo3(from_py_with = list)] ins: Vars<'py>,
) -> PyResult<Vars<'py>> {
    let op = looped(test, step);
    check(py, is_loop(test, step) && ins.len() == step.inputs() + test.constants.len())?;
    applied(py, op, &ins, step.dialects.iter().copied())
}

fn looped(test: &Subprogram, step: &Subprogram) -> While {
    let (test, constants) = (test.program.clone(), test.constants.len());
    While { test, step: step.program.clone(), carries: step.arguments, constants }
}

/// Whether a test and a step have the same carries.
fn is_loop(test: &Subprogram, step: &Subprogram) -> bool {
    test.dialects.len() == 1 && test.arguments == step.arguments && step.arguments == step.dialects.len()
}

/// The last sums of the way back through a loop. The parts `back` take the steps in turn, from the last step of the loop
/// on, and after the last part comes part `again`. `ins` are the first sums, what [`while_loop`] gets, and the constants of
/// each of `back`.
#[pyfunction]
fn while_gradient<'py>(
    py: Python<'py>,
    test: &Subprogram,
    step: &Subprogram,
    #[pyo3(from_py_with = list)] back: Vec<Bound<'py, Subprogram>>,
    again: usize,
    #[pyo3(from_py_with = list)] ins: Vars<'py>,
) -> PyResult<Vars<'py>> {
    check(py, is_loop(test, step) && again < back.len())?;
    let dialects = &back[again].get().dialects;
    let (sums, inputs) = (dialects.len(), step.inputs() + test.constants.len());
    let fits = |part: &Subprogram| part.dialects.len() == sums && part.arguments == sums + step.arguments;
    check(py, back.iter().all(|part| fits(part.get())))?;
    let constants: usize = back.iter().map(|part| part.get().constants.len()).sum();
    check(py, ins.len() == sums + inputs + constants)?;
    let turn = |part: &Bound<'_, Subprogram>| (part.get().program.clone(), part.get().constants.len());
    let back_steps = back.iter().map(turn).collect();
    let op = WhileGradient { forward: looped(test, step), back: back_steps, again, sums, inputs };
    applied(py, op, &ins, dialects.iter().copied())
}

/// What one of two branches makes of operands. `ins` are the condition, the operands, and the constants of each branch.
#[pyfunction]
fn cond<'py>(
    py: Python<'py>,
    yes: &Subprogram,
    no: &Subprogram,
    #[pyo3(from_py_with = list)] ins: Vars<'py>,
) -> PyResult<Vars<'py>> {
    check(py, yes.arguments == no.arguments && ins.len() == 1 + yes.inputs() + no.constants.len())?;
    let (operands, constants) = (yes.arguments, yes.constants.len());
    let op = Cond { yes: yes.program.clone(), no: no.program.clone(), operands, constants };
    applied(py, op, &ins, yes.dialects.iter().copied())
}

/// Whether no element of a tensor is zero, as a bool. A program that this thread traces is for the answer: a run where it is
/// another one is given up, and the function runs as it is.
#[pyfunction]
fn all_hold(x: &Bound<'_, Var>) -> PyResult<bool> {
    check::all_hold(&x.get().operand()).or_raise()
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(all_hold, m)?)?;
    m.add_class::<Subprogram>()?;
    m.add_function(wrap_pyfunction!(scan, m)?)?;
    m.add_function(wrap_pyfunction!(while_loop, m)?)?;
    m.add_function(wrap_pyfunction!(while_gradient, m)?)?;
    m.add_function(wrap_pyfunction!(cond, m)?)
}
