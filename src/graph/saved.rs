//! What a node saves for its rules, as arrays or packed by the host language.

use std::any::Any;
use std::sync::Arc;

use smallvec::SmallVec;

use super::levels::Levels;
use super::site::Site;
use crate::array::{Array, ArrayWith};
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::shape::{self, Dims};

/// A saved array, with the levels of its hidden axes.
#[derive(Clone)]
pub struct SavedArray(ArrayWith<Levels>);

impl SavedArray {
    #[inline]
    pub fn new(array: Array, levels: &Levels) -> SavedArray {
        SavedArray(ArrayWith::new(array, (!levels.is_empty()).then(|| levels.clone())))
    }

    #[inline]
    pub fn array(&self) -> Array {
        self.0.array()
    }

    #[inline]
    pub(super) fn levels(&self) -> Levels {
        self.0.other().cloned().unwrap_or_default()
    }
}

/// By slot: first the inputs of the op, then its outputs. An op of the host's numbers its slots as it likes.
#[doc(hidden)]
pub type SavedList = SmallVec<[Option<SavedArray>; 2]>;

/// What a node saves for its rules.
#[doc(hidden)]
pub enum SavedState {
    Live(SavedList),
    Packed(Arc<[Option<PackedArray>]>),
    /// Freed by the pass that was asked for at this site.
    Freed(Site),
}

/// How a node saves what its rules read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedKind {
    /// As arrays.
    Live,
    /// As the host language packed it.
    Packed,
    /// A backward pass has freed it.
    Freed,
}

/// Turns saved arrays into something else. Called by the thread that records. Ops that the packer runs are packed too,
/// unless it enters modes without a packer.
pub trait Packer: Send + Sync {
    /// # Errors
    /// From the host language.
    fn pack(&self, array: &Array) -> Result<Box<dyn Packed>>;
}

/// What a packer made of an array.
pub trait Packed: Send + Sync {
    /// The array, of the same shape and dtype. Called by the thread that asked for gradients, perhaps several times.
    ///
    /// # Errors
    /// From the host language.
    fn unpack(&self) -> Result<Array>;

    /// Shows the host's objects in this to the host's garbage collector.
    fn visit_host_objects(&self, visit: &mut dyn FnMut(&dyn Any));

    /// The array, if it was not packed.
    fn plain(&self) -> Option<&Array> {
        None
    }
}

/// A packed array, with its shape, dtype and levels.
#[derive(Clone)]
#[doc(hidden)]
pub struct PackedArray {
    form: Arc<dyn Packed>,
    dims: Dims,
    dtype: DType,
    levels: Levels,
}

/// An array that is not packed, in a list with others that are.
struct Plain(Array);

impl Packed for Plain {
    fn unpack(&self) -> Result<Array> {
        Ok(self.0.clone())
    }

    fn visit_host_objects(&self, _: &mut dyn FnMut(&dyn Any)) {}

    fn plain(&self) -> Option<&Array> {
        Some(&self.0)
    }
}

impl PackedArray {
    fn new(saved: &SavedArray, form: impl FnOnce(&Array) -> Result<Arc<dyn Packed>>) -> Result<PackedArray> {
        let array = &saved.array();
        let (dims, dtype) = (Dims::from_slice(array.dims()), array.dtype());
        Ok(PackedArray { form: form(array)?, dims, dtype, levels: saved.levels() })
    }

    /// Packs an array that is still plain.
    ///
    /// # Errors
    /// From the packer; [`crate::Error::Argument`] where the array is packed already.
    pub(super) fn pack(&mut self, name: &'static str, packer: &dyn Packer) -> Result<()> {
        let Some(array) = self.form.plain() else {
            bail!(
                Argument,
                name,
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of \
                 hooks is allowed at a time."
            );
        };
        self.form = packer.pack(array)?.into();
        Ok(())
    }

    fn unpack(&self, name: &'static str) -> Result<SavedArray> {
        let PackedArray { form, dims, dtype, levels } = self;
        let array = form.unpack()?;
        if array.dims() != dims.as_slice() || array.dtype() != *dtype {
            bail!(
                Argument,
                name,
                "a saved tensor of shape {dims:?} and dtype {dtype} was unpacked as one of shape {:?} and dtype {}",
                array.dims(),
                array.dtype()
            );
        }
        Ok(SavedArray::new(array, levels))
    }
}

fn plain(array: &Array) -> Result<Arc<dyn Packed>> {
    Ok(Arc::new(Plain(array.clone())))
}

/// The same list with every array plain, so that each can be packed.
pub(super) fn packable(list: &SavedList) -> Result<Vec<Option<PackedArray>>> {
    list.iter().map(|saved| saved.as_ref().map(|saved| PackedArray::new(saved, plain)).transpose()).collect()
}

/// What a node saves, packed. The arrays in slots that `is_plain` names stay as they are.
///
/// # Errors
/// From the packer.
#[cold]
pub(super) fn packed(
    list: &SavedList,
    packer: &dyn Packer,
    is_plain: impl Fn(usize) -> bool,
) -> Result<SavedState> {
    let pack = |(slot, saved): (usize, &Option<SavedArray>)| {
        let form = |array: &Array| if is_plain(slot) { plain(array) } else { Ok(packer.pack(array)?.into()) };
        saved.as_ref().map(|saved| PackedArray::new(saved, form)).transpose()
    };
    Ok(SavedState::Packed(list.iter().enumerate().map(pack).collect::<Result<_>>()?))
}

/// The arrays of a packed list, for a node of this name.
///
/// # Errors
/// From the host language; where it gives back an array of another shape or dtype.
#[doc(hidden)]
pub fn unpack(name: &'static str, list: &[Option<PackedArray>]) -> Result<SavedList> {
    list.iter().map(|packed| packed.as_ref().map(|packed| packed.unpack(name)).transpose()).collect()
}

/// Shows an address and the size in bytes of each array in a packed list.
pub(super) fn packed_memory(list: &[Option<PackedArray>], visit: &mut dyn FnMut(usize, usize)) {
    for packed in list.iter().flatten() {
        let bytes = shape::len(&packed.dims).saturating_mul(packed.dtype.size());
        visit(std::ptr::from_ref(packed) as usize, bytes);
    }
}

/// Shows the host's objects in a packed list.
pub(super) fn visit_host_objects(list: &[Option<PackedArray>], visit: &mut dyn FnMut(&dyn Any)) {
    for packed in list.iter().flatten() {
        packed.form.visit_host_objects(visit);
    }
}
