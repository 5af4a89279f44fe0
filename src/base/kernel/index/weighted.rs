//! Elements of rows gathered with weights, and the gradients of that. All arrays begin with a common batch: positions
//! and weights are `[.., parts, places]`, `x` is `[.., rows, elements]`, and `g` is `[.., rows, places]`. A position outside
//! the row stands for an element 0.

use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::{Result, bail};
use crate::kernel::num::Num;
use crate::kernel::output;
use crate::shape::Dims;
use crate::stored::Stored;

/// A factor of the form `Σ weight[j, p] · x[r, at[j, p]] · g[r, p]`.
#[derive(Clone, Copy, PartialEq, Eq, Stored)]
pub enum Factor {
    Weight,
    X,
    G,
}

/// The derivative of the form by a factor, from the other two in their order. A row of `x` has `elements`.
pub fn derivative(
    op: &'static str,
    by: Factor,
    at: &Array,
    (a, b): (&Array, &Array),
    elements: usize,
) -> Result<Array> {
    let (at, a, b) = (at.contiguous()?, a.contiguous()?, b.contiguous()?);
    dispatch!(a.dtype(), float T => go::<T>(op, by, &at, (&a, &b), elements), else {
        bail!(Dtype, op, "not defined for {}", a.dtype())
    })
}

fn go<T: Num>(
    op: &'static str,
    by: Factor,
    at: &Array,
    (a, b): (&Array, &Array),
    elements: usize,
) -> Result<Array> {
    let lead = at.rank() - 2;
    let (parts, places) = (at.dims()[lead], at.dims()[lead + 1]);
    // `a` is the weight, or else x; `b` is g, or else x.
    let rows = b.dims()[lead];
    let (count, size) = match by {
        Factor::Weight => (parts, places),
        Factor::X => (rows, elements),
        Factor::G => (rows, places),
    };
    let dims: Dims = at.dims()[..lead].iter().copied().chain([count, size]).collect();
    let at = at.as_slice::<i64>().expect("contiguous");
    let (a, b) = (a.as_slice::<T>().expect("contiguous"), b.as_slice::<T>().expect("contiguous"));
    let sums = if by == Factor::Weight { rows } else { parts };
    output::build_from::<T>(op, &dims, size, 2 * places * sums, |first, out| {
        for (n, out) in (first..).zip(out.chunks_exact_mut(size.max(1))) {
            let (batch, n) = (n / count, n % count);
            out.fill(T::ZERO);
            for i in 0..sums {
                let (part, row) = if by == Factor::Weight { (n, i) } else { (i, n) };
                let part = (batch * parts + part) * places;
                let row = batch * rows + row;
                let at = &at[part..][..places];
                match by {
                    Factor::Weight => {
                        let (x, g) = (&a[row * elements..][..elements], &b[row * places..][..places]);
                        for ((out, &at), &g) in out.iter_mut().zip(at).zip(g) {
                            *out = out.add(element(x, at).mul(g));
                        }
                    }
                    Factor::X => {
                        let (w, g) = (&a[part..][..places], &b[row * places..][..places]);
                        for ((&w, &at), &g) in w.iter().zip(at).zip(g) {
                            if let Some(out) = out.get_mut(at as usize) {
                                *out = out.add(w.mul(g));
                            }
                        }
                    }
                    Factor::G => {
                        let (w, x) = (&a[part..][..places], &b[row * elements..][..elements]);
                        for ((out, &at), &w) in out.iter_mut().zip(at).zip(w) {
                            *out = out.add(w.mul(element(x, at)));
                        }
                    }
                }
            }
        }
    })
}

/// The element at a position. As an unsigned number, a negative position is outside too.
#[inline(always)]
fn element<T: Num>(x: &[T], at: i64) -> T {
    x.get(at as usize).copied().unwrap_or(T::ZERO)
}
