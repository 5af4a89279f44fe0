//! Strided elements, an array's or another library's, brought into C order. Works on element size, never on dtype.

use smallvec::SmallVec;

use super::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::shape::{Dims, Strides};

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
        if dims.contains(&0) {
            return;
        }
        let (dims, strides) = merged(dims, strides);
        // SAFETY: `out` has as many elements as the shape, and the strides reach only elements.
        unsafe {
            match dtype.size() {
                1 => pack::<u8>(&dims, &strides, data.cast(), out.cast()),
                2 => pack::<u16>(&dims, &strides, data.cast(), out.cast()),
                4 => pack::<u32>(&dims, &strides, data.cast(), out.cast()),
                _ => pack::<u64>(&dims, &strides, data.cast(), out.cast()),
            };
        }
    })
}

/// The shape without axes of size 1, neighbours that lie in one run joined.
fn merged(dims: &[usize], strides: &[isize]) -> (Dims, Strides) {
    let mut out: SmallVec<[(usize, isize); 4]> = SmallVec::new();
    for (&d, &s) in dims.iter().zip(strides).filter(|(d, _)| **d != 1) {
        match out.last_mut() {
            Some((run, stride)) if *stride == s * d as isize => {
                *run *= d;
                *stride = s;
            }
            _ => out.push((d, s)),
        }
    }
    out.into_iter().unzip()
}

/// # Safety
/// `out` has room for every element and is aligned; `x` with the strides reaches only elements.
unsafe fn pack<T: Copy>(dims: &[usize], strides: &[isize], x: *const T, out: *mut T) -> usize {
    // SAFETY: the caller's promise holds for each part of the shape.
    unsafe {
        match (dims, strides) {
            ([], _) => {
                *out = x.read_unaligned();
                1
            }
            ([n], [1]) => {
                std::ptr::copy_nonoverlapping(x.cast::<u8>(), out.cast(), *n * size_of::<T>());
                *n
            }
            ([n], [s]) => {
                for i in 0..*n {
                    *out.add(i) = x.wrapping_offset(i as isize * s).read_unaligned();
                }
                *n
            }
            ([n, dims @ ..], [s, strides @ ..]) => {
                let mut done = 0;
                for i in 0..*n {
                    done += pack(dims, strides, x.offset(i as isize * s), out.add(done));
                }
                done
            }
            _ => unreachable!("one stride an axis"),
        }
    }
}
