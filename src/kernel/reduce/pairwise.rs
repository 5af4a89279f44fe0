//! Pairwise folds of slices and of rows: the order in which every reduction combines its elements.

/// Elements folded in order in one leaf of the pairwise tree.
const LEAF: usize = 4096;
/// Accumulators that stay in the first-level cache while rows are read.
pub const COLUMNS: usize = 1024;

/// The pairwise fold of a slice. Its rounding error grows with the logarithm of the length.
#[inline(always)]
pub fn pairwise<T: Copy, A: Copy>(init: A, map: impl Fn(T) -> A, combine: impl Fn(A, A) -> A, x: &[T]) -> A {
    grouped(init, &map, &combine, &Tree(&map, &combine), x)
}

/// A fold of [`ROWS`] elements. Elements are passed by a function, because the compiler would load an array of them
/// in an order that is not that of memory.
pub trait Group<T, A> {
    fn of(&self, at: impl Fn(usize) -> T) -> A;
}

/// The default group: maps each element, and combines the results in a tree.
pub struct Tree<L, J>(pub L, pub J);

impl<T, A: Copy, L: Fn(T) -> A, J: Fn(A, A) -> A> Group<T, A> for Tree<L, J> {
    #[inline(always)]
    fn of(&self, at: impl Fn(usize) -> T) -> A {
        combine_group(&self.1, |j| (self.0)(at(j)))
    }
}

/// [`pairwise`] with a special fold for groups of [`ROWS`] elements.
#[inline(always)]
pub fn grouped<T: Copy, A: Copy>(
    init: A,
    map: &impl Fn(T) -> A,
    combine: &impl Fn(A, A) -> A,
    group: &impl Group<T, A>,
    x: &[T],
) -> A {
    // The accumulators fill a cache line, so that memory is read in order. Combining eight lines in a tree hides the
    // latency of an addition.
    match x.len() {
        0..8 => x.iter().fold(init, |acc, &v| combine(acc, map(v))),
        8..1024 => leaf::<8, T, A>(init, map, combine, group, x),
        _ if size_of::<A>() <= 4 => tree::<16, T, A>(init, map, combine, group, x),
        _ => tree::<8, T, A>(init, map, combine, group, x),
    }
}

/// Combines leaves of equal length in a binary tree; only the last leaf may be shorter.
#[inline(always)]
fn tree<const LANES: usize, T: Copy, A: Copy>(
    init: A,
    map: &impl Fn(T) -> A,
    combine: &impl Fn(A, A) -> A,
    group: &impl Group<T, A>,
    x: &[T],
) -> A {
    let (mut waiting, mut depth) = ([init; usize::BITS as usize], 0);
    for (i, part) in x.chunks(LEAF).enumerate() {
        let mut sum = leaf::<LANES, T, A>(init, map, combine, group, part);
        for _ in 0..i.trailing_ones() {
            depth -= 1;
            sum = combine(waiting[depth], sum);
        }
        waiting[depth] = sum;
        depth += 1;
    }
    waiting[..depth].iter().copied().rev().reduce(|right, left| combine(left, right)).unwrap_or(init)
}

/// Element `i` goes to accumulator `i % LANES`; then the accumulators are combined.
#[inline(always)]
fn leaf<const LANES: usize, T: Copy, A: Copy>(
    init: A,
    map: &impl Fn(T) -> A,
    combine: &impl Fn(A, A) -> A,
    group: &impl Group<T, A>,
    x: &[T],
) -> A {
    let mut lanes = [init; LANES];
    let (rows, rest) = x.as_chunks::<LANES>();
    let (eights, rows) = rows.as_chunks::<ROWS>();
    for eight in eights {
        for l in 0..LANES {
            lanes[l] = combine(lanes[l], group.of(|j| eight[j][l]));
        }
    }
    for row in rows {
        for l in 0..LANES {
            lanes[l] = combine(lanes[l], map(row[l]));
        }
    }
    let few: [A; ROWS] =
        std::array::from_fn(|i| (1..LANES / ROWS).fold(lanes[i], |acc, c| combine(acc, lanes[c * ROWS + i])));
    rest.iter().fold(combine_group(combine, |i| few[i]), |acc, &v| combine(acc, map(v)))
}

/// Combines [`ROWS`] values in a tree.
#[inline(always)]
pub fn combine_group<A: Copy>(combine: &impl Fn(A, A) -> A, at: impl Fn(usize) -> A) -> A {
    let four = |j: usize| combine(combine(at(j), at(j + 1)), combine(at(j + 2), at(j + 3)));
    combine(four(0), four(4))
}

/// Rows that are combined before they go to the accumulators, which saves loads and stores.
pub const ROWS: usize = 8;

/// Folds `n` rows of equal length, `stride` apart, into `out`.
#[inline(always)]
pub fn columns<T: Copy, A: Copy>(
    init: A,
    map: &impl Fn(T) -> A,
    combine: &impl Fn(A, A) -> A,
    group: &impl Group<T, A>,
    (n, stride): (usize, usize),
    x: &[T],
    out: &mut [A],
) {
    out.fill(init);
    for (c, out) in out.chunks_mut(COLUMNS).enumerate() {
        let width = out.len();
        let row = |k: usize| &x[k * stride + c * COLUMNS..][..width];
        let whole = n / ROWS * ROWS;
        for k in (0..whole).step_by(ROWS) {
            let rows: [&[T]; ROWS] = std::array::from_fn(|j| row(k + j));
            for (i, acc) in out.iter_mut().enumerate() {
                *acc = combine(*acc, group.of(|j| rows[j][i]));
            }
        }
        for k in whole..n {
            out.iter_mut().zip(row(k)).for_each(|(acc, &v)| *acc = combine(*acc, map(v)));
        }
    }
}
