//! Clusters: many formulas in one pass over memory. The elements are taken in tiles, and each formula is applied to a
//! whole tile by its loop. What no one reads afterwards stays in registers, which are memory for one tile in the
//! first-level cache. Rows of a result can be folded while a tile of it is there.

mod checks;
mod formulas;
mod parts;
mod room;
mod scalars;
mod walk;

use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::array::by_size;
use crate::kernel::par::{self, SendPtr};
use crate::kernel::pointwise::row::{Address, Instruction};
use crate::kernel::reduce::tiles::Lengths;
use crate::shape;
use checks::checked;
pub use formulas::Formulas;
pub use parts::{End, Read, Reading, Write};
use room::{ADDRESSES, Room, SPREAD, apart, tile_length};
pub use room::{ALIGNMENT, are_scalars, has_room};
pub use scalars::{ScalarProgram, Store};
pub use walk::{Walk, copy_number};

/// Instructions that compute `n` elements each.
pub struct Cluster {
    n: usize,
    tile: usize,
    formulas: Formulas,
    reads: Box<[Read]>,
    /// Which of those are walks.
    walks: Box<[usize]>,
    writes: Box<[Write]>,
    /// In the order of the instructions.
    ends: Box<[End]>,
    lengths: Lengths,
    /// By register: where it is among those that have memory. None for one that a result stays in only within machine code.
    registers: Box<[Option<usize>]>,
    /// The bytes of the registers that have memory, and of one.
    memory: usize,
    register_bytes: usize,
    /// The bytes that all instructions write.
    bytes: usize,
}

/// By fold: the address of the memory that it needs, and that of its results.
type Folds = SmallVec<[(SendPtr, SendPtr); 2]>;

impl Cluster {
    /// A cluster that reads arrays, writes results, folds others, and has `registers`.
    ///
    /// # Panics
    /// If it has too many registers or addresses, an instruction has an operand that is not there or has not the dtype of its loop, a
    /// result has another dtype than its loop makes, or no tile suits all folds.
    pub fn new(
        n: usize,
        instructions: Vec<Instruction>,
        reads: Vec<Read>,
        writes: Vec<Write>,
        mut ends: Vec<End>,
        registers: usize,
    ) -> Cluster {
        shape::sort_by_key(&mut ends, |end| end.of);
        assert!(writes.iter().all(|write| write.from.is_none()), "single numbers are a scalar program");
        let (lengths, widest) = checked(n, &instructions, (&reads, &writes, &ends), registers);
        let first = reads.len() + writes.len();
        // The addresses whose memory is read or written.
        let mut used: FxHashSet<Address> = ends.iter().map(|end| end.address).collect();
        used.extend(reads.iter().filter_map(Read::register));
        let bytes = n * instructions.iter().map(|i| i.row.out.size()).sum::<usize>();
        let formulas = Formulas::new(n, instructions, &ends, first, &mut used);
        let mut rooms = 0;
        let mut room = |address: usize| {
            let room = used.contains(&(address as Address)).then_some(rooms);
            rooms += usize::from(room.is_some());
            room
        };
        let registers: Box<[Option<usize>]> = (first..first + registers).map(&mut room).collect();
        let along = reads.iter().filter(|read| matches!(read.reading, Reading::Along)).count();
        let moving = (rooms + writes.len() + along).max(1);
        let tile = tile_length(n, widest, moving, lengths);
        let register_bytes = apart(tile * widest, rooms);
        let memory = rooms * register_bytes;
        assert!(memory <= SPREAD);
        let walks = (0..reads.len()).filter(|&i| reads[i].register().is_some()).collect();
        Cluster {
            n,
            tile,
            formulas,
            reads: reads.into(),
            walks,
            writes: writes.into(),
            ends: ends.into(),
            lengths,
            registers,
            memory,
            register_bytes,
            bytes,
        }
    }

    /// The bytes that all instructions write.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many arrays it reads.
    pub fn reads(&self) -> usize {
        self.reads.len()
    }

    /// Which bytes it reads of an array, counted from the first element.
    pub fn reach(&self, read: usize) -> Range<isize> {
        let read = &self.reads[read];
        let size = read.dtype.size() as isize;
        let (low, high) = match &read.reading {
            Reading::Along => (0, self.n as isize - 1),
            Reading::Once => (0, 0),
            Reading::Walk(walk, _) => walk.reach(),
        };
        read.start + low * size..read.start + (high + 1) * size
    }

    /// How many bytes each result has, those that are written before those of the folds.
    pub fn result_bytes(&self) -> impl Iterator<Item = usize> {
        let writes = self.writes.iter().map(|w| self.n * w.dtype.size());
        writes.chain(self.ends.iter().map(|end| end.fold.result_bytes()))
    }

    /// How many bytes of memory it works in, aligned to [`ALIGNMENT`].
    pub fn room(&self) -> usize {
        let folds: usize = self.ends.iter().map(|end| end.fold.room().next_multiple_of(ALIGNMENT)).sum();
        folds + if self.is_shared() { 0 } else { self.room_of_part() }
    }

    /// How many bytes a thread works in.
    fn room_of_part(&self) -> usize {
        self.memory + self.addresses() * size_of::<*mut u8>()
    }

    /// How many addresses the instructions have.
    fn addresses(&self) -> usize {
        self.reads.len() + self.writes.len() + self.registers.len()
    }

    /// Whether it is so large that several threads may share it.
    fn is_shared(&self) -> bool {
        self.n > self.tile
    }

    /// Computes all results.
    ///
    /// # Safety
    /// `reads` has the address of each array, which has the bytes that [`reach`](Cluster::reach) says. `outs` has an address with
    /// room for each result. `room` is the address of as many bytes as [`room`](Cluster::room) says, aligned. Nobody else uses the
    /// memory of the results and the room.
    pub unsafe fn run(&self, reads: &[SendPtr], outs: &[SendPtr], room: *mut u8) {
        let writes = &outs[..self.writes.len()];
        let mut folds = SmallVec::new();
        let rest = self.folds(outs, room, &mut folds);
        if !self.is_shared() {
            // SAFETY: as the function's `# Safety` section requires; the room has these bytes for registers and addresses.
            unsafe {
                let addresses = rest.add(self.memory).cast();
                let addresses = std::slice::from_raw_parts_mut(addresses, self.addresses());
                self.place(reads, writes, rest, addresses);
                self.tile(0..self.n, false, addresses, &folds);
            }
        } else if !par::is_worthwhile(self.bytes) {
            // SAFETY: as above.
            unsafe { self.part_with_room(0..self.n, reads, writes, &folds) };
        } else {
            let piece = self.n.div_ceil(4 * par::threads()).next_multiple_of(64).max(self.tile);
            let piece = if self.ends.is_empty() {
                piece
            } else {
                piece.next_multiple_of(self.lengths.piece(self.tile))
            };
            par::pieces(self.n, piece, &|range| {
                // SAFETY: as above. Pieces do not overlap, and each has registers of its own.
                unsafe { self.part_with_room(range, reads, writes, &folds) };
            });
        }
        // SAFETY: all elements have been folded, with these addresses.
        unsafe { self.end(&folds) };
    }

    /// Lists by fold the memory that it needs and its results. Where the memory of the registers begins.
    #[inline(always)]
    fn folds(&self, outs: &[SendPtr], room: *mut u8, folds: &mut Folds) -> *mut u8 {
        let mut rest = room;
        for (end, &out) in self.ends.iter().zip(&outs[self.writes.len()..]) {
            folds.push((SendPtr(rest), out));
            // `room` counts these bytes.
            rest = rest.wrapping_add(end.fold.room().next_multiple_of(ALIGNMENT));
        }
        rest
    }

    /// Ends the folds.
    ///
    /// # Safety
    /// All elements have been folded, with these addresses.
    #[inline(always)]
    unsafe fn end(&self, folds: &[(SendPtr, SendPtr)]) {
        for (end, (room, out)) in self.ends.iter().zip(folds) {
            // SAFETY: as the function's `# Safety` section requires.
            unsafe { end.fold.end(room.get(), out.get()) };
        }
    }

    /// The addresses of what it reads, of its results and of its registers, for [`run_at`](Cluster::run_at). None if it has several
    /// tiles.
    pub fn addresses_of(&self, reads: &[SendPtr], outs: &[SendPtr], room: *mut u8) -> Option<Addresses> {
        if self.is_shared() {
            return None;
        }
        let mut addresses = vec![MaybeUninit::uninit(); self.addresses()];
        let memory = self.folds(outs, room, &mut SmallVec::new());
        self.place(reads, &outs[..self.writes.len()], memory, &mut addresses);
        Some(Addresses(addresses))
    }

    /// [`run`](Cluster::run), where the addresses are known.
    ///
    /// # Safety
    /// As [`run`](Cluster::run). The addresses are those of what it reads, of these results and of this room.
    pub unsafe fn run_at(&self, Addresses(addresses): &Addresses, outs: &[SendPtr], room: *mut u8) {
        let mut folds = SmallVec::new();
        self.folds(outs, room, &mut folds);
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            self.tile(0..self.n, false, addresses, &folds);
            self.end(&folds);
        }
    }

    /// [`part`](Cluster::part) with registers and addresses on the stack. It is a function of its own, because each call of a function
    /// touches all pages of what it has on the stack.
    ///
    /// # Safety
    /// As [`part`](Cluster::part).
    #[inline(never)]
    unsafe fn part_with_room(
        &self,
        range: Range<usize>,
        reads: &[SendPtr],
        writes: &[SendPtr],
        folds: &[(SendPtr, SendPtr)],
    ) {
        let mut own = MaybeUninit::<Room>::uninit();
        // SAFETY: as the function's `# Safety` section requires; both parts of the room are its own.
        unsafe {
            let addresses = (&raw mut (*own.as_mut_ptr()).1).cast::<MaybeUninit<*mut u8>>();
            let addresses = std::slice::from_raw_parts_mut(addresses, ADDRESSES);
            self.part(range, reads, writes, folds, own.as_mut_ptr().cast(), addresses);
        }
    }

    /// Computes a range of the elements.
    ///
    /// # Safety
    /// The addresses are those of [`run`](Cluster::run), each fold with the room that it has and its results. Nobody else
    /// computes elements of the range. `memory` has room for the registers, and `addresses` for the addresses.
    unsafe fn part(
        &self,
        range: Range<usize>,
        reads: &[SendPtr],
        writes: &[SendPtr],
        folds: &[(SendPtr, SendPtr)],
        memory: *mut u8,
        addresses: &mut [MaybeUninit<*mut u8>],
    ) {
        self.place(reads, writes, memory, addresses);
        let mut start = range.start;
        while start < range.end {
            let n = self.tile.min(range.end - start);
            for (i, (read, x)) in self.reads.iter().zip(reads).enumerate() {
                if let Reading::Along = read.reading {
                    let first = read.start + (start * read.dtype.size()) as isize;
                    addresses[i].write(x.get().wrapping_offset(first));
                }
            }
            for (i, (write, z)) in self.writes.iter().zip(writes).enumerate() {
                addresses[reads.len() + i].write(z.get().wrapping_add(start * write.dtype.size()));
            }
            // SAFETY: as the function's `# Safety` section requires; the addresses are those of the tile.
            unsafe { self.tile(start..start + n, start > range.start, addresses, folds) };
            start += n;
        }
    }

    /// Writes the addresses of the first elements of what is read and of the results, and those of the registers.
    #[inline(never)]
    fn place(
        &self,
        reads: &[SendPtr],
        writes: &[SendPtr],
        memory: *mut u8,
        addresses: &mut [MaybeUninit<*mut u8>],
    ) {
        let (operands, registers) = addresses.split_at_mut(reads.len() + writes.len());
        let starts = self.reads.iter().map(|read| read.start);
        let first = starts.zip(reads).map(|(start, x)| x.get().wrapping_offset(start));
        for (address, at) in operands.iter_mut().zip(first.chain(writes.iter().map(SendPtr::get))) {
            address.write(at);
        }
        for (address, room) in registers.iter_mut().zip(&self.registers) {
            address.write(room.map_or(ptr::null_mut(), |i| memory.wrapping_add(i * self.register_bytes)));
        }
    }

    /// Computes the elements of a tile. `again` says that the one before it was computed with the same registers.
    ///
    /// # Safety
    /// As [`part`](Cluster::part). The addresses of what is read along and of the results are those of the tile, the others those of the
    /// first elements.
    #[inline(never)]
    unsafe fn tile(
        &self,
        range: Range<usize>,
        again: bool,
        addresses: &[MaybeUninit<*mut u8>],
        folds: &[(SendPtr, SendPtr)],
    ) {
        let (start, n) = (range.start, range.len());
        // SAFETY: `new` checked that all operands have addresses, and all of those are written.
        let at = |address: Address| unsafe { addresses[address as usize].assume_init() };
        for &i in &self.walks {
            let Read { reading: Reading::Walk(walk, register), dtype, .. } = &self.reads[i] else { continue };
            // The register may still have the same elements.
            if !(again && self.tile.is_multiple_of(walk.period())) {
                by_size!(dtype.size(), T => {
                    // SAFETY: the array has the axes of the walk, and a register has room for a tile.
                    unsafe { walk.copy(at(i as Address).cast::<T>(), range.clone(), at(*register).cast()) }
                });
            }
        }
        let mut ends = self.ends.iter().zip(folds).peekable();
        let end = |done: usize| {
            while let Some((end, (room, out))) = ends.next_if(|(fold, _)| fold.of < done) {
                // SAFETY: the instruction has made the elements of the tile. `new` chose tiles, and `run` pieces, that suit the
                // fold.
                unsafe { end.fold.add(start, n, at(end.address), room.get(), out.get()) };
            }
        };
        // SAFETY: the operands have `n` elements of the dtypes that the loops are for, or one where their step is 0, and there is
        // room for `n` results. Results and registers are apart from each other and from what is read.
        unsafe { self.formulas.run(n, addresses, end) };
    }
}

/// The addresses of a cluster, those of what it reads first.
pub struct Addresses(Vec<MaybeUninit<*mut u8>>);

impl Addresses {
    /// Adds so many bytes to the address of something that is read.
    pub fn move_on(&mut self, read: usize, bytes: isize) {
        // SAFETY: all addresses are written.
        let address = unsafe { self.0[read].assume_init_mut() };
        *address = address.wrapping_offset(bytes);
    }
}
