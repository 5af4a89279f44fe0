//! Elements folded into one, and rows folded column by column: the trees that every fold is made of.

/// Elements folded one after another in a leaf of the pairwise tree.
const LEAF: usize = 4096;
/// Columns whose results stay in the first cache while rows stream by.
pub const COLUMNS: usize = 1024;

/// The fold of a slice, pairwise: its error grows with the logarithm of the length.
#[inline(always)]
pub fn pairwise<T: Copy, A: Copy>(init: A, lift: impl Fn(T) -> A, join: impl Fn(A, A) -> A, x: &[T]) -> A {
    grouped(init, &lift, &join, &Tree(&lift, &join), x)
}

/// A way to fold [`ROWS`] elements. They are asked for where they are needed: an array of them would be filled in an
/// order of the compiler's, not in that of memory.
pub trait Group<T, A> {
    fn of(&self, at: impl Fn(usize) -> T) -> A;
}

/// The plain way: what the first function makes of each, joined by the second.
pub struct Tree<L, J>(pub L, pub J);

impl<T, A: Copy, L: Fn(T) -> A, J: Fn(A, A) -> A> Group<T, A> for Tree<L, J> {
    #[inline(always)]
    fn of(&self, at: impl Fn(usize) -> T) -> A {
        joined(&self.1, |j| (self.0)(at(j)))
    }
}

/// [`pairwise`] with a way of its own to fold [`ROWS`] elements.
#[inline(always)]
pub fn grouped<T: Copy, A: Copy>(
    init: A,
    lift: &impl Fn(T) -> A,
    join: &impl Fn(A, A) -> A,
    group: &impl Group<T, A>,
    x: &[T],
) -> A {
    // Accumulators that fill a line of the cache, so that memory is read in its order: a tree of eight lines hides the
    // latency of an addition.
    match x.len() {
        0..8 => x.iter().fold(init, |acc, &v| join(acc, lift(v))),
        8..1024 => leaf::<8, T, A>(init, lift, join, group, x),
        _ if size_of::<A>() <= 4 => tree::<16, T, A>(init, lift, join, group, x),
        _ => tree::<8, T, A>(init, lift, join, group, x),
    }
}

/// Leaves of equal length, of which two that are joined have the same number of elements, but for the last.
#[inline(always)]
fn tree<const LANES: usize, T: Copy, A: Copy>(
    init: A,
    lift: &impl Fn(T) -> A,
    join: &impl Fn(A, A) -> A,
    group: &impl Group<T, A>,
    x: &[T],
) -> A {
    let (mut waiting, mut depth) = ([init; usize::BITS as usize], 0);
    for (i, part) in x.chunks(LEAF).enumerate() {
        let mut sum = leaf::<LANES, T, A>(init, lift, join, group, part);
        for _ in 0..i.trailing_ones() {
            depth -= 1;
            sum = join(waiting[depth], sum);
        }
        waiting[depth] = sum;
        depth += 1;
    }
    waiting[..depth].iter().copied().rev().reduce(|right, left| join(left, right)).unwrap_or(init)
}

/// Element `i` goes to accumulator `i % LANES`; these are then joined.
#[inline(always)]
fn leaf<const LANES: usize, T: Copy, A: Copy>(
    init: A,
    lift: &impl Fn(T) -> A,
    join: &impl Fn(A, A) -> A,
    group: &impl Group<T, A>,
    x: &[T],
) -> A {
    let mut lanes = [init; LANES];
    let (rows, rest) = x.as_chunks::<LANES>();
    let (eights, rows) = rows.as_chunks::<ROWS>();
    for eight in eights {
        for l in 0..LANES {
            lanes[l] = join(lanes[l], group.of(|j| eight[j][l]));
        }
    }
    for row in rows {
        for l in 0..LANES {
            lanes[l] = join(lanes[l], lift(row[l]));
        }
    }
    let few: [A; ROWS] =
        std::array::from_fn(|i| (1..LANES / ROWS).fold(lanes[i], |acc, c| join(acc, lanes[c * ROWS + i])));
    rest.iter().fold(joined(join, |i| few[i]), |acc, &v| join(acc, lift(v)))
}

/// A tree of [`ROWS`] elements.
#[inline(always)]
pub fn joined<A: Copy>(join: &impl Fn(A, A) -> A, at: impl Fn(usize) -> A) -> A {
    let four = |j: usize| join(join(at(j), at(j + 1)), join(at(j + 2), at(j + 3)));
    join(four(0), four(4))
}

/// Rows that are joined before they go to the results, which are loaded and stored that much less often.
pub const ROWS: usize = 8;

/// `n` rows of equal length, `stride` apart, folded into `out`.
#[inline(always)]
pub fn columns<T: Copy, A: Copy>(
    init: A,
    lift: &impl Fn(T) -> A,
    join: &impl Fn(A, A) -> A,
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
                *acc = join(*acc, group.of(|j| rows[j][i]));
            }
        }
        for k in whole..n {
            out.iter_mut().zip(row(k)).for_each(|(acc, &v)| *acc = join(*acc, lift(v)));
        }
    }
}
