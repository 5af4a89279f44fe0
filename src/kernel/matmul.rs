//! Matrix products over broadcast leading axes.

use gemm::Parallelism;

use super::map::Shared;
use super::num::Num;
use super::par;
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::{Result, bail};
use crate::shape::{self, Dims};

/// Products of fewer operations than this stay on one thread.
const PARALLEL: usize = 1 << 21;

/// `x @ y` over the last two axes of both; the leading axes broadcast, `lanes` of them matched from the left.
pub fn matmul(op: &'static str, x: &Array, y: &Array, lanes: usize) -> Result<Array> {
    let rank = x.rank().max(y.rank());
    let (x, y) = (x.with_rank(rank, lanes), y.with_rank(rank, lanes));
    let (batch_x, mx) = x.dims().split_at(rank - 2);
    let (batch_y, my) = y.dims().split_at(rank - 2);
    if mx[1] != my[0] {
        bail!(Shape, op, "{:?} @ {:?}: inner sizes {} and {} differ", x.dims(), y.dims(), mx[1], my[0]);
    }
    let (m, k, n) = (mx[0], mx[1], my[1]);
    let batch = shape::broadcast(op, batch_x, batch_y)?;
    let full = |mat: &[usize]| batch.iter().chain(mat).copied().collect::<Dims>();
    let (x, y) = (x.expand(&full(mx), 0), y.expand(&full(my), 0));
    let dims = full(&[m, n]);
    dispatch!(x.dtype(), num T => product::<T>(op, &x, &y, &dims, (m, k, n)), else bail!(Dtype, op, "not defined for bool"))
}

fn product<T: Num>(
    op: &'static str,
    x: &Array,
    y: &Array,
    dims: &[usize],
    (m, k, n): (usize, usize, usize),
) -> Result<Array> {
    let batch = &dims[..dims.len() - 2];
    let count: usize = batch.iter().product();
    let (sx, sy) = (x.strides(), y.strides());
    let size = T::DTYPE.size() as isize;
    let offset = |mut i: usize, strides: &[isize]| -> isize {
        let mut at = 0;
        for (d, s) in batch.iter().zip(strides).rev() {
            at += (i % d) as isize * s;
            i /= d;
        }
        at * size
    };
    let inner = batch.len();
    let (xs, ys) = ((sx[inner], sx[inner + 1]), (sy[inner], sy[inner + 1]));
    Array::build_raw(op, T::DTYPE, dims, |out| {
        if m * n == 0 || count == 0 {
            return;
        }
        let out = Shared(out);
        let one = |i: usize, parallel: Parallelism| {
            let out = &out;
            // SAFETY: the offsets are those of matrices of `x` and `y`; each writes its own matrix of the output.
            unsafe {
                let (a, b) = (x.ptr().offset(offset(i, &sx)), y.ptr().offset(offset(i, &sy)));
                one_product::<T>(
                    (m, k, n),
                    a.cast(),
                    xs,
                    b.cast(),
                    ys,
                    out.0.cast::<T>().add(i * m * n),
                    parallel,
                );
            }
        };
        let work = m * k * n;
        if work * count < PARALLEL || par::threads() == 1 {
            (0..count).for_each(|i| one(i, Parallelism::None));
        } else if work < PARALLEL {
            par::pieces(count, PARALLEL.div_ceil(8 * work.max(1)), &|r| {
                r.for_each(|i| one(i, Parallelism::None))
            });
        } else {
            // `gemm` takes the pool it is called in; outside of one it would build rayon's global pool.
            par::pool().install(|| (0..count).for_each(|i| one(i, Parallelism::Rayon(0))));
        }
    })
}

/// # Safety
/// The pointers and strides (rows, columns; in elements) are those of an `m × k`, a `k × n` and a contiguous
/// `m × n` matrix.
unsafe fn one_product<T: Num>(
    (m, k, n): (usize, usize, usize),
    a: *const T,
    (ra, ca): (isize, isize),
    b: *const T,
    (rb, cb): (isize, isize),
    out: *mut T,
    parallel: Parallelism,
) {
    // SAFETY: the caller's promise; `gemm` overwrites the output without reading it.
    unsafe {
        if T::DTYPE.is_float() {
            let run = n as isize;
            return gemm::gemm(
                m,
                n,
                k,
                out,
                1,
                run,
                false,
                a,
                ca,
                ra,
                b,
                cb,
                rb,
                T::ZERO,
                T::ONE,
                false,
                false,
                false,
                parallel,
            );
        }
        for i in 0..m {
            for j in 0..n {
                let at = |p: usize| {
                    let p = p as isize;
                    (*a.offset(i as isize * ra + p * ca)).mul(*b.offset(p * rb + j as isize * cb))
                };
                out.add(i * n + j).write((0..k).fold(T::ZERO, |acc, p| acc.add(at(p))));
            }
        }
    }
}
