//! Clusters: many formulas in one pass over memory. The elements are taken in tiles, and each formula is applied to a
//! whole tile by its loop. What no one reads afterwards stays in registers, which are memory for one tile in the
//! first-level cache. Rows of a result can be folded while a tile of it is there.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::array::by_size;
use crate::dtype::DType;
use crate::kernel::par::{self, SendPtr};
use crate::kernel::pointwise::machine::{CodeOfTiles, of_tile};
use crate::kernel::pointwise::numbers::Numbers;
use crate::kernel::pointwise::row::{Address, Instruction, Loop, Operand};
use crate::kernel::reduce::tiles::{Lengths, RowFold};
use crate::kernel::simd;
use crate::shape::{self, Dims, Strides};

/// The bytes of all registers of a thread.
const REGISTERS: usize = 32 << 10;
/// The elements of the smallest and of the largest tile.
const TILE: Range<usize> = 64..2048;
/// The most addresses that a cluster has: those of what it reads, what it writes, and its registers.
const ADDRESSES: usize = 4096;
/// The most cells that a cluster of single numbers has.
const CELLS: usize = 1 << 20;
/// The alignment of a register, in bytes: a cache line.
pub const ALIGNMENT: usize = 64;
/// Processors tell a load from an earlier store by the position in the page alone, so a loop that reads this few bytes
/// behind where it writes, in another page, waits for each store.
const BEHIND: usize = 640;
const PAGE: usize = 4096;
/// How many cache lines with the same position in a page the first-level cache has at a time. Large arrays mostly begin at the
/// same position.
const WAYS: usize = 8;

/// In which order a cluster reads an array.
pub enum Reading {
    /// Element by element.
    Along,
    /// One element.
    Once,
    /// In another order than that of the results. A tile of it is copied into this register first.
    Walk(Walk, Address),
}

/// What a cluster reads.
pub struct Read {
    pub reading: Reading,
    pub dtype: DType,
    /// How many bytes after the first element of the array it begins.
    pub start: isize,
}

/// A result of a cluster.
pub struct Write {
    pub dtype: DType,
    /// Where single numbers become an array: the addresses of its elements. None for a result of one instruction, which has all
    /// elements of the cluster.
    pub from: Option<Box<[Address]>>,
}

/// A fold of the results of an instruction.
pub struct End {
    pub fold: RowFold,
    /// The number of the instruction.
    pub of: usize,
    /// Where the results are.
    pub address: Address,
}

/// An array that is read in a certain order: the sizes and strides of the axes, outermost first.
pub struct Walk {
    dims: Dims,
    strides: Strides,
    /// How many of the last axes make up a row.
    inner: usize,
    /// Where the elements of a row lie, if it has several axes or is all there is.
    places: Box<[i32]>,
}

/// The most elements of a row whose places a walk knows.
const FEW: usize = 64;

impl Walk {
    /// None if the elements lie one after the other.
    pub fn new(axes: &[(usize, isize)]) -> Option<Walk> {
        let (dims, strides): (Dims, Strides) = axes.iter().copied().unzip();
        if matches!(axes, [] | [(_, 1)]) {
            return None;
        }
        // Several short axes make up a row, and so do all axes if their elements are few.
        let row = |inner: usize| (&dims[dims.len() - inner..], &strides[dims.len() - inner..]);
        let few = (1..=dims.len()).take_while(|&inner| shape::len(row(inner).0) <= FEW).last();
        let is_short = |inner: &usize| *inner == dims.len() || *inner > 1 && dims[dims.len() - 1] <= SHORT;
        let inner = few.filter(is_short);
        let places = inner.and_then(|inner| {
            let (dims, strides) = row(inner);
            (0..shape::len(dims)).map(|i| i32::try_from(shape::offset(i, dims, strides)).ok()).collect()
        });
        let (inner, places) = inner.zip(places).unwrap_or((1, [].into()));
        Some(Walk { dims, strides, inner, places })
    }

    /// How many elements before and after its first one the array reaches.
    fn reach(&self) -> (isize, isize) {
        self.dims.iter().zip(&self.strides).fold((0, 0), |(low, high), (&d, &s)| {
            let reach = s * (d as isize - 1);
            (low + reach.min(0), high + reach.max(0))
        })
    }

    /// Copies a range of the elements, in this order.
    ///
    /// # Safety
    /// `x` is the address of the first element of an array of `T` with these axes, and `out` has room for the range.
    unsafe fn copy<T: Copy>(&self, x: *const T, range: Range<usize>, out: *mut T) {
        let outer = self.dims.len() - self.inner;
        let (dims, strides) = (&self.dims[..outer], &self.strides[..outer]);
        let (run, step) = match *self.places {
            [] => (self.dims[outer], self.strides[outer]),
            _ => (self.places.len(), 0),
        };
        let (mut inside, mut row) = (range.start % run, range.start / run);
        // The position on each axis outside of the rows, and the offset of the row there.
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, outer);
        for (index, d) in index.iter_mut().zip(dims).rev() {
            *index = row % d;
            row /= d;
        }
        let mut offset: isize = index.iter().zip(strides).map(|(&i, s)| i as isize * s).sum();
        let mut at = range.start;
        loop {
            let left = range.end - at;
            // Short rows, repeated ones, and rows of one number are copied many at a time.
            let rows = match (index.last(), strides.last()) {
                (Some(i), Some(&between))
                    if inside == 0 && left >= run && (run <= SHORT || between == 0 || step == 0) =>
                {
                    (left / run).min(dims[outer - 1] - i)
                }
                _ => 1,
            };
            let n = (rows * run - inside).min(left);
            // SAFETY: as the function's `# Safety` section requires.
            unsafe {
                // Where the places are known, `step` is 0: they count from the first element of the row.
                let x = x.offset(offset + inside as isize * step);
                let out = out.add(at - range.start);
                match step {
                    _ if !self.places.is_empty() => {
                        let between = strides.last().copied().unwrap_or(0);
                        copy_places(x, rows, between, &self.places[inside..inside + n / rows], out);
                    }
                    _ if rows > 1 => copy_rows(x, [rows, run], [strides[outer - 1], step], out),
                    0 => copy_rows(x, [1, n], [0, 0], out),
                    1 => x.copy_to_nonoverlapping(out, n),
                    _ => (0..n).for_each(|i| out.add(i).write(*x.offset(i as isize * step))),
                }
            }
            at += n;
            if at >= range.end {
                return;
            }
            inside = 0;
            let mut steps = rows;
            for ((index, &d), s) in index.iter_mut().zip(dims).zip(strides).rev() {
                *index += steps;
                offset += s * steps as isize;
                if *index < d {
                    break;
                }
                *index = 0;
                offset -= s * d as isize;
                steps = 1;
            }
        }
    }

    /// After how many elements the same ones come again.
    fn period(&self) -> usize {
        let repeats = self.strides.iter().take_while(|s| **s == 0).count();
        self.dims[repeats..].iter().product()
    }
}

/// Copies rows whose elements lie at these places, the same ones in each row.
///
/// # Safety
/// `x` is the address of the first element of an array with rows that are `between` apart and have these places, and `out`
/// has room for all elements.
#[inline]
unsafe fn copy_places<T: Copy>(x: *const T, rows: usize, between: isize, places: &[i32], out: *mut T) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        // With a constant length the compiler has no inner loop.
        match places.len() {
            4 => places_of::<T>(x, rows, between, places, 4, out),
            8 => places_of::<T>(x, rows, between, places, 8, out),
            n => places_of::<T>(x, rows, between, places, n, out),
        }
    }
}

/// # Safety
/// As [`copy_places`], with the number of places.
#[inline(always)]
unsafe fn places_of<T: Copy>(
    x: *const T,
    rows: usize,
    between: isize,
    places: &[i32],
    n: usize,
    out: *mut T,
) {
    for row in 0..rows {
        for (i, &place) in places[..n].iter().enumerate() {
            // SAFETY: as the function's `# Safety` section requires.
            unsafe { out.add(row * n + i).write(*x.offset(row as isize * between + place as isize)) };
        }
    }
}

/// Copies bytes, mostly those of one number. The usual sizes take no call.
///
/// # Safety
/// `from` has this many bytes, and `to` has room for them.
#[inline(always)]
pub unsafe fn copy_number(from: *const u8, to: *mut u8, size: usize) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        match size {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            1 => to.write(from.read()),
            _ => to.copy_from_nonoverlapping(from, size),
        }
    }
}

/// Rows of at most this many elements are copied together, however far apart they lie.
const SHORT: usize = 8;

/// Copies rows: `dims` and `strides` are those of the rows and of the elements in a row.
///
/// # Safety
/// `x` is the address of the first element of an array with these axes, and `out` has room for all elements.
#[inline]
unsafe fn copy_rows<T: Copy>(x: *const T, [rows, run]: [usize; 2], strides: [isize; 2], out: *mut T) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        if strides[1] == 0 && run > SHORT {
            return simd::autovectorize_floats_for::<T, ()>(
                #[inline(always)]
                || {
                    for row in 0..rows {
                        let number = *x.offset(row as isize * strides[0]);
                        let row: &mut [MaybeUninit<T>] =
                            std::slice::from_raw_parts_mut(out.add(row * run).cast(), run);
                        row.fill(MaybeUninit::new(number));
                    }
                },
            );
        }
        if strides[0] == 0 && rows * run > SHORT * SHORT {
            // Each copy doubles the number of rows that are there.
            rows_of::<T>(x, 1, run, strides, out);
            let (mut done, all) = (run, rows * run);
            while done < all {
                let n = done.min(all - done);
                out.copy_to_nonoverlapping(out.add(done), n);
                done += n;
            }
            return;
        }
        // With a constant length the compiler has no inner loop. For elements of other sizes that is too much code.
        match run {
            _ if !matches!(size_of::<T>(), 4 | 8) => rows_of::<T>(x, rows, run, strides, out),
            2 => rows_of::<T>(x, rows, 2, strides, out),
            3 => rows_of::<T>(x, rows, 3, strides, out),
            4 => rows_of::<T>(x, rows, 4, strides, out),
            _ => rows_of::<T>(x, rows, run, strides, out),
        }
    }
}

/// # Safety
/// As [`copy_rows`].
#[inline(always)]
unsafe fn rows_of<T: Copy>(x: *const T, rows: usize, run: usize, [outer, inner]: [isize; 2], out: *mut T) {
    for row in 0..rows {
        for i in 0..run {
            // SAFETY: as the function's `# Safety` section requires.
            unsafe { out.add(row * run + i).write(*x.offset(row as isize * outer + i as isize * inner)) };
        }
    }
}

/// Instructions that compute `n` elements each.
pub struct Cluster {
    n: usize,
    tile: usize,
    instructions: Box<[Instruction]>,
    /// In the order in which they run.
    pieces: Box<[Piece]>,
    code: Option<CodeOfTiles>,
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
    /// How it runs if it computes single numbers.
    numbers: Option<Single>,
}

/// Instructions that run together.
enum Piece {
    /// An instruction with its loop.
    Loop(usize),
    /// The instructions up to this one, which is not among them, as this function of the machine code.
    Code(usize, usize),
}

/// The instructions as pieces: those of floats that stand together become machine code. Addresses from `registers` on are those of
/// registers. `used` gets the addresses whose memory the pieces read or write.
fn pieces(
    n: usize,
    instructions: &[Instruction],
    ends: &[End],
    registers: usize,
    used: &mut FxHashSet<Address>,
) -> (Vec<Piece>, Option<CodeOfTiles>) {
    // By address: the number of the last instruction that reads it, or of the one after the last fold that does.
    let mut last: FxHashMap<Address, usize> = FxHashMap::default();
    for (i, own) in instructions.iter().enumerate() {
        last.extend(own.operands().iter().map(|operand| (operand.address, i)));
    }
    for end in ends {
        let at = last.entry(end.address).or_default();
        *at = (*at).max(end.of + 1);
    }
    let mut runs: Vec<Range<usize>> = vec![];
    let (mut written, mut arrays) = (FxHashSet::default(), FxHashSet::default());
    for (i, own) in instructions.iter().enumerate() {
        let operands = own.operands();
        let is_array = |address: &Address| (*address as usize) < registers;
        let own_arrays = operands.iter().filter(|operand| operand.step > 0).map(|operand| operand.address);
        let own_arrays = own_arrays.chain([own.to]).filter(is_array);
        let goes_on = |run: &&mut Range<usize>| {
            let is_like = of_tile(own).is_some() && of_tile(&instructions[run.start]) == of_tile(own);
            let is_one_made = |operand: &Operand| operand.step == 0 && written.contains(&operand.address);
            let more = own_arrays.clone().filter(|address| !arrays.contains(address)).count();
            let is_room = n * own.row.out.size() < PAGE || arrays.len() + more <= WAYS;
            is_like && is_room && !operands.iter().any(is_one_made) && !ends.iter().any(|end| end.of + 1 == i)
        };
        match runs.last_mut().filter(goes_on) {
            Some(run) => run.end = i + 1,
            None => {
                written.clear();
                arrays.clear();
                runs.push(i..i + 1);
            }
        }
        written.insert(own.to);
        arrays.extend(own_arrays);
    }
    let long: Vec<&Range<usize>> = runs.iter().filter(|run| run.len() > 1).collect();
    let lists: Vec<_> = long.iter().map(|&run| &instructions[run.clone()]).collect();
    let is_needed = |k: usize, address: Address| {
        let is_read = last.get(&address).is_some_and(|&at| at >= long[k].end);
        (address as usize) < registers || is_read
    };
    let code = if lists.is_empty() { None } else { CodeOfTiles::new(&lists, &is_needed) };
    let (mut pieces, mut functions) = (vec![], 0);
    for run in runs {
        if run.len() > 1 && code.is_some() {
            pieces.push(Piece::Code(run.end, functions));
            functions += 1;
            continue;
        }
        for i in run {
            let own = &instructions[i];
            used.extend(own.operands().iter().map(|operand| operand.address));
            used.extend([own.to, own.also]);
            pieces.push(Piece::Loop(i));
        }
    }
    used.extend(code.iter().flat_map(CodeOfTiles::used));
    (pieces, code)
}

/// By fold: the address of the memory that it needs, and that of its results.
type Folds = SmallVec<[(SendPtr, SendPtr); 2]>;

/// How single numbers are computed.
struct Single {
    numbers: Numbers,
    /// By what is read: how many bytes after the beginning of the array the number begins, and how many it has.
    loads: Box<[(isize, usize)]>,
    stores: Box<[Store]>,
}

/// A number that is part of a result.
pub struct Store {
    pub cell: Address,
    pub write: u32,
    /// How many bytes after the beginning of the result it begins, and how many it has.
    pub start: usize,
    pub size: usize,
}

/// Whether a cluster of `n` elements of at most `widest` bytes computes single numbers, which fit into cells.
fn is_of_numbers(n: usize, widest: usize) -> bool {
    n == 1 && widest <= size_of::<u64>()
}

/// The most bytes of memory for registers, and for what lies between them.
const SPREAD: usize = REGISTERS + REGISTERS / 2;

/// The registers of a thread, and the addresses.
#[repr(C, align(4096))]
struct Room([MaybeUninit<u8>; SPREAD], [MaybeUninit<*mut u8>; ADDRESSES]);

/// How many bytes apart registers of `bytes` bytes are, so that none lies somewhat behind another in its page.
fn apart(bytes: usize, registers: usize) -> usize {
    let bytes = bytes.next_multiple_of(ALIGNMENT);
    let is_behind = |distance: usize| (1..BEHIND.min(bytes)).contains(&(distance % PAGE));
    let is_good = |apart: &usize| {
        let distances = (1..registers).map(|k| k * apart);
        distances.clone().all(|d| !is_behind(d) && !is_behind(PAGE - d % PAGE))
    };
    let most = SPREAD / registers.max(1);
    (bytes..=most).step_by(ALIGNMENT).take(PAGE / ALIGNMENT).find(is_good).unwrap_or(bytes)
}

impl Single {
    fn new(instructions: &[Instruction], reads: &[Read], writes: &[Write]) -> Single {
        let mut stores = vec![];
        for (i, own) in writes.iter().enumerate() {
            let (first, size) = ([(reads.len() + i) as Address], own.dtype.size());
            for (k, &cell) in own.from.as_deref().unwrap_or(&first).iter().enumerate() {
                stores.push(Store { cell, write: i as u32, start: k * size, size });
            }
        }
        let loads = reads.iter().map(|read| (read.start, read.dtype.size())).collect();
        let needed: FxHashSet<Address> = stores.iter().map(|store| store.cell).collect();
        let is_needed = |cell: Address| needed.contains(&cell);
        Single {
            numbers: Numbers::new(instructions, size_of::<u64>() as Address, false, &is_needed),
            loads,
            stores: stores.into(),
        }
    }
}

/// Whether each instruction, and each fold, finds elements of the dtype that its loop is for where it reads, and each result has
/// the dtype of what is written there.
fn are_of_their_dtypes(
    instructions: &[Instruction],
    reads: &[Read],
    writes: &[Write],
    ends: &[End],
    registers: usize,
) -> bool {
    // By address: the dtype of the elements that lie there.
    let mut now: Vec<Option<DType>> = reads.iter().map(|read| Some(read.dtype)).collect();
    now.resize(reads.len() + writes.len() + registers, None);
    for read in reads {
        if let Reading::Walk(_, register) = read.reading {
            now[register as usize] = Some(read.dtype);
        }
    }
    let mut ends = ends.iter().peekable();
    for (i, own) in instructions.iter().enumerate() {
        let row = &own.row;
        let takes =
            own.operands().iter().enumerate().all(|(k, x)| now[x.address as usize] == Some(row.operand(k)));
        let results = [Some(own.to), matches!(row.apply, Loop::Pair(_)).then_some(own.also)];
        for to in results.into_iter().flatten().map(|to| to as usize) {
            // What is read is not written, and what is written has its dtype.
            let write = to.checked_sub(reads.len()).map(|w| writes.get(w));
            if !write
                .is_some_and(|write| write.is_none_or(|write| write.from.is_none() && write.dtype == row.out))
            {
                return false;
            }
            now[to] = Some(row.out);
        }
        let mut folds = true;
        while let Some(end) = ends.next_if(|end| end.of == i) {
            folds &= now[end.address as usize] == Some(end.fold.dtype());
        }
        if !takes || !folds {
            return false;
        }
    }
    writes.iter().enumerate().all(|(w, write)| {
        let own = [(reads.len() + w) as Address];
        write.from.as_deref().unwrap_or(&own).iter().all(|&at| now[at as usize] == Some(write.dtype))
    })
}

impl Cluster {
    /// Whether a cluster of `n` elements, of at most `widest` bytes each, has room for this many registers and, with
    /// them, this many addresses, if its tiles have one of these lengths.
    pub fn has_room(n: usize, widest: usize, registers: usize, addresses: usize, lengths: Lengths) -> bool {
        if is_of_numbers(n, widest) {
            return addresses <= CELLS;
        }
        let bytes = (n.min(lengths.longest(TILE.start)) * widest).next_multiple_of(ALIGNMENT);
        addresses <= ADDRESSES && registers * bytes <= REGISTERS
    }

    /// A cluster that reads arrays, writes results, folds others, and has `registers` for elements of at most `widest` bytes.
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
        widest: usize,
    ) -> Cluster {
        shape::sort_by_key(&mut ends, |end| end.of);
        let lengths = ends.iter().try_fold(Lengths::ANY, |lengths, end| lengths.with(&end.fold));
        let lengths = lengths.expect("a tile suits all folds");
        assert!(ends.iter().all(|end| end.of < instructions.len() && end.fold.elements() == n && n > 1));

        let addresses = registers + writes.len() + reads.len();
        assert!(Cluster::has_room(n, widest, registers, addresses, lengths), "a cluster is too large");
        let is_there = |&address: &Address| (address as usize) < addresses;
        let fits = |o: &Operand| is_there(&o.address);
        assert!(instructions.iter().all(|i| i.from.iter().all(fits) && [i.to, i.also].iter().all(is_there)));
        assert!(ends.iter().all(|end| is_there(&end.address)));
        let first = addresses - registers;
        let is_register = |r: Address| (first..addresses).contains(&(r as usize));
        let is_made = |from: &[Address]| is_of_numbers(n, widest) && from.iter().all(is_there);
        assert!(
            writes.iter().filter_map(|w| w.from.as_deref()).all(is_made),
            "single numbers become an array"
        );
        // The addresses whose memory is read or written.
        let mut used: FxHashSet<Address> = ends.iter().map(|end| end.address).collect();
        for read in &reads {
            if let Reading::Walk(_, register) = read.reading {
                assert!(is_register(register));
                used.insert(register);
            }
        }
        let are_fit = are_of_their_dtypes(&instructions, &reads, &writes, &ends, registers);
        assert!(are_fit, "a loop gets elements that it is not for");
        let numbers = is_of_numbers(n, widest).then(|| Single::new(&instructions, &reads, &writes));
        let (pieces, code) = match &numbers {
            Some(_) => (vec![], None),
            None => pieces(n, &instructions, &ends, first, &mut used),
        };
        let mut rooms = 0;
        let registers: Box<[Option<usize>]> = (first..addresses)
            .map(|address| {
                let room = used.contains(&(address as Address)).then_some(rooms);
                rooms += usize::from(room.is_some());
                room
            })
            .collect();
        let along = reads.iter().filter(|read| matches!(read.reading, Reading::Along)).count();
        let moving = (rooms + writes.len() + along).max(1);
        let (most, page) = (REGISTERS / (moving * widest), PAGE / widest);
        let whole = if most >= page { most / page * page } else { most & !63 };
        let tile = lengths.longest(whole.clamp(TILE.start, TILE.end)).min(n);
        let register_bytes = apart(tile * widest, rooms);
        let memory = rooms * register_bytes;
        assert!(is_of_numbers(n, widest) || memory <= SPREAD);
        let bytes = n * instructions.iter().map(|i| i.row.out.size()).sum::<usize>();
        let walks = (0..reads.len()).filter(|&i| matches!(reads[i].reading, Reading::Walk(..))).collect();
        let (instructions, reads, writes, ends) =
            (instructions.into(), reads.into(), writes.into(), ends.into());
        Cluster {
            n,
            tile,
            instructions,
            pieces: pieces.into(),
            code,
            reads,
            walks,
            writes,
            ends,
            lengths,
            registers,
            memory,
            register_bytes,
            bytes,
            numbers,
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
        let len = |w: &Write| w.from.as_ref().map_or(self.n, |from| from.len());
        let writes = self.writes.iter().map(move |w| len(w) * w.dtype.size());
        writes.chain(self.ends.iter().map(|end| end.fold.result_bytes()))
    }

    /// How many bytes of memory it works in, aligned to [`ALIGNMENT`].
    pub fn room(&self) -> usize {
        if self.numbers.is_some() {
            return self.addresses() * size_of::<u64>();
        }
        let folds: usize = self.ends.iter().map(|end| end.fold.room().next_multiple_of(ALIGNMENT)).sum();
        folds + if self.is_shared() { 0 } else { self.room_of_part() }
    }

    /// How many bytes a thread works in.
    fn room_of_part(&self) -> usize {
        self.memory + self.addresses() * size_of::<*mut u8>()
    }

    /// How many addresses the instructions have. Single numbers have a cell for each.
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
        if let Some(single) = &self.numbers {
            // SAFETY: as the function's `# Safety` section requires.
            return unsafe { self.compute(single, room.cast(), reads, outs) };
        }
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

    /// The addresses of what it reads, of its results and of its registers, for [`run_at`](Cluster::run_at). None if it computes
    /// single numbers or has several tiles.
    pub fn addresses_of(&self, reads: &[SendPtr], outs: &[SendPtr], room: *mut u8) -> Option<Addresses> {
        if self.numbers.is_some() || self.is_shared() {
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

    /// Whether it computes single numbers, each of which fits into a cell.
    pub fn is_of_numbers(&self) -> bool {
        self.numbers.is_some()
    }

    /// By what it reads, if it computes single numbers: how many bytes after the beginning of the array the number begins, and how
    /// many it has. Each goes to the cell of its number.
    pub fn loads(&self) -> &[(isize, usize)] {
        self.numbers.as_ref().map_or(&[], |single| &single.loads)
    }

    /// What it computes.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// The numbers that are parts of results, if it computes single numbers.
    pub fn stores(&self) -> &[Store] {
        self.numbers.as_ref().map_or(&[], |single| &single.stores)
    }

    /// Computes single numbers in cells.
    ///
    /// # Safety
    /// There is a cell for each address of the instructions, and `reads` and `writes` are those of [`run`](Cluster::run).
    unsafe fn compute(
        &self,
        Single { numbers, loads, stores }: &Single,
        cells: *mut u64,
        reads: &[SendPtr],
        writes: &[SendPtr],
    ) {
        for (i, (x, &(start, size))) in reads.iter().zip(loads).enumerate() {
            // SAFETY: the array has an element of this size there, and that is at most the size of a cell.
            unsafe { copy_number(x.get().offset(start), cells.add(i).cast(), size) };
        }
        // SAFETY: `new` checked that all operands have addresses, and what is read of those was written above, or is
        // written before it is read.
        unsafe { numbers.run(1, cells.cast()) };
        for &Store { cell, write, start, size } in stores {
            // SAFETY: `new` checked that the result has room for as many elements of this size.
            unsafe {
                copy_number(cells.add(cell as usize).cast(), writes[write as usize].get().add(start), size);
            }
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
        for piece in &self.pieces {
            // SAFETY: the operands have `n` elements of the dtypes that the loops are for, or one where their step is
            // 0, and there is room for `n` results. A unary loop reads all its elements. Results and registers are apart from
            // each other and from what is read.
            let end = unsafe {
                match *piece {
                    Piece::Code(end, function) => {
                        let code = self.code.as_ref().expect("the function is there");
                        code.run(function, n, addresses.as_ptr().cast());
                        end
                    }
                    Piece::Loop(i) => {
                        self.instructions[i].run(n, at);
                        i + 1
                    }
                }
            };
            while let Some((end, (room, out))) = ends.next_if(|(fold, _)| fold.of < end) {
                // SAFETY: the instruction has made the elements of the tile. `new` chose tiles, and `run` pieces, that suit the
                // fold.
                unsafe { end.fold.add(start, n, at(end.address), room.get(), out.get()) };
            }
        }
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
