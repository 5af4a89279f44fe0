//! Strided elements brought into C order. Works on element size, never on dtype.

use smallvec::SmallVec;

use super::Array;
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
        Array::build_raw("contiguous", self.dtype(), self.dims(), |out| {
            let (dims, strides) = merged(self.dims(), &self.strides());
            // SAFETY: `out` has as many elements as the shape, and the strides reach only elements of this array.
            unsafe {
                match self.dtype().size() {
                    1 => pack::<u8>(&dims, &strides, self.ptr().cast(), out.cast()),
                    2 => pack::<u16>(&dims, &strides, self.ptr().cast(), out.cast()),
                    4 => pack::<u32>(&dims, &strides, self.ptr().cast(), out.cast()),
                    _ => pack::<u64>(&dims, &strides, self.ptr().cast(), out.cast()),
                };
            }
        })
    }
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
/// `out` has room for every element; `x` with the strides reaches only elements.
unsafe fn pack<T: Copy>(dims: &[usize], strides: &[isize], x: *const T, out: *mut T) -> usize {
    // SAFETY: the caller's promise holds for each part of the shape.
    unsafe {
        match (dims, strides) {
            ([], _) => {
                *out = *x;
                1
            }
            ([n], [1]) => {
                std::ptr::copy_nonoverlapping(x, out, *n);
                *n
            }
            ([n], [s]) => {
                for i in 0..*n {
                    *out.add(i) = *x.offset(i as isize * s);
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
