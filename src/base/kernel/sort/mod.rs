//! Sorting along an axis. Elements are mapped to integer keys of the same order. NaN sorts after all numbers.

mod distinct;
mod keys;
mod order;
mod search;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::{Error, Result, bail};
use crate::kernel::index::along_axis;
use crate::kernel::output::{self, AxisBlocks};
use crate::kernel::rows::not_defined;
use crate::kernel::simd;
use crate::shape::Dims;

use keys::{Key, KeyAndIndex, keyed};
use order::chosen;

pub use distinct::unique;
pub use order::Ranks;
pub use search::search;

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
