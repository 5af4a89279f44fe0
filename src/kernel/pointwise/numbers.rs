//! Programs of single numbers. Those whose formulas are short are not called as loops of one element: a run of
//! instructions of one kind is one loop over them.

use crate::dtype::DType;
use crate::kernel::num::Inexact;
use crate::kernel::pointwise::arithmetic::Arithmetic;
use crate::kernel::pointwise::binary::{BinaryLoops, binary_loops};
use crate::kernel::pointwise::power::{Form, Power, Root, ThreeHalves};
use crate::kernel::pointwise::row::{Address, Instruction, Row};
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

/// `log x`.
pub const LOG: &UnaryLoops = unary_loops!(analytic x => x.ln());

/// `x²`.
pub const SQUARE: &UnaryLoops = table!(UnaryLoops, Square, unary_loops!(field x => x.mul(x)));

/// `x (2 y)`.
pub const SQUARE_GRADIENT: &BinaryLoops =
    table!(BinaryLoops, SquareGradient, binary_loops!(plain x, y => x.mul(y.mul(T::lit(2.0)))));
/// `x / (2 y)`.
pub const SQRT_GRADIENT: &BinaryLoops =
    table!(BinaryLoops, SqrtGradient, binary_loops!(plain x, y => x.div(y.mul(T::lit(2.0)))));

/// `|x|`.
pub const ABSOLUTE: &UnaryLoops = table!(UnaryLoops, Absolute, unary_loops!(num x => x.abs()));
/// `x < y`.
pub const LESS: &BinaryLoops = table!(BinaryLoops, Less, binary_loops!(test x, y => truth(x < y)));
/// `x ≤ y`.
pub const LESS_EQUAL: &BinaryLoops =
    table!(BinaryLoops, LessEqual, binary_loops!(test x, y => truth(x <= y)));

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
    let float = match row.of {
        DType::F32 => Float::F32,
        DType::F64 => Float::F64,
        _ => return None,
    };
    match row.arithmetic? {
        Arithmetic::Power => None,
        Arithmetic::PowerGradient => match row.scalars[0] {
            2.0 => Some((Arithmetic::SquareGradient, float)),
            3.0 => Some((Arithmetic::CubeGradient, float)),
            4.0 => Some((Arithmetic::FourthGradient, float)),
            1.5 => Some((Arithmetic::ThreeHalvesGradient, float)),
            _ => None,
        },
        arithmetic => Some((arithmetic, float)),
    }
}

/// The cells that an instruction reads and writes: how many bytes after the first one they begin.
struct Cells {
    x: Address,
    y: Address,
    /// The third operand of a selection. Of other instructions, which operands are what was written last, so that they need not be
    /// read from memory: [`FIRST`], [`SECOND`], both (the sum) or none (0).
    third: Address,
    to: Address,
}

const FIRST: Address = 1;
const SECOND: Address = 2;

/// A number that an instruction writes.
#[derive(Clone, Copy, PartialEq)]
struct Written {
    float: Float,
    to: Address,
}

impl Written {
    /// None of one that is called or makes truth values.
    fn of(own: &Instruction) -> Option<Written> {
        let (_, float) = kind(&own.row)?;
        (own.row.out == own.row.of).then_some(Written { float, to: own.to })
    }
}

struct Run {
    kind: Kind,
    /// How many instructions it has, of those that are computed, or of those that are called. There is at least one.
    count: usize,
}

/// Instructions on single numbers of at most 8 bytes, each of which lies in a cell of its own.
pub struct Numbers {
    runs: Box<[Run]>,
    computed: Box<[Cells]>,
    called: Box<[Instruction]>,
    /// The bytes of a cell.
    size: usize,
    /// What the last instruction wrote the time before, if the first one reads it, in the cell that it has then.
    again: Option<Written>,
}

impl Numbers {
    /// The instructions, of which each address is that of a cell of so many bytes.
    pub fn new(instructions: &[Instruction], size: Address) -> Numbers {
        let mut runs: Vec<Run> = vec![];
        let mut computed: Vec<Cells> = vec![];
        let mut called: Vec<Instruction> = vec![];
        // What was written last, which is at first what the last instruction wrote the time before, one cell further on.
        let before = instructions.last().and_then(Written::of);
        let mut written = before.filter(|w| w.to > 0).map(|w| Written { to: (w.to - 1) * size, ..w });
        let mut again = None;
        for instruction in instructions {
            let mut own = instruction.clone();
            own.to *= size;
            for (k, operand) in own.from.iter_mut().enumerate() {
                operand.address *= size;
                // Of one element the step matters only to a loop that looks at it.
                operand.step = if k == 1 && own.row.has_forms { operand.step } else { 1 };
            }
            let (kind, now) = (kind(&own.row), Written::of(&own));
            if let Some((_, float)) = kind {
                let [x, y, z] = own.from.map(|operand| operand.address);
                let is_last = |cell: Address| written == Some(Written { float, to: cell });
                let first = if is_last(x) { FIRST } else { 0 };
                let second = if is_last(y) { SECOND } else { 0 };
                let cells = match own.row.operands() {
                    1 => Cells { x, y: x, third: first, to: own.to },
                    2 => Cells { x, y, third: first | second, to: own.to },
                    _ => Cells { x, y, third: z, to: own.to },
                };
                if runs.is_empty() && own.row.operands() < 3 && cells.third != 0 {
                    again = written;
                }
                computed.push(cells);
            } else {
                called.push(own);
            }
            written = now;
            match runs.last_mut().filter(|run| run.kind == kind) {
                Some(run) => run.count += 1,
                None => runs.push(Run { kind, count: 1 }),
            }
        }
        let size = size as usize;
        Numbers { runs: runs.into(), computed: computed.into(), called: called.into(), size, again }
    }

    /// Runs the instructions so many times, each time with the cells one further on.
    ///
    /// # Safety
    /// Each time, `cells` are as many as the instructions have addresses, and each number that an instruction reads is in its cell
    /// or is written by one before it.
    #[inline(never)]
    #[cfg_attr(all(target_arch = "x86_64", target_os = "linux"), unsafe(link_section = ".text.numbers"))]
    pub unsafe fn run(&self, times: usize, cells: *mut u8) {
        // What was written last, of either type.
        let mut last = (0f32, 0f64);
        // SAFETY: as the function's `# Safety` section requires; the first instruction reads that number.
        unsafe {
            match self.again {
                Some(Written { float: Float::F32, to }) => last.0 = *cells.add(to as usize).cast(),
                Some(Written { float: Float::F64, to }) => last.1 = *cells.add(to as usize).cast(),
                None => {}
            }
        }
        for t in 0..times {
            let cells = cells.wrapping_add(t * self.size);
            let (mut next, mut called) = (self.computed.as_ptr(), self.called.as_ptr());
            for run in &self.runs {
                // SAFETY: as the function's `# Safety` section requires; the runs have as many instructions together as there are, and
                // the numbers of a run are of its type.
                unsafe {
                    match run.kind {
                        Some((arithmetic, Float::F64)) => {
                            let list = Cursor { next, end: next.add(run.count) };
                            next = list.end;
                            last.1 = computed(arithmetic, last.1, list, cells);
                        }
                        Some((arithmetic, Float::F32)) => {
                            let list = Cursor { next, end: next.add(run.count) };
                            next = list.end;
                            last.0 = computed(arithmetic, last.0, list, cells);
                        }
                        None => {
                            let at = |address: Address| cells.wrapping_add(address as usize);
                            for _ in 0..run.count {
                                (*called).run(1, at);
                                called = called.add(1);
                            }
                        }
                    }
                }
            }
        }
    }
}

// `Numbers::run` begins a fourth of a cache line after the beginning of one. There its short loops lie in one line each; where
// they do not, programs of single numbers take up to a third longer.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
std::arch::global_asm!(
    ".pushsection .text.numbers,\"ax\",@progbits",
    ".p2align 6",
    ".skip 16",
    ".popsection"
);

/// A list of at least one instruction.
#[derive(Clone, Copy)]
struct Cursor {
    next: *const Cells,
    end: *const Cells,
}

impl Cursor {
    /// Calls `f` with each instruction.
    ///
    /// # Safety
    /// The instructions are there.
    #[inline(always)]
    unsafe fn each(self, mut f: impl FnMut(&Cells)) {
        let Cursor { mut next, end } = self;
        loop {
            // SAFETY: as the function's `# Safety` section requires.
            unsafe {
                f(&*next);
                next = next.add(1);
            }
            if next == end {
                return;
            }
        }
    }
}

/// Runs instructions of one kind, the first of which may follow one that wrote `last`: what the last one writes.
///
/// # Safety
/// As [`Numbers::run`], and the numbers are of type `T`.
#[inline(always)]
unsafe fn computed<T: Inexact + Power>(arithmetic: Arithmetic, last: T, list: Cursor, cells: *mut u8) -> T {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        match arithmetic {
            Arithmetic::Add => in_order(last, list, cells, |x: T, y| x.add(y)),
            Arithmetic::Subtract => in_order(last, list, cells, |x: T, y| x.sub(y)),
            Arithmetic::Multiply => in_order(last, list, cells, |x: T, y| x.mul(y)),
            Arithmetic::Negate => each(last, list, cells, |x: T, _| x.neg()),
            Arithmetic::Divide => in_order(last, list, cells, |x: T, y| x.div(y)),
            Arithmetic::Sqrt => each(last, list, cells, |x: T, _| x.sqrt()),
            Arithmetic::Square => each(last, list, cells, |x: T, _| x.mul(x)),
            Arithmetic::Absolute => each(last, list, cells, |x: T, _| x.abs()),
            Arithmetic::Less => compared(last, list, cells, |x: T, y| x < y),
            Arithmetic::LessEqual => compared(last, list, cells, |x: T, y| x <= y),
            Arithmetic::Select => selected(last, list, cells),
            Arithmetic::Cube => each(last, list, cells, |x: T, _| x.cube()),
            Arithmetic::Fourth => each(last, list, cells, |x: T, _| x.fourth()),
            Arithmetic::ThreeHalves => each(last, list, cells, |x: T, _| ThreeHalves::of(x)),
            Arithmetic::SquareGradient => in_order(last, list, cells, |x: T, y| x.mul(y.mul(T::lit(2.0)))),
            Arithmetic::CubeGradient => {
                in_order(last, list, cells, |x: T, y| x.mul(T::lit(3.0).mul(y.mul(y))))
            }
            Arithmetic::FourthGradient => {
                in_order(last, list, cells, |x: T, y| x.mul(T::lit(4.0).mul(y.cube())))
            }
            Arithmetic::ThreeHalvesGradient => {
                in_order(last, list, cells, |x: T, y| x.mul(T::lit(1.5).mul(Root::of(y))))
            }
            Arithmetic::SqrtGradient => in_order(last, list, cells, |x: T, y| x.div(y.mul(T::lit(2.0)))),
            Arithmetic::Power | Arithmetic::PowerGradient => unreachable!("it is called"),
        }
    }
}

/// Formulas of one number.
///
/// # Safety
/// As [`computed`].
#[inline(always)]
unsafe fn each<T: Copy>(mut last: T, list: Cursor, cells: *mut u8, f: impl Fn(T, T) -> T) -> T {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        let at = |cell: Address| cells.add(cell as usize).cast::<T>();
        list.each(
            #[inline(always)]
            |own| {
                let x = if own.third & FIRST != 0 { last } else { *at(own.x) };
                last = f(x, *at(own.y));
                *at(own.to) = last;
            },
        );
    }
    last
}

/// Both operands of an instruction.
///
/// # Safety
/// As [`computed`].
#[inline(always)]
unsafe fn both<T: Copy>(own: &Cells, last: T, cells: *mut u8) -> (T, T) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        let at = |cell: Address| *cells.add(cell as usize).cast::<T>();
        let x = if own.third & FIRST != 0 { last } else { at(own.x) };
        (x, if own.third & SECOND != 0 { last } else { at(own.y) })
    }
}

/// Formulas of two numbers. Of a sum or product of two NaN the result is the first one, so the operands keep their places.
///
/// # Safety
/// As [`computed`].
#[inline(always)]
unsafe fn in_order<T: Copy>(mut last: T, list: Cursor, cells: *mut u8, f: impl Fn(T, T) -> T) -> T {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        list.each(
            #[inline(always)]
            |own| {
                let (x, y) = both(own, last, cells);
                last = f(x, y);
                *cells.add(own.to as usize).cast::<T>() = last;
            },
        );
    }
    last
}

/// Comparisons.
///
/// # Safety
/// As [`computed`], and there is room for truth values.
#[inline(always)]
unsafe fn compared<T: Copy>(last: T, list: Cursor, cells: *mut u8, f: impl Fn(T, T) -> bool) -> T {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        list.each(
            #[inline(always)]
            |own| {
                let (x, y) = both(own, last, cells);
                *cells.add(own.to as usize) = u8::from(f(x, y));
            },
        );
    }
    last
}

/// Selections: of `y` where the truth value `x` holds, else of the third operand.
///
/// # Safety
/// As [`computed`], and the first operands are truth values.
#[inline(always)]
unsafe fn selected<T: Copy>(mut last: T, list: Cursor, cells: *mut u8) -> T {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe {
        list.each(
            #[inline(always)]
            |own| {
                let is_first = *cells.add(own.x as usize) != 0;
                last = *cells.add(if is_first { own.y } else { own.third } as usize).cast::<T>();
                *cells.add(own.to as usize).cast::<T>() = last;
            },
        );
    }
    last
}
