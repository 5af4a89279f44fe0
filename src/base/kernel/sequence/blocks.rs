//! Loops that run, block by block: a block is one step, or a tile of steps that compute single numbers.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::items::Kernel;
use super::run::{Failure, Lists, Sequence};
use super::steps::{Move, Steps, Strided};
use crate::array::{Array, Unwritten};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernel::interrupt;
use crate::kernel::par::SendPtr;
use crate::kernel::pointwise::cluster::{Formulas, copy_number};
use crate::kernel::pointwise::numbers::Numbers;

/// After so many steps a loop looks for an interrupt.
const STRETCH: usize = 256;

/// What a task computes in the steps of a block.
pub(super) enum Work<'a> {
    /// An item of the sequence, where a block is one step.
    Item,
    /// Formulas, each of which is computed for all steps before the next one, by address.
    Together(&'a Formulas, &'a [MaybeUninit<*mut u8>]),
    /// Formulas, of which a step computes all before the next step does, from the first cell on.
    InTurn(&'a Numbers, *mut u8),
    /// The kernel of an item: how far from each other the operands and then the results of steps lie.
    Kernel(&'a dyn Kernel, Vec<isize>),
}

/// Work with its addresses.
pub(super) struct Task<'a> {
    pub work: Work<'a>,
    /// The item that it is of.
    pub item: usize,
    pub lists: Lists,
    /// The operands that lie elsewhere in the next block, each with how far by step.
    pub moving: Vec<(usize, isize)>,
}

impl<'a> Task<'a> {
    /// Work whose addresses are part of it.
    pub fn new(work: Work<'a>) -> Task<'a> {
        Task { work, item: 0, lists: Lists::default(), moving: vec![] }
    }

    /// Runs `n` steps. False if a result has another layout.
    ///
    /// # Errors
    /// Those of kernels and of functions of arrays.
    ///
    /// # Safety
    /// The addresses are those of what the work reads in these steps, and of room for what it writes, which nobody else uses. What
    /// it reads is there. `whole` are arrays that are read.
    #[inline(always)]
    unsafe fn run<'b>(
        &self,
        sequence: &Sequence,
        n: usize,
        scratch: SendPtr,
        whole: impl Fn(usize) -> Option<&'b Array>,
    ) -> std::result::Result<bool, Failure> {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            match &self.work {
                Work::Item => return sequence.run_item(self.item, &self.lists, scratch, whole),
                Work::Together(formulas, addresses) => formulas.run(n, addresses, |_| ()),
                Work::InTurn(formulas, cells) => formulas.run(n, *cells),
                Work::Kernel(kernel, steps) => self
                    .run_kernel(*kernel, steps, n, scratch)
                    .map_err(|error| Failure { item: self.item, error })?,
            }
        }
        Ok(true)
    }

    /// Runs a kernel of one result in `n` steps.
    ///
    /// # Errors
    /// Those of the kernel.
    ///
    /// # Safety
    /// As [`run`](Task::run).
    #[inline(never)]
    unsafe fn run_kernel(
        &self,
        kernel: &dyn Kernel,
        steps: &[isize],
        n: usize,
        scratch: SendPtr,
    ) -> Result<()> {
        let (step_of_result, steps) = steps.split_last().expect("the last one is that of the result");
        let Lists { ins, outs, .. } = &self.lists;
        if let Some(kernel) = kernel.times() {
            let ins: SmallVec<[_; 4]> = ins.iter().copied().zip(steps.iter().copied()).collect();
            // SAFETY: as the function's `# Safety` section requires.
            return unsafe { kernel.run_times(n, &ins, (outs[0], *step_of_result)) };
        }
        let mut now: SmallVec<[SendPtr; 4]> = SmallVec::new();
        for t in 0..n as isize {
            let in_step = |(x, step): (&SendPtr, &isize)| SendPtr(x.get().wrapping_offset(t * step));
            now.clear();
            now.extend(ins.iter().zip(steps).map(in_step));
            // SAFETY: as above, and the scratch memory is as large as the largest that an item needs.
            unsafe { kernel.run(&now, &[in_step((&outs[0], step_of_result))], scratch.get())? };
        }
        Ok(())
    }

    /// Makes the addresses those of what comes `n` steps later.
    #[inline(always)]
    fn go_on(&mut self, n: usize) {
        for &(k, step) in &self.moving {
            let bytes = step * n as isize;
            match &mut self.lists.all {
                Some(all) => all.move_on(k, bytes),
                None => self.lists.ins[k] = SendPtr(self.lists.ins[k].get().wrapping_offset(bytes)),
            }
        }
    }
}

/// Runs these moves for `n` steps from step `start` on.
///
/// # Safety
/// As [`Move::run`], of each.
#[inline(never)]
unsafe fn copy(moves: &[Move], start: usize, n: usize) {
    // SAFETY: as the function's `# Safety` section requires.
    moves.iter().for_each(|m| unsafe { m.run(start, n) });
}

/// Runs these moves for the last one of these steps.
///
/// # Safety
/// As [`Move::run`], of each.
#[inline(never)]
unsafe fn copy_last(moves: &[Move], start: usize, n: usize) {
    // SAFETY: as the function's `# Safety` section requires.
    moves.iter().for_each(|m| unsafe { m.run_last(start, n) });
}

/// A part of a carry after the last step: which carry, how many bytes after its beginning it begins, and where it lies.
pub(super) struct Last {
    pub carry: usize,
    pub start: isize,
    pub from: *const u8,
    pub bytes: usize,
}

/// A loop that runs.
pub(super) struct Blocks<'a> {
    pub sequence: &'a Sequence,
    pub given: &'a [&'a Array],
    pub steps: &'a Steps<'a>,
    /// How many steps a block has. The last one may have fewer.
    pub most: usize,
    pub tasks: Vec<Task<'a>>,
    /// What is copied before the tasks of a block, and after them.
    pub before: Vec<Move>,
    pub after: Vec<Move>,
    /// What the last step of a block copies, which are the carries of the next one.
    pub next: Vec<Move>,
    /// The results, and the carries before each step if the loop keeps them.
    pub columns: Vec<Unwritten>,
    pub scratch: SendPtr,
}

impl<'a> Blocks<'a> {
    /// A loop without work.
    pub fn new(
        sequence: &'a Sequence,
        given: &'a [&'a Array],
        steps: &'a Steps<'a>,
        most: usize,
        scratch: SendPtr,
    ) -> Blocks<'a> {
        let (tasks, before, after, next, columns) = (vec![], vec![], vec![], vec![], vec![]);
        Blocks { sequence, given, steps, most, tasks, before, after, next, columns, scratch }
    }

    /// The rows of a new column.
    ///
    /// # Errors
    /// For want of memory.
    pub fn column(&mut self, dtype: DType, dims: &[usize]) -> Result<Strided> {
        let (column, rows) = self.steps.column(dtype, dims)?;
        self.columns.push(column);
        Ok(rows)
    }

    /// Runs all steps. False if a result has another layout in some step.
    ///
    /// # Errors
    /// Those of kernels and of functions of arrays, and if the loop is interrupted.
    ///
    /// # Safety
    /// Tasks and moves have the addresses of what they read and of room for what they write, in all steps, in memory that nobody else
    /// uses. A task reads what is given, what is copied before it, and what a task before it or an earlier block made.
    pub unsafe fn run(
        &mut self,
        mut done: Option<&mut dyn FnMut(usize)>,
    ) -> std::result::Result<bool, Failure> {
        let Blocks { sequence, given, steps, most, scratch, .. } = *self;
        let is_whole = |g: usize| g >= steps.carries + steps.columns;
        let whole = |r: usize| given.get(steps.reads[r]).filter(|_| is_whole(steps.reads[r])).copied();
        let mut start = 0;
        while start < steps.length {
            let n = most.min(steps.length - start);
            if start % STRETCH + n >= STRETCH {
                interrupt::check().map_err(Failure::first)?;
            }
            // SAFETY: as the function's `# Safety` section requires.
            unsafe { copy(&self.before, start, n) };
            for task in &mut self.tasks {
                // SAFETY: as above.
                if !unsafe { task.run(sequence, n, scratch, whole)? } {
                    return Ok(false);
                }
                task.go_on(n);
                if let Some(done) = done.as_mut().filter(|_| most == 1) {
                    done(task.item);
                }
            }
            // SAFETY: as above.
            unsafe {
                copy(&self.after, start, n);
                copy_last(&self.next, start, n);
            }
            if let Some(done) = done.as_mut().filter(|_| most > 1) {
                (0..n).for_each(|_| (0..sequence.items.len()).for_each(&mut **done));
            }
            start += n;
        }
        Ok(true)
    }

    /// The carries after the last step, and the columns.
    ///
    /// # Errors
    /// For want of memory.
    ///
    /// # Safety
    /// All steps have run. The parts lie in their carries, and together they are all there is of these.
    pub unsafe fn finish(self, parts: impl Iterator<Item = Last>) -> Result<Vec<Array>> {
        let Steps { op, carries, .. } = *self.steps;
        let mut all = Vec::with_capacity(carries + self.columns.len());
        for x in &self.given[..carries] {
            all.push(Array::unwritten(op, x.dtype(), x.dims())?);
        }
        for part in parts {
            // SAFETY: as the function's `# Safety` section requires; the new array has as many bytes as the carry.
            unsafe { copy_number(part.from, all[part.carry].ptr().offset(part.start), part.bytes) };
        }
        all.extend(self.columns);
        Ok(all.into_iter().map(Unwritten::written).collect())
    }
}
