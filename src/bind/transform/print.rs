//! What a running program tells its user: values that it prints, and the lines at which it fails.

use std::cell::Cell;
use std::sync::Arc;

use pyo3::prelude::*;

use crate::array::Array;
use crate::bind::convert::list::list;
use crate::bind::python::capi::attached;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{OrForeign, OrRaise, exception};
use crate::bind::value::capture::Captures;
use crate::bind::value::var::Var;
use crate::error::{Error, Result};
use crate::graph::{Cotangents, Grads, NeedsGrad, Op, Outputs, Saved, Saves, Tensor, modes};
use crate::program::take_failed;

thread_local! {
    /// Whether the program that this thread runs tells nothing.
    static SILENT: Cell<bool> = const { Cell::new(false) };
}

/// While it exists, programs on this thread tell nothing.
pub(super) struct Silence(bool);

impl Silence {
    pub fn new() -> Silence {
        Silence(SILENT.replace(true))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        SILENT.set(self.0);
    }
}

/// A function of Python that gets a list of tensors of these dialects in each run. Its result is ignored.
struct Tell {
    function: Py<PyAny>,
    dialects: Vec<Dialect>,
}

impl Op for Tell {
    fn name(&self) -> &'static str {
        "debug_print"
    }

    fn calls_host(&self) -> bool {
        true
    }

    fn visit_host_objects(&self, visit: &mut dyn FnMut(&dyn std::any::Any)) {
        visit(&self.function);
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        if SILENT.get() {
            return Ok([].into());
        }
        attached(|py| {
            let var =
                |(x, &dialect): (&&Array, &Dialect)| Var::result(py, Tensor::constant((*x).clone()), dialect);
            let values = ins.iter().zip(&self.dialects).map(var).collect::<PyResult<Vec<_>>>()?;
            self.function.call1(py, (values,))
        })
        .or_foreign()?;
        Ok([].into())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("it has no outputs")
    }
}

/// The exception of an error in a run, with a note that names the op and the line that applied it.
pub(super) fn with_line(py: Python<'_>, error: Box<Error>) -> PyErr {
    let error = exception(error);
    if let Some((op, site)) = take_failed() {
        let line = site.describe().map(|line| format!(", applied at {line}")).unwrap_or_default();
        // A note is a help: the error goes on without it where memory has run out.
        _ = error.add_note(py, format!("in a compiled program: {op}{line}"));
    }
    error
}

/// Lets the program that this thread traces, if it does, call a function with a list of these tensors in each run. Returns
/// whether the function is to be called now as well: the tensors of a trace of gradients are not those of any call.
#[pyfunction]
fn tell_in_each_run(function: Py<PyAny>, #[pyo3(from_py_with = list)] tensors: Vec<Bound<'_, Var>>) -> bool {
    let Some(trace) = modes::trace() else { return true };
    let values: Vec<Tensor> = tensors.iter().map(|x| x.get().operand()).collect();
    if values.iter().any(|t| !t.levels.is_empty()) {
        trace.give_up("it prints a tensor of a vmap");
    } else {
        let arrays: Vec<&Array> = values.iter().map(|t| &t.array).collect();
        let dialects = tensors.iter().map(|x| x.get().dialect()).collect();
        trace.effect(Arc::new(Tell { function, dialects }), &arrays);
    }
    !Captures::of(&trace).seeded
}

/// Copies of tensors without their record, whose numbers anybody may read: what was made while a trace is taken and is not
/// sealed is a constant of it.
#[pyfunction]
fn told<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = list)] tensors: Vec<Bound<'py, Var>>,
) -> PyResult<Vec<Bound<'py, Var>>> {
    let plain = |x: &Bound<'py, Var>| {
        let t = x.get().tensor();
        let array = t.array.unsealed().packed().or_raise()?;
        Var::result(py, Tensor { array, edge: None, ..t }, x.get().dialect())
    };
    tensors.iter().map(plain).collect()
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(tell_in_each_run, m)?)?;
    m.add_function(wrap_pyfunction!(told, m)?)
}
