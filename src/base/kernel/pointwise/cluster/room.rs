//! The memory that a cluster works in, and the length of its tiles.

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::kernel::reduce::tiles::Lengths;

/// The bytes of all registers of a thread.
const REGISTERS: usize = 32 << 10;
/// The elements of the smallest and of the largest tile.
const TILE: Range<usize> = 64..2048;
/// The most addresses that a cluster has: those of what it reads, what it writes, and its registers.
pub(super) const ADDRESSES: usize = 4096;
/// The most cells that a scalar program has.
const CELLS: usize = 1 << 20;
/// The alignment of a register, in bytes: a cache line.
pub const ALIGNMENT: usize = 64;
/// Processors tell a load from an earlier store by the position in the page alone, so a loop that reads this few bytes
/// behind where it writes, in another page, waits for each store.
const BEHIND: usize = 640;
pub(super) const PAGE: usize = 4096;

/// The most bytes of memory for registers, and for what lies between them.
pub(super) const SPREAD: usize = REGISTERS + REGISTERS / 2;

/// The registers of a thread, and the addresses.
#[repr(C, align(4096))]
pub(super) struct Room([MaybeUninit<u8>; SPREAD], pub [MaybeUninit<*mut u8>; ADDRESSES]);

/// How many bytes apart registers of `bytes` bytes are, so that none lies somewhat behind another in its page.
pub(super) fn apart(bytes: usize, registers: usize) -> usize {
    let bytes = bytes.next_multiple_of(ALIGNMENT);
    let is_behind = |distance: usize| (1..BEHIND.min(bytes)).contains(&(distance % PAGE));
    let is_good = |apart: &usize| {
        let distances = (1..registers).map(|k| k * apart);
        distances.clone().all(|d| !is_behind(d) && !is_behind(PAGE - d % PAGE))
    };
    let most = SPREAD / registers.max(1);
    (bytes..=most).step_by(ALIGNMENT).take(PAGE / ALIGNMENT).find(is_good).unwrap_or(bytes)
}

/// How many elements a tile has, where so many addresses move on from one tile to the next.
pub(super) fn tile_length(n: usize, widest: usize, moving: usize, lengths: Lengths) -> usize {
    let (most, page) = (REGISTERS / (moving * widest), PAGE / widest);
    let whole = if most >= page { most / page * page } else { most & !63 };
    lengths.longest(whole.clamp(TILE.start, TILE.end)).min(n)
}

/// Whether `n` elements of at most `widest` bytes are single numbers that fit into the cells of a scalar program.
pub fn are_scalars(n: usize, widest: usize) -> bool {
    n == 1 && widest <= size_of::<u64>()
}

/// Whether a cluster of `n` elements, of at most `widest` bytes each, has room for this many registers and, with
/// them, this many addresses, if its tiles have one of these lengths. Of single numbers, whether a scalar program has.
pub fn has_room(n: usize, widest: usize, registers: usize, addresses: usize, lengths: Lengths) -> bool {
    if are_scalars(n, widest) {
        return addresses <= CELLS;
    }
    let bytes = (n.min(lengths.longest(TILE.start)) * widest).next_multiple_of(ALIGNMENT);
    addresses <= ADDRESSES && registers * bytes <= REGISTERS
}
