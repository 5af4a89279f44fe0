//! Scratch memory of a sequence. A plan says where each value lies during its live range.

use crate::kernel::pointwise::cluster::ALIGNMENT;

/// Scratch memory that is planned: values get the first free range that is large enough.
#[derive(Default)]
pub(super) struct Scratch {
    /// The free ranges, each as its start and its bytes. They are ascending and not adjacent.
    free: Vec<(usize, usize)>,
    /// How many bytes are needed.
    end: usize,
}

impl Scratch {
    /// Takes so many bytes: their start, which is aligned to a cache line.
    pub fn take(&mut self, bytes: usize) -> usize {
        let bytes = bytes.next_multiple_of(ALIGNMENT);
        if let Some(k) = self.free.iter().position(|&(_, n)| n >= bytes) {
            let (start, n) = self.free[k];
            if n == bytes {
                self.free.remove(k);
            } else {
                self.free[k] = (start + bytes, n - bytes);
            }
            return start;
        }
        // What is free at the end grows.
        let start = match self.free.pop_if(|(start, n)| *start + *n == self.end) {
            Some((start, _)) => start,
            None => self.end,
        };
        self.end = start + bytes;
        start
    }

    /// Gives back so many bytes that were taken there.
    pub fn give(&mut self, start: usize, bytes: usize) {
        let bytes = bytes.next_multiple_of(ALIGNMENT);
        if bytes == 0 {
            return;
        }
        let k = self.free.partition_point(|&(s, _)| s < start);
        self.free.insert(k, (start, bytes));
        if k + 1 < self.free.len() && start + bytes == self.free[k + 1].0 {
            self.free[k].1 += self.free.remove(k + 1).1;
        }
        if k > 0 && self.free[k - 1].0 + self.free[k - 1].1 == start {
            self.free[k - 1].1 += self.free.remove(k).1;
        }
    }

    /// How many bytes are needed for all that was taken.
    pub fn bytes(&self) -> usize {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::sized;

    #[test]
    fn what_is_taken_at_a_time_does_not_overlap() {
        let mut scratch = Scratch::default();
        let mut used: Vec<(usize, usize)> = vec![];
        let mut x = 12345u32;
        for _ in 0..sized(2000, 100) {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if !used.is_empty() && x >> 31 == 0 {
                let (start, n) = used.swap_remove(x as usize / 7 % used.len());
                scratch.give(start, n);
                continue;
            }
            let n = (x >> 16) as usize % 300;
            let start = scratch.take(n);
            assert!(start.is_multiple_of(ALIGNMENT) && start + n <= scratch.bytes());
            assert!(used.iter().all(|&(s, m)| s + m <= start || start + n <= s), "{start} {n}");
            used.push((start, n));
        }
        for (start, n) in used {
            scratch.give(start, n);
        }
        let all = scratch.bytes();
        assert_eq!((scratch.free.len(), scratch.take(all), scratch.bytes()), (1, 0, all));
    }
}
