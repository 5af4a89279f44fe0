//! Python objects as arrays: numbers, nested lists, and everything that carries an array.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PyRange, PySlice, PyTuple};

use super::dlpack;
use super::number::{is_numpy_scalar, number};
use super::numpy::{descr, dtype as dtype_of, from_numpy};
use super::tensor::tensor;
use crate::array::{Array, Item};
use crate::bind::convert::list::{PERIOD, listen};
use crate::bind::python::error::{OrRaise, exception, is_of_the_caller, raise};
use crate::bind::python::gil::{ask_in_turn, listening};
use crate::bind::python::stack;
use crate::bind::value::kept::of_numbers;
use crate::dtype::{Bool8, DType, DTypeKind, Element, c128, dispatch};
use crate::error::{Error, Result};
use crate::graph::{Stems, Tensor};
use crate::memory::{NoMemory, TryPush};
use crate::ops::movement::{cast, stack};
use crate::ops::promote::{check_fits, default_float, raised};

/// Lists may be nested as deep as NumPy's arrays have axes.
const MAX_DEPTH: usize = 64;

/// A tensor of numbers, nested lists of them, tensors, arrays, or anything that can be read as an array. Without
/// `dtype` Python's floats have the default float dtype and its integers int64, and objects with a dtype keep it.
///
/// Tensors inside a list are stacked with their graph. A tensor that is given alone is copied without its edge.
pub fn from_object(o: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    let t = copied(o, dtype)?;
    Ok(Tensor { detach_reason: of_numbers(t.detach_reason), ..t })
}

fn copied(o: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    if let Some(item) = python_number(o)? {
        return scalar(o, item, dtype).map(Tensor::constant);
    }
    if let Some(items) = Items::of(o) {
        return from_list(o, items, dtype);
    }
    let (array, stems) = match tensor(o)? {
        Some(t) => {
            if !t.levels.is_empty() {
                let text = "tensor: inside vmap a tensor stands for a whole batch and has no values of its own to copy";
                return Err(raise(o.py(), "VmapError", text));
            }
            (t.array, t.detach_reason.stems())
        }
        None => (from_foreign(o)?, Stems::default()),
    };
    let copy = Tensor::constant(convert_to(array, dtype).or_raise()?);
    Ok(Tensor { detach_reason: copy.detach_reason.with_stems(stems), ..copy })
}

fn convert_to(array: Array, dtype: Option<DType>) -> Result<Array> {
    match dtype {
        Some(d) if d != array.dtype() => {
            Ok(listening(ask_in_turn, || cast(&Tensor::constant(array), d))?.array)
        }
        _ => Ok(array),
    }
}

/// A number of Python's own, which has no width.
fn python_number(o: &Bound<'_, PyAny>) -> PyResult<Option<Item>> {
    if let Ok(f) = o.cast_exact::<PyFloat>() {
        return Ok(Some(Item::Float(f.value())));
    }
    if let Ok(b) = o.cast_exact::<PyBool>() {
        return Ok(Some(Item::Bool(b.is_true())));
    }
    let inexact = o.is_instance_of::<PyFloat>() || o.is_instance_of::<PyComplex>();
    if o.is_instance_of::<PyInt>() || inexact && !is_numpy_scalar(o)? {
        return number(o);
    }
    Ok(None)
}

fn scalar(o: &Bound<'_, PyAny>, item: Item, dtype: Option<DType>) -> PyResult<Array> {
    let dtype = dtype.unwrap_or_else(|| default_dtype(item));
    Ok(match item {
        Item::Int(i) if dtype.kind() == DTypeKind::Int => match (i64::try_from(i), u64::try_from(i)) {
            (Ok(i), _) => {
                check_fits("tensor", dtype, item).or_raise()?;
                dispatch!(dtype, all T => Array::scalar(<T as crate::dtype::Element>::from_i64(i)))
            }
            (_, Ok(u)) if dtype == DType::U64 => Array::scalar(u),
            _ => return Err(too_large(o)),
        },
        Item::Complex(z) => cast(&Tensor::scalar(z), dtype).or_raise()?.array,
        item => {
            check_fits("tensor", dtype, item).or_raise()?;
            Array::full_of(dtype, &[], item.to_f64().unwrap_or(f64::NAN))
        }
    })
}

/// The dtype of a number of Python's, if nothing else decides it.
fn default_dtype(item: Item) -> DType {
    match item {
        Item::Bool(_) => DType::Bool,
        Item::Int(_) => DType::I64,
        Item::Float(_) => default_float(),
        Item::Complex(_) => default_float().complex(),
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

/// The numbers of a nested list in C order, and its shape. The numbers are kept in the weakest kind that holds all of
/// them.
struct NestedNumbers {
    dims: Vec<usize>,
    /// How many items were read.
    read: usize,
    /// The depth of the numbers, once one was seen: no list may stand there.
    depth: Option<usize>,
    numbers: Numbers,
}

enum Numbers {
    Bool(Vec<Bool8>),
    Int(Vec<i64>),
    Float(Vec<f64>),
    Complex(Vec<c128>),
}

/// The reason why a list is not read as plain numbers.
enum NotNumbers {
    /// It holds an object that is no number of Python's. [`from_mixed_list`] reads it.
    Other,
    Error(PyErr),
}

impl From<PyErr> for NotNumbers {
    fn from(e: PyErr) -> NotNumbers {
        NotNumbers::Error(e)
    }
}

impl From<NoMemory> for NotNumbers {
    fn from(e: NoMemory) -> NotNumbers {
        NotNumbers::Error(exception(e.into()))
    }
}

fn converted<A, B>(list: &[A], f: impl Fn(&A) -> B) -> std::result::Result<Vec<B>, NoMemory> {
    let mut new = Vec::new();
    new.try_room(list.len())?;
    new.extend(list.iter().map(f));
    Ok(new)
}

impl Numbers {
    fn push(&mut self, item: Item) -> std::result::Result<(), NotNumbers> {
        match (&mut *self, item) {
            (Numbers::Bool(v), Item::Bool(b)) => v.try_push(Bool8::from(b))?,
            (Numbers::Complex(v), item) => v.try_push(item.to_complex())?,
            (Numbers::Float(v), Item::Complex(_)) => {
                *self = Numbers::Complex(converted(v, |&f| Element::from_f64(f))?);
                return self.push(item);
            }
            (Numbers::Float(v), item) => v.try_push(item.to_f64().unwrap_or(f64::NAN))?,
            (Numbers::Int(v), Item::Int(i)) => {
                v.try_push(i64::try_from(i).map_err(|_| NotNumbers::Other)?)?
            }
            (Numbers::Int(v), Item::Bool(b)) => v.try_push(i64::from(b))?,
            (Numbers::Bool(v), Item::Int(_)) => {
                *self = Numbers::Int(converted(v, |b| i64::from(b.0))?);
                return self.push(item);
            }
            (Numbers::Bool(v), Item::Float(_) | Item::Complex(_)) => {
                *self = Numbers::Float(converted(v, |b| f64::from(b.0))?);
                return self.push(item);
            }
            (Numbers::Int(v), Item::Float(_) | Item::Complex(_)) => {
                *self = Numbers::Float(converted(v, |&i| i as f64)?);
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
            Numbers::Complex(v) => v.is_empty(),
        }
    }

    /// Checks that a dtype can hold all of them.
    fn check_fit(&self, dtype: DType) -> Result<()> {
        if dtype.kind() != DTypeKind::Int {
            return Ok(());
        }
        match self {
            Numbers::Bool(_) | Numbers::Complex(_) => Ok(()),
            Numbers::Int(v) => v.iter().try_for_each(|&i| check_fits("tensor", dtype, Item::Int(i.into()))),
            Numbers::Float(v) => v.iter().try_for_each(|&f| check_fits("tensor", dtype, Item::Float(f))),
        }
    }

    fn array(self, dims: &[usize]) -> Result<Array> {
        match self {
            Numbers::Bool(v) => Array::from_slice(&v, dims),
            Numbers::Int(v) => Array::from_slice(&v, dims),
            Numbers::Float(v) => Array::from_slice(&v, dims),
            Numbers::Complex(v) => Array::from_slice(&v, dims),
        }
    }
}

impl NestedNumbers {
    fn add(
        &mut self,
        o: &Bound<'_, PyAny>,
        items: &Items<'_, '_>,
        axis: usize,
    ) -> std::result::Result<(), NotNumbers> {
        let py = o.py();
        let ragged = |text: String| NotNumbers::Error(raise(py, "ShapeError", format!("tensor: {text}")));
        if axis >= MAX_DEPTH {
            return Err(ragged(format!("lists nested deeper than {MAX_DEPTH}")));
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
            listen(py, &mut self.read)?;
            if let Some(item) = python_number(&item)? {
                if *self.depth.get_or_insert(axis + 1) != axis + 1 {
                    return Err(ragged(format!("expected a sequence at dim {}, got a number", axis + 1)));
                }
                self.numbers.push(item)?;
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
                return Err(NotNumbers::Other);
            }
        }
        if n == 0 {
            self.depth.get_or_insert(axis + 1);
        }
        Ok(())
    }
}

fn from_list(o: &Bound<'_, PyAny>, items: Items<'_, '_>, dtype: Option<DType>) -> PyResult<Tensor> {
    let mut nested = NestedNumbers { dims: vec![], read: 0, depth: None, numbers: Numbers::Bool(vec![]) };
    match nested.add(o, &items, 0) {
        Ok(()) => {}
        Err(NotNumbers::Error(e)) => return Err(e),
        Err(NotNumbers::Other) => return from_mixed_list(o, dtype),
    }
    let dtype = dtype.or(match nested.numbers {
        Numbers::Bool(ref v) if v.is_empty() => Some(default_float()),
        Numbers::Float(_) => Some(default_float()),
        Numbers::Complex(_) => Some(default_float().complex()),
        _ => None,
    });
    if nested.numbers.is_empty() {
        let dtype = dtype.unwrap_or_else(default_float);
        return Ok(Tensor::constant(Array::full_of(dtype, &nested.dims, 0.0)));
    }
    if let (Numbers::Float(v), Some(DType::F32)) = (&nested.numbers, dtype) {
        let array = Array::build::<f32>("tensor", &nested.dims, |out| {
            out.iter_mut().zip(v).for_each(|(o, &x)| *o = x as f32);
        })
        .or_raise()?;
        return Ok(Tensor::constant(array));
    }
    if let Some(dtype) = dtype {
        nested.numbers.check_fit(dtype).or_raise()?;
    }
    Ok(Tensor::constant(convert_to(nested.numbers.array(&nested.dims).or_raise()?, dtype).or_raise()?))
}

/// A summary of the elements of a list that holds more than Python's numbers.
#[derive(Default)]
struct Elements {
    /// How many there are so far.
    read: usize,
    /// The promotion of the dtypes of the elements that have one.
    dtype: Option<DType>,
    /// The number of Python's that has the strongest kind. It raises the kind of the result, not its width.
    weak: Option<Item>,
    /// Whether a tensor is tracked, belongs to a vmap, or has a dtype that NumPy lacks.
    is_stacked: bool,
    /// Whether a program that is being traced reads a tensor in each run.
    is_traced: bool,
}

impl Elements {
    fn look(&mut self, o: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
        let py = o.py();
        listen(py, &mut self.read)?;
        if let Some(item) = python_number(o)? {
            if let Item::Int(i) = item
                && i64::try_from(i).is_err()
                && u64::try_from(i).is_err()
            {
                return Err(too_large(o));
            }
            let stronger = |old: &Item| default_dtype(*old).kind() >= default_dtype(item).kind();
            if !self.weak.as_ref().is_some_and(stronger) {
                self.weak = Some(item);
            }
            return Ok(());
        }
        if let Some(items) = Items::of(o) {
            if depth >= MAX_DEPTH {
                return Err(raise(py, "ShapeError", format!("tensor: lists nested deeper than {MAX_DEPTH}")));
            }
            for i in 0..items.len() {
                self.look(&items.get(i)?, depth + 1)?;
            }
            return Ok(());
        }
        let own = match tensor(o)? {
            Some(t) => {
                self.is_stacked |= t.is_tracked() || !t.levels.is_empty() || t.dtype() == DType::BF16;
                self.is_traced |= t.array.is_sealed();
                t.dtype()
            }
            None if is_numpy_scalar(o)? => match dtype_of(&o.getattr("dtype")?)? {
                Some(d) => d,
                None => return Err(no_number(o)),
            },
            None => from_foreign(o)?.dtype(),
        };
        self.dtype = Some(self.dtype.map_or(own, |d| d.promote(own)));
        Ok(())
    }

    fn dtype(&self) -> DType {
        match (self.dtype, self.weak) {
            (Some(d), Some(weak)) => raised(d, weak),
            (Some(d), _) => d,
            (None, weak) => weak.map_or_else(default_float, default_dtype),
        }
    }
}

/// A list that holds tensors, arrays or NumPy's scalars.
fn from_mixed_list(o: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    let py = o.py();
    let mut elements = Elements::default();
    elements.look(o, 0)?;
    let dtype = dtype.unwrap_or(elements.dtype());
    // A stack casts as NumPy does where all numbers fit, and to a float of another precision if nothing is rounded twice.
    let own = elements.dtype();
    let is_float = own.kind() == DTypeKind::Float && dtype.kind() == DTypeKind::Float && dtype.size() > 2;
    let is_same = is_float || own.promote(dtype) == dtype;
    if elements.is_stacked || elements.is_traced && is_same {
        return stacked(o, dtype);
    }
    match numpy_array(o, dtype) {
        Ok(made) => Ok(Tensor::constant(convert_to(from_numpy(made.cast()?)?, Some(dtype)).or_raise()?)),
        Err(e) if e.is_instance_of::<PyOverflowError>(py) => Err(too_large(o)),
        Err(e) if e.is_instance_of::<PyTypeError>(py) => Err(no_number(o)),
        Err(e) if is_of_the_caller(py, &e) => Err(e),
        Err(e) => {
            let text = format!("tensor: the parts have no common shape: {}", e.value(py));
            let error = raise(py, "ShapeError", text);
            error.set_cause(py, Some(e));
            Err(error)
        }
    }
}

/// NumPy's array of a list, a long one in parts, because NumPy does not listen for Ctrl-C.
fn numpy_array<'py>(o: &Bound<'py, PyAny>, dtype: DType) -> PyResult<Bound<'py, PyAny>> {
    let (py, n) = (o.py(), o.len()?);
    let numpy = py.import("numpy")?;
    let nearest = descr(py, dtype).or_else(|| descr(py, DType::F32));
    let part = |part: &Bound<'py, PyAny>| numpy.call_method1("array", (part, &nearest));
    if n <= PERIOD {
        return part(o);
    }
    let list = PyList::empty(py);
    for start in (0..n).step_by(PERIOD) {
        list.append(part(&o.get_item(PySlice::new(py, start as isize, (start + PERIOD) as isize, 1))?)?)?;
        py.check_signals()?;
    }
    numpy.call_method1("concatenate", (list,))
}

/// A nested list as a tensor that keeps the graph of the tensors in it.
fn stacked(o: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Tensor> {
    if let Some(t) = tensor(o)? {
        return cast(&t, dtype).or_raise();
    }
    let Some(items) = Items::of(o) else { return from_object(o, Some(dtype)) };
    if items.len() == 0 {
        return from_object(o, Some(dtype));
    }
    let mut parts = vec![];
    for i in 0..items.len() {
        parts.try_push(stacked(&items.get(i)?, dtype)?).map_err(Box::<Error>::from).or_raise()?;
    }
    let first = parts[0].dims();
    if let Some(other) = parts.iter().find(|t| t.dims() != first) {
        let text = format!("tensor: the parts have no common shape: {first:?} and {:?}", other.dims());
        return Err(raise(o.py(), "ShapeError", text));
    }
    stack(&parts, 0).or_raise()
}

/// An array of an object that offers one: through DLPack, the buffer protocol or `__array__`, or as a sequence that is
/// no list.
fn from_foreign(o: &Bound<'_, PyAny>) -> PyResult<Array> {
    stack::check().or_raise()?;
    let py = o.py();
    if o.hasattr("__dlpack__")? && !o.hasattr("__array__")? && !is_numpy_scalar(o)? {
        return dlpack::import(o);
    }
    let made = match o.cast::<PyRange>() {
        Ok(range) if range.len()? > PERIOD => numpy_array(o, DType::I64)?,
        _ => py.import("numpy")?.call_method1("asarray", (o,))?,
    };
    let made = made.cast_into::<numpy::PyUntypedArray>()?;
    match from_numpy(&made) {
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
