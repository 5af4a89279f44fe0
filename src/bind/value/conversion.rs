//! Values as plain numbers, which no gradient flows through.

use std::ffi::CString;
use std::sync::OnceLock;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

use super::var::Var;
use crate::array::Array;
use crate::bind::python::capi::{attached, references};
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::site::asking_module;
use crate::engine::differentiated_by;
use crate::graph::modes::host_call;
use crate::graph::site::Site;
use crate::graph::{Conversion, Tensor, modes};

/// The running line of the user's program, for the text of an error.
fn at() -> String {
    Site::current().describe().map_or(String::new(), |at| format!(" at {at}"))
}

/// Checks that it is not SciPy that asks for the numbers of a tracked tensor while it computes with the array API. Its
/// functions then keep the graph, except for those that it has in NumPy only.
fn check_not_for_scipy(what: &str) -> PyResult<()> {
    static ARRAY_API: OnceLock<bool> = OnceLock::new();
    if !*ARRAY_API.get_or_init(|| std::env::var_os("SCIPY_ARRAY_API").is_some_and(|v| !v.is_empty())) {
        return Ok(());
    }
    attached(|py| {
        let module = asking_module(py)?;
        if module.split('.').next() != Some("scipy") {
            return Ok(());
        }
        let text = format!(
            "{what}{}: {module} has no rule for a Tensor that requires grad, and its gradient would be lost; detach() it to \
             compute on its values",
            at()
        );
        Err(raise(py, "ConversionError", text))
    })
}

impl Var {
    /// The values, for a function of the name `what` that gives them away as numbers.
    ///
    /// # Errors
    /// Those of [`Var::values`] and [`Var::check_not_differentiated`]; where the value is tracked, what the thread's mode
    /// of conversion asks for. While ops are not recorded there is nothing to lose.
    pub fn numbers(&self, what: &str) -> PyResult<Array> {
        self.numbers_of(self.tensor(), what)
    }

    /// [`Var::numbers`] of this tensor's value, which has been read.
    pub fn numbers_of(&self, t: Tensor, what: &str) -> PyResult<Array> {
        if let Some(call) = host_call() {
            call.note_read(self.stems(&t));
        }
        if !t.is_tracked() || !t.levels.is_empty() || !modes::is_recording() {
            return Var::values_of(t, what);
        }
        Var::check_not_differentiated(&t, what)?;
        check_not_for_scipy(what)?;
        let lost = || {
            format!(
                "{what}{}: the numbers of a Tensor that requires grad are asked for, and no gradient flows through them; \
                 write detach() first if that is meant",
                at()
            )
        };
        match modes::with(|m| m.conversion) {
            Conversion::Allow => Ok(t.array),
            Conversion::Warn => attached(|py| {
                let text = CString::new(lost()).unwrap_or_default();
                PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)?;
                Ok(t.array)
            }),
            Conversion::Raise => attached(|py| Err(raise(py, "ConversionError", lost()))),
        }
    }

    /// The memory, for somebody who may write to it, if no other tensor that a program can reach, no node and no borrower
    /// has it. The tensor takes its values back where it is next read.
    pub fn lend(&self, py: Python<'_>) -> PyResult<Option<Array>> {
        self.share().or_raise()?;
        let base = self.lock().shared().base.as_ref().map(|base| base.bind(py).clone());
        // Besides this handle, only the view has such a base.
        let unreachable = base.filter(|base| references(base) == 2);
        let region = unreachable.and_then(|base| base.cast::<Var>().ok()?.get().region());
        Ok(self.lock().shared().lend(region.as_ref()))
    }

    /// Checks that no derivative which is being computed is lost when the value leaves its graph.
    ///
    /// # Errors
    /// `ConversionError`, where one is. While ops are not recorded, nothing is lost.
    pub fn check_not_differentiated(t: &Tensor, what: &str) -> PyResult<()> {
        let Some(by) = t.edge.as_ref().filter(|_| modes::is_recording()).and_then(differentiated_by) else {
            return Ok(());
        };
        let text = format!(
            "{what}{}: this Tensor depends on what {by} differentiates, and the derivative would be lost. Compute with \
             functions of this library, or NumPy's on the Tensor itself (stack([a, b]) for a list of Tensors); SciPy takes \
             a function by func.for_numpy; x.detach() makes it a constant of which no derivative is wanted",
            at()
        );
        Err(attached(|py| raise(py, "ConversionError", text)))
    }
}
