//! The distinct elements of a vector.

use super::keys::{Key, KeyAndIndex, keyed};
use super::order::sorted;
use crate::array::Array;
use crate::dtype::{DType, Ordered, dispatch};
use crate::error::{Error, Result, bail};
use crate::kernel::{interrupt, simd};
use crate::memory::{NoMemory, TryPush};

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

    /// Where the search for a key begins in a table of this length.
    #[inline(always)]
    fn first_place(key: u64, length: usize) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - length.trailing_zeros())) as usize
    }

    /// The number of the element with this key, and its place or the empty place for it.
    #[inline(always)]
    fn look(&mut self, key: u64) -> (u32, usize) {
        let table = &self.table[..];
        let mut at = Distinct::first_place(key, table.len());
        loop {
            let (held, number) = table[at];
            if held == key || number == 0 {
                return (number, at);
            }
            self.misses += 1;
            at = (at + 1) & (table.len() - 1);
        }
    }

    /// Counts the elements with these keys, and writes the number of each. Returns whether a sort would take longer.
    fn count(&mut self, first: usize, keys: &[u64], most: usize, out: &mut [i64]) -> Result<bool, NoMemory> {
        if self.table.is_empty() {
            self.grow()?;
        }
        for (i, (&key, out)) in (first..).zip(keys.iter().zip(out)) {
            let (mut number, at) = self.look(key);
            if number == 0 {
                if self.found.len() > most {
                    return Ok(false);
                }
                number = self.add(key, i, at)?;
            }
            let found = number as usize - 1;
            self.found[found].2 += 1;
            *out = found as i64;
        }
        // Keys that were made to meet in one place of the table are sorted.
        Ok(self.misses <= 8 * (first + keys.len()))
    }

    /// Adds an element at an empty place of the table, which stays at least half empty. Returns its number.
    #[cold]
    fn add(&mut self, key: u64, first: usize, at: usize) -> Result<u32, NoMemory> {
        self.found.try_push((key, first, 0))?;
        let number = self.found.len() as u32;
        self.table[at] = (key, number);
        if 2 * self.found.len() >= self.table.len() {
            self.grow()?;
        }
        Ok(number)
    }

    /// Makes the table larger.
    fn grow(&mut self) -> Result<(), NoMemory> {
        let size = (4 * self.table.len()).max(1 << 8);
        self.table.clear();
        self.table.try_room(size)?;
        self.table.resize(size, (0, 0));
        for k in 0..self.found.len() {
            let key = self.found[k].0;
            let (_, at) = self.look(key);
            self.table[at] = (key, k as u32 + 1);
        }
        Ok(())
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
        let is_done = done.map_err(|_| no_memory(op, n))?;
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
    dispatch!(x.dtype(), ordered T => {
        let all = x.as_slice::<T>().expect("contiguous");
        let is_alone = |i: i64| !nan_is_one && all[i as usize].to_f64().is_nan();
        if u32::try_from(n).is_ok() {
            by_sorting::<T, <T as Key>::KeyAndIndex>(op, all, &is_alone)
        } else {
            by_sorting::<T, (<T as Key>::Bits, usize)>(op, all, &is_alone)
        }
    }, else bail!(Dtype, op, "not defined for {}", x.dtype()))
}

/// [`unique`] of a vector. Of elements with equal keys, those that are alone are distinct.
fn by_sorting<T: Key, P: KeyAndIndex<T::Bits>>(
    op: &'static str,
    all: &[T],
    is_alone: &dyn Fn(i64) -> bool,
) -> Result<[Array; 3]> {
    let mut list: Vec<P> = Vec::new();
    list.try_room(all.len()).map_err(|_| no_memory(op, all.len()))?;
    keyed(all, false, |first, keys| list.extend((first..).zip(keys).map(|(i, &key)| P::new(key, i))));
    sorted(&mut list).ok_or_else(|| no_memory(op, all.len()))?;
    in_order(op, &list, is_alone)
}

/// [`by_sorting`] of a vector whose sorted keys these are.
fn in_order<K: Eq, P: KeyAndIndex<K>>(
    op: &'static str,
    list: &[P],
    is_alone: &dyn Fn(i64) -> bool,
) -> Result<[Array; 3]> {
    let n = list.len();
    let is_new = |i: usize| list[i - 1].key() != list[i].key() || is_alone(list[i].at());
    let mut starts: Vec<usize> = Vec::new();
    for i in interrupt::parts(0..n, 1).flatten().filter(|&i| i == 0 || is_new(i)) {
        starts.try_push(i).map_err(|_| no_memory(op, n))?;
    }
    let end = |k: usize| starts.get(k + 1).copied().unwrap_or(n);
    let m = [starts.len()];
    Ok([
        Array::build::<i64>(op, &m, |out| {
            out.iter_mut().zip(&starts).for_each(|(o, &s)| *o = list[s].at());
        })?,
        Array::build::<i64>(op, &[n], |out| {
            let mut done = 0;
            for (k, &start) in starts.iter().enumerate() {
                interrupt::count(&mut done, end(k) - start);
                list[start..end(k)].iter().for_each(|one| out[one.at() as usize] = k as i64);
            }
        })?,
        Array::build::<i64>(op, &m, |out| {
            out.iter_mut().enumerate().for_each(|(k, o)| *o = (end(k) - starts[k]) as i64);
        })?,
    ])
}

fn no_memory(op: &'static str, n: usize) -> Box<Error> {
    Error::memory(op, vec![n], DType::I64)
}
