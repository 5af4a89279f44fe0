//! Sorting along an axis. Elements are mapped to integer keys of the same order. NaN sorts after all numbers.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::array::Array;
use crate::dtype::{Bool8, Ordered, dispatch};
use crate::error::{Error, Result, bail};
use crate::kernel::index::along_axis;
use crate::kernel::interrupt;
use crate::kernel::num::Bits;
use crate::kernel::output::{self, AxisBlocks};
use crate::kernel::rows::not_defined;
use crate::kernel::simd;
use crate::memory::{NoMemory, TryPush};
use crate::shape::Dims;

/// Maps elements to integers of the same order. Both zeros have the same key, and so have all NaNs.
trait Key: Ordered {
    type Bits: Bits + Ord + Into<u64>;
    /// What is sorted if an index fits into 32 bits.
    type KeyAndIndex: KeyAndIndex<Self::Bits>;
    fn key(self) -> Self::Bits;
}

/// A key and an index, ordered by key, then index.
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

/// Key and index in one word.
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
    // Adding zero turns -0 into 0. For negative numbers all bits are inverted, for others only the sign bit.
    f32, u32, u64: x => if x.is_nan() { u32::MAX } else {
        let bits = (x + 0.0).to_bits();
        if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
    };
    f64, u64, (u64, usize): x => if x.is_nan() { u64::MAX } else {
        let bits = (x + 0.0).to_bits();
        if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
    };
}

/// Which positions of the sorted order are wanted.
#[derive(Clone, Copy)]
pub enum Ranks<'a> {
    /// The first `k`.
    First(usize),
    /// The one with so many before it.
    Nth(usize),
    /// The two in the middle (the same one twice if the number is odd), or twice a NaN if there is one.
    Middle,
    /// For parts from 0 to 1 of the elements: those just below the parts, then those just above them. A NaN is all of
    /// them, or is not counted.
    Around { parts: &'a [f64], ignores_nan: bool },
}

/// The indices that sort an axis in ascending or descending order, as many as `want` asks for. The sort is stable.
pub fn argsort(op: &'static str, x: &Array, axis: usize, descending: bool, want: Ranks<'_>) -> Result<Array> {
    // Sorts along the last axis of a contiguous array.
    let mut to_last: Dims = (0..x.rank()).filter(|&a| a != axis).collect();
    to_last.push(axis);
    let x = x.permute(&to_last).contiguous()?;
    let n = AxisBlocks::of(x.dims(), x.rank() - 1).n;
    let count = match want {
        Ranks::First(k) => k.min(n),
        Ranks::Nth(_) => 1,
        Ranks::Middle => 2,
        Ranks::Around { parts, .. } => 2 * parts.len(),
    };
    let mut dims = Dims::from_slice(x.dims());
    dims[x.rank() - 1] = count;
    let failed = AtomicBool::new(false);
    let sorted = dispatch!(x.dtype(), ordered T => {
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
    }, else not_defined(op, x.dtype()))?;
    if failed.into_inner() {
        return Err(Error::memory(op, vec![n], crate::dtype::DType::U64));
    }
    let mut back: Dims = (0..x.rank() - 1).collect();
    back.insert(axis, x.rank() - 1);
    Ok(sorted.permute(&back))
}

/// Writes the wanted indices of each row. `None` if memory for the list is not available.
fn picked<'a, T: Key, P: KeyAndIndex<T::Bits>>(
    rows: impl Iterator<Item = (&'a [T], &'a mut [i64])>,
    want: Ranks<'_>,
    descending: bool,
) -> Option<()> {
    let mut list: Vec<P> = Vec::new();
    let mut ranks: Vec<usize> = Vec::new();
    for (row, out) in rows {
        list.clear();
        list.try_reserve_exact(row.len()).ok()?;
        if let Ranks::Around { parts, ignores_nan } = want {
            let missing = row.iter().filter(|v| v.to_f64().is_nan()).count();
            if missing > 0 && !ignores_nan {
                let last = row.iter().rposition(|v| v.to_f64().is_nan()).expect("a NaN is missing");
                out.fill(last as i64);
                continue;
            }
            let top = (row.len() - missing).saturating_sub(1) as f64;
            ranks.clear();
            ranks.try_reserve_exact(2 * parts.len()).ok()?;
            ranks.extend(parts.iter().map(|q| (q * top).floor() as usize));
            ranks.extend(parts.iter().map(|q| (q * top).ceil() as usize));
        }
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
            chosen(&mut list, want, &ranks)?;
        }
        match want {
            Ranks::First(_) => out.iter_mut().zip(&list).for_each(|(o, p)| *o = p.at()),
            Ranks::Nth(k) => out[0] = list[k].at(),
            Ranks::Around { .. } => out.iter_mut().zip(&ranks).for_each(|(o, &k)| *o = list[k].at()),
            Ranks::Middle => {
                let nan = row.iter().position(|v| v.to_f64().is_nan());
                let place = |k: usize| nan.map_or(list[k].at(), |i| i as i64);
                (out[0], out[1]) = (place((row.len() - 1) / 2), place(row.len() / 2));
            }
        }
    }
    Some(())
}

/// Calls `f` with each block of a row's keys and the index of the block's first element.
#[inline(always)]
fn keyed<T: Key>(row: &[T], descending: bool, mut f: impl FnMut(usize, &[T::Bits])) {
    let mut keys = [T::Bits::default(); simd::BLOCK];
    for (block, part) in row.chunks(simd::BLOCK).enumerate() {
        if block % 256 == 255 {
            interrupt::listen();
        }
        let keys = &mut keys[..part.len()];
        if descending {
            keys.iter_mut().zip(part).for_each(|(key, v)| *key = v.key().not());
        } else {
            keys.iter_mut().zip(part).for_each(|(key, v)| *key = v.key());
        }
        f(block * simd::BLOCK, keys);
    }
}

/// At most this many smallest elements are kept in an ordered list, if the row is so long that insertions are rare.
const FEW: usize = 64;

/// Keys that are compared with the bound at once.
const GLANCE: usize = 16;

/// Inserts those keys of a block that belong to the first `k` into the ordered list of the first `k`. Of equal keys
/// the earlier ones stay. The first block of a row has at least `k` keys.
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
                // Inserts without unpredictable branches.
                let new = P::new(key, i);
                (1..k).rev().for_each(|j| list[j] = list[j - 1].max(list[j].min(new)));
                list[0] = list[0].min(new);
            }
        }
    }
}

/// Moves the wanted entries to their sorted positions. All entries differ, so an unstable sort gives a stable result.
/// `ranks` are those of [`Ranks::Around`]. `None` if memory is not available.
fn chosen<P: Ord + Copy>(places: &mut Vec<P>, want: Ranks<'_>, ranks: &[usize]) -> Option<()> {
    let n = places.len();
    match want {
        Ranks::Around { .. } if ranks.len() > SELECTED => return chosen(places, Ranks::First(n), &[]),
        Ranks::Around { .. } => {
            // From the last rank to the first. The elements before a rank that is done are the smaller ones.
            let mut end = n;
            while let Some(&k) = ranks.iter().filter(|&&k| k < end).max() {
                select(&mut places[..end], k);
                end = k;
            }
        }
        Ranks::First(k) if k < n => {
            if k > 0 {
                select(places, k - 1);
                return sorted(&mut places[..k]);
            }
        }
        Ranks::First(_) => return sorted(places),
        Ranks::Nth(k) => select(places, k),
        Ranks::Middle => {
            select(places, n / 2);
            if n.is_multiple_of(2) {
                select(&mut places[..n / 2], n / 2 - 1);
            }
        }
    }
    Some(())
}

/// More ranks than these are found by a sort.
const SELECTED: usize = 8;

/// Entries that are sorted, or merged, before the caller is asked whether to go on.
const RUN: usize = 1 << 20;

/// Moves the entry with `k` smaller ones to its place, and the smaller ones before it.
fn select<P: Ord + Copy>(list: &mut [P], k: usize) {
    const SAMPLE: usize = 255;
    /// More rounds than these are a list made to be slow here. Its rest is selected in linear time, without a look.
    const ROUNDS: usize = 40;
    let (mut start, mut end) = (0, list.len());
    for _ in 0..ROUNDS {
        let n = end - start;
        if n <= RUN {
            break;
        }
        let mut sample: [P; SAMPLE] = std::array::from_fn(|i| list[start + i * (n / SAMPLE)]);
        sample.sort_unstable();
        // Never the smallest, so that each round leaves fewer entries.
        let pivot = sample[((k - start) / (n / SAMPLE)).clamp(1, SAMPLE - 1)];
        let mut middle = start;
        for part in interrupt::parts(start..end, 1) {
            for i in part {
                let one = list[i];
                list.swap(i, middle);
                middle += usize::from(one < pivot);
            }
        }
        if k < middle {
            end = middle;
        } else {
            start = middle;
        }
    }
    list[start..end].select_nth_unstable(k - start);
}

/// Sorts a list, a long one by merging sorted runs. `None` if there is no memory for a second list.
fn sorted<P: Ord + Copy>(list: &mut [P]) -> Option<()> {
    if list.len() <= RUN {
        list.sort_unstable();
        return Some(());
    }
    for run in list.chunks_mut(RUN) {
        run.sort_unstable();
        interrupt::listen();
    }
    let mut copy: Vec<P> = Vec::new();
    copy.try_reserve_exact(list.len()).ok()?;
    copy.extend_from_slice(list);
    let (mut from, mut to) = (list, &mut copy[..]);
    let (mut width, mut is_copy) = (RUN, false);
    while width < from.len() {
        for (pair, to) in from.chunks(2 * width).zip(to.chunks_mut(2 * width)) {
            let (mut a, mut b) = pair.split_at(width.min(pair.len()));
            for part in interrupt::parts(0..pair.len(), 1) {
                for to in &mut to[part] {
                    let is_first = a.first().is_some_and(|a| b.first().is_none_or(|b| a <= b));
                    let one = if is_first { &mut a } else { &mut b };
                    *to = one[0];
                    *one = &one[1..];
                }
            }
        }
        (from, to, is_copy) = (to, from, !is_copy);
        width *= 2;
    }
    if is_copy {
        to.copy_from_slice(from);
    }
    Some(())
}

/// The elements at the indices of [`argsort`], and the indices.
pub fn sort(
    op: &'static str,
    x: &Array,
    axis: usize,
    descending: bool,
    want: Ranks<'_>,
) -> Result<(Array, Array)> {
    let indices = argsort(op, x, axis, descending, want)?;
    Ok((along_axis::gather(op, x, &indices, axis)?, indices))
}

/// The most frequent element along an axis, the smallest of several, and the last index where it is.
pub fn mode(op: &'static str, x: &Array, axis: usize) -> Result<(Array, Array)> {
    let last = x.rank() - 1;
    let mut to_last: Dims = (0..x.rank()).filter(|&a| a != axis).collect();
    to_last.push(axis);
    let x = x.permute(&to_last).contiguous()?;
    let n = x.dims()[last];
    let (sorted, places) = sort(op, &x, last, false, Ranks::First(n))?;
    let (sorted, places) = (sorted.contiguous()?, places.contiguous()?);
    let places = places.as_slice::<i64>().expect("contiguous");
    let mut dims = Dims::from_slice(x.dims());
    dims[last] = 1;
    let (values, indices) = dispatch!(x.dtype(), ordered T => {
        let all = sorted.as_slice::<T>().expect("contiguous");
        output::build_pair::<T, i64>(op, (&dims, 1), (&dims, 1), n, |first, values, indices| {
            for (row, (value, index)) in (first..).zip(values.iter_mut().zip(indices)) {
                let (row, places) = (&all[row * n..][..n], &places[row * n..][..n]);
                let (mut start, mut most) = (0, 0);
                for i in 1..=n {
                    if i < n && Key::key(row[i]) == Key::key(row[start]) {
                        continue;
                    }
                    if i - start > most {
                        most = i - start;
                        (*value, *index) = (row[i - 1], places[i - 1]);
                    }
                    start = i;
                }
            }
        })?
    }, else bail!(Dtype, op, "not defined for {}", x.dtype()));
    let mut back: Dims = (0..last).collect();
    back.insert(axis, last);
    Ok((values.permute(&back), indices.permute(&back)))
}

/// Where values would be inserted into rising rows so that these stay rising: before equal elements, or after them if
/// `right`. `rows` has either the leading axes of `values` or none; both have the same dtype.
pub fn search(op: &'static str, rows: &Array, values: &Array, right: bool) -> Result<Array> {
    let (rows, values) = (rows.contiguous()?, values.contiguous()?);
    let n = rows.dims()[rows.rank() - 1];
    let count: usize = rows.dims()[..rows.rank() - 1].iter().product();
    let each = values.len().checked_div(count).unwrap_or(0).max(1);
    dispatch!(rows.dtype(), ordered T => {
        let (rows, all) = (rows.as_slice::<T>().expect("contiguous"), values.as_slice::<T>().expect("contiguous"));
        let even = if count == 1 && n <= all.len() { Even::of(rows) } else { None };
        output::build_from::<i64>(op, values.dims(), 1, 8, |first, out| {
            for (i, place) in (first..).zip(out) {
                let row = if count == 1 { rows } else { &rows[i / each * n..][..n] };
                if let Some(at) = even.as_ref().and_then(|even| even.place(row, all[i], right)) {
                    *place = at as i64;
                    continue;
                }
                let key = Key::key(all[i]);
                let before = |v: &T| if right { Key::key(*v) <= key } else { Key::key(*v) < key };
                *place = row.partition_point(before) as i64;
            }
        })
    }, else not_defined(op, rows.dtype()))
}

/// A rising row whose elements are about equally far apart, so that places in it are computed and not searched for.
struct Even {
    start: f64,
    /// Elements in one unit.
    density: f64,
}

impl Even {
    /// `None` if the row is not even.
    fn of<T: Ordered>(row: &[T]) -> Option<Even> {
        let (start, end) = (row.first()?.to_f64(), row.last()?.to_f64());
        let even = Even { start, density: (row.len() - 1) as f64 / (end - start) };
        let close = |(i, v): (usize, &T)| even.guess(*v).abs_diff(i + 1) <= 1;
        (even.density.is_finite() && row.iter().enumerate().all(close)).then_some(even)
    }

    /// About how many elements are not greater.
    #[inline(always)]
    fn guess<T: Ordered>(&self, v: T) -> usize {
        (((v.to_f64() - self.start) * self.density) as usize).saturating_add(1)
    }

    /// The number of elements below `v`, or up to `v` if `right`. `None` for NaN, and where the guess is more than one
    /// beside it.
    #[inline(always)]
    fn place<T: Ordered>(&self, row: &[T], v: T, right: bool) -> Option<usize> {
        let starts = |at: usize| at == 0 || if right { row[at - 1] <= v } else { row[at - 1] < v };
        let ends = |at: usize| at == row.len() || if right { v < row[at] } else { v <= row[at] };
        let mut at = self.guess(v).min(row.len());
        if !starts(at) {
            at -= 1;
        } else if !ends(at) {
            at += 1;
        }
        (starts(at) && ends(at)).then_some(at)
    }
}

/// The keys of elements in 64 bits, which have the same order.
fn long_keys<T: Key>(x: &[T], keys: &mut [u64]) {
    keys.iter_mut().zip(x).for_each(|(key, v)| *key = v.key().into());
}

/// The distinct elements of a vector, found with a table of their keys.
#[derive(Default)]
struct Distinct {
    /// A key and the number of its element, at about the place that the key's hash says. The number 0 is none.
    table: Vec<(u64, u32)>,
    /// Of each element its key, where it first occurs, and how often.
    found: Vec<(u64, usize, i64)>,
    /// The places that were looked at and held another element.
    misses: usize,
}

impl Distinct {
    /// Few elements that are sorted faster.
    const FEW: usize = 256;
    /// A table of more distinct elements does not stay in the cache.
    const MOST: usize = 1 << 15;

    /// The place of a key, or the empty place for it.
    #[inline(always)]
    fn place(&mut self, key: u64) -> usize {
        let shift = 64 - self.table.len().trailing_zeros();
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize;
        while self.table[at].1 != 0 && self.table[at].0 != key {
            self.misses += 1;
            at = (at + 1) & (self.table.len() - 1);
        }
        at
    }

    /// Counts the elements with these keys, and writes the number of each. Returns whether a sort would take longer.
    fn count(&mut self, first: usize, keys: &[u64], most: usize, out: &mut [i64]) -> Result<bool, NoMemory> {
        for (i, (&key, number)) in (first..).zip(keys.iter().zip(out)) {
            if 2 * self.found.len() >= self.table.len() && !self.grow(most)? {
                return Ok(false);
            }
            let at = self.place(key);
            if self.table[at].1 == 0 {
                self.found.try_push((key, i, 0))?;
                self.table[at] = (key, self.found.len() as u32);
            }
            let found = self.table[at].1 as usize - 1;
            self.found[found].2 += 1;
            *number = found as i64;
        }
        // Keys that were made to meet in one place of the table are sorted.
        Ok(self.misses <= 8 * (first + keys.len()))
    }

    /// Makes the table larger. Returns whether it is worthwhile.
    fn grow(&mut self, most: usize) -> Result<bool, NoMemory> {
        if self.found.len() > most {
            return Ok(false);
        }
        let size = (4 * self.table.len()).max(1 << 8);
        self.table.clear();
        self.table.try_room(size)?;
        self.table.resize(size, (0, 0));
        for k in 0..self.found.len() {
            let key = self.found[k].0;
            let at = self.place(key);
            self.table[at] = (key, k as u32 + 1);
        }
        Ok(true)
    }

    /// [`unique`] for `n` elements of which few are distinct. `keys` writes those of a block that begins at an index. `None` if
    /// many are, or if one that `is_alone` is among them.
    fn of(
        op: &'static str,
        n: usize,
        keys: &dyn Fn(usize, &mut [u64]),
        is_alone: &dyn Fn(usize) -> bool,
    ) -> Result<Option<[Array; 3]>> {
        if n < Distinct::FEW {
            return Ok(None);
        }
        let most = (n / 4).min(Distinct::MOST);
        let mut distinct = Distinct::default();
        let mut done = Ok(true);
        let inverse = Array::build::<i64>(op, &[n], |out| {
            let mut block = [0; simd::BLOCK];
            for (i, out) in out.chunks_mut(simd::BLOCK).enumerate() {
                if i % 256 == 255 {
                    interrupt::listen();
                }
                let block = &mut block[..out.len()];
                keys(i * simd::BLOCK, block);
                done = distinct.count(i * simd::BLOCK, block, most, out);
                if !matches!(done, Ok(true)) {
                    return;
                }
            }
            done = distinct.sort(out);
        })?;
        let found = &distinct.found;
        let is_done = done.map_err(|_| Error::memory(op, vec![n], crate::dtype::DType::I64))?;
        if !is_done || found.iter().any(|one| is_alone(one.1)) {
            return Ok(None);
        }
        let list = |of: &dyn Fn(&(u64, usize, i64)) -> i64| {
            Array::build::<i64>(op, &[found.len()], |out| {
                out.iter_mut().zip(found).for_each(|(o, one)| *o = of(one));
            })
        };
        Ok(Some([list(&|one| one.1 as i64)?, inverse, list(&|one| one.2)?]))
    }

    /// Sorts the elements, and numbers `out` in that order.
    fn sort(&mut self, out: &mut [i64]) -> Result<bool, NoMemory> {
        let (mut order, mut ranks) = (Vec::new(), Vec::new());
        order.try_room(self.found.len())?;
        order.extend(self.found.iter().zip(0..).map(|(one, k)| (one.0, k)));
        order.sort_unstable();
        ranks.try_room(order.len())?;
        ranks.resize(order.len(), 0);
        for (rank, &(_, k)) in (0..).zip(&order) {
            let k: usize = k;
            ranks[k] = rank;
        }
        self.found.sort_unstable();
        interrupt::parts(0..out.len(), 1)
            .for_each(|part| out[part].iter_mut().for_each(|o| *o = ranks[*o as usize]));
        Ok(true)
    }
}

/// The distinct elements of a vector in rising order: where each first occurs, which of them each element is, and how
/// often each occurs. NaNs are one element, or each one its own.
pub fn unique(op: &'static str, x: &Array, nan_is_one: bool) -> Result<[Array; 3]> {
    let n = x.len();
    let x = x.contiguous()?;
    let few = dispatch!(x.dtype(), ordered T => {
        let all = x.as_slice::<T>().expect("contiguous");
        let keys = |first: usize, keys: &mut [u64]| long_keys(&all[first..], keys);
        Distinct::of(op, n, &keys, &|i| !nan_is_one && all[i].to_f64().is_nan())?
    }, else None);
    if let Some(found) = few {
        return Ok(found);
    }
    let order = argsort(op, &x, 0, false, Ranks::First(n))?.contiguous()?;
    let order = order.as_slice::<i64>().expect("contiguous");
    let starts = dispatch!(x.dtype(), ordered T => {
        let all = x.as_slice::<T>().expect("contiguous");
        let is_new = |i: usize| {
            let (a, b) = (all[order[i - 1] as usize], all[order[i] as usize]);
            Key::key(a) != Key::key(b) || (!nan_is_one && b.to_f64().is_nan())
        };
        let mut starts: Vec<usize> = Vec::new();
        for i in interrupt::parts(0..n, 1).flatten().filter(|&i| i == 0 || is_new(i)) {
            starts.try_push(i).map_err(|_| Error::memory(op, vec![n], crate::dtype::DType::I64))?;
        }
        starts
    }, else bail!(Dtype, op, "not defined for {}", x.dtype()));
    let end = |k: usize| starts.get(k + 1).copied().unwrap_or(n);
    let m = [starts.len()];
    Ok([
        Array::build::<i64>(op, &m, |out| {
            out.iter_mut().zip(&starts).for_each(|(o, &s)| *o = order[s]);
        })?,
        Array::build::<i64>(op, &[n], |out| {
            let mut done = 0;
            for (k, &start) in starts.iter().enumerate() {
                interrupt::count(&mut done, end(k) - start);
                order[start..end(k)].iter().for_each(|&i| out[i as usize] = k as i64);
            }
        })?,
        Array::build::<i64>(op, &m, |out| {
            out.iter_mut().enumerate().for_each(|(k, o)| *o = (end(k) - starts[k]) as i64);
        })?,
    ])
}
