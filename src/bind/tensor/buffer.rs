//! The buffer protocol: the memory of a tensor, lent to other libraries read-only. In the torch dialect both write to it.

use std::ffi::{CStr, c_int};
use std::ptr::null_mut;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::array::{Array, Loan};
use crate::bind::python::error::OrRaise;
use crate::bind::value::var::Var;
use crate::dtype::DType;
use crate::shape::contiguous_strides;

/// What a buffer points into. It lives until the borrower releases the buffer.
struct Lent {
    array: Array,
    /// The right to write to it, if the borrower has that.
    loan: Option<Loan>,
    dims: Vec<isize>,
    /// In bytes.
    strides: Vec<isize>,
}

/// A dtype in the letters of Python's `struct` module, with the sizes of the machine. None if there is no letter.
fn format(dtype: DType) -> Option<&'static CStr> {
    let long = size_of::<std::ffi::c_long>() == 8;
    Some(match dtype {
        DType::Bool => c"?",
        DType::U8 => c"B",
        DType::I8 => c"b",
        DType::U16 => c"H",
        DType::I16 => c"h",
        DType::U32 => c"I",
        DType::I32 => c"i",
        DType::U64 if long => c"L",
        DType::U64 => c"Q",
        DType::I64 if long => c"l",
        DType::I64 => c"q",
        DType::F16 => c"e",
        DType::BF16 => return None,
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::C64 => c"Zf",
        DType::C128 => c"Zd",
    })
}

/// Whether the elements lie without gaps in C order, and whether they do in Fortran order.
fn orders(array: &Array) -> (bool, bool) {
    if array.len() == 0 {
        return (true, true);
    }
    let fits = |axis: usize, expected: isize| array.dims()[axis] == 1 || array.strides()[axis] == expected;
    let c = contiguous_strides(array.dims());
    let mut step = 1;
    let f = array.dims().iter().enumerate().all(|(axis, &d)| {
        let fits = fits(axis, step);
        step *= d as isize;
        fits
    });
    ((0..array.rank()).all(|axis| fits(axis, c[axis])), f)
}

/// The reason why this array cannot give the buffer that a borrower asks for.
fn refusal(array: &Array, is_writable: bool, flags: c_int) -> Option<&'static str> {
    let asks = |flag: c_int| flags & flag == flag;
    let (c, f) = orders(array);
    if asks(ffi::PyBUF_WRITABLE) && !is_writable {
        Some("a Tensor's memory is read-only; take numpy.array(x) for a copy to write to")
    } else if asks(ffi::PyBUF_C_CONTIGUOUS) && !c || asks(ffi::PyBUF_F_CONTIGUOUS) && !f {
        Some("the Tensor is not contiguous in the order asked for")
    } else if !(c || asks(ffi::PyBUF_STRIDES)) || asks(ffi::PyBUF_ANY_CONTIGUOUS) && !(c || f) {
        Some("the Tensor is not contiguous")
    } else {
        None
    }
}

#[pymethods]
impl Var {
    /// # Safety
    ///  CPython calls this with a view to be filled.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no view to fill"));
        }
        // SAFETY: CPython owns the view. A null object says that it was not filled.
        unsafe { (*view).obj = null_mut() };
        let var = slf.get();
        let shares = var.dialect().shares_with_numpy();
        let t = if shares { var.look() } else { var.tensor() };
        let mut array =
            var.numbers_of(t, "buffer").map_err(|e| PyBufferError::new_err(e.value(slf.py()).to_string()))?;
        let Some(letters) = format(array.dtype()) else {
            return Err(PyBufferError::new_err(
                "a buffer has no format for bfloat16; convert it with .float() or .astype('float32')",
            ));
        };
        if let Some(text) = refusal(&array, shares, flags) {
            return Err(PyBufferError::new_err(text));
        }
        let mut loan = None;
        if shares {
            // A trace is given up here, before the tensor is locked.
            array.ptr();
            let (memory, own) = var.export().or_raise()?;
            (array, loan) = (memory, Some(own));
        }
        let size = array.dtype().size() as isize;
        let dims = array.dims().iter().map(|&d| d as isize).collect();
        let strides = array.strides().iter().map(|s| s * size).collect();
        let lent = Box::new(Lent { array, loan, dims, strides });
        let asks = |flag: c_int| flags & flag == flag;
        // SAFETY: all pointers lead into the box, which does not move until `__releasebuffer__`, or to static text.
        // The memory is written where there is a loan of it, so that nobody takes it for a value; otherwise the view is read-only.
        unsafe {
            let view = &mut *view;
            view.buf = lent.array.ptr().cast_mut().cast();
            view.len = lent.array.len() as isize * size;
            view.itemsize = size;
            view.readonly = c_int::from(lent.loan.is_none());
            view.ndim = lent.dims.len() as c_int;
            view.format = if asks(ffi::PyBUF_FORMAT) { letters.as_ptr().cast_mut() } else { null_mut() };
            view.shape = if asks(ffi::PyBUF_ND) { lent.dims.as_ptr().cast_mut() } else { null_mut() };
            view.strides =
                if asks(ffi::PyBUF_STRIDES) { lent.strides.as_ptr().cast_mut() } else { null_mut() };
            view.suboffsets = null_mut();
            view.internal = Box::into_raw(lent).cast();
            view.obj = slf.into_ptr();
        }
        Ok(())
    }

    /// # Safety
    ///  CPython calls this once for each filled view.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: `__getbuffer__` has put this box here.
        drop(unsafe { Box::from_raw((*view).internal.cast::<Lent>()) });
    }
}
