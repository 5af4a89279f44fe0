//! `Array`: a shared, immutable n-dimensional array of any dtype, in one word.

mod array_with;
mod buffer;
mod layout;
mod lent;
mod sealed;
mod stored;
pub mod trace_number;
mod view;

use std::fmt;
use std::mem::MaybeUninit;

use ndarray::{ArrayBase, ArrayD, ArrayViewD, Dimension, IxDyn, ShapeBuilder};
use triomphe::{Arc, UniqueArc};

use crate::dtype::{DType, Element, bf16, c64, c128, dispatch, f16};
use crate::error::{Error, Result, bail};
use crate::memory::{self, write_fields};
use crate::shape::{self, Dims, Strides};
pub use array_with::ArrayWith;
use buffer::Buffer;
pub use buffer::{empty_cache, hold, set_cache_limit};
pub use layout::Layout;
pub use layout::by_size;
#[doc(hidden)]
pub use lent::Loan;

/// Arrays of at most this many bytes are stored in the header and have no buffer.
const INLINE: usize = 16;

#[derive(Clone)]
enum Data {
    Inline([u64; INLINE / 8]),
    /// A buffer, and the byte offset of the first element.
    Shared(Arc<Buffer>, usize),
    /// The array under a seal.
    Sealed(Box<Sealed>),
}

/// Who sealed an array.
pub trait Seal: Send + Sync {
    /// The numbers of the array are about to be read.
    fn read(&self);

    /// The number of the trace, which is not 0.
    fn trace(&self) -> u32;
}

/// An array, and who sealed it.
#[derive(Clone)]
struct Sealed {
    array: Array,
    seal: std::sync::Arc<dyn Seal>,
}

struct Inner {
    data: Data,
    dims: Dims,
    /// Strides in elements. `None` means C-contiguous.
    strides: Option<Box<Strides>>,
    dtype: DType,
    /// The trace that the array was made in; 0 for none.
    trace: u32,
}

/// A shared, immutable n-dimensional array. Cloning it increments a reference count, and views share its buffer.
#[derive(Clone)]
pub struct Array(Arc<Inner>);

/// An array that nobody else has. Its elements are valid but unspecified until they are written.
#[doc(hidden)]
pub struct Unwritten(UniqueArc<Inner>);

impl Unwritten {
    /// The address of the first element.
    #[inline]
    pub fn ptr(&mut self) -> *mut u8 {
        self.0.data.as_mut_ptr()
    }

    #[inline]
    pub fn written(self) -> Array {
        Array(self.0.shareable())
    }
}

impl Inner {
    /// A header in memory of its own.
    #[inline(always)]
    fn placed(
        data: impl FnOnce() -> Data,
        dims: &[usize],
        strides: Option<Box<Strides>>,
        dtype: DType,
        trace: u32,
    ) -> UniqueArc<Inner> {
        let mut new = UniqueArc::new(MaybeUninit::uninit());
        let header = write_fields!(
            &mut *new,
            Inner { data: data(), dims: Dims::new(), strides: strides, dtype: dtype, trace: trace }
        );
        dims.iter().for_each(|&d| header.dims.push(d));
        // SAFETY: it has been written.
        unsafe { UniqueArc::assume_init(new) }
    }
}

impl Array {
    /// A new array that `fill` writes. Its elements start as valid but unspecified values.
    ///
    /// # Errors
    /// [`Error::Memory`] if the shape does not fit into memory.
    pub fn build<T: Element>(op: &'static str, dims: &[usize], fill: impl FnOnce(&mut [T])) -> Result<Array> {
        Array::build_raw(op, T::DTYPE, dims, |out| {
            // SAFETY: the new array has initialised, aligned, unshared memory for the elements of its shape, which are of type `T`.
            fill(unsafe { std::slice::from_raw_parts_mut(out.cast::<T>(), shape::len(dims)) });
        })
    }

    /// [`Array::build`] for kernels that work on bytes: `fill` gets the address of the first element, from which as many elements
    /// of this dtype may be written as the shape has.
    #[inline]
    #[doc(hidden)]
    pub fn build_raw(
        op: &'static str,
        dtype: DType,
        dims: &[usize],
        fill: impl FnOnce(*mut u8),
    ) -> Result<Array> {
        let mut array = Array::unwritten(op, dtype, dims)?;
        fill(array.ptr());
        Ok(array.written())
    }

    /// A new contiguous array that the caller writes.
    ///
    /// # Errors
    /// As [`Array::build`].
    #[inline]
    #[doc(hidden)]
    pub fn unwritten(op: &'static str, dtype: DType, dims: &[usize]) -> Result<Unwritten> {
        Ok(Unwritten(Array::allocate(op, dtype, dims, Buffer::new)?.0))
    }

    fn allocate(
        op: &'static str,
        dtype: DType,
        dims: &[usize],
        buffer: impl FnOnce(usize) -> Option<Arc<Buffer>>,
    ) -> Result<(UniqueArc<Inner>, usize)> {
        let bytes = shape::checked_len(dims).and_then(|n| Some((n, n.checked_mul(dtype.size())?)));
        let no_memory = || Error::memory(op, dims.to_vec(), dtype);
        let (n, bytes) = bytes.ok_or_else(no_memory)?;
        memory::check()?;
        let buffer = match bytes {
            0..=INLINE => None,
            _ => Some(buffer(bytes).ok_or_else(no_memory)?),
        };
        let data = || buffer.map_or(Data::Inline([0; INLINE / 8]), |buffer| Data::Shared(buffer, 0));
        Ok((Inner::placed(data, dims, None, dtype, trace_number::current()), n))
    }

    /// An array of zeros. `clear` is called with address and length when the memory is not zero yet.
    ///
    /// # Errors
    /// As [`Array::build`].
    #[doc(hidden)]
    pub fn cleared(
        op: &'static str,
        dtype: DType,
        dims: &[usize],
        clear: impl FnOnce(*mut u8, usize),
    ) -> Result<Array> {
        let zeroed = |bytes| Buffer::zeroed(bytes, clear);
        Ok(Array(Array::allocate(op, dtype, dims, zeroed)?.0.shareable()))
    }

    /// An array that repeats one value. All strides are zero, so it holds one element.
    ///
    /// # Panics
    /// If the shape has more elements than memory can have.
    pub fn full<T: Element>(dims: &[usize], value: T) -> Array {
        let len = shape::checked_len(dims)
            .filter(|n| n.checked_mul(size_of::<T>()).is_some_and(|b| b <= isize::MAX as usize));
        let len = len.unwrap_or_else(|| panic!("full: {dims:?} has more elements than memory can have"));
        let mut data = Data::Inline([0; INLINE / 8]);
        // SAFETY: an element has at most 16 bytes and at most 8-byte alignment, and the inline data has as much.
        unsafe { data.as_mut_ptr().cast::<T>().write(value) };
        let strides = (len != 1).then(|| Box::new(Strides::from_elem(0, dims.len())));
        Array(Inner::placed(|| data, dims, strides, T::DTYPE, trace_number::current()).shareable())
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
    /// If the length of `data` is not the number of elements of the shape.
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
            Some(s) => Strides::from_slice(s),
            None => shape::contiguous_strides(&self.0.dims),
        }
    }

    /// Strides in elements, or `None` if the array is contiguous.
    #[inline]
    pub fn own_strides(&self) -> Option<&[isize]> {
        self.0.strides.as_ref().map(|s| s.as_slice())
    }

    /// Whether the strides are these.
    pub fn has_strides(&self, strides: &[isize]) -> bool {
        match &self.0.strides {
            Some(own) => own.as_slice() == strides,
            None => shape::are_contiguous(&self.0.dims, strides),
        }
    }

    /// Whether the elements are in C order without gaps.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.0.strides.is_none()
    }

    /// The address of the first element. With the strides it leads to every element.
    #[inline]
    #[doc(hidden)]
    pub fn ptr(&self) -> *const u8 {
        self.0.data.as_ptr()
    }

    /// [`Array::ptr`] for elements of type `T`.
    ///
    /// # Panics
    /// If `T` is not the array's dtype.
    #[inline]
    #[doc(hidden)]
    pub fn first<T: Element>(&self) -> *const T {
        assert_eq!(T::DTYPE, self.0.dtype, "first: the array is {}", self.0.dtype);
        self.ptr().cast()
    }

    /// The buffer, if there is one.
    #[inline]
    fn buffer(&self) -> Option<&Buffer> {
        match &self.0.data {
            Data::Shared(buffer, _) => Some(buffer),
            _ => None,
        }
    }

    /// A contiguous array over this data, which no trace has made.
    fn in_memory(data: Data, dims: &[usize], dtype: DType) -> Array {
        Array(Inner::placed(|| data, dims, None, dtype, 0).shareable())
    }

    /// Whether both are the same object, not just equal.
    pub fn is_same(&self, other: &Array) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The elements in C order, or `None` if the array is not contiguous.
    ///
    /// # Panics
    /// If `T` is not the array's dtype.
    #[inline]
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        assert_eq!(T::DTYPE, self.0.dtype, "as_slice: the array is {}", self.0.dtype);
        // SAFETY: the elements are contiguous, initialised and of type `T`, and cannot change while `self` is
        // borrowed.
        self.is_contiguous()
            .then(|| unsafe { std::slice::from_raw_parts(self.ptr().cast::<T>(), self.len()) })
    }

    /// A strided view of the elements.
    ///
    /// # Panics
    /// If `T` is not the array's dtype.
    pub fn view<T: Element>(&self) -> ArrayViewD<'_, T> {
        assert_eq!(T::DTYPE, self.0.dtype, "view: the array is {}", self.0.dtype);
        let mut dims = self.0.dims.to_vec();
        let mut strides = self.strides();
        let mut ptr = self.ptr().cast::<T>();
        let mut flipped = vec![];
        for (axis, (d, s)) in dims.iter_mut().zip(&mut strides).enumerate() {
            if *s < 0 {
                // SAFETY: this is the address of the last index along the axis, an element of the array.
                ptr = unsafe { ptr.offset(*s * (d.max(&mut 1).wrapping_sub(1)) as isize) };
                *s = -*s;
                flipped.push(axis);
            }
        }
        let unsigned: Vec<usize> = strides.iter().map(|&s| s as usize).collect();
        // SAFETY: `restride` and `full` checked that the strides stay inside the buffer, which lives as long as the borrow of
        // `self`, and they are non-negative here, as ndarray requires.
        let mut view = unsafe { ArrayViewD::from_shape_ptr(IxDyn(&dims).strides(IxDyn(&unsigned)), ptr) };
        for axis in flipped {
            view.invert_axis(ndarray::Axis(axis));
        }
        view
    }

    /// The elements in C order, copied.
    pub fn to_vec<T: Element>(&self) -> Vec<T> {
        match self.as_slice() {
            Some(s) => s.to_vec(),
            None => self.view().iter().copied().collect(),
        }
    }

    /// A copy as an array of ndarray's.
    ///
    /// ```
    /// # use ferrograd_base as ferrograd;
    /// use ferrograd::{Array, ndarray};
    /// let x = Array::from(ndarray::arr2(&[[1.0, 2.0], [3.0, 4.0]]));
    /// assert_eq!(x.to_ndarray::<f64>()?, ndarray::arr2(&[[1.0, 2.0], [3.0, 4.0]]).into_dyn());
    /// # Ok::<(), Box<ferrograd::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where `T` is not the array's dtype.
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        if T::DTYPE != self.dtype() {
            bail!(Dtype, "to_ndarray", "the array is {}, not {}", self.dtype(), T::DTYPE);
        }
        Ok(ArrayD::from_shape_vec(IxDyn(self.dims()), self.to_vec()).expect("as many elements as the shape"))
    }

    /// The first element as a Rust number, for arrays of one element.
    ///
    /// # Panics
    /// If the array is empty.
    pub fn item(&self) -> Item {
        assert!(self.len() > 0, "item: the array is empty");
        let ptr = self.ptr();
        match self.dtype() {
            // SAFETY: the array has a first element, and the match arm has its type.
            DType::Bool => Item::Bool(unsafe { *ptr } != 0),
            // SAFETY: as above.
            DType::F16 => Item::Float(unsafe { *ptr.cast::<f16>() }.to_f64()),
            // SAFETY: as above.
            DType::BF16 => Item::Float(unsafe { *ptr.cast::<bf16>() }.to_f64()),
            // SAFETY: as above.
            DType::F32 => Item::Float(f64::from(unsafe { *ptr.cast::<f32>() })),
            // SAFETY: as above.
            DType::F64 => Item::Float(unsafe { *ptr.cast::<f64>() }),
            // SAFETY: as above.
            DType::C64 => {
                // SAFETY: as above.
                let z = unsafe { *ptr.cast::<c64>() };
                Item::Complex(c128::new(f64::from(z.re), f64::from(z.im)))
            }
            // SAFETY: as above.
            DType::C128 => Item::Complex(unsafe { *ptr.cast::<c128>() }),
            d => {
                dispatch!(d, int T => {
                // SAFETY: as above.
                Item::Int(i128::from(unsafe { *ptr.cast::<T>() }))
            }, else unreachable!("an integer"))
            }
        }
    }

    /// Whether the elements are contiguous and unshared.
    pub fn is_writable(&mut self) -> bool {
        self.address().is_some()
    }

    /// The address of the first element for writing, or `None` if the elements are not contiguous or are shared.
    #[doc(hidden)]
    pub fn address(&mut self) -> Option<*mut u8> {
        let inner = Arc::get_mut(&mut self.0).filter(|i| i.strides.is_none())?;
        match &mut inner.data {
            Data::Inline(_) => {}
            Data::Shared(buffer, _) => _ = Arc::get_mut(buffer)?,
            Data::Sealed(_) => return None,
        }
        Some(inner.data.as_mut_ptr())
    }

    /// The elements for writing in place, or `None` if they are not contiguous, are shared, or are not of type `T`.
    pub fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        let n = self.len();
        let at = self.address().filter(|_| self.dtype() == T::DTYPE)?;
        // SAFETY: `address` checked that the elements are contiguous and unshared, they are of type `T`, and `self`
        // is borrowed mutably.
        Some(unsafe { std::slice::from_raw_parts_mut(at.cast::<T>(), n) })
    }
}

/// One element as a Rust number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item {
    Bool(bool),
    Int(i128),
    Float(f64),
    Complex(c128),
}

impl Item {
    /// The number as a float. None if it is complex.
    pub fn to_f64(self) -> Option<f64> {
        match self {
            Item::Bool(b) => Some(f64::from(u8::from(b))),
            Item::Int(i) => Some(i as f64),
            Item::Float(f) => Some(f),
            Item::Complex(_) => None,
        }
    }

    /// The number as a complex one.
    pub fn to_complex(self) -> c128 {
        match self {
            Item::Complex(z) => z,
            real => Element::from_f64(real.to_f64().unwrap_or(f64::NAN)),
        }
    }
}

impl Data {
    #[inline]
    fn as_ptr(&self) -> *const u8 {
        match self {
            Data::Inline(words) => words.as_ptr().cast(),
            // SAFETY: the offset is inside the buffer, or at its end for an array without elements.
            Data::Shared(buffer, offset) => unsafe { buffer.ptr().add(*offset) },
            Data::Sealed(sealed) => sealed.read(),
        }
    }

    #[inline]
    fn as_mut_ptr(&mut self) -> *mut u8 {
        match self {
            Data::Inline(words) => words.as_mut_ptr().cast(),
            // SAFETY: as above.
            Data::Shared(buffer, offset) => unsafe { buffer.ptr().add(*offset) },
            Data::Sealed(_) => unreachable!("a sealed array is not written to"),
        }
    }
}

/// # Panics
/// If there is no memory for a copy of the elements.
impl<T: Element, S: ndarray::Data<Elem = T>, D: Dimension> From<ArrayBase<S, D>> for Array {
    fn from(array: ArrayBase<S, D>) -> Array {
        let copied = Array::build("from", array.shape(), |out| {
            out.iter_mut().zip(&array).for_each(|(out, x)| *out = *x);
        });
        copied.unwrap_or_else(|error| error.throw())
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dispatch!(self.dtype(), all T => write!(f, "{:?} {}", self.view::<T>(), self.dtype()))
    }
}
