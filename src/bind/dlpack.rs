//! DLPack: arrays handed to and taken from other libraries through one C struct (dmlc/dlpack, `dlpack.h`, 1.1).

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::convert::lift;
use super::dialect::Dialect;
use super::error::raise;
use super::var::Var;
use crate::array::Array;
use crate::dtype::DType;
use crate::graph::Tensor;
use crate::shape::{self, Strides, contiguous_strides};

const CPU: i32 = 1;
/// Memory of the host that a GPU may read, too.
const CPU_PINNED: i32 = 3;
const VERSION: (u32, u32) = (1, 1);
const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

const PLAIN: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";

#[repr(C)]
#[derive(Clone, Copy)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// The struct of capsules named `dltensor`.
#[repr(C)]
struct Plain {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Plain)>,
}

/// The struct of capsules named `dltensor_versioned`.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: DlTensor,
}

/// The kinds of managed struct, so that the code below is written once.
trait Managed: Sized + 'static {
    const NAME: &'static CStr;
    const USED: &'static CStr;
    fn new(tensor: DlTensor, context: *mut c_void, flags: u64) -> Self;
    fn tensor(&self) -> &DlTensor;
    fn context(&self) -> *mut c_void;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
    /// Whether the struct is laid out as this file knows it.
    fn is_known(&self) -> bool;
}

impl Managed for Plain {
    const NAME: &'static CStr = PLAIN;
    const USED: &'static CStr = c"used_dltensor";
    fn new(tensor: DlTensor, context: *mut c_void, _: u64) -> Plain {
        Plain { tensor, context, deleter: Some(release::<Plain>) }
    }
    fn tensor(&self) -> &DlTensor {
        &self.tensor
    }
    fn context(&self) -> *mut c_void {
        self.context
    }
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Plain)> {
        self.deleter
    }
    fn is_known(&self) -> bool {
        true
    }
}

impl Managed for Versioned {
    const NAME: &'static CStr = VERSIONED;
    const USED: &'static CStr = c"used_dltensor_versioned";
    fn new(tensor: DlTensor, context: *mut c_void, flags: u64) -> Versioned {
        let (major, minor) = VERSION;
        Versioned { major, minor, context, deleter: Some(release::<Versioned>), flags, tensor }
    }
    fn tensor(&self) -> &DlTensor {
        &self.tensor
    }
    fn context(&self) -> *mut c_void {
        self.context
    }
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Versioned)> {
        self.deleter
    }
    fn is_known(&self) -> bool {
        self.major == VERSION.0
    }
}

fn data_type(dtype: DType) -> DataType {
    let code = match dtype {
        DType::Bool => 6,
        d if d.is_float() => 2,
        d if d.is_unsigned() => 1,
        _ => 0,
    };
    DataType { code, bits: 8 * dtype.size() as u8, lanes: 1 }
}

fn from_data_type(t: DataType) -> Option<DType> {
    let same = |d: DataType| (d.code, d.bits, d.lanes) == (t.code, t.bits, t.lanes);
    DType::ALL.into_iter().find(|&d| same(data_type(d)))
}

/// What an exported struct points into.
struct Loan {
    _array: Array,
    dims: Vec<i64>,
    strides: Vec<i64>,
}

/// A capsule over an array.
fn export<M: Managed>(py: Python<'_>, array: Array, flags: u64) -> PyResult<Bound<'_, PyAny>> {
    let dtype = data_type(array.dtype());
    let dims = array.dims().iter().map(|&d| d as i64).collect();
    let strides = array.strides().iter().map(|&s| s as i64).collect();
    let data = array.ptr().cast_mut().cast();
    let loan = Box::into_raw(Box::new(Loan { _array: array, dims, strides }));
    // SAFETY: the loan is alive until the deleter runs, and its vectors stay where they are.
    let tensor = unsafe {
        DlTensor {
            data,
            device_type: CPU,
            device_id: 0,
            ndim: (*loan).dims.len() as i32,
            dtype,
            shape: (*loan).dims.as_mut_ptr(),
            strides: (*loan).strides.as_mut_ptr(),
            byte_offset: 0,
        }
    };
    let managed = Box::into_raw(Box::new(M::new(tensor, loan.cast(), flags)));
    // SAFETY: the pointer is not null, the name is static, the destructor is for this kind of struct.
    let capsule = unsafe { ffi::PyCapsule_New(managed.cast(), M::NAME.as_ptr(), Some(destroy::<M>)) };
    if capsule.is_null() {
        // SAFETY: nobody else has seen the struct.
        unsafe { release::<M>(managed) };
    }
    // SAFETY: an owned reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// The deleter of what we export: any thread may call it, with or without the GIL.
unsafe extern "C" fn release<M: Managed>(managed: *mut M) {
    if managed.is_null() {
        return;
    }
    // SAFETY: both boxes were made in `export`; the consumer calls this once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context().cast::<Loan>()));
    }
}

/// The destructor of our capsules: frees what no consumer has taken (a consumer renames the capsule).
unsafe extern "C" fn destroy<M: Managed>(capsule: *mut ffi::PyObject) {
    // SAFETY: called by CPython with our capsule; under its first name it still owns the struct.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) == 1 {
            release::<M>(ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()).cast());
        }
    }
}

/// A foreign struct that is ours to delete.
struct Taken<M: Managed>(NonNull<M>);

impl<M: Managed> Taken<M> {
    /// Takes the struct out of a capsule of this kind; None if the capsule is of another kind.
    fn from(capsule: &Bound<'_, PyAny>) -> PyResult<Option<Taken<M>>> {
        // SAFETY: `capsule` is any object: `PyCapsule_IsValid` says whether it is a capsule of this name. Renaming
        // it makes us the struct's owner.
        unsafe {
            if ffi::PyCapsule_IsValid(capsule.as_ptr(), M::NAME.as_ptr()) != 1 {
                return Ok(None);
            }
            let managed = ffi::PyCapsule_GetPointer(capsule.as_ptr(), M::NAME.as_ptr());
            let managed = NonNull::new(managed.cast()).ok_or_else(|| PyErr::fetch(capsule.py()))?;
            if ffi::PyCapsule_SetName(capsule.as_ptr(), M::USED.as_ptr()) != 0 {
                return Err(PyErr::fetch(capsule.py()));
            }
            Ok(Some(Taken(managed)))
        }
    }

    /// A copy of the elements.
    fn copied(&self, py: Python<'_>) -> PyResult<Array> {
        let refuse = |text: String| PyBufferError::new_err(format!("from_dlpack: {text}"));
        // SAFETY: the struct is alive until `self` is dropped.
        let managed = unsafe { self.0.as_ref() };
        if !managed.is_known() {
            return Err(refuse("the struct is of another major version of DLPack".to_owned()));
        }
        let t = managed.tensor();
        if !matches!(t.device_type, CPU | CPU_PINNED) {
            return Err(refuse(format!(
                "the array is on a device of type {}, not on the CPU",
                t.device_type
            )));
        }
        let DataType { code, bits, lanes } = t.dtype;
        let Some(dtype) = from_data_type(t.dtype) else {
            let text = format!("dtype code {code} of {bits} bits in {lanes} lanes has no counterpart here");
            return Err(raise(py, "DtypeError", format!("from_dlpack: {text}")));
        };
        let rank = usize::try_from(t.ndim).map_err(|_| refuse("a negative number of axes".to_owned()))?;
        let list = |p: *mut i64| -> &[i64] {
            if rank == 0 || p.is_null() {
                return &[];
            }
            // SAFETY: the struct's own promise: `ndim` numbers where there are any.
            unsafe { std::slice::from_raw_parts(p, rank) }
        };
        let dims: Result<Vec<usize>, _> = list(t.shape).iter().map(|&d| usize::try_from(d)).collect();
        let dims = dims.ok().filter(|d| d.len() == rank && shape::checked_len(d).is_some());
        let dims = dims.ok_or_else(|| refuse("the shape is not one".to_owned()))?;
        let strides: Strides = match list(t.strides) {
            [] => contiguous_strides(&dims),
            s => s.iter().map(|&s| s as isize).collect(),
        };
        if t.data.is_null() && !dims.contains(&0) {
            return Err(refuse("the array has no memory".to_owned()));
        }
        let start = t.data.cast::<u8>().wrapping_add(t.byte_offset as usize);
        // SAFETY: the struct's promise: shape and strides reach only elements, which stay alive until it is deleted.
        unsafe { lift(Array::copied("from_dlpack", dtype, &dims, &strides, start)) }
    }
}

impl<M: Managed> Drop for Taken<M> {
    fn drop(&mut self) {
        // SAFETY: we own the struct, and this is the only place that deletes it.
        unsafe {
            if let Some(deleter) = self.0.as_ref().deleter() {
                deleter(self.0.as_ptr());
            }
        }
    }
}

/// A copy of whatever speaks DLPack.
pub fn import(o: &Bound<'_, PyAny>) -> PyResult<Array> {
    let py = o.py();
    let options = PyDict::new(py);
    options.set_item("max_version", VERSION)?;
    let capsule = match o.call_method("__dlpack__", (), Some(&options)) {
        Err(e) if e.is_instance_of::<PyTypeError>(py) => o.call_method0("__dlpack__")?,
        other => other?,
    };
    if let Some(taken) = Taken::<Versioned>::from(&capsule)? {
        return taken.copied(py);
    }
    match Taken::<Plain>::from(&capsule)? {
        Some(taken) => taken.copied(py),
        None => Err(PyBufferError::new_err(
            "from_dlpack: __dlpack__ gave no capsule that is a DLPack struct not yet taken",
        )),
    }
}

/// A tensor with a copy of the elements of whatever speaks DLPack; a tensor of ours is shared, without its graph.
#[pyfunction]
#[pyo3(signature = (x, /, *, device=None, copy=None, dialect=0))]
fn from_dlpack<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    device: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
    dialect: usize,
) -> PyResult<Bound<'py, Var>> {
    let dialect = Dialect::from_index(dialect);
    if let Some(d) = device {
        super::attributes::on_cpu("from_dlpack", d)?;
    }
    if let Ok(v) = x.cast::<Var>() {
        let array = v.get().values("from_dlpack")?;
        let array = if copy == Some(true) { lift(array.packed())? } else { array };
        return Var::result(py, Tensor::constant(array), dialect);
    }
    if copy == Some(false) {
        return Err(PyBufferError::new_err(
            "from_dlpack: a Tensor never changes, so it cannot share memory that its owner may write to",
        ));
    }
    // The capsule itself is accepted in place of its producer, as older code hands it over.
    let capsule = if x.hasattr("__dlpack__")? { None } else { Some(x) };
    let array = match capsule {
        None => import(x)?,
        Some(c) => match (Taken::<Versioned>::from(c)?, Taken::<Plain>::from(c)?) {
            (Some(taken), _) => taken.copied(py)?,
            (_, Some(taken)) => taken.copied(py)?,
            _ => {
                let text = format!("from_dlpack: {} has no __dlpack__", x.get_type().name()?);
                return Err(raise(py, "ArgumentError", text));
            }
        },
    };
    Var::result(py, Tensor::constant(array), dialect)
}

#[pymethods]
impl Var {
    /// A DLPack capsule over the elements. They are shared and marked read-only where the consumer can read the mark
    /// (`max_version` of at least 1.0), and copied where it cannot.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if stream.is_some() {
            return Err(PyBufferError::new_err("__dlpack__: the CPU has no streams; stream must be None"));
        }
        if dl_device.is_some_and(|d| d != (CPU, 0)) {
            return Err(PyBufferError::new_err("__dlpack__: the only device is (1, 0), the CPU"));
        }
        let array = self.values("__dlpack__").map_err(|e| PyBufferError::new_err(e.value(py).to_string()))?;
        match (max_version.is_some_and(|v| v.0 >= 1), copy) {
            (true, Some(true)) => export::<Versioned>(py, lift(array.packed())?, IS_COPIED),
            (true, _) => export::<Versioned>(py, array, READ_ONLY),
            (false, Some(false)) => Err(PyBufferError::new_err(
                "__dlpack__: a Tensor's memory is read-only, which a capsule before version 1.0 cannot say; \
                 pass max_version=(1, 0) or let it copy",
            )),
            (false, _) => export::<Plain>(py, lift(array.packed())?, 0),
        }
    }

    /// The kind and the number of the device: `(1, 0)`, the CPU.
    fn __dlpack_device__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (CPU, 0).into_pyobject(py)
    }
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(from_dlpack, m)?)
}
