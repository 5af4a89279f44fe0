//! Programs of single numbers. Those whose formulas are short are not called as loops of one element: a run of
//! instructions of one kind is one loop over them.

use std::ops::Range;

use crate::dtype::DType;
use crate::kernel::num::Inexact;
use crate::kernel::pointwise::arithmetic::Arithmetic;
use crate::kernel::pointwise::binary::{BinaryLoops, binary_loops};
use crate::kernel::pointwise::row::{Address, Instruction, Loop, Row};
use crate::kernel::pointwise::unary::{UnaryLoops, unary_loops};

macro_rules! table {
    ($Loops:ident, $arithmetic:ident, $loops:expr) => {{
        const TABLE: &$Loops = $loops;
        &$Loops { arithmetic: Some(Arithmetic::$arithmetic), ..*TABLE }
    }};
}

/// `x + y`.
pub const ADD: &BinaryLoops = table!(BinaryLoops, Add, binary_loops!(field x, y => x.add(y)));
/// `x - y`.
pub const SUBTRACT: &BinaryLoops = table!(BinaryLoops, Subtract, binary_loops!(field x, y => x.sub(y)));
/// `x y`.
pub const MULTIPLY: &BinaryLoops = table!(BinaryLoops, Multiply, binary_loops!(field x, y => x.mul(y)));
/// `-x`.
pub const NEGATE: &UnaryLoops = table!(UnaryLoops, Negate, unary_loops!(field x => x.neg()));

/// `x / y`.
pub const DIVIDE: &BinaryLoops = table!(BinaryLoops, Divide, binary_loops!(inexact x, y => x.div(y)));
/// `√x`.
pub const SQRT: &UnaryLoops = table!(UnaryLoops, Sqrt, unary_loops!(inexact x => x.sqrt()));

/// `x²`.
pub const SQUARE: &UnaryLoops = table!(UnaryLoops, Square, unary_loops!(field x => x.mul(x)));

/// The type of all numbers of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Float {
    F32,
    F64,
}

/// The formula of a run and the type of its numbers. None: its instructions are called as loops.
pub type Kind = Option<(Arithmetic, Float)>;

/// The kind of run that a row can stand in.
pub fn kind(row: &Row) -> Kind {
    let float = match row.out {
        DType::F32 => Float::F32,
        DType::F64 => Float::F64,
        _ => return None,
    };
    row.arithmetic.map(|arithmetic| (arithmetic, float))
}

/// The cells that an instruction reads and writes.
struct Cells {
    x: Address,
    y: Address,
    to: Address,
    /// Whether the instruction before it in its run writes `x`, which then need not be read from memory.
    follows: bool,
}

struct Run {
    kind: Kind,
    instructions: Range<usize>,
}

/// Instructions on single numbers of at most 8 bytes, each of which lies in a cell of its own.
pub struct Numbers {
    runs: Box<[Run]>,
    cells: Box<[Cells]>,
}

impl Numbers {
    pub fn new(instructions: &[Instruction]) -> Numbers {
        let mut runs: Vec<Run> = vec![];
        let mut cells: Vec<Cells> = vec![];
        for (i, instruction) in instructions.iter().enumerate() {
            let kind = kind(&instruction.row);
            let [x, y, _] = instruction.from.map(|operand| operand.address);
            let is_unary = matches!(instruction.row.apply, Loop::Unary(_));
            let y = if is_unary { x } else { y };
            let mut own = Cells { x, y, to: instruction.to, follows: false };
            match runs.last_mut().filter(|run| run.kind == kind) {
                Some(run) => {
                    run.instructions.end = i + 1;
                    let before = cells[i - 1].to;
                    own.follows = own.x == before;
                }
                None => runs.push(Run { kind, instructions: i..i + 1 }),
            }
            cells.push(own);
        }
        Numbers { runs: runs.into(), cells: cells.into() }
    }

    /// Runs the instructions.
    ///
    /// # Safety
    /// `cells` are as many as the instructions have addresses, and each number that an instruction reads is in its cell
    /// or is written by one before it.
    pub unsafe fn run(&self, instructions: &[Instruction], cells: *mut u64) {
        for run in &self.runs {
            let list = &self.cells[run.instructions.clone()];
            // SAFETY: as the function's `# Safety` section requires; the numbers of a run are of its type.
            unsafe {
                match run.kind {
                    Some((arithmetic, Float::F32)) => computed::<f32>(arithmetic, list, cells),
                    Some((arithmetic, Float::F64)) => computed::<f64>(arithmetic, list, cells),
                    None => {
                        instructions[run.instructions.clone()].iter().for_each(|i| called(i, cells));
                    }
                }
            }
        }
    }
}

/// Calls the loop of an instruction for one element.
///
/// # Safety
/// As [`Numbers::run`].
unsafe fn called(i: &Instruction, cells: *mut u64) {
    // SAFETY: all addresses are those of cells.
    let at = |address: Address| unsafe { cells.add(address as usize).cast::<u8>() };
    let x = |k: usize| at(i.from[k].address).cast_const();
    let (to, p) = (at(i.to), &i.row.scalars);
    // SAFETY: the loop is for the dtypes of the numbers.
    unsafe {
        match i.row.apply {
            Loop::Unary(f) => f(1, x(0), to, p),
            Loop::Binary(f) => f(1, x(0), 1, x(1), usize::from(i.from[1].step), to, p),
            Loop::Ternary(f) => f(1, [x(0), x(1), x(2)], [1, 1, 1], to, p),
        }
    }
}

/// Runs instructions of one kind.
///
/// # Safety
/// As [`Numbers::run`], and the numbers are of type `T`.
unsafe fn computed<T: Inexact>(arithmetic: Arithmetic, list: &[Cells], cells: *mut u64) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        match arithmetic {
            Arithmetic::Add => each(list, cells, |x: T, y| x.add(y)),
            Arithmetic::Subtract => each(list, cells, |x: T, y| x.sub(y)),
            Arithmetic::Multiply => each(list, cells, |x: T, y| x.mul(y)),
            Arithmetic::Negate => each(list, cells, |x: T, _| x.neg()),
            Arithmetic::Divide => each(list, cells, |x: T, y| x.div(y)),
            Arithmetic::Sqrt => each(list, cells, |x: T, _| x.sqrt()),
            Arithmetic::Square => each(list, cells, |x: T, _| x.mul(x)),
        }
    }
}

/// # Safety
/// As [`computed`].
#[inline(always)]
unsafe fn each<T: Copy>(list: &[Cells], cells: *mut u64, f: impl Fn(T, T) -> T) {
    let Some(first) = list.first() else { return };
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        let at = |cell: Address| cells.add(cell as usize).cast::<T>();
        let mut last = *at(first.x);
        for own in list {
            let x = if own.follows { last } else { *at(own.x) };
            last = f(x, *at(own.y));
            *at(own.to) = last;
        }
    }
}
