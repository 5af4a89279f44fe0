//! Python's operators: each is one op.

use pyo3::prelude::*;

use super::convert;
use super::var::Var;
use crate::error::Result;
use crate::graph::Tensor;
use crate::ops::entry::Operand;
use crate::ops::{arithmetic, contract, pointwise};

/// An operator with another operand; `NotImplemented` where that is none.
#[inline]
fn binary<'py>(
    slf: &Bound<'py, Var>,
    other: &Bound<'py, PyAny>,
    swap: bool,
    f: impl FnOnce(Operand<'_>, Operand<'_>) -> Result<Tensor>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = slf.py();
    let x = slf.get().operand();
    let held;
    let y = if let Ok(v) = other.cast::<Var>() {
        held = v.get().operand();
        Operand::Tensor(&held)
    } else if let Some(n) = convert::number(other)? {
        Operand::Number(n)
    } else if let Some(t) = convert::tensor(other)? {
        held = t;
        Operand::Tensor(&held)
    } else {
        return Ok(py.NotImplemented().into_bound(py));
    };
    let x = Operand::Tensor(&x);
    let out = if swap { f(y, x) } else { f(x, y) };
    Ok(Var::result(py, out?, slf.get().lock().dialect)?.into_any())
}

/// The methods of binary operators: the forward and the reflected name, and the op.
macro_rules! operators {
    ($($forward:ident $reflected:ident $f:path;)*) => {
        #[pymethods]
        impl Var {
            $(
                fn $forward<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                    binary(slf, o, false, $f)
                }
                fn $reflected<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                    binary(slf, o, true, $f)
                }
            )*
        }
    };
}
operators! {
    __add__ __radd__ arithmetic::add;
    __sub__ __rsub__ arithmetic::subtract;
    __mul__ __rmul__ arithmetic::multiply;
    __truediv__ __rtruediv__ arithmetic::divide;
    __matmul__ __rmatmul__ contract::matmul;
}

#[pymethods]
impl Var {
    fn __neg__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        Var::result(slf.py(), pointwise::negative(&slf.get().operand())?, slf.get().lock().dialect)
    }
}
