//! A sequence, and how it runs.

use std::mem::MaybeUninit;
use std::ops::Range;

use smallvec::SmallVec;

use super::arrays::Arrays;
use super::items::{Item, Part, Source};
use crate::array::{Array, Unwritten};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::interrupt;
use crate::kernel::par::SendPtr;
use crate::kernel::pointwise::cluster::{ALIGNMENT, Addresses};
use crate::shape::{Dims, Strides};

/// After so many items a run looks for an interrupt.
const STRETCH: usize = 256;

/// Where an operand or a result begins: this many bytes after a base, which is the sequence's scratch memory, an array that it reads,
/// or one that it makes, in this order.
#[derive(Clone, Copy)]
pub(super) struct Address {
    pub base: u32,
    pub start: isize,
}

impl Address {
    fn of(&self, bases: &[SendPtr]) -> SendPtr {
        SendPtr(bases[self.base as usize].get().wrapping_offset(self.start))
    }
}

/// An item with its addresses.
pub(super) struct Placed {
    pub item: Item,
    pub ins: Box<[Address]>,
    pub outs: Box<[Address]>,
    /// Where its own part of the sequence's scratch memory begins.
    pub scratch: usize,
    /// The number of its first result.
    pub first: usize,
    /// By result, if it is a function of arrays: who reads it.
    pub uses: Box<[Uses]>,
}

/// Who reads a result.
#[derive(Clone, Copy)]
pub(super) struct Uses {
    /// The last function of arrays that reads it, which gets it as an array.
    pub as_array: Option<usize>,
    /// Whether others read it, who find it in memory.
    pub in_memory: bool,
}

/// A result of a function of arrays, which others read as an array.
struct Kept {
    /// Its number.
    result: usize,
    /// The last item that reads it so.
    last: usize,
    array: Array,
}

impl Placed {
    /// The addresses of its operands and results.
    #[inline(always)]
    pub fn addresses(&self, bases: &[SendPtr], Lists { ins, outs, .. }: &mut Lists) {
        // `extend` would be a call each.
        ins.clear();
        self.ins.iter().for_each(|a| ins.push(a.of(bases)));
        outs.clear();
        self.outs.iter().for_each(|a| outs.push(a.of(bases)));
    }

    /// The results of functions of arrays, for operands at these addresses, or in arrays that are given. None if one has another
    /// layout.
    ///
    /// # Errors
    /// Those of the computation.
    ///
    /// # Safety
    /// Operands that are not given lie at their addresses.
    #[inline(never)]
    unsafe fn results<'a>(
        &self,
        arrays: &Arrays,
        lists: &Lists,
        given: &dyn Fn(Source) -> Option<&'a Array>,
    ) -> Result<Option<SmallVec<[Array; 2]>>> {
        let whole = |&(source, start): &(Source, isize)| given(source).map(|x| (x, start));
        let given: SmallVec<[_; 4]> = self.item.ins.iter().map(whole).collect();
        // SAFETY: as the function's `# Safety` section requires.
        unsafe { arrays.run(&lists.ins, &given, &self.item.outs) }
    }

    /// Runs item `i`, which is this one, a function of arrays. False if a result has another layout. Results that later functions of
    /// arrays read are kept as they are; others find them in memory.
    ///
    /// # Errors
    /// Those of the computation.
    ///
    /// # Safety
    /// Each operand lies at its address, or is given or kept as an array. There is room for the results at their addresses, which
    /// nobody else uses.
    #[inline(never)]
    unsafe fn run_arrays(
        &self,
        i: usize,
        own: &Arrays,
        lists: &Lists,
        read: &[&Array],
        kept: &mut Vec<Kept>,
    ) -> Result<bool> {
        let given = |source: Source| match source {
            Source::Read(r) => Some(read[r]),
            Source::Made(m) => kept.iter().find(|own| own.result == m).map(|own| &own.array),
        };
        // SAFETY: as the function's `# Safety` section requires; `given` has what is given or kept.
        let Some(results) = (unsafe { self.results(own, lists, &given)? }) else { return Ok(false) };
        kept.retain(|own| own.last > i);
        for (k, array) in results.into_iter().enumerate() {
            let Uses { as_array, in_memory } = self.uses[k];
            if in_memory {
                // SAFETY: as the function's `# Safety` section requires; `results` gives arrays with the layouts of the item's results.
                unsafe { self.item.outs[k].store(&array, lists.outs[k]) };
            }
            kept.extend(as_array.map(|last| Kept { result: self.first + k, last, array }));
        }
        Ok(true)
    }
}

/// An array that a sequence makes.
pub(super) struct Write {
    pub dtype: DType,
    pub dims: Dims,
    pub strides: Option<Strides>,
    pub bytes: usize,
}

/// Computations that run one after the other.
pub struct Sequence {
    pub(super) items: Box<[Placed]>,
    /// By array that it reads: the bytes, counted from the first element.
    pub(super) reads: Box<[Range<isize>]>,
    pub(super) writes: Box<[Write]>,
    /// How many bytes of scratch memory it needs.
    pub(super) bytes: usize,
    /// The most bytes of results that are live in that memory at a time.
    pub(super) most: usize,
}

/// The error of an item.
pub struct Failure {
    pub item: usize,
    pub error: Box<Error>,
}

impl Failure {
    /// An error of no item in particular, which is said to be that of the first one.
    pub(super) fn first(error: Box<Error>) -> Failure {
        Failure { item: 0, error }
    }
}

/// Scratch memory of at most this many bytes is on the stack.
const FEW: usize = 4096;

/// The scratch memory of a sequence that needs little.
#[repr(C, align(64))]
pub(super) struct Few([MaybeUninit<u8>; FEW]);

impl Few {
    pub const fn new() -> Few {
        Few([MaybeUninit::uninit(); FEW])
    }

    /// The scratch memory for a sequence. The bytes that the sequence needs are set to zeros, since kernels get slices of them. If it
    /// needs more than there are, no bytes are set.
    #[inline(always)]
    pub fn scratch_for(&mut self, of: &Sequence) -> *mut u8 {
        if let Some(used) = self.0.get_mut(..of.bytes) {
            used.fill(MaybeUninit::new(0));
        }
        self.0.as_mut_ptr().cast()
    }
}

/// The addresses of an item's operands and results.
#[derive(Default)]
pub(super) struct Lists {
    pub ins: SmallVec<[SendPtr; 16]>,
    pub outs: SmallVec<[SendPtr; 8]>,
    /// All addresses of a cluster that runs many times.
    pub all: Option<Addresses>,
}

impl Sequence {
    /// The most bytes of results that are live at a time, besides what it makes for others.
    pub fn most_bytes(&self) -> usize {
        self.most
    }

    /// Its parts, in the order in which they run.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.items.iter().map(|placed| &placed.item.part)
    }

    /// Computes the results in the order in which they are made. None if one has another layout. `done` is called after each item
    /// with its number.
    ///
    /// # Errors
    /// For want of memory, those of kernels and of functions of arrays, and if the run is interrupted.
    ///
    /// # Panics
    /// If an array is too small for what is read of it.
    pub fn run(
        &self,
        arrays: &[&Array],
        mut done: Option<&mut dyn FnMut(usize)>,
    ) -> std::result::Result<Option<SmallVec<[Array; 4]>>, Failure> {
        assert_eq!(arrays.len(), self.reads.len());
        let mut few = Few::new();
        let mut many = self.many().map_err(Failure::first)?;
        let mut bases: SmallVec<[SendPtr; 16]> = SmallVec::new();
        bases.push(SendPtr(many.as_mut().map_or_else(|| few.scratch_for(self), Unwritten::ptr)));
        for (x, range) in arrays.iter().zip(&self.reads) {
            bases.push(SendPtr(x.bytes(0, range.clone()).cast_mut()));
        }
        let mut made: SmallVec<[Unwritten; 4]> = SmallVec::new();
        for write in &self.writes {
            made.push(Array::unwritten("compile", write.dtype, &write.dims).map_err(Failure::first)?);
        }
        bases.extend(made.iter_mut().map(|z| SendPtr(z.ptr())));
        let mut lists = Lists::default();
        let mut kept: Vec<Kept> = vec![];
        for (i, placed) in self.items.iter().enumerate() {
            if i % STRETCH == STRETCH - 1 {
                interrupt::check().map_err(|error| Failure { item: i, error })?;
            }
            placed.addresses(&bases, &mut lists);
            // SAFETY: `bytes` checked the arrays, which outlive the run. The memory and the results are new and large enough, and the
            // items before this one have run. What an item does not find in memory is kept.
            unsafe {
                let is_laid_out = match &placed.item.part {
                    Part::Arrays(own) => placed
                        .run_arrays(i, own, &lists, arrays, &mut kept)
                        .map_err(|error| Failure { item: i, error })?,
                    _ => self.run_item(i, &lists, bases[0], |_| None)?,
                };
                if !is_laid_out {
                    return Ok(None);
                }
            }
            if let Some(done) = &mut done {
                done(i);
            }
        }
        let laid_out = |(write, array): (&Write, Unwritten)| match &write.strides {
            Some(strides) => array.written().restride(&write.dims, strides, 0),
            None => array.written(),
        };
        Ok(Some(self.writes.iter().zip(made).map(laid_out).collect()))
    }

    /// Scratch memory, if the sequence needs more than [`Few`] has.
    pub(super) fn many(&self) -> Result<Option<Unwritten>> {
        if self.bytes <= FEW {
            return Ok(None);
        }
        Array::unwritten("compile", DType::U8, &[self.bytes.next_multiple_of(ALIGNMENT)]).map(Some)
    }

    /// Runs an item. False if a result has another layout.
    ///
    /// # Errors
    /// Those of kernels and of functions of arrays.
    ///
    /// # Safety
    /// The lists have the addresses of the operands and results of the item, which lie in the scratch memory at `scratch`, in the
    /// arrays that are read, and in room for the results. Nobody else uses that memory and that room, no one writes to the arrays,
    /// and the items before this one have run. `given` are arrays that are read.
    #[inline(always)]
    pub(super) unsafe fn run_item<'a>(
        &self,
        i: usize,
        lists @ Lists { ins, outs, all }: &Lists,
        scratch: SendPtr,
        given: impl Fn(usize) -> Option<&'a Array>,
    ) -> std::result::Result<bool, Failure> {
        let placed = &self.items[i];
        let own = scratch.get().wrapping_add(placed.scratch);
        // SAFETY: `new` checked that operands lie in what is read or was made before, and no two live ranges share scratch memory.
        unsafe {
            match &placed.item.part {
                Part::Cluster(cluster) => match all {
                    Some(all) => cluster.run_at(all, outs, own),
                    None => cluster.run(ins, outs, own),
                },
                Part::Kernel(kernel) => {
                    let ran = kernel.run(ins, outs, own);
                    ran.map_err(|error| Failure { item: i, error })?;
                }
                Part::Arrays(arrays) => {
                    let whole = |source: Source| match source {
                        Source::Read(r) => given(r),
                        Source::Made(_) => None,
                    };
                    let results = placed.results(arrays, lists, &whole);
                    let Some(results) = results.map_err(|error| Failure { item: i, error })? else {
                        return Ok(false);
                    };
                    for ((out, x), &to) in placed.item.outs.iter().zip(&results).zip(outs) {
                        out.store(x, to);
                    }
                }
            }
        }
        Ok(true)
    }
}
