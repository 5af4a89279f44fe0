//! How a sequence is made: the live ranges of the results, and where each of them lies.

use std::ops::Range;

use super::arrays::Out;
use super::items::{Item, Part, Source};
use super::run::{Address, Placed, Sequence, Uses, Write};
use super::scratch::Scratch;

/// A result of an item.
struct Made {
    bytes: usize,
    /// The item after which its live range ends: the last one that reads it, or the one that makes it.
    last: usize,
    uses: Uses,
}

impl Sequence {
    /// A sequence that reads so many arrays.
    ///
    /// # Panics
    /// If an item has operands or results that do not suit it, or reads what no earlier item makes.
    pub fn new(reads: usize, items: Vec<Item>) -> Sequence {
        let (ranges, made) = live_ranges(reads, &items);
        // By item: the results whose live ranges end there.
        let mut ending: Vec<Vec<usize>> = vec![vec![]; items.len()];
        made.iter().enumerate().for_each(|(m, own)| ending[own.last].push(m));
        let mut plan = Plan::new(made, reads);
        let placed = items.into_iter().zip(&ending).map(|(item, ending)| plan.place(item, ending)).collect();
        Sequence {
            items: placed,
            reads: ranges.into(),
            writes: plan.writes.into(),
            bytes: plan.scratch.bytes(),
            most: plan.most,
        }
    }
}

/// By array that is read: the bytes, counted from the first element. By result of the items: how long it lives.
///
/// # Panics
/// As [`Sequence::new`].
fn live_ranges(reads: usize, items: &[Item]) -> (Vec<Range<isize>>, Vec<Made>) {
    let mut ranges = vec![0..1isize; reads];
    let mut made: Vec<Made> = vec![];
    for (i, item) in items.iter().enumerate() {
        assert!(item.part.is_for(item.ins.len(), &item.outs), "an item gets other operands or results");
        for (k, &(source, start)) in item.ins.iter().enumerate() {
            let reach = item.part.reach(k);
            let (low, high) = (start + reach.start, start + reach.end);
            match source {
                Source::Read(r) => {
                    let range = &mut ranges[r];
                    *range = range.start.min(low)..range.end.max(high);
                }
                Source::Made(m) => {
                    let own = &mut made[m];
                    assert!(
                        low >= 0 && high as usize <= own.bytes,
                        "an operand leaves the memory of a result"
                    );
                    own.last = i;
                    match item.part {
                        Part::Arrays(_) => own.uses.as_array = Some(i),
                        _ => own.uses.in_memory = true,
                    }
                }
            }
        }
        made.extend(item.outs.iter().map(|out| Made {
            bytes: out.bytes(),
            last: i,
            uses: Uses { as_array: None, in_memory: out.is_result },
        }));
    }
    (ranges, made)
}

/// A plan of where the operands and results of items lie.
struct Plan {
    made: Vec<Made>,
    /// How many arrays are read.
    reads: usize,
    scratch: Scratch,
    writes: Vec<Write>,
    /// By result of the items that are placed: where it lies.
    addresses: Vec<Address>,
    /// How many bytes of results are live in the scratch memory, and the most there have been.
    live: usize,
    most: usize,
}

impl Plan {
    fn new(made: Vec<Made>, reads: usize) -> Plan {
        let (scratch, writes, addresses) = (Scratch::default(), vec![], vec![]);
        Plan { made, reads, scratch, writes, addresses, live: 0, most: 0 }
    }

    /// The next item with its addresses. `ending` are the results whose live ranges end after it.
    fn place(&mut self, item: Item, ending: &[usize]) -> Placed {
        let ins = item.ins.iter().map(|&(source, start)| self.operand(source, start)).collect();
        let first = self.addresses.len();
        for out in &item.outs {
            let at = self.result(out);
            self.addresses.push(at);
        }
        self.most = self.most.max(self.live);
        let bytes = item.part.scratch();
        let scratch = self.scratch.take(bytes);
        self.scratch.give(scratch, bytes);
        for &m in ending {
            self.end(m);
        }
        let results = first..self.addresses.len();
        let outs = self.addresses[results.clone()].into();
        let uses = match item.part {
            Part::Arrays(_) => self.made[results].iter().map(|own| own.uses).collect(),
            _ => [].into(),
        };
        Placed { item, ins, outs, scratch, first, uses }
    }

    fn operand(&self, source: Source, start: isize) -> Address {
        match source {
            Source::Read(r) => Address { base: 1 + r as u32, start },
            Source::Made(m) => {
                let own = self.addresses[m];
                Address { start: own.start + start, ..own }
            }
        }
    }

    /// Finds a place for a result: in an array of its own, or in the scratch memory.
    fn result(&mut self, out: &Out) -> Address {
        let bytes = out.bytes();
        if out.is_result {
            let (dtype, dims, strides) = (out.dtype, out.dims.clone(), out.strides.clone());
            self.writes.push(Write { dtype, dims, strides, bytes });
            return Address { base: (self.reads + self.writes.len()) as u32, start: 0 };
        }
        self.live += bytes;
        Address { base: 0, start: self.scratch.take(bytes) as isize }
    }

    /// Ends the live range of a result. Its place is free if that is in the scratch memory.
    fn end(&mut self, result: usize) {
        let (at, bytes) = (self.addresses[result], self.made[result].bytes);
        if at.base == 0 {
            self.scratch.give(at.start as usize, bytes);
            self.live -= bytes;
        }
    }
}
