//! Python objects as the arguments of ops.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use smallvec::SmallVec;

use super::array::from_object;
use super::index::indices;
use super::list::items;
use super::number::{index, number, truth};
use super::numpy::{dtype, no_dtype};
use super::tensor::{is_list, package_of, tensor, tensors};
use crate::array::Item;
use crate::bind::python::dialect::Dialect;
use crate::bind::value::var::Var;
use crate::graph::{Tensor, modes};
use crate::ops::entry::{Arg, Param, ParamKind, ParamType};

/// A Python object as an argument of a type. `Ok(None)` if it is not of that type.
pub fn argument(kind: ParamType, o: &Bound<'_, PyAny>) -> PyResult<Option<Arg>> {
    if kind.optional && o.is_none() {
        return Ok(Some(Arg::None));
    }
    Ok(match kind.base {
        ParamKind::Tensor => tensor(o)?.map(Arg::Tensor),
        ParamKind::Operand => match o.cast::<Var>() {
            Ok(v) => Some(Arg::Tensor(v.get().operand())),
            Err(_) => match number(o)? {
                Some(n) => Some(Arg::Number(n)),
                None => tensor(o)?.map(Arg::Tensor),
            },
        },
        ParamKind::Tensors => tensors(o)?.map(Arg::Tensors),
        ParamKind::Rest => match tensor(o)? {
            Some(t) => Some(Arg::Tensors(vec![t])),
            None => tensors(o)?.map(Arg::Tensors),
        },
        ParamKind::Bool => truth(o).map(Arg::Bool),
        ParamKind::Int => index(o)?.map(Arg::Int),
        ParamKind::Float => scalar(o)?.and_then(|n| n.to_f64()).map(Arg::Float),
        ParamKind::Number => scalar(o)?.map(Arg::Number),
        ParamKind::Ints => ints(o)?.map(Arg::Ints),
        ParamKind::IntsOrStr => match o.extract() {
            Ok(word) => Some(Arg::Str(word)),
            Err(_) => ints(o)?.map(Arg::Ints),
        },
        ParamKind::Pairs => match index(o)? {
            Some(n) => Some(Arg::Int(n)),
            None => pairs(o)?,
        },
        ParamKind::Count => match index(o)? {
            Some(i) => Some(Arg::Int(i)),
            None => ints(o)?.map(Arg::Ints),
        },
        ParamKind::Widths => widths(o)?.map(|w| Arg::Widths(w.into_vec())),
        ParamKind::Str => o.extract().ok().map(Arg::Str),
        ParamKind::Choice => truth(o).map(Arg::Bool).or_else(|| o.extract().ok().map(Arg::Str)),
        ParamKind::Order => match scalar(o)? {
            Some(n) => n.to_f64().map(|_| Arg::Number(n)),
            None => o.extract().ok().map(Arg::Str),
        },
        ParamKind::DType => dtype(o)?.map(Arg::DType),
        ParamKind::Index => indices(o)?.map(Arg::Index),
    })
}

/// A number or a list of numbers where a native function wants a tensor. None for other parameters and other objects.
pub fn of_numbers(kind: ParamKind, o: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    let is_wanted = matches!(kind, ParamKind::Tensor | ParamKind::Operand);
    if !is_wanted || !is_list(o) && number(o)?.is_none() {
        return Ok(None);
    }
    from_object(o, None).map(Some)
}

/// The number of a Python or NumPy scalar, or of a tensor of one element whose gradient is not wanted.
fn scalar(o: &Bound<'_, PyAny>) -> PyResult<Option<Item>> {
    match o.cast::<Var>() {
        Ok(v) if v.get().tensor().array.len() != 1 || loses_gradient(o) => Ok(None),
        Ok(_) => number(&o.call_method0("item")?),
        Err(_) => number(o),
    }
}

/// Whether an object is a tensor whose gradient would end where its number is taken.
fn loses_gradient(o: &Bound<'_, PyAny>) -> bool {
    modes::is_recording() && o.cast::<Var>().is_ok_and(|v| v.get().look().is_tracked())
}

/// Says why an object is no argument for a parameter: a sentence that begins with the parameter's name.
pub fn refusal(param: &Param, o: &Bound<'_, PyAny>, dialect: Dialect) -> PyResult<String> {
    let name = param.name;
    if matches!(param.kind.base, ParamKind::Tensor | ParamKind::Operand)
        && let Some(package) = package_of(o)?
    {
        return Ok(dialect.foreign_tensor(name, package));
    }
    Ok(format!("{name} {}", refused(param.kind, o, dialect)?))
}

/// The class of an object, with its module if it is one of another library that has the name of ours.
fn class_of(o: &Bound<'_, PyAny>) -> PyResult<String> {
    let (class, own) = (o.get_type(), o.get_type().name()?.to_string());
    if own == "Tensor" { Ok(class.fully_qualified_name()?.to_string()) } else { Ok(own) }
}

/// The end of a sentence about a parameter of a type.
fn refused(kind: ParamType, o: &Bound<'_, PyAny>, dialect: Dialect) -> PyResult<String> {
    let wanted = wanted(kind);
    match kind.base {
        ParamKind::DType if o.is_instance_of::<PyString>() => {
            Ok(format!("must be {wanted}: {}", no_dtype(&o.extract::<String>()?)))
        }
        ParamKind::Tensors | ParamKind::Rest
            if o.is_instance_of::<PyList>() || o.is_instance_of::<PyTuple>() =>
        {
            for (i, item) in o.try_iter()?.enumerate() {
                let item = item?;
                if let Some(package) = package_of(&item)? {
                    let text = dialect.foreign_tensor(&format!("element {i}"), package);
                    return Ok(format!("must be {wanted}, and {text}"));
                }
                if tensor(&item)?.is_none() {
                    return Ok(format!("must be {wanted}, and element {i} is a {}", class_of(&item)?));
                }
            }
            Ok(format!("must be {wanted}"))
        }
        ParamKind::Ints | ParamKind::Count
            if o.is_instance_of::<PyList>() || o.is_instance_of::<PyTuple>() =>
        {
            for (i, item) in o.try_iter()?.enumerate() {
                let item = item?;
                if index(&item)?.is_none() {
                    return Ok(format!("must be {wanted}, and element {i} is a {}", class_of(&item)?));
                }
            }
            Ok(format!("must be {wanted}, not {}", class_of(o)?))
        }
        ParamKind::Float | ParamKind::Number | ParamKind::Order if loses_gradient(o) => Ok(format!(
            "must be {wanted}, not a tensor that requires a gradient, which would end here: write x.detach(), or \
             compute with operators"
        )),
        _ => Ok(format!("must be {wanted}, not {}", class_of(o)?)),
    }
}

/// The objects that a type takes, for errors.
fn wanted(kind: ParamType) -> String {
    let base = match kind.base {
        ParamKind::Tensor => "a Tensor",
        ParamKind::Operand => "a Tensor or a number",
        ParamKind::Tensors => "a list of Tensors",
        ParamKind::Rest => "Tensors or a list of them",
        ParamKind::Bool => "a bool",
        ParamKind::Int => "an int",
        ParamKind::Float | ParamKind::Number => "a number",
        ParamKind::IntsOrStr => "an int, a list of ints or a str",
        ParamKind::Pairs => "an int or two lists of ints",
        ParamKind::Ints | ParamKind::Count => "an int or a list of ints",
        ParamKind::Widths => "an int, a pair of ints or a list of pairs",
        ParamKind::Str => "a str",
        ParamKind::Choice => "a bool or a str",
        ParamKind::Order => "a number or a str",
        ParamKind::DType => "a dtype",
        ParamKind::Index => "an index (integers, slices, None, Ellipsis, lists or arrays)",
    };
    if kind.optional { format!("{base} or None") } else { base.to_owned() }
}

fn ints(o: &Bound<'_, PyAny>) -> PyResult<Option<SmallVec<[i64; 4]>>> {
    if let Some(i) = index(o)? {
        return Ok(Some(SmallVec::from_elem(i, 1)));
    }
    if o.is_instance_of::<PyString>() || o.try_iter().is_err() {
        return Ok(None);
    }
    items(o, |i| index(&i))
}

fn pairs(o: &Bound<'_, PyAny>) -> PyResult<Option<Arg>> {
    if !(o.is_instance_of::<PyList>() || o.is_instance_of::<PyTuple>()) || o.len()? != 2 {
        return Ok(None);
    }
    Ok(ints(&o.get_item(0)?)?
        .zip(ints(&o.get_item(1)?)?)
        .map(|(x, y)| Arg::Pairs(x.into_vec(), y.into_vec())))
}

/// Pairs of integers, such as the widths before and after an axis.
type Pairs = SmallVec<[(i64, i64); 4]>;

/// A list of pairs. One pair counts as a list of one, and a number counts as the pair of itself and itself.
fn widths(o: &Bound<'_, PyAny>) -> PyResult<Option<Pairs>> {
    match ints(o)?.as_deref() {
        Some(&[n]) => return Ok(Some(SmallVec::from_elem((n, n), 1))),
        Some(&[a, b]) => return Ok(Some(SmallVec::from_elem((a, b), 1))),
        Some([]) => return Ok(Some(SmallVec::new())),
        Some(_) => return Ok(None),
        None => {}
    }
    if o.is_instance_of::<PyString>() || o.try_iter().is_err() {
        return Ok(None);
    }
    let pair = |item: Bound<'_, PyAny>| match ints(&item)?.as_deref() {
        Some(&[n]) => Ok(Some((n, n))),
        Some(&[a, b]) => Ok(Some((a, b))),
        _ => Ok(None),
    };
    items(o, pair)
}
