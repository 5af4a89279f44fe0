//! Arguments matched to the parameters of an op, by position and by name.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyList, PyString};
use smallvec::SmallVec;

use super::arguments::Arguments;
use super::callable::Callable;
use crate::bind::convert::device::on_cpu;
use crate::bind::python::dialect::Dialect;
use crate::bind::value::var::Var;
use crate::ops::entry::{Convention, Entry, InPlace, Lit, Param, ParamKind};

/// Names of parameters in other libraries: ours, and theirs, which every function accepts.
const SYNONYMS: &[(&str, &str)] = &[
    ("axis", "dim"),
    ("keepdims", "keepdim"),
    ("x", "input"),
    ("x", "A"),
    ("y", "other"),
    ("axes", "perm"),
    ("axes", "dims"),
    ("axes", "dim"),
    ("axis", "dims"),
    ("shift", "shifts"),
    ("y", "exponent"),
    ("shape", "size"),
    ("target", "label"),
    ("x", "logit"),
    ("x", "x1"),
    ("y", "x2"),
    ("stop", "end"),
    ("y", "end"),
    ("y", "input2"),
    ("y", "tensor"),
    ("x", "tensor"),
    ("y", "B"),
    ("y", "vec"),
    ("x", "mat"),
    ("x", "mat1"),
    ("y", "mat2"),
    ("x", "vec1"),
    ("y", "vec2"),
    ("x", "batch1"),
    ("y", "batch2"),
    ("eps", "epsilon"),
    ("shape", "sizes"),
    ("start_axis", "start_dim"),
    ("stop_axis", "end_dim"),
    ("axis1", "dim1"),
    ("axis2", "dim2"),
    ("k", "diagonal"),
    ("k", "offset"),
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
    ("y", "src"),
    ("y", "values"),
    ("y", "B"),
    ("x", "a"),
    ("y", "b"),
    ("repeats", "dims"),
    ("sizes", "split_sizes"),
    ("threshold", "lambd"),
    ("training", "train"),
    ("correction", "ddof"),
];

/// The parameter for a device, which every function accepts, and which those that make tensors show.
pub const DEVICE: &str = "device";

/// Whether the function makes tensors of a dtype from other than tensors, or like one of them.
pub fn makes(entry: &Entry) -> bool {
    !entry.method && entry.params.iter().any(|p| p.kind.base == ParamKind::DType && p.kind.optional)
}

/// The arguments of a call, by parameter.
pub type Given<'py> = SmallVec<[Option<Bound<'py, PyAny>>; 6]>;

/// Gathers arguments into a list. If there are more positional arguments than parameters, they are the list of a
/// parameter that takes all the rest (`einsum("ij,jk", a, b)`, `meshgrid(x, y)`), or of a parameter that takes integers
/// and is the first after a method's tensor (`x.reshape(2, 3)`).
fn gather<'py>(py: Python<'py>, callable: &'static Callable, all: Given<'py>) -> PyResult<Given<'py>> {
    let &Callable { entry, name, .. } = callable;
    let lead = usize::from(entry.method);
    let ints = entry.params.get(lead).is_some_and(|p| p.kind.base == ParamKind::Ints);
    let rest = entry.params.iter().position(|p| p.kind.base == ParamKind::Rest);
    let Some(at) = rest.or(ints.then_some(lead)) else {
        return Err(PyTypeError::new_err(format!(
            "{name}() takes at most {} arguments ({} given)",
            entry.params.len(),
            all.len()
        )));
    };
    let list = PyList::new(py, all[at..].iter().flatten())?;
    let mut given: Given<'py> = all[..at].into();
    given.push(Some(list.into_any()));
    Ok(given)
}

/// Whether the arguments must be gathered although they are not too many: an integer stands for a dtype or a flag, so
/// it belongs to a shape (`zeros(2, 3)`, `x.reshape(2, 3)`), or a tensor for a list of tensors (`meshgrid(x, y)`).
fn takes_gathering(entry: &Entry, given: &Given<'_>) -> bool {
    let shaped = matches!(entry.params, [shape, dtype, ..] if shape.kind.base == ParamKind::Ints && dtype.kind.base == ParamKind::DType);
    let tensors = entry.params.first().is_some_and(|p| p.kind.base == ParamKind::Rest);
    let is = |i: usize, kind: fn(&Bound<'_, PyAny>) -> bool| {
        given.get(i).is_some_and(|o| o.as_ref().is_some_and(kind))
    };
    let flagged = entry.in_place == InPlace::AnyShape
        && matches!(entry.params, [_, shape, flag] if shape.kind.base == ParamKind::Ints && flag.kind.base == ParamKind::Bool);
    flagged && is(2, |o| !o.is_instance_of::<PyBool>())
        || shaped && is(1, |o| o.is_instance_of::<PyInt>())
        || tensors && is(0, |o| o.is_instance_of::<Var>())
}

/// Takes the arguments behind all parameters that are none of the op's: a name for the result, and before it the tensor that the
/// result is written to, where the dialect's function has a place for it.
#[cold]
fn take_rest<'py>(
    callable: &'static Callable,
    given: &mut Given<'py>,
    namespace: Option<Dialect>,
) -> Option<Bound<'py, PyAny>> {
    let own = callable.entry.params.len();
    let first = given.first()?.as_ref();
    let dialect = namespace.or_else(|| first.and_then(Var::dialect_of)).filter(|d| d.names_results())?;
    let has_out = callable.conventions(dialect).has(Convention::TakesOut);
    let is_name = |o: &Bound<'_, PyAny>| o.is_none() || o.is_instance_of::<PyString>();
    if given.len() <= own + 1 + usize::from(has_out) && given.last()?.as_ref().is_some_and(is_name) {
        given.pop();
    }
    if has_out && given.len() == own + 1 { given.pop()?.filter(|o| !o.is_none()) } else { None }
}

fn parameter(entry: &Entry, name: &str) -> Option<usize> {
    let find = |name: &str| entry.params.iter().position(|p| p.name == name);
    find(name).or_else(|| SYNONYMS.iter().filter(|s| s.1 == name).find_map(|s| find(s.0)))
}

/// The arguments of a call by parameter, and the argument `out`. `slf` is the tensor whose method is called.
#[inline]
pub fn match_arguments<'py>(
    callable: &'static Callable,
    slf: Option<Bound<'py, PyAny>>,
    args: &Arguments<'_, 'py>,
    namespace: Option<Dialect>,
) -> PyResult<(Given<'py>, Option<Bound<'py, PyAny>>)> {
    let &Callable { entry, name: called, .. } = callable;
    // Pushed one by one, which takes half the time of `collect` and `resize` for so few.
    let mut given = Given::new();
    slf.into_iter().chain(args.positional()).for_each(|o| given.push(Some(o)));
    let mut out =
        if given.len() > entry.params.len() { take_rest(callable, &mut given, namespace) } else { None };
    if given.len() > entry.params.len() || takes_gathering(entry, &given) {
        given = gather(args.py(), callable, given)?;
    }
    while given.len() < entry.params.len() {
        given.push(None);
    }
    let Some(names) = args.names()? else { return Ok((given, out)) };
    for (i, name) in names.iter_borrowed().enumerate() {
        let name = name.cast::<PyString>()?;
        let name = name.to_str()?;
        let Some(at) = parameter(entry, name) else {
            match name {
                "out" => out = Some(args.named(i)).filter(|o| !o.is_none()),
                DEVICE | "place" => on_cpu(called, &args.named(i))?,
                // Accepted and without effect: the names of results are not used.
                "name" => {}
                _ => {
                    return Err(PyTypeError::new_err(format!(
                        "{called}() got an unexpected keyword argument '{name}'; its parameters are {}",
                        signature(entry)
                    )));
                }
            }
            continue;
        };
        if given[at].is_some() {
            return Err(PyTypeError::new_err(format!(
                "{called}() got multiple values for argument '{}'",
                entry.params[at].name
            )));
        }
        given[at] = Some(args.named(i));
    }
    Ok((given, out))
}

/// The parameters as Python writes them.
pub fn signature(entry: &Entry) -> String {
    let param = |p: &Param| match p.default {
        None if p.kind.base == ParamKind::Rest => format!("*{}", p.name),
        None => p.name.to_owned(),
        Some(Lit::None) => format!("{}=None", p.name),
        Some(Lit::False) => format!("{}=False", p.name),
        Some(Lit::True) => format!("{}=True", p.name),
        Some(Lit::Int(i)) => format!("{}={i}", p.name),
        Some(Lit::Float(f)) => format!("{}={f:?}", p.name),
        Some(Lit::Str(s)) => format!("{}='{s}'", p.name),
        Some(Lit::Ints(i)) => format!("{}={i:?}", p.name),
    };
    let device = makes(entry).then(|| format!("{DEVICE}=None"));
    format!("({})", entry.params.iter().map(param).chain(device).collect::<Vec<_>>().join(", "))
}
