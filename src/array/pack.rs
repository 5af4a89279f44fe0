//! Strided elements, an array's or another library's, brought into C order. Works on element size, never on dtype.

use super::{Array, copy};
use crate::dtype::DType;
use crate::error::Result;
use crate::shape;

impl Array {
    /// The same elements in C order: this array if it is so already, else a copy.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn contiguous(&self) -> Result<Array> {
        if self.is_contiguous() {
            return Ok(self.clone());
        }
        self.packed()
    }

    /// Copies the elements to `out` in C order.
    ///
    /// # Safety
    /// `out` has room for them, is aligned, and is nobody else's.
    pub(crate) unsafe fn pack_into(&self, out: *mut u8) {
        let to = shape::contiguous_strides(self.dims());
        // SAFETY: the strides reach only elements of this array; the rest is the caller's promise.
        unsafe { copy(self.dtype().size(), self.dims(), (self.ptr(), &self.strides()), (out, &to)) };
    }

    /// A copy in C order.
    pub fn packed(&self) -> Result<Array> {
        // SAFETY: the strides reach only elements of this array.
        unsafe { gather("contiguous", self.dtype(), self.dims(), &self.strides(), self.ptr()) }
    }

    /// A copy in C order of elements that another library holds, `strides` elements apart. They need no alignment;
    /// any byte but 0 is true.
    ///
    /// # Safety
    /// With every index inside `dims` the strides lead from `data` to an element that may be read.
    #[cfg(feature = "python")]
    pub(crate) unsafe fn copied(
        op: &'static str,
        dtype: DType,
        dims: &[usize],
        strides: &[isize],
        data: *const u8,
    ) -> Result<Array> {
        use crate::dtype::Bool8;
        // SAFETY: the caller's promise.
        let mut array = unsafe { gather(op, dtype, dims, strides, data)? };
        if dtype == DType::Bool {
            let bytes = array.as_mut_slice::<Bool8>().expect("a new array is unshared");
            bytes.iter_mut().for_each(|b| *b = Bool8::from(b.0 != 0));
        }
        Ok(array)
    }
}

/// # Safety
/// As of [`Array::copied`].
unsafe fn gather(
    op: &'static str,
    dtype: DType,
    dims: &[usize],
    strides: &[isize],
    data: *const u8,
) -> Result<Array> {
    Array::build_raw(op, dtype, dims, |out| {
        let size = dtype.size();
        // SAFETY: `out` has as many elements as the shape, and the strides reach only elements.
        unsafe { copy(size, dims, (data, strides), (out, &shape::contiguous_strides(dims))) };
    })
}
