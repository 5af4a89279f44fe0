//! Detection of NaNs and infinities in an array.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use smallvec::SmallVec;

use crate::array::Array;
use crate::dtype::{DType, bf16, dispatch, f16};
use crate::kernel::num::Inexact;
use crate::kernel::{par, simd};
use crate::shape;

/// The values to look for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NonFinite {
    Nan,
    Any,
}

/// Whether an array has such an element.
pub fn contains(x: &Array, kind: NonFinite) -> bool {
    macro_rules! any {
        ($t:ident) => {{
            let is = |v: &$t| v.is_nan() || kind == NonFinite::Any && v.is_infinite();
            x.without_repeats().view::<$t>().iter().any(is)
        }};
    }
    match x.dtype() {
        DType::F16 => any!(f16),
        DType::BF16 => any!(bf16),
        dtype => dispatch!(dtype, inexact T => contains_in::<T>(x, kind), else false),
    }
}

/// Whether all elements are zero.
pub fn is_zero(x: &Array) -> bool {
    x.dtype().is_differentiable()
        && dispatch!(x.dtype(), all T => x.without_repeats().view::<T>().iter().all(|v| *v == T::default()))
}

fn contains_in<T: Inexact>(x: &Array, kind: NonFinite) -> bool {
    if x.dims().contains(&0) {
        return false;
    }
    // Visits the elements in the order of memory, each once.
    let steps = x.strides();
    let mut axes: SmallVec<[(usize, isize); 6]> =
        x.dims().iter().copied().zip(steps.iter().copied()).filter(|&(d, s)| d > 1 && s != 0).collect();
    shape::sort_by_key(&mut axes, |&(_, s)| s.unsigned_abs());
    let low: isize = axes.iter().filter(|(_, s)| *s < 0).map(|&(d, s)| s * (d as isize - 1)).sum();
    let mut run = 1;
    let combine_group = axes.iter().take_while(|&&(d, s)| {
        let next = s.unsigned_abs() == run;
        run *= if next { d } else { 1 };
        next
    });
    let outer = &axes[combine_group.count()..];
    // SAFETY: this is the element with the lowest address; the absolute strides lead from it to all others.
    let start = unsafe { x.first::<T>().offset(low) };
    let runs: usize = outer.iter().map(|(d, _)| d).product();
    let mut found = false;
    for i in 0..runs {
        let (mut rest, mut at) = (i, 0);
        for &(d, s) in outer {
            at += rest % d * s.unsigned_abs();
            rest /= d;
        }
        // SAFETY: the axes of a run are dense, so these `run` elements are adjacent and in the array.
        let part = unsafe { std::slice::from_raw_parts(start.add(at), run) };
        found |= has_non_finite(part) && (kind == NonFinite::Any || part.iter().any(|v| v.nan()));
        if found {
            break;
        }
    }
    found
}

/// Whether any element is NaN or infinite.
pub fn has_non_finite<T: Inexact>(x: &[T]) -> bool {
    if size_of_val(x) < par::MIN_BYTES {
        return block(x);
    }
    let found = AtomicBool::new(false);
    par::pieces(x.len(), par::PIECE, &|range| {
        if !found.load(Relaxed) && block(&x[range]) {
            found.store(true, Relaxed);
        }
    });
    found.into_inner()
}

fn block<T: Inexact>(x: &[T]) -> bool {
    simd::multiversion(
        #[inline(always)]
        || sums_are_wrong(x),
        #[inline(always)]
        || sums_are_wrong(x),
    )
}

/// `v - v` is zero for finite numbers and NaN for others, and a sum that meets a NaN stays NaN.
#[inline(always)]
fn sums_are_wrong<T: Inexact>(x: &[T]) -> bool {
    const LANES: usize = 32;
    let mut sums = [T::ZERO; LANES];
    let (whole, rest) = x.split_at(x.len() / LANES * LANES);
    for part in whole.chunks_exact(LANES) {
        for (sum, &v) in sums.iter_mut().zip(part) {
            *sum = sum.add(v.sub(v));
        }
    }
    let tail = rest.iter().fold(T::ZERO, |sum, &v| sum.add(v.sub(v)));
    sums.iter().fold(tail, |sum, &v| sum.add(v)).nan()
}
