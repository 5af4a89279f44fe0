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
    i8: x => (x as i64 ^ i64::MIN) as u64;
    i16: x => (x as i64 ^ i64::MIN) as u64;
    i32: x => (x as i64 ^ i64::MIN) as u64;
    i64: x => (x ^ i64::MIN) as u64;
    f32: x => f64::from(x).key();
    // Adding zero makes -0 into 0. Negative numbers have all bits turned, the others only the sign.
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
            let mut pairs: Vec<(u64, usize)> = Vec::new();
            if count == 0 || n == 0 { return; }
            if pairs.try_reserve_exact(n).is_err() {
                failed.store(true, Relaxed);
                return;
            }
            for (b, out) in (first..).zip(out.chunks_exact_mut(count)) {
                let row = all[b * n..][..n].iter().enumerate();
                pairs.clear();
                pairs.extend(row.map(|(i, v)| (if descending { !v.key() } else { v.key() }, i)));
                chosen(&mut pairs, want);
                let picked = pairs.iter().map(|p| p.1 as i64);
                match want {
                    Want::First(_) => out.iter_mut().zip(picked).for_each(|(o, i)| *o = i),
                    Want::Middle => {
                        let nan = pairs.iter().find(|p| all[b * n + p.1].to_f64().is_nan());
                        let at = |k: usize| nan.map_or(pairs[k].1, |p| p.1) as i64;
                        (out[0], out[1]) = (at((n - 1) / 2), at(n / 2));
                    }
                }
            }
        })
    })?;
    if failed.into_inner() {
        return Err(Error::memory(op, vec![n], crate::dtype::DType::U64));
    }
    let mut back: Dims = (0..x.rank() - 1).collect();
    back.insert(axis, x.rank() - 1);
    Ok(sorted.permute(&back))
}

/// Puts the wanted positions of the order where they belong. Keys with positions are all different, so an unstable
/// sort is a stable one.
fn chosen(pairs: &mut [(u64, usize)], want: Want) {
    let n = pairs.len();
    match want {
        Want::First(k) if k < n => {
            if k > 0 {
                pairs.select_nth_unstable(k - 1);
                pairs[..k].sort_unstable();
            }
        }
        Want::First(_) => pairs.sort_unstable(),
        Want::Middle => {
            pairs.select_nth_unstable(n / 2);
            if n.is_multiple_of(2) {
                pairs[..n / 2].select_nth_unstable(n / 2 - 1);
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
