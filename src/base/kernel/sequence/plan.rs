//! How a sequence is made: the live ranges of the results, and where each of them lies.

use std::ops::Range;

use super::arrays::Out;
use super::items::{Item, Part, Source};
use super::run::{Address, Placed, Sequence};
use super::scratch::Scratch;

/// The most bytes of a result that lies in the scratch memory, and of what a kernel of a program reads.
pub const SMALL: usize = 16 << 10;

/// A result of an item.
struct Made {
    bytes: usize,
    /// Which bytes of its memory it has, counted from its first element.
    reach: Range<isize>,
    /// The item after which its live range ends: the last one that reads it, or the one that makes it. None if it is a result of the
    /// sequence.
    last: Option<usize>,
    /// Whether it is an array of its own: a result of the sequence, one that a function of arrays makes or reads, or a large one.
    is_own: bool,
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
        for (m, own) in made.iter().enumerate() {
            if let Some(last) = own.last {
                ending[last].push(m);
            }
        }
        let mut plan = Plan::new(made, reads);
        let placed = items.into_iter().zip(&ending).map(|(item, ending)| plan.place(item, ending)).collect();
        Sequence {
            items: placed,
            reads: ranges.into(),
            owns: plan.owns.into(),
            results: plan.results.into(),
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
    let mut ranges = vec![0..0isize; reads];
    let mut made: Vec<Made> = vec![];
    for (i, item) in items.iter().enumerate() {
        assert!(item.part.is_for(item.ins.len(), &item.outs), "an item gets other operands or results");
        let is_of_arrays = matches!(item.part, Part::Arrays(_));
        for (k, &(source, start)) in item.ins.iter().enumerate() {
            let reach = item.part.reach(k);
            let (low, high) = (start + reach.start, start + reach.end);
            match source {
                Source::Read(r) if low < high => {
                    let range = &mut ranges[r];
                    let is_new = range.start == range.end;
                    *range = if is_new { low..high } else { range.start.min(low)..range.end.max(high) };
                }
                Source::Read(_) => {}
                Source::Made(m) => {
                    let own = &mut made[m];
                    let is_inside = low >= own.reach.start && high <= own.reach.end;
                    assert!(is_inside || low >= high, "an operand leaves the memory of a result");
                    own.last = own.last.map(|_| i);
                    own.is_own |= is_of_arrays;
                }
            }
        }
        made.extend(item.outs.iter().map(|out| {
            let bytes = out.bytes();
            assert!(
                is_of_arrays || out.is_dense(),
                "the elements of a result do not lie one after the other"
            );
            let is_own = is_of_arrays || out.is_result || bytes > SMALL;
            Made { bytes, reach: out.reach(), last: (!out.is_result).then_some(i), is_own }
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
    /// By array of its own: how many bytes it has.
    owns: Vec<usize>,
    results: Vec<usize>,
    /// By result of the items that are placed: where it lies.
    addresses: Vec<Address>,
    /// How many bytes of results are live, and the most there have been.
    live: usize,
    most: usize,
}

impl Plan {
    fn new(made: Vec<Made>, reads: usize) -> Plan {
        let (scratch, owns, results, addresses) = (Scratch::default(), vec![], vec![], vec![]);
        Plan { made, reads, scratch, owns, results, addresses, live: 0, most: 0 }
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
        let ends = ending.iter().filter_map(|&m| self.end(m)).collect();
        let outs: Box<[Address]> = self.addresses[first..].into();
        let owns = outs.iter().enumerate().filter_map(|(k, &at)| Some((k, self.own(at)?))).collect();
        Placed { item, ins, outs, scratch, owns, ends }
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

    /// The number of the array of its own that begins there.
    fn own(&self, at: Address) -> Option<usize> {
        (at.base as usize).checked_sub(1 + self.reads)
    }

    /// Finds a place for the next result: in an array of its own, or in the scratch memory.
    fn result(&mut self, out: &Out) -> Address {
        let bytes = out.bytes();
        self.live = self.live.saturating_add(bytes);
        if !self.made[self.addresses.len()].is_own {
            return Address { base: 0, start: self.scratch.take(bytes) as isize };
        }
        if out.is_result {
            self.results.push(self.owns.len());
        }
        self.owns.push(bytes);
        Address { base: (self.reads + self.owns.len()) as u32, start: 0 }
    }

    /// Ends the live range of a result. Its place in the scratch memory is free then; the number of an array of its own.
    fn end(&mut self, result: usize) -> Option<usize> {
        let (at, bytes) = (self.addresses[result], self.made[result].bytes);
        self.live -= bytes;
        if at.base == 0 {
            self.scratch.give(at.start as usize, bytes);
        }
        self.own(at)
    }
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;
    use crate::array::Array;
    use crate::dtype::DType;
    use crate::kernel::sequence::Arrays;
    use crate::memory::sized;

    /// A function that adds one to an array of so many numbers, and reads this source.
    fn plus_one(source: Source, n: usize, is_result: bool) -> Item {
        let plus_one = |x: &Array| x.to_vec::<f64>().iter().map(|x| x + 1.0).collect::<Vec<f64>>();
        let arrays = Arrays {
            name: "plus_one",
            compute: Box::new(move |ins| Ok(smallvec![Array::from_slice(&plus_one(ins[0]), ins[0].dims())?])),
            ins: [Array::from_slice(&vec![0.0; n], &[n]).unwrap()]
                .map(|x| (DType::F64, x.layout()).into())
                .into(),
        };
        let out = Out { dtype: DType::F64, dims: smallvec![n], strides: None, is_result };
        Item { part: Part::Arrays(arrays), ins: vec![(source, 0)], outs: vec![out] }
    }

    #[test]
    fn a_result_lives_until_the_last_item_that_reads_it() {
        for n in [1, 3, sized(5000, 1100)] {
            let mut items = vec![plus_one(Source::Read(0), n, false)];
            items.extend((0..4).map(|m| plus_one(Source::Made(m), n, m == 3)));
            let sequence = Sequence::new(1, items);
            assert_eq!((sequence.most_bytes(), sequence.bytes), (2 * n * size_of::<f64>(), 0));
            let x = Array::from_slice(&vec![0.5; n], &[n]).unwrap();
            let Ok(Ok(made)) = sequence.run(&[&x], None) else { panic!("it runs") };
            assert_eq!(made[0].to_vec::<f64>(), vec![5.5; n]);
        }
    }

    #[test]
    fn an_item_with_another_layout_is_told_by_its_number() {
        let mut other = plus_one(Source::Made(0), 3, true);
        other.outs[0].dims = smallvec![4];
        let sequence = Sequence::new(1, vec![plus_one(Source::Read(0), 3, false), other]);
        let x = Array::from_slice(&[0.5; 3], &[3]).unwrap();
        assert!(matches!(sequence.run(&[&x], None), Ok(Err(1))));
    }
}
