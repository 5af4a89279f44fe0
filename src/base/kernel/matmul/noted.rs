//! Small products as the calls of loops that compute them, noted once.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::diagonal;
use super::product::{Call, Method, Piece, Task, by_loops};
use smallvec::smallvec;

use crate::array::{Array, Layout};
use crate::dtype::{DType, dispatch};
use crate::error::Result;
use crate::kernel::par::SendPtr;
use crate::kernel::sequence::{Kernel, Kind, Writes};
use crate::shape;

/// The most multiplications of a product that is noted: larger ones may be shared by threads.
const MOST: usize = 1 << 15;

/// A product of matrices of floats, or of batches of them.
struct Product {
    dtype: DType,
    /// The number of elements of the product.
    len: usize,
    reach: [Range<isize>; 2],
    calls: Box<[NotedCall]>,
    /// Whether factors are looked at for being diagonal.
    may_be_diagonal: bool,
}

/// A call, whose piece counts from the beginnings of the operands and of the product.
struct NotedCall {
    method: Method,
    piece: Piece,
    /// Whether its factors are those of the product in the other order.
    is_swapped: bool,
}

/// The kernel of [`matmul`](super::matmul) for operands of these dtypes and layouts. None if they are not floats, or the product
/// is large.
pub fn kernel(ins: &[(DType, Layout)], batch_ndim: usize) -> Option<Box<dyn Kernel>> {
    let [(dtype, x), (other, y)] = ins else { return None };
    let (&[.., m, k], &[.., n]) = (&x.dims[..], &y.dims[..]) else { return None };
    let is_float = matches!(dtype, DType::F32 | DType::F64) && dtype == other;
    let batch =
        shape::len(&x.dims[..x.dims.len() - 2]).max(shape::len(&y.dims[..y.dims.len().checked_sub(2)?]));
    let work = m.checked_mul(k)?.checked_mul(n)?.checked_mul(batch)?;
    if !is_float || work == 0 || work > MOST {
        return None;
    }
    let kinds = [x, y].map(|of| Kind::from((*dtype, of.clone())));
    let [x, y] = [kinds[0].blank().ok()?, kinds[1].blank().ok()?];
    let notes = Mutex::new(vec![]);
    let made = by_loops(Task { notes: Some(&notes), ..Task::of("matmul") }, &x, &y, batch_ndim).ok()?;
    let notes = notes.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Each factor of a call is a view of one of the two arrays.
    let begin = |of: &Array, (buffer, start): (usize, usize)| {
        let (own, first) = of.place();
        (own == buffer).then_some(start as isize - first as isize)
    };
    let noted = |Call { method, piece, places: [a, b] }: Call| {
        let straight = begin(&x, a).zip(begin(&y, b)).map(|at| (at, false));
        let ((a, b), is_swapped) = straight.or_else(|| Some((begin(&y, a).zip(begin(&x, b))?, true)))?;
        Some(NotedCall { method, piece: piece.after(a, b), is_swapped })
    };
    let calls: Box<[NotedCall]> = notes.into_iter().map(noted).collect::<Option<_>>()?;
    // A batch that is one product is looked at as a whole.
    let may_be_diagonal = match &calls[..] {
        [NotedCall { piece, .. }] => piece.is_one() && diagonal::may_be_diagonal(piece.sizes),
        _ => false,
    };
    let reach = [kinds[0].bytes(), kinds[1].bytes()];
    Some(Box::new(Product { dtype: *dtype, len: made.len(), reach, calls, may_be_diagonal }))
}

// SAFETY: the calls of `run` are those that `kernel` noted for operands of these layouts, and `len` is the length of the product that they made.
unsafe impl Kernel for Product {
    fn writes(&self) -> Writes {
        smallvec![(self.dtype, self.len)]
    }

    fn reach(&self, operand: usize) -> Range<isize> {
        self.reach[operand].clone()
    }

    unsafe fn run(&self, ins: &[SendPtr], outs: &[SendPtr], _: *mut u8) -> Result<()> {
        let out = outs[0].get();
        for NotedCall { method, piece, is_swapped } in &self.calls {
            let (x, y) = if *is_swapped { (ins[1], ins[0]) } else { (ins[0], ins[1]) };
            // SAFETY: the piece has the offsets of matrices in the operands, and of the product in the result.
            let pairs = unsafe { piece.pairs(x.get(), y.get(), out) };
            dispatch!(self.dtype, float T => {
                let pairs = pairs.cast::<T>();
                // SAFETY: only one call was noted, so its matrices are the operands. A swapped call computes the product of their
                // transposes. One of these has a single row, so the elements of both products lie in the same order.
                let is_done = self.may_be_diagonal
                    && unsafe { diagonal::product_into(pairs.sizes, pairs.a, pairs.b, pairs.out) };
                if !is_done {
                    // SAFETY: the loop gets what it got when it was noted, with these addresses.
                    unsafe { method.of_floats::<T>()(&pairs) };
                }
            }, else unreachable!("floats"));
        }
        Ok(())
    }
}
