//! Order along an axis. Elements become keys whose order as integers is theirs; NaN is greater than all numbers.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::along;
use super::chunks::{self, Blocks};
use crate::array::Array;
use crate::dtype::{Bool8, Element, dispatch};
use crate::error::{Error, Result};
use crate::shape::Dims;

/// An element as an integer of the same order. Both zeros have one key, and all NaN have one.
trait Key: Element {
    /// Whether keys have at most 32 bits.
    const NARROW: bool = size_of::<Self>() <= 4;
    fn key(self) -> u64;
}

macro_rules! keys {
    ($($t:ty: $x:ident => $e:expr;)*) => { $( impl Key for $t { #[inline(always)] fn key(self) -> u64 { let $x = self; $e } } )* };
}
keys! {
    Bool8: x => u64::from(x.0);
    u8: x => u64::from(x);
    u16: x => u64::from(x);
    u32: x => u64::from(x);
    u64: x => x;
    i8: x => (i64::from(x) - i64::from(i8::MIN)) as u64;
    i16: x => (i64::from(x) - i64::from(i16::MIN)) as u64;
    i32: x => (i64::from(x) - i64::from(i32::MIN)) as u64;
    i64: x => (x ^ i64::MIN) as u64;
    // Adding zero makes -0 into 0. Negative numbers have all bits turned, the others only the sign.
    f32: x => if x.is_nan() { u64::from(u32::MAX) } else {
        let bits = (x + 0.0).to_bits();
        u64::from(if bits >> 31 == 1 { !bits } else { bits | 1 << 31 })
    };
    f64: x => if x.is_nan() { u64::MAX } else {
        let bits = (x + 0.0).to_bits();
        if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
    };
}

/// Which positions of the sorted order are asked for.
#[derive(Clone, Copy)]
pub enum Want {
    /// The first so many.
    First(usize),
    /// The two in the middle (the same one twice where the number is odd); NaN twice if there is one.
    Middle,
}

/// The positions along an axis of its elements in ascending or descending order, as many as are wanted. Equal elements
/// keep their order.
pub fn order(op: &'static str, x: &Array, axis: usize, descending: bool, want: Want) -> Result<Array> {
    // Rows are sorted where they lie side by side.
    let mut to_last: Dims = (0..x.rank()).filter(|&a| a != axis).collect();
    to_last.push(axis);
    let x = x.permute(&to_last).contiguous()?;
    let n = Blocks::of(x.dims(), x.rank() - 1).n;
    let count = match want {
        Want::First(k) => k.min(n),
        Want::Middle => 2,
    };
    let mut dims = Dims::from_slice(x.dims());
    dims[x.rank() - 1] = count;
    let failed = AtomicBool::new(false);
    let sorted = dispatch!(x.dtype(), all T => {
        let all = x.as_slice::<T>().expect("contiguous");
        chunks::build::<i64>(op, &dims, count, |first, out| {
            if count == 0 || n == 0 { return; }
            let rows = all[first * n..].chunks_exact(n).zip(out.chunks_exact_mut(count));
            let done = if T::NARROW && u32::try_from(n).is_ok() {
                // A key and its position in one word.
                let word = |(i, v): (usize, &T)| {
                    let key = if descending { u64::from(u32::MAX) - v.key() } else { v.key() };
                    key << 32 | i as u64
                };
                picked(rows, want, word, |&word| i64::from(word as u32))
            } else {
                let pair = |(i, v): (usize, &T)| (if descending { !v.key() } else { v.key() }, i);
                picked(rows, want, pair, |pair| pair.1 as i64)
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

/// The wanted positions of the order of rows, each written beside its row; `place` makes an element of the list that is
/// put in order of an element and its position, `at` is that position. None where there is no memory.
fn picked<'a, T: Element, P: Ord + Copy>(
    rows: impl Iterator<Item = (&'a [T], &'a mut [i64])>,
    want: Want,
    place: impl Fn((usize, &T)) -> P,
    at: impl Fn(&P) -> i64,
) -> Option<()> {
    let mut list: Vec<P> = Vec::new();
    for (row, out) in rows {
        list.clear();
        list.try_reserve_exact(row.len()).ok()?;
        let places = row.iter().enumerate().map(&place);
        match want {
            Want::First(k) if k <= FEW && k < row.len() / 2 => fewest(places, k, &mut list),
            _ => {
                list.extend(places);
                chosen(&mut list, want);
            }
        }
        match want {
            Want::First(_) => out.iter_mut().zip(&list).for_each(|(o, p)| *o = at(p)),
            Want::Middle => {
                let nan = row.iter().position(|v| v.to_f64().is_nan());
                let place = |k: usize| nan.map_or(at(&list[k]), |i| i as i64);
                (out[0], out[1]) = (place((row.len() - 1) / 2), place(row.len() / 2));
            }
        }
    }
    Some(())
}

/// As many are kept in order while a row goes by.
const FEW: usize = 64;

/// The first `k` places of the order, in order.
fn fewest<P: Ord + Copy>(mut places: impl Iterator<Item = P>, k: usize, list: &mut Vec<P>) {
    list.extend(places.by_ref().take(k));
    list.sort_unstable();
    for place in places {
        if list.last().is_some_and(|last| place < *last) {
            list.pop();
            list.insert(list.partition_point(|p| *p < place), place);
        }
    }
}

/// Puts the wanted places of the order where they belong. Places are all different, so an unstable sort is a stable one.
fn chosen<P: Ord>(places: &mut [P], want: Want) {
    let n = places.len();
    match want {
        Want::First(k) if k < n => {
            if k > 0 {
                places.select_nth_unstable(k - 1);
                places[..k].sort_unstable();
            }
        }
        Want::First(_) => places.sort_unstable(),
        Want::Middle => {
            places.select_nth_unstable(n / 2);
            if n.is_multiple_of(2) {
                places[..n / 2].select_nth_unstable(n / 2 - 1);
            }
        }
    }
}

/// The elements at [`order`]'s positions, and the positions.
pub fn ordered(
    op: &'static str,
    x: &Array,
    axis: usize,
    descending: bool,
    want: Want,
) -> Result<(Array, Array)> {
    let indices = order(op, x, axis, descending, want)?;
    Ok((along::pick(op, x, &indices, axis)?, indices))
}
