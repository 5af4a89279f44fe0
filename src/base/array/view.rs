//! Views: other shapes and strides over the same buffer.

use std::ops::Range;

use smallvec::SmallVec;
use triomphe::Arc;

use super::{Array, Buffer, Data, INLINE, Inner, Layout};
use crate::shape::{self, Dims, Strides};

/// A new buffer with the bytes of an inline array.
fn buffer_of(words: &[u64; INLINE / 8]) -> Arc<Buffer> {
    let buffer = Buffer::new(INLINE).expect("sixteen bytes");
    // SAFETY: the new buffer has `INLINE` bytes.
    unsafe { std::ptr::copy_nonoverlapping(words.as_ptr().cast(), buffer.ptr(), INLINE) };
    buffer
}

impl Array {
    /// A view with these sizes and strides, which starts `offset` elements after this array's first.
    ///
    /// # Panics
    /// If the view leaves the buffer, has more elements than memory can have, or has another number of strides than of sizes.
    pub fn restride(&self, dims: &[usize], strides: &[isize], offset: isize) -> Array {
        if let Data::Sealed(sealed) = &self.0.data {
            return sealed.with(sealed.array.restride(dims, strides, offset));
        }
        let size = self.dtype().size() as isize;
        let empty = dims.contains(&0);
        let (mut low, mut high, mut bytes) = (offset, offset, size as usize);
        // What is too far for an `isize` is outside of every buffer.
        for (&d, &s) in dims.iter().zip(strides).filter(|_| !empty) {
            bytes = bytes.saturating_mul(d);
            let reach = s.saturating_mul((d as isize).wrapping_sub(1));
            if reach < 0 { low = low.saturating_add(reach) } else { high = high.saturating_add(reach) }
        }
        assert!(
            dims.len() == strides.len() && bytes <= isize::MAX as usize,
            "restride: {dims:?} with strides {strides:?} are no elements of an array"
        );
        let (start, bytes) = match &self.0.data {
            Data::Inline(_) => (0, INLINE as isize),
            Data::Shared(buffer, start) => (*start as isize, buffer.len() as isize),
            Data::Sealed(_) => unreachable!("its array is restrided"),
        };
        assert!(
            empty
                || (start.saturating_add(low.saturating_mul(size)) >= 0
                    && start.saturating_add(high.saturating_add(1).saturating_mul(size)) <= bytes),
            "restride: {dims:?} with strides {strides:?} from {offset} leaves the buffer"
        );
        let data = match &self.0.data {
            Data::Inline(words) if offset == 0 && low == 0 => Data::Inline(*words),
            // Inline data has no offset, so a view into the middle of it needs a buffer.
            Data::Inline(words) => {
                Data::Shared(buffer_of(words), if empty { 0 } else { (offset * size) as usize })
            }
            Data::Shared(buffer, _) if empty => Data::Shared(buffer.clone(), 0),
            Data::Shared(buffer, _) => Data::Shared(buffer.clone(), (start + offset * size) as usize),
            Data::Sealed(_) => unreachable!("its array is restrided"),
        };
        let contiguous = empty || {
            let mut expected = 1;
            dims.iter().zip(strides).rev().all(|(&d, &s)| {
                let fits = d == 1 || s == expected;
                // No overflow, since all elements together have at most `isize::MAX` bytes.
                expected *= d as isize;
                fits
            })
        };
        let strides = (!contiguous).then(|| Box::new(Strides::from_slice(strides)));
        self.over(data, dims, strides)
    }

    /// An array of the same dtype and trace.
    #[inline]
    fn over(&self, data: Data, dims: &[usize], strides: Option<Box<Strides>>) -> Array {
        Array(Inner::placed(|| data, dims, strides, self.dtype(), self.0.trace).shareable())
    }

    /// The elements at a layout of this C-contiguous array. The first `batch_ndim` axes are kept, before those of the
    /// layout.
    ///
    /// # Panics
    /// If the layout leaves the buffer.
    #[must_use]
    pub fn part(&self, layout: &Layout, batch_ndim: usize) -> Array {
        self.at(&layout.under(self.dims(), batch_ndim))
    }

    /// Views of the real and the imaginary parts of a complex array.
    ///
    /// # Panics
    /// If the array is not complex.
    pub fn parts(&self) -> (Array, Array) {
        let pairs = self.as_real();
        let (dims, strides) = (self.dims(), self.strides());
        let double: Strides = strides.iter().map(|s| 2 * s).collect();
        (pairs.restride(dims, &double, 0), pairs.restride(dims, &double, 1))
    }

    /// A view of a complex array with the real and the imaginary part of each element along a new last axis of size 2.
    ///
    /// # Panics
    /// If the array is not complex.
    pub fn as_real(&self) -> Array {
        assert!(self.dtype().is_complex(), "as_real: the array is {}", self.dtype());
        let dims: Dims = self.dims().iter().copied().chain([2]).collect();
        if let Data::Sealed(sealed) = &self.0.data {
            return sealed.with(sealed.array.as_real());
        }
        let strides = self.0.strides.as_ref();
        let strides = strides.map(|s| Box::new(s.iter().map(|s| 2 * s).chain([1]).collect::<Strides>()));
        let (dtype, trace) = (self.dtype().real(), self.0.trace);
        Array(Arc::new(Inner { data: self.0.data.clone(), dims, strides, dtype, trace }))
    }

    /// A view with size 1 on every axis along which elements repeat, so that it has each element once.
    #[must_use]
    pub fn without_repeats(&self) -> Array {
        let strides = self.strides();
        let own = |(&d, &s): (&usize, &isize)| if s == 0 { d.min(1) } else { d };
        let dims: Dims = self.dims().iter().zip(&strides).map(own).collect();
        self.restride(&dims, &strides, 0)
    }

    /// This array with a buffer that views can share, copied there if it is inline.
    #[doc(hidden)]
    pub fn buffered(self) -> Array {
        let Data::Inline(words) = &self.0.data else { return self };
        let data = Data::Shared(buffer_of(words), 0);
        self.over(data, self.dims(), self.0.strides.clone())
    }

    /// The layout of this array's elements in the C order of another array with the same buffer, without the first
    /// `batch_ndim` axes of both. `None` if the elements are not in `whole`.
    pub fn layout_in(&self, whole: &Array, batch_ndim: usize) -> Option<Layout> {
        let (Data::Shared(own, start), Data::Shared(other, first)) =
            (&self.unsealed().0.data, &whole.unsealed().0.data)
        else {
            return None;
        };
        let (strides, outer) = (self.strides(), whole.strides());
        // The stride of an axis of one element says nothing.
        let hidden = self.dims().get(..batch_ndim)? == whole.dims().get(..batch_ndim)?
            && (0..batch_ndim).all(|a| self.dims()[a] < 2 || strides[a] == outer[a]);
        if !Arc::ptr_eq(own, other) || !hidden || self.dtype() != whole.dtype() || !whole.is_contiguous() {
            return None;
        }
        // An array without elements lies anywhere.
        let bytes = if self.len() == 0 { 0 } else { *start as isize - *first as isize };
        let offset = bytes / self.dtype().size() as isize;
        let layout =
            Layout { dims: self.dims()[batch_ndim..].into(), strides: strides[batch_ndim..].into(), offset };
        layout.fits(shape::len(&whole.dims()[batch_ndim..])).then_some(layout)
    }

    /// Whether both arrays have the same buffer.
    pub fn shares_memory(&self, other: &Array) -> bool {
        match (&self.unsealed().0.data, &other.unsealed().0.data) {
            (Data::Shared(own, _), Data::Shared(other, _)) => Arc::ptr_eq(own, other),
            _ => self.is_same(other),
        }
    }

    /// The address `start` bytes after that of the first element.
    ///
    /// # Panics
    /// If the bytes of `range`, counted from the first element, leave the memory of the array.
    #[doc(hidden)]
    pub fn bytes(&self, start: isize, range: Range<isize>) -> *const u8 {
        let (before, after) = match &self.0.data {
            Data::Inline(_) => (0, INLINE as isize),
            Data::Shared(buffer, first) => (*first as isize, buffer.len() as isize - *first as isize),
            Data::Sealed(sealed) => return sealed.array.bytes(start, range),
        };
        assert!(
            -before <= range.start && range.start <= start && start < range.end && range.end <= after,
            "bytes: {range:?} leave the buffer"
        );
        self.ptr().wrapping_offset(start)
    }

    /// An identifier of the memory that holds the elements, and the number of bytes from the first to the last of
    /// them.
    pub fn memory(&self) -> (usize, usize) {
        let id = match &self.0.data {
            Data::Shared(buffer, _) => Arc::as_ptr(buffer) as usize,
            Data::Inline(_) => Arc::as_ptr(&self.0) as usize,
            Data::Sealed(sealed) => return sealed.array.memory(),
        };
        let steps =
            self.dims().iter().zip(self.strides()).map(|(&d, s)| d.saturating_sub(1) * s.unsigned_abs());
        let span = if self.len() == 0 { 0 } else { steps.sum::<usize>() + 1 };
        (id, span * self.dtype().size())
    }

    /// A view of the elements in C order under another shape, or `None` if that needs a copy.
    #[doc(hidden)]
    pub fn reshaped(&self, dims: &[usize]) -> Option<Array> {
        if self.is_contiguous() && !self.is_sealed() {
            assert_eq!(shape::checked_len(dims), Some(self.len()), "reshaped: {:?} to {dims:?}", self.dims());
            return Some(self.over(self.0.data.clone(), dims, None));
        }
        Some(self.restride(dims, &self.reshaped_strides(dims)?, 0))
    }

    /// The strides of a view under another shape, or `None` if that needs a copy.
    fn reshaped_strides(&self, dims: &[usize]) -> Option<Strides> {
        if self.is_contiguous() || self.len() == 0 {
            return Some(shape::contiguous_strides(dims));
        }
        // Runs of axes that are contiguous among themselves can be split differently. Axes of size 1 fit anywhere.
        let mut from: SmallVec<[(usize, isize); 4]> = SmallVec::new();
        for (&d, &s) in self.dims().iter().zip(&self.strides()).filter(|(d, _)| **d != 1) {
            match from.last_mut() {
                Some((run, stride)) if *stride == s * d as isize => {
                    *run *= d;
                    *stride = s;
                }
                _ => from.push((d, s)),
            }
        }
        let mut strides = Strides::from_elem(0, dims.len());
        let mut run = from.len();
        let mut left = 1;
        let mut stride = from.last().map_or(1, |last| last.1);
        for axis in (0..dims.len()).rev() {
            // An axis of one element has the step over those that follow, as PyTorch's has.
            if dims[axis] == 1 {
                strides[axis] = stride;
                continue;
            }
            if left == 1 {
                run = run.checked_sub(1)?;
                (left, stride) = from[run];
            }
            if left % dims[axis] != 0 {
                return None;
            }
            strides[axis] = stride;
            stride *= dims[axis] as isize;
            left /= dims[axis];
        }
        Some(strides)
    }

    /// A view with the axes in another order.
    pub fn permute(&self, order: &[usize]) -> Array {
        let strides = self.strides();
        let dims: Dims = order.iter().map(|&a| self.dims()[a]).collect();
        let strides: Strides = order.iter().map(|&a| strides[a]).collect();
        self.restride(&dims, &strides, 0)
    }

    /// A view broadcast to a larger shape. The first `batch_ndim` axes of both are matched from the left, the others
    /// from the right.
    ///
    /// # Panics
    /// If the array does not broadcast to that shape.
    pub fn expand(&self, dims: &[usize], batch_ndim: usize) -> Array {
        if self.dims() == dims {
            return self.clone();
        }
        let (old, new) = (self.rank(), dims.len());
        assert!(old <= new && batch_ndim <= old, "expand: {:?} to {dims:?}", self.dims());
        let own = self.strides();
        let mut strides = Strides::from_elem(0, new);
        for axis in 0..old {
            let target = if axis < batch_ndim { axis } else { axis + new - old };
            let d = self.dims()[axis];
            assert!(d == dims[target] || d == 1, "expand: {:?} to {dims:?}", self.dims());
            strides[target] = if d == dims[target] { own[axis] } else { 0 };
        }
        self.restride(dims, &strides, 0)
    }

    /// A view with axes of size 1 inserted after the first `batch_ndim` ones, so that it has `rank` axes.
    pub fn with_rank(&self, rank: usize, batch_ndim: usize) -> Array {
        if self.rank() >= rank {
            return self.clone();
        }
        let mut dims = Dims::from_slice(self.dims());
        let mut strides = self.strides();
        for _ in self.rank()..rank {
            dims.insert(batch_ndim, 1);
            strides.insert(batch_ndim, 0);
        }
        self.restride(&dims, &strides, 0)
    }

    /// A view of `count` elements of an axis, from `start` in steps of `step`, which may be negative.
    pub fn slice_axis(&self, axis: usize, start: usize, count: usize, step: isize) -> Array {
        let mut dims = Dims::from_slice(self.dims());
        let mut strides = self.strides();
        let offset = if count == 0 { 0 } else { start as isize * strides[axis] };
        dims[axis] = count;
        strides[axis] *= step;
        self.restride(&dims, &strides, offset)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    fn refuses(f: impl Fn(&Array) -> Array + std::panic::RefUnwindSafe) {
        let x = Array::from_slice(&[1.0f64; 64], &[64]).unwrap();
        let x = std::panic::AssertUnwindSafe(x);
        assert!(catch_unwind(|| f(&x)).is_err());
    }

    #[test]
    fn a_view_has_a_stride_for_each_size() {
        refuses(|x| x.restride(&[64, 64], &[1], 0));
        refuses(|x| x.restride(&[64], &[1, 64], 0));
        refuses(|x| x.restride(&[0, 64], &[1], 0));
        refuses(|x| {
            x.at(&Layout {
                dims: [8, 8, 8].into_iter().collect(),
                strides: [8, 1].into_iter().collect(),
                offset: 0,
            })
        });
    }

    #[test]
    fn a_view_has_as_many_elements_as_memory_can_have() {
        refuses(|x| x.restride(&[usize::MAX], &[1], 2));
        refuses(|x| x.restride(&[usize::MAX, 2], &[0, 0], 0));
        // The product is 1 where it wraps.
        let wraps = [3, 0xAAAA_AAAA_AAAA_AAAB];
        refuses(move |x| x.restride(&wraps, &[0, 0], 0));
        refuses(move |x| x.restride(&[], &[], 0).reshaped(&wraps).unwrap());
        refuses(move |x| x.restride(&[], &[], 0).reshape(&wraps).unwrap());
        refuses(move |_| Array::full(&wraps, 1.0f64));
        refuses(|_| Array::full(&[1 << 60], 1.0f64));
        let (x, many) = (Array::scalar(1.0f64), [1 << 30, 1 << 29]);
        assert_eq!(x.restride(&many, &[0, 0], 0).len(), Array::full(&many, 1.0f64).len());
    }
}
