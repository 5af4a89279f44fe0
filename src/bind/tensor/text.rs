//! A tensor as text and as a Python number.

use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyFloat, PyList, PySlice, PyString, PyTuple};

use crate::array::{Array, Item};
use crate::bind::convert::numpy::shown;
use crate::bind::python::capi::attached;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::facade::{HTML, SHOW};
use crate::bind::value::var::Var;
use crate::dtype::c128;
use crate::graph::{Levels, modes};
use crate::memory;

impl Var {
    /// The only element. `why` is the error's text for a tensor of several.
    fn single(&self, what: &str, why: &str) -> PyResult<Item> {
        Var::only(self.values(what)?, what, why)
    }

    /// [`Var::single`] as a number that leaves the graph.
    fn number(&self, what: &str, why: &str) -> PyResult<Item> {
        Var::only(self.numbers(what)?, what, why)
    }

    fn only(array: Array, what: &str, why: &str) -> PyResult<Item> {
        if array.len() == 1 {
            return Ok(array.item());
        }
        let text = format!("{what}: {why}; this one has shape {:?}", array.dims());
        Err(attached(|py| raise(py, "ArgumentError", text)))
    }
}

/// The text of the error for a tensor of several elements, in torch's and in Paddle's words.
macro_rules! only_one {
    ($to:literal) => {
        concat!(
            "only one element tensors can be converted to Python scalars (only one element variable can be converted to ",
            $to,
            ")"
        )
    };
}

/// The error for a complex number where a real one is wanted.
fn not_real(what: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{what}: a complex Tensor is no real number; take real(x), imag(x) or abs(x), or complex(x)"
    ))
}

fn python(py: Python<'_>, item: Item) -> PyResult<Bound<'_, PyAny>> {
    Ok(match item {
        Item::Bool(b) => b.into_pyobject(py)?.to_owned().into_any(),
        Item::Int(i) => i.into_pyobject(py)?.into_any(),
        Item::Float(f) => f.into_pyobject(py)?.into_any(),
        Item::Complex(z) => PyComplex::from_doubles(py, z.re, z.im).into_any(),
    })
}

#[pymethods]
impl Var {
    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        describe(slf, SHOW.get(slf.py())?)
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        describe(slf, HTML.get(slf.py())?)
    }

    fn __rich_repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let py = slf.py();
        let pair = |name: &str, value: Bound<'py, PyAny>| (name, value).into_pyobject(py);
        let t = slf.get().tensor();
        let mut pairs = vec![
            pair("shape", slf.getattr("shape")?)?,
            pair("dtype", t.dtype().name().into_pyobject(py)?.into_any())?,
            pair("requires_grad", t.is_tracked().into_pyobject(py)?.to_owned().into_any())?,
        ];
        if let Some(edge) = t.edge.filter(|e| !e.node.is_leaf()) {
            pairs.push(pair("op", edge.node.name().into_pyobject(py)?.into_any())?);
        }
        Ok(pairs)
    }

    /// Formats a tensor of one element like its number. Any other tensor takes only the empty format.
    fn __format__<'py>(slf: &Bound<'py, Self>, spec: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        let t = slf.get().tensor();
        if t.levels.is_empty() && t.array.len() == 1 && (t.rank() == 0 || spec.len()? > 0) {
            return python(slf.py(), t.array.item())?.call_method1("__format__", (spec,));
        }
        if spec.len()? == 0 {
            return Ok(slf.str()?.into_any());
        }
        Err(PyTypeError::new_err(format!(
            "format: '{}' formats one element, this tensor has shape {:?}",
            spec.to_string_lossy(),
            t.dims()
        )))
    }

    fn __float__(&self) -> PyResult<f64> {
        let item = self.number("float", only_one!("float."))?;
        item.to_f64().ok_or_else(|| not_real("float"))
    }

    // The numbers that `int`, `bool` and `operator.index` give are constant almost everywhere: no derivative is lost.
    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.single("int", only_one!("int."))? {
            Item::Float(f) => PyFloat::new(py, f).call_method0("__int__"),
            Item::Bool(b) => python(py, Item::Int(i128::from(b))),
            Item::Complex(_) => Err(not_real("int")),
            item => python(py, item),
        }
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyComplex>> {
        let z = self.number("complex", only_one!("complex."))?.to_complex();
        Ok(PyComplex::from_doubles(py, z.re, z.im))
    }

    fn __bool__(&self) -> PyResult<bool> {
        let why = if self.tensor().array.len() == 0 {
            "Boolean value of Tensor with no values is ambiguous"
        } else {
            "Boolean value of Tensor with more than one value is ambiguous; use any() or all()"
        };
        Ok(match self.single("bool", why)? {
            Item::Bool(b) => b,
            Item::Int(i) => i != 0,
            Item::Float(f) => f != 0.0,
            Item::Complex(z) => z != c128::default(),
        })
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let why = "only integer tensors of a single element can be converted to an index";
        match self.single("index", why)? {
            item @ Item::Int(_) => python(py, item),
            _ => {
                let text = format!("index: {why}; this one is {}", self.look().dtype());
                Err(raise(py, "DtypeError", text))
            }
        }
    }

    /// One element as a Python number: the only one, or the one at a position. `item(i)` counts the elements in C
    /// order, `item(i, j)` gives an index for each axis.
    #[pyo3(signature = (*position))]
    fn item<'py>(&self, py: Python<'py>, position: Vec<i64>) -> PyResult<Bound<'py, PyAny>> {
        if position.is_empty() {
            let why = "only one element tensors can be converted to Python scalars when no input coordinates";
            return python(py, self.number("item", why)?);
        }
        let array = self.numbers("item")?;
        let outside = |i: i64, n: usize| {
            let text =
                format!("item: index {i} is out of bounds for {n} elements of shape {:?}", array.dims());
            raise(py, "IndexOutOfRange", text)
        };
        let at = |i: i64, n: usize| {
            let at = if i < 0 { i.checked_add_unsigned(n as u64).unwrap_or(i) } else { i };
            usize::try_from(at).ok().filter(|&at| at < n).ok_or_else(|| outside(i, n))
        };
        let dims = array.dims();
        let index: Vec<usize> = match position[..] {
            [i] => {
                let mut flat = at(i, array.len())?;
                let mut index: Vec<usize> = dims.iter().rev().map(|d| (flat % d, flat /= d).0).collect();
                index.reverse();
                index
            }
            _ if position.len() == dims.len() => {
                position.iter().zip(dims).map(|(&i, &n)| at(i, n)).collect::<PyResult<_>>()?
            }
            _ => {
                let text = format!("item: {} indices for shape {dims:?}", position.len());
                return Err(raise(py, "IndexOutOfRange", text));
            }
        };
        let offset = index.iter().zip(&array.strides()).map(|(&i, s)| i as isize * s).sum();
        python(py, array.restride(&[], &[], offset).item())
    }

    /// The elements as Python numbers in nested lists, or as one number if there are no axes.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let array = self.numbers("tolist")?;
        if array.rank() == 0 {
            return python(py, array.item());
        }
        if memory::ensure(held(array.dims()).saturating_mul(size_of::<usize>())).is_err() {
            let text = format!("tolist: no memory for the lists of an array of shape {:?}", array.dims());
            return Err(PyMemoryError::new_err(text));
        }
        lists(&shown(py, &array)?, array.dims())
    }
}

/// How many numbers and lists the list of an array with these axes holds.
fn held(dims: &[usize]) -> usize {
    dims.iter().rfold(0, |held: usize, d| held.saturating_add(1).saturating_mul(*d))
}

/// The lists of an array, made in parts, because NumPy does not listen for Ctrl-C.
fn lists<'py>(array: &Bound<'py, PyAny>, dims: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    const PART: usize = 1 << 20;
    let (py, n, row) = (array.py(), dims[0], held(&dims[1..]) + 1);
    if held(dims) <= PART {
        return array.call_method0("tolist");
    }
    let list = PyList::empty(py);
    let step = (PART / row).max(1);
    for start in (0..n).step_by(step) {
        if row > PART {
            list.append(lists(&array.get_item(start)?, &dims[1..])?)?;
        } else {
            let part = array.get_item(PySlice::new(py, start as isize, (start + step) as isize, 1))?;
            list.call_method1("extend", (part.call_method0("tolist")?,))?;
        }
        py.check_signals()?;
    }
    Ok(list.into_any())
}

/// The text that a function of the Python package makes of a tensor.
fn describe<'py>(slf: &Bound<'py, Var>, f: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = slf.py();
    let (t, dialect) = {
        let state = slf.get();
        (state.tensor(), state.dialect())
    };
    let op = t.edge.as_ref().filter(|e| !e.node.is_leaf()).map(|e| dialect.node_name(&e.node).0);
    let batch_sizes: Vec<usize> = t.levels.as_slice().iter().map(|l| l.batch_size).collect();
    let wrappers = wrappers(slf.get(), &t.levels);
    let shape = PyTuple::new(py, t.dims())?;
    let class = slf.get_type().name()?;
    // NumPy has no arrays of some shapes without elements.
    let values = match shown(py, &t.array) {
        Err(_) if t.array.len() == 0 => shown(py, &t.array.reshape(&[0]).or_raise()?)?,
        values => values?,
    };
    let dtype = t.dtype().name();
    f.call1((values, dtype, shape, dialect as usize, class, t.is_tracked(), op, batch_sizes, wrappers))
}

/// For each running transform, from the outermost on, that knows the tensor as one of its own: its number among all that run,
/// from 1 on, and whether it is a vmap.
fn wrappers(x: &Var, levels: &Levels) -> Vec<(usize, bool)> {
    let live = modes::live_levels();
    let differentiated = modes::differentiated_functions();
    let made = x.lock().differentiated_functions();
    let mut found = vec![];
    let (mut number, mut function) = (0, 0);
    for at in 0..=live.len() {
        while differentiated.get(function).is_some_and(|&before| before <= at) {
            (number, function) = (number + 1, function + 1);
            if function <= made {
                found.push((number, false));
            }
        }
        if let Some(&level) = live.as_slice().get(at) {
            number += 1;
            if levels.contains(level) {
                found.push((number, true));
            }
        }
    }
    found
}
