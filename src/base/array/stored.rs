//! Arrays in files: with their strides, and all elements from the first to the last one that these reach.

use std::ops::Range;

use super::{Array, Layout};
use crate::dtype::{Bool8, DType};
use crate::error::{Result, bail};
use crate::shape::{self, Dims, Strides};
use crate::stored::{Reader, Stored};

impl Layout {
    /// How far the elements reach below and above the first one. None if that is no `isize`, or if there are more elements
    /// than an array can have.
    pub fn reach(&self) -> Option<(isize, isize)> {
        shape::checked_len(&self.dims)?;
        if self.dims.len() != self.strides.len() {
            return None;
        }
        let (mut low, mut high) = (0isize, 0isize);
        for (&d, &s) in self.dims.iter().zip(&self.strides).filter(|_| !self.dims.contains(&0)) {
            let reach = s.checked_mul(isize::try_from(d).ok()?.checked_sub(1)?)?;
            low = low.checked_add(reach.min(0))?;
            high = high.checked_add(reach.max(0))?;
        }
        Some((low, high))
    }

    /// The bytes from the first to the last element in memory, counted from the first one, for elements of `size` bytes. None if
    /// these, or all elements one after the other, are more than memory can have.
    pub fn bytes(&self, size: usize) -> Option<Range<isize>> {
        let (low, high) = self.reach()?;
        let (size, all) =
            (isize::try_from(size).ok()?, isize::try_from(shape::checked_len(&self.dims)?).ok()?);
        all.checked_mul(size)?;
        Some(low.checked_mul(size)?..high.checked_add(1)?.checked_mul(size)?)
    }
}

impl Array {
    /// A contiguous array of elements in C order, given as the bytes that they have in memory. Any byte but 0 is true.
    ///
    /// # Errors
    /// Another number of bytes, and want of memory.
    pub fn from_bytes(dtype: DType, dims: &[usize], bytes: &[u8]) -> Result<Array> {
        let wanted = shape::checked_len(dims).and_then(|n| n.checked_mul(dtype.size()));
        if wanted != Some(bytes.len()) {
            bail!(
                Shape,
                "from_bytes",
                "an array of shape {dims:?} and dtype {dtype} has not {} bytes",
                bytes.len()
            );
        }
        let mut array = Array::build_raw("from_bytes", dtype, dims, |to| {
            // SAFETY: the new array has as many bytes.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) }
        })?;
        if let Some(truths) = array.as_mut_slice::<Bool8>() {
            truths.iter_mut().for_each(|truth| *truth = Bool8::from(truth.0 != 0));
        }
        Ok(array)
    }

    /// The bytes of the elements, which lie in C order. None if they do not.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        // SAFETY: a contiguous array has as many elements at its address, and they live as long as the array.
        self.is_contiguous()
            .then(|| unsafe { std::slice::from_raw_parts(self.ptr(), self.len() * self.dtype().size()) })
    }
}

impl Stored for Array {
    fn write(&self, to: &mut Vec<u8>) {
        let layout = self.layout();
        let (low, high) = layout.reach().expect("the array exists");
        self.dtype().write(to);
        layout.dims.write(to);
        layout.strides.write(to);
        if self.len() > 0 {
            let all = self.restride(&[(high - low + 1) as usize], &[1], low);
            to.extend(all.as_bytes().expect("contiguous"));
        }
    }

    fn read(from: &mut Reader<'_>) -> Option<Array> {
        let dtype = DType::read(from)?;
        let layout = Layout { dims: Dims::read(from)?, strides: Strides::read(from)?, offset: 0 };
        let (low, high) = layout.reach()?;
        let n = if layout.dims.contains(&0) {
            0
        } else {
            usize::try_from(high.checked_sub(low)?).ok()?.checked_add(1)?
        };
        let bytes = from.take(n.checked_mul(dtype.size())?)?;
        let all = Array::from_bytes(dtype, &[n], bytes).ok()?;
        Some(all.restride(&layout.dims, &layout.strides, -low))
    }
}
