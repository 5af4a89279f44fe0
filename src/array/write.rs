//! Elements written in place, where nobody else can see them. Works on element size, never on dtype.

use smallvec::SmallVec;
use triomphe::Arc;

use super::{Array, Data};
use crate::error::Result;
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

    /// Makes this array C-contiguous and the only holder of its memory, by a copy if need be, and gives the address
    /// of its first element for writing.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub(crate) fn own(&mut self) -> Result<*mut u8> {
        if !self.is_own() {
            *self = self.packed()?;
        }
        Ok(Arc::get_mut(&mut self.0).expect("made unshared").data.as_mut_ptr())
    }

    /// Whether this array is C-contiguous and nobody else holds its memory.
    fn is_own(&mut self) -> bool {
        match Arc::get_mut(&mut self.0) {
            Some(inner) if inner.strides.is_none() => match &mut inner.data {
                Data::Inline(_) => true,
                Data::Shared(buffer, _) => Arc::get_mut(buffer).is_some(),
            },
            _ => false,
        }
    }

    /// Writes `value` over the elements at a layout of this array's C order: in place where this array is the only
    /// holder of its memory, else into a copy that takes its place. `value` has the layout's shape and this dtype.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    ///
    /// # Panics
    /// When the layout leaves the array, or `value` does not fit it.
    pub(crate) fn write(&mut self, to: &Layout, value: &Array) -> Result<()> {
        assert!(
            value.dtype() == self.dtype() && value.dims() == to.dims.as_slice(),
            "write: another shape or dtype"
        );
        assert!(to.fits(self.len()), "write: {to:?} leaves {:?}", self.dims());
        let size = self.dtype().size();
        let ptr = self.own()?;
        // SAFETY: the layout stays inside this array's memory, which nobody else holds, so `value` does not overlap it.
        unsafe {
            let to_ptr = ptr.offset(to.offset * size as isize);
            copy(size, &to.dims, (value.ptr(), &value.strides()), (to_ptr, &to.strides));
        }
        Ok(())
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

/// Copies elements of `size` bytes from one strided place to another. Those that are read need no alignment.
///
/// # Safety
/// Both strides reach only elements for indices below `dims`; those written overlap nothing that is read, and are aligned.
pub(crate) unsafe fn copy(size: usize, dims: &[usize], from: (*const u8, &[isize]), to: (*mut u8, &[isize])) {
    if dims.contains(&0) {
        return;
    }
    let (mut runs, mut steps, mut goals) = (Dims::new(), Strides::new(), Strides::new());
    for ((&d, &s), &t) in dims.iter().zip(from.1).zip(to.1).filter(|((d, _), _)| **d != 1) {
        match (runs.last_mut(), steps.last_mut(), goals.last_mut()) {
            (Some(run), Some(step), Some(goal)) if *step == s * d as isize && *goal == t * d as isize => {
                (*run, *step, *goal) = (*run * d, s, t);
            }
            _ => {
                runs.push(d);
                steps.push(s);
                goals.push(t);
            }
        }
    }
    // The axis along which reading goes fastest stands beside the last one, so that the two are copied in tiles.
    let rank = runs.len();
    if let Some(near) = (0..rank).min_by_key(|&a| steps[a].unsigned_abs()).filter(|&a| a + 2 < rank) {
        runs[near..rank - 1].rotate_left(1);
        steps[near..rank - 1].rotate_left(1);
        goals[near..rank - 1].rotate_left(1);
    }
    // SAFETY: the caller's promise; joined and exchanged axes reach the same elements.
    by_size!(size, T => unsafe { walk::<T>(&runs, (from.0.cast(), &steps), (to.0.cast(), &goals)) });
}

/// # Safety
/// As [`copy`].
unsafe fn walk<T: Copy + Default>(
    dims: &[usize],
    (x, xs): (*const T, &[isize]),
    (y, ys): (*mut T, &[isize]),
) {
    // SAFETY: the caller's promise holds for each part of the shape. Addresses are formed with `wrapping_offset`, as
    // those of elements that need no alignment.
    unsafe {
        match (dims, xs, ys) {
            ([], ..) => *y = x.read_unaligned(),
            ([n], [1], [1]) => {
                std::ptr::copy_nonoverlapping(x.cast::<u8>(), y.cast(), *n * size_of::<T>());
            }
            ([n], [s], [t]) => {
                for i in 0..*n as isize {
                    *y.offset(i * t) = x.wrapping_offset(i * s).read_unaligned();
                }
            }
            ([m, n], [a, b], [c, d]) if a.unsigned_abs() < b.unsigned_abs() && *m >= TILE && *n >= TILE => {
                let tiles = (0..*m).step_by(TILE).flat_map(|i| (0..*n).step_by(TILE).map(move |j| (i, j)));
                for (i, j) in tiles {
                    let x = x.wrapping_offset(i as isize * a + j as isize * b);
                    let y = y.offset(i as isize * c + j as isize * d);
                    tile([TILE.min(m - i), TILE.min(n - j)], (x, [*a, *b]), (y, [*c, *d]));
                }
            }
            ([n, dims @ ..], [s, xs @ ..], [t, ys @ ..]) => {
                for i in 0..*n as isize {
                    walk(dims, (x.wrapping_offset(i * s), xs), (y.offset(i * t), ys));
                }
            }
            _ => unreachable!("one stride an axis"),
        }
    }
}

/// Rows and columns of a tile: what is read and written a cache line at a time is turned in between.
const TILE: usize = 16;

/// # Safety
/// As [`copy`].
unsafe fn tile<T: Copy + Default>(
    [m, n]: [usize; 2],
    (x, xs): (*const T, [isize; 2]),
    (y, ys): (*mut T, [isize; 2]),
) {
    let mut lines = [[T::default(); TILE]; TILE];
    for (j, line) in lines.iter_mut().enumerate().take(n) {
        let x = x.wrapping_offset(j as isize * xs[1]);
        for (i, v) in line.iter_mut().enumerate().take(m) {
            // SAFETY: the caller's promise.
            *v = unsafe { x.wrapping_offset(i as isize * xs[0]).read_unaligned() };
        }
    }
    for i in 0..m {
        for (j, line) in lines.iter().enumerate().take(n) {
            // SAFETY: the caller's promise.
            unsafe { *y.offset(i as isize * ys[0] + j as isize * ys[1]) = line[i] };
        }
    }
}
