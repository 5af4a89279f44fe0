//! Computations of arrays whose operands or results lie in the memory of a sequence.

use std::ops::Range;

use smallvec::SmallVec;

use crate::array::{Array, Layout};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernel::par::SendPtr;
use crate::shape::{self, Dims, Strides};

/// A dtype and a layout.
pub struct Kind {
    dtype: DType,
    layout: Layout,
}

impl From<(DType, Layout)> for Kind {
    fn from((dtype, layout): (DType, Layout)) -> Kind {
        Kind { dtype, layout }
    }
}

/// A result. The elements of one that lies in the memory of the sequence lie one after the other, in some order of the axes.
pub struct Out {
    pub dtype: DType,
    pub dims: Dims,
    /// None if the elements lie in C order.
    pub strides: Option<Strides>,
    /// Whether the sequence makes an array of it.
    pub is_result: bool,
}

impl Out {
    pub fn bytes(&self) -> usize {
        shape::len(&self.dims) * self.dtype.size()
    }

    fn layout(&self) -> Layout {
        let strides = self.strides.clone().unwrap_or_else(|| shape::contiguous_strides(&self.dims));
        Layout { dims: self.dims.clone(), strides, offset: 0 }
    }

    /// Whether its elements lie one after the other in memory, in some order of the axes.
    pub(super) fn is_dense(&self) -> bool {
        self.strides.is_none() || self.layout().dense_order().is_some()
    }

    pub(super) fn reach(&self) -> Range<isize> {
        Kind::from((self.dtype, self.layout())).bytes()
    }
}

type Compute = dyn Fn(&[&Array]) -> Result<SmallVec<[Array; 2]>> + Send + Sync;

/// A function of arrays.
pub struct Arrays {
    pub name: &'static str,
    pub compute: Box<Compute>,
    pub ins: Box<[Kind]>,
}

impl Kind {
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// How many elements before and after its first one the array reaches.
    fn reach(&self) -> (isize, isize) {
        self.layout.reach().expect("the layout is that of an array")
    }

    /// The bytes from its first to its last element in memory, counted from the first element.
    pub fn bytes(&self) -> Range<isize> {
        let bytes = self.layout.bytes(self.dtype.size()).expect("the layout is that of an array");
        if self.layout.dims.contains(&0) { 0..0 } else { bytes }
    }

    /// An array of zeros with these strides.
    ///
    /// # Errors
    /// For want of memory.
    pub fn blank(&self) -> Result<Array> {
        let (low, high) = self.reach();
        let clear = |to: *mut u8, n: usize| {
            // SAFETY: these are the bytes of the new array.
            unsafe { to.write_bytes(0, n) };
        };
        let whole = Array::cleared("compile", self.dtype, &[(high + 1 - low) as usize], clear)?;
        Ok(whole.buffered().restride(&self.layout.dims, &self.layout.strides, -low))
    }

    /// A copy of an array that lies in memory. The copy has the same strides.
    ///
    /// # Safety
    /// `x` is the address of the first element.
    unsafe fn copied(&self, name: &'static str, x: *const u8) -> Result<Array> {
        let (bytes, (low, high)) = (self.bytes(), self.reach());
        let all = (high + 1 - low) as usize;
        let Layout { dims, strides, .. } = &self.layout;
        let is_contiguous = self.layout.is_contiguous();
        let span: &[usize] = if is_contiguous { dims } else { &[all] };
        let whole = Array::build_raw(name, self.dtype, span, |to| {
            // SAFETY: these are the bytes from the first to the last element, for which the new array has room.
            unsafe { to.copy_from_nonoverlapping(x.offset(bytes.start), all * self.dtype.size()) };
        })?;
        Ok(if is_contiguous { whole } else { whole.restride(dims, strides, -low) })
    }

    /// The array at this layout in another one.
    fn of(&self, whole: &Array, start: isize) -> Array {
        let Layout { dims, strides, .. } = &self.layout;
        let offset = start / self.dtype.size() as isize;
        if whole.dtype() == self.dtype {
            if start == 0 && whole.dims() == dims.as_slice() && whole.has_strides(strides) {
                return whole.clone();
            }
            whole.restride(dims, strides, offset)
        } else {
            whole.as_real().restride(dims, strides, offset)
        }
    }
}

impl Arrays {
    pub(super) fn reach(&self, operand: usize) -> Range<isize> {
        self.ins[operand].bytes()
    }

    /// The results, laid out as they have to be. None if they have other layouts.
    ///
    /// # Errors
    /// Those of the computation.
    ///
    /// # Safety
    /// `ins` are the addresses of the operands. An operand that is part of an array needs none: `given` has that array and how many
    /// bytes after its beginning the operand begins.
    pub(super) unsafe fn run(
        &self,
        ins: &[SendPtr],
        given: &[Option<(&Array, isize)>],
        kinds: &[Out],
    ) -> Result<Option<SmallVec<[Array; 2]>>> {
        let mut arrays: SmallVec<[Array; 4]> = SmallVec::new();
        for (k, (kind, given)) in self.ins.iter().zip(given).enumerate() {
            arrays.push(match given {
                Some((whole, start)) => kind.of(whole, *start),
                // SAFETY: as the function's `# Safety` section requires.
                None => unsafe { kind.copied(self.name, ins[k].get())? },
            });
        }
        let mut made = (self.compute)(&arrays.iter().collect::<SmallVec<[&Array; 4]>>())?;
        if made.len() != kinds.len() {
            return Ok(None);
        }
        for (made, kind) in made.iter_mut().zip(kinds) {
            let fits = |x: &Array| {
                let is_laid_out = match &kind.strides {
                    Some(strides) => x.has_strides(strides),
                    None => x.is_contiguous(),
                };
                x.dtype() == kind.dtype && x.dims() == kind.dims.as_slice() && is_laid_out
            };
            if !fits(made) {
                *made = made.packed()?;
            }
            if !fits(made) {
                return Ok(None);
            }
        }
        Ok(Some(made))
    }
}

impl Out {
    /// Copies the result to memory.
    ///
    /// # Safety
    /// The array is laid out as the result, and there is room for it, which nobody else uses.
    pub(super) unsafe fn store(&self, made: &Array, to: SendPtr) {
        // SAFETY: the elements lie one after the other, and there is room for as many.
        unsafe { to.get().copy_from_nonoverlapping(made.ptr(), self.bytes()) };
    }
}
