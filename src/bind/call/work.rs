//! Which calls let go of the GIL: those that may take more than some 20 µs.

use crate::graph::Tensor;
use crate::ops::entry::{Arg, Entry, Work};

/// An op runs without the GIL if its operands have at least this many bytes.
const LONG: usize = 128 << 10;
/// The same for an op that takes about as long as to read its operands.
pub const LONG_LIGHT: usize = 512 << 10;
/// The same for a view, which moves few bytes or none.
const LONG_VIEW: usize = 1 << 20;
/// Heavy ops on fewer bytes are short whatever they compute.
const SHORT: usize = 4 << 10;
/// So many products of numbers take 10 to 20 µs. To let go of the GIL for less than that costs more than it gives: the thread waits
/// until another one lets go of it.
const PRODUCTS: usize = 1 << 20;
/// As many take about as long as a random number, or one that is sorted.
const EACH: usize = 128;
/// As many take about as long as one of a factorisation, whose kernels are not as fast.
const FACTORED: usize = 32;

/// Whether an op may take more than some 20 µs, for which it is worth to let go of the GIL.
#[inline]
pub fn is_long(entry: &Entry, args: &[Arg], bytes: usize) -> bool {
    match entry.work {
        _ if entry.views => bytes >= LONG_VIEW,
        Work::Light => bytes >= LONG_LIGHT,
        Work::Usual => bytes >= LONG,
        Work::Heavy => bytes >= LONG || (bytes >= SHORT || bytes == 0) && products(entry, args) >= PRODUCTS,
    }
}

/// About how many products of numbers a heavy op on so few bytes computes, or what takes as long.
fn products(entry: &Entry, args: &[Arg]) -> usize {
    let named = entry.params.iter().zip(args);
    let mut tensors = named.filter_map(|(param, arg)| match arg {
        Arg::Tensor(t) => Some((param.name, t)),
        Arg::Tensors(list) => list.last().map(|t| (param.name, t)),
        _ => None,
    });
    let last = |t: &Tensor| t.dims().last().copied().unwrap_or(1);
    match (tensors.next(), tensors.next()) {
        (Some((_, x)), Some(("weight", w))) if w.rank() > 1 => {
            x.array.len().saturating_mul(w.array.len() / w.dims()[1].max(1))
        }
        (Some((_, x)), Some((_, y))) => x.array.len().saturating_mul(last(y)),
        (Some((_, x)), None) if x.rank() < 2 || entry.draws => x.array.len().saturating_mul(EACH),
        // A factorisation, or a sort.
        (Some((_, x)), None) => {
            x.array.len().saturating_mul(FACTORED * x.dims()[x.rank() - 2..].iter().min().unwrap_or(&1))
        }
        // Random numbers of a shape.
        _ => match args.first() {
            Some(Arg::Ints(shape)) => {
                shape.iter().fold(EACH, |n, &d| n.saturating_mul(usize::try_from(d).unwrap_or(0)))
            }
            Some(&Arg::Int(n)) => usize::try_from(n).unwrap_or(0).saturating_mul(EACH),
            _ => 0,
        },
    }
}
