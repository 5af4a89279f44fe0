//! The functions that transforms of torch's were given: while one runs, and what is refused in it.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::var::Var;
use crate::bind::convert::list::list;
use crate::bind::hooks::saved::disable_saved_tensors_hooks;
use crate::bind::python::dialect::Dialect;
use crate::graph::Modes;
use crate::graph::modes::{self, Flags, Transform, flags};

/// A context in which a transform of torch's runs the function that it was given. One that differentiates lets the function
/// write to the tensors that it was given too. With a reason `no_hooks` there are no hooks on saved tensors.
#[pyclass(frozen, module = "ferrograd._core")]
pub struct Transforming {
    differentiates: bool,
    given: Vec<Py<Var>>,
    /// In how many such functions the tensors were made.
    made: Mutex<Vec<usize>>,
    no_hooks: Option<String>,
    /// Why there were none before.
    no_hooks_before: Mutex<Option<String>>,
}

#[pymethods]
impl Transforming {
    #[new]
    #[pyo3(signature = (differentiates, given=vec![], no_hooks=None))]
    fn new(
        differentiates: bool,
        #[pyo3(from_py_with = list)] given: Vec<Py<Var>>,
        no_hooks: Option<String>,
    ) -> Transforming {
        let (made, no_hooks_before) = (Mutex::default(), Mutex::default());
        Transforming { differentiates, given, made, no_hooks, no_hooks_before }
    }

    fn __enter__(&self) -> PyResult<()> {
        if let Some(why) = &self.no_hooks {
            let before = disable_saved_tensors_hooks(Some(why.clone()), false)?;
            *self.no_hooks_before.lock().unwrap_or_else(PoisonError::into_inner) = before;
        }
        Modes::update(|m| {
            let differentiates = Transform::Differentiates { levels: m.live_levels.len() };
            m.transforms.push(if self.differentiates { differentiates } else { Transform::Other });
        });
        let functions = modes::differentiated_functions().len();
        let made =
            self.given.iter().map(|x| x.get().lock().set_differentiated_functions(functions)).collect();
        *self.made.lock().unwrap_or_else(PoisonError::into_inner) = made;
        Ok(())
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        let made = std::mem::take(&mut *self.made.lock().unwrap_or_else(PoisonError::into_inner));
        for (x, functions) in self.given.iter().zip(made).rev() {
            x.get().lock().set_differentiated_functions(functions);
        }
        Modes::update(|m| m.transforms.pop());
        if self.no_hooks.is_some() {
            let before = self.no_hooks_before.lock().unwrap_or_else(PoisonError::into_inner).take();
            disable_saved_tensors_hooks(before, true)?;
        }
        Ok(())
    }
}

/// Whether this thread is inside a function that a transform of torch's was given.
#[pyfunction]
fn is_transforming() -> bool {
    flags().has(Flags::TRANSFORMED)
}

/// Checks that a method, which a tensor of torch's does not have there, is not called in a function that a transform of torch's
/// was given.
pub fn check_is_not_transforming(x: &Var, what: &str, method: &str) -> PyResult<()> {
    if !flags().has(Flags::TRANSFORMED) || x.dialect() != Dialect::Torch {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(format!(
        "You are attempting to call Tensor.{what} inside of a function being transformed by a functorch transform. This is \
         unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call {method} \
         outside of a function being transformed instead."
    )))
}

/// Checks that a tensor of torch's, and what it is a view of, was made in the innermost of the running functions that
/// transforms of torch's differentiate. A function of the host's that is an op may write to others.
pub fn check_is_not_captured(slf: &Bound<'_, Var>, op: &str) -> PyResult<()> {
    let (x, modes) = (slf.get(), flags());
    if !modes.has(Flags::TRANSFORMED) || modes.has(Flags::HOST_CALL) || x.dialect() != Dialect::Torch {
        return Ok(());
    }
    let functions = modes::differentiated_functions().len();
    let made = |x: &Var| x.lock().differentiated_functions();
    let base = Var::base(slf);
    let made_base = base.as_ref().and_then(|base| Some(made(base.cast::<Var>().ok()?.get())));
    if made_base.unwrap_or(usize::MAX).min(made(x)) >= functions {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(format!(
        "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation ({op}) that \
         would mutate a captured Tensor. This is not supported; please rewrite the function being transformed to explicitly \
         accept the mutated Tensor(s) as inputs."
    )))
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Transforming>()?;
    m.add_function(wrap_pyfunction!(is_transforming, m)?)
}
