//! One call of an entry: arguments found by place and name, converted by its parameters, and the result made Python's.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};
use smallvec::SmallVec;

use super::convert;
use super::dialect::Dialect;
use super::error::raise;
use super::var::Var;
use crate::error::{Error, Result};
use crate::graph::Tensor;
use crate::ops::entry::{Arg, Base, Entry, Lit, Param, Value};
use crate::ops::movement::reshape_to;

/// Names that other libraries give to a parameter, accepted everywhere.
const SYNONYMS: &[(&str, &str)] = &[
    ("axis", "dim"),
    ("keepdims", "keepdim"),
    ("x", "input"),
    ("y", "other"),
    ("axes", "perm"),
    ("axes", "dims"),
    ("axis", "dims"),
    ("shift", "shifts"),
    ("y", "exponent"),
    ("shape", "size"),
    ("target", "label"),
    ("x", "logit"),
    ("x", "x1"),
    ("y", "x2"),
    ("y", "end"),
    ("y", "mat2"),
    ("y", "vec"),
    ("eps", "epsilon"),
    ("shape", "sizes"),
    ("start_axis", "start_dim"),
    ("stop_axis", "end_dim"),
    ("axis1", "dim1"),
    ("axis2", "dim2"),
    ("k", "diagonal"),
    ("k", "offset"),
    ("stop", "end"),
    ("num", "steps"),
    ("n_rows", "n"),
    ("n_cols", "m"),
    ("tensors", "arrays"),
    ("tensors", "x"),
    ("pad_width", "pad"),
    ("value", "constant_values"),
    ("repeats", "repeat_times"),
    ("indices", "index"),
    ("index", "indices"),
];

/// The arguments of a call, by parameter.
pub type Given<'py> = SmallVec<[Option<Bound<'py, PyAny>>; 6]>;

/// More positional arguments than parameters: where a parameter takes them all (`einsum("ij,jk", a, b)`), or the first
/// one is a list of tensors (`meshgrid(x, y)`), or the first one after a method's tensor takes integers
/// (`x.reshape(2, 3)`), they are its list.
pub fn gathered<'py>(py: Python<'py>, entry: &'static Entry, all: Given<'py>) -> PyResult<Given<'py>> {
    let lead = usize::from(entry.method);
    let ints = entry.params.get(lead).is_some_and(|p| p.kind.base == Base::Ints);
    let rest = entry.params.iter().position(|p| p.kind.base == Base::Rest);
    let tensors = entry.params.first().filter(|p| p.kind.base == Base::Tensors).map(|_| 0);
    let Some(at) = tensors.or(rest).or(ints.then_some(lead)) else {
        return Err(PyTypeError::new_err(format!(
            "{}() takes at most {} arguments ({} given)",
            entry.names[0],
            entry.params.len(),
            all.len()
        )));
    };
    let list = PyList::new(py, all[at..].iter().flatten())?;
    let mut given: Given<'py> = all[..at].into();
    given.push(Some(list.into_any()));
    Ok(given)
}

/// Whether an integer stands where a dtype should (the sizes of a shape, as in `zeros(2, 3)`), or a tensor where a list of
/// them should (`meshgrid(x, y)`).
pub fn one_by_one(entry: &Entry, given: &Given<'_>) -> bool {
    let shaped = matches!(entry.params, [shape, dtype, ..] if shape.kind.base == Base::Ints && dtype.kind.base == Base::DType);
    let tensors = entry.params.first().is_some_and(|p| p.kind.base == Base::Tensors);
    let is = |i: usize, kind: fn(&Bound<'_, PyAny>) -> bool| {
        given.get(i).is_some_and(|o| o.as_ref().is_some_and(kind))
    };
    shaped && is(1, |o| o.is_instance_of::<PyInt>()) || tensors && is(0, |o| o.is_instance_of::<Var>())
}

pub fn parameter(entry: &Entry, name: &str) -> Option<usize> {
    let find = |name: &str| entry.params.iter().position(|p| p.name == name);
    find(name).or_else(|| SYNONYMS.iter().filter(|s| s.1 == name).find_map(|s| find(s.0)))
}

/// Makes a vector of a 0-d tensor whose only axis was named, though it has none. Whether that was so.
fn lifted(entry: &Entry, args: &mut [Arg]) -> bool {
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

/// The result for a 0-d tensor from that for a vector of one element.
fn lowered(value: Value) -> Result<Value> {
    let lower = |t: Tensor| if t.dims() == [1] { reshape_to(&t, &[]) } else { Ok(t) };
    let lower_all = |list: Vec<Tensor>| list.into_iter().map(lower).collect::<Result<Vec<_>>>();
    Ok(match value {
        Value::Tensor(t) => Value::Tensor(lower(t)?),
        Value::List(list) => Value::List(lower_all(list)?),
        Value::Tuple(list) => Value::Tuple(lower_all(list)?),
        value => value,
    })
}

pub fn run<'py>(
    py: Python<'py>,
    entry: &'static Entry,
    dialect: Option<Dialect>,
    given: &[Option<Bound<'py, PyAny>>],
) -> PyResult<Bound<'py, PyAny>> {
    let name = entry.names[0];
    let mut args: SmallVec<[Arg; 4]> = SmallVec::new();
    let mut from = None;
    let mut bytes = 0;
    for (param, o) in entry.params.iter().zip(given) {
        let arg = match (o, param.default) {
            (Some(o), _) => match convert::argument(param.kind, o)
                .map_err(|e| too_large(py, name, param, e))?
            {
                Some(arg) => {
                    if from.is_none() {
                        from = Var::dialect_of(o).or_else(|| among(param, o));
                    }
                    arg
                }
                None => {
                    let got = o.get_type().name()?;
                    return Err(raise(
                        py,
                        "ArgumentError",
                        format!("{name}: {} must be {}, not {got}", param.name, convert::wanted(param.kind)),
                    ));
                }
            },
            (None, Some(lit)) => Arg::from(lit),
            (None, None) => {
                return Err(PyTypeError::new_err(format!(
                    "{name}() missing required argument: '{}'",
                    param.name
                )));
            }
        };
        if let Arg::Tensor(t) = &arg {
            bytes += t.array.len() * t.dtype().size();
        }
        args.push(arg);
    }
    let dialect = from.or(dialect).unwrap_or(Dialect::Native);
    for (arg, o) in args.iter_mut().zip(given) {
        if let (Arg::DType(dtype), Some(o)) = (arg, o) {
            *dtype = convert::dtype_in(o, dialect)?.unwrap_or(*dtype);
        }
    }
    // Whoever sees the result may write to it, and the tensor it was made of is to see that.
    let base =
        given.first().and_then(|o| o.as_ref()).filter(|_| entry.views).and_then(|o| o.cast::<Var>().ok());
    if let (Some(base), Some(Arg::Tensor(x))) = (base, args.first_mut()) {
        convert::lift(base.get().share())?;
        *x = base.get().operand();
    }
    // Long work lets other Python threads run.
    let result = if bytes < 1 << 20 {
        match (entry.call)(&args) {
            Err(error)
                if matches!(*error, Error::Index { .. })
                    && dialect.numbers_have_an_axis()
                    && lifted(entry, &mut args) =>
            {
                (entry.call)(&args).and_then(lowered)
            }
            result => result,
        }
    } else {
        super::enter::detached(py, || (entry.call)(&args))
    };
    let var = |t| match base {
        Some(base) => Var::view_of(base, t, dialect),
        None => Var::result(py, t, dialect),
    };
    Ok(match result.map_err(|e| e.of(entry.names))? {
        Value::Tensor(t) => var(t)?.into_any(),
        Value::List(list) => {
            PyList::new(py, list.into_iter().map(var).collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Value::Tuple(list) => {
            PyTuple::new(py, list.into_iter().map(var).collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Value::Bool(b) => pyo3::types::PyBool::new(py, b).to_owned().into_any(),
        Value::DType(d) => convert::descr(py, d).into_any(),
        Value::None => py.None().into_bound(py),
    })
}

/// The dialect of the first tensor in a list of them.
fn among(param: &Param, o: &Bound<'_, PyAny>) -> Option<Dialect> {
    if !matches!(param.kind.base, Base::Tensors | Base::Rest) {
        return None;
    }
    o.try_iter().ok()?.flatten().find_map(|x| Var::dialect_of(&x))
}

/// Python's complaint of an integer of more than 64 bits, naming the function; any other exception as it is.
fn too_large(py: Python<'_>, name: &str, param: &Param, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyOverflowError>(py) {
        return error;
    }
    raise(py, "ArgumentError", format!("{name}: {}: an integer does not fit into 64 bits", param.name))
}

/// The parameters as Python writes them.
pub fn signature(entry: &Entry) -> String {
    let param = |p: &Param| match p.default {
        None if p.kind.base == Base::Rest => format!("*{}", p.name),
        None => p.name.to_owned(),
        Some(Lit::None) => format!("{}=None", p.name),
        Some(Lit::False) => format!("{}=False", p.name),
        Some(Lit::True) => format!("{}=True", p.name),
        Some(Lit::Int(i)) => format!("{}={i}", p.name),
        Some(Lit::Float(f)) => format!("{}={f:?}", p.name),
        Some(Lit::Str(s)) => format!("{}='{s}'", p.name),
        Some(Lit::Ints(i)) => format!("{}={i:?}", p.name),
    };
    format!("({})", entry.params.iter().map(param).collect::<Vec<_>>().join(", "))
}
