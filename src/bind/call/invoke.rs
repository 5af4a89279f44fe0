//! One call of an op: the arguments are converted to the types of its parameters, and the result becomes a Python
//! object.

use pyo3::prelude::*;
use pyo3::types::PyBool;

use super::arguments::Arguments;
use super::callable::Callable;
use super::formats;
use super::operands::{BY_DTYPE, Operands};
use super::out::write_out;
use super::overrides::overridden;
use super::parameters::match_arguments;
use super::work::is_long;
use crate::bind::convert::list::objects;
use crate::bind::convert::numpy::dtype_object;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{OrRaise, exception};
use crate::bind::python::gil::{ask_in_turn, listening, without_gil};
use crate::bind::value::var::{Notes, Var};
use crate::error::{Error, Result, bail};
use crate::graph::site::Site;
use crate::graph::{DetachReason, Tensor};
use crate::ops::copy::alias;
use crate::ops::entry::{Arg, Convention, Conventions, Entry, Value, take};
use crate::ops::movement::{reshape_to, tracked_cast};
use crate::ops::{autocast, index, random};

/// Makes a 0-d tensor a vector of one element, if an axis was given that only a vector has. Returns whether it did.
fn as_vector(entry: &Entry, args: &mut [Arg]) -> bool {
    let first = |i: i64| i == 0 || i == -1;
    let named = entry.params.iter().zip(args.iter()).any(|(p, arg)| {
        matches!(p.name, "axis" | "axes" | "axis1")
            && match arg {
                Arg::Int(i) => first(*i),
                Arg::Ints(list) => !list.is_empty() && list.iter().all(|&i| first(i)),
                _ => false,
            }
    });
    match args {
        [Arg::Tensor(t), ..] if named && t.rank() == 0 => {
            reshape_to(t, &[1]).map(|vector| *t = vector).is_ok()
        }
        _ => false,
    }
}

/// Undoes [`as_vector`] in the result.
fn as_scalar(value: Value) -> Result<Value> {
    let lower = |t: Tensor| match t.dims() {
        [rest @ .., 1] => reshape_to(&t, rest),
        _ => Ok(t),
    };
    let lower_all = |list: Vec<Tensor>| list.into_iter().map(lower).collect::<Result<Vec<_>>>();
    Ok(match value {
        Value::Tensor(t) => Value::Tensor(lower(t)?),
        Value::List(list) => Value::List(lower_all(list)?),
        Value::Tuple(list) => Value::Tuple(lower_all(list)?),
        value => value,
    })
}

/// One call. `namespace` is the dialect of the namespace that the function is in, if any.
fn run<'py>(
    py: Python<'py>,
    callable: &'static Callable,
    namespace: Option<Dialect>,
    given: &[Option<Bound<'py, PyAny>>],
) -> PyResult<Bound<'py, PyAny>> {
    let &Callable { entry, name, .. } = callable;
    let mut operands = Operands::default();
    operands.read(py, callable, namespace, given)?;
    let dialect = operands.from.or(namespace).unwrap_or(Dialect::Native);
    let conventions = callable.conventions(dialect);
    if operands.has_more_than_tensors() {
        operands.take_as(callable, dialect, namespace.unwrap_or(dialect), given)?;
    }
    let given_as =
        if conventions.has_any(BY_DTYPE) { operands.of_dtype_by(py, conventions, entry)? } else { None };
    let Operands { args, bytes, special, notes, .. } = &mut operands;
    let (bytes, special, notes) = (*bytes, *special, *notes);
    // A write to the result must be seen by the tensor that it is a view of.
    let mut base = None;
    if entry.views && !conventions.has(Convention::Copies) {
        base = given.first().and_then(|o| o.as_ref()).and_then(|o| o.cast::<Var>().ok());
        if let (Some(base), Some(Arg::Tensor(x))) = (base, args.first_mut()) {
            base.get().share().or_raise()?;
            *x = base.get().operand_in_place();
        }
    }
    let is_plain = !special && !entry.draws && !conventions.has_any(OWN_WAY);
    let call = |args: &[Arg]| {
        if is_plain && !autocast::is_on() {
            // Operands that are not in C order are special.
            return (entry.call)(args);
        }
        let value = in_own_way(callable, conventions, dialect, args)?;
        if notes.strided { formats::result(conventions, entry, args, value) } else { Ok(value) }
    };
    let result = if !is_long(entry, args, bytes) {
        match listening(ask_in_turn, || call(args)) {
            Err(error)
                if matches!(*error, Error::Axis { .. } | Error::Index { .. })
                    && dialect.numbers_have_an_axis()
                    && as_vector(entry, args) =>
            {
                call(args).and_then(as_scalar)
            }
            result => result,
        }
    } else {
        without_gil(py, || call(args))
    };
    let mut value = result.map_err(|error| exception(dialect.in_its_words(error.of(name))))?;
    if let Value::Tensor(t) = &mut value {
        if conventions.has(Convention::GivesBack)
            && let (Some(Arg::Tensor(x)), Some(Some(o))) = (args.first(), given.first())
            && t.array.is_same(&x.array)
            && o.cast::<Var>().is_ok_and(|own| own.get().look().dtype() == t.dtype())
        {
            return Ok(o.clone());
        }
        if let Some(dtype) = given_as {
            *t = tracked_cast(t, dtype).or_raise()?;
        }
    }
    let var = |t: Tensor| match base {
        Some(base) => Var::view_of(base, t, dialect),
        None => result_of(py, callable, (args, notes), t, dialect),
    };
    Ok(match value {
        Value::Tensor(t) => var(t)?.into_any(),
        Value::List(list) => objects(py, list.into_iter().map(var))?.into_any(),
        Value::Tuple(list) => objects(py, list.into_iter().map(var))?.as_sequence().to_tuple()?.into_any(),
        Value::Bool(b) => PyBool::new(py, b).to_owned().into_any(),
        Value::DType(d) => dtype_object(py, d, dialect)?,
        Value::None => py.None().into_bound(py),
    })
}

/// The conventions of functions that [`in_own_way`] calls otherwise than their entry says.
const OWN_WAY: Conventions = Conventions::NONE
    .and(Convention::QuotientOfRemainder)
    .and(Convention::FromZero)
    .and(Convention::NeedsOther);

/// Calls what is not called as it is: for a dialect's conventions, half operands, or autocast.
fn in_own_way(
    callable: &Callable,
    conventions: Conventions,
    dialect: Dialect,
    args: &[Arg],
) -> Result<Value> {
    let &Callable { entry, name, .. } = callable;
    if conventions.has(Convention::NeedsOther) && args[1..].iter().all(|arg| matches!(arg, Arg::None)) {
        let others: Vec<&str> = entry.params[1..].iter().map(|param| param.name).collect();
        bail!(Argument, name, "one of {} is given", others.join(" and "));
    }
    if conventions.has(Convention::QuotientOfRemainder) {
        let floor_divide = dialect.floor_divide().of_any;
        return floor_divide(take(name, args, 0)?, take(name, args, 1)?).map(Value::Tensor);
    }
    let call = || autocast::call(entry, args);
    if conventions.has(Convention::FromZero) {
        index::from_zero(call)
    } else if entry.draws && dialect.draws_as_pytorch() {
        random::as_pytorch(call)
    } else {
        call()
    }
}

/// A result that is no view as a Python object.
fn result_of<'py>(
    py: Python<'py>,
    callable: &'static Callable,
    (args, notes): (&[Arg], Notes),
    mut t: Tensor,
    dialect: Dialect,
) -> PyResult<Bound<'py, Var>> {
    if is_unexplained(callable.entry, &t) {
        explain(args, &mut t);
    } else {
        if comes_from(args, &t) {
            t = alias(&t).or_raise()?;
        }
        if notes.lent {
            t.array = t.array.kept().or_raise()?;
        }
    }
    if notes.strided {
        return Var::laid_out(py, Some(callable.name), t, dialect);
    }
    Var::result_of(py, Some(callable.name), t, dialect)
}

/// Whether a result has no edge, and nothing is known of why.
fn is_unexplained(entry: &Entry, t: &Tensor) -> bool {
    t.edge.is_none() && (entry.draws || !t.detach_reason.is_known())
}

/// Gives a result the reason why no gradient flows from it, if there are tracked operands or operands that were cut off.
fn explain(args: &[Arg], t: &mut Tensor) {
    let operands = || {
        args.iter().flat_map(|arg| match arg {
            Arg::Tensor(x) => std::slice::from_ref(x),
            Arg::Tensors(list) => list,
            _ => &[],
        })
    };
    let reason = if !operands().any(Tensor::is_tracked) {
        let Some(known) = operands().find(|x| x.detach_reason.is_known()) else { return };
        known.detach_reason
    } else if t.dtype().is_differentiable() {
        DetachReason::by_function(Site::current())
    } else {
        DetachReason::by_dtype(Site::current())
    };
    t.detach_reason = reason.with_stems(t.detach_reason.stems());
}

/// Whether a tracked result has the edge of an operand, because the op had nothing to do. The hooks of the one would be
/// hooks of the other.
fn comes_from(args: &[Arg], result: &Tensor) -> bool {
    let Some(edge) = &result.edge else { return false };
    let same = |x: &Tensor| x.edge.as_ref().is_some_and(|own| own.is_same(edge));
    args.iter().any(|arg| match arg {
        Arg::Tensor(x) => same(x),
        Arg::Tensors(list) => list.iter().any(same),
        _ => false,
    })
}

/// Calls an op. `dialect` is that of the namespace that the function is in; `slf` is the tensor whose method is called.
pub fn call<'py>(
    callable: &'static Callable,
    dialect: Option<Dialect>,
    slf: Option<Bound<'py, PyAny>>,
    args: &Arguments<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let result = match_arguments(callable, slf.clone(), args, dialect).and_then(|(given, out)| {
        let result = run(args.py(), callable, dialect, &given)?;
        match out {
            None => Ok(result),
            Some(out) => write_out(callable.name, &result, out),
        }
    });
    result.or_else(|error| {
        let dialect = dialect.or_else(|| slf.as_ref().and_then(Var::dialect_of));
        let given = match dialect {
            Some(Dialect::Torch) => overridden(callable.name, slf.as_ref(), args)?,
            _ => None,
        };
        given.ok_or(error)
    })
}
