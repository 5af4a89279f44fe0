//! Pairwise folds of slices and of rows: the order in which every reduction combines its elements.

use std::marker::PhantomData;

use crate::dtype::Element;
use crate::kernel::num::Field;

/// Elements folded in order in one leaf of the pairwise tree.
pub const LEAF: usize = 4096;
/// The fewest elements that are folded as a tree of leaves.
pub const TREE: usize = 128;
/// The accumulators of a leaf of a tree of floats. With fewer the compiler would not use vector registers.
pub const LANES: usize = 16;
/// Accumulators that stay in the first-level cache while rows are read.
pub const COLUMNS: usize = 1024;

/// How elements of type `T` become one result: each is mapped, and the mapped ones are combined.
pub trait Fold<T>: Copy {
    type Out: Element;

    /// The result of no elements.
    fn init(self) -> Self::Out;
    fn map(self, x: T) -> Self::Out;
    /// Has to be associative and commutative, but for rounding.
    fn combine(self, a: Self::Out, b: Self::Out) -> Self::Out;

    /// Folds [`ROWS`] elements. They are passed by a function, because the compiler would load an array of them in an
    /// order that is not that of memory.
    #[inline(always)]
    fn group(self, at: impl Fn(usize) -> T) -> Self::Out {
        combine_group(
            #[inline(always)]
            |a, b| self.combine(a, b),
            #[inline(always)]
            |j| self.map(at(j)),
        )
    }
}

/// The sum of a function of the elements.
#[derive(Clone, Copy)]
pub struct SumOf<F>(pub F);

impl<T, A: Field, F: Fn(T) -> A + Copy> Fold<T> for SumOf<F> {
    type Out = A;

    #[inline(always)]
    fn init(self) -> A {
        A::ZERO
    }

    #[inline(always)]
    fn map(self, x: T) -> A {
        (self.0)(x)
    }

    #[inline(always)]
    fn combine(self, a: A, b: A) -> A {
        a.add(b)
    }
}

/// A fold of the results of `F`, which folds elements of type `T`.
pub struct Results<F, T>(pub F, pub PhantomData<T>);

impl<F: Copy, T> Clone for Results<F, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<F: Copy, T> Copy for Results<F, T> {}

impl<T, F: Fold<T>> Fold<F::Out> for Results<F, T> {
    type Out = F::Out;

    #[inline(always)]
    fn init(self) -> F::Out {
        self.0.init()
    }

    #[inline(always)]
    fn map(self, x: F::Out) -> F::Out {
        x
    }

    #[inline(always)]
    fn combine(self, a: F::Out, b: F::Out) -> F::Out {
        self.0.combine(a, b)
    }
}

/// The pairwise fold of a slice. Its rounding error grows with the logarithm of the length.
#[inline(always)]
pub fn pairwise<T: Copy, F: Fold<T>>(fold: F, x: &[T]) -> F::Out {
    let dtype = F::Out::DTYPE;
    if !dtype.is_differentiable() {
        // Every order gives the same bits, and the compiler chooses the fastest.
        return x.iter().fold(fold.init(), |acc, &v| fold.combine(acc, fold.map(v)));
    }
    // The accumulators are adjacent, so that memory is read in order. Combining eight rows in a tree hides the latency of an
    // addition.
    let n = x.len();
    match n {
        0..8 => x.iter().fold(fold.init(), |acc, &v| fold.combine(acc, fold.map(v))),
        8..TREE => leaf::<8, T, F>(fold, x),
        _ if dtype.is_float() => tree::<T, F>(
            fold,
            n.div_ceil(LEAF),
            #[inline(always)]
            |i| leaf::<LANES, T, F>(fold, &x[i * LEAF..n.min((i + 1) * LEAF)]),
        ),
        _ => tree::<T, F>(
            fold,
            n.div_ceil(LEAF),
            #[inline(always)]
            |i| leaf::<8, T, F>(fold, &x[i * LEAF..n.min((i + 1) * LEAF)]),
        ),
    }
}

/// Combines the results of leaves, which are asked for by their number, in a binary tree. They are no iterator: its `next`
/// might be compiled as a function of its own, without the wide registers of the caller.
#[inline(always)]
pub fn tree<T, F: Fold<T>>(fold: F, leaves: usize, leaf: impl Fn(usize) -> F::Out) -> F::Out {
    let (mut waiting, mut depth) = ([fold.init(); usize::BITS as usize], 0);
    for i in 0..leaves {
        let mut sum = leaf(i);
        for _ in 0..i.trailing_ones() {
            depth -= 1;
            sum = fold.combine(waiting[depth], sum);
        }
        waiting[depth] = sum;
        depth += 1;
    }
    waiting[..depth]
        .iter()
        .copied()
        .rev()
        .reduce(|right, left| fold.combine(left, right))
        .unwrap_or(fold.init())
}

/// Element `i` goes to accumulator `i % N`; then the accumulators are combined.
#[inline(always)]
fn leaf<const N: usize, T: Copy, F: Fold<T>>(fold: F, x: &[T]) -> F::Out {
    let mut lanes = [fold.init(); N];
    let (rows, rest) = x.as_chunks::<N>();
    add_rows(fold, rows, &mut lanes);
    end_of_leaf(fold, &lanes, rest)
}

/// Folds rows into the accumulators of a leaf, eight rows at a time.
#[inline(always)]
pub fn add_rows<const N: usize, T: Copy, F: Fold<T>>(fold: F, rows: &[[T; N]], lanes: &mut [F::Out; N]) {
    let (eights, rows) = rows.as_chunks::<ROWS>();
    for eight in eights {
        for l in 0..N {
            lanes[l] = fold.combine(
                lanes[l],
                fold.group(
                    #[inline(always)]
                    |j| eight[j][l],
                ),
            );
        }
    }
    for row in rows {
        for l in 0..N {
            lanes[l] = fold.combine(lanes[l], fold.map(row[l]));
        }
    }
}

/// Combines the accumulators of a leaf, and the elements that fill no row.
#[inline(always)]
pub fn end_of_leaf<const N: usize, T: Copy, F: Fold<T>>(fold: F, lanes: &[F::Out; N], rest: &[T]) -> F::Out {
    let mut few = [fold.init(); ROWS];
    for (i, few) in few.iter_mut().enumerate() {
        *few = (1..N / ROWS).fold(lanes[i], |acc, c| fold.combine(acc, lanes[c * ROWS + i]));
    }
    let all = combine_group(
        #[inline(always)]
        |a, b| fold.combine(a, b),
        #[inline(always)]
        |i| few[i],
    );
    rest.iter().fold(all, |acc, &v| fold.combine(acc, fold.map(v)))
}

/// Combines [`ROWS`] values in a tree.
#[inline(always)]
pub fn combine_group<A: Copy>(combine: impl Fn(A, A) -> A, at: impl Fn(usize) -> A) -> A {
    let first = combine(combine(at(0), at(1)), combine(at(2), at(3)));
    let second = combine(combine(at(4), at(5)), combine(at(6), at(7)));
    combine(first, second)
}

/// Rows that are combined before they go to the accumulators, which saves loads and stores.
pub const ROWS: usize = 8;

/// Folds `n` rows of equal length, `stride` apart, into `out`.
#[inline(always)]
pub fn columns<T: Copy, F: Fold<T>>(fold: F, (n, stride): (usize, usize), x: &[T], out: &mut [F::Out]) {
    out.fill(fold.init());
    for (c, out) in out.chunks_mut(COLUMNS).enumerate() {
        let width = out.len();
        let row = |k: usize| &x[k * stride + c * COLUMNS..][..width];
        let whole = n / ROWS * ROWS;
        for k in (0..whole).step_by(ROWS) {
            let mut rows = [&x[..0]; ROWS];
            for (j, slot) in rows.iter_mut().enumerate() {
                *slot = row(k + j);
            }
            for (i, acc) in out.iter_mut().enumerate() {
                let group = fold.group(
                    #[inline(always)]
                    |j| rows[j][i],
                );
                *acc = fold.combine(*acc, group);
            }
        }
        for k in whole..n {
            let row = row(k);
            for (i, acc) in out.iter_mut().enumerate() {
                *acc = fold.combine(*acc, fold.map(row[i]));
            }
        }
    }
}

/// [`columns`] for adjacent rows of `W` elements.
#[inline(always)]
pub fn narrow<const W: usize, T: Copy, F: Fold<T>>(fold: F, x: &[T], out: &mut [F::Out]) {
    let mut sums = [fold.init(); W];
    let (eights, rows) = x.as_chunks::<W>().0.as_chunks::<ROWS>();
    for eight in eights {
        for c in 0..W {
            let group = fold.group(
                #[inline(always)]
                |j| eight[j][c],
            );
            sums[c] = fold.combine(sums[c], group);
        }
    }
    for row in rows {
        for c in 0..W {
            sums[c] = fold.combine(sums[c], fold.map(row[c]));
        }
    }
    out.copy_from_slice(&sums);
}
