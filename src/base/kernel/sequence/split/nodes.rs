//! The dependence graph of a step: the numbers that it has, and the nodes that compute them.

use std::borrow::Cow;

use super::Operand;
use super::components::Dependences;
use crate::dtype::DType;
use crate::kernel::pointwise::cluster::{Cluster, copy_number};
use crate::kernel::pointwise::formula::Formula;
use crate::kernel::pointwise::row::{self, Instruction, Row};
use crate::kernel::pointwise::unary::Scalars;
use crate::kernel::sequence::items::{Item, Kernel, Part, Source};
use crate::kernel::sequence::run::Sequence;
use crate::kernel::sequence::steps::{From, Out, Steps};

/// The most numbers that a step has, which all lie in other cache lines.
const NUMBERS: usize = 1024;

/// Which of the numbers of a step one is.
pub(super) type Slot = usize;

/// Where a number of a step comes from.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Origin {
    /// It begins so many bytes after the beginning of what is given: of a carry, of a row or of another array.
    Given(usize, isize),
    /// A node makes it.
    Made(usize),
}

/// A number of a step.
pub(super) struct Number {
    pub origin: Origin,
    pub size: usize,
    /// If it is of a carry that steps change: the node that makes the next one.
    pub next: Option<usize>,
}

/// What computes a number.
pub(super) enum Work<'a> {
    Formula(Cow<'a, Instruction>),
    /// The kernel of an item, whose result is one number.
    Kernel(usize, Vec<Operand<Slot>>),
}

/// What computes a number, from which numbers, and which one.
pub(super) struct Node<'a> {
    pub work: Work<'a>,
    pub operands: Vec<Slot>,
    pub result: Slot,
    /// If its result is the next carry: the carry.
    pub carry: Option<Slot>,
}

/// A number of an array that is given or made.
pub(super) struct Element {
    pub array: usize,
    /// How many bytes after the beginning of the array or its row it begins.
    pub start: isize,
    pub slot: Slot,
}

/// A step as numbers and nodes.
#[derive(Default)]
pub(super) struct Nodes<'a> {
    pub nodes: Vec<Node<'a>>,
    pub numbers: Vec<Number>,
    /// The carries that no step changes.
    pub kept: Vec<usize>,
    /// The elements of the other carries, those of the results, and those of all carries before the step.
    pub carried: Vec<Element>,
    pub results: Vec<Element>,
    pub before: Vec<Element>,
    /// How many of the arrays that are given are carries or columns.
    moving: usize,
}

impl<'a> Nodes<'a> {
    /// The nodes of a step. None if it computes other things than numbers, or too many of them.
    pub fn new(sequence: &'a Sequence, steps: &Steps<'_>) -> Option<Nodes<'a>> {
        let nodes = Nodes { moving: steps.carries + steps.columns, ..Nodes::default() };
        let mut builder = Builder { steps, nodes, results: vec![], writes: vec![] };
        for (i, placed) in sequence.items.iter().enumerate() {
            builder.add_item(i, &placed.item)?;
        }
        for (k, out) in steps.outs.iter().enumerate() {
            match k.checked_sub(steps.carries) {
                Some(result) => builder.add_result(result, out)?,
                None => builder.add_carry(k, out)?,
            }
        }
        Some(builder.nodes)
    }

    /// Whether a number is the same in all steps.
    #[inline(never)]
    pub fn is_constant(&self, slot: Slot) -> bool {
        let is_same = |g: usize| g >= self.moving || self.kept.contains(&g);
        matches!(self.numbers[slot].origin, Origin::Given(g, _) if is_same(g))
    }

    /// Which nodes depend on which. A dependence on a carry is carried by the loop: it is one on the node that makes the carry in
    /// the step before.
    pub fn dependences(&self) -> Dependences {
        let maker = |&slot: &Slot| match self.numbers[slot].origin {
            Origin::Made(node) => Some(node),
            Origin::Given(..) => self.numbers[slot].next,
        };
        let pairs = self
            .nodes
            .iter()
            .enumerate()
            .flat_map(|(i, node)| node.operands.iter().filter_map(maker).map(move |maker| [maker, i]));
        Dependences::new(self.nodes.len(), pairs)
    }
}

/// Makes the nodes of a step. Its methods return None where [`Nodes::new`] does.
struct Builder<'a, 'b> {
    steps: &'b Steps<'b>,
    nodes: Nodes<'a>,
    /// By result of an item: its elements, each with how many bytes after the beginning of the result it begins.
    results: Vec<Vec<(isize, Slot)>>,
    /// By write of the sequence: which result it is.
    writes: Vec<usize>,
}

impl<'a> Builder<'a, '_> {
    fn add_item(&mut self, i: usize, item: &'a Item) -> Option<()> {
        let first = self.results.len();
        match &item.part {
            Part::Cluster(cluster) if cluster.is_of_numbers() => self.add_formulas(cluster, &item.ins)?,
            Part::Kernel(kernel) if item.outs.len() == 1 => self.add_kernel(i, &**kernel, item)?,
            _ => return None,
        }
        let own = (first..).zip(&item.outs).filter(|(_, out)| out.is_result);
        self.writes.extend(own.map(|(result, _)| result));
        Some(())
    }

    /// Adds the formulas of a cluster of numbers.
    fn add_formulas(&mut self, cluster: &'a Cluster, ins: &[(Source, isize)]) -> Option<()> {
        // By address: the slot of the number that lies there last.
        let mut now: Vec<Slot> = vec![];
        for (&(start, size), &(source, of)) in cluster.loads().iter().zip(ins) {
            now.push(self.read(source, of + start, size)?);
        }
        for own in cluster.instructions() {
            let operands = own.operands().iter().map(|x| now[x.address as usize]).collect();
            let slot = self.push(Work::Formula(Cow::Borrowed(own)), operands, own.row.out.size())?;
            now.resize(now.len().max(own.to as usize + 1), 0);
            now[own.to as usize] = slot;
        }
        let first = self.results.len();
        self.results.resize(first + cluster.result_bytes().count(), vec![]);
        for store in cluster.stores() {
            let result = &mut self.results[first + store.write as usize];
            result.push((store.start as isize, now[store.cell as usize]));
        }
        Some(())
    }

    /// Adds the kernel of item `i`. What it reads of rows and of arrays that are the same in all steps stays where it is.
    fn add_kernel(&mut self, i: usize, kernel: &dyn Kernel, item: &Item) -> Option<()> {
        let (mut operands, mut numbers) = (vec![], vec![]);
        for (k, &(source, start)) in item.ins.iter().enumerate() {
            let reach = kernel.reach(k);
            operands.push(match source {
                Source::Read(r) if self.steps.reads[r] >= self.steps.carries => {
                    Operand::Given(self.steps.reads[r], start, reach)
                }
                _ if reach.start != 0 => return None,
                _ => {
                    let slot = self.read(source, start, reach.end as usize)?;
                    numbers.push(slot);
                    Operand::Number(slot)
                }
            });
        }
        let slot = self.push(Work::Kernel(i, operands), numbers, item.outs[0].bytes())?;
        self.results.push(vec![(0, slot)]);
        Some(())
    }

    /// Adds the elements of result `k` of the loop.
    fn add_result(&mut self, k: usize, out: &Out) -> Option<()> {
        for (start, slot) in self.elements(out)? {
            self.nodes.results.push(Element { array: k, start, slot });
        }
        Some(())
    }

    /// Adds the elements of carry `k`, and finds or makes the nodes that make the next ones.
    fn add_carry(&mut self, k: usize, out: &Out) -> Option<()> {
        let is_kept = out.from == From::Given(k) && out.start == 0;
        for (start, next) in self.elements(out)? {
            let carry = self.slot(Origin::Given(k, start), out.dtype.size())?;
            self.nodes.before.push(Element { array: k, start, slot: carry });
            if is_kept {
                continue;
            }
            let node = match self.nodes.numbers[next].origin {
                Origin::Made(node) if self.nodes.nodes[node].carry.is_none() => node,
                // The loop copies what is given, and what is the next value of another carry as well.
                _ => {
                    let copy = Work::Formula(Cow::Owned(copying(out.dtype)));
                    self.push(copy, vec![next], out.dtype.size())?;
                    self.nodes.nodes.len() - 1
                }
            };
            self.nodes.nodes[node].carry = Some(carry);
            self.nodes.numbers[carry].next = Some(node);
            self.nodes.carried.push(Element { array: k, start, slot: carry });
        }
        if is_kept {
            self.nodes.kept.push(k);
        }
        Some(())
    }

    /// The slot of a number of this size. None if there are too many, or if it is known with another size.
    #[inline(never)]
    fn slot(&mut self, origin: Origin, size: usize) -> Option<Slot> {
        let numbers = &mut self.nodes.numbers;
        if let Some(slot) = numbers.iter().position(|number| number.origin == origin) {
            return (numbers[slot].size == size).then_some(slot);
        }
        numbers.push(Number { origin, size, next: None });
        (numbers.len() <= NUMBERS && (1..=size_of::<u64>()).contains(&size)).then_some(numbers.len() - 1)
    }

    /// Adds a node: the slot of its result.
    fn push(&mut self, work: Work<'a>, operands: Vec<Slot>, size: usize) -> Option<Slot> {
        let result = self.slot(Origin::Made(self.nodes.nodes.len()), size)?;
        self.nodes.nodes.push(Node { work, operands, result, carry: None });
        Some(result)
    }

    /// The slot of a number that an item reads.
    fn read(&mut self, source: Source, start: isize, size: usize) -> Option<Slot> {
        match source {
            Source::Read(r) => self.slot(Origin::Given(self.steps.reads[r], start), size),
            Source::Made(m) => self.element(m, start, size),
        }
    }

    /// The slot of an element of the result of an item.
    fn element(&self, result: usize, start: isize, size: usize) -> Option<Slot> {
        let slot = self.results[result].iter().find(|(at, _)| *at == start)?.1;
        (self.nodes.numbers[slot].size == size).then_some(slot)
    }

    /// The elements of an array that a step makes, each with how many bytes after the beginning of the array it begins.
    fn elements(&mut self, out: &Out) -> Option<Vec<(isize, Slot)>> {
        let size = out.dtype.size();
        let mut elements = vec![];
        for start in (0..out.bytes()).step_by(size) {
            let from = (out.start + start) as isize;
            let slot = match out.from {
                From::Given(g) => self.slot(Origin::Given(g, from), size)?,
                From::Result(w) => self.element(self.writes[w], from, size)?,
            };
            elements.push((start as isize, slot));
        }
        Some(elements)
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
    Instruction { row, from: [row::Operand::default(); 3], to: 0, also: 0 }
}
