//! Sealed arrays: while a program is traced, the numbers of a value may be read where ops are applied and nowhere else,
//! because a number that was read anywhere else would stay the same in the program.

use std::sync::Arc;

use super::{Array, Data, Inner, Seal, Sealed};

impl Sealed {
    /// The address of the first element.
    #[cold]
    pub(super) fn read(&self) -> *const u8 {
        self.seal.read();
        self.array.ptr()
    }

    /// Another array under the same seal.
    #[cold]
    pub(super) fn with(&self, array: Array) -> Array {
        array.sealed(self.seal.clone())
    }
}

impl Array {
    /// The array under a seal. It has a buffer, whose address tells views of the array from other arrays.
    #[must_use]
    pub fn sealed(self, seal: Arc<dyn Seal>) -> Array {
        let (dims, dtype, trace) = (self.0.dims.clone(), self.dtype(), seal.trace());
        let strides = self.0.strides.clone();
        let data = Data::Sealed(Box::new(Sealed { array: self.buffered(), seal }));
        Array(triomphe::Arc::new(Inner { data, dims, strides, dtype, trace }))
    }

    /// The array under the seal of a trace. None if that trace has not sealed it.
    pub fn sealed_by(&self, trace: u32) -> Option<&Array> {
        match &self.0.data {
            Data::Sealed(sealed) if sealed.seal.trace() == trace => Some(&sealed.array),
            _ => None,
        }
    }

    /// The array without its seal.
    pub fn unsealed(&self) -> &Array {
        match &self.0.data {
            Data::Sealed(sealed) => sealed.array.unsealed(),
            _ => self,
        }
    }

    /// The buffer of an array under a seal, and the bytes from there to its first element.
    pub fn place(&self) -> (usize, usize) {
        match &self.unsealed().0.data {
            Data::Shared(buffer, offset) => (triomphe::Arc::as_ptr(buffer) as usize, *offset),
            _ => unreachable!("a sealed array has a buffer"),
        }
    }

    /// Whether the array has a buffer, and so a [`Array::place`].
    pub fn has_place(&self) -> bool {
        matches!(self.unsealed().0.data, Data::Shared(..))
    }

    /// A number that tells this array object from all others, as long as it exists.
    pub fn identity(&self) -> usize {
        triomphe::Arc::as_ptr(&self.0) as usize
    }

    /// Whether the array has a seal.
    pub fn is_sealed(&self) -> bool {
        matches!(self.0.data, Data::Sealed(_))
    }

    /// The trace that the array was made in; 0 for none.
    #[inline]
    pub fn trace(&self) -> u32 {
        self.0.trace
    }
}
