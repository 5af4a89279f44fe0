//! The diagonal of the last two axes, and its transpose.

use super::movement::{Lin, Linear};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::Result;
use crate::graph::{Saved, Tensor, apply};
use crate::shape::{Dims, Strides};

/// The elements `x[…, i, i]` as a view.
#[derive(Clone)]
struct Diagonal;

impl Linear for Diagonal {
    const NAME: &'static str = "diagonal";

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        let (dims, strides) = (x.dims(), x.strides());
        let r = x.rank() - 2;
        let short: Dims = dims[..r].iter().copied().chain([dims[r].min(dims[r + 1])]).collect();
        let step: Strides = strides[..r].iter().copied().chain([strides[r] + strides[r + 1]]).collect();
        Ok(x.restride(&short, &step, 0))
    }

    fn transpose(&self, g: &Tensor, s: &Saved<'_>) -> Result<Tensor> {
        let [.., m, n] = *s.dims(0) else { unreachable!("a diagonal is of two axes") };
        apply(Lin(OnDiagonal(m, n)), &[g])
    }
}

/// A matrix of this shape with the elements on its diagonal.
#[derive(Clone)]
struct OnDiagonal(usize, usize);

impl Linear for OnDiagonal {
    const NAME: &'static str = "on_diagonal";

    fn array(&self, x: &Array, _: usize) -> Result<Array> {
        let &OnDiagonal(m, n) = self;
        let x = x.contiguous()?;
        let k = m.min(n);
        let dims: Dims = x.dims()[..x.rank() - 1].iter().copied().chain([m, n]).collect();
        dispatch!(x.dtype(), all T => Array::build::<T>("on_diagonal", &dims, |out| {
            out.fill(T::default());
            let rows = x.as_slice::<T>().expect("contiguous").chunks_exact(k.max(1));
            for (matrix, row) in out.chunks_exact_mut((m * n).max(1)).zip(rows) {
                matrix.iter_mut().step_by(n + 1).zip(row).for_each(|(o, &v)| *o = v);
            }
        }))
    }

    fn transpose(&self, g: &Tensor, _: &Saved<'_>) -> Result<Tensor> {
        apply(Lin(Diagonal), &[g])
    }
}

/// The elements `x[…, i, i]`.
pub(super) fn diagonal_of(x: &Tensor) -> Result<Tensor> {
    apply(Lin(Diagonal), &[x])
}

/// Matrices with the last axis on their diagonal.
pub(super) fn on_diagonal(x: &Tensor) -> Result<Tensor> {
    let n = x.dims()[x.rank() - 1];
    apply(Lin(OnDiagonal(n, n)), &[x])
}
