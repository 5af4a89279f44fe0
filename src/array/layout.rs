//! Layouts: which elements of an array are meant, and in what order.

use smallvec::SmallVec;

use super::Array;
use crate::shape::{self, Dims, Strides};

/// Some elements of an array: their shape, their strides, and the first of them, all counted in elements.
///
/// Two are equal if they name the same elements in the same shape by the same steps.
#[derive(Clone, Debug)]
pub struct Layout {
    pub dims: Dims,
    pub strides: Strides,
    pub offset: isize,
}

impl PartialEq for Layout {
    fn eq(&self, other: &Layout) -> bool {
        // No step is made along an axis of one element.
        let mut steps =
            self.dims.iter().zip(self.strides.iter().zip(&other.strides)).filter(|(d, _)| **d != 1);
        self.dims == other.dims && self.offset == other.offset && steps.all(|(_, (a, b))| a == b)
    }
}

impl Layout {
    /// All elements of a C-contiguous array.
    pub fn contiguous(dims: &[usize]) -> Layout {
        Layout { dims: Dims::from_slice(dims), strides: shape::contiguous_strides(dims), offset: 0 }
    }

    /// This layout of the C order of an array of these dims, whose first `lanes` axes are hidden and stay.
    #[must_use]
    pub fn under(&self, dims: &[usize], lanes: usize) -> Layout {
        let hidden = &shape::contiguous_strides(dims)[..lanes];
        Layout {
            dims: dims[..lanes].iter().chain(&self.dims).copied().collect(),
            strides: hidden.iter().chain(&self.strides).copied().collect(),
            offset: self.offset,
        }
    }

    /// Whether every element lies among the first `len`.
    pub fn fits(&self, len: usize) -> bool {
        if self.dims.contains(&0) {
            return true;
        }
        let reach = self.dims.iter().zip(&self.strides).map(|(&d, &s)| s * (d as isize - 1));
        let (low, high) = reach.fold((self.offset, self.offset), |(l, h), r| (l + r.min(0), h + r.max(0)));
        low >= 0 && high < len as isize
    }

    /// Whether it may name an element twice. It never says no where one is named twice.
    pub fn overlaps(&self) -> bool {
        if self.dims.contains(&0) {
            return false;
        }
        let axes = self.dims.iter().zip(&self.strides).filter(|(d, _)| **d > 1);
        let mut axes: SmallVec<[(usize, usize); 4]> = axes.map(|(&d, s)| (s.unsigned_abs(), d)).collect();
        axes.sort_unstable();
        let mut reach = 0;
        // Where each step is longer than all shorter axes reach, no two indices meet.
        axes.into_iter().any(|(step, d)| {
            let meets = step <= reach;
            reach += step * (d - 1);
            meets
        })
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

    /// The elements at a layout, without a copy.
    ///
    /// # Panics
    /// When the layout leaves the buffer.
    #[must_use]
    pub fn at(&self, layout: &Layout) -> Array {
        self.restride(&layout.dims, &layout.strides, layout.offset)
    }
}

/// Runs a block with `$T` a plain type of this many bytes: `by_size!(size, T => block)`.
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
pub(crate) use by_size;
