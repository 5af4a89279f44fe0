//! Layouts: which elements of an array are meant, and in which order.

use smallvec::SmallVec;

use super::Array;
use crate::shape::{self, Dims, Strides};
use crate::stored::Stored;

/// Some elements of an array: their shape and strides, and the offset of the first one, all in elements.
///
/// Two layouts are equal if they have the same shape and address the same elements in the same order.
#[derive(Clone, Debug, Stored)]
pub struct Layout {
    pub dims: Dims,
    pub strides: Strides,
    pub offset: isize,
}

impl PartialEq for Layout {
    fn eq(&self, other: &Layout) -> bool {
        // The stride of an axis of size 1 is never used.
        let mut steps =
            self.dims.iter().zip(self.strides.iter().zip(&other.strides)).filter(|(d, _)| **d != 1);
        let same = self.offset == other.offset
            && self.strides.len() == other.strides.len()
            && steps.all(|(_, (a, b))| a == b);
        self.dims == other.dims && (same || self.dims.contains(&0))
    }
}

impl Layout {
    /// All elements of a C-contiguous array.
    pub fn contiguous(dims: &[usize]) -> Layout {
        Layout { dims: Dims::from_slice(dims), strides: shape::contiguous_strides(dims), offset: 0 }
    }

    /// This layout applied to each item of a batch: `dims` is the shape of the whole array, whose first `batch_ndim`
    /// axes are kept.
    #[must_use]
    pub fn under(&self, dims: &[usize], batch_ndim: usize) -> Layout {
        let hidden = &shape::contiguous_strides(dims)[..batch_ndim];
        Layout {
            dims: dims[..batch_ndim].iter().chain(&self.dims).copied().collect(),
            strides: hidden.iter().chain(&self.strides).copied().collect(),
            offset: self.offset,
        }
    }

    /// Whether all elements are among the first `len`.
    pub fn fits(&self, len: usize) -> bool {
        if self.dims.contains(&0) {
            return true;
        }
        self.reach().is_some_and(|(low, high)| {
            let last = self.offset.checked_add(high);
            self.offset.checked_add(low).is_some_and(|l| l >= 0) && last.is_some_and(|h| h < len as isize)
        })
    }

    /// Whether the layout may address an element twice. May be true for a layout that does not, never false for one
    /// that does.
    pub fn overlaps(&self) -> bool {
        if self.dims.contains(&0) {
            return false;
        }
        let axes = self.dims.iter().zip(&self.strides).filter(|(d, _)| **d > 1);
        let mut axes: SmallVec<[(usize, usize); 4]> = axes.map(|(&d, s)| (s.unsigned_abs(), d)).collect();
        shape::sort_by_key(&mut axes, |&axis| axis);
        let mut reach = 0;
        // If every stride is longer than the span of all shorter axes, no two indices meet.
        axes.into_iter().any(|(step, d)| {
            let meets = step <= reach;
            reach = step.saturating_mul(d - 1).saturating_add(reach);
            meets
        })
    }

    /// Whether the elements lie one after the other, in C order.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        self.dims.contains(&0)
            || self.dims.iter().zip(&self.strides).rev().all(|(&d, &s)| {
                let fits = d == 1 || s == expected;
                expected = expected.saturating_mul(d as isize);
                fits
            })
    }

    /// The order of axes in which the elements are contiguous, if there is one.
    pub fn dense_order(&self) -> Option<Dims> {
        let mut order: Dims = (0..self.dims.len()).collect();
        shape::sort_by_key(&mut order, |&a| std::cmp::Reverse(self.strides[a]));
        self.permute(&order).is_contiguous().then_some(order)
    }

    /// This layout repeated to a shape: its first `batch_ndim` axes are matched from the left, the others from the right.
    /// None if it does not broadcast to the shape.
    pub fn broadcast(&self, dims: &[usize], batch_ndim: usize) -> Option<Layout> {
        let (old, new) = (self.dims.len(), dims.len());
        if old > new || batch_ndim > old {
            return None;
        }
        let mut strides = Strides::from_elem(0, new);
        for axis in 0..old {
            let to = if axis < batch_ndim { axis } else { axis + new - old };
            match self.dims[axis] {
                d if d == dims[to] => strides[to] = self.strides[axis],
                1 => {}
                _ => return None,
            }
        }
        Some(Layout { dims: dims.into(), strides, offset: self.offset })
    }

    /// The axes in another order.
    #[must_use]
    pub fn permute(&self, order: &[usize]) -> Layout {
        Layout {
            dims: order.iter().map(|&a| self.dims[a]).collect(),
            strides: order.iter().map(|&a| self.strides[a]).collect(),
            offset: self.offset,
        }
    }
}

impl Array {
    /// The layout of this array's own elements.
    pub fn layout(&self) -> Layout {
        Layout { dims: Dims::from_slice(self.dims()), strides: self.strides(), offset: 0 }
    }

    /// A view of the elements at a layout.
    ///
    /// # Panics
    /// If the layout leaves the buffer.
    #[must_use]
    pub fn at(&self, layout: &Layout) -> Array {
        self.restride(&layout.dims, &layout.strides, layout.offset)
    }
}

/// Runs a block with `$T` an integer type of the given size in bytes: `by_size!(size, T => block)`.
#[macro_export]
macro_rules! by_size {
    ($size:expr, $T:ident => $body:expr) => {
        match $size {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            8 => {
                type $T = u64;
                $body
            }
            size => {
                assert_eq!(size, 16, "elements have 1, 2, 4, 8 or 16 bytes");
                type $T = [u64; 2];
                $body
            }
        }
    };
}
pub use by_size;
