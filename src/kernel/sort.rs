//! Order along an axis. Elements become keys whose order as integers is theirs; NaN is greater than all numbers.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::array::Array;
use crate::dtype::{Bool8, Element, dispatch};
use crate::error::{Error, Result};
use crate::kernel::index::along_axis;
use crate::kernel::num::Bits;
use crate::kernel::output::{self, AxisBlocks};
use crate::kernel::simd;
use crate::shape::Dims;

/// An element as an integer of the same order. Both zeros have one key, and all NaN have one.
trait Key: Element {
    type Bits: Bits + Ord;
    /// What is sorted where there are no more positions than 32 bits can name.
    type KeyAndIndex: KeyAndIndex<Self::Bits>;
    fn key(self) -> Self::Bits;
}

/// A key and its position, in the order of the two.
trait KeyAndIndex<K>: Ord + Copy {
    fn new(key: K, at: usize) -> Self;
    fn key(&self) -> K;
    fn at(&self) -> i64;
}

impl<K: Ord + Copy> KeyAndIndex<K> for (K, usize) {
    #[inline(always)]
    fn new(key: K, at: usize) -> Self {
        (key, at)
    }
    #[inline(always)]
    fn key(&self) -> K {
        self.0
    }
    #[inline(always)]
    fn at(&self) -> i64 {
        self.1 as i64
    }
}

/// Both in one word.
impl KeyAndIndex<u32> for u64 {
    #[inline(always)]
    fn new(key: u32, at: usize) -> u64 {
        u64::from(key) << 32 | at as u64
    }
    #[inline(always)]
    fn key(&self) -> u32 {
        (self >> 32) as u32
    }
    #[inline(always)]
    fn at(&self) -> i64 {
        i64::from(*self as u32)
    }
}

macro_rules! keys {
    ($($t:ty, $bits:ty, $place:ty: $x:ident => $e:expr;)*) => { $(
        impl Key for $t {
            type Bits = $bits;
            type KeyAndIndex = $place;
            #[inline(always)]
            fn key(self) -> $bits { let $x = self; $e }
        }
    )* };
}
keys! {
    Bool8, u32, u64: x => u32::from(x.0);
    u8, u32, u64: x => u32::from(x);
    u16, u32, u64: x => u32::from(x);
    u32, u32, u64: x => x;
    u64, u64, (u64, usize): x => x;
    i8, u32, u64: x => i32::from(x).key();
    i16, u32, u64: x => i32::from(x).key();
    i32, u32, u64: x => (x ^ i32::MIN) as u32;
    i64, u64, (u64, usize): x => (x ^ i64::MIN) as u64;
    // Adding zero makes -0 into 0. Negative numbers have all bits turned, the others only the sign.
    f32, u32, u64: x => if x.is_nan() { u32::MAX } else {
        let bits = (x + 0.0).to_bits();
        if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
    };
    f64, u64, (u64, usize): x => if x.is_nan() { u64::MAX } else {
        let bits = (x + 0.0).to_bits();
        if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
    };
}

/// Which positions of the sorted order are asked for.
#[derive(Clone, Copy)]
pub enum Ranks {
    /// The first so many.
    First(usize),
    /// The two in the middle (the same one twice where the number is odd); NaN twice if there is one.
    Middle,
}

/// The positions along an axis of its elements in ascending or descending order, as many as are wanted. Equal elements
/// keep their order.
pub fn argsort(op: &'static str, x: &Array, axis: usize, descending: bool, want: Ranks) -> Result<Array> {
    // Rows are sorted where they lie side by side.
    let mut to_last: Dims = (0..x.rank()).filter(|&a| a != axis).collect();
    to_last.push(axis);
    let x = x.permute(&to_last).contiguous()?;
    let n = AxisBlocks::of(x.dims(), x.rank() - 1).n;
    let count = match want {
        Ranks::First(k) => k.min(n),
        Ranks::Middle => 2,
    };
    let mut dims = Dims::from_slice(x.dims());
    dims[x.rank() - 1] = count;
    let failed = AtomicBool::new(false);
    let sorted = dispatch!(x.dtype(), all T => {
        let all = x.as_slice::<T>().expect("contiguous");
        output::build::<i64>(op, &dims, count, |first, out| {
            if count == 0 || n == 0 { return; }
            let rows = all[first * n..].chunks_exact(n).zip(out.chunks_exact_mut(count));
            let done = if u32::try_from(n).is_ok() {
                picked::<T, <T as Key>::KeyAndIndex>(rows, want, descending)
            } else {
                picked::<T, (<T as Key>::Bits, usize)>(rows, want, descending)
            };
            if done.is_none() { failed.store(true, Relaxed); }
        })
    })?;
    if failed.into_inner() {
        return Err(Error::memory(op, vec![n], crate::dtype::DType::U64));
    }
    let mut back: Dims = (0..x.rank() - 1).collect();
    back.insert(axis, x.rank() - 1);
    Ok(sorted.permute(&back))
}

/// The wanted positions of the order of rows, each written beside its row. None where there is no memory.
fn picked<'a, T: Key, P: KeyAndIndex<T::Bits>>(
    rows: impl Iterator<Item = (&'a [T], &'a mut [i64])>,
    want: Ranks,
    descending: bool,
) -> Option<()> {
    let mut list: Vec<P> = Vec::new();
    for (row, out) in rows {
        list.clear();
        list.try_reserve_exact(row.len()).ok()?;
        let few = match want {
            Ranks::First(k) if k <= FEW && 4 * k * k <= row.len() => Some(k),
            _ => None,
        };
        simd::autovectorize(
            #[inline(always)]
            || {
                keyed(row, descending, |first, keys| match few {
                    Some(k) => fewest(first, keys, k, &mut list),
                    None => list.extend((first..).zip(keys).map(|(i, &key)| P::new(key, i))),
                });
            },
        );
        if few.is_none() {
            chosen(&mut list, want);
        }
        match want {
            Ranks::First(_) => out.iter_mut().zip(&list).for_each(|(o, p)| *o = p.at()),
            Ranks::Middle => {
                let nan = row.iter().position(|v| v.to_f64().is_nan());
                let place = |k: usize| nan.map_or(list[k].at(), |i| i as i64);
                (out[0], out[1]) = (place((row.len() - 1) / 2), place(row.len() / 2));
            }
        }
    }
    Some(())
}

/// Calls `f` with the keys of a row, block by block, and the position of each block's first.
#[inline(always)]
fn keyed<T: Key>(row: &[T], descending: bool, mut f: impl FnMut(usize, &[T::Bits])) {
    let mut keys = [T::Bits::default(); simd::BLOCK];
    for (block, part) in row.chunks(simd::BLOCK).enumerate() {
        let keys = &mut keys[..part.len()];
        if descending {
            keys.iter_mut().zip(part).for_each(|(key, v)| *key = v.key().not());
        } else {
            keys.iter_mut().zip(part).for_each(|(key, v)| *key = v.key());
        }
        f(block * simd::BLOCK, keys);
    }
}

/// As many are kept in order while a row goes by, if it is so long that few of it come to be inserted.
const FEW: usize = 64;

/// Keys of which one look tells whether any belongs to the few.
const GLANCE: usize = 16;

/// Puts those of a block's keys that belong to the first `k` of the order into the list of these, in order. Of equal keys
/// those that came first stay. A row's first block has `k` of them.
#[inline(always)]
fn fewest<K: Ord + Copy, P: KeyAndIndex<K>>(first: usize, keys: &[K], k: usize, list: &mut Vec<P>) {
    let start = k - list.len();
    if start > 0 {
        list.extend(keys[..k].iter().enumerate().map(|(i, &key)| P::new(key, i)));
        list.sort_unstable();
    }
    for (glance, keys) in keys[start..].chunks(GLANCE).enumerate() {
        let Some(bound) = list.last().map(P::key) else { return };
        if keys.iter().fold(true, |none, key| none & (*key >= bound)) {
            continue;
        }
        for (i, &key) in (first + start + glance * GLANCE..).zip(keys) {
            if key < list[k - 1].key() {
                // The new one between its neighbours, without a branch that nobody could predict.
                let new = P::new(key, i);
                (1..k).rev().for_each(|j| list[j] = list[j - 1].max(list[j].min(new)));
                list[0] = list[0].min(new);
            }
        }
    }
}

/// Puts the wanted places of the order where they belong. Places are all different, so an unstable sort is a stable one.
fn chosen<P: Ord>(places: &mut [P], want: Ranks) {
    let n = places.len();
    match want {
        Ranks::First(k) if k < n => {
            if k > 0 {
                places.select_nth_unstable(k - 1);
                places[..k].sort_unstable();
            }
        }
        Ranks::First(_) => places.sort_unstable(),
        Ranks::Middle => {
            places.select_nth_unstable(n / 2);
            if n.is_multiple_of(2) {
                places[..n / 2].select_nth_unstable(n / 2 - 1);
            }
        }
    }
}

/// The elements at [`argsort`]'s positions, and the positions.
pub fn sort(
    op: &'static str,
    x: &Array,
    axis: usize,
    descending: bool,
    want: Ranks,
) -> Result<(Array, Array)> {
    let indices = argsort(op, x, axis, descending, want)?;
    Ok((along_axis::gather(op, x, &indices, axis)?, indices))
}
