//! A sequence, and how it runs.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

use smallvec::{SmallVec, smallvec};

use super::arrays::{Arrays, Out};
use super::items::{Item, Part, Source};
use crate::array::{Array, Unwritten};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::interrupt;
use crate::kernel::par::SendPtr;
use crate::kernel::pointwise::cluster::{ALIGNMENT, Addresses};

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
    /// The results that are arrays of their own, each with the number of the array. All those of a function of arrays are.
    pub owns: Box<[(usize, usize)]>,
    /// The arrays of their own that no later item reads, and that are no results of the sequence.
    pub ends: Box<[usize]>,
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
}

/// Computations that run one after the other.
pub struct Sequence {
    pub(super) items: Box<[Placed]>,
    /// By array that it reads: the bytes, counted from the first element.
    pub(super) reads: Box<[Range<isize>]>,
    /// By result that is an array of its own: how many bytes it has.
    pub(super) owns: Box<[usize]>,
    /// By result of the sequence: which of those arrays it is.
    pub(super) results: Box<[usize]>,
    /// How many bytes of scratch memory it needs.
    pub(super) bytes: usize,
    /// The most bytes of results that are live at a time.
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

/// A sequence that runs.
struct Run<'a> {
    sequence: &'a Sequence,
    arrays: &'a [&'a Array],
    bases: SmallVec<[SendPtr; 16]>,
    /// The results that are arrays of their own, from when they are made to the end of their live ranges.
    owns: SmallVec<[Option<Array>; 8]>,
    lists: Lists,
}

impl<'a> Run<'a> {
    /// # Panics
    /// If an array is too small for what is read of it.
    #[inline(always)]
    fn new(sequence: &'a Sequence, arrays: &'a [&'a Array], scratch: SendPtr) -> Run<'a> {
        assert_eq!(arrays.len(), sequence.reads.len());
        let mut bases: SmallVec<[SendPtr; 16]> = SmallVec::new();
        bases.push(scratch);
        for (x, range) in arrays.iter().zip(&sequence.reads) {
            if range.start < range.end {
                // This checks that they are in the array.
                x.bytes(range.start, range.clone());
            }
            bases.push(SendPtr(x.ptr().cast_mut()));
        }
        let owns = sequence.owns.len();
        bases.resize(bases.len() + owns, SendPtr(ptr::null_mut()));
        Run { sequence, arrays, bases, owns: smallvec![None; owns], lists: Lists::default() }
    }

    /// Keeps an array of its own.
    #[inline(always)]
    fn keep(&mut self, own: usize, array: Array) {
        self.bases[1 + self.arrays.len() + own] = SendPtr(array.ptr().cast_mut());
        self.owns[own] = Some(array);
    }

    /// Runs a function of arrays. False if a result has another layout.
    ///
    /// # Errors
    /// Those of the computation.
    #[inline(never)]
    fn run_arrays(&mut self, placed: &Placed, part: &Arrays) -> Result<bool> {
        let whole = |at: &Address| {
            let read = at.base as usize - 1;
            let own = || self.owns[read - self.arrays.len()].as_ref().expect("an item before made it");
            (self.arrays.get(read).copied().unwrap_or_else(own), at.start)
        };
        let given: SmallVec<[_; 4]> = placed.ins.iter().map(|at| Some(whole(at))).collect();
        // SAFETY: all operands are given.
        let made = unsafe { part.run(&[], &given, &placed.item.outs)? };
        drop(given);
        let Some(made) = made else { return Ok(false) };
        for (&(_, own), array) in placed.owns.iter().zip(made) {
            self.keep(own, array);
        }
        Ok(true)
    }

    /// Runs item `i`, whose operands and results lie in memory.
    ///
    /// # Errors
    /// For want of memory, and those of kernels.
    #[inline(always)]
    fn run_in_memory(&mut self, i: usize, placed: &Placed) -> std::result::Result<(), Failure> {
        let has_owns = !placed.owns.is_empty();
        let new = if has_owns {
            self.new_owns(placed).map_err(|error| Failure { item: i, error })?
        } else {
            NewOwns::new()
        };
        placed.addresses(&self.bases, &mut self.lists);
        // SAFETY: `new` checked the arrays, which outlive the run. The scratch memory and the results are new and large enough, and the
        // items before this one have run.
        unsafe { self.sequence.run_item(i, &self.lists, self.bases[0], |_| None)? };
        if has_owns {
            self.keep_all(placed, new);
        }
        Ok(())
    }

    /// New arrays for the results of an item that are arrays of their own.
    ///
    /// # Errors
    /// For want of memory.
    #[inline(never)]
    fn new_owns(&mut self, placed: &Placed) -> Result<NewOwns> {
        let mut new = NewOwns::new();
        for &(k, own) in &placed.owns {
            let Out { dtype, dims, .. } = &placed.item.outs[k];
            let mut array = Array::unwritten("compile", *dtype, dims)?;
            self.bases[1 + self.arrays.len() + own] = SendPtr(array.ptr());
            new.push(array);
        }
        Ok(new)
    }

    /// Keeps those arrays, which the item has written.
    #[inline(never)]
    fn keep_all(&mut self, placed: &Placed, new: NewOwns) {
        for (&(k, own), array) in placed.owns.iter().zip(new) {
            let (Out { dims, strides, .. }, array) = (&placed.item.outs[k], array.written());
            let array = match strides {
                Some(strides) => array.restride(dims, strides, 0),
                None => array,
            };
            self.keep(own, array);
        }
    }
}

type NewOwns = SmallVec<[Unwritten; 2]>;

impl Sequence {
    /// The most bytes of results that are live at a time.
    pub fn most_bytes(&self) -> usize {
        self.most
    }

    /// Its parts, in the order in which they run.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.items.iter().map(|placed| &placed.item.part)
    }

    /// Computes the results in the order in which they are made. If one has another layout, the number of its item. `done` is called
    /// after each item with its number.
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
    ) -> std::result::Result<std::result::Result<SmallVec<[Array; 4]>, usize>, Failure> {
        let mut few = Few::new();
        let mut many = self.many().map_err(Failure::first)?;
        let scratch = many.as_mut().map_or_else(|| few.scratch_for(self), Unwritten::ptr);
        let mut run = Run::new(self, arrays, SendPtr(scratch));
        for (i, placed) in self.items.iter().enumerate() {
            let failed = |error| Failure { item: i, error };
            if i % STRETCH == STRETCH - 1 {
                interrupt::check().map_err(failed)?;
            }
            match &placed.item.part {
                Part::Arrays(part) => {
                    if !run.run_arrays(placed, part).map_err(failed)? {
                        return Ok(Err(i));
                    }
                }
                _ => run.run_in_memory(i, placed)?,
            }
            placed.ends.iter().for_each(|&own| run.owns[own] = None);
            if let Some(done) = &mut done {
                done(i);
            }
        }
        let result = |&own: &usize| run.owns[own].take().expect("an item made it");
        Ok(Ok(self.results.iter().map(result).collect()))
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
        Lists { ins, outs, all }: &Lists,
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
                Part::Scalars(program) => program.run(ins, outs, own),
                Part::Kernel(kernel) => {
                    let ran = kernel.run(ins, outs, own);
                    ran.map_err(|error| Failure { item: i, error })?;
                }
                Part::Arrays(part) => {
                    let whole = |&(source, start): &(Source, isize)| match source {
                        Source::Read(r) => given(r).map(|x| (x, start)),
                        Source::Made(_) => None,
                    };
                    let whole: SmallVec<[_; 4]> = placed.item.ins.iter().map(whole).collect();
                    let made = part
                        .run(ins, &whole, &placed.item.outs)
                        .map_err(|error| Failure { item: i, error })?;
                    let Some(made) = made else { return Ok(false) };
                    for ((out, x), &to) in placed.item.outs.iter().zip(&made).zip(outs) {
                        out.store(x, to);
                    }
                }
            }
        }
        Ok(true)
    }
}
