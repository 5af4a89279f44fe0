//! NumPy's dtypes and arrays, to and from the core's.

use std::borrow::Cow;
use std::ptr::NonNull;

use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods, npyffi};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyString};

use crate::array::{Array, Layout, Loan};
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::facade::{DTYPE, DTYPE_OF, NUMPY_BFLOAT16};
use crate::bind::python::gil::{ask, listening};
use crate::bind::python::once::once;
use crate::bind::value::capture::Captures;
use crate::dtype::{DTYPES, DType, c64, c128, f16};
use crate::graph::modes;
use crate::kernel::pointwise::half;
use crate::shape::Strides;

/// [`dtype`] in a dialect, which may have a meaning of its own for a word.
pub fn dtype_in(o: &Bound<'_, PyAny>, dialect: Dialect) -> PyResult<Option<DType>> {
    match o.extract::<Cow<'_, str>>() {
        Ok(word) if dialect.words_are_numpys(&word) => Ok(of_numpys_word(o)),
        _ => dtype(o),
    }
}

/// The dtype of NumPy's dtype objects and of everything that NumPy makes one of, such as Python's `float` (float64) and
/// the strings "f4" and "<i8".
pub fn dtype(o: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    if let Ok(name) = o.extract::<Cow<'_, str>>() {
        let own = name.strip_prefix("torch.").or(name.strip_prefix("paddle.")).unwrap_or(&name);
        return Ok(DType::parse(own).or_else(|| of_numpys_word(o)));
    }
    let descr = match o.cast::<PyArrayDescr>() {
        Ok(d) => d.clone(),
        Err(_) if o.get_type().is(DTYPE.get(o.py())?) => {
            return Ok(DType::parse(o.getattr("name")?.cast::<PyString>()?.to_str()?));
        }
        Err(_) if o.is_none() => return Ok(None),
        Err(_) => match PyArrayDescr::new(o.py(), o) {
            Ok(d) => d,
            Err(_) => return Ok(None),
        },
    };
    Ok(from_descr(&descr))
}

/// The dtype that NumPy knows by a word.
fn of_numpys_word(word: &Bound<'_, PyAny>) -> Option<DType> {
    PyArrayDescr::new(word.py(), word).ok().and_then(|descr| from_descr(&descr))
}

/// A sentence that says that a word names no dtype, with the name that it is likely to stand for.
pub fn no_dtype(word: &str) -> String {
    if let Some(own) = word.strip_prefix(['<', '>'])
        && !own.is_empty()
    {
        return format!(
            "'{word}' is no dtype of tensors, whose bytes have the order of the machine: write '{own}'"
        );
    }
    let names = DType::ALL.map(DType::name);
    let nearest = names.iter().map(|name| (edits(word, name), name)).min();
    match nearest.filter(|(edits, _)| *edits <= 3) {
        Some((_, name)) => format!("'{word}' is no dtype. Did you mean '{name}'?"),
        None => format!("'{word}' is no dtype. The dtypes are {}", names.join(", ")),
    }
}

/// How many characters have to be put in, left out or replaced to make one word of the other (Levenshtein's distance).
fn edits(a: &str, b: &str) -> usize {
    // A word this long is no misspelled name.
    if a.len() > 32 {
        return a.len();
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
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
        (b'f', 2) => DType::F16,
        (b'V', 2) if d.getattr("name").is_ok_and(|name| name.eq("bfloat16").unwrap_or(false)) => DType::BF16,
        (b'f', 4) => DType::F32,
        (b'f', 8) => DType::F64,
        (b'c', 8) => DType::C64,
        (b'c', 16) => DType::C128,
        _ => return None,
    })
}

/// A dtype as an object of a dialect: natively NumPy's, where it has one.
pub fn dtype_object(py: Python<'_>, dtype: DType, dialect: Dialect) -> PyResult<Bound<'_, PyAny>> {
    static OBJECTS: [[PyOnceLock<Py<PyAny>>; DTYPES]; Dialect::ALL.len()] =
        [const { [const { PyOnceLock::new() }; DTYPES] }; Dialect::ALL.len()];
    if dialect == Dialect::Native
        && let Some(descr) = descr(py, dtype)
    {
        return Ok(descr.into_any());
    }
    let make = || Ok::<_, PyErr>(DTYPE_OF.get(py)?.call1((dtype.name(), dialect as usize))?.unbind());
    Ok(once(&OBJECTS[dialect as usize][dtype as usize], py, make)?.bind(py).clone())
}

/// NumPy's object for a dtype. None for bfloat16, which NumPy does not have of itself.
pub fn descr(py: Python<'_>, dtype: DType) -> Option<Bound<'_, PyArrayDescr>> {
    Some(match dtype {
        DType::Bool => numpy::dtype::<bool>(py),
        DType::U8 => numpy::dtype::<u8>(py),
        DType::I8 => numpy::dtype::<i8>(py),
        DType::U16 => numpy::dtype::<u16>(py),
        DType::I16 => numpy::dtype::<i16>(py),
        DType::U32 => numpy::dtype::<u32>(py),
        DType::I32 => numpy::dtype::<i32>(py),
        DType::U64 => numpy::dtype::<u64>(py),
        DType::I64 => numpy::dtype::<i64>(py),
        DType::F16 => numpy::dtype::<f16>(py),
        DType::BF16 => return None,
        DType::F32 => numpy::dtype::<f32>(py),
        DType::F64 => numpy::dtype::<f64>(py),
        DType::C64 => numpy::dtype::<c64>(py),
        DType::C128 => numpy::dtype::<c128>(py),
    })
}

/// What a user can do about an array whose dtype no tensor has.
fn remedy(d: &Bound<'_, PyArrayDescr>) -> &'static str {
    match d.kind() {
        _ if d.is_native_byteorder() == Some(false) => {
            ", whose bytes have the order of the machine: write a.astype(a.dtype.newbyteorder('='))"
        }
        b'O' => ", which holds numbers of one dtype: if it holds numbers, write a.astype('float64')",
        b'f' | b'c' => ", which has no dtype as wide: write a.astype('float64'), or 'complex128'",
        b'M' | b'm' => {
            ", which holds numbers: write a.astype('int64'), or a difference divided by np.timedelta64(1, 's')"
        }
        b'U' | b'S' => ", which holds numbers: np.unique(a, return_inverse=True)[1] has one for each word",
        _ => "",
    }
}

/// A copy of a NumPy array.
pub fn from_numpy(a: &Bound<'_, PyUntypedArray>) -> PyResult<Array> {
    meet_array();
    copied(a)
}

/// Gives up the trace that this thread takes, unless arrays are constants in it. Whether they are.
pub fn meet_array() -> bool {
    if let Some(trace) = modes::trace().filter(|trace| !Captures::of(trace).makes_constants) {
        trace.give_up("it makes a tensor of another library's array");
    }
    modes::trace().is_some_and(|trace| Captures::of(&trace).makes_constants)
}

/// A copy of a NumPy array whose numbers follow from shapes alone, so that they are the same in each run of a program.
pub fn copied(a: &Bound<'_, PyUntypedArray>) -> PyResult<Array> {
    let py = a.py();
    refuse_mask(a)?;
    let Some(dtype) = from_descr(&a.dtype()) else {
        return Err(raise(
            py,
            "DtypeError",
            format!("a NumPy array of dtype {} cannot become a Tensor{}", a.dtype(), remedy(&a.dtype())),
        ));
    };
    let (size, dims) = (dtype.size() as isize, a.shape());
    // SAFETY: the object is a NumPy array, and the GIL is held.
    let data = unsafe { (*a.as_array_ptr()).fields.data.cast::<u8>() };
    // NumPy may give any stride to an axis of one element, or to all axes where there is none.
    let still = |d: usize| d <= 1 || dims.contains(&0);
    let strides = a.strides().iter().zip(dims).map(|(&s, &d)| if still(d) { 0 } else { s });
    let strides: Strides = strides.collect();
    if strides.iter().any(|s| s % size != 0) || data.addr() % dtype.size().min(8) != 0 {
        // Fields of records may lie at any distance and address; a copy does not.
        let order = [("order", "C")].into_py_dict(py)?;
        let copy = py.import("numpy")?.call_method("array", (a,), Some(&order))?;
        return copied(copy.cast::<PyUntypedArray>()?);
    }
    let strides: Strides = strides.iter().map(|s| s / size).collect();
    // SAFETY: the shape, the strides and the memory are those of a NumPy array of this dtype, which is alive; the GIL is
    // held while it is read.
    listening(ask, || unsafe { Array::copied("tensor", dtype, dims, &strides, data) }).or_raise()
}

/// Whether the elements of a NumPy array lie in C order and are these bytes.
pub fn has_bytes(a: &Bound<'_, PyUntypedArray>, bytes: &[u8]) -> bool {
    if !a.is_c_contiguous() || a.len() * a.dtype().itemsize() != bytes.len() {
        return false;
    }
    // SAFETY: an array in C order has its elements side by side, and it is alive; the GIL is held while they are read.
    bytes.is_empty()
        || bytes
            == unsafe {
                std::slice::from_raw_parts((*a.as_array_ptr()).fields.data.cast::<u8>(), bytes.len())
            }
}

/// Keeps an array's memory alive for NumPy.
#[pyclass(frozen)]
struct Owner {
    _array: Array,
}

/// Keeps memory alive that NumPy may write to.
#[pyclass(frozen)]
struct Borrower {
    _loan: Loan,
}

/// Elements in the memory of a NumPy array that can be written to: the memory from the first to the last of them, and where
/// they lie in it. None if tensors cannot lie there: the array is read-only, or its elements lie at other distances than
/// those of elements.
pub fn memory_of(a: &Bound<'_, PyUntypedArray>) -> PyResult<Option<(Array, Loan, Layout)>> {
    refuse_mask(a)?;
    let Some(dtype) = from_descr(&a.dtype()) else { return Ok(None) };
    // SAFETY: the object is a NumPy array, and the GIL is held.
    let (data, flags) =
        unsafe { ((*a.as_array_ptr()).fields.data.cast::<u8>(), (*a.as_array_ptr()).fields.flags) };
    let (size, dims) = (dtype.size() as isize, a.shape());
    // The stride of an axis of one element says nothing.
    let strides = a.strides().iter().zip(dims).map(|(&s, &d)| if d == 1 { 0 } else { s });
    let strides: Strides = strides.collect();
    let Some(data) = NonNull::new(data).filter(|_| flags & npyffi::NPY_ARRAY_WRITEABLE != 0) else {
        return Ok(None);
    };
    if dims.contains(&0) || strides.iter().any(|s| s % size != 0) {
        return Ok(None);
    }
    let strides: Strides = strides.iter().map(|s| s / size).collect();
    let mut layout = Layout { dims: dims.into(), strides, offset: 0 };
    let Some((low, high)) = layout.reach() else { return Ok(None) };
    let owner = Box::new(a.clone().into_any().unbind());
    // SAFETY: these are the bytes from the first to the last element of the array, which may be written to and keeps them
    // alive. NumPy initialises them, or does not tell them from bytes that it has initialised.
    let loan =
        unsafe { Loan::foreign(data.byte_offset(low * size), ((high - low + 1) * size) as usize, owner) };
    layout.offset = -low;
    let Some(vector) = loan.array(dtype) else { return Ok(None) };
    let whole =
        if layout.is_contiguous() { vector.reshaped(dims).expect("as many elements") } else { vector };
    Ok(Some((whole, loan, layout)))
}

/// Refuses a masked array: the numbers under the mask would be taken for valid ones.
fn refuse_mask(a: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
    let py = a.py();
    if !a.is_exact_instance_of::<PyUntypedArray>()
        && a.is_instance(&py.import("numpy.ma")?.getattr("MaskedArray")?)?
        && a.getattr("mask")?.call_method0("any")?.is_truthy()?
    {
        let text =
            "a masked array cannot become a Tensor, which has no mask: write a.filled(0) or a.compressed()";
        return Err(raise(py, "ArgumentError", text));
    }
    Ok(())
}

/// A read-only NumPy view of an array, or of a float32 copy of one of bfloat16.
pub fn shown<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyAny>> {
    if array.dtype() == DType::BF16 {
        to_numpy(py, &half::widened(array).or_raise()?)
    } else {
        to_numpy(py, array)
    }
}

/// A read-only NumPy view of an array.
pub fn to_numpy<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyAny>> {
    view(py, array, Bound::new(py, Owner { _array: array.clone() })?.into_any(), false)
}

/// A NumPy array with a copy of the elements.
pub fn copied_to_numpy<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyAny>> {
    to_numpy(py, array)?.call_method1("copy", ("K",))
}

/// A NumPy array in the memory of an array, which it may write to by a loan.
pub fn lent_to_numpy<'py>(py: Python<'py>, array: &Array, loan: Loan) -> PyResult<Bound<'py, PyAny>> {
    view(py, array, Bound::new(py, Borrower { _loan: loan })?.into_any(), true)
}

/// A NumPy array of the elements of an array, whose memory `owner` keeps alive.
fn view<'py>(
    py: Python<'py>,
    array: &Array,
    owner: Bound<'py, PyAny>,
    is_writable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let descr = match descr(py, array.dtype()) {
        Some(descr) => descr,
        None => NUMPY_BFLOAT16.get(py)?.cast::<PyArrayDescr>().cloned().map_err(|_| {
            let text = "NumPy has no bfloat16, unless the package ml_dtypes is installed: convert the Tensor with .float() or \
                        .astype('float32')";
            raise(py, "DtypeError", text.to_owned())
        })?,
    };
    let size = array.dtype().size() as isize;
    let mut dims: Vec<npyffi::npy_intp> = array.dims().iter().map(|&d| d as isize).collect();
    let mut strides: Vec<npyffi::npy_intp> = array.strides().iter().map(|s| s * size).collect();
    let flags = if is_writable { npyffi::NPY_ARRAY_WRITEABLE } else { 0 };
    let ptr = array.ptr().cast_mut().cast();
    // SAFETY: the shape and the strides are the array's own, and without a flag the view is read-only. It may be written to
    // where the memory is lent, so that nobody takes it for a value. The view gets the owner of the memory as its base, which
    // keeps the memory alive.
    unsafe {
        let api = &npyffi::PY_ARRAY_API;
        let class = npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type);
        let descr = descr.into_dtype_ptr();
        let view = api.PyArray_NewFromDescr(
            py,
            class,
            descr,
            dims.len() as i32,
            dims.as_mut_ptr(),
            strides.as_mut_ptr(),
            ptr,
            flags,
            std::ptr::null_mut(),
        );
        let view = Bound::from_owned_ptr_or_err(py, view).map_err(|_| {
            raise(py, "ShapeError", format!("NumPy has no arrays of shape {:?}", array.dims()))
        })?;
        api.PyArray_SetBaseObject(py, view.as_ptr().cast(), owner.into_ptr());
        Ok(view)
    }
}
