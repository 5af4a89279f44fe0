//! `x[...]` for reading and writing, and a tensor as a sequence along its first axis.

use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PyFloat, PyIterator, PyList, PySlice, PyTuple};

use super::inplace;
use crate::array::Item;
use crate::bind::convert::index::indices;
use crate::bind::convert::list::objects;
use crate::bind::convert::tensor::package_of;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::gil::{ask_in_turn, listening, without_gil};
use crate::bind::value::var::Var;
use crate::dtype::DType;
use crate::graph::Tensor;
use crate::ops::entry::Value;
use crate::ops::movement::cast;
use crate::ops::{Index, index, movement};

/// An index with arrays that reads this many bytes runs without the GIL.
const LONG: usize = 1 << 20;

/// The parts of an index expression, as the dialect reads them.
fn index_of(key: &Bound<'_, PyAny>, dialect: Dialect, writes: bool) -> PyResult<Vec<Index>> {
    let several = key.cast::<PyList>().ok().filter(|list| dialect.lists_are_tuples() && names_axes(list));
    let tuple = several.map(|list| list.to_tuple());
    if tuple.is_some() {
        let text = c"Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] instead of \
                     x[seq].";
        PyErr::warn(key.py(), &key.py().get_type::<PyUserWarning>(), text, 1)?;
    }
    let Some(mut parts) = indices(tuple.as_ref().map_or(key, |t| t.as_any()))? else {
        let foreign = match key.cast::<PyTuple>() {
            Ok(parts) => parts.iter().find_map(|part| package_of(&part).transpose()),
            Err(_) => package_of(key).transpose(),
        };
        if let Some(package) = foreign.transpose()? {
            let text = dialect.foreign_tensor("a tensor in an index", package);
            return Err(raise(key.py(), "IndexOutOfRange", text));
        }
        let is_float = |part: Bound<'_, PyAny>| part.is_instance_of::<PyFloat>();
        let has_float = match key.cast::<PyTuple>() {
            Ok(parts) => parts.iter().any(is_float),
            Err(_) => is_float(key.clone()),
        };
        let float = if has_float { "a float is no index (int(i) makes an integer of it): " } else { "" };
        let text = format!(
            "{float}an index is made of integers, slices of them (with a step other than 0; slice indices must be \
             integers or None), None, Ellipsis, lists, ranges and arrays"
        );
        return Err(raise(key.py(), "IndexOutOfRange", text));
    };
    if dialect.bytes_are_masks() {
        for part in &mut parts {
            if let Index::Tensor(t) = part
                && t.dtype() == DType::U8
            {
                let text = c"indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.";
                PyErr::warn(key.py(), &key.py().get_type::<PyUserWarning>(), text, 1)?;
                *t = cast(t, DType::Bool).or_raise()?;
            }
        }
    }
    if dialect.numbers_select() && !(writes && all_are_numbers_of_a_trace(&parts)) {
        for part in &mut parts {
            if let Index::Tensor(t) = part
                && t.rank() == 0
                && t.levels.is_empty()
                && let Item::Int(i) = t.array.item()
                && let Ok(i) = i64::try_from(i)
            {
                *part = Index::Int(i);
            }
        }
        if parts.iter().any(|part| matches!(part, Index::Tensor(_))) {
            for part in &mut parts {
                if let Index::Int(i) = *part {
                    *part = Index::Select(i);
                }
            }
        }
    }
    Ok(parts)
}

/// The tensors in an index.
fn tensors_of(parts: &[Index]) -> impl Iterator<Item = &Tensor> + Clone {
    parts.iter().filter_map(|part| if let Index::Tensor(t) = part { Some(t) } else { None })
}

/// Whether the tensors in an index are integers without axes, and a program reads one of them in each run. A write there
/// is the same whether they are integers or positions.
fn all_are_numbers_of_a_trace(parts: &[Index]) -> bool {
    let mut tensors = tensors_of(parts);
    let is_number = |t: &Tensor| t.rank() == 0 && t.levels.is_empty() && t.dtype() != DType::Bool;
    tensors.clone().all(is_number) && tensors.any(|t| t.array.is_sealed())
}

/// Whether a list holds more than numbers, so that each element is the index of one axis.
fn names_axes(list: &Bound<'_, PyList>) -> bool {
    list.len() < 32
        && list.iter().any(|o| {
            o.is_none()
                || o.is_instance_of::<Var>()
                || o.is_instance_of::<PyList>()
                || o.is_instance_of::<PyTuple>()
                || o.is_instance_of::<PySlice>()
                || o.is_instance_of::<PyEllipsis>()
        })
}

#[pymethods]
impl Var {
    fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let py = slf.py();
        let dialect = slf.get().dialect();
        let key = index_of(key, dialect, false)?;
        if !key.iter().any(|i| matches!(i, Index::Tensor(_))) {
            return Var::view_or_result(slf, |x| index::get(x, &key).map_err(|e| dialect.in_its_words(e)));
        }
        let mut x = slf.get().operand_in_place();
        if x.is_tracked() {
            x = slf.get().operand();
        }
        if x.edge.is_none() && !x.detach_reason.is_known() {
            // No gradient flows to an index, so what is read by one that was computed of tracked tensors has none.
            let known = Tensor::detach_reason_of(&tensors_of(&key).collect::<Vec<_>>());
            x.detach_reason = known.with_stems(x.detach_reason.stems());
        }
        let out = if x.array.len() * x.dtype().size() >= LONG {
            without_gil(py, || index::get(&x, &key))
        } else {
            listening(ask_in_turn, || index::get(&x, &key))
        };
        Var::result(py, out.map_err(|e| dialect.in_its_words(e)).or_raise()?, dialect)
    }

    fn __setitem__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let key = index_of(key, slf.get().dialect(), true)?;
        inplace::write(slf, "setitem", &key, value)
    }

    fn __delitem__(&self, _key: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err("the elements of a Tensor cannot be deleted"))
    }

    fn __len__(&self) -> PyResult<usize> {
        let first = self.look().dims().first().copied();
        first.ok_or_else(|| PyTypeError::new_err("len() of a 0-d tensor"))
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyIterator>> {
        slf.get().share().or_raise()?;
        let (py, x) = (slf.py(), slf.get().operand_in_place());
        if x.rank() == 0 {
            return Err(PyTypeError::new_err("iteration over a 0-d tensor"));
        }
        let dialect = slf.get().dialect();
        let rows = match movement::unbind(&x, 0).or_raise()? {
            Value::Tuple(rows) => rows,
            _ => vec![],
        };
        objects(py, rows.into_iter().map(|t| Var::view_of(slf, t, dialect)))?.try_iter()
    }

    /// Whether an element equals the value.
    fn __contains__(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let equal = slf.as_any().rich_compare(value, CompareOp::Eq)?;
        match equal.cast::<Var>() {
            Ok(equal) => Ok(index::argwhere(&equal.get().tensor()).or_raise()?.dims()[0] > 0),
            Err(_) => equal.is_truthy(),
        }
    }
}

/// Calls a function in which a negative index is out of bounds, whatever the dialect.
#[pyfunction]
#[pyo3(signature = (function, *args))]
fn from_zero<'py>(function: &Bound<'py, PyAny>, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    index::from_zero(|| function.call1(args))
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(from_zero, m)?)
}
