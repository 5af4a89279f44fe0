//! One call of an op: the arguments are converted to the types of its parameters, and the result becomes a Python
//! object.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyTuple};
use smallvec::SmallVec;

use super::arguments::Arguments;
use super::callable::Callable;
use super::formats;
use super::inplace;
use super::overrides::overridden;
use super::parameters::{makes, match_arguments};
use crate::bind::convert::argument::{argument, of_numbers, refusal};
use crate::bind::convert::list::objects;
use crate::bind::convert::numpy::{dtype_in, dtype_object};
use crate::bind::convert::tensor::wide_scalar;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{OrRaise, exception, raise};
use crate::bind::python::gil::{ask_in_turn, listening, without_gil};
use crate::bind::value::var::{Notes, Var};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::site::Site;
use crate::graph::{DetachReason, Tensor};
use crate::ops::copy::alias;
use crate::ops::entry::{Arg, Entry, Param, ParamKind, Value, Work, take};
use crate::ops::movement::{cast, reshape_to};
use crate::ops::promote::weak_beside;
use crate::ops::{Index, autocast, index, random};

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

/// The error of a list that no tensor can be made of, in the name of the function that it was given to.
fn in_name_of(py: Python<'_>, name: &str, param: &Param, e: PyErr) -> PyErr {
    let text = e.value(py).getattr("args").and_then(|args| args.get_item(0)?.extract::<String>());
    match (e.get_type(py).name(), text.ok().as_deref().and_then(|text| text.strip_prefix("tensor: "))) {
        (Ok(class), Some(rest)) => raise(py, &class.to_string(), format!("{name}: {}: {rest}", param.name)),
        _ => e,
    }
}

/// A parameter's argument that is no tensor.
fn given_arg(
    py: Python<'_>,
    name: &str,
    param: &Param,
    given: Option<&Bound<'_, PyAny>>,
    dialect: Dialect,
) -> PyResult<Arg> {
    let Some(o) = given else {
        return Err(PyTypeError::new_err(format!("{name}() missing required argument: '{}'", param.name)));
    };
    if let Some(arg) = argument(param.kind, o).map_err(|e| too_large(py, name, param, e))? {
        return Ok(arg);
    }
    if dialect == Dialect::Native
        && let Some(t) = of_numbers(param.kind.base, o).map_err(|e| in_name_of(py, name, param, e))?
    {
        return Ok(Arg::Tensor(t));
    }
    Err(raise(py, "ArgumentError", format!("{name}: {}", refusal(param, o, dialect)?)))
}

fn run<'py>(
    py: Python<'py>,
    callable: &'static Callable,
    dialect: Option<Dialect>,
    given: &[Option<Bound<'py, PyAny>>],
) -> PyResult<Bound<'py, PyAny>> {
    let &Callable { entry, name } = callable;
    let mut args: SmallVec<[Arg; 4]> = SmallVec::new();
    let mut from = None;
    let mut bytes = 0usize;
    // Whether an argument is one that the next loops, or a half dtype, are about.
    let mut special = false;
    let mut has_numbers = false;
    let mut notes = Notes::default();
    for (param, o) in entry.params.iter().zip(given) {
        let takes_tensor = matches!(param.kind.base, ParamKind::Tensor | ParamKind::Operand);
        if let (true, Some(o)) = (takes_tensor, o)
            && let Ok(v) = o.cast::<Var>()
        {
            from = from.or(Some(v.get().dialect()));
            args.push(Arg::Tensor(v.get().operand_noting(&mut notes)));
        } else if let (None, Some(default)) = (o, param.default) {
            args.push(Arg::from(default));
        } else {
            let own = dialect.or(from).unwrap_or(Dialect::Native);
            let arg = given_arg(py, name, param, o.as_ref(), own)?;
            if let (Arg::Tensors(list), Dialect::Torch) = (&arg, own) {
                notes.strided |= list.iter().any(|t| !t.array.is_contiguous());
            }
            has_numbers |= takes_tensor && matches!(arg, Arg::Number(_));
            if let (None, Some(o)) = (from, o) {
                from = Var::dialect_of(o).or_else(|| among(param, o));
            }
            args.push(arg);
        }
        let tensors = match args.last() {
            Some(Arg::Tensor(t)) => std::slice::from_ref(t),
            Some(Arg::Tensors(list)) => list,
            Some(Arg::Ints(axes)) => {
                special |= axes.is_empty();
                continue;
            }
            Some(Arg::DType(_)) => {
                special = true;
                continue;
            }
            _ => continue,
        };
        let mut is_empty = false;
        for t in tensors {
            let n = t.array.len();
            is_empty |= n == 0;
            special |= t.rank() == 0 || t.dtype().is_half();
            bytes = n.saturating_mul(t.dtype().size()).saturating_add(bytes);
        }
        if let (true, Some(o)) = (is_empty, o) {
            check_has_shape(name, o)?;
        }
    }
    if notes.any() {
        special |= notes.strided;
        if notes.lent {
            keep(entry, &mut args)?;
        }
    }
    let namespace = dialect.or(from).unwrap_or(Dialect::Native);
    let dialect = from.or(dialect).unwrap_or(Dialect::Native);
    if has_numbers && dialect == Dialect::Native && !has_floats(&args) {
        widen(&mut args, given)?;
    }
    if has_numbers && dialect == Dialect::Torch {
        put_into_range(entry, name, dialect, &mut args);
    }
    if from.is_none() && dialect == Dialect::Native && makes(entry) && !entry.draws && !has_tensors(&args) {
        say_exactness(entry, &mut args, given)?;
    }
    if special {
        for (arg, o) in args.iter_mut().zip(given) {
            if matches!(arg, Arg::Ints(axes) if axes.is_empty()) {
                if namespace.no_axes_are_all(name) {
                    *arg = Arg::None;
                } else if namespace.refuses_no_axes(name) {
                    let text = format!("{name}: dim has no axes; leave it out for all of them");
                    return Err(raise(py, "ArgumentError", text));
                }
            }
            if let (Arg::DType(dtype), Some(o)) = (arg, o) {
                *dtype = dtype_in(o, dialect)?.unwrap_or(*dtype);
            }
        }
        if dialect.scalars_are_weak() {
            weaken(entry, &mut args).or_raise()?;
        }
    }
    if matches!(args.first(), Some(Arg::Tensor(x)) if x.dtype().is_unsigned())
        && dialect.sums_are_signed(name)
    {
        let dtype = entry.params.iter().position(|param| param.kind.base == ParamKind::DType);
        if let Some(arg @ Arg::None) = dtype.and_then(|i| args.get_mut(i)) {
            *arg = Arg::DType(DType::I64);
        }
    }
    // The dtype in which the result is given, if not in its own.
    let mut given_as = None;
    if matches!(args.first(), Some(Arg::Tensor(x)) if x.dtype() == DType::U8)
        && dialect.tests_give_bytes(name)
    {
        given_as = Some(DType::U8);
    }
    if let (true, [Arg::Tensor(x), _, _, dtype, ..]) = (dialect.means_are_whole(name), &mut args[..]) {
        let wanted = if let Arg::DType(dtype) = dtype { *dtype } else { x.dtype() };
        if !wanted.is_differentiable() {
            *x = cast(x, wanted).or_raise()?;
            *dtype = Arg::DType(DType::F64);
            given_as = Some(wanted);
        }
    }
    // A write to the result must be seen by the tensor that it is a view of.
    let views = entry.views && !dialect.copies_parts(name);
    let base = given.first().and_then(|o| o.as_ref()).filter(|_| views).and_then(|o| o.cast::<Var>().ok());
    if let (Some(base), Some(Arg::Tensor(x))) = (base, args.first_mut()) {
        base.get().share().or_raise()?;
        *x = base.get().operand_in_place();
    }
    let from_zero = entry.from_zero && dialect.refuses_negative_indices();
    let draws = entry.draws && dialect.draws_as_pytorch();
    let call = |args: &[Arg]| {
        let value = if let Some(own) = dialect.own_operator(name) {
            own(take(name, args, 0)?, take(name, args, 1)?).map(Value::Tensor)
        } else if from_zero {
            index::from_zero(|| autocast::call(entry, args))
        } else if draws {
            random::as_pytorch(|| autocast::call(entry, args))
        } else if special || autocast::is_on() {
            autocast::call(entry, args)
        } else {
            // Operands that are not in C order are special.
            return (entry.call)(args);
        };
        if notes.strided { formats::result(entry, args, value?) } else { value }
    };
    let result = if !is_long(entry, &args, bytes) {
        match listening(ask_in_turn, || call(&args)) {
            Err(error)
                if matches!(*error, Error::Index { .. })
                    && dialect.numbers_have_an_axis()
                    && as_vector(entry, &mut args) =>
            {
                call(&args).and_then(as_scalar)
            }
            result => result,
        }
    } else {
        without_gil(py, || call(&args))
    };
    let made = |t: Tensor| {
        let make = if notes.strided { Var::laid_out } else { Var::result_of };
        make(py, Some(name), t, dialect)
    };
    let var = |t: Tensor| match base {
        None if is_unexplained(entry, &t) => made(explained(&args, t)),
        Some(base) => Var::view_of(base, t, dialect),
        None => {
            let mut t = if comes_from(&args, &t) { alias(&t).or_raise()? } else { t };
            if notes.lent {
                t.array = t.array.kept().or_raise()?;
            }
            made(t)
        }
    };
    let value = match result {
        Ok(value) => value,
        Err(error) => return Err(exception(dialect.in_its_words(error.of(name)))),
    };
    Ok(match value {
        Value::Tensor(t) => match (args.first(), given.first()) {
            (Some(Arg::Tensor(x)), Some(Some(o)))
                if t.array.is_same(&x.array)
                    && dialect.gives_operand_back(name)
                    && o.is_instance_of::<Var>() =>
            {
                o.clone()
            }
            _ => var(if let Some(dtype) = given_as { cast(&t, dtype).or_raise()? } else { t })?.into_any(),
        },
        Value::List(list) => objects(py, list.into_iter().map(var))?.into_any(),
        Value::Tuple(list) => objects(py, list.into_iter().map(var))?.as_sequence().to_tuple()?.into_any(),
        Value::Bool(b) => PyBool::new(py, b).to_owned().into_any(),
        Value::DType(d) => dtype_object(py, d, dialect)?,
        Value::None => py.None().into_bound(py),
    })
}

/// An op runs without the GIL if its operands have at least this many bytes.
const LONG: usize = 128 << 10;
/// The same for an op that takes about as long as to read its operands.
pub(super) const LONG_LIGHT: usize = 512 << 10;
/// The same for a view, which moves few bytes or none.
const LONG_VIEW: usize = 1 << 20;
/// Heavy ops on fewer bytes are short whatever they compute.
const SHORT: usize = 4 << 10;
/// So many products of numbers take 10 to 20 µs. To let go of the GIL for less than that costs more than it gives: the thread waits
/// until another one lets go of it.
const PRODUCTS: usize = 1 << 20;
/// As many take about as long as a random number, or one that is sorted.
const EACH: usize = 128;
/// As many take about as long as one of a factorisation, whose kernels are not as fast.
const FACTORED: usize = 32;

/// Whether an op may take more than some 20 µs, for which it is worth to let go of the GIL.
#[inline]
fn is_long(entry: &Entry, args: &[Arg], bytes: usize) -> bool {
    match entry.work {
        _ if entry.views => bytes >= LONG_VIEW,
        Work::Light => bytes >= LONG_LIGHT,
        Work::Usual => bytes >= LONG,
        Work::Heavy => bytes >= LONG || (bytes >= SHORT || bytes == 0) && products(entry, args) >= PRODUCTS,
    }
}

/// About how many products of numbers a heavy op on so few bytes computes, or what takes as long.
fn products(entry: &Entry, args: &[Arg]) -> usize {
    let named = entry.params.iter().zip(args);
    let mut tensors = named.filter_map(|(param, arg)| match arg {
        Arg::Tensor(t) => Some((param.name, t)),
        Arg::Tensors(list) => list.last().map(|t| (param.name, t)),
        _ => None,
    });
    let last = |t: &Tensor| t.dims().last().copied().unwrap_or(1);
    match (tensors.next(), tensors.next()) {
        (Some((_, x)), Some(("weight", w))) if w.rank() > 1 => {
            x.array.len().saturating_mul(w.array.len() / w.dims()[1].max(1))
        }
        (Some((_, x)), Some((_, y))) => x.array.len().saturating_mul(last(y)),
        (Some((_, x)), None) if x.rank() < 2 || entry.draws => x.array.len().saturating_mul(EACH),
        // A factorisation, or a sort.
        (Some((_, x)), None) => {
            x.array.len().saturating_mul(FACTORED * x.dims()[x.rank() - 2..].iter().min().unwrap_or(&1))
        }
        // Random numbers of a shape.
        _ => match args.first() {
            Some(Arg::Ints(shape)) => {
                shape.iter().fold(EACH, |n, &d| n.saturating_mul(usize::try_from(d).unwrap_or(0)))
            }
            Some(&Arg::Int(n)) => usize::try_from(n).unwrap_or(0).saturating_mul(EACH),
            _ => 0,
        },
    }
}

/// Whether there are tensors among the arguments.
fn has_tensors(args: &[Arg]) -> bool {
    args.iter().any(|arg| matches!(arg, Arg::Tensor(_) | Arg::Tensors(_)))
}

/// Whether there are tensors of floats or complex numbers among the arguments.
fn has_floats(args: &[Arg]) -> bool {
    args.iter().any(|arg| matches!(arg, Arg::Tensor(t) if t.dtype().is_differentiable()))
}

/// Gives a function that makes a tensor of numbers, as `linspace` does, the dtype of the widest of them, if one is a scalar
/// of NumPy's that has 64 bits and no dtype is given.
fn say_exactness(entry: &Entry, args: &mut [Arg], given: &[Option<Bound<'_, PyAny>>]) -> PyResult<()> {
    let Some(at) = entry.params.iter().position(|p| p.kind.base == ParamKind::DType) else { return Ok(()) };
    let mut widest = None;
    for (param, o) in entry.params.iter().zip(given) {
        if let (ParamKind::Float | ParamKind::Number, Some(o)) = (param.kind.base, o)
            && let Some(t) = wide_scalar(o)?
        {
            widest = widest.max(Some(t.dtype()));
        }
    }
    if let (Some(dtype), arg @ Arg::None) = (widest, &mut args[at]) {
        *arg = Arg::DType(dtype);
    }
    Ok(())
}

/// Copies the operands that lie in memory which another library writes to, unless the op may read them there, and no
/// node is made that keeps them.
#[cold]
fn keep(entry: &Entry, args: &mut [Arg]) -> PyResult<()> {
    let is_tracked = |arg: &Arg| match arg {
        Arg::Tensor(t) => t.is_tracked(),
        Arg::Tensors(list) => list.iter().any(Tensor::is_tracked),
        _ => false,
    };
    if !entry.reads_lent || args.iter().any(is_tracked) {
        for arg in args {
            if let Arg::Tensor(t) = arg {
                t.array = t.array.clone().kept().or_raise()?;
            }
        }
    }
    Ok(())
}

/// Makes tensors of the scalars of NumPy's that have 64 bits.
fn widen(args: &mut [Arg], given: &[Option<Bound<'_, PyAny>>]) -> PyResult<()> {
    for (arg, o) in args.iter_mut().zip(given) {
        if let (Arg::Number(_), Some(o)) = (&*arg, o)
            && let Some(t) = wide_scalar(o)?
        {
            *arg = Arg::Tensor(t);
        }
    }
    Ok(())
}

/// Whether a result has no edge, and nothing is known of why.
fn is_unexplained(entry: &Entry, t: &Tensor) -> bool {
    t.edge.is_none() && (entry.draws || !t.detach_reason.is_known())
}

/// The result with the reason why no gradient flows from it, if there are tracked operands or operands that were cut off.
fn explained(args: &[Arg], t: Tensor) -> Tensor {
    let operands = || {
        args.iter().flat_map(|arg| match arg {
            Arg::Tensor(x) => std::slice::from_ref(x),
            Arg::Tensors(list) => list,
            _ => &[],
        })
    };
    let reason = if !operands().any(Tensor::is_tracked) {
        let known = operands().find(|x| x.detach_reason.is_known());
        known.map_or(t.detach_reason, |x| x.detach_reason)
    } else if t.dtype().is_differentiable() {
        DetachReason::by_function(Site::current())
    } else {
        DetachReason::by_dtype(Site::current())
    };
    Tensor { detach_reason: reason.with_stems(t.detach_reason.stems()), ..t }
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

/// Casts 0-d operands as [`weak_beside`] does, beside the widest of the operands with axes.
fn weaken(entry: &Entry, args: &mut [Arg]) -> Result<()> {
    let is_operand = |i: usize| entry.params[i].kind.base == ParamKind::Operand;
    let with_axes = args.iter().enumerate().filter_map(|(i, arg)| match arg {
        Arg::Tensor(t) if t.rank() > 0 && is_operand(i) => Some(t),
        _ => None,
    });
    let Some(widest) = with_axes.max_by_key(|t| t.dtype()).cloned() else { return Ok(()) };
    for (_, arg) in args.iter_mut().enumerate().filter(|(i, _)| is_operand(*i)) {
        if let Arg::Tensor(t) = arg
            && t.rank() == 0
        {
            *t = weak_beside(t, &widest)?.into_owned();
        }
    }
    Ok(())
}

/// Numbers beside integers, as the dialect takes those that the dtype does not hold.
fn put_into_range(entry: &Entry, name: &str, dialect: Dialect, args: &mut [Arg]) {
    let is_operand = |i: usize| entry.params[i].kind.base == ParamKind::Operand;
    let dtype = |arg: &Arg| match arg {
        Arg::Tensor(t) => Some(t.dtype()),
        Arg::DType(dtype) => Some(*dtype),
        _ => None,
    };
    let among_operands =
        args.iter().enumerate().filter(|(i, _)| is_operand(*i)).find_map(|(_, arg)| dtype(arg));
    let named = args.iter().find_map(|arg| if let Arg::DType(dtype) = arg { Some(*dtype) } else { None });
    let Some(dtype) = named.or(among_operands).or_else(|| args.first().and_then(dtype)) else { return };
    for arg in args {
        if let Arg::Number(n) = arg {
            *n = dialect.number_beside(name, dtype, *n);
        }
    }
}

/// Raises for a tensor, or one in a list of them, that has no shape yet. Its array is empty, and its class is one made in
/// Python, with a method `_check_use` that raises.
#[cold]
fn check_has_shape(name: &str, o: &Bound<'_, PyAny>) -> PyResult<()> {
    match o.cast::<Var>() {
        Ok(var) if Var::is_of_own_class(var) => Ok(()),
        Ok(_) => match o.getattr_opt("_check_use")? {
            Some(check) => check.call1((name,)).map(|_| ()),
            None => Ok(()),
        },
        Err(_) if o.is_instance_of::<PyList>() || o.is_instance_of::<PyTuple>() => {
            o.try_iter()?.try_for_each(|item| check_has_shape(name, &item?))
        }
        Err(_) => Ok(()),
    }
}

/// The dialect of the first tensor in a list of them.
fn among(param: &Param, o: &Bound<'_, PyAny>) -> Option<Dialect> {
    if !matches!(param.kind.base, ParamKind::Tensors | ParamKind::Rest) {
        return None;
    }
    o.try_iter().ok()?.flatten().find_map(|x| Var::dialect_of(&x))
}

/// Names the function in Python's error for an integer of more than 64 bits; leaves any other exception as it is.
fn too_large(py: Python<'_>, name: &str, param: &Param, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyOverflowError>(py) {
        return error;
    }
    raise(py, "ArgumentError", format!("{name}: {}: an integer does not fit into 64 bits", param.name))
}

/// Calls an op. `dialect` is that of the namespace that the function is in; `slf` is the tensor whose method is called.
pub fn call<'py>(
    callable: &'static Callable,
    dialect: Option<Dialect>,
    slf: Option<Bound<'py, PyAny>>,
    args: &Arguments<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let result = match_arguments(callable, slf.clone(), args).and_then(|(given, out)| {
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

/// Writes a result into the tensor that `out` names, and returns that tensor.
#[cold]
fn write_out<'py>(
    op: &str,
    result: &Bound<'py, PyAny>,
    out: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (Ok(target), true) = (out.cast::<Var>(), result.is_instance_of::<Var>()) else {
        let kind = out.get_type().name()?;
        return Err(raise(
            out.py(),
            "ArgumentError",
            format!("{op}: out takes one tensor for one result, not {kind}"),
        ));
    };
    let meta = |v: &Var| v.look().meta();
    let (own, new) = (meta(target.get()), meta(result.cast::<Var>()?.get()));
    inplace::check_can_take(out.py(), op, own.dtype, new.dtype)?;
    let (own, new) = (own.dims, new.dims);
    if own != new && own.contains(&0) && target.get().dialect().empty_out_takes_shape() {
        inplace::replace(target, op, true, || Ok(result.clone()))?;
    } else {
        inplace::write(target, op, &[Index::Ellipsis], result)?;
    }
    Ok(out)
}
