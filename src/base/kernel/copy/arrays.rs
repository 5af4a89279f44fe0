//! Array operations that write memory: zeros, copies in C order, reshapes that copy, and writes to parts of an array.

use super::strided::{copy, copy_parallel};
use crate::array::{Array, Layout};
use crate::dtype::{DType, Element};
use crate::error::Result;
use crate::kernel::broadcast::inverse;
use crate::kernel::par::{self, SendPtr};
use crate::shape::{self, Strides};

/// Sets bytes to zero, in parallel if there are many.
///
/// # Safety
/// The bytes are unshared.
unsafe fn clear(at: *mut u8, bytes: usize) {
    if !par::is_worthwhile(bytes) {
        // SAFETY: as the function's `# Safety` section requires.
        return unsafe { at.write_bytes(0, bytes) };
    }
    let at = SendPtr(at);
    par::pieces(bytes, 4 * par::PIECE, &|r| {
        // SAFETY: as above, for the bytes of this piece.
        unsafe { at.get().add(r.start).write_bytes(0, r.len()) };
    });
}

impl Array {
    /// An array of zeros.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] if the shape does not fit into memory.
    pub fn zeros(op: &'static str, dtype: DType, dims: &[usize]) -> Result<Array> {
        // SAFETY: the memory belongs to the new array alone.
        Array::cleared(op, dtype, dims, |at, bytes| unsafe { clear(at, bytes) })
    }

    /// The same elements in C order: this array if it is contiguous, else a copy.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn contiguous(&self) -> Result<Array> {
        if self.is_contiguous() { Ok(self.clone()) } else { self.packed() }
    }

    /// A copy in C order.
    pub fn packed(&self) -> Result<Array> {
        // SAFETY: the strides reach only elements of this array.
        unsafe { gather("contiguous", self.dtype(), self.dims(), &self.strides(), self.ptr()) }
    }

    /// A copy whose elements lie in an order of axes, the outermost first.
    pub(crate) fn packed_in(&self, order: &[usize]) -> Result<Array> {
        Ok(self.permute(order).packed()?.permute(&inverse(order)))
    }

    /// The same elements with these strides: this array if it has them, else a copy. None if no array without gaps has them.
    pub fn with_strides(&self, strides: &Strides) -> Result<Option<Array>> {
        if self.strides() == *strides {
            return Ok(Some(self.clone()));
        }
        let wanted = Layout { dims: self.dims().into(), strides: strides.clone(), offset: 0 };
        if wanted.is_contiguous() {
            return Ok(Some(self.packed()?));
        }
        let Some(order) = wanted.dense_order() else { return Ok(None) };
        Ok(Some(self.packed_in(&order)?))
    }

    /// A copy in C order of another library's elements. They need no alignment, and any byte but 0 is true.
    ///
    /// # Safety
    /// For every index inside `dims`, the strides lead from `data` to a readable element.
    #[doc(hidden)]
    pub unsafe fn copied(
        op: &'static str,
        dtype: DType,
        dims: &[usize],
        strides: &[isize],
        data: *const u8,
    ) -> Result<Array> {
        use crate::dtype::Bool8;
        // SAFETY: as the function's `# Safety` section requires.
        let mut array = unsafe { gather(op, dtype, dims, strides, data)? };
        if dtype == DType::Bool {
            let bytes = array.as_mut_slice::<Bool8>().expect("a new array is unshared");
            bytes.iter_mut().for_each(|b| *b = Bool8::from(b.0 != 0));
        }
        Ok(array)
    }

    /// The elements in C order under another shape: a view if the strides allow it, else a copy.
    ///
    /// # Panics
    /// If the number of elements differs.
    pub fn reshape(&self, dims: &[usize]) -> Result<Array> {
        assert_eq!(shape::checked_len(dims), Some(self.len()), "reshape: {:?} to {dims:?}", self.dims());
        if self.dims() == dims {
            return Ok(self.clone());
        }
        match self.reshaped(dims) {
            Some(view) => Ok(view),
            None => self.packed()?.reshape(dims),
        }
    }

    /// The same elements in C order with a buffer that views can share: this array if it has one, else a copy.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn shareable(&self) -> Result<Array> {
        Ok(self.contiguous()?.buffered())
    }

    /// Makes this array contiguous and unshared, by a copy if necessary, and returns the address of its first element
    /// for writing.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    #[doc(hidden)]
    pub fn own(&mut self) -> Result<*mut u8> {
        if !self.is_writable() {
            *self = self.packed()?;
        }
        Ok(self.address().expect("made unshared"))
    }

    /// [`Array::own`] for elements of type `T`.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    ///
    /// # Panics
    /// If `T` is not the array's dtype.
    #[doc(hidden)]
    pub fn own_of<T: Element>(&mut self) -> Result<*mut T> {
        assert_eq!(T::DTYPE, self.dtype(), "own_of: the array is {}", self.dtype());
        Ok(self.own()?.cast())
    }

    /// Writes `value` over the elements at a layout of this array's C order. Writes in place if the array is
    /// unshared, else into a copy that replaces it. `value` has the layout's shape and this dtype.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    ///
    /// # Panics
    /// If the layout leaves the array, or `value` has another shape or dtype.
    #[doc(hidden)]
    pub fn write(&mut self, to: &Layout, value: &Array) -> Result<()> {
        let at = self.own()?;
        // SAFETY: `own` made this array's memory unshared.
        unsafe { lay(at, (self.dtype(), self.len()), to, value) };
        Ok(())
    }
}

/// So few elements are always written by one thread, and it takes no time to set them before.
const FEW: usize = 64;

/// Whether layouts cover an array, each element once. Together they have as many elements as the array. True only for what
/// joining and stacking make: parts that follow each other along one axis, or equal parts at equal distances.
fn are_all(parts: &[(Layout, Array)]) -> bool {
    let [(first, _), rest @ ..] = parts else { return true };
    let Some((second, _)) = rest.first() else { return !first.overlaps() };
    let step = second.offset - first.offset;
    let mut all = first.clone();
    // The axis along which the parts follow each other, or None where they are stacked.
    let along = (0..all.dims.len()).find(|&a| step == all.strides[a].wrapping_mul(all.dims[a] as isize));
    for ((x, _), (y, _)) in parts.iter().zip(rest) {
        let differs = |a: usize| x.dims[a] != y.dims[a] && Some(a) != along;
        let apart = along.map_or(step, |a| x.strides[a].wrapping_mul(x.dims[a] as isize));
        if x.strides != y.strides
            || (0..all.dims.len()).any(differs)
            || y.offset.checked_sub(x.offset) != Some(apart)
        {
            return false;
        }
        if let Some(a) = along {
            all.dims[a] += y.dims[a];
        }
    }
    if along.is_none() {
        all.dims.push(parts.len());
        all.strides.push(step);
    }
    !all.overlaps()
}

/// Writes `value` over the elements at a layout of `len` elements in C order.
///
/// # Safety
/// There are `len` unshared elements of that dtype.
///
/// # Panics
/// If the layout leaves them, or `value` has another shape or dtype.
unsafe fn lay(at: *mut u8, (dtype, len): (DType, usize), to: &Layout, value: &Array) {
    assert!(value.dtype() == dtype && value.dims() == to.dims.as_slice(), "write: another shape or dtype");
    assert!(to.fits(len), "write: {to:?} leaves {len} elements");
    let size = dtype.size();
    // Several threads write each element once.
    let by_one_thread = value.len() > FEW && to.overlaps();
    // SAFETY: the layout is inside the memory (asserted above), which is unshared, so `value` is elsewhere.
    unsafe {
        let at = at.offset(to.offset * size as isize);
        let copy = if by_one_thread { copy } else { copy_parallel };
        copy(size, &to.dims, (value.ptr(), &value.strides()), (at, &to.strides));
    }
}

/// A new array assembled from parts, each at a layout of its C order. Layouts do not overlap. Elements outside all
/// parts are `fill` (0-d), or zero.
///
/// # Panics
/// If a layout leaves the array, or a part has another shape or dtype than its layout.
pub fn assemble(
    op: &'static str,
    dtype: DType,
    dims: &[usize],
    parts: &[(Layout, Array)],
    fill: Option<&Array>,
) -> Result<Array> {
    let len = shape::len(dims);
    let covered = parts.iter().map(|(layout, _)| shape::len(&layout.dims)).sum::<usize>() == len;
    // New memory may hold numbers of a freed array. So it is cleared first, unless the parts are known to cover it.
    let covered = covered && len > FEW && are_all(parts);
    let lay_all = |at: *mut u8| {
        for (to, value) in parts {
            // SAFETY: the memory belongs to the new array, which has this dtype and length.
            unsafe { lay(at, (dtype, len), to, value) };
        }
    };
    if covered && shape::checked_len(dims).is_some() {
        return Array::build_raw(op, dtype, dims, lay_all);
    }
    let mut out = match fill {
        Some(value) => value.expand(dims, 0).packed()?,
        None => Array::zeros(op, dtype, dims)?,
    };
    lay_all(out.own()?);
    Ok(out)
}

/// # Safety
/// As [`Array::copied`].
unsafe fn gather(
    op: &'static str,
    dtype: DType,
    dims: &[usize],
    strides: &[isize],
    data: *const u8,
) -> Result<Array> {
    Array::build_raw(op, dtype, dims, |out| {
        let (size, to) = (dtype.size(), shape::contiguous_strides(dims));
        // SAFETY: `out` has the shape's number of elements, and the caller guarantees the strides.
        unsafe {
            if size * shape::len(dims) < par::MIN_BYTES / 8 {
                copy(size, dims, (data, strides), (out, &to));
            } else {
                copy_parallel(size, dims, (data, strides), (out, &to));
            }
        }
    })
}
