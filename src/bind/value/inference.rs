//! Inference tensors: those made in inference mode.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use super::var::Var;
use crate::bind::python::modes;

/// Checks that a tensor may be changed here: an inference tensor only in inference mode. `what` begins the sentence of
/// the error.
///
/// # Errors
/// torch's, where it may not.
pub fn check_may_change(x: &Var, what: &str) -> PyResult<()> {
    if !modes::inference_is_used() || modes::inference_enabled() || !x.lock().is_inference() {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(format!(
        "{what} inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal tensor \
         before."
    )))
}

#[pymethods]
impl Var {
    /// Whether the tensor was made in inference mode, or is a view of one that was.
    fn is_inference(&self) -> bool {
        self.lock().is_inference()
    }
}
