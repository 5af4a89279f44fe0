//! Python objects to arguments and arrays, and back.

use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods, npyffi};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PySlice, PyString, PyTuple, PyType};
use smallvec::SmallVec;

use super::dialect::Dialect;
use super::subscript;
use super::var::Var;
use crate::array::{Array, Item};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Tensor;
use crate::ops::Index;
use crate::ops::entry::{Arg, Base, ParamType};
use crate::shape::Strides;

/// A Python object as an argument of a kind. `Ok(None)` where it is not of that kind.
pub fn argument(kind: ParamType, o: &Bound<'_, PyAny>) -> PyResult<Option<Arg>> {
    if kind.optional && o.is_none() {
        return Ok(Some(Arg::None));
    }
    Ok(match kind.base {
        Base::Tensor => tensor(o)?.map(Arg::Tensor),
        Base::Operand => match o.cast::<Var>() {
            Ok(v) => Some(Arg::Tensor(v.get().operand())),
            Err(_) => match number(o)? {
                Some(n) => Some(Arg::Number(n)),
                None => tensor(o)?.map(Arg::Tensor),
            },
        },
        Base::Tensors => tensors(o)?.map(Arg::Tensors),
        Base::Rest => match tensor(o)? {
            Some(t) => Some(Arg::Tensors(vec![t])),
            None => tensors(o)?.map(Arg::Tensors),
        },
        Base::Bool => truth(o).map(Arg::Bool),
        Base::Int => index(o)?.map(Arg::Int),
        Base::Float => match number(o)? {
            Some(n) => Some(Arg::Float(n.to_f64())),
            // A tensor of one element counts as its number.
            None => o.cast::<Var>().ok().and_then(|_| o.extract().ok()).map(Arg::Float),
        },
        Base::Number => number(o)?.map(Arg::Number),
        Base::Ints => ints(o)?.map(Arg::Ints),
        Base::IntsOrStr => match o.extract() {
            Ok(word) => Some(Arg::Str(word)),
            Err(_) => ints(o)?.map(Arg::Ints),
        },
        Base::Pairs => match index(o)? {
            Some(n) => Some(Arg::Int(n)),
            None => pairs(o)?,
        },
        Base::Count => match index(o)? {
            Some(i) => Some(Arg::Int(i)),
            None => ints(o)?.map(Arg::Ints),
        },
        Base::Widths => widths(o)?.map(Arg::Widths),
        Base::Str => o.extract().ok().map(Arg::Str),
        Base::Choice => truth(o).map(Arg::Bool).or_else(|| o.extract().ok().map(Arg::Str)),
        Base::Order => match number(o)? {
            Some(n) => Some(Arg::Number(n)),
            None => o.extract().ok().map(Arg::Str),
        },
        Base::DType => dtype(o)?.map(Arg::DType),
        Base::Index => subscript::indices(o)?.map(Arg::Index),
    })
}

/// What a kind takes, for an error.
pub fn wanted(kind: ParamType) -> String {
    let base = match kind.base {
        Base::Tensor => "a Tensor",
        Base::Operand => "a Tensor or a number",
        Base::Tensors => "a list of Tensors",
        Base::Rest => "Tensors or a list of them",
        Base::Bool => "a bool",
        Base::Int => "an int",
        Base::Float | Base::Number => "a number",
        Base::IntsOrStr => "an int, a list of ints or a str",
        Base::Pairs => "an int or two lists of ints",
        Base::Ints | Base::Count => "an int or a list of ints",
        Base::Widths => "an int, a pair of ints or a list of pairs",
        Base::Str => "a str",
        Base::Choice => "a bool or a str",
        Base::Order => "a number or a str",
        Base::DType => "a dtype",
        Base::Index => "an index (integers, slices, None, Ellipsis, lists or arrays)",
    };
    if kind.optional { format!("{base} or None") } else { base.to_owned() }
}

/// A tensor, or a NumPy array as a constant.
pub fn tensor(o: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if let Ok(v) = o.cast::<Var>() {
        return Ok(Some(v.get().operand()));
    }
    match o.cast::<PyUntypedArray>() {
        Ok(a) => Ok(Some(Tensor::constant(from_numpy(a)?))),
        Err(_) => Ok(None),
    }
}

fn tensors(o: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Tensor>>> {
    if !(o.is_instance_of::<PyList>() || o.is_instance_of::<PyTuple>()) {
        return Ok(None);
    }
    o.try_iter()?.map(|item| tensor(&item?)).collect()
}

/// A Python or NumPy scalar.
pub fn number(o: &Bound<'_, PyAny>) -> PyResult<Option<Item>> {
    if let Ok(f) = o.cast::<PyFloat>() {
        return Ok(Some(Item::Float(f.value())));
    }
    if let Ok(b) = o.cast::<PyBool>() {
        return Ok(Some(Item::Bool(b.is_true())));
    }
    if o.is_instance_of::<PyInt>() {
        return match o.extract::<i128>() {
            Ok(i) => Ok(Some(Item::Int(i))),
            Err(_) => Ok(Some(Item::Float(o.extract()?))),
        };
    }
    if !is_numpy_scalar(o)? {
        return Ok(None);
    }
    let item = o.call_method0("item")?;
    // NumPy's long double is its own Python number.
    if is_numpy_scalar(&item)? { Ok(Some(Item::Float(o.extract()?))) } else { number(&item) }
}

/// Whether an object is a scalar of NumPy's: it has a dtype.
pub fn is_numpy_scalar(o: &Bound<'_, PyAny>) -> PyResult<bool> {
    static GENERIC: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    o.is_instance(GENERIC.import(o.py(), "numpy", "generic")?)
}

fn truth(o: &Bound<'_, PyAny>) -> Option<bool> {
    if let Ok(b) = o.cast::<PyBool>() {
        return Some(b.is_true());
    }
    match number(o) {
        Ok(Some(Item::Bool(b))) => Some(b),
        _ => None,
    }
}

/// An integer: whatever has `__index__`.
pub fn index(o: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    if o.is_instance_of::<PyFloat>() || o.is_instance_of::<PyString>() {
        return Ok(None);
    }
    match o.extract::<i64>() {
        Ok(i) => Ok(Some(i)),
        Err(e) if e.is_instance_of::<PyTypeError>(o.py()) => Ok(None),
        Err(e) => Err(e),
    }
}

fn ints(o: &Bound<'_, PyAny>) -> PyResult<Option<SmallVec<[i64; 4]>>> {
    if let Some(i) = index(o)? {
        return Ok(Some(SmallVec::from_elem(i, 1)));
    }
    if o.is_instance_of::<PyString>() || o.try_iter().is_err() {
        return Ok(None);
    }
    o.try_iter()?.map(|i| index(&i?)).collect()
}

fn pairs(o: &Bound<'_, PyAny>) -> PyResult<Option<Arg>> {
    if !(o.is_instance_of::<PyList>() || o.is_instance_of::<PyTuple>()) || o.len()? != 2 {
        return Ok(None);
    }
    Ok(ints(&o.get_item(0)?)?.zip(ints(&o.get_item(1)?)?).map(|(x, y)| Arg::Pairs(x, y)))
}

/// Pairs of whole numbers, such as the widths before and after an axis.
type Pairs = SmallVec<[(i64, i64); 4]>;

/// A list of pairs; one pair is a list of one, and a number is the pair of itself and itself.
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
    let pair = |item: PyResult<Bound<'_, PyAny>>| match ints(&item?)?.as_deref() {
        Some(&[n]) => Ok(Some((n, n))),
        Some(&[a, b]) => Ok(Some((a, b))),
        _ => Ok(None),
    };
    o.try_iter()?.map(pair).collect()
}

/// [`dtype`] in the manner of a dialect.
pub fn dtype_in(o: &Bound<'_, PyAny>, dialect: Dialect) -> PyResult<Option<DType>> {
    match dialect.python_float().filter(|_| o.is(o.py().get_type::<PyFloat>())) {
        Some(float) => Ok(Some(float)),
        None => dtype(o),
    }
}

/// A dtype: NumPy's, or whatever NumPy makes one of.
pub fn dtype(o: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    if let Ok(name) = o.extract::<std::borrow::Cow<'_, str>>() {
        return Ok(DType::parse(
            name.strip_prefix("torch.").or(name.strip_prefix("paddle.")).unwrap_or(&name),
        ));
    }
    // A Python float means the default float; NumPy, and torch, would say 64 bits.
    if o.is(o.py().get_type::<PyFloat>()) {
        return Ok(Some(crate::ops::arithmetic::default_float()));
    }
    let descr = match o.cast::<PyArrayDescr>() {
        Ok(d) => d.clone(),
        Err(_) => match PyArrayDescr::new(o.py(), o) {
            Ok(d) if !o.is_none() => d,
            _ => return Ok(None),
        },
    };
    Ok(from_descr(&descr))
}

fn from_descr(d: &Bound<'_, PyArrayDescr>) -> Option<DType> {
    Some(match (d.kind(), d.itemsize()) {
        _ if d.is_native_byteorder() == Some(false) => return None,
        (b'b', 1) => DType::Bool,
        (b'u', 1) => DType::U8,
        (b'i', 1) => DType::I8,
        (b'u', 2) => DType::U16,
        (b'i', 2) => DType::I16,
        (b'u', 4) => DType::U32,
        (b'i', 4) => DType::I32,
        (b'u', 8) => DType::U64,
        (b'i', 8) => DType::I64,
        (b'f', 4) => DType::F32,
        (b'f', 8) => DType::F64,
        _ => return None,
    })
}

/// NumPy's object for a dtype.
pub fn descr(py: Python<'_>, dtype: DType) -> Bound<'_, PyArrayDescr> {
    match dtype {
        DType::Bool => numpy::dtype::<bool>(py),
        DType::U8 => numpy::dtype::<u8>(py),
        DType::I8 => numpy::dtype::<i8>(py),
        DType::U16 => numpy::dtype::<u16>(py),
        DType::I16 => numpy::dtype::<i16>(py),
        DType::U32 => numpy::dtype::<u32>(py),
        DType::I32 => numpy::dtype::<i32>(py),
        DType::U64 => numpy::dtype::<u64>(py),
        DType::I64 => numpy::dtype::<i64>(py),
        DType::F32 => numpy::dtype::<f32>(py),
        DType::F64 => numpy::dtype::<f64>(py),
    }
}

/// A copy of a NumPy array.
pub fn from_numpy(a: &Bound<'_, PyUntypedArray>) -> PyResult<Array> {
    let py = a.py();
    let Some(dtype) = from_descr(&a.dtype()) else {
        return Err(super::error::raise(
            py,
            "DtypeError",
            format!("a NumPy array of dtype {} cannot become a Tensor", a.dtype()),
        ));
    };
    let (size, dims) = (dtype.size() as isize, a.shape());
    if a.strides().iter().any(|s| s % size != 0) {
        // Fields of records may lie at any distance.
        let packed = py.import("numpy")?.call_method1("ascontiguousarray", (a,))?;
        return from_numpy(packed.cast::<PyUntypedArray>()?);
    }
    let strides: Strides = a.strides().iter().map(|s| s / size).collect();
    // SAFETY: the shape, the strides and the memory are those of a NumPy array of this dtype; the GIL is held
    // while it is read.
    unsafe {
        let data = (*a.as_array_ptr()).fields.data.cast::<u8>();
        Ok(Array::copied("tensor", dtype, dims, &strides, data)?)
    }
}

/// Saves an array's memory alive for NumPy.
#[pyclass(frozen)]
struct Owner {
    _array: Array,
}

/// A read-only NumPy view of an array.
pub fn to_numpy<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyAny>> {
    let size = array.dtype().size() as isize;
    let mut dims: Vec<npyffi::npy_intp> = array.dims().iter().map(|&d| d as isize).collect();
    let mut strides: Vec<npyffi::npy_intp> = array.strides().iter().map(|s| s * size).collect();
    let owner = Bound::new(py, Owner { _array: array.clone() })?;
    let ptr = array.ptr().cast_mut().cast();
    // SAFETY: the shape and strides are the array's own; flags 0 makes the view read-only; the owner keeps the
    // memory alive and is handed over as the view's base.
    unsafe {
        let api = &npyffi::PY_ARRAY_API;
        let class = npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type);
        let descr = descr(py, array.dtype()).into_dtype_ptr();
        let view = api.PyArray_NewFromDescr(
            py,
            class,
            descr,
            dims.len() as i32,
            dims.as_mut_ptr(),
            strides.as_mut_ptr(),
            ptr,
            0,
            std::ptr::null_mut(),
        );
        let view = Bound::from_owned_ptr_or_err(py, view)?;
        api.PyArray_SetBaseObject(py, view.as_ptr().cast(), owner.into_ptr());
        Ok(view)
    }
}

/// The numbers of a slice; those that are None are the ends that its direction has.
pub fn slice(s: &Bound<'_, PySlice>) -> Option<Index> {
    let (mut start, mut stop, mut step) = (0, 0, 0);
    // SAFETY: a slice and three places to write to; the GIL is held.
    if unsafe { pyo3::ffi::PySlice_Unpack(s.as_ptr(), &mut start, &mut stop, &mut step) } < 0 {
        drop(PyErr::take(s.py()));
        return None;
    }
    Some(Index::Slice { start: Some(start as i64), stop: Some(stop as i64), step: Some(step as i64) })
}

/// Takes a new object out of the garbage collector's lists: it holds no Python object, so it is in no cycle, and a
/// program that keeps many results is spared walks over all of them.
#[inline]
pub fn untrack(o: &Bound<'_, Var>) {
    // SAFETY: the object is of a garbage-collected type (every class of PyO3's is) and the GIL is held.
    unsafe { pyo3::ffi::PyObject_GC_UnTrack(o.as_ptr().cast()) }
}

/// Shows an object to the garbage collector again: it is about to hold a Python object.
pub fn track(o: &Bound<'_, Var>) {
    // SAFETY: as in `untrack`; an object that is tracked is left alone.
    unsafe {
        if pyo3::ffi::PyObject_GC_IsTracked(o.as_ptr()) == 0 {
            pyo3::ffi::PyObject_GC_Track(o.as_ptr().cast());
        }
    }
}

/// What setting an attribute, or deleting it, does where a class has no say in it.
pub fn set_attribute(
    o: &Bound<'_, Var>,
    name: &Bound<'_, PyString>,
    value: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let value = value.map_or(std::ptr::null_mut(), |v| v.as_ptr());
    // SAFETY: an object, a string and an object or null; the GIL is held.
    match unsafe { pyo3::ffi::PyObject_GenericSetAttr(o.as_ptr(), name.as_ptr(), value) } {
        0 => Ok(()),
        _ => Err(PyErr::fetch(o.py())),
    }
}

/// A result of the core as `PyResult`.
pub fn lift<T>(r: Result<T>) -> PyResult<T> {
    r.map_err(PyErr::from)
}
