//! Views: other shapes and strides over the same buffer.

use smallvec::SmallVec;
use triomphe::Arc;

use super::{Array, Buffer, Data, INLINE, Inner, Layout};
use crate::shape::{self, Dims, Strides};

/// The bytes of a header in a buffer of their own.
fn buffer_of(words: &[u64; INLINE / 8]) -> Arc<Buffer> {
    let buffer = Buffer::new(INLINE).expect("sixteen bytes");
    // SAFETY: the new buffer has `INLINE` bytes.
    unsafe { std::ptr::copy_nonoverlapping(words.as_ptr().cast(), buffer.ptr(), INLINE) };
    Arc::new(buffer)
}

impl Array {
    /// The array over the same elements with these sizes and strides, starting `offset` elements after this one's first.
    ///
    /// # Panics
    /// When the strides leave the buffer.
    pub fn restride(&self, dims: &[usize], strides: &[isize], offset: isize) -> Array {
        let size = self.dtype().size() as isize;
        let empty = dims.contains(&0);
        let (mut low, mut high) = (offset, offset);
        for (&d, &s) in dims.iter().zip(strides).filter(|_| !empty) {
            let reach = s * (d as isize - 1);
            if reach < 0 { low += reach } else { high += reach }
        }
        let (start, bytes) = match &self.0.data {
            Data::Inline(_) => (0, INLINE as isize),
            Data::Shared(buffer, start) => (*start as isize, buffer.len() as isize),
        };
        assert!(
            empty || (start + low * size >= 0 && start + (high + 1) * size <= bytes),
            "restride: {dims:?} with strides {strides:?} from {offset} leaves the buffer"
        );
        let data = match &self.0.data {
            Data::Inline(words) if offset == 0 && low == 0 => Data::Inline(*words),
            // An offset into the header's own bytes has no place to be kept: give them a buffer.
            Data::Inline(words) => {
                Data::Shared(buffer_of(words), if empty { 0 } else { (offset * size) as usize })
            }
            Data::Shared(buffer, _) if empty => Data::Shared(buffer.clone(), 0),
            Data::Shared(buffer, _) => Data::Shared(buffer.clone(), (start + offset * size) as usize),
        };
        let contiguous = empty || {
            let mut expected = 1;
            dims.iter().zip(strides).rev().all(|(&d, &s)| {
                let fits = d == 1 || s == expected;
                expected *= d as isize;
                fits
            })
        };
        let strides = (!contiguous).then(|| Box::new(Strides::from_slice(strides)));
        Array(Arc::new(Inner { data, dims: shape::dims(dims), strides, dtype: self.dtype() }))
    }

    /// The elements at a layout of this array's C order, whose first `lanes` axes are hidden: they stay, before the
    /// layout's own. This array is C-contiguous.
    ///
    /// # Panics
    /// When the layout leaves the buffer.
    #[must_use]
    pub fn part(&self, layout: &Layout, lanes: usize) -> Array {
        self.at(&layout.under(self.dims(), lanes))
    }

    /// The same elements in memory that views can share: this array if it has such, else a copy. It is C-contiguous.
    pub(crate) fn buffered(self) -> Array {
        let Data::Inline(words) = &self.0.data else { return self };
        let data = Data::Shared(buffer_of(words), 0);
        Array(Arc::new(Inner { data, dims: self.0.dims.clone(), strides: None, dtype: self.dtype() }))
    }

    /// Where this array's elements lie in the C order of another one that shares its memory; the first `lanes` axes of
    /// both are hidden, and not counted. None where they do not lie in it.
    pub fn layout_in(&self, whole: &Array, lanes: usize) -> Option<Layout> {
        let (Data::Shared(own, start), Data::Shared(other, first)) = (&self.0.data, &whole.0.data) else {
            return None;
        };
        let (strides, outer) = (self.strides(), whole.strides());
        let hidden =
            self.dims().get(..lanes)? == whole.dims().get(..lanes)? && strides[..lanes] == outer[..lanes];
        if !Arc::ptr_eq(own, other) || !hidden || self.dtype() != whole.dtype() || !whole.is_contiguous() {
            return None;
        }
        let offset = (*start as isize - *first as isize) / self.dtype().size() as isize;
        let layout = Layout { dims: self.dims()[lanes..].into(), strides: strides[lanes..].into(), offset };
        (self.len() > 0 && layout.fits(shape::len(&whole.dims()[lanes..]))).then_some(layout)
    }

    /// Whether both lie in one memory.
    pub fn shares_memory(&self, other: &Array) -> bool {
        match (&self.0.data, &other.0.data) {
            (Data::Shared(own, _), Data::Shared(other, _)) => Arc::ptr_eq(own, other),
            _ => self.is_same(other),
        }
    }

    /// Which memory the elements lie in, as a number, and how many bytes of it from the first of them to the last.
    pub fn memory(&self) -> (usize, usize) {
        let id = match &self.0.data {
            Data::Shared(buffer, _) => Arc::as_ptr(buffer) as usize,
            Data::Inline(_) => Arc::as_ptr(&self.0) as usize,
        };
        let steps =
            self.dims().iter().zip(self.strides()).map(|(&d, s)| d.saturating_sub(1) * s.unsigned_abs());
        let span = if self.len() == 0 { 0 } else { steps.sum::<usize>() + 1 };
        (id, span * self.dtype().size())
    }

    /// The elements in C order under another shape of as many, if they can be seen so where they are.
    pub(crate) fn reshaped(&self, dims: &[usize]) -> Option<Array> {
        Some(self.restride(dims, &self.reshaped_strides(dims)?, 0))
    }

    /// Strides that show the same elements under another shape, if there are any.
    fn reshaped_strides(&self, dims: &[usize]) -> Option<Strides> {
        if self.is_contiguous() || self.len() == 0 {
            return Some(shape::contiguous_strides(dims));
        }
        // Runs of axes that are contiguous among themselves can be cut differently; sizes of one are free.
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
        let mut stride = 0;
        for axis in (0..dims.len()).rev() {
            if dims[axis] == 1 {
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

    /// The axes in another order.
    pub fn permute(&self, order: &[usize]) -> Array {
        let strides = self.strides();
        let dims: Dims = order.iter().map(|&a| self.dims()[a]).collect();
        let strides: Strides = order.iter().map(|&a| strides[a]).collect();
        self.restride(&dims, &strides, 0)
    }

    /// The array repeated, without a copy, to a shape that it broadcasts to. `lanes` leading axes of both are
    /// matched from the left, the others from the right.
    ///
    /// # Panics
    /// When it does not broadcast to that shape.
    pub fn expand(&self, dims: &[usize], lanes: usize) -> Array {
        if self.dims() == dims {
            return self.clone();
        }
        let (old, new) = (self.rank(), dims.len());
        assert!(old <= new && lanes <= old, "expand: {:?} to {dims:?}", self.dims());
        let own = self.strides();
        let mut strides = Strides::from_elem(0, new);
        for axis in 0..old {
            let target = if axis < lanes { axis } else { axis + new - old };
            let d = self.dims()[axis];
            assert!(d == dims[target] || d == 1, "expand: {:?} to {dims:?}", self.dims());
            strides[target] = if d == dims[target] { own[axis] } else { 0 };
        }
        self.restride(dims, &strides, 0)
    }

    /// Size-1 axes put after the `lanes` leading ones until the array has `rank` axes.
    pub fn with_rank(&self, rank: usize, lanes: usize) -> Array {
        if self.rank() >= rank {
            return self.clone();
        }
        let mut dims = Dims::from_slice(self.dims());
        let mut strides = self.strides();
        for _ in self.rank()..rank {
            dims.insert(lanes, 1);
            strides.insert(lanes, 0);
        }
        self.restride(&dims, &strides, 0)
    }

    /// `count` elements of an axis from `start` on in steps of `step`, which may be negative.
    pub fn slice_axis(&self, axis: usize, start: usize, count: usize, step: isize) -> Array {
        let mut dims = Dims::from_slice(self.dims());
        let mut strides = self.strides();
        let offset = if count == 0 { 0 } else { start as isize * strides[axis] };
        dims[axis] = count;
        strides[axis] *= step;
        self.restride(&dims, &strides, offset)
    }
}
