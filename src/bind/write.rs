//! Values written into a tensor that is there.

use pyo3::prelude::*;

use super::error::raise;
use super::var::Var;

#[pymethods]
impl Var {
    /// Gives the tensor other values of its shape, converted to its dtype. Nothing of it is recorded, and what was
    /// computed from the old values keeps them.
    fn set_value(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = slf.py();
        let old = slf.get().tensor();
        if !old.levels.is_empty() {
            return Err(raise(
                py,
                "ArgumentError",
                "set_value: inside vmap a tensor's lanes cannot be written",
            ));
        }
        let array = super::sequence::from_object(value, Some(old.dtype()))?;
        if array.dims() != old.dims() {
            let text = format!(
                "set_value: a tensor of shape {:?} cannot take values of shape {:?}",
                old.dims(),
                array.dims()
            );
            return Err(raise(py, "ShapeError", text));
        }
        slf.get().lock().tensor.array = array;
        Ok(())
    }
}
