//! Programs of single numbers. Those whose formulas are short are not called as loops of one element. They become machine
//! code where that is to be had; elsewhere a run of instructions of one kind is one loop over them.

use std::marker::PhantomData;

use crate::kernel::pointwise::arithmetic::Visitor;
use crate::kernel::pointwise::expressions::Expression;
use crate::kernel::pointwise::formula::{Arithmetic, Float, Kind};
use crate::kernel::pointwise::lanes::Lanes;
use crate::kernel::pointwise::machine::CodeOfNumbers;
use crate::kernel::pointwise::row::{Address, Instruction};

/// The cells that an instruction reads and writes: how many bytes after the first one they begin.
pub(super) struct Cells {
    x: Address,
    y: Address,
    z: Address,
    to: Address,
}

pub(super) struct Run {
    kind: Kind,
    /// How many instructions it has.
    count: usize,
}

/// How instructions are run.
pub(super) enum Way {
    Code(CodeOfNumbers),
    /// Runs of instructions of one kind, and the cells of each instruction.
    Runs(Box<[Run]>, Box<[Cells]>),
}

/// The fewest instructions that become machine code if they run once at a time. Memory for code takes some microseconds, and an
/// instruction a nanosecond less.
const FEWEST: usize = 32;

/// Instructions on single numbers of at most 8 bytes, each of which lies in a cell of its own.
pub struct Numbers {
    /// Their addresses are counted in bytes.
    pub(super) instructions: Box<[Instruction]>,
    pub(super) way: Way,
    /// The bytes of a cell.
    pub(super) size: usize,
}

impl Numbers {
    /// The instructions, of which each address is that of a cell of so many bytes. `repeats` says whether they usually run several
    /// times at once, and `is_needed` whether others read what is written to a cell. The cells of other results may be empty
    /// afterwards.
    pub fn new(
        instructions: &[Instruction],
        size: Address,
        repeats: bool,
        is_needed: &dyn Fn(Address) -> bool,
    ) -> Numbers {
        let in_bytes = |own: &Instruction| {
            let mut own = own.clone();
            own.to *= size;
            for (k, operand) in own.from.iter_mut().enumerate() {
                operand.address *= size;
                // Of one element the step matters only to a loop that looks at it.
                operand.step = if k == 1 && own.row.has_forms { operand.step } else { 1 };
            }
            own
        };
        let instructions: Box<[Instruction]> = instructions.iter().map(in_bytes).collect();
        let is_worthwhile = repeats || instructions.len() >= FEWEST;
        let is_needed = |cell: Address| is_needed(cell / size);
        // SAFETY: the instructions stay in their box.
        let code = || unsafe { CodeOfNumbers::new(&instructions, size, repeats, &is_needed) };
        let code = if is_worthwhile { code() } else { None };
        let way = code.map_or_else(|| Way::runs(&instructions), Way::Code);
        Numbers { instructions, way, size: size as usize }
    }

    /// Runs the instructions so many times, each time with the cells one further on.
    ///
    /// # Safety
    /// Each time, `cells` are as many as the instructions have addresses, and each number that an instruction reads is in its cell
    /// or is written by one before it.
    pub unsafe fn run(&self, times: usize, cells: *mut u8) {
        match &self.way {
            // SAFETY: as the function's `# Safety` section requires.
            Way::Code(code) => unsafe { code.run(times, cells) },
            Way::Runs(runs, list) => {
                for t in 0..times {
                    // SAFETY: as the function's `# Safety` section requires; the runs are those of the instructions.
                    unsafe { self.run_once(runs, list, cells.wrapping_add(t * self.size)) };
                }
            }
        }
    }

    /// # Safety
    /// As [`run`](Numbers::run), and the lists are those of the instructions.
    unsafe fn run_once(&self, runs: &[Run], list: &[Cells], cells: *mut u8) {
        let mut next = 0;
        for run in runs {
            let own = next..next + run.count;
            next = own.end;
            // SAFETY: as the function's `# Safety` section requires; the numbers of a run are of its type.
            unsafe {
                match run.kind {
                    Some((arithmetic, Float::F32)) => computed::<f32>(arithmetic, &list[own], cells),
                    Some((arithmetic, Float::F64)) => computed::<f64>(arithmetic, &list[own], cells),
                    None => {
                        for own in &self.instructions[own] {
                            own.run(1, |address| cells.wrapping_add(address as usize));
                        }
                    }
                }
            }
        }
    }
}

impl Way {
    pub(super) fn runs(instructions: &[Instruction]) -> Way {
        let mut runs: Vec<Run> = vec![];
        for own in instructions {
            match runs.last_mut().filter(|run| run.kind == own.row.kind()) {
                Some(run) => run.count += 1,
                None => runs.push(Run { kind: own.row.kind(), count: 1 }),
            }
        }
        let cells = |own: &Instruction| {
            let [x, y, z] = own.from.map(|operand| operand.address);
            Cells { x, y: if own.row.operands() == 1 { x } else { y }, z, to: own.to }
        };
        Way::Runs(runs.into(), instructions.iter().map(cells).collect())
    }
}

/// Runs instructions of one kind.
///
/// # Safety
/// As [`Numbers::run`], and the numbers are of type `T`.
unsafe fn computed<T: Lanes + PartialOrd>(arithmetic: Arithmetic, list: &[Cells], cells: *mut u8) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        match arithmetic {
            Arithmetic::Less => each(list, cells, |x: T, y| x < y),
            Arithmetic::LessEqual => each(list, cells, |x: T, y| x <= y),
            Arithmetic::Select => selected::<T>(list, cells),
            _ => arithmetic.visit(Each(list, cells, PhantomData::<T>)).expect("a kind is no power"),
        }
    }
}

/// Instructions whose numbers are of type `T`, and cells for which [`computed`] may be called.
struct Each<'a, T>(&'a [Cells], *mut u8, PhantomData<T>);

impl<T: Lanes> Visitor for Each<'_, T> {
    type Out = ();

    fn visit<E: Expression>(self) {
        // SAFETY: only `computed` makes one.
        unsafe { each(self.0, self.1, E::of::<T>) }
    }
}

/// Formulas of one or two numbers. Of a sum or product of two NaN the result is the first one, so the operands keep their places.
///
/// # Safety
/// As [`computed`], and there is room for results of type `R`.
#[inline(always)]
unsafe fn each<T: Copy, R>(list: &[Cells], cells: *mut u8, f: impl Fn(T, T) -> R) {
    for own in list {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            let at = |cell: Address| *cells.add(cell as usize).cast::<T>();
            *cells.add(own.to as usize).cast::<R>() = f(at(own.x), at(own.y));
        }
    }
}

/// Selections: of `y` where the truth value `x` holds, else of the third operand.
///
/// # Safety
/// As [`computed`], and the first operands are truth values.
#[inline(always)]
unsafe fn selected<T: Copy>(list: &[Cells], cells: *mut u8) {
    for own in list {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            let is_first = *cells.add(own.x as usize) != 0;
            let from = if is_first { own.y } else { own.z };
            *cells.add(own.to as usize).cast::<T>() = *cells.add(from as usize).cast::<T>();
        }
    }
}
