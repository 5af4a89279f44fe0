//! Numbers that Python gives to each run of a program, such as the learning rate of an optimizer and the factors that
//! depend on the number of its step.

use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::array::{Array, Item};
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::OrRaise;
use crate::bind::python::once::intern;
use crate::bind::value::capture::{Captures, Cell, HostCell, is_same_view};
use crate::bind::value::var::{Value, Var};
use crate::dtype::{DType, dispatch};
use crate::graph::{Tensor, modes};

/// An object with two methods. `advance()` returns a list of numbers and a token, or None where the program is not the
/// one for them; it may count in Python. `undo(token)` takes back what `advance` counted.
pub struct Source {
    object: Py<PyAny>,
    dtype: DType,
    /// How many numbers there are.
    len: usize,
}

/// The numbers that the sources of a program gave for one run. Unless the run ends well, the drop undoes their counts.
pub struct Advanced<'a, 'py> {
    py: Python<'py>,
    /// The sources that have counted, with their tokens.
    counted: Vec<(&'a Source, Bound<'py, PyAny>)>,
    pub arrays: SmallVec<[Array; 8]>,
}

impl Source {
    pub fn of(cell: &HostCell, py: Python<'_>) -> Source {
        Source { object: cell.source.clone_ref(py), dtype: cell.numbers.dtype(), len: cell.numbers.len() }
    }

    pub fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.object)
    }
}

impl<'a, 'py> Advanced<'a, 'py> {
    /// Asks the sources in turn. None where one of them is not for this program any more.
    pub fn of(py: Python<'py>, sources: &'a [Source]) -> PyResult<Option<Advanced<'a, 'py>>> {
        let mut advanced = Advanced { py, counted: vec![], arrays: SmallVec::new() };
        for source in sources {
            let given = source.object.call_method0(py, intern!(py, "advance"))?.into_bound(py);
            if given.is_none() {
                return Ok(None);
            }
            let (numbers, token): (Vec<f64>, Bound<'py, PyAny>) = given.extract()?;
            advanced.counted.push((source, token));
            if numbers.len() != source.len {
                return Ok(None);
            }
            if !numbers.is_empty() {
                advanced.arrays.push(array(&numbers, source.dtype).or_raise()?);
            }
        }
        Ok(Some(advanced))
    }

    /// Says that the run has ended well.
    pub fn keep(mut self) {
        self.counted.clear();
    }
}

impl Drop for Advanced<'_, '_> {
    fn drop(&mut self) {
        for (source, token) in self.counted.drain(..).rev() {
            undo(self.py, &source.object, token);
        }
    }
}

/// Takes back what a source counted. An error there has nobody to tell but Python's hook for such errors.
fn undo(py: Python<'_>, source: &Py<PyAny>, token: Bound<'_, PyAny>) {
    if let Err(e) = source.call_method1(py, intern!(py, "undo"), (token,)) {
        e.write_unraisable(py, None);
    }
}

/// Takes back what the sources of a trace counted.
pub fn undo_all(py: Python<'_>, cells: Vec<HostCell>) {
    for cell in cells.into_iter().rev() {
        undo(py, &cell.source, cell.token.into_bound(py));
    }
}

fn array(numbers: &[f64], dtype: DType) -> crate::error::Result<Array> {
    dispatch!(dtype, float T => {
        Array::build("numbers", &[numbers.len()], |out: &mut [T]| {
            out.iter_mut().zip(numbers).for_each(|(out, &x)| *out = x as T);
        })
    }, else unreachable!("a floating dtype"))
}

/// Numbers as a tensor with one axis, in float32 if ``single`` and else in float64. Each run of the program of this thread's
/// trace makes the tensor anew from what ``source.advance()`` gives. Without numbers the source is asked all the same.
/// None while no trace is taken.
///
/// ``source.undo(token)`` takes back what the source counted for the numbers given here.
#[pyfunction]
fn numbers_of_host<'py>(
    py: Python<'py>,
    numbers: Vec<f64>,
    single: bool,
    source: Py<PyAny>,
    token: Py<PyAny>,
) -> PyResult<Option<Bound<'py, Var>>> {
    let Some(trace) = modes::trace() else { return Ok(None) };
    let dtype = if single { DType::F32 } else { DType::F64 };
    let array = array(&numbers, dtype).or_raise()?;
    let sealed = trace.seal(array);
    let numbers = sealed.unsealed().clone();
    Captures::of(&trace).hosts.push(HostCell { source, token, numbers });
    Ok(Some(Var::result(py, Tensor::constant(sealed), Dialect::Native)?))
}

/// The only number of a tensor that a source reads outside of the program. A trace that this thread takes is given up if
/// the function has computed or changed the number, because a source is asked before a run.
#[pyfunction]
fn number_from_outside(x: &Bound<'_, Var>) -> PyResult<f64> {
    let (array, place) = match &x.get().lock().value {
        Value::Own(t) => (t.array.clone(), None),
        Value::Shared(p) => match p.place() {
            Some(place) => (place.read().array, Some(place.key())),
            None => return x.call_method0("__float__")?.extract(),
        },
    };
    if let Some(trace) = modes::trace().filter(|trace| trace.knows(&array)) {
        let is_kept = |c: &Cell| Some(c.place.key()) == place && is_same_view(array.unsealed(), &c.before);
        let is_kept = Captures::of(&trace).cells.iter().any(is_kept);
        if !is_kept {
            trace.give_up("an optimizer reads a number that the function computes");
        }
    }
    match array.unsealed().item() {
        Item::Float(number) => Ok(number),
        _ => x.call_method0("__float__")?.extract(),
    }
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(numbers_of_host, m)?)?;
    m.add_function(wrap_pyfunction!(number_from_outside, m)?)
}
