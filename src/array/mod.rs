//! `Array`: a shared, immutable n-d array of any dtype, in one word.

mod array_with;
mod buffer;
mod layout;
mod view;

use std::fmt;

use ndarray::{ArrayViewD, IxDyn, ShapeBuilder};
use triomphe::{Arc, UniqueArc};

use crate::dtype::{DType, Element, dispatch};
use crate::error::{Error, Result};
use crate::shape::{self, Dims, Strides};
pub use array_with::ArrayWith;
use buffer::Buffer;
pub use buffer::{empty_cache, set_cache_limit};
pub use layout::Layout;
pub(crate) use layout::by_size;

/// Bytes that live in the header instead of a buffer of their own.
const INLINE: usize = 16;

enum Data {
    Inline([u64; INLINE / 8]),
    /// A buffer and the byte offset of the first element.
    Shared(Arc<Buffer>, usize),
}

struct Inner {
    data: Data,
    dims: Dims,
    /// Strides in elements; none means C-contiguous.
    strides: Option<Box<Strides>>,
    dtype: DType,
}

/// A shared, immutable n-d array. Cloning costs one reference count; a view shares the buffer.
#[derive(Clone)]
pub struct Array(Arc<Inner>);

impl Array {
    /// An array whose elements `fill` writes. They start as valid but unspecified values.
    ///
    /// # Errors
    /// [`Error::Memory`] when the shape is too large for memory.
    pub fn build<T: Element>(op: &'static str, dims: &[usize], fill: impl FnOnce(&mut [T])) -> Result<Array> {
        let (mut inner, n) = Array::allocate(op, T::DTYPE, dims, Buffer::new)?;
        // SAFETY: `allocate` gave initialised, aligned memory for `n` elements of `T`, and nobody else holds it.
        fill(unsafe { std::slice::from_raw_parts_mut(inner.data.as_mut_ptr().cast::<T>(), n) });
        Ok(Array(inner.shareable()))
    }

    /// The same for a kernel that works on bytes: `fill` gets the address of the first element.
    /// It must write only elements of this dtype, and only inside the array.
    pub(crate) fn build_raw(
        op: &'static str,
        dtype: DType,
        dims: &[usize],
        fill: impl FnOnce(*mut u8),
    ) -> Result<Array> {
        let (mut inner, _) = Array::allocate(op, dtype, dims, Buffer::new)?;
        fill(inner.data.as_mut_ptr());
        Ok(Array(inner.shareable()))
    }

    #[inline]
    fn allocate(
        op: &'static str,
        dtype: DType,
        dims: &[usize],
        buffer: impl FnOnce(usize) -> Option<Buffer>,
    ) -> Result<(UniqueArc<Inner>, usize)> {
        let bytes = shape::checked_len(dims).and_then(|n| Some((n, n.checked_mul(dtype.size())?)));
        let memory = || Error::memory(op, dims.to_vec(), dtype);
        let (n, bytes) = bytes.ok_or_else(memory)?;
        let data = if bytes <= INLINE {
            Data::Inline([0; INLINE / 8])
        } else {
            Data::Shared(Arc::new(buffer(bytes).ok_or_else(memory)?), 0)
        };
        // Filled where it will stay: a list that is moved there costs more.
        let mut inner = UniqueArc::new(Inner { data, dims: Dims::new(), strides: None, dtype });
        dims.iter().for_each(|&d| inner.dims.push(d));
        Ok((inner, n))
    }

    /// An array of zeros, `clear` being called for so many bytes of memory that are not zero yet.
    ///
    /// # Errors
    /// As [`Array::build`].
    pub(crate) fn cleared(
        op: &'static str,
        dtype: DType,
        dims: &[usize],
        clear: impl FnOnce(*mut u8, usize),
    ) -> Result<Array> {
        let zeroed = |bytes| Buffer::zeroed(bytes, clear);
        Ok(Array(Array::allocate(op, dtype, dims, zeroed)?.0.shareable()))
    }

    /// An array of one repeated value. Takes no memory for its elements: every stride is zero.
    pub fn full<T: Element>(dims: &[usize], value: T) -> Array {
        let mut data = Data::Inline([0; INLINE / 8]);
        // SAFETY: an element has at most 8 bytes and needs at most 8-byte alignment.
        unsafe { data.as_mut_ptr().cast::<T>().write(value) };
        let strides = (shape::len(dims) != 1).then(|| Box::new(Strides::from_elem(0, dims.len())));
        Array(Arc::new(Inner { data, dims: shape::dims(dims), strides, dtype: T::DTYPE }))
    }

    /// [`Array::full`] with the dtype given at run time.
    pub fn full_of(dtype: DType, dims: &[usize], value: f64) -> Array {
        dispatch!(dtype, all T => Array::full(dims, T::from_f64(value)))
    }

    /// A 0-d array.
    pub fn scalar<T: Element>(value: T) -> Array {
        Array::full(&[], value)
    }

    /// An array with these elements in C order.
    ///
    /// # Panics
    /// When `data` has another number of elements than the shape.
    pub fn from_slice<T: Element>(data: &[T], dims: &[usize]) -> Result<Array> {
        assert_eq!(data.len(), shape::len(dims), "from_slice: {} elements for shape {dims:?}", data.len());
        Array::build("from_slice", dims, |out| out.copy_from_slice(data))
    }

    #[inline]
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    #[inline]
    pub fn dims(&self) -> &[usize] {
        &self.0.dims
    }

    #[inline]
    pub fn rank(&self) -> usize {
        self.0.dims.len()
    }

    /// The number of elements.
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        shape::len(&self.0.dims)
    }

    /// Strides in elements.
    pub fn strides(&self) -> Strides {
        match &self.0.strides {
            Some(s) => Strides::clone(s),
            None => shape::contiguous_strides(&self.0.dims),
        }
    }

    /// Whether the elements lie in C order without gaps.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.0.strides.is_none()
    }

    /// The address of the first element; with the strides it reaches every element.
    #[inline]
    pub(crate) fn ptr(&self) -> *const u8 {
        self.0.data.as_ptr()
    }

    /// Whether both are the same array object, not only equal.
    pub fn is_same(&self, other: &Array) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The elements in C order, if they lie so.
    ///
    /// # Panics
    /// When `T` is not the array's dtype.
    #[inline]
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        assert_eq!(T::DTYPE, self.0.dtype, "as_slice: the array is {}", self.0.dtype);
        // SAFETY: contiguous, initialised, of this type, and immutable while borrowed.
        self.is_contiguous()
            .then(|| unsafe { std::slice::from_raw_parts(self.ptr().cast::<T>(), self.len()) })
    }

    /// All elements with their strides.
    ///
    /// # Panics
    /// When `T` is not the array's dtype.
    pub fn view<T: Element>(&self) -> ArrayViewD<'_, T> {
        assert_eq!(T::DTYPE, self.0.dtype, "view: the array is {}", self.0.dtype);
        let mut dims = self.0.dims.to_vec();
        let mut strides = self.strides();
        let mut ptr = self.ptr().cast::<T>();
        let mut flipped = vec![];
        for (axis, (d, s)) in dims.iter_mut().zip(&mut strides).enumerate() {
            if *s < 0 {
                // SAFETY: with the largest index on this axis the address is still an element of the array.
                ptr = unsafe { ptr.offset(*s * (d.max(&mut 1).wrapping_sub(1)) as isize) };
                *s = -*s;
                flipped.push(axis);
            }
        }
        let unsigned: Vec<usize> = strides.iter().map(|&s| s as usize).collect();
        // SAFETY: the strides reach only elements of the buffer (`restride` checked them), which lives as long as
        // the borrow of `self`; strides are non-negative here, as ndarray asks.
        let mut view = unsafe { ArrayViewD::from_shape_ptr(IxDyn(&dims).strides(IxDyn(&unsigned)), ptr) };
        for axis in flipped {
            view.invert_axis(ndarray::Axis(axis));
        }
        view
    }

    /// The elements in C order, copied if need be.
    pub fn to_vec<T: Element>(&self) -> Vec<T> {
        match self.as_slice() {
            Some(s) => s.to_vec(),
            None => self.view().iter().copied().collect(),
        }
    }

    /// The first element as a number of Rust's. Meant for arrays of one element.
    ///
    /// # Panics
    /// When the array is empty.
    pub fn item(&self) -> Item {
        assert!(self.len() > 0, "item: the array is empty");
        let ptr = self.ptr();
        match self.dtype() {
            // SAFETY: the array has a first element and it has this type.
            DType::Bool => Item::Bool(unsafe { *ptr } != 0),
            // SAFETY: as above.
            d if d.is_float() => dispatch!(d, all T => Item::Float(unsafe { *ptr.cast::<T>() }.to_f64())),
            // SAFETY: as above.
            DType::U64 => Item::Int(i128::from(unsafe { *ptr.cast::<u64>() })),
            // SAFETY: as above.
            d => dispatch!(d, all T => Item::Int(i128::from(unsafe { *ptr.cast::<T>() }.to_i64()))),
        }
    }

    /// Whether the elements are contiguous and nobody else can see them.
    pub fn is_writable(&mut self) -> bool {
        self.address().is_some()
    }

    /// The address of the first element for writing: only if the elements are contiguous and nobody else can see them.
    pub(crate) fn address(&mut self) -> Option<*mut u8> {
        let inner = Arc::get_mut(&mut self.0).filter(|i| i.strides.is_none())?;
        if let Data::Shared(buffer, _) = &mut inner.data {
            Arc::get_mut(buffer)?;
        }
        Some(inner.data.as_mut_ptr())
    }

    /// The elements for writing in place: only if they are contiguous and nobody else can see them.
    pub fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        let n = self.len();
        let at = self.address().filter(|_| self.dtype() == T::DTYPE)?;
        // SAFETY: contiguous, of this type, and unshared, as `address` says; `self` is borrowed mutably.
        Some(unsafe { std::slice::from_raw_parts_mut(at.cast::<T>(), n) })
    }
}

/// One element as a number of Rust's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item {
    Bool(bool),
    Int(i128),
    Float(f64),
}

impl Item {
    pub fn to_f64(self) -> f64 {
        match self {
            Item::Bool(b) => f64::from(u8::from(b)),
            Item::Int(i) => i as f64,
            Item::Float(f) => f,
        }
    }
}

impl Data {
    #[inline]
    fn as_ptr(&self) -> *const u8 {
        match self {
            Data::Inline(words) => words.as_ptr().cast(),
            // SAFETY: the offset lies inside the buffer, or at its end for an array without elements.
            Data::Shared(buffer, offset) => unsafe { buffer.ptr().add(*offset) },
        }
    }

    #[inline]
    fn as_mut_ptr(&mut self) -> *mut u8 {
        match self {
            Data::Inline(words) => words.as_mut_ptr().cast(),
            // SAFETY: as above.
            Data::Shared(buffer, offset) => unsafe { buffer.ptr().add(*offset) },
        }
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dispatch!(self.dtype(), all T => write!(f, "{:?} {}", self.view::<T>(), self.dtype()))
    }
}
