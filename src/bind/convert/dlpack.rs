//! DLPack: arrays given to and owned from other libraries through one C struct (dmlc/dlpack, `dlpack.h`, version 1.1).

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::Array;
use crate::bind::python::error::{OrRaise, raise};
use crate::bind::python::gil::{ask, listening};
use crate::dtype::DType;
use crate::graph::modes;
use crate::shape::{self, Strides, contiguous_strides};

/// The device type of the CPU.
pub const CPU: i32 = 1;
/// Memory of the host that a GPU can read too.
const CPU_PINNED: i32 = 3;
const VERSION: (u32, u32) = (1, 1);
/// More axes are taken for a damaged struct, because no library makes them.
const MAX_RANK: usize = 1 << 10;
const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

const UNVERSIONED: &CStr = c"dltensor";
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
struct Unversioned {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Unversioned)>,
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

/// The two structs, so that the code below is written once.
trait ManagedTensor: Sized + 'static {
    const NAME: &'static CStr;
    const USED: &'static CStr;
    fn new(tensor: DlTensor, context: *mut c_void, flags: u64) -> Self;
    fn tensor(&self) -> &DlTensor;
    fn context(&self) -> *mut c_void;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
    /// Whether the struct has the layout that this file knows.
    fn is_known(&self) -> bool;
}

impl ManagedTensor for Unversioned {
    const NAME: &'static CStr = UNVERSIONED;
    const USED: &'static CStr = c"used_dltensor";
    fn new(tensor: DlTensor, context: *mut c_void, _: u64) -> Unversioned {
        Unversioned { tensor, context, deleter: Some(release::<Unversioned>) }
    }
    fn tensor(&self) -> &DlTensor {
        &self.tensor
    }
    fn context(&self) -> *mut c_void {
        self.context
    }
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Unversioned)> {
        self.deleter
    }
    fn is_known(&self) -> bool {
        true
    }
}

impl ManagedTensor for Versioned {
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
        DType::BF16 => 4,
        d if d.is_float() => 2,
        d if d.is_complex() => 5,
        d if d.is_unsigned() => 1,
        _ => 0,
    };
    DataType { code, bits: 8 * dtype.size() as u8, lanes: 1 }
}

fn from_data_type(t: DataType) -> Option<DType> {
    let same = |d: DataType| (d.code, d.bits, d.lanes) == (t.code, t.bits, t.lanes);
    DType::ALL.into_iter().find(|&d| same(data_type(d)))
}

/// The memory that an exported struct points into.
struct Loan {
    _array: Array,
    dims: Vec<i64>,
    strides: Vec<i64>,
}

/// A capsule over an array.
fn export<M: ManagedTensor>(py: Python<'_>, array: Array, flags: u64) -> PyResult<Bound<'_, PyAny>> {
    let dtype = data_type(array.dtype());
    let dims = array.dims().iter().map(|&d| d as i64).collect();
    let strides = array.strides().iter().map(|&s| s as i64).collect();
    let data = array.ptr().cast_mut().cast();
    let loan = Box::into_raw(Box::new(Loan { _array: array, dims, strides }));
    // SAFETY: the loan lives until the deleter runs, and its vectors do not move.
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
    // SAFETY: the pointer is not null, the name is static, and the destructor is for this kind of struct.
    let capsule = unsafe { ffi::PyCapsule_New(managed.cast(), M::NAME.as_ptr(), Some(destroy::<M>)) };
    if capsule.is_null() {
        // SAFETY: nobody else has the pointer.
        unsafe { release::<M>(managed) };
    }
    // SAFETY: the pointer is a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// The deleter of an exported struct. Any thread may call it, with or without the GIL.
unsafe extern "C" fn release<M: ManagedTensor>(managed: *mut M) {
    if managed.is_null() {
        return;
    }
    // SAFETY: both boxes were made in `export`, and the consumer calls this once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context().cast::<Loan>()));
    }
}

/// The destructor of an exported capsule. It frees the struct unless a consumer has owned it, which renames the
/// capsule.
unsafe extern "C" fn destroy<M: ManagedTensor>(capsule: *mut ffi::PyObject) {
    // SAFETY: CPython calls this with a capsule of ours. Under its first name the capsule still owns the struct.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) == 1 {
            release::<M>(ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()).cast());
        }
    }
}

/// A struct of another library that this object owns.
struct OwnedTensor<M: ManagedTensor>(NonNull<M>);

impl<M: ManagedTensor> OwnedTensor<M> {
    /// Takes the struct out of a capsule of this kind. None if the object is not such a capsule.
    fn from(capsule: &Bound<'_, PyAny>) -> PyResult<Option<OwnedTensor<M>>> {
        // SAFETY: `PyCapsule_IsValid` takes any object and says whether it is a capsule of this name. The new name
        // makes this object the owner of the struct.
        unsafe {
            if ffi::PyCapsule_IsValid(capsule.as_ptr(), M::NAME.as_ptr()) != 1 {
                return Ok(None);
            }
            let managed = ffi::PyCapsule_GetPointer(capsule.as_ptr(), M::NAME.as_ptr());
            let managed = NonNull::new(managed.cast()).ok_or_else(|| PyErr::fetch(capsule.py()))?;
            if ffi::PyCapsule_SetName(capsule.as_ptr(), M::USED.as_ptr()) != 0 {
                return Err(PyErr::fetch(capsule.py()));
            }
            Ok(Some(OwnedTensor(managed)))
        }
    }

    /// A copy of the elements.
    fn copied(&self, py: Python<'_>) -> PyResult<Array> {
        let refuse = |text: String| PyBufferError::new_err(format!("from_dlpack: {text}"));
        // SAFETY: the struct lives until `self` is dropped.
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
        let rank = usize::try_from(t.ndim).ok().filter(|&rank| rank <= MAX_RANK);
        let rank = rank.ok_or_else(|| refuse(format!("an array cannot have {} axes", t.ndim)))?;
        let list = |p: *mut i64| -> &[i64] {
            if rank == 0 || p.is_null() {
                return &[];
            }
            // SAFETY: DLPack promises `ndim` numbers where the pointer is not null.
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
        // SAFETY: DLPack promises that shape and strides reach only elements, which live as long as the struct.
        listening(ask, || unsafe { Array::copied("from_dlpack", dtype, &dims, &strides, start) }).or_raise()
    }
}

impl<M: ManagedTensor> Drop for OwnedTensor<M> {
    fn drop(&mut self) {
        // SAFETY: this object owns the struct, and nothing else deletes it.
        unsafe {
            if let Some(deleter) = self.0.as_ref().deleter() {
                deleter(self.0.as_ptr());
            }
        }
    }
}

/// A copy of the elements of an object that has `__dlpack__`.
pub fn import(o: &Bound<'_, PyAny>) -> PyResult<Array> {
    if let Some(trace) = modes::trace() {
        trace.give_up("it makes a tensor of another library's array");
    }
    let py = o.py();
    let options = PyDict::new(py);
    options.set_item("max_version", VERSION)?;
    let capsule = match o.call_method("__dlpack__", (), Some(&options)) {
        Err(e) if e.is_instance_of::<PyTypeError>(py) => o.call_method0("__dlpack__")?,
        other => other?,
    };
    copy_capsule(&capsule)?.ok_or_else(|| {
        PyBufferError::new_err(
            "from_dlpack: __dlpack__ gave no capsule that is a DLPack struct not yet taken",
        )
    })
}

/// A copy of the elements of a capsule. None if the object is no capsule of DLPack that still owns its struct.
pub fn copy_capsule(capsule: &Bound<'_, PyAny>) -> PyResult<Option<Array>> {
    if let Some(owned) = OwnedTensor::<Versioned>::from(capsule)? {
        return owned.copied(capsule.py()).map(Some);
    }
    match OwnedTensor::<Unversioned>::from(capsule)? {
        Some(owned) => owned.copied(capsule.py()).map(Some),
        None => Ok(None),
    }
}

/// A capsule of version 1 over an array, which is a copy for the consumer or is marked read-only.
pub fn export_versioned(py: Python<'_>, array: Array, is_copy: bool) -> PyResult<Bound<'_, PyAny>> {
    export::<Versioned>(py, array, if is_copy { IS_COPIED } else { READ_ONLY })
}

/// A capsule from before version 1, which cannot be marked read-only.
pub fn export_unversioned(py: Python<'_>, array: Array) -> PyResult<Bound<'_, PyAny>> {
    export::<Unversioned>(py, array, 0)
}
