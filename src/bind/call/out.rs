//! The argument `out`: a tensor that a result is written to.

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

use super::inplace;
use crate::bind::python::error::raise;
use crate::bind::value::var::Var;
use crate::ops::Index;

/// Raises unless the dtype of `out` holds numbers of the kind of the result's: integers take no floats.
#[pyfunction]
pub fn check_can_take(op: &str, out: &Bound<'_, Var>, result: &Bound<'_, Var>) -> PyResult<()> {
    inplace::check_can_take(out.py(), op, out.get().look().dtype(), result.get().look().dtype())
}

/// Raises unless a result can be written to `out`, which has its shape, or takes it in a dialect in which it does.
#[pyfunction]
pub fn check_out(op: &str, result: &Bound<'_, PyAny>, out: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = out.py();
    let (Ok(target), Ok(new)) = (out.cast::<Var>(), result.cast::<Var>()) else {
        let text = format!("{op}: out takes a tensor for each result, not {}", out.get_type().name()?);
        return Err(raise(py, "ArgumentError", text));
    };
    let (own, new) = (target.get().look().meta(), new.get().look().meta());
    inplace::check_can_take(py, op, own.dtype, new.dtype)?;
    // A view with elements is part of another tensor, which has no room for more.
    let resizes = || own.dims.contains(&0) || Var::base(target).is_none();
    if own.dims == new.dims || target.get().dialect().resizes_out() && resizes() {
        return Ok(());
    }
    let (own, new) = (own.dims, new.dims);
    let text =
        format!("{op}: the result has shape {new:?}, which cannot be written into the shape {own:?} of out");
    Err(raise(py, "ShapeError", text))
}

/// Writes a result to the tensor `out`, and returns that tensor.
#[pyfunction]
#[cold]
pub fn write_out<'py>(
    op: &str,
    result: &Bound<'py, PyAny>,
    out: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    check_out(op, result, &out)?;
    let (target, new) = (out.cast::<Var>()?, result.cast::<Var>()?);
    let (own, new) = (target.get().look().meta().dims, new.get().look().meta().dims);
    if own == new {
        inplace::write(target, op, &[Index::Ellipsis], result)?;
        return Ok(out);
    }
    if !own.contains(&0) {
        let text = c"An output with one or more elements was resized, because it had another shape than the result: give one \
                     of that shape, or resize it to zero elements with t.resize_(0)";
        PyErr::warn(out.py(), &out.py().get_type::<PyUserWarning>(), text, 1)?;
    }
    inplace::replace(target, op, true, || Ok(result.clone()))?;
    Ok(out)
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(check_can_take, m)?)?;
    m.add_function(wrap_pyfunction!(check_out, m)?)?;
    m.add_function(wrap_pyfunction!(write_out, m)?)
}
