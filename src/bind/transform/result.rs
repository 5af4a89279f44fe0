//! Results of compiled functions: structures with places for the outputs of a program.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use smallvec::SmallVec;

use crate::bind::python::error::raise;

/// How the outputs of a program make up the result.
pub(super) enum Shape {
    /// The next output.
    Output,
    Tuple(Box<[Shape]>),
    List(Box<[Shape]>),
    Dict(Box<[(Py<PyAny>, Shape)]>),
    /// The same in each call: None, a truth value, a number of Python or a string.
    Same(Py<PyAny>),
}

/// Whether an object is None, a truth value, a number of Python or a string.
fn is_plain(x: &Bound<'_, PyAny>) -> bool {
    x.is_none()
        || x.is_exact_instance_of::<PyBool>()
        || x.is_exact_instance_of::<PyInt>()
        || x.is_exact_instance_of::<PyFloat>()
        || x.is_exact_instance_of::<PyString>()
}

impl Shape {
    /// The shape of a result that has `hole` where outputs go. None if it has something else in it than tuples, lists, dicts and
    /// plain objects.
    fn of(result: &Bound<'_, PyAny>, hole: &Bound<'_, PyAny>) -> PyResult<Option<Shape>> {
        fn all<'py>(
            items: impl Iterator<Item = Bound<'py, PyAny>>,
            hole: &Bound<'_, PyAny>,
        ) -> PyResult<Option<Box<[Shape]>>> {
            items.map(|x| Shape::of(&x, hole)).collect()
        }
        Ok(if result.is(hole) {
            Some(Shape::Output)
        } else if let Ok(items) = result.cast_exact::<PyTuple>() {
            all(items.iter(), hole)?.map(Shape::Tuple)
        } else if let Ok(items) = result.cast_exact::<PyList>() {
            all(items.iter(), hole)?.map(Shape::List)
        } else if let Ok(items) = result.cast_exact::<PyDict>() {
            let pair = |(key, x): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
                let shape = if is_plain(&key) { Shape::of(&x, hole)? } else { None };
                Ok(shape.map(|shape| (key.unbind(), shape)))
            };
            items.iter().map(pair).collect::<PyResult<Option<Box<[_]>>>>()?.map(Shape::Dict)
        } else {
            is_plain(result).then(|| Shape::Same(result.clone().unbind()))
        })
    }

    /// How many outputs it has.
    pub(super) fn outputs(&self) -> usize {
        match self {
            Shape::Output => 1,
            Shape::Same(_) => 0,
            Shape::Tuple(parts) | Shape::List(parts) => parts.iter().map(Shape::outputs).sum(),
            Shape::Dict(parts) => parts.iter().map(|(_, part)| part.outputs()).sum(),
        }
    }

    /// The result with the next outputs.
    pub(super) fn filled<'py>(
        &self,
        py: Python<'py>,
        outputs: &mut impl Iterator<Item = Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Shape::Output => outputs.next().expect("there are as many outputs as the shape has"),
            Shape::Same(x) => x.bind(py).clone(),
            Shape::Tuple(parts) => {
                let parts: SmallVec<[_; 8]> =
                    parts.iter().map(|part| part.filled(py, outputs)).collect::<PyResult<_>>()?;
                PyTuple::new(py, parts)?.into_any()
            }
            Shape::List(parts) => {
                let list = PyList::empty(py);
                for part in parts {
                    list.append(part.filled(py, outputs)?)?;
                }
                list.into_any()
            }
            Shape::Dict(parts) => {
                let dict = PyDict::new(py);
                for (key, part) in parts {
                    dict.set_item(key, part.filled(py, outputs)?)?;
                }
                dict.into_any()
            }
        })
    }
}

/// A result that is made of tuples, lists, dicts and plain objects, with places for outputs.
#[pyclass(frozen, module = "ferrograd._core")]
pub struct ResultShape(pub(super) Arc<Shape>);

#[pymethods]
impl ResultShape {
    /// The shape of a result that has `hole` where outputs go; None if it has something else in it.
    #[staticmethod]
    fn of(result: &Bound<'_, PyAny>, hole: &Bound<'_, PyAny>) -> PyResult<Option<ResultShape>> {
        Ok(Shape::of(result, hole)?.map(|shape| ResultShape(Arc::new(shape))))
    }

    /// The result with outputs at its places.
    fn filled<'py>(&self, py: Python<'py>, outputs: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        if outputs.len() != self.0.outputs() {
            return Err(raise(py, "ArgumentError", "these are not as many outputs as the result has"));
        }
        self.0.filled(py, &mut outputs.into_iter())
    }
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<ResultShape>()
}
