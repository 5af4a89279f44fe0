//! DLPack as Python sees it: `from_dlpack`, `__dlpack__` and `__dlpack_device__`.

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::Array;
use crate::bind::convert::device::on_cpu;
use crate::bind::convert::dlpack::{self, CPU};
use crate::bind::python::capi::attached;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::value::var::Var;
use crate::graph::Tensor;

/// A tensor with a copy of the elements of an object that has `__dlpack__`. A tensor of this library that does not require
/// grad is not copied unless `copy` is True.
///
///     >>> fg.from_dlpack(np.ones(2)).tolist()
///     [1.0, 1.0]
#[pyfunction]
#[pyo3(signature = (x, /, *, device=None, copy=None, dialect=Dialect::Native))]
fn from_dlpack<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    device: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
    dialect: Dialect,
) -> PyResult<Bound<'py, Var>> {
    if let Some(d) = device {
        on_cpu("from_dlpack", d)?;
    }
    if let Ok(v) = x.cast::<Var>() {
        let array = v.get().untracked("from_dlpack")?;
        let array = if copy == Some(true) { array.packed().or_raise()? } else { array };
        return Var::result(py, Tensor::constant(array), dialect);
    }
    if copy == Some(false) {
        return Err(PyBufferError::new_err(
            "from_dlpack: a Tensor never changes, so it cannot share memory that its owner may write to",
        ));
    }
    // Older code passes the capsule itself instead of the object that makes it.
    let capsule = if x.hasattr("__dlpack__")? { None } else { Some(x) };
    let array = match capsule {
        None => dlpack::import(x)?,
        Some(capsule) => match dlpack::copy_capsule(capsule)? {
            Some(array) => array,
            None => {
                let text = format!("from_dlpack: {} has no __dlpack__", x.get_type().name()?);
                return Err(raise(py, "ArgumentError", text));
            }
        },
    };
    Var::result(py, Tensor::constant(array), dialect)
}

impl Var {
    /// The values of a tensor that has no graph, for a protocol that has no word for one.
    fn untracked(&self, what: &str) -> PyResult<Array> {
        let t = self.tensor();
        if t.is_tracked() {
            return Err(PyBufferError::new_err(format!(
                "{what}: Can't export tensors that require gradient, use tensor.detach()"
            )));
        }
        Var::values_of(t, what).map_err(|e| attached(|py| PyBufferError::new_err(e.value(py).to_string())))
    }
}

#[pymethods]
impl Var {
    /// A DLPack capsule over the elements. Memory that nobody else has is lent and marked read-only if the consumer knows
    /// the mark (`max_version` of at least 1.0), and lent without it if `copy` is False; the elements are copied
    /// otherwise. A consumer that writes to lent memory
    /// changes no value that was computed with the tensor, since the tensor moves to other memory where it is next read.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if stream.is_some() {
            return Err(PyBufferError::new_err("__dlpack__: the CPU has no streams; stream must be None"));
        }
        if dl_device.is_some_and(|d| d != (CPU, 0)) {
            return Err(PyBufferError::new_err("__dlpack__: the only device is (1, 0), the CPU"));
        }
        let versioned = max_version.is_some_and(|v| v.0 >= 1);
        let export = |array, is_copy| match versioned {
            true => dlpack::export_versioned(py, array, is_copy),
            false => dlpack::export_unversioned(py, array),
        };
        drop(self.untracked("__dlpack__")?);
        let lends = if versioned { copy != Some(true) } else { copy == Some(false) };
        if lends && let Some(lent) = self.lend(py)? {
            return export(lent, false);
        }
        if copy == Some(false) {
            return Err(PyBufferError::new_err(
                "__dlpack__: another tensor, a graph or a borrower has this memory too, so it must be copied",
            ));
        }
        export(self.untracked("__dlpack__")?.packed().or_raise()?, true)
    }

    /// The type and the number of the device: `(1, 0)`, the CPU.
    fn __dlpack_device__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (CPU, 0).into_pyobject(py)
    }
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(from_dlpack, m)?)
}
