//! Memory that another library may write to while tensors have it. A keeper owns it, and whoever may write to it has a
//! loan. An array in such memory is read and written where it lies, but is no value that may be kept: its holder takes a
//! copy of what it keeps.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use super::buffer::Keeper;
use super::{Array, Buffer, Data};
use crate::dtype::DType;
use crate::error::{Error, Result};

/// The right to write to memory. As long as there is a second one, the memory counts as written to by others.
#[doc(hidden)]
pub struct Loan {
    keeper: Arc<Keeper>,
    at: NonNull<u8>,
    bytes: usize,
    loans: Arc<()>,
}

// SAFETY: the address is data. It is read and written by `Loan::write` and by arrays alone, whose callers see to it that no two
// threads do so at once.
unsafe impl Send for Loan {}
// SAFETY: as above.
unsafe impl Sync for Loan {}

impl Clone for Loan {
    fn clone(&self) -> Loan {
        Loan { keeper: self.keeper.clone(), at: self.at, bytes: self.bytes, loans: self.loans.clone() }
    }
}

impl Loan {
    /// A loan of another library's memory, which `owner` keeps alive.
    ///
    /// # Safety
    /// `bytes` bytes from `at` on are initialised, may be read and written, and live as long as `owner`.
    pub unsafe fn foreign(at: NonNull<u8>, bytes: usize, owner: Box<dyn Any + Send + Sync>) -> Loan {
        let loans = Arc::default();
        let keeper = Keeper { owner, is_foreign: true, loans: Arc::clone(&loans) };
        Loan { keeper: Arc::new(keeper), at, bytes, loans }
    }

    /// Whether nobody else may write to the memory any more.
    pub fn is_last(&self) -> bool {
        !self.keeper.is_foreign && Arc::strong_count(&self.loans) == 2
    }

    /// The address of the first byte.
    pub fn address(&self) -> *mut u8 {
        self.at.as_ptr()
    }

    /// A loan of as many of the bytes as make up elements of this dtype.
    #[must_use]
    pub fn of(&self, dtype: DType) -> Loan {
        Loan { bytes: self.bytes / dtype.size() * dtype.size(), ..self.clone() }
    }

    /// Whether both lead to bytes in common.
    pub fn overlaps(&self, other: &Loan) -> bool {
        let (own, others) = (self.at.addr().get(), other.at.addr().get());
        own < others.saturating_add(other.bytes) && others < own.saturating_add(self.bytes)
    }

    /// The memory as a vector of elements of a dtype. None if the bytes make up no elements, or lie where none can.
    pub fn array(&self, dtype: DType) -> Option<Array> {
        let size = dtype.size();
        if !self.bytes.is_multiple_of(size) || !self.at.addr().get().is_multiple_of(size.min(8)) {
            return None;
        }
        // SAFETY: the keeper has these bytes, and they are initialised, as those who make a loan promise.
        let buffer = unsafe { Buffer::kept(self.at, self.bytes, self.keeper.clone())? };
        let data = Data::Shared(triomphe::Arc::new(buffer), 0);
        Some(Array::in_memory(data, &[self.bytes / size], dtype))
    }

    /// Whether an array lies in this memory, from its first byte.
    pub fn holds(&self, array: &Array) -> bool {
        let keeper = array.buffer().and_then(Buffer::keeper);
        keeper.is_some_and(|keeper| Arc::ptr_eq(keeper, &self.keeper)) && array.ptr() == self.at.as_ptr()
    }

    /// Writes the elements of a contiguous array over the memory.
    ///
    /// # Panics
    /// If they are not as many bytes as the memory has.
    pub fn write(&self, array: &Array) {
        let bytes = array.len() * array.dtype().size();
        assert!(array.is_contiguous() && bytes == self.bytes, "write: {bytes} bytes to {}", self.bytes);
        // SAFETY: both have these bytes. The array may lie in the same memory.
        unsafe { std::ptr::copy(array.ptr(), self.at.as_ptr(), bytes) };
    }
}

impl Array {
    /// Moves the elements to memory that can be lent, if they do not lie in such memory already, or others have the
    /// array, and lends it.
    ///
    /// # Errors
    /// [`Error::Memory`].
    #[doc(hidden)]
    pub fn lend(&mut self) -> Result<Loan> {
        self.own()?;
        let whole = std::mem::replace(self, Array::scalar(0_u8)).buffered();
        let (dims, dtype, bytes) = (whole.dims().to_vec(), whole.dtype(), whole.len() * whole.dtype().size());
        let at = NonNull::new(whole.ptr().cast_mut()).expect("the address of a buffer");
        let kept = whole.buffer().and_then(|buffer| {
            let keeper = buffer.keeper()?;
            (buffer.ptr() == at.as_ptr() && buffer.len() == bytes).then(|| keeper.clone())
        });
        let loans = kept.as_ref().map_or_else(Arc::default, |keeper| keeper.loans.clone());
        let keeper = kept.unwrap_or_else(|| {
            Arc::new(Keeper { owner: Box::new(whole), is_foreign: false, loans: loans.clone() })
        });
        let loan = Loan { keeper, at, bytes, loans };
        let vector = loan.array(dtype).ok_or_else(|| Error::memory("numpy", dims.clone(), dtype))?;
        *self = vector.reshaped(&dims).expect("the vector is contiguous");
        Ok(loan)
    }

    /// Whether the memory counts as written to by others.
    #[inline]
    #[doc(hidden)]
    pub fn is_lent(&self) -> bool {
        let keeper = self.buffer().and_then(Buffer::keeper);
        keeper.is_some_and(|keeper| keeper.is_lent())
    }

    /// A copy if the memory counts as written to by others. Elements without gaps keep their order.
    ///
    /// # Errors
    /// [`Error::Memory`].
    #[doc(hidden)]
    pub fn kept(self) -> Result<Array> {
        if !self.is_lent() {
            return Ok(self);
        }
        match self.layout().dense_order() {
            Some(order) => self.packed_in(&order),
            None => self.packed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_lent_as_long_as_there_is_a_second_loan() {
        for n in [1, 2, 3, 1000] {
            let mut x = Array::from_slice(&vec![1.0f64; n], &[n, 1]).unwrap();
            let other = x.clone();
            let own = x.lend().unwrap();
            assert!(own.is_last() && own.holds(&x) && !own.holds(&other));
            let lent = own.clone();
            assert!(x.is_lent() && !own.is_last() && own.overlaps(&lent));
            // SAFETY: the loan is of `n` numbers, which nobody reads meanwhile.
            unsafe { lent.address().cast::<f64>().write(2.0) };
            assert_eq!((x.to_vec::<f64>()[0], other.to_vec::<f64>()[0]), (2.0, 1.0));
            own.write(&other);
            assert_eq!(x.to_vec::<f64>(), other.to_vec::<f64>());
            assert!(x.is_writable());
            drop(lent);
            assert!(own.is_last());
            let kept = x.clone().kept().unwrap();
            drop(own);
            assert!(!x.is_lent() && !x.kept().unwrap().is_lent() && !kept.is_lent());
        }
    }

    #[test]
    fn memory_is_lent_again_by_the_same_keeper() {
        let mut x = Array::from_slice(&[1.0f32; 100], &[100]).unwrap();
        let first = x.lend().unwrap();
        let at = first.address();
        drop(first);
        assert_eq!(x.lend().unwrap().address(), at);
        let view = x.slice_axis(0, 1, 99, 1);
        assert_ne!(x.lend().unwrap().address(), at);
        assert_eq!(view.to_vec::<f32>(), [1.0; 99]);
    }
}
