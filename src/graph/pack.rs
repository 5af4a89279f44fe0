//! What the host language does where a node is recorded: what the node keeps is packed, to be unpacked before its rule
//! runs, and the node is shown to observers.

use std::any::Any;
use std::sync::Arc;

use super::node::{SavedList, SavedState};
use super::{Levels, Node, SavedArray};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::shape::{self, Dims};

/// Makes arrays, as they are kept, into something else. Called by the thread that records. Ops that it runs itself are
/// packed too, unless it enters modes without a packer.
pub trait Packer: Send + Sync {
    /// # Errors
    /// From the host language.
    fn pack(&self, array: &Array) -> Result<Box<dyn Packed>>;
}

/// What became of an array.
pub trait Packed: Send + Sync {
    /// The array, of the same shape and dtype. Called by the thread that asked for gradients, perhaps several times.
    ///
    /// # Errors
    /// From the host language.
    fn unpack(&self) -> Result<Array>;

    /// Shows what this holds of the host language's, for the host's collector of cycles.
    fn held(&self, see: &mut dyn FnMut(&dyn Any));

    /// The array itself, where that is what is kept.
    fn plain(&self) -> Option<&Array> {
        None
    }
}

/// A packed array, and what it was.
#[derive(Clone)]
pub(crate) struct PackedArray {
    form: Arc<dyn Packed>,
    dims: Dims,
    dtype: DType,
    levels: Levels,
}

/// Is shown every node of an op that this thread records, also those that it records itself unless it enters modes
/// without observers.
pub trait Observer: Send + Sync {
    /// # Errors
    /// From the host language.
    fn made(&self, node: &Arc<Node>) -> Result<()>;
}

/// An array kept as it is among others that are packed.
struct Plain(Array);

impl Packed for Plain {
    fn unpack(&self) -> Result<Array> {
        Ok(self.0.clone())
    }

    fn held(&self, _: &mut dyn FnMut(&dyn Any)) {}

    fn plain(&self) -> Option<&Array> {
        Some(&self.0)
    }
}

/// What is kept, in the form that `form` gives it.
fn formed(keep: &SavedArray, form: impl FnOnce(&Array) -> Result<Arc<dyn Packed>>) -> Result<PackedArray> {
    let array = &keep.array();
    let (dims, dtype) = (Dims::from_slice(array.dims()), array.dtype());
    Ok(PackedArray { form: form(array)?, dims, dtype, levels: keep.levels() })
}

fn plain(array: &Array) -> Result<Arc<dyn Packed>> {
    Ok(Arc::new(Plain(array.clone())))
}

/// A list in which each array can be packed.
pub(super) fn packable(list: &SavedList) -> Result<Vec<Option<PackedArray>>> {
    list.iter().map(|keep| keep.as_ref().map(|keep| formed(keep, plain)).transpose()).collect()
}

/// Packs an array that nobody has packed yet.
///
/// # Errors
/// From the packer; [`crate::Error::Argument`] where somebody has.
pub(super) fn pack(name: &'static str, keep: &mut PackedArray, packer: &dyn Packer) -> Result<()> {
    let Some(array) = keep.form.plain() else {
        bail!(
            Argument,
            name,
            "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is \
             allowed at a time."
        );
    };
    keep.form = packer.pack(array)?.into();
    Ok(())
}

/// What a node saves, packed. The arrays at positions that `is_plain` names stay as they are.
///
/// # Errors
/// From the packer.
#[cold]
pub(super) fn packed(
    list: &SavedList,
    packer: &dyn Packer,
    is_plain: impl Fn(usize) -> bool,
) -> Result<SavedState> {
    let pack = |(i, keep): (usize, &Option<SavedArray>)| {
        let form = |array: &Array| if is_plain(i) { plain(array) } else { Ok(packer.pack(array)?.into()) };
        keep.as_ref().map(|keep| formed(keep, form)).transpose()
    };
    Ok(SavedState::Packed(list.iter().enumerate().map(pack).collect::<Result<_>>()?))
}

/// The arrays of a packed list.
///
/// # Errors
/// From the host language; where it gives back something else than it got.
pub(crate) fn unpack(name: &'static str, list: &[Option<PackedArray>]) -> Result<SavedList> {
    let unpack = |keep: &Option<PackedArray>| {
        let Some(PackedArray { form, dims, dtype, levels }) = keep else { return Ok(None) };
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
        Ok(Some(SavedArray::new(array, levels)))
    };
    list.iter().map(unpack).collect()
}

/// Shows how many bytes each array of a packed list had.
pub(super) fn sizes(list: &[Option<PackedArray>], see: &mut dyn FnMut(usize, usize)) {
    for keep in list.iter().flatten() {
        see(std::ptr::from_ref(keep) as usize, shape::len(&keep.dims).saturating_mul(keep.dtype.size()));
    }
}

pub(super) fn held(list: &[Option<PackedArray>], see: &mut dyn FnMut(&dyn Any)) {
    for keep in list.iter().flatten() {
        keep.form.held(see);
    }
}
