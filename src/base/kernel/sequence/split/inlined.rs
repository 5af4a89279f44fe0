//! A step as one scalar program: those of its items inlined, with the calls of its kernels.

use smallvec::SmallVec;

use super::components::Dependences;
use super::{Cell, Copied, Operand};
use crate::dtype::DType;
use crate::kernel::pointwise::cluster::{ScalarProgram, copy_number};
use crate::kernel::pointwise::formula::Formula;
use crate::kernel::pointwise::row::{self, Instruction, Row};
use crate::kernel::pointwise::unary::Scalars;
use crate::kernel::sequence::items::{Item, Kernel, Part, Source};
use crate::kernel::sequence::run::Sequence;
use crate::kernel::sequence::steps::{From, Out, Steps};

/// The most numbers that a step has, which all lie in other cache lines.
const NUMBERS: usize = 1024;

/// A number of a step.
pub(super) struct Number {
    pub size: usize,
    /// If it is given: in which carry, row or other array, and how many bytes after the beginning of that it begins.
    pub given: Option<(usize, isize)>,
    /// The work that makes it, or if it is of a carry that steps change, the next one.
    pub maker: Option<usize>,
    /// If it is the next one of a carry: the cell of that.
    pub carry: Option<Cell>,
}

/// What computes a number.
pub(super) enum Work {
    /// An instruction, whose addresses are cells.
    Formula(Instruction),
    /// The kernel of an item, whose result is one number.
    Call { item: usize, operands: Vec<Operand>, to: Cell },
}

impl Work {
    /// The numbers that it reads.
    pub fn reads(&self) -> SmallVec<[Cell; 3]> {
        let number = |operand: &Operand| match *operand {
            Operand::Number(cell) => Some(cell),
            Operand::Given(..) => None,
        };
        match self {
            Work::Formula(own) => own.operands().iter().map(|x| x.address).collect(),
            Work::Call { operands, .. } => operands.iter().filter_map(number).collect(),
        }
    }
}

/// A step as one scalar program.
#[derive(Default)]
pub(super) struct Inlined {
    /// In the order in which a step computes it.
    pub works: Vec<Work>,
    /// By cell.
    pub numbers: Vec<Number>,
    /// The carries that no step changes.
    pub kept: Vec<usize>,
    /// The elements of the other carries, those of the results, and those of all carries before the step.
    pub carried: Vec<Copied>,
    pub results: Vec<Copied>,
    pub before: Vec<Copied>,
    /// How many of the arrays that are given are carries or columns.
    moving: usize,
}

impl Inlined {
    /// The program of a step. None if it computes other things than numbers, or too many of them.
    pub fn new(sequence: &Sequence, steps: &Steps<'_>) -> Option<Inlined> {
        let all = Inlined { moving: steps.carries + steps.columns, ..Inlined::default() };
        let mut builder = Builder { steps, all, results: vec![], writes: vec![] };
        for (i, placed) in sequence.items.iter().enumerate() {
            builder.add_item(i, &placed.item)?;
        }
        for (k, out) in steps.outs.iter().enumerate() {
            match k.checked_sub(steps.carries) {
                Some(result) => builder.add_result(result, out)?,
                None => builder.add_carry(k, out)?,
            }
        }
        Some(builder.all)
    }

    pub fn number(&self, cell: Cell) -> &Number {
        &self.numbers[cell as usize]
    }

    /// Whether a number is the same in all steps.
    #[inline(never)]
    pub fn is_constant(&self, cell: Cell) -> bool {
        let is_same = |(g, _)| g >= self.moving || self.kept.contains(&g);
        self.number(cell).given.is_some_and(is_same)
    }

    /// Which work depends on which. A dependence on a carry is carried by the loop: it is one on what makes the carry in the step
    /// before.
    pub fn dependences(&self) -> Dependences {
        let makers = |own: &Work| own.reads().into_iter().filter_map(|cell| self.number(cell).maker);
        let pairs = self.works.iter().enumerate();
        let pairs = pairs.flat_map(|(i, own)| makers(own).map(move |maker| [maker, i]));
        Dependences::new(self.works.len(), pairs)
    }
}

/// Makes the program of a step. Its methods return None where [`Inlined::new`] does.
struct Builder<'a> {
    steps: &'a Steps<'a>,
    all: Inlined,
    /// By result of an item: its elements, each with how many bytes after the beginning of the result it begins.
    results: Vec<Vec<(isize, Cell)>>,
    /// By write of the sequence: which result it is.
    writes: Vec<usize>,
}

impl Builder<'_> {
    fn add_item(&mut self, i: usize, item: &Item) -> Option<()> {
        let first = self.results.len();
        match &item.part {
            Part::Scalars(own) => self.inline(own, item)?,
            Part::Kernel(kernel) if item.outs.len() == 1 => self.add_kernel(i, &**kernel, item)?,
            _ => return None,
        }
        let own = (first..).zip(&item.outs).filter(|(_, out)| out.is_result);
        self.writes.extend(own.map(|(result, _)| result));
        Some(())
    }

    fn inline(&mut self, own: &ScalarProgram, item: &Item) -> Option<()> {
        // By cell of the item: that of the number that lies there last.
        let mut now: Vec<Cell> = vec![0; own.cells];
        for (k, (&(start, size), &(source, of))) in own.loads.iter().zip(&item.ins).enumerate() {
            now[k] = self.read(source, of + start, size)?;
        }
        for own in &own.instructions {
            let mut inlined = own.clone();
            for (to, from) in inlined.from.iter_mut().zip(own.operands()) {
                to.address = now[from.address as usize];
            }
            now[own.to as usize] = self.add(own.row.out.size(), |to| {
                inlined.to = to;
                Work::Formula(inlined)
            })?;
        }
        let first = self.results.len();
        self.results.resize(first + item.outs.len(), vec![]);
        for store in &own.stores {
            let result = &mut self.results[first + store.write as usize];
            result.push((store.start as isize, now[store.cell as usize]));
        }
        Some(())
    }

    /// Adds the kernel of item `i`. What it reads of rows and of arrays that are the same in all steps stays where it is.
    fn add_kernel(&mut self, i: usize, kernel: &dyn Kernel, item: &Item) -> Option<()> {
        let mut operands = vec![];
        for (k, &(source, start)) in item.ins.iter().enumerate() {
            let reach = kernel.reach(k);
            operands.push(match source {
                Source::Read(r) if self.steps.reads[r] >= self.steps.carries => {
                    Operand::Given(self.steps.reads[r], start, reach)
                }
                _ if reach.start != 0 => return None,
                _ => Operand::Number(self.read(source, start, reach.end as usize)?),
            });
        }
        let cell = self.add(item.outs[0].bytes(), |to| Work::Call { item: i, operands, to })?;
        self.results.push(vec![(0, cell)]);
        Some(())
    }

    /// Adds the elements of result `k` of the loop.
    fn add_result(&mut self, k: usize, out: &Out) -> Option<()> {
        for (start, cell) in self.elements(out)? {
            self.all.results.push(Copied { array: k, start, size: out.dtype.size(), cell });
        }
        Some(())
    }

    /// Adds the elements of carry `k`, and finds or makes the work that makes the next ones.
    fn add_carry(&mut self, k: usize, out: &Out) -> Option<()> {
        let (is_kept, size) = (out.from == From::Given(k) && out.start == 0, out.dtype.size());
        for (start, mut next) in self.elements(out)? {
            let carry = self.given(k, start, size)?;
            let copied = Copied { array: k, start, size, cell: carry };
            self.all.before.push(copied);
            if is_kept {
                continue;
            }
            let number = self.all.number(next);
            if number.given.is_some() || number.carry.is_some() {
                // The loop copies what is given, and what is the next value of another carry as well.
                let from = row::Operand { address: next, step: 1 };
                next = self.add(size, |to| Work::Formula(copying(out.dtype, from, to)))?;
            }
            self.all.numbers[next as usize].carry = Some(carry);
            self.all.numbers[carry as usize].maker = self.all.number(next).maker;
            self.all.carried.push(copied);
        }
        if is_kept {
            self.all.kept.push(k);
        }
        Some(())
    }

    /// Adds a number. None if there are too many.
    #[inline(never)]
    fn push(&mut self, size: usize, given: Option<(usize, isize)>, maker: Option<usize>) -> Option<Cell> {
        let numbers = &mut self.all.numbers;
        numbers.push(Number { size, given, maker, carry: None });
        let fits = numbers.len() <= NUMBERS && (1..=size_of::<u64>()).contains(&size);
        fits.then_some(numbers.len() as Cell - 1)
    }

    /// Adds what makes a number of this size in a cell: the cell.
    fn add(&mut self, size: usize, work: impl FnOnce(Cell) -> Work) -> Option<Cell> {
        let to = self.push(size, None, Some(self.all.works.len()))?;
        self.all.works.push(work(to));
        Some(to)
    }

    /// The cell of a number that is given. None if it is known with another size.
    fn given(&mut self, array: usize, start: isize, size: usize) -> Option<Cell> {
        let given = Some((array, start));
        match self.all.numbers.iter().position(|number| number.given == given) {
            Some(cell) => (self.all.numbers[cell].size == size).then_some(cell as Cell),
            None => self.push(size, given, None),
        }
    }

    /// The cell of a number that an item reads.
    fn read(&mut self, source: Source, start: isize, size: usize) -> Option<Cell> {
        match source {
            Source::Read(r) => self.given(self.steps.reads[r], start, size),
            Source::Made(m) => self.element(m, start, size),
        }
    }

    /// The cell of an element of the result of an item.
    fn element(&self, result: usize, start: isize, size: usize) -> Option<Cell> {
        let cell = self.results[result].iter().find(|(at, _)| *at == start)?.1;
        (self.all.number(cell).size == size).then_some(cell)
    }

    /// The elements of an array that a step makes, each with how many bytes after the beginning of the array it begins.
    fn elements(&mut self, out: &Out) -> Option<Vec<(isize, Cell)>> {
        let size = out.dtype.size();
        let mut elements = vec![];
        for start in (0..out.bytes()).step_by(size) {
            let from = (out.start + start) as isize;
            let cell = match out.from {
                From::Given(g) => self.given(g, from, size)?,
                From::Result(w) => self.element(self.writes[w], from, size)?,
            };
            elements.push((start as isize, cell));
        }
        Some(elements)
    }
}

/// The instruction that copies a number.
fn copying(dtype: DType, from: row::Operand, to: Cell) -> Instruction {
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
    let (formula, size) = (Formula::of::<Copied>(None), dtype.size() as f64);
    let row = Row::new(row::Loop::Unary(copied), formula, [size, 0.0, 0.0], dtype, dtype);
    Instruction { row, from: [from, row::Operand::default(), row::Operand::default()], to, also: to }
}
