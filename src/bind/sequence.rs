//! Python's numbers, nested lists and whatever carries an array, as arrays.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyTuple};

use super::convert::{is_numpy_scalar, lift, tensor};
use super::error::raise;
use super::{convert, dlpack};
use crate::array::{Array, Item};
use crate::dtype::{Bool8, DType, dispatch};
use crate::error::Result;
use crate::graph::Tensor;
use crate::ops::arithmetic::default_float;
use crate::ops::movement::cast;

/// Lists may be nested as deep as NumPy's arrays.
const DEEPEST: usize = 64;

/// Numbers, nested lists of them, tensors, arrays or anything that can be read as an array. Python's floats take the
/// default float dtype and its integers int64; what has a dtype keeps it. A tensor's edge is left behind.
pub fn from_object(o: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Array> {
    if let Some(item) = plain(o)? {
        return scalar(o, item, dtype);
    }
    if let Some(items) = Items::of(o) {
        return sequence(o, items, dtype);
    }
    let array = match tensor(o)? {
        Some(t) => {
            if !t.levels.is_empty() {
                let text = "tensor: lanes of a vmap have no values of their own to copy";
                return Err(raise(o.py(), "LanesError", text));
            }
            t.array
        }
        None => foreign(o)?,
    };
    lift(convert_to(array, dtype))
}

fn convert_to(array: Array, dtype: Option<DType>) -> Result<Array> {
    match dtype {
        Some(d) if d != array.dtype() => Ok(cast(&Tensor::constant(array), d)?.array),
        _ => Ok(array),
    }
}

/// A number of Python's own: its type says nothing of its width.
fn plain(o: &Bound<'_, PyAny>) -> PyResult<Option<Item>> {
    if let Ok(f) = o.cast_exact::<PyFloat>() {
        return Ok(Some(Item::Float(f.value())));
    }
    if let Ok(b) = o.cast_exact::<PyBool>() {
        return Ok(Some(Item::Bool(b.is_true())));
    }
    if o.is_instance_of::<PyInt>() || o.is_instance_of::<PyFloat>() && !is_numpy_scalar(o)? {
        return convert::number(o);
    }
    Ok(None)
}

fn scalar(o: &Bound<'_, PyAny>, item: Item, dtype: Option<DType>) -> PyResult<Array> {
    let dtype = dtype.unwrap_or_else(|| own_dtype(item));
    Ok(match item {
        Item::Int(i) if !dtype.is_float() && dtype != DType::Bool => {
            match (i64::try_from(i), u64::try_from(i)) {
                (Ok(i), _) => {
                    dispatch!(dtype, all T => Array::scalar(<T as crate::dtype::Element>::from_i64(i)))
                }
                (_, Ok(u)) if dtype == DType::U64 => Array::scalar(u),
                _ => return Err(too_large(o)),
            }
        }
        item => Array::full_of(dtype, &[], item.to_f64()),
    })
}

/// The dtype that a number of Python's takes where nothing else decides.
fn own_dtype(item: Item) -> DType {
    match item {
        Item::Bool(_) => DType::Bool,
        Item::Int(_) => DType::I64,
        Item::Float(_) => default_float(),
    }
}

fn too_large(o: &Bound<'_, PyAny>) -> PyErr {
    let text =
        format!("tensor: Overflow when unpacking long long: the integer {o} does not fit into 64 bits");
    raise(o.py(), "ArgumentError", text)
}

/// A list or a tuple.
enum Items<'a, 'py> {
    List(&'a Bound<'py, PyList>),
    Tuple(&'a Bound<'py, PyTuple>),
}

impl<'a, 'py> Items<'a, 'py> {
    fn of(o: &'a Bound<'py, PyAny>) -> Option<Items<'a, 'py>> {
        match o.cast::<PyList>() {
            Ok(l) => Some(Items::List(l)),
            Err(_) => o.cast::<PyTuple>().ok().map(Items::Tuple),
        }
    }

    fn len(&self) -> usize {
        match self {
            Items::List(l) => l.len(),
            Items::Tuple(t) => t.len(),
        }
    }

    fn get(&self, i: usize) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Items::List(l) => l.get_item(i),
            Items::Tuple(t) => t.get_item(i),
        }
    }
}

/// The numbers of a nested list in C order, and its shape. The kind of the numbers rises as stronger ones come.
struct Flat {
    dims: Vec<usize>,
    /// Whether the innermost lists have been seen: below them no list may stand.
    depth: Option<usize>,
    numbers: Numbers,
}

enum Numbers {
    Bool(Vec<Bool8>),
    Int(Vec<i64>),
    Float(Vec<f64>),
}

/// Why a list is not read as plain numbers.
enum Stop {
    /// It holds something that is no number of Python's: the general way decides.
    Other,
    Error(PyErr),
}

impl From<PyErr> for Stop {
    fn from(e: PyErr) -> Stop {
        Stop::Error(e)
    }
}

impl Numbers {
    fn push(&mut self, item: Item) -> std::result::Result<(), Stop> {
        match (&mut *self, item) {
            (Numbers::Bool(v), Item::Bool(b)) => v.push(Bool8::from(b)),
            (Numbers::Float(v), item) => v.push(item.to_f64()),
            (Numbers::Int(v), Item::Int(i)) => v.push(i64::try_from(i).map_err(|_| Stop::Other)?),
            (Numbers::Int(v), Item::Bool(b)) => v.push(i64::from(b)),
            (Numbers::Bool(v), Item::Int(_)) => {
                *self = Numbers::Int(v.iter().map(|b| i64::from(b.0)).collect());
                return self.push(item);
            }
            (Numbers::Bool(v), Item::Float(_)) => {
                *self = Numbers::Float(v.iter().map(|b| f64::from(b.0)).collect());
                return self.push(item);
            }
            (Numbers::Int(v), Item::Float(_)) => {
                *self = Numbers::Float(v.iter().map(|&i| i as f64).collect());
                return self.push(item);
            }
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        match self {
            Numbers::Bool(v) => v.is_empty(),
            Numbers::Int(v) => v.is_empty(),
            Numbers::Float(v) => v.is_empty(),
        }
    }

    fn array(self, dims: &[usize]) -> Result<Array> {
        match self {
            Numbers::Bool(v) => Array::from_slice(&v, dims),
            Numbers::Int(v) => Array::from_slice(&v, dims),
            Numbers::Float(v) => Array::from_slice(&v, dims),
        }
    }
}

impl Flat {
    fn add(
        &mut self,
        o: &Bound<'_, PyAny>,
        items: &Items<'_, '_>,
        axis: usize,
    ) -> std::result::Result<(), Stop> {
        let py = o.py();
        let ragged = |text: String| Stop::Error(raise(py, "ShapeError", format!("tensor: {text}")));
        if axis >= DEEPEST {
            return Err(ragged(format!("lists nested deeper than {DEEPEST}")));
        }
        let n = items.len();
        match self.dims.get(axis) {
            None if self.depth.is_some() => {
                return Err(ragged(format!("expected a number at dim {axis}, got a sequence of length {n}")));
            }
            None => self.dims.push(n),
            Some(&known) if known != n => {
                return Err(ragged(format!("expected sequence of length {known} at dim {axis} (got {n})")));
            }
            Some(_) => {}
        }
        for i in 0..n {
            let item = items.get(i)?;
            if let Some(number) = plain(&item)? {
                if *self.depth.get_or_insert(axis + 1) != axis + 1 {
                    return Err(ragged(format!("expected a sequence at dim {}, got a number", axis + 1)));
                }
                self.numbers.push(number)?;
            } else if let Some(inner) = Items::of(&item) {
                if self.depth == Some(axis + 1) {
                    let got = inner.len();
                    return Err(ragged(format!(
                        "expected a number at dim {}, got a sequence of length {got}",
                        axis + 1
                    )));
                }
                self.add(&item, &inner, axis + 1)?;
            } else {
                return Err(Stop::Other);
            }
        }
        if n == 0 {
            self.depth.get_or_insert(axis + 1);
        }
        Ok(())
    }
}

fn sequence(o: &Bound<'_, PyAny>, items: Items<'_, '_>, dtype: Option<DType>) -> PyResult<Array> {
    let mut flat =
        Flat { dims: vec![], depth: None, numbers: Numbers::Bool(Vec::with_capacity(items.len())) };
    match flat.add(o, &items, 0) {
        Ok(()) => {}
        Err(Stop::Error(e)) => return Err(e),
        Err(Stop::Other) => return mixed(o, dtype),
    }
    let dtype = dtype.or(match flat.numbers {
        Numbers::Bool(ref v) if v.is_empty() => Some(default_float()),
        Numbers::Float(_) => Some(default_float()),
        _ => None,
    });
    if flat.numbers.is_empty() {
        return Ok(Array::full_of(dtype.unwrap_or_else(default_float), &flat.dims, 0.0));
    }
    if let (Numbers::Float(v), Some(DType::F32)) = (&flat.numbers, dtype) {
        return Ok(Array::build::<f32>("tensor", &flat.dims, |out| {
            out.iter_mut().zip(v).for_each(|(o, &x)| *o = x as f32);
        })?);
    }
    lift(flat.numbers.array(&flat.dims).and_then(|a| convert_to(a, dtype)))
}

/// What the elements of a list that holds more than Python's numbers ask for: the dtypes of those that have one
/// promote, the others are weak.
fn common(o: &Bound<'_, PyAny>, found: &mut (Option<DType>, Option<Item>), depth: usize) -> PyResult<()> {
    let py = o.py();
    if let Some(item) = plain(o)? {
        if let Item::Int(i) = item
            && i64::try_from(i).is_err()
            && u64::try_from(i).is_err()
        {
            return Err(too_large(o));
        }
        let stronger = |old: &Item| own_dtype(*old).kind() >= own_dtype(item).kind();
        if !found.1.as_ref().is_some_and(stronger) {
            found.1 = Some(item);
        }
        return Ok(());
    }
    if let Some(items) = Items::of(o) {
        if depth >= DEEPEST {
            return Err(raise(py, "ShapeError", format!("tensor: lists nested deeper than {DEEPEST}")));
        }
        for i in 0..items.len() {
            common(&items.get(i)?, found, depth + 1)?;
        }
        return Ok(());
    }
    let own = match tensor(o)? {
        Some(t) => t.dtype(),
        None if is_numpy_scalar(o)? => match convert::dtype(&o.getattr("dtype")?)? {
            Some(d) => d,
            None => return Err(no_number(o)),
        },
        None => foreign(o)?.dtype(),
    };
    found.0 = Some(found.0.map_or(own, |d| d.promote(own)));
    Ok(())
}

/// A list that holds tensors, arrays or NumPy's scalars.
fn mixed(o: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Array> {
    let py = o.py();
    let mut found = (None, None);
    common(o, &mut found, 0)?;
    let dtype = dtype.unwrap_or(match found {
        (Some(d), Some(weak)) if own_dtype(weak).kind() > d.kind() => own_dtype(weak),
        (Some(d), _) => d,
        (None, weak) => weak.map_or_else(default_float, own_dtype),
    });
    let made = py.import("numpy")?.call_method1("array", (o, convert::descr(py, dtype)));
    match made {
        Ok(made) => convert::from_numpy(made.cast()?),
        Err(e) if e.is_instance_of::<PyOverflowError>(py) => Err(too_large(o)),
        Err(e) if e.is_instance_of::<PyTypeError>(py) => Err(no_number(o)),
        Err(e) => {
            let text = format!("tensor: the parts have no common shape: {}", e.value(py));
            let error = raise(py, "ShapeError", text);
            error.set_cause(py, Some(e));
            Err(error)
        }
    }
}

/// What has an array to give: through DLPack, the buffer protocol, `__array__`, or as a sequence that is no list.
fn foreign(o: &Bound<'_, PyAny>) -> PyResult<Array> {
    let py = o.py();
    if o.hasattr("__dlpack__")? && !o.hasattr("__array__")? && !is_numpy_scalar(o)? {
        return dlpack::import(o);
    }
    let made = py.import("numpy")?.call_method1("asarray", (o,))?;
    let made = made.cast_into::<numpy::PyUntypedArray>()?;
    match convert::from_numpy(&made) {
        Err(_) if !o.hasattr("dtype")? => Err(no_number(o)),
        other => other,
    }
}

fn no_number(o: &Bound<'_, PyAny>) -> PyErr {
    let name = o.get_type().name().map_or_else(|_| "an object".to_owned(), |n| n.to_string());
    raise(
        o.py(),
        "DtypeError",
        format!("tensor: Could not infer dtype of {name}: it is neither a number nor an array"),
    )
}
