//! Writes into a tensor that Python holds. Every one of them ends here, so this is where their rules stand: a leaf whose
//! gradient is wanted is refused while recording, shape and kind of dtype stay, and the version counts.
//!
//! What a node keeps is a snapshot (arrays are immutable and shared), so no write can make a gradient wrong.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use super::autograd::grad_enabled;
use super::convert::{self, lift};
use super::error::raise;
use super::var::{State, Var};
use crate::error::Result;
use crate::graph::Tensor;
use crate::ops::entry::Operand;
use crate::ops::movement::cast;
use crate::ops::{Index, index};

/// That a write is allowed: not into a leaf whose gradient is wanted, while recording.
fn allowed(py: Python<'_>, op: &str, state: &State) -> PyResult<()> {
    let leaf = state.tensor.edge.as_ref().is_some_and(|e| e.node.is_leaf());
    if leaf && grad_enabled() {
        let text = format!(
            "{op}: a leaf Variable that requires grad is being used in an in-place operation. Leaf Var that doesn't \
             stop gradient can't use inplace strategy: write to a result of it, or under no_grad."
        );
        return Err(raise(py, "LeafInplaceError", text));
    }
    Ok(())
}

/// Writes into a tensor: `f` changes its value and edge. Where recording is off it sees no edge, and the edge stays.
/// `others` are the tensors that it reads.
pub fn write<'a>(
    slf: &Bound<'_, Var>,
    op: &str,
    others: impl Iterator<Item = &'a Tensor>,
    f: impl FnOnce(&mut Tensor) -> Result<()>,
) -> PyResult<()> {
    let py = slf.py();
    let mut state = slf.get().lock();
    allowed(py, op, &state)?;
    let lanes = |t: &Tensor| t.levels.as_slice().iter().any(|l| !state.tensor.levels.contains(*l));
    if others.into_iter().any(lanes) {
        return Err(lanes_error(py, op));
    }
    let edge = if grad_enabled() { None } else { state.tensor.edge.take() };
    let done = f(&mut state.tensor);
    if edge.is_some() {
        state.tensor.edge = edge;
    }
    lift(done)?;
    state.version = state.version.wrapping_add(1);
    Ok(())
}

fn lanes_error(py: Python<'_>, op: &str) -> PyErr {
    let text =
        format!("{op}: under vmap, lanes cannot be written into a tensor that is the same for all lanes");
    raise(py, "ArgumentError", text)
}

/// Makes the result of `f` the tensor's value, in the tensor's dtype. `f` is called again where another thread has
/// written in between.
pub fn replace<'py>(
    slf: &Bound<'py, Var>,
    op: &str,
    reshapes: bool,
    f: impl Fn() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<()> {
    let py = slf.py();
    loop {
        let before = {
            let state = slf.get().lock();
            allowed(py, op, &state)?;
            state.tensor.array.clone()
        };
        let result = f()?;
        let Ok(result) = result.cast::<Var>() else {
            return Err(PyRuntimeError::new_err(format!(
                "{op}: the result is no single tensor to be written"
            )));
        };
        let new = result.get().tensor();
        let dtype = before.dtype();
        if new.dtype().kind() > dtype.kind() {
            let text =
                format!("{op}: result type {} can't be cast to the desired output type {dtype}", new.dtype());
            return Err(raise(py, "DtypeError", text));
        }
        let new = lift(cast(&new, dtype))?;
        let mut state = slf.get().lock();
        if !state.tensor.array.is_same(&before) {
            continue;
        }
        if new.levels != state.tensor.levels {
            return Err(lanes_error(py, op));
        }
        if !reshapes && new.dims() != state.tensor.dims() {
            let text = format!(
                "{op}: the result has shape {:?}, which cannot be written into the shape {:?}",
                new.dims(),
                state.tensor.dims()
            );
            return Err(raise(py, "ShapeError", text));
        }
        let new = if grad_enabled() { new } else { Tensor { edge: state.tensor.edge.clone(), ..new } };
        let old = std::mem::replace(&mut state.tensor, new);
        state.version = state.version.wrapping_add(1);
        drop(state);
        // The last holder of a graph may run Python when it goes: not under the lock.
        drop(old);
        return Ok(());
    }
}

type Operator = for<'py> fn(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>;

/// Augmented assignments, and the operator that each is made of.
pub const AUGMENTED: &[(&str, Operator)] = &[
    ("__iadd__", |x, y| x.add(y)),
    ("__isub__", |x, y| x.sub(y)),
    ("__imul__", |x, y| x.mul(y)),
    ("__itruediv__", |x, y| x.div(y)),
    ("__ifloordiv__", |x, y| x.floor_div(y)),
    ("__imod__", |x, y| x.rem(y)),
    ("__ipow__", |x, y| x.pow(y, x.py().None())),
    ("__imatmul__", |x, y| x.matmul(y)),
    ("__iand__", |x, y| x.bitand(y)),
    ("__ior__", |x, y| x.bitor(y)),
    ("__ixor__", |x, y| x.bitxor(y)),
    ("__ilshift__", |x, y| x.lshift(y)),
    ("__irshift__", |x, y| x.rshift(y)),
];

/// `x += y` and its like, by number in [`AUGMENTED`]: what the name on the left is bound to afterwards.
pub fn augmented<'py>(i: usize, x: &Bound<'py, PyAny>, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (name, operator) = AUGMENTED[i];
    let var = x.cast::<Var>()?;
    if !var.get().lock().dialect.augments_in_place() {
        return operator(x, y);
    }
    replace(var, name, false, || operator(x, y))?;
    Ok(x.clone())
}

/// Writes a value over all elements.
fn fill<'py>(slf: &Bound<'py, Var>, op: &str, value: Operand<'_>) -> PyResult<Bound<'py, Var>> {
    let other = if let Operand::Tensor(t) = value { Some(t) } else { None };
    write(slf, op, other.into_iter(), |x| index::put_in(x, &[Index::Ellipsis], value))?;
    Ok(slf.clone())
}

/// A tensor, an array or anything else that one is made of.
fn source(o: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    match convert::tensor(o)? {
        Some(t) => Ok(t),
        None => Ok(Tensor::constant(super::sequence::from_object(o, None)?)),
    }
}

#[pymethods]
impl Var {
    /// How often the value was written to in place.
    #[getter]
    fn inplace_version(&self) -> u32 {
        self.lock().version
    }

    /// How often the value was written to in place.
    #[getter]
    fn _version(&self) -> u32 {
        self.lock().version
    }

    /// Writes the values of another tensor, broadcast and cast, over this one's; gradients flow to the other.
    #[pyo3(signature = (src, non_blocking=false))]
    fn copy_<'py>(
        slf: &Bound<'py, Self>,
        src: &Bound<'py, PyAny>,
        non_blocking: bool,
    ) -> PyResult<Bound<'py, Self>> {
        let _ = non_blocking;
        fill(slf, "copy_", Operand::Tensor(&source(src)?))
    }

    /// Writes values of the same shape over this tensor's without recording it: a leaf stays the leaf that it is.
    fn set_value(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let new = source(value)?;
        let mut state = slf.get().lock();
        let old = &state.tensor;
        if new.levels != old.levels || !new.levels.is_empty() {
            return Err(lanes_error(slf.py(), "set_value"));
        }
        if new.dims() != old.dims() {
            let text = format!(
                "set_value: a tensor of shape {:?} cannot take values of shape {:?}",
                old.dims(),
                new.dims()
            );
            return Err(raise(slf.py(), "ShapeError", text));
        }
        state.tensor.array = lift(cast(&new.detach(), old.dtype()))?.array;
        state.version = state.version.wrapping_add(1);
        Ok(())
    }

    /// Writes a number over all elements.
    fn fill_<'py>(slf: &Bound<'py, Self>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        match convert::number(value)? {
            Some(n) => fill(slf, "fill_", Operand::Number(n)),
            None => fill(slf, "fill_", Operand::Tensor(&source(value)?)),
        }
    }

    /// Writes zero over all elements.
    fn zero_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        fill(slf, "zero_", Operand::from(0.0))
    }
}
