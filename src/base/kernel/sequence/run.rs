//! A sequence, and how it runs.

use std::mem::MaybeUninit;
use std::ops::Range;

use smallvec::SmallVec;

use super::arrays::Arrays;
use super::items::{Item, Part, Source};
use super::room::Plan;
use crate::array::{Array, Unwritten};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::interrupt;
use crate::kernel::par::SendPtr;
use crate::kernel::pointwise::cluster::{ALIGNMENT, Addresses};
use crate::shape::{Dims, Strides};

/// After so many items a run looks for an interrupt.
const STRETCH: usize = 256;

/// Where an operand begins: this many bytes after a base, which is the sequence's own memory, an array that it reads, or one that
/// it makes, in this order.
#[derive(Clone, Copy)]
pub(super) struct Address {
    pub base: u32,
    start: isize,
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
    /// Where the memory that it works in begins.
    pub room: usize,
    /// The number of its first result.
    first: usize,
    /// By result of a function of arrays: the last function of arrays that reads it, and whether something else does.
    uses: Box<[(Option<usize>, bool)]>,
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
    /// How much memory it needs.
    bytes: usize,
    /// The most bytes of values that are in that memory at a time.
    most: usize,
}

/// The error of an item.
pub struct Failure {
    pub item: usize,
    pub error: Box<Error>,
}

/// Memory of at most this many bytes is on the stack.
const FEW: usize = 4096;

/// Room for the memory of a sequence that needs little.
#[repr(C, align(64))]
pub(super) struct Few([MaybeUninit<u8>; FEW]);

impl Few {
    pub const fn new() -> Few {
        Few([MaybeUninit::uninit(); FEW])
    }

    /// The memory for a sequence. The bytes that the sequence needs are set to zeros, since kernels get slices of them. If it needs
    /// more than there is room for, no bytes are set.
    #[inline(always)]
    pub fn room_for(&mut self, of: &Sequence) -> *mut u8 {
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
    /// A sequence that reads so many arrays.
    ///
    /// # Panics
    /// If an item has operands or results that do not suit it, or reads what no earlier item makes.
    pub fn new(reads: usize, items: Vec<Item>) -> Sequence {
        let mut ranges = vec![0..1isize; reads];
        // By result: its bytes, and the last item that reads it.
        let mut made: Vec<(usize, usize)> = vec![];
        // By result: the last function of arrays that reads it, and whether something else does.
        let mut used: Vec<(Option<usize>, bool)> = vec![];
        for (i, item) in items.iter().enumerate() {
            assert!(item.part.is_for(item.ins.len(), &item.outs), "an item gets other operands or results");
            for (k, &(source, start)) in item.ins.iter().enumerate() {
                let reach = item.part.reach(k);
                let (low, high) = (start + reach.start, start + reach.end);
                match source {
                    Source::Read(r) => {
                        let range = &mut ranges[r];
                        *range = range.start.min(low)..range.end.max(high);
                    }
                    Source::Made(m) => {
                        assert!(
                            low >= 0 && high as usize <= made[m].0,
                            "an operand leaves the memory of a result"
                        );
                        made[m].1 = i;
                        match item.part {
                            Part::Arrays(_) => used[m].0 = Some(i),
                            _ => used[m].1 = true,
                        }
                    }
                }
            }
            made.extend(item.outs.iter().map(|out| (out.bytes(), i)));
            used.extend(item.outs.iter().map(|out| (None, out.is_result)));
        }
        let mut plan = Plan::default();
        let mut writes = vec![];
        let mut addresses: Vec<Address> = vec![];
        // By item: the results that are read last there.
        let mut last: Vec<Vec<usize>> = vec![vec![]; items.len()];
        made.iter().enumerate().for_each(|(m, &(_, i))| last[i].push(m));
        let mut placed = vec![];
        let (mut now, mut most) = (0, 0);
        for (i, item) in items.into_iter().enumerate() {
            let ins = item.ins.iter().map(|&(source, start)| match source {
                Source::Read(r) => Address { base: 1 + r as u32, start },
                Source::Made(m) => Address { start: addresses[m].start + start, ..addresses[m] },
            });
            let ins = ins.collect();
            let mut outs = vec![];
            for out in &item.outs {
                let at = if out.is_result {
                    let (dtype, dims, strides) = (out.dtype, out.dims.clone(), out.strides.clone());
                    writes.push(Write { dtype, dims, strides, bytes: out.bytes() });
                    Address { base: (reads + writes.len()) as u32, start: 0 }
                } else {
                    now += out.bytes();
                    Address { base: 0, start: plan.take(out.bytes()) as isize }
                };
                addresses.push(at);
                outs.push(at);
            }
            most = most.max(now);
            let bytes = item.part.room();
            let room = plan.take(bytes);
            plan.give(room, bytes);
            for &m in last[i].iter().filter(|&&m| addresses[m].base == 0) {
                plan.give(addresses[m].start as usize, made[m].0);
                now -= made[m].0;
            }
            let first = addresses.len() - outs.len();
            let uses = match item.part {
                Part::Arrays(_) => used[first..addresses.len()].into(),
                _ => [].into(),
            };
            placed.push(Placed { item, ins, outs: outs.into(), room, first, uses });
        }
        let bytes = plan.bytes();
        Sequence { items: placed.into(), reads: ranges.into(), writes: writes.into(), bytes, most }
    }

    /// The most bytes of values that it has at a time, besides what it makes for others.
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
        let first = |error| Failure { item: 0, error };
        let mut few = Few::new();
        let mut many = self.many().map_err(first)?;
        let mut bases: SmallVec<[SendPtr; 16]> = SmallVec::new();
        bases.push(SendPtr(many.as_mut().map_or_else(|| few.room_for(self), Unwritten::ptr)));
        for (x, range) in arrays.iter().zip(&self.reads) {
            bases.push(SendPtr(x.bytes(0, range.clone()).cast_mut()));
        }
        let mut made: SmallVec<[Unwritten; 4]> = SmallVec::new();
        for write in &self.writes {
            made.push(Array::unwritten("compile", write.dtype, &write.dims).map_err(first)?);
        }
        bases.extend(made.iter_mut().map(|z| SendPtr(z.ptr())));
        let mut lists = Lists::default();
        // Results of functions of arrays for others: the number of each, and the last item that reads it.
        let mut kept: Vec<(usize, usize, Array)> = vec![];
        for (i, placed) in self.items.iter().enumerate() {
            if i % STRETCH == STRETCH - 1 {
                interrupt::check().map_err(|error| Failure { item: i, error })?;
            }
            placed.addresses(&bases, &mut lists);
            // SAFETY: `bytes` checked the arrays, which outlive the run. The memory and the results are new and large enough, and the
            // items before this one have run. What an item does not find in memory is kept.
            unsafe {
                if let Part::Arrays(own) = &placed.item.part {
                    let given = |source: Source| match source {
                        Source::Read(r) => Some(arrays[r]),
                        Source::Made(m) => kept.iter().find(|(k, ..)| *k == m).map(|(.., x)| x),
                    };
                    let Some(results) =
                        placed.results(own, &lists, &given).map_err(|error| Failure { item: i, error })?
                    else {
                        return Ok(None);
                    };
                    kept.retain(|(_, last, _)| *last > i);
                    for (k, x) in results.into_iter().enumerate() {
                        let (last, is_read) = placed.uses[k];
                        if is_read {
                            placed.item.outs[k].store(&x, lists.outs[k]);
                        }
                        kept.extend(last.map(|last| (placed.first + k, last, x)));
                    }
                } else if !self.run_item(i, &lists, bases[0], |_| None)? {
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

    /// Memory to work in, if that is more than [`Few`] has.
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
    /// The lists have the addresses of the operands and results of the item, which lie in memory to work in, which is `own`, in the
    /// arrays that are read, and in room for the results. Nobody else uses that memory and that room, no one writes to the arrays,
    /// and the items before this one have run. `given` are arrays that are read.
    #[inline(always)]
    pub(super) unsafe fn run_item<'a>(
        &self,
        i: usize,
        lists @ Lists { ins, outs, all }: &Lists,
        own: SendPtr,
        given: impl Fn(usize) -> Option<&'a Array>,
    ) -> std::result::Result<bool, Failure> {
        let Placed { item, room, .. } = &self.items[i];
        // SAFETY: `new` checked that operands lie in what is read or was made before, and `Plan` gives no memory to two that need
        // it at a time.
        unsafe {
            match &item.part {
                Part::Cluster(cluster) => match all {
                    Some(all) => cluster.run_at(all, outs, own.get().add(*room)),
                    None => cluster.run(ins, outs, own.get().add(*room)),
                },
                Part::Kernel(kernel) => {
                    let ran = kernel.run(ins, outs, own.get().add(*room));
                    ran.map_err(|error| Failure { item: i, error })?;
                }
                Part::Arrays(arrays) => {
                    let whole = |source: Source| match source {
                        Source::Read(r) => given(r),
                        Source::Made(_) => None,
                    };
                    let results = self.items[i].results(arrays, lists, &whole);
                    let Some(results) = results.map_err(|error| Failure { item: i, error })? else {
                        return Ok(false);
                    };
                    for ((out, x), &to) in item.outs.iter().zip(&results).zip(outs) {
                        out.store(x, to);
                    }
                }
            }
        }
        Ok(true)
    }
}
