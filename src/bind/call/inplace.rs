//! Writes into tensors. All of them end here, and this file holds their rules: while ops are recorded, a write to a
//! leaf whose gradient is wanted, or (but for Paddle) to a view of one, is an error; the shape and the kind of the dtype stay.
//!
//! Saved tensors are snapshots, since arrays are immutable and shared, so no write can make a gradient wrong.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyTuple};

use super::operands::beside;
use crate::bind::convert::array::from_object;
use crate::bind::convert::number::number;
use crate::bind::convert::tensor::{is_array, package_of, real_part_for, tensor};
use crate::bind::python::capi::track;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::modes::{grad_enabled, with_grad_mode};
use crate::bind::value::inference::check_may_change;
use crate::bind::value::storage::{OldEdge, Region, writes_of_thread};
use crate::bind::value::transformed::check_is_not_captured;
use crate::bind::value::var::{State, Value, Var};
use crate::dtype::DType;
use crate::graph::modes::{Flags, flags};
use crate::graph::{Meta, Tensor, for_all, takers};
use crate::ops::copy::apart;
use crate::ops::entry::{Convention, Conventions, Operand};
use crate::ops::movement::cast;
use crate::ops::tangents;
use crate::ops::{Index, index};

/// Checks that a tensor may be written to.
fn check_may_write(slf: &Bound<'_, Var>, op: &str) -> PyResult<()> {
    check_may_change(slf.get(), "Inplace update to")?;
    check_is_not_captured(slf, op)?;
    if !grad_enabled() {
        return Ok(());
    }
    let leaf = slf.get().look().edge.is_some_and(|e| e.node.is_leaf());
    let mut state = slf.get().lock();
    let of_leaf = matches!(&state.value, Value::Shared(p) if p.is_of_leaf());
    if of_leaf
        && slf.get().dialect().parts_views_from_leaves()
        && let Value::Shared(p) = &mut state.value
        && let Some(old) = p.part_from_leaf().or_raise()?
    {
        drop(state);
        drop(old);
        return Ok(());
    }
    if leaf || of_leaf {
        let what = slf.get().dialect().refused_write(!leaf);
        let unrecorded = matches!(&state.value, Value::Shared(p) if p.was_made_unrecorded())
            && slf.get().dialect().refuses_writes_to_unrecorded_views();
        let mode = if unrecorded {
            " A view was created in no_grad mode and is being modified inplace with grad mode enabled."
        } else {
            ""
        };
        let other = if op == "setitem" { "y = x.clone(), then y[i] = v" } else { "x = x + 1" };
        let text = format!("{op}: {what}{mode} Write to a new tensor ({other}), or use `with no_grad():`");
        return Err(raise(slf.py(), "LeafInplaceError", text));
    }
    let Value::Shared(p) = &mut state.value else { return Ok(()) };
    if p.was_made_unrecorded() {
        if slf.get().dialect().refuses_writes_to_unrecorded_views() {
            let text = format!(
                "{op}: A view was created in no_grad mode and is being modified inplace with grad mode enabled: make \
                 the view where it is written, or write under no_grad"
            );
            return Err(PyRuntimeError::new_err(text));
        }
        // From here on the view is recorded like any other.
        let old = p.forget_edge();
        drop(state);
        drop(old);
    }
    Ok(())
}

/// Whether a write of a value, which is an operand, is recorded for tangents alone: the value or the tensor may have one, and
/// ops are not recorded.
fn writes_tangents(slf: &Bound<'_, Var>, value: Option<&Tensor>) -> bool {
    let may_have = |t: &Tensor| t.edge.as_ref().is_some_and(|e| e.node.may_have_tangents());
    flags().has(Flags::TANGENTS) && (value.is_some_and(may_have) || may_have(&slf.get().look()))
}

/// The new value that such a write leaves.
fn with_tangents(slf: &Bound<'_, Var>, op: &str, new: &Tensor) -> PyResult<Tensor> {
    let old = slf.get().look();
    if old.edge.as_ref().is_some_and(|e| e.node.is_leaf()) {
        let text = format!(
            "{op}: under no_grad, a leaf that requires grad cannot take a value that has a tangent: write to a tensor that is no \
             leaf, such as x.clone(), or write the detach() of the value"
        );
        return Err(raise(slf.py(), "LeafInplaceError", text));
    }
    tangents::written(&old, new).or_raise()
}

fn batch_error(py: Python<'_>, op: &str) -> PyErr {
    let text = format!(
        "{op}: under vmap, the values of a batch cannot be written into a tensor that is the same for the whole batch: an \
         inplace operation needs a tensor made inside, from one that has the batch axis"
    );
    raise(py, "VmapError", text)
}

/// Writes a number, a tensor, or anything that a tensor can be made of, over the elements at an index.
pub fn write(slf: &Bound<'_, Var>, op: &str, index: &[Index], value: &Bound<'_, PyAny>) -> PyResult<()> {
    // The check comes before the value is read, because the value may be the tensor itself.
    check_may_write(slf, op)?;
    let held;
    let read = match number(value)? {
        Some(n) if slf.get().dialect().wraps_integers() => {
            let writes = Conventions::NONE.and(Convention::WrapsNegative);
            Operand::Number(beside(writes, slf.get().look().dtype(), n))
        }
        Some(n) => Operand::Number(n),
        None => {
            let t = to_tensor(value)?;
            let own = slf.get().look().dtype();
            let real = match slf.get().dialect().writes_real_parts() {
                true => real_part_for(slf.py(), &t, own)?,
                false => None,
            };
            held = real.unwrap_or(t);
            Operand::Tensor(&held)
        }
    };
    let (region, value) = (value.cast::<Var>().ok().and_then(|v| v.get().region()), read);
    let levels = slf.get().look().levels;
    let is_batched = |t: &Tensor| t.levels.as_slice().iter().any(|l| !levels.contains(*l));
    let has_batch = |i: &Index| matches!(i, Index::Tensor(t) if is_batched(t));
    if index.iter().any(has_batch) || matches!(value, Operand::Tensor(t) if is_batched(t)) {
        return Err(batch_error(slf.py(), op));
    }
    if let Some(takers) = takers()
        && let old = slf.get().operand()
        && takers.has_others(&old)
    {
        let mut new = apart(&old).or_raise()?;
        let put = index::put_at(&mut new, None, index, value);
        put.map_err(|e| slf.get().dialect().in_its_words(e)).or_raise()?;
        let new = takers.written(&new, &old).or_raise()?;
        let _all = for_all();
        let mut state = slf.get().lock();
        let done = state.assign(&new, grad_enabled());
        finish_write(state, done)?;
        return tell(slf);
    }
    if writes_tangents(slf, if let Operand::Tensor(t) = value { Some(t) } else { None }) {
        return write_tangents(slf, op, index, value);
    }
    let mut state = slf.get().lock();
    let copy;
    let mut value = value;
    if let Value::Shared(p) = &state.value {
        let is_place = |m: Region| {
            p.shares_history(&m)
                && index::region(&p.layout, index).is_ok_and(|l| l.as_ref() == Some(&m.layout))
        };
        if region.is_some_and(is_place) {
            // `x[i] += y` ends by writing the view `x[i]` to its own place.
            p.count_write();
            return Ok(());
        }
        if let Operand::Tensor(t) = value
            && p.shares_memory(&t.array)
        {
            // The value is copied, so that nobody else holds the memory that is written to.
            copy = apart(t).or_raise()?;
            value = Operand::Tensor(&copy);
        }
    }
    let done = state.write(grad_enabled(), |t, layout| index::put_at(t, layout, index, value));
    finish_write(state, done.map_err(|e| slf.get().dialect().in_its_words(e)))?;
    tell(slf)
}

/// A write that is recorded for tangents alone.
fn write_tangents(slf: &Bound<'_, Var>, op: &str, index: &[Index], value: Operand<'_>) -> PyResult<()> {
    let mut new = apart(&slf.get().operand()).or_raise()?;
    let put = index::put_at(&mut new, None, index, value);
    put.map_err(|e| slf.get().dialect().in_its_words(e)).or_raise()?;
    let new = with_tangents(slf, op, &new)?;
    let mut state = slf.get().lock();
    let done = state.assign(&new, true);
    finish_write(state, done)?;
    tell(slf)
}

/// Unlocks the tensor, and then drops the edge that a write has replaced.
fn finish_write(
    state: std::sync::MutexGuard<'_, State>,
    done: crate::error::Result<OldEdge>,
) -> PyResult<()> {
    drop(state);
    drop(done.or_raise()?);
    Ok(())
}

/// Calls what waits for writes to a tensor, or to the one that it is a view of.
fn tell(slf: &Bound<'_, Var>) -> PyResult<()> {
    let (py, base) = (slf.py(), Var::base(slf));
    let whole = base.as_ref().and_then(|base| base.cast::<Var>().ok()).unwrap_or(slf);
    let waiting = whole.get().lock().extras.as_ref().and_then(|e| Some(e.written.as_ref()?.clone_ref(py)));
    waiting.map_or(Ok(()), |f| f.call1(py, (whole,)).map(drop))
}

/// Checks that a tensor of a dtype can take the result of an op: integers take no floats, and truth values no integers.
pub fn check_can_take(py: Python<'_>, op: &str, own: DType, result: DType) -> PyResult<()> {
    if result.kind() <= own.kind() {
        return Ok(());
    }
    let text = format!("{op}: result type {result} can't be cast to the desired output type {own}");
    Err(raise(py, "DtypeError", text))
}

/// Checks that a result has the batch axes of the tensor that it is written over, and its shape unless the op changes that.
fn check_shape(py: Python<'_>, op: &str, new: &Tensor, own: &Meta, reshapes: bool) -> PyResult<()> {
    if new.levels != own.levels {
        return Err(batch_error(py, op));
    }
    if reshapes || new.dims() == own.dims.as_slice() {
        return Ok(());
    }
    let (got, wanted) = (new.dims(), &own.dims);
    let text =
        format!("{op}: the result has shape {got:?}, which cannot be written into the shape {wanted:?}");
    Err(raise(py, "ShapeError", text))
}

/// Makes the result of `f` the tensor's value, in the tensor's dtype. `f` is called again if another thread has written
/// to the tensor meanwhile. What `f` itself has written is overwritten.
pub fn replace<'py>(
    slf: &Bound<'py, Var>,
    op: &str,
    reshapes: bool,
    f: impl Fn() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<()> {
    let py = slf.py();
    loop {
        check_may_write(slf, op)?;
        let (meta, inner) = {
            let t = slf.get().look();
            (t.meta(), t.edge.is_some_and(|e| !e.node.is_leaf()))
        };
        let dtype = meta.dtype;
        let (before, own) = (slf.get().lock().version(), writes_of_thread());
        // A result keeps its history even if ops are not recorded, and an op that reshapes it is part of that.
        let result = if reshapes && inner { with_grad_mode(true, &f)? } else { f()? };
        let Ok(result) = result.cast_into::<Var>() else {
            return Err(PyRuntimeError::new_err(format!(
                "{op}: the result is no single tensor to be written"
            )));
        };
        let new = result.get().tensor();
        check_can_take(py, op, dtype, new.dtype())?;
        check_shape(py, op, &new, &meta, reshapes)?;
        let mut new = cast(&new, dtype).or_raise()?;
        let mut all = None;
        if let Some(takers) = takers().filter(|_| !reshapes)
            && let old = slf.get().operand()
            && takers.has_others(&old)
        {
            new = takers.written(&new, &old).or_raise()?;
            all = Some(for_all());
        }
        let region = if reshapes { result.get().region() } else { None };
        drop(result);
        let moves = !reshapes && writes_tangents(slf, Some(&new));
        if moves {
            new = with_tangents(slf, op, &new)?;
        }
        if reshapes {
            slf.get().meet_reshape();
        }
        let mut state = slf.get().lock();
        if state.version() != before && writes_of_thread() == own {
            continue;
        }
        let done = if reshapes {
            Ok(state.reshape(new, region))
        } else {
            state.assign(&new, moves || grad_enabled())
        };
        drop(all);
        finish_write(state, done)?;
        return if reshapes { Ok(()) } else { tell(slf) };
    }
}

/// Calls `f` with a tensor (and with `args`), and writes the result over the tensor.
#[pyfunction]
#[pyo3(signature = (x, op, reshapes, f, args, kwargs))]
fn overwrite<'py>(
    x: Bound<'py, Var>,
    op: &str,
    reshapes: bool,
    f: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, Var>> {
    let partial = x.py().import("functools")?.getattr("partial")?;
    let call = partial.call1((f, &x))?;
    replace(&x, op, reshapes, || call.call(args, Some(kwargs)))?;
    Ok(x)
}

type Operator = for<'py> fn(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>;

/// The augmented assignments, and the operator that computes each.
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

/// Whether the operators of tensors compute with an object, or raise an error of their own. Any other one has the last word.
fn is_operand(y: &Bound<'_, PyAny>) -> PyResult<bool> {
    // A number of a function that is being compiled says that it is a float, and its class is another one.
    let stands_for_float = || y.is_instance(&y.py().get_type::<PyFloat>());
    Ok(y.is_instance_of::<Var>()
        || number(y)?.is_some()
        || is_array(y)?
        || package_of(y)?.is_some()
        || stands_for_float()?)
}

/// An augmented assignment such as `x += y`, by its number in [`AUGMENTED`]. Returns the object that the name `x` is
/// bound to afterwards, or `NotImplemented` if `y` is no operand.
pub fn augmented<'py>(i: usize, x: &Bound<'py, PyAny>, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (name, operator) = AUGMENTED[i];
    let var = x.cast::<Var>()?;
    if !var.get().dialect().augments_in_place() {
        return operator(x, y);
    }
    if !is_operand(y)? {
        return Ok(x.py().NotImplemented().into_bound(x.py()));
    }
    replace(var, name, false, || operator(x, y))?;
    Ok(x.clone())
}

/// Writes a value over all elements.
fn fill<'py>(slf: &Bound<'py, Var>, op: &str, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Var>> {
    write(slf, op, &[Index::Ellipsis], value)?;
    Ok(slf.clone())
}

/// The value of a tensor, an array, or anything else that a tensor can be made of.
fn to_tensor(o: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    match tensor(o)? {
        Some(t) => Ok(t),
        None => from_object(o, None),
    }
}

#[pymethods]
impl Var {
    /// How often the value was written to in place.
    #[getter]
    fn inplace_version(&self) -> u32 {
        self.lock().version()
    }

    /// How often the value was written to in place.
    #[getter]
    fn _version(&self) -> u32 {
        self.lock().version()
    }

    /// Writes the values of another tensor, broadcast and cast, over this one's. Gradients flow to the other.
    #[pyo3(signature = (src, non_blocking=false))]
    fn copy_<'py>(
        slf: &Bound<'py, Self>,
        src: &Bound<'py, PyAny>,
        non_blocking: bool,
    ) -> PyResult<Bound<'py, Self>> {
        let _ = non_blocking;
        fill(slf, "copy_", src)
    }

    /// Writes values of the same shape over this tensor's without recording it: a leaf stays the same leaf.
    fn set_value(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (new, old) = (to_tensor(value)?.detach(), slf.get().look());
        if new.levels != old.levels || !new.levels.is_empty() {
            return Err(batch_error(slf.py(), "set_value"));
        }
        if new.dims() != old.dims() {
            let text = format!(
                "set_value: a tensor of shape {:?} cannot take values of shape {:?}",
                old.dims(),
                new.dims()
            );
            return Err(raise(slf.py(), "ShapeError", text));
        }
        let new = cast(&new, old.dtype()).or_raise()?;
        drop(old);
        let mut state = slf.get().lock();
        let done = state.assign(&new, false);
        finish_write(state, done)
    }

    /// Has a function called with this tensor after each write to it or to a view of it.
    fn _when_written(slf: &Bound<'_, Self>, f: Py<PyAny>) {
        let old = slf.get().lock().extras().written.replace(f);
        drop(old);
        track(slf);
    }

    /// Writes a number over all elements.
    fn fill_<'py>(slf: &Bound<'py, Self>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        fill(slf, "fill_", value)
    }

    /// Writes zero over all elements.
    fn zero_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        fill(slf, "zero_", &PyFloat::new(slf.py(), 0.0))
    }
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(overwrite, m)?)
}
