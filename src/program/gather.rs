//! The steps of a group as one cluster, or as one scalar program.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::parts::{Applied, Id, Made, Memory, Piece, Step};
use super::way::{Place, Pointwise};
use crate::kernel::pointwise::cluster::{
    Cluster, End, Read, Reading, ScalarProgram, Walk, Write, are_scalars, has_room,
};
use crate::kernel::pointwise::row::{Address, Instruction, Loop, Operand, PairLoop};
use crate::kernel::reduce::tiles::{Lengths, RowFold};
use crate::kernel::sequence::Part;
use crate::shape;

/// The steps of a group.
pub(super) struct Parts {
    /// In the order of their results.
    pub members: Vec<(Step, Pointwise)>,
    pub folds: Vec<(Step, RowFold)>,
    pub packs: Vec<Step>,
}

/// Where a cluster puts a result.
#[derive(Clone, Copy)]
enum Home {
    Write(usize),
    Register(usize),
}

/// Where a cluster finds an operand: among what it reads, or among the results of its members.
#[derive(Clone, Copy)]
enum From {
    Read(usize),
    Member(usize),
}

/// A cluster that is being made. Its addresses are those of what it reads, then of what it writes, then its registers.
struct Gathering<'a> {
    memory: Memory<'a>,
    members: &'a [(Step, Pointwise)],
    /// By result: the member that makes it.
    made: FxHashMap<Id, usize>,
    /// By member: the last one that reads its result, or itself.
    last: Vec<usize>,
    /// By member: what computes it together with the next one.
    pairs: Vec<Option<PairLoop>>,
    reads: Vec<Id>,
    readings: Vec<Read>,
    /// By place, and whether it is read as one number: what reads it.
    known: FxHashMap<(&'a Place, bool), usize>,
    writes: Vec<Id>,
    registers: usize,
    /// The registers whose results no later member reads.
    free: Vec<usize>,
    /// By member: where its result goes.
    homes: Vec<Home>,
    /// By member: its operands, and by how many elements they go on from one element to the next.
    operands: Vec<SmallVec<[(From, u8); 3]>>,
}

/// The steps as one cluster or scalar program. None if it would need too many registers or addresses.
pub(super) fn gathered(memory: Memory<'_>, parts: &Parts, outside: &FxHashSet<Id>) -> Option<Piece> {
    let Parts { members, folds, packs } = parts;
    let n = members.first().map_or(1, |(_, p)| p.n);
    let lengths = folds.iter().try_fold(Lengths::ANY, |lengths, (_, fold)| lengths.with(fold))?;
    let mut all = Gathering::new(memory, parts);
    for k in 0..members.len() {
        all.add_operands(k);
        all.add_result(k, outside);
    }
    let packed: Vec<Vec<From>> = packs.iter().map(|step| all.pack(step)).collect();
    let (registers, widest) = (all.registers, all.widest());
    let addresses = all.reads.len() + all.writes.len() + registers;
    if !has_room(n, widest, registers, addresses, lengths) {
        return None;
    }
    let (instructions, numbers) = all.instructions();
    let results = all.results(&packed);
    let made_by = |step: &Step| all.made[&memory.whole(step.ins[0]).0];
    let ends = folds.iter().map(|(step, fold)| {
        let of = made_by(step);
        End { fold: fold.clone(), of: numbers[of], address: all.address(From::Member(of)) }
    });
    let ends = ends.collect();
    // The results of folds come in the order of the instructions.
    let mut folds: Vec<&Step> = folds.iter().map(|(step, _)| step).collect();
    shape::sort_by_key(&mut folds, |step| made_by(step));
    let outs = all.writes.iter().copied().chain(folds.iter().map(|step| step.outs[0])).collect();
    // A step that was taken apart is named once.
    let mut named = FxHashSet::default();
    let steps = members.iter().map(|(step, _)| step).chain(folds).chain(packs);
    let steps = steps.filter(|step| named.insert(Arc::as_ptr(&step.op).cast::<()>()));
    let ops = steps.map(Applied::of).collect();
    let part = if are_scalars(n, widest) {
        Part::Scalars(Box::new(ScalarProgram::new(instructions, &all.readings, &results, registers)))
    } else {
        Part::Cluster(Box::new(Cluster::new(n, instructions, all.readings, results, ends, registers)))
    };
    Some(Piece { part, ins: all.reads, made: Made { outs, ops } })
}

impl<'a> Gathering<'a> {
    fn new(memory: Memory<'a>, Parts { members, packs, .. }: &'a Parts) -> Gathering<'a> {
        let made: FxHashMap<Id, usize> =
            members.iter().enumerate().map(|(k, (step, _))| (step.outs[0], k)).collect();
        let mut last: Vec<usize> = (0..members.len()).collect();
        let member = |id: &Id| made.get(&memory.whole(*id).0).copied();
        for (k, (step, _)) in members.iter().enumerate() {
            step.ins.iter().filter_map(member).for_each(|m| last[m] = k);
        }
        packs.iter().flat_map(|step| &step.ins).filter_map(member).for_each(|m| last[m] = usize::MAX);
        let mut pairs = vec![None; members.len()];
        for (k, two) in members.windows(2).enumerate() {
            let [(value, p), (next, q)] = two else { continue };
            let is_read = next.ins.iter().any(|&id| memory.whole(id).0 == value.outs[0]);
            if !is_read && let Some(both) = p.pair(q) {
                // The result of the next one then needs another register.
                (pairs[k], last[k]) = (Some(both), last[k].max(k + 1));
            }
        }
        Gathering {
            memory,
            members,
            made,
            last,
            pairs,
            reads: vec![],
            readings: vec![],
            known: FxHashMap::default(),
            writes: vec![],
            registers: 0,
            free: vec![],
            homes: vec![],
            operands: vec![],
        }
    }

    /// The bytes of the largest element that is read or made.
    fn widest(&self) -> usize {
        let read = self.readings.iter().map(|read| read.dtype.size());
        read.chain(self.members.iter().map(|(_, p)| p.row.out.size())).max().unwrap_or(1)
    }

    fn new_register(&mut self) -> usize {
        self.registers += 1;
        self.registers - 1
    }

    /// Finds out where member `k` finds its operands.
    fn add_operands(&mut self, k: usize) {
        let (_, p) = &self.members[k];
        let operands = p.ins.iter().map(|place| self.operand(place, p)).collect();
        self.operands.push(operands);
    }

    fn operand(&mut self, place: &'a Place, p: &Pointwise) -> (From, u8) {
        let (whole, start) = self.memory.whole(place.id);
        if let Some(&m) = self.made.get(&whole) {
            return (From::Member(m), 1);
        }
        let once = place.is_one_element(p.n) && (p.n == 1 || !matches!(p.row.apply, Loop::Unary(_)));
        let r = match self.known.get(&(place, once)) {
            Some(&r) => r,
            None => {
                let reading = match place.axes.as_deref().and_then(Walk::new).filter(|_| !once) {
                    None if once => Reading::Once,
                    None => Reading::Along,
                    // Which address the register has is known when all is read.
                    Some(walk) => Reading::Walk(walk, self.new_register() as Address),
                };
                let r = self.read(whole, Read { reading, dtype: self.memory.dtype(place.id), start });
                self.known.insert((place, once), r);
                r
            }
        };
        (From::Read(r), u8::from(!once))
    }

    fn read(&mut self, whole: Id, reading: Read) -> usize {
        self.reads.push(whole);
        self.readings.push(reading);
        self.reads.len() - 1
    }

    /// Finds a home for the result of member `k`. The registers of what it is the last to read are free then.
    fn add_result(&mut self, k: usize, outside: &FxHashSet<Id>) {
        let step = &self.members[k].0;
        let out = step.outs[0];
        let home = if outside.contains(&out) {
            self.writes.push(out);
            Home::Write(self.writes.len() - 1)
        } else {
            let free = self.free.pop();
            Home::Register(free.unwrap_or_else(|| self.new_register()))
        };
        self.homes.push(home);
        // A result that only a fold reads is free after its own instruction.
        let read = step.ins.iter().filter_map(|&id| self.made.get(&self.memory.whole(id).0).copied());
        let mut read: SmallVec<[usize; 3]> = read.chain(k.saturating_sub(1)..=k).collect();
        shape::sort_by_key(&mut read, |&m| m);
        read.dedup();
        for m in read.into_iter().filter(|&m| self.last[m] == k) {
            if let Home::Register(r) = self.homes[m] {
                self.free.push(r);
            }
        }
    }

    /// Where the elements of an array of single numbers are.
    fn pack(&mut self, step: &Step) -> Vec<From> {
        let mut places = vec![];
        for &id in &step.ins {
            let (whole, start) = self.memory.whole(id);
            places.push(match self.made.get(&whole) {
                Some(&m) => From::Member(m),
                None => {
                    let dtype = self.memory.dtype(id);
                    From::Read(self.read(whole, Read { reading: Reading::Once, dtype, start }))
                }
            });
        }
        self.writes.push(step.outs[0]);
        places
    }

    /// The address of register 0.
    fn first_register(&self) -> usize {
        self.reads.len() + self.writes.len()
    }

    fn address(&self, of: From) -> Address {
        let address = match of {
            From::Read(r) => match self.readings[r].reading {
                Reading::Walk(_, register) => register as usize,
                _ => r,
            },
            From::Member(m) => match self.homes[m] {
                Home::Write(w) => self.reads.len() + w,
                Home::Register(r) => self.first_register() + r,
            },
        };
        address as Address
    }

    /// The instructions, and by member the number of its instruction.
    fn instructions(&mut self) -> (Vec<Instruction>, Vec<usize>) {
        let first = self.first_register() as Address;
        for read in &mut self.readings {
            if let Reading::Walk(_, register) = &mut read.reading {
                *register += first;
            }
        }
        let mut instructions: Vec<Instruction> = vec![];
        let mut numbers = vec![];
        for (k, (_, p)) in self.members.iter().enumerate() {
            let to = self.address(From::Member(k));
            let mut from = [Operand::default(); 3];
            for (from, &(place, step)) in from.iter_mut().zip(&self.operands[k]) {
                *from = Operand { address: self.address(place), step };
            }
            if p.n == 1 {
                from[1].step = u8::from(!p.has_single);
            }
            match k.checked_sub(1).and_then(|before| self.pairs[before]).zip(instructions.last_mut()) {
                Some((both, own)) => {
                    (own.row.apply, own.from, own.also) =
                        (Loop::Pair(both), [from[0], own.from[0], from[2]], to);
                }
                None => instructions.push(Instruction { row: p.row, from, to, also: to }),
            }
            numbers.push(instructions.len() - 1);
        }
        (instructions, numbers)
    }

    /// What the cluster writes: results of instructions, and then arrays of single numbers.
    fn results(&self, packed: &[Vec<From>]) -> Vec<Write> {
        let single = self.writes.len() - packed.len();
        let write = |(w, &id): (usize, &Id)| {
            let from = w.checked_sub(single).map(|p| packed[p].iter().map(|&from| self.address(from)));
            Write { dtype: self.memory.dtype(id), from: from.map(Iterator::collect) }
        };
        self.writes.iter().enumerate().map(write).collect()
    }
}
