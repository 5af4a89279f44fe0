//! The parts of an index expression.

use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PyRange, PySlice, PyTuple};

use super::array::from_object;
use super::number::{index, number};
use super::tensor::tensor;
use crate::array::{Array, Item};
use crate::bind::python::capi::slice_bounds;
use crate::bind::python::error::{OrRaise, is_of_the_caller};
use crate::bind::value::var::Var;
use crate::dtype::{Bool8, DType};
use crate::graph::Tensor;
use crate::ops::Index;

/// The parts of an index expression. `Ok(None)` if it is none.
pub fn indices(o: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Index>>> {
    match o.cast::<PyTuple>() {
        Ok(parts) => parts.iter().map(|p| one_index(&p)).collect(),
        Err(_) => Ok(one_index(o)?.map(|i| vec![i])),
    }
}

fn one_index(o: &Bound<'_, PyAny>) -> PyResult<Option<Index>> {
    if let Ok(i) = o.cast_exact::<PyInt>() {
        return Ok(Some(Index::Int(i.extract()?)));
    }
    if let Ok(s) = o.cast::<PySlice>() {
        let index = |[start, stop, step]: [i64; 3]| Index::Slice {
            start: Some(start),
            stop: Some(stop),
            step: Some(step),
        };
        return Ok(slice_bounds(s).map(index));
    }
    if o.is_none() {
        return Ok(Some(Index::NewAxis));
    }
    if o.is_instance_of::<PyEllipsis>() {
        return Ok(Some(Index::Ellipsis));
    }
    if o.is_instance_of::<PyBool>() {
        return Ok(Some(truth_index(o.is_truthy()?)));
    }
    if !o.is_instance_of::<Var>()
        && !o.is_instance_of::<PyUntypedArray>()
        && let Some(i) = index(o)?
    {
        return Ok(Some(Index::Int(i)));
    }
    if let Some(t) = tensor(o)? {
        return Ok(Some(Index::Tensor(t)));
    }
    if o.is_instance_of::<PyList>() || o.is_instance_of::<PyTuple>() || o.is_instance_of::<PyRange>() {
        let list = match from_object(o, None) {
            Ok(list) => list,
            Err(e) if is_of_the_caller(o.py(), &e) => return Err(e),
            Err(_) => return Ok(None),
        };
        // A list without elements names no elements, whatever dtype it would have.
        let list = match list.array.len() {
            0 => Tensor::constant(Array::zeros("index", DType::I64, list.dims()).or_raise()?),
            _ => list,
        };
        return Ok(Some(Index::Tensor(list)));
    }
    Ok(match number(o)? {
        Some(Item::Bool(b)) => Some(truth_index(b)),
        _ => None,
    })
}

fn truth_index(b: bool) -> Index {
    Index::Tensor(Tensor::constant(Array::scalar(Bool8::from(b))))
}
