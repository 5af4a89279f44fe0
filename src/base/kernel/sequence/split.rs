//! Loops whose steps compute single numbers. What the next step does not wait for is computed for many steps at a time, by the
//! loops of the formulas; only the rest is computed step by step.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::items::{Item, Part, Source};
use super::run::{Failure, Sequence};
use super::steps::{From, Out, Steps, bytes_of};
use crate::array::{Array, Unwritten};
use crate::dtype::DType;
use crate::error::Error;
use crate::kernel::interrupt;
use crate::kernel::num::Field;
use crate::kernel::par::SendPtr;
use crate::kernel::pointwise::cluster::{ALIGNMENT, Cluster, copy_number};
use crate::kernel::pointwise::expressions::ADD;
use crate::kernel::pointwise::formula::Formula;
use crate::kernel::pointwise::machine::{CodeOfTiles, of_tile};
use crate::kernel::pointwise::numbers::Numbers;
use crate::kernel::pointwise::row::{self, Address, Instruction, Operand as Place, Row};
use crate::kernel::pointwise::unary::Scalars;

/// A loop of fewer steps is not split.
const FEWEST: usize = 24;
/// The most numbers that a step has, which all lie in other cache lines.
const NUMBERS: usize = 1024;
/// About how many bytes the numbers of all steps of a tile have.
const TILE: usize = 128 << 10;

/// Where a number of a step comes from.
#[derive(Clone, Copy, PartialEq)]
enum Origin {
    /// It begins so many bytes after the beginning of what is given: of a carry, of a row or of another array.
    Given(usize, isize),
    /// A node makes it.
    Made(usize),
}

/// What computes a number.
enum Node<'a> {
    Formula(Cow<'a, Instruction>),
    /// The kernel of an item, whose result is one number.
    Kernel(usize, Vec<Operand>),
}

/// An operand of a kernel.
#[derive(Clone, PartialEq)]
enum Operand {
    /// The number in a slot.
    Number(usize),
    /// What begins so many bytes after the beginning of an array that is given or of its row, and the bytes that are read from there.
    Given(usize, isize, Range<isize>),
}

/// A number that is copied between a tile and an array.
struct Copied {
    /// Which of the arrays that are given, or of those that are made.
    array: usize,
    /// How many bytes after the beginning of the array or its row it begins.
    start: isize,
    size: usize,
    /// The address of its first element in the tile.
    at: Address,
}

/// Nodes of a tile.
enum Phase {
    /// A formula, for all steps.
    Together(Instruction),
    /// Formulas, for all steps: those of this list of the machine code, with the addresses that they know by number.
    Code(usize, Vec<Address>),
    /// The kernel of an item, for all steps, with the address of its result.
    Called(usize, Vec<Operand>, Address),
    /// Sums over the steps: the first place of each, and that of what is added. All numbers are of this dtype.
    Sums(DType, Vec<(Address, Address)>),
    /// Formulas: a step computes all, and then the next step.
    InTurn(Numbers),
}

/// How a loop is split. A tile has a slot for each number of a step, where those of all its steps lie one after the other, `width`
/// bytes apart. All addresses are counted in such numbers.
struct Split {
    /// What it was made for.
    carries: usize,
    columns: usize,
    reads: Vec<usize>,
    outs: Vec<(From, usize)>,
    width: usize,
    /// How many steps a tile has.
    steps: usize,
    /// How many numbers a slot has, and how many slots there are.
    pitch: usize,
    slots: usize,
    phases: Vec<Phase>,
    code: Option<CodeOfTiles>,
    constants: Vec<Copied>,
    rows: Vec<Copied>,
    carried: Vec<Copied>,
    /// The carries that no step changes.
    kept: Vec<usize>,
    results: Vec<Copied>,
    /// The carries before a step, which are results too where the loop keeps them.
    before: Vec<Copied>,
}

/// Those that stand in a list for each node.
type Lists = Vec<Vec<usize>>;

/// Walks from a node to all that it leads to and that were not seen before, each after those that it leads to.
fn walk(root: usize, next: &Lists, seen: &mut [bool], out: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[root], true) {
        return;
    }
    let mut stack = vec![(root, 0)];
    while let Some((k, i)) = stack.pop() {
        match next[k].get(i) {
            Some(&other) => {
                stack.push((k, i + 1));
                if !std::mem::replace(&mut seen[other], true) {
                    stack.push((other, 0));
                }
            }
            None => out.push(k),
        }
    }
}

/// The nodes in sets, each after those that it depends on: the members of a set depend on each other. `after` and `before` have those
/// that read the result of a node, and those whose results it reads, in this step or in the next one.
fn components(after: &Lists, before: &Lists) -> Lists {
    let (mut order, mut seen) = (vec![], vec![false; after.len()]);
    for k in 0..after.len() {
        walk(k, after, &mut seen, &mut order);
    }
    let (mut sets, mut seen) = (vec![], vec![false; after.len()]);
    for k in order.into_iter().rev() {
        let mut set = vec![];
        walk(k, before, &mut seen, &mut set);
        if !set.is_empty() {
            sets.push(set);
        }
    }
    sets
}

/// A sequence as nodes.
#[derive(Default)]
struct Nodes<'a> {
    nodes: Vec<Node<'a>>,
    /// By node: the slots of the numbers that it reads.
    operands: Lists,
    /// By result of an item: the slots of its numbers, each with how many bytes after the beginning of the result it begins.
    made: Vec<Vec<(isize, usize)>>,
    /// By write of the sequence: which result it is.
    writes: Vec<usize>,
    /// By slot: whence the number comes, and how many bytes it has.
    slots: Vec<(Origin, usize)>,
    /// By node: the slot of its result.
    places: Vec<usize>,
    /// By node: the slot of the carry for which it makes the next number.
    homes: Vec<Option<usize>>,
    /// By slot of a carry: that node.
    next: Vec<Option<usize>>,
    kept: Vec<usize>,
    /// As in [`Split`]: by array and beginning, the slots.
    carried: Vec<(usize, isize, usize)>,
    results: Vec<(usize, isize, usize)>,
    before: Vec<(usize, isize, usize)>,
}

impl<'a> Nodes<'a> {
    /// None if an item computes other things than numbers.
    fn new(sequence: &'a Sequence, steps: &Steps<'_>) -> Option<Nodes<'a>> {
        let mut all = Nodes::default();
        for (item, placed) in sequence.items.iter().enumerate() {
            let Item { part, ins, outs } = &placed.item;
            let first = all.made.len();
            match part {
                Part::Cluster(cluster) if cluster.is_of_numbers() => all.formulas(cluster, ins, steps)?,
                Part::Kernel(kernel) if outs.len() == 1 => {
                    let (mut list, mut numbers) = (vec![], vec![]);
                    for (k, &(source, start)) in ins.iter().enumerate() {
                        let reach = kernel.reach(k);
                        list.push(match source {
                            Source::Read(r) if steps.reads[r] >= steps.carries => {
                                Operand::Given(steps.reads[r], start, reach)
                            }
                            _ if reach.start != 0 => return None,
                            _ => {
                                let slot = all.read(source, start, reach.end as usize, steps)?;
                                numbers.push(slot);
                                Operand::Number(slot)
                            }
                        });
                    }
                    let slot = all.push(Node::Kernel(item, list), numbers, outs[0].bytes())?;
                    all.made.push(vec![(0, slot)]);
                }
                _ => return None,
            }
            for (k, out) in outs.iter().enumerate() {
                if out.is_result {
                    all.writes.push(first + k);
                }
            }
        }
        Some(all)
    }

    /// The slot of a number of this size. None if there are too many, or if it is known with another size.
    #[inline(never)]
    fn slot(&mut self, origin: Origin, size: usize) -> Option<usize> {
        if let Some(slot) = self.slots.iter().position(|(other, _)| *other == origin) {
            return (self.slots[slot].1 == size).then_some(slot);
        }
        self.slots.push((origin, size));
        (self.slots.len() <= NUMBERS && (1..=size_of::<u64>()).contains(&size))
            .then_some(self.slots.len() - 1)
    }

    /// The slot of a number that an item reads.
    fn read(&mut self, source: Source, start: isize, size: usize, steps: &Steps<'_>) -> Option<usize> {
        match source {
            Source::Read(r) => self.slot(Origin::Given(steps.reads[r], start), size),
            Source::Made(m) => self.made(m, start, size),
        }
    }

    /// The slot of a number of a result.
    fn made(&self, result: usize, start: isize, size: usize) -> Option<usize> {
        let slot = self.made[result].iter().find(|(at, _)| *at == start)?.1;
        (self.slots[slot].1 == size).then_some(slot)
    }

    /// Adds a node: the slot of its result.
    fn push(&mut self, node: Node<'a>, operands: Vec<usize>, size: usize) -> Option<usize> {
        let slot = self.slot(Origin::Made(self.nodes.len()), size)?;
        self.nodes.push(node);
        self.operands.push(operands);
        self.places.push(slot);
        Some(slot)
    }

    fn formulas(&mut self, cluster: &'a Cluster, ins: &[(Source, isize)], steps: &Steps<'_>) -> Option<()> {
        // By address: the slot of the number that lies there last.
        let mut now: Vec<usize> = vec![];
        for (&(start, size), &(source, of)) in cluster.loads().iter().zip(ins) {
            now.push(self.read(source, of + start, size, steps)?);
        }
        for own in cluster.instructions() {
            let operands = own.operands().iter().map(|x| now[x.address as usize]).collect();
            let slot = self.push(Node::Formula(Cow::Borrowed(own)), operands, own.row.out.size())?;
            now.resize(now.len().max(own.to as usize + 1), 0);
            now[own.to as usize] = slot;
        }
        let first = self.made.len();
        self.made.resize(first + cluster.result_bytes().count(), vec![]);
        for store in cluster.stores() {
            self.made[first + store.write as usize].push((store.start as isize, now[store.cell as usize]));
        }
        Some(())
    }

    /// The slots of the numbers of an array that a step makes. None if it has other things.
    fn elements(&mut self, out: &Out) -> Option<Vec<usize>> {
        let size = out.dtype.size();
        let mut elements = vec![];
        for start in (out.start..out.start + out.bytes()).step_by(size) {
            elements.push(match out.from {
                From::Given(g) => self.slot(Origin::Given(g, start as isize), size)?,
                From::Write(w) => self.made(self.writes[w], start as isize, size)?,
            });
        }
        Some(elements)
    }

    /// Whether a number is the same in all steps, where what is given from number `given` on is.
    #[inline(never)]
    fn is_constant(&self, slot: usize, given: usize) -> bool {
        matches!(self.slots[slot].0, Origin::Given(g, _) if g >= given || self.kept.contains(&g))
    }

    /// If a node is a carry plus a number that is no part of the sum, and makes the next carry: the slot of that number.
    fn added(&self, node: usize) -> Option<usize> {
        let Node::Formula(own) = &self.nodes[node] else { return None };
        let (carry, &[x, y]) = (self.homes[node]?, &self.operands[node][..]) else { return None };
        let is_sum = own.row.formula == ADD.formula && own.row.arithmetic().is_some();
        (is_sum && x == carry && y != carry).then_some(y)
    }

    /// The address of the first element of a slot, of which each has room for `pitch` numbers.
    #[inline(never)]
    fn at(&self, slot: usize, pitch: usize) -> Address {
        let home = match self.slots[slot].0 {
            Origin::Made(node) => self.homes[node],
            Origin::Given(..) => None,
        };
        // The next carry is one place behind the carry.
        home.map_or(slot * pitch, |carry| carry * pitch + 1) as Address
    }

    /// Finds out what the next carries and the results are. None if they are more than numbers.
    fn connect(&mut self, steps: &Steps<'_>) -> Option<()> {
        self.homes = vec![None; self.nodes.len()];
        for (k, out) in steps.outs.iter().enumerate() {
            let size = out.dtype.size();
            let is_kept = k < steps.carries && out.from == From::Given(k) && out.start == 0;
            for (i, made) in self.elements(out)?.into_iter().enumerate() {
                let start = (i * size) as isize;
                if k >= steps.carries {
                    self.results.push((k - steps.carries, start, made));
                    continue;
                }
                let now = self.slot(Origin::Given(k, start), size)?;
                self.before.push((k, start, now));
                if is_kept {
                    continue;
                }
                let node = match self.slots[made].0 {
                    Origin::Made(node) if self.homes[node].is_none() => node,
                    // The loop copies what is given, and what is the next value of another carry as well.
                    _ => {
                        self.homes.push(None);
                        self.push(Node::Formula(Cow::Owned(copying(out.dtype))), vec![made], size)?;
                        self.nodes.len() - 1
                    }
                };
                self.homes[node] = Some(now);
                self.next.resize(self.next.len().max(now + 1), None);
                self.next[now] = Some(node);
                self.carried.push((k, start, now));
            }
            if is_kept {
                self.kept.push(k);
            }
        }
        self.next.resize(self.slots.len(), None);
        Some(())
    }
}

/// The instruction that copies a number.
fn copying(dtype: DType) -> Instruction {
    /// # Safety
    /// As a loop of one operand.
    unsafe fn copied(n: usize, x: *const u8, to: *mut u8, size: &Scalars) {
        let size = size[0] as usize;
        // SAFETY: as the function's `# Safety` section requires; a number and its copy have places of their own.
        unsafe {
            if n == 1 {
                copy_number(x, to, size);
            } else {
                to.copy_from_nonoverlapping(x, n * size);
            }
        }
    }
    struct Copied;
    let row = Row::new(
        row::Loop::Unary(copied),
        Formula::of::<Copied>(None),
        [dtype.size() as f64, 0.0, 0.0],
        dtype,
        dtype,
    );
    Instruction { row, from: [Place::default(); 3], to: 0, also: 0 }
}

/// The phases, where formulas of floats that stand together become machine code.
fn with_code(mut phases: Vec<Phase>) -> (Vec<Phase>, Option<CodeOfTiles>) {
    let of = |phase: &Phase| match phase {
        Phase::Together(own) => of_tile(own),
        _ => None,
    };
    // The phases of each list, and the addresses that its formulas know by number.
    let mut runs: Vec<(Range<usize>, Vec<Address>)> = vec![];
    let mut lists: Vec<Vec<Instruction>> = vec![];
    let mut next = 0;
    for run in phases.chunk_by(|x, y| of(x) == of(y)) {
        let first = next;
        next += run.len();
        if run.len() == 1 || of(&run[0]).is_none() {
            continue;
        }
        let mut places: Vec<Address> = vec![];
        let mut number = |at: &mut Address| {
            let known = places.iter().position(|place| place == at);
            let number = known.unwrap_or(places.len());
            if known.is_none() {
                places.push(*at);
            }
            *at = number as Address;
        };
        let mut list = vec![];
        for phase in run {
            let Phase::Together(own) = phase else { continue };
            let mut own = own.clone();
            own.from[..own.row.operands()].iter_mut().for_each(|operand| number(&mut operand.address));
            number(&mut own.to);
            list.push(own);
        }
        lists.push(list);
        runs.push((first..next, places));
    }
    let lists: Vec<&[Instruction]> = lists.iter().map(Vec::as_slice).collect();
    let code = if lists.is_empty() { None } else { CodeOfTiles::new(&lists, &|_, _| true) };
    if code.is_some() {
        for (k, (run, places)) in runs.into_iter().enumerate().rev() {
            phases.splice(run, [Phase::Code(k, places)]);
        }
    }
    (phases, code)
}

impl Split {
    /// None if the loop cannot be split.
    fn new(sequence: &Sequence, steps: &Steps<'_>) -> Option<Split> {
        let Steps { carries, columns, outs, .. } = *steps;
        let mut all = Nodes::new(sequence, steps)?;
        all.connect(steps)?;
        let Nodes { nodes, operands, slots, next, .. } = &all;
        let is_constant = |slot: usize| all.is_constant(slot, carries + columns);
        let (mut after, mut earlier): (Lists, Lists) = (vec![vec![]; nodes.len()], vec![vec![]; nodes.len()]);
        for (i, own) in operands.iter().enumerate() {
            for &slot in own {
                let maker = match slots[slot].0 {
                    Origin::Made(m) => Some(m),
                    Origin::Given(..) => next[slot],
                };
                if let Some(m) = maker {
                    after[m].push(i);
                    earlier[i].push(m);
                }
            }
        }
        let width = slots.iter().map(|slot| slot.1).max()?.max(size_of::<u32>());
        let is_together = |i: usize| match &nodes[i] {
            Node::Formula(own) => {
                let chooses = own.row.has_forms && own.from[1].step == 0 && !is_constant(operands[i][1]);
                own.row.out.size() == width && operands[i].iter().all(|&x| slots[x].1 == width) && !chooses
            }
            Node::Kernel(..) => true,
        };
        // By node: the phase that it is in. In those with odd numbers the steps come in turn.
        let mut phase = vec![0; nodes.len()];
        let mut lists: Lists = vec![];
        for set in components(&after, &earlier) {
            let is_alone = match set[..] {
                [i] if after[i].contains(&i) => all.added(i).is_some(),
                [i] => is_together(i),
                _ => false,
            };
            let mut own = 0;
            for &m in set.iter().flat_map(|&i| &earlier[i]) {
                own = own.max(phase[m]);
            }
            own += usize::from(own % 2 == usize::from(is_alone));
            lists.resize(lists.len().max(own + 1), vec![]);
            for i in set {
                phase[i] = own;
                lists[own].push(i);
            }
        }
        let bytes = slots.len() * width;
        let tile = (TILE / bytes).clamp(64, 256) / 32 * 32;
        // One more place for the carry after the last step; an odd number of cache lines, so that the numbers of a step do not all
        // have the same place in the first-level cache.
        let pitch = ((tile * width).next_multiple_of(2 * ALIGNMENT) + ALIGNMENT) / width;
        let at = |slot: usize| all.at(slot, pitch);
        let dtype = |i: usize| match &nodes[i] {
            Node::Formula(own) => own.row.of,
            Node::Kernel(..) => DType::U8,
        };
        // By phase: the addresses of what it makes for others.
        let mut needed: Vec<FxHashSet<Address>> = vec![FxHashSet::default(); lists.len()];
        let is_read: FxHashSet<usize> =
            all.results.iter().chain(&all.before).map(|(.., slot)| *slot).collect();
        let mut read: Vec<SmallVec<[usize; 4]>> = vec![SmallVec::new(); slots.len()];
        for (i, own) in operands.iter().enumerate() {
            own.iter().for_each(|&slot| read[slot].push(phase[i]));
        }
        for (i, &slot) in all.places.iter().enumerate() {
            let is_needed = all.homes[i].is_some() || is_read.contains(&slot);
            if is_needed || read[slot].iter().any(|&p| p != phase[i]) {
                needed[phase[i]].insert(at(slot));
            }
        }
        let mut phases = vec![];
        for (p, mut list) in lists.into_iter().enumerate() {
            let is_in_turn = p % 2 == 1;
            if is_in_turn {
                list.sort_unstable();
            }
            let mut formulas = vec![];
            let mut sums: Vec<usize> = vec![];
            let end_sums = |sums: &mut Vec<usize>, phases: &mut Vec<Phase>| {
                for list in sums.chunk_by(|&i, &j| dtype(i) == dtype(j)) {
                    let places = |&i| Some((at(all.places[i]) - 1, at(all.added(i)?)));
                    phases.push(Phase::Sums(dtype(list[0]), list.iter().filter_map(places).collect()));
                }
                sums.clear();
            };
            for i in list {
                if !is_in_turn && all.added(i).is_some() {
                    sums.push(i);
                    continue;
                }
                if earlier[i].iter().any(|m| sums.contains(m)) {
                    end_sums(&mut sums, &mut phases);
                }
                match &nodes[i] {
                    Node::Formula(own) => {
                        let mut own = Instruction::clone(own);
                        own.to = at(all.places[i]);
                        for (k, (operand, &slot)) in own.from.iter_mut().zip(&operands[i]).enumerate() {
                            operand.address = at(slot);
                            let is_one = k == 1 && operand.step == 0 && (is_in_turn || is_constant(slot));
                            operand.step = u8::from(!is_one);
                        }
                        if is_in_turn { formulas.push(own) } else { phases.push(Phase::Together(own)) }
                    }
                    Node::Kernel(..) if is_in_turn => return None,
                    Node::Kernel(item, list) => {
                        let mut list = list.clone();
                        for operand in &mut list {
                            if let Operand::Number(slot) = operand {
                                *slot = at(*slot) as usize;
                            }
                        }
                        phases.push(Phase::Called(*item, list, at(all.places[i])));
                    }
                }
            }
            end_sums(&mut sums, &mut phases);
            if !formulas.is_empty() {
                let is_needed = |address: Address| needed[p].contains(&address);
                phases.push(Phase::InTurn(Numbers::new(&formulas, width as Address, true, &is_needed)));
            }
        }
        let copied = |list: &[(usize, isize, usize)]| -> Vec<Copied> {
            let mut all = vec![];
            for &(array, start, slot) in list {
                all.push(Copied { array, start, size: slots[slot].1, at: at(slot) });
            }
            all
        };
        let (mut constants, mut rows) = (vec![], vec![]);
        for (slot, (origin, _)) in slots.iter().enumerate() {
            let Origin::Given(array, start) = *origin else { continue };
            if is_constant(slot) {
                constants.push((array, start, slot));
            } else if array >= carries {
                rows.push((array, start, slot));
            } else if next[slot].is_none() {
                return None;
            }
        }
        let (phases, code) = with_code(phases);
        Some(Split {
            carries,
            columns,
            reads: steps.reads.to_vec(),
            outs: outs.iter().map(|out| (out.from, out.start)).collect(),
            width,
            steps: tile,
            pitch,
            slots: slots.len(),
            phases,
            code,
            constants: copied(&constants),
            rows: copied(&rows),
            carried: copied(&all.carried),
            kept: all.kept.clone(),
            results: copied(&all.results),
            before: copied(&all.before),
        })
    }

    fn is_for(&self, steps: &Steps<'_>) -> bool {
        let outs = steps.outs.iter().map(|out| (out.from, out.start));
        (self.carries, self.columns) == (steps.carries, steps.columns)
            && self.reads == steps.reads
            && self.outs.iter().copied().eq(outs)
    }

    /// What [`Loop::run`] returns.
    ///
    /// # Errors
    /// For want of memory, those of kernels, and if the loop is interrupted.
    ///
    /// # Panics
    /// If an array is too small for what is read of it.
    fn run(
        &self,
        sequence: &Sequence,
        given: &[&Array],
        steps: &Steps<'_>,
        mut done: Option<&mut dyn FnMut(usize)>,
    ) -> std::result::Result<Vec<Array>, Failure> {
        let Steps { op, carries, length, .. } = *steps;
        let first = |error| Failure { item: 0, error };
        let (width, numbers) = (self.width, self.slots * self.pitch * self.width);
        let room = sequence.parts().map(Part::room).max().unwrap_or(0);
        // Small arrays begin anywhere in a cache line. The numbers are whole lines.
        let all = numbers.checked_add(room).and_then(|all| all.checked_add(ALIGNMENT));
        let all = all.ok_or_else(|| first(Error::memory(op, vec![numbers, room], DType::U8)))?;
        let mut memory = Array::unwritten(op, DType::U8, &[all]).map_err(first)?;
        let tile = memory.ptr();
        let tile = tile.wrapping_add(tile.align_offset(ALIGNMENT));
        let room = tile.wrapping_add(numbers);
        let place = |at: Address| tile.wrapping_add(at as usize * width);
        let mut made: Vec<Unwritten> = vec![];
        let mut results: Vec<(&Copied, *mut u8, isize)> = vec![];
        let outs = steps.outs[carries..].iter().map(|out| (out.dtype, &out.dims[..]));
        let before = given[..carries].iter().map(|x| (x.dtype(), x.dims()));
        let outs = outs.enumerate().map(|own| (own, &self.results));
        let before = before.enumerate().map(|own| (own, &self.before)).filter(|_| steps.keeps);
        for ((k, (dtype, dims)), parts) in outs.chain(before) {
            let (z, to, step) = steps.column(dtype, dims).map_err(first)?;
            made.push(z);
            let own = parts.iter().filter(|part| part.array == k);
            results.extend(own.map(|part| (part, to.wrapping_offset(part.start), step)));
        }
        // Where an array that is no carry has what begins so many bytes after its beginning or that of its row: in the first step, and
        // how far the next step reads from there.
        let source = |array: usize, start: isize, reach: Range<isize>| -> (*mut u8, isize) {
            let (x, range) = (given[array], start + reach.start..start + reach.end);
            if array >= carries + steps.columns {
                let all = range.start.min(0)..range.end.max(1);
                return (x.bytes(0, all).cast_mut().wrapping_offset(start), 0);
            }
            let row = bytes_of(x) / length;
            assert!(range.start >= 0 && range.end <= row as isize, "a read leaves the row");
            let (begin, step) = steps.rows(row);
            (x.ptr().cast_mut().wrapping_offset(begin + start), step)
        };
        let mut read: Vec<(&Copied, *mut u8, isize)> = vec![];
        for part in &self.rows {
            let (x, step) = source(part.array, part.start, 0..part.size as isize);
            read.push((part, x, step));
        }
        // By kernel: where its operands lie in the first step of the first tile, and how far the next step and the next tile read from
        // there.
        let operands = self.phases.iter().filter_map(|phase| match phase {
            Phase::Called(_, ins, _) => Some(ins.iter().map(|operand| match operand {
                Operand::Number(at) => (place(*at as Address), width as isize, 0),
                Operand::Given(array, start, reach) => {
                    let (x, step) = source(*array, *start, reach.clone());
                    (x, step, step)
                }
            })),
            _ => None,
        });
        let operands: Vec<Vec<_>> = operands.map(Iterator::collect).collect();
        let most = self.steps.min(length);
        for part in &self.constants {
            let x = given[part.array].bytes(0, part.start.min(0)..(part.start + part.size as isize).max(1));
            // SAFETY: `bytes` checked that the number lies in the array, and the tile has room for as many steps.
            unsafe { copy(x.offset(part.start), 0, place(part.at), width as isize, part.size, most) };
        }
        for part in &self.carried {
            let x = given[part.array];
            assert!(part.start as usize + part.size <= bytes_of(x), "a read leaves the carry");
            // SAFETY: as above; the carry is contiguous.
            unsafe { copy(x.ptr().offset(part.start), 0, place(part.at), width as isize, part.size, 1) };
        }
        let mut ins: Vec<SendPtr> = vec![];
        let mut start = 0;
        while start < length {
            interrupt::check().map_err(first)?;
            let n = most.min(length - start);
            let after = |x: *mut u8, step: isize| x.wrapping_offset(step * start as isize);
            for &(part, x, step) in &read {
                // SAFETY: the array has a row for each step, in which the number lies.
                unsafe {
                    copy(after(x, step), step, place(part.at), width as isize, part.size, n);
                }
            }
            let mut calls = operands.iter();
            for phase in &self.phases {
                // SAFETY: `new` gave each number that is read or made a place with room for all steps of a tile. What a phase reads
                // is constant, is in a row, was copied above, or is made by an earlier phase, by a formula before in this one or in
                // the step before.
                unsafe {
                    match phase {
                        Phase::Together(formula) => formula.run(n, place),
                        Phase::Code(list, places) => {
                            let addresses: SmallVec<[_; 32]> = places.iter().map(|&at| place(at)).collect();
                            let code = self.code.as_ref().expect("the list is there");
                            code.run(*list, n, addresses.as_ptr());
                        }
                        Phase::Sums(DType::F32, list) => sums::<f32>(list, n, tile, width),
                        Phase::Sums(_, list) => sums::<f64>(list, n, tile, width),
                        Phase::InTurn(formulas) => formulas.run(n, tile),
                        Phase::Called(item, _, to) => {
                            let Part::Kernel(kernel) = &sequence.items[*item].item.part else { continue };
                            let list = calls.next().expect("each has its operands");
                            let at = |x: *mut u8, of_tile: isize| {
                                SendPtr(x.wrapping_offset(start as isize * of_tile))
                            };
                            let failed = |error| Failure { item: *item, error };
                            if let Some(kernel) = kernel.times() {
                                let ins: SmallVec<[_; 4]> =
                                    list.iter().map(|&(x, step, of_tile)| (at(x, of_tile), step)).collect();
                                let out = (SendPtr(place(*to)), width as isize);
                                kernel.run_times(n, &ins, out).map_err(failed)?;
                                continue;
                            }
                            for t in 0..n as isize {
                                ins.clear();
                                for &(x, step, of_tile) in list {
                                    ins.push(at(x.wrapping_offset(t * step), of_tile));
                                }
                                let out = place(*to + t as Address);
                                kernel.run(&ins, &[SendPtr(out)], room).map_err(failed)?;
                            }
                        }
                    }
                }
            }
            for &(part, x, step) in &results {
                // SAFETY: the result has a row for each step, in which the number lies.
                unsafe { copy(place(part.at), width as isize, after(x, step), step, part.size, n) };
            }
            for part in &self.carried {
                // SAFETY: a tile has a place for the carry after its last step.
                unsafe { copy(place(part.at + n as Address), 0, place(part.at), 0, part.size, 1) };
            }
            start += n;
            if let Some(done) = &mut done {
                (0..n).for_each(|_| (0..sequence.items.len()).for_each(&mut *done));
            }
        }
        let mut all = vec![];
        for (k, x) in given[..carries].iter().enumerate() {
            let mut z = Array::unwritten(op, x.dtype(), x.dims()).map_err(first)?;
            if self.kept.contains(&k) {
                // SAFETY: the new array has as many bytes as the carry, which is contiguous.
                unsafe { z.ptr().copy_from_nonoverlapping(x.ptr(), bytes_of(x)) };
            }
            for part in self.carried.iter().filter(|part| part.array == k) {
                // SAFETY: the new array has as many bytes as the carry, in which the number lies.
                unsafe { copy(place(part.at), 0, z.ptr().offset(part.start), 0, part.size, 1) };
            }
            all.push(z.written());
        }
        all.extend(made.into_iter().map(Unwritten::written));
        Ok(all)
    }
}

/// How many sums are computed at a time, because each waits for its last addition.
const AT_ONCE: usize = 4;

/// Sums over `n` steps of a tile, each of which has a place for the sum before the first step and one after each step.
///
/// # Safety
/// The tile has these places, `width` bytes apart, with numbers of type `T`, and nobody else uses it.
#[inline(never)]
unsafe fn sums<T: Field>(list: &[(Address, Address)], n: usize, tile: *mut u8, width: usize) {
    let place = |at: Address| tile.wrapping_add(at as usize * width);
    for list in list.chunks(AT_ONCE) {
        // Fewer sums are computed several times.
        let own: [_; AT_ONCE] = std::array::from_fn(|k| list[k.min(list.len() - 1)]);
        let own = own.map(|(sum, added)| (place(sum), place(added)));
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            let mut all = own.map(|(sum, _)| *sum.cast::<T>());
            for at in (0..n).map(|t| t * width) {
                for (all, (sum, added)) in all.iter_mut().zip(own) {
                    *all = all.add(*added.wrapping_add(at).cast::<T>());
                    *sum.wrapping_add(at + width).cast::<T>() = *all;
                }
            }
        }
    }
}

/// Copies `n` numbers of `size` bytes, which lie `from_step` and `to_step` bytes apart.
///
/// # Safety
/// The numbers can be read and written there, and nobody else uses those that are written.
#[inline(never)]
unsafe fn copy(from: *const u8, from_step: isize, to: *mut u8, to_step: isize, size: usize, n: usize) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        if from_step == size as isize && to_step == size as isize {
            return to.copy_from_nonoverlapping(from, n * size);
        }
        let at = |i: usize| {
            let i = i as isize;
            (from.wrapping_offset(i * from_step), to.wrapping_offset(i * to_step))
        };
        // With a constant size the loop has no branches.
        match size {
            8 if from_step == 0 && to_step == 8 => {
                let number = from.cast::<u64>().read_unaligned();
                (0..n).for_each(
                    #[inline(always)]
                    |i| to.cast::<u64>().add(i).write_unaligned(number),
                );
            }
            8 => (0..n).for_each(
                #[inline(always)]
                |i| copy_number(at(i).0, at(i).1, 8),
            ),
            _ => (0..n).for_each(
                #[inline(always)]
                |i| copy_number(at(i).0, at(i).1, size),
            ),
        }
    }
}

/// A sequence as the steps of loops, which remembers how they are split.
#[derive(Default)]
pub struct Loop(OnceLock<Option<Box<Split>>>);

impl Loop {
    /// Runs the steps of a loop: the last carry, the results as columns, and perhaps the carries before each step. `sequence` is
    /// the same one in all calls. None if a result has another layout in some step, or if an item would copy much in each step.
    ///
    /// # Errors
    /// For want of memory, those of kernels and of functions of arrays, and if the loop is interrupted.
    ///
    /// # Panics
    /// If an array is too small for what is read of it, or a carry or a column is not contiguous.
    pub fn run(
        &self,
        sequence: &Sequence,
        given: &[&Array],
        steps: &Steps<'_>,
        done: Option<&mut dyn FnMut(usize)>,
    ) -> std::result::Result<Option<Vec<Array>>, Failure> {
        if !sequence.fits(given, steps) {
            return Ok(None);
        }
        let split = (steps.length >= FEWEST)
            .then(|| match self.0.get() {
                Some(known) => known.as_deref(),
                None => {
                    // It is made first, so that nobody waits for a thread that makes it.
                    let made = Split::new(sequence, steps).map(Box::new);
                    self.0.get_or_init(|| made).as_deref()
                }
            })
            .flatten();
        match split.filter(|split| split.is_for(steps)) {
            Some(split) => split.run(sequence, given, steps, done).map(Some),
            None => sequence.in_turn(given, steps, done),
        }
    }
}
