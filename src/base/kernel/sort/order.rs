//! The order of entries: all of it, or chosen positions.

use crate::kernel::interrupt;

/// Which positions of the sorted order are wanted.
#[derive(Clone, Copy)]
pub enum Ranks<'a> {
    /// The first `k`.
    First(usize),
    /// The one with so many before it.
    Nth(usize),
    /// The two in the middle (the same one twice if the number is odd), or twice a NaN if there is one.
    Middle,
    /// For parts from 0 to 1 of the elements: those just below the parts, then those just above them. A NaN is all of
    /// them, or is not counted.
    Around { parts: &'a [f64], ignores_nan: bool },
}

/// Moves the wanted entries to their sorted positions. All entries differ, so an unstable sort gives a stable result.
/// `ranks` are those of [`Ranks::Around`]. `None` if memory is not available.
pub(super) fn chosen<P: Ord + Copy>(places: &mut Vec<P>, want: Ranks<'_>, ranks: &[usize]) -> Option<()> {
    let n = places.len();
    match want {
        Ranks::Around { .. } if ranks.len() > SELECTED => return chosen(places, Ranks::First(n), &[]),
        Ranks::Around { .. } => {
            // From the last rank to the first. The elements before a rank that is done are the smaller ones.
            let mut end = n;
            while let Some(&k) = ranks.iter().filter(|&&k| k < end).max() {
                select(&mut places[..end], k);
                end = k;
            }
        }
        Ranks::First(k) if k < n => {
            if k > 0 {
                select(places, k - 1);
                return sorted(&mut places[..k]);
            }
        }
        Ranks::First(_) => return sorted(places),
        Ranks::Nth(k) => select(places, k),
        Ranks::Middle => {
            select(places, n / 2);
            if n.is_multiple_of(2) {
                select(&mut places[..n / 2], n / 2 - 1);
            }
        }
    }
    Some(())
}

/// More ranks than these are found by a sort.
const SELECTED: usize = 8;

/// Entries that are sorted, or merged, before the caller is asked whether to go on.
const RUN: usize = 1 << 20;

/// Moves the entry with `k` smaller ones to its place, and the smaller ones before it.
fn select<P: Ord + Copy>(list: &mut [P], k: usize) {
    const SAMPLE: usize = 255;
    /// More rounds than these are a list made to be slow here. Its rest is selected in linear time, without a look.
    const ROUNDS: usize = 40;
    let (mut start, mut end) = (0, list.len());
    for _ in 0..ROUNDS {
        let n = end - start;
        if n <= RUN {
            break;
        }
        let mut sample: [P; SAMPLE] = std::array::from_fn(|i| list[start + i * (n / SAMPLE)]);
        sample.sort_unstable();
        // Never the smallest, so that each round leaves fewer entries.
        let pivot = sample[((k - start) / (n / SAMPLE)).clamp(1, SAMPLE - 1)];
        let mut middle = start;
        for part in interrupt::parts(start..end, 1) {
            for i in part {
                let one = list[i];
                list.swap(i, middle);
                middle += usize::from(one < pivot);
            }
        }
        if k < middle {
            end = middle;
        } else {
            start = middle;
        }
    }
    list[start..end].select_nth_unstable(k - start);
}

/// Sorts a list, a long one by merging sorted runs. `None` if there is no memory for a second list.
pub(super) fn sorted<P: Ord + Copy>(list: &mut [P]) -> Option<()> {
    if list.len() <= RUN {
        list.sort_unstable();
        return Some(());
    }
    for run in list.chunks_mut(RUN) {
        run.sort_unstable();
        interrupt::listen();
    }
    let mut copy: Vec<P> = Vec::new();
    copy.try_reserve_exact(list.len()).ok()?;
    copy.extend_from_slice(list);
    let (mut from, mut to) = (list, &mut copy[..]);
    let (mut width, mut is_copy) = (RUN, false);
    while width < from.len() {
        for (pair, to) in from.chunks(2 * width).zip(to.chunks_mut(2 * width)) {
            let (mut a, mut b) = pair.split_at(width.min(pair.len()));
            for part in interrupt::parts(0..pair.len(), 1) {
                for to in &mut to[part] {
                    let is_first = a.first().is_some_and(|a| b.first().is_none_or(|b| a <= b));
                    let one = if is_first { &mut a } else { &mut b };
                    *to = one[0];
                    *one = &one[1..];
                }
            }
        }
        (from, to, is_copy) = (to, from, !is_copy);
        width *= 2;
    }
    if is_copy {
        to.copy_from_slice(from);
    }
    Some(())
}
