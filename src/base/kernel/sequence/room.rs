//! Which part of a sequence's memory has which value.

use crate::kernel::pointwise::cluster::ALIGNMENT;

/// Memory that is planned: which ranges of it are free.
#[derive(Default)]
pub(super) struct Plan {
    /// Ascending, not adjacent.
    free: Vec<(usize, usize)>,
    /// How many bytes are needed.
    end: usize,
}

impl Plan {
    /// Finds room for so many bytes. The start is aligned.
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

    /// Gives back what was found for so many bytes.
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

    /// How many bytes are needed for all that was asked for.
    pub fn bytes(&self) -> usize {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::sized;

    #[test]
    fn what_is_in_use_at_a_time_does_not_overlap() {
        let mut plan = Plan::default();
        let mut used: Vec<(usize, usize)> = vec![];
        let mut x = 12345u32;
        for _ in 0..sized(2000, 100) {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if !used.is_empty() && x >> 31 == 0 {
                let (start, n) = used.swap_remove(x as usize / 7 % used.len());
                plan.give(start, n);
                continue;
            }
            let n = (x >> 16) as usize % 300;
            let start = plan.take(n);
            assert!(start.is_multiple_of(ALIGNMENT) && start + n <= plan.bytes());
            assert!(used.iter().all(|&(s, m)| s + m <= start || start + n <= s), "{start} {n}");
            used.push((start, n));
        }
        for (start, n) in used {
            plan.give(start, n);
        }
        let all = plan.bytes();
        assert_eq!((plan.free.len(), plan.take(all), plan.bytes()), (1, 0, all));
    }
}
