//! Functions in Python that a program calls at their place, because they read numbers.

use std::any::Any;

use pyo3::prelude::*;
use pyo3::types::PyList;
use smallvec::SmallVec;

use crate::array::Array;
use crate::bind::convert::list::list;
use crate::bind::python::capi::attached;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{OrForeign, OrRaise};
use crate::bind::python::stack;
use crate::bind::value::var::Var;
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Modes, NeedsGrad, Op, Outputs, Recording, Saved, Saves, Tensor, apply_all,
};

/// A function of a list of tensors that returns such a list. It has no rule: nothing is recorded while it is called.
struct Callback {
    function: Py<PyAny>,
    dialect: Dialect,
}

impl Callback {
    fn call(&self, py: Python<'_>, ins: &[&Array]) -> PyResult<SmallVec<[Array; 1]>> {
        stack::check().or_raise()?;
        let given = ins.iter().map(|&x| Var::result(py, Tensor::constant(x.clone()), self.dialect));
        let given = PyList::new(py, given.collect::<PyResult<Vec<_>>>()?)?;
        let _modes = Modes::enter(|m| {
            m.trace = None;
            m.recording = Recording::from(false);
        });
        let outs: Vec<Bound<'_, Var>> = list(&self.function.bind(py).call1((given,))?)?;
        outs.iter().map(|v| v.get().tensor().array.contiguous()).collect::<Result<_>>().or_raise()
    }
}

impl Op for Callback {
    fn name(&self) -> &'static str {
        "Function"
    }

    fn calls_host(&self) -> bool {
        true
    }

    fn takes_half(&self) -> bool {
        true
    }

    fn visit_host_objects(&self, visit: &mut dyn FnMut(&dyn Any)) {
        visit(&self.function);
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        if batch_ndim > 0 {
            bail!(Argument, "Function", "a function that reads numbers does not run on a batch");
        }
        Ok(attached(|py| self.call(py, ins)).or_foreign()?.into_iter().collect())
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("it has no node")
    }
}

/// Calls a function of a list of tensors, which returns such a list, outside of the trace of this thread. A program of the
/// trace calls it at its place.
#[pyfunction]
fn call_at_replay<'py>(
    py: Python<'py>,
    function: Py<PyAny>,
    #[pyo3(from_py_with = list)] ins: Vec<Bound<'py, Var>>,
) -> PyResult<Vec<Bound<'py, Var>>> {
    let dialect = ins.first().map_or(Dialect::Native, |v| v.get().dialect());
    let ins: Vec<Tensor> = ins.iter().map(|v| v.get().operand().detach()).collect();
    let outs = apply_all(Callback { function, dialect }, &ins.iter().collect::<Vec<_>>()).or_raise()?;
    outs.into_iter().map(|t| Var::result(py, t, dialect)).collect()
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(call_at_replay, m)?)
}
