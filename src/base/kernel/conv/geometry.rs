//! The sizes of a convolution, and its arrays.

use crate::array::Array;
use crate::error::Result;
use crate::kernel::matmul::pairs;
use crate::kernel::num::Num;
use crate::shape::{self, Dims, Strides};
use crate::stored::Stored;

/// Sizes along the spatial axes. There are always three; missing leading axes have size 1.
pub type Axes = [usize; 3];

/// The number of a place in a grid of these sizes, in C order.
pub fn index(at: Axes, size: Axes) -> usize {
    (at[0] * size[1] + at[1]) * size[2] + at[2]
}

/// The sizes of a convolution: `result[b, f, p] = Σ image[b, c, p · stride + k · dilation - before] · weight[f, c, k]`.
#[derive(Clone, Debug, Stored)]
pub struct Geometry {
    pub batch: usize,
    pub channels: usize,
    pub filters: usize,
    pub groups: usize,
    /// The number of spatial axes of the arrays.
    pub axes: usize,
    pub image: Axes,
    pub window: Axes,
    pub places: Axes,
    pub stride: Axes,
    pub dilation: Axes,
    /// Padding before the image.
    pub before: Axes,
}

/// The three arrays of a convolution. Each is linear in the two others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Stored)]
pub enum ConvArray {
    Image,
    Weight,
    Result,
}

impl ConvArray {
    /// The two arrays that this one is computed from, in their order.
    pub fn others(self) -> [ConvArray; 2] {
        match self {
            ConvArray::Image => [ConvArray::Weight, ConvArray::Result],
            ConvArray::Weight => [ConvArray::Image, ConvArray::Result],
            ConvArray::Result => [ConvArray::Image, ConvArray::Weight],
        }
    }
}

impl Geometry {
    pub fn dims(&self, third: ConvArray) -> Dims {
        let (a, b, axes) = match third {
            ConvArray::Image => (self.batch, self.channels, &self.image),
            ConvArray::Weight => (self.filters, self.channels / self.groups, &self.window),
            ConvArray::Result => (self.batch, self.filters, &self.places),
        };
        [a, b].iter().chain(&axes[3 - self.axes..]).copied().collect()
    }

    /// Whether the numbers are those of a convolution of two such arrays to the third one. Files may say other ones.
    pub fn fits(&self, out: ConvArray, ins: [&[usize]; 2]) -> bool {
        let unused = 3usize.wrapping_sub(self.axes);
        let divides = |n: usize| self.groups > 0 && n.is_multiple_of(self.groups);
        let of_one = [&self.image, &self.window, &self.places, &self.stride, &self.dilation];
        unused < 3
            && divides(self.channels)
            && divides(self.filters)
            && (0..3).all(|a| self.stride[a] > 0 && self.dilation[a] > 0)
            && (0..unused).all(|a| of_one.iter().all(|sizes| sizes[a] == 1) && self.before[a] == 0)
            && out.others().iter().zip(ins).all(|(&array, dims)| self.dims(array).as_slice() == dims)
    }

    /// The elements of a window.
    pub fn taps(&self) -> usize {
        self.window.iter().product()
    }

    /// An upper bound on the elements of any buffer; `None` if it does not fit into an `isize`.
    pub fn most(&self) -> Option<usize> {
        let mut all = self.channels.max(self.filters).checked_add(1)?.checked_mul(self.taps())?;
        for a in 0..3 {
            let reach = self.window[a].saturating_sub(1).checked_mul(self.dilation[a])?;
            let size =
                self.image[a].checked_add(self.places[a])?.checked_add(self.before[a])?.checked_add(reach)?;
            all = all.checked_mul(size.checked_add(1)?)?;
        }
        isize::try_from(all).ok().map(isize::unsigned_abs)
    }
}

/// The contiguous items of an array with leading batch axes.
pub struct Batched<'a, T> {
    pub x: &'a Array,
    lead: &'a [usize],
    each: usize,
    of: std::marker::PhantomData<T>,
}

impl<'a, T: Num> Batched<'a, T> {
    pub fn of(x: &'a Array, lead: &'a [usize]) -> Batched<'a, T> {
        Batched { x, lead, each: shape::len(&x.dims()[lead.len()..]), of: std::marker::PhantomData }
    }

    /// Each item has three axes of the given sizes. Pairs its elements along the second axis: see [`pairs`].
    ///
    /// # Errors
    /// Memory ends.
    pub fn paired(&self, op: &'static str, [outer, planes, inner]: [usize; 3]) -> Result<Array> {
        let lead = self.lead.len();
        let dims: Dims = self.lead.iter().copied().chain([outer, planes, inner]).collect();
        let own = [planes * inner, inner, 1].map(|step| step as isize);
        let strides: Strides = self.x.strides()[..lead].iter().copied().chain(own).collect();
        pairs(op, &self.x.restride(&dims, &strides, 0), 0)
    }

    /// Other items with the same leading axes.
    pub fn with<'b>(&self, x: &'b Array) -> Batched<'b, T>
    where
        'a: 'b,
    {
        Batched::of(x, self.lead)
    }

    pub fn item(&self, i: usize) -> &'a [T] {
        let at = shape::offset(i, self.lead, &self.x.strides());
        // SAFETY: `first` checked the type, `convolve` made the axes after the batch axes contiguous, and the offset is that of an item's first
        // element.
        unsafe { std::slice::from_raw_parts(self.x.first::<T>().offset(at), self.each) }
    }

    /// Part `i` of an item that has `n` equal parts.
    pub fn part(&self, item: usize, i: usize, n: usize) -> &'a [T] {
        let size = self.each / n.max(1);
        &self.item(item)[i * size..(i + 1) * size]
    }

    /// Whether all items are the same elements.
    pub fn is_common(&self) -> bool {
        self.lead.iter().zip(&self.x.strides()).all(|(&n, &step)| n == 1 || step == 0)
    }
}
